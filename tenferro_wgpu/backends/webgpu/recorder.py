"""Recording and submitting: the half of the queue that never waits.

:class:`Recorder` is the base of queue.Queue, which kernels use; nobody else calls it.  It knows
buffers, pipelines and operation names, but not tensors, dtypes or WGSL.

Everything that would make the driver refuse a batch is checked before recording.  If it refuses
one all the same, ``recovery`` finds the command to blame, its results become failed buffers, and
the rest runs.  One lock guards recording; nobody holds it while waiting for the device: what must
be waited for (exhausted memory, profiling, ``TENFERRO_SYNC=1``) is, once it is released.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from tenferro_wgpu.backends.webgpu.binding import check_binding, forget_evicted
from tenferro_wgpu.backends.webgpu.cache import GenerationalCache
from tenferro_wgpu.backends.webgpu.commands import Pipeline, PipelineSource
from tenferro_wgpu.backends.webgpu.device import Device
from tenferro_wgpu.backends.webgpu.drivers.protocol import Batch, BatchRejectedError, Command
from tenferro_wgpu.backends.webgpu.faults import IndexChecks
from tenferro_wgpu.backends.webgpu.memory import (
    DEFAULT_POOL_LIMIT,
    Buffer,
    BufferPool,
    DeviceFullError,
    Slot,
)
from tenferro_wgpu.backends.webgpu.submission import (
    FIRST_BATCH,
    MAX_BATCH,
    MAX_BATCH_BYTES,
    NO_BATCH,
    ProfileHook,
    Submitter,
)
from tenferro_wgpu.environment import SYNC, switch
from tenferro_wgpu.errors import (
    DeviceLostError,
    DeviceOutOfMemoryError,
    TenferroError,
)

BIND_GROUP_LIMIT = 4096


class Recorder(Submitter):
    """Allocates, checks, records and submits the work of one runtime."""

    def __init__(
        self,
        device: Device,
        *,
        memory_limit: int | None = None,
        pool_limit: int = DEFAULT_POOL_LIMIT,
    ) -> None:
        self.device = device
        self._driver = device.driver
        # Hot methods call acquire and release: `with` costs three times as much.
        self._lock = threading.RLock()
        self._acquire = self._lock.acquire
        self._release = self._lock.release
        self._commands: list[Command] = []
        #: The batch being submitted; what an interrupt leaves unsent of it goes with the next.
        self._unsent = NO_BATCH
        #: Bind groups by layout and buffers; ``bind_groups.limit`` may be set.
        self.bind_groups = GenerationalCache(BIND_GROUP_LIMIT)
        self.bind_groups.on_evicted = forget_evicted
        self._young_groups = self.bind_groups.young
        self._pool = BufferPool(
            device.driver, self._forget_groups, pool_limit=pool_limit, memory_limit=memory_limit
        )
        self._allocate = self._pool.allocate
        self._group_limit = device.limits.max_compute_workgroups_per_dimension
        self._synchronous = switch(SYNC)
        self._first_batch = MAX_BATCH if device.is_cpu else FIRST_BATCH
        if self._synchronous:
            self._first_batch = 1
        self._threshold = self._first_batch
        self._flush_at_bytes = MAX_BATCH_BYTES
        #: Errors of failed buffers by buffer id, and those not raised by synchronize() yet.
        self._failed: dict[int, TenferroError] = {}
        self._unreported: list[TenferroError] = []
        #: Dispatches that check indices, and what depends on them.
        self._checks = IndexChecks()
        self._closed: str | None = None
        #: True while some use needs a closer look: closed, lost, or failed buffers exist.
        self._suspicious = False
        self._dispatches = self._submits = self._reads = 0
        self._bytes_up = self._bytes_down = 0
        self._groups_built = self._pipelines_built = 0
        #: Set to profile: batches then run one pass per dispatch, waited for, with timestamps.
        self.profile_hook: ProfileHook | None = None
        #: Submitted batches to wait for outside the lock, each with its hook and timing.
        self._awaited: deque[tuple[Batch, ProfileHook | None, Any]] = deque()
        #: The thread that keeps the lock over several calls; it waits afterwards.
        self._locked_by = 0

    # ----- memory

    def allocate(self, nbytes: int, operation: str = "allocate") -> Buffer:
        """A buffer of at least ``nbytes`` with undefined content, for a dispatch to write.

        Raises ``TensorTooLargeError``, ``DeviceOutOfMemoryError`` or ``RuntimeClosedError``, the
        first two naming ``operation``.
        """
        self._acquire()
        try:
            if self._suspicious:
                self._check_usable(operation)
            return self._allocate(nbytes, operation)
        except DeviceFullError:
            pass
        finally:
            self._release()
        return self._allocate_patiently(nbytes, operation)

    def _allocate_patiently(self, nbytes: int, operation: str) -> Buffer:
        self._wait_for_memory()
        with self._lock:
            return self._allocate(nbytes, operation)

    def upload(self, array: np.ndarray, operation: str = "upload") -> Buffer:
        """A new buffer with the bytes of a C-contiguous array (copied before this returns)."""
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        nbytes = flat.nbytes
        if nbytes % 4:
            padded = np.zeros(nbytes + 3 & ~3, np.uint8)
            padded[:nbytes] = flat
            flat = padded
        try:
            return self._upload(flat, nbytes, operation)
        except DeviceFullError:
            self._wait_for_memory()
        return self._upload(flat, nbytes, operation)

    def _upload(self, flat: np.ndarray, nbytes: int, operation: str) -> Buffer:
        with self._lock:
            if self._suspicious:
                self._check_usable(operation)
            if not self._unsent.sent:
                self._flush()  # a signal handler writes in the middle of a submission
            if not self._commands:
                self._pool.next_batch()
            buffer = self._pool.allocate_for_write(nbytes, operation)
            if self._checks.unsettled:
                self._checks.forget(buffer.slot)
            if nbytes:
                self._write(buffer, 0, flat.data, operation)
                self._bytes_up += nbytes
            return buffer

    def _write(self, buffer: Buffer, offset: int, data: memoryview, operation: str) -> None:
        try:
            self._driver.write_buffer(buffer.slot.raw, offset, data)
        except DeviceLostError as error:
            raise self._note_lost(error, operation) from error
        except DeviceOutOfMemoryError as error:
            self._pool.trim()
            raise DeviceFullError(operation, data.nbytes, "staging memory") from error

    def _wait_for_memory(self) -> None:
        """Let submitted work finish and its memory go; called without the lock."""
        with self._lock:
            self._flush()
            # Also when there was nothing to flush: trimmed buffers go between batches.
            self._pool.next_batch()
        self._wait_for_batches()
        self._driver.wait()
        with self._lock:
            self._pool.trim()

    # ----- recording

    def pipeline(self, key: Hashable, build: Callable[[], PipelineSource]) -> Pipeline:
        """The pipeline of ``key``, compiled from ``build()`` the first time in the process.

        Raises ``ShaderError`` (with the WGSL and line) or ``UnsupportedOperationError``.
        """
        found: Pipeline | None = self.device.pipelines.young.get(key)
        if found is None:
            if self._suspicious:
                self._check_usable("pipeline")

            def counted() -> PipelineSource:
                self._pipelines_built += 1
                return build()

            try:
                found = self.device.pipeline(key, counted)
            except DeviceLostError as error:
                raise self._note_lost(error, "pipeline") from error
        return found

    def dispatch(
        self,
        pipeline: Pipeline,
        bindings: Sequence[Buffer],
        params: bytes,
        workgroups: tuple[int, int, int],
        operation: str,
        outputs: Sequence[Buffer],
    ) -> None:
        """Record one dispatch; it runs after everything recorded before.

        ``bindings`` are the buffers of ``@group(0)`` in order, ``outputs`` those among them that
        the dispatch writes.  ``params`` is the parameter block (word 0 must be 0), padded with
        zeros to the pipeline's size.  A count of 0 workgroups records nothing.  ``operation``
        names the dispatch in errors and profiles.

        Raises ``TensorTooLargeError`` (binding limit), ``ValueError`` (a buffer read and written
        by one dispatch, wrong counts), ``RuntimeClosedError``, ``DeviceLostError``, or the error
        of a failed input.
        """
        key = _group_key(pipeline, bindings)
        self._acquire()
        try:
            if self._suspicious:
                self._check_usable(operation, bindings)
            group = self._young_groups.get(key)
            if group is None:
                group = self.bind_groups.find(key) or self._bind(key, pipeline, bindings, operation)
            x, y, z = workgroups
            limit = self._group_limit
            if not (0 < x <= limit and 0 < y <= limit and 0 < z <= limit):
                if min(workgroups) == 0:
                    return
                raise ValueError(f"{operation}: {workgroups} workgroups; the limit is {limit} each")
            if len(params) != pipeline.params_size:
                params = pipeline.padded(params, operation)
            if len(outputs) == 1:
                slot = outputs[0].slot
                owners: tuple[Any, ...] = (slot, slot.holder)
            else:
                owners = _owners(outputs)
            command = (pipeline.raw, group, params, workgroups, operation, key, owners)
            # Looked up last: what runs in between (a signal handler) may submit the list.
            self._commands.append(command)
            if (
                len(self._commands) < self._threshold
                and self._pool.allocated_bytes < self._flush_at_bytes
            ):
                return
            self._flush()
        finally:
            self._release()
        if self._awaited and self._locked_by != threading.get_ident():
            self._wait_for_batches()

    def compute(
        self,
        pipeline: Pipeline,
        operands: list[Buffer],
        nbytes: int,
        params: bytes,
        workgroups: tuple[int, int, int],
        operation: str,
    ) -> Buffer:
        """``allocate`` a result and ``dispatch`` what computes it, its last binding, in one go.

        The hottest call of the library: taking the lock once and checking nothing twice saves a
        third of the two calls.  ``params`` have the pipeline's size, ``workgroups`` come from
        ``fold_workgroups`` and are not 0.  ``operands`` becomes the list of bindings.

        Raises what the two do.
        """
        output: Buffer | None = None
        self._acquire()
        try:
            if self._suspicious:
                self._check_usable(operation, operands)
            output = self._allocate(nbytes, operation)
            slot = output.slot
            operands.append(output)
            if len(operands) == 3:
                first, second, _ = operands
                key: tuple[Any, ...] = (pipeline.layout_id, first.slot, second.slot, slot)
            else:
                key = _group_key(pipeline, operands)
            group = self._young_groups.get(key)
            if group is None:
                group = self.bind_groups.find(key) or self._bind(key, pipeline, operands, operation)
            self._commands.append(
                (pipeline.raw, group, params, workgroups, operation, key, (slot, slot.holder))
            )
            if (
                len(self._commands) < self._threshold
                and self._pool.allocated_bytes < self._flush_at_bytes
            ):
                return output
            self._flush()
        except DeviceFullError:
            if output is not None:
                raise
        finally:
            self._release()
        if output is None:
            output = self._allocate_patiently(nbytes, operation)
            self.dispatch(pipeline, (*operands, output), params, workgroups, operation, (output,))
        elif self._awaited and self._locked_by != threading.get_ident():
            self._wait_for_batches()
        return output

    def _bind(
        self, key: tuple[Any, ...], pipeline: Pipeline, bindings: Sequence[Buffer], operation: str
    ) -> Any:
        """Check a new combination of buffers and make its bind group."""
        limit = self.device.limits.max_storage_buffer_binding_size
        slots = check_binding(pipeline, bindings, self._pool.give_back, limit, operation)
        try:
            group = self._driver.create_bind_group(
                pipeline.bindings, [(slot.raw, 0, slot.size) for slot in slots]
            )
        except DeviceLostError as error:
            raise self._note_lost(error, operation) from error
        except BatchRejectedError as error:
            raise TenferroError(f"{operation}: the device refused its buffers: {error}") from error
        self._groups_built += 1
        for slot in slots:
            slot.group_keys.add(key)
        self.bind_groups.store(key, group)
        return group

    def _forget_groups(self, slot: Slot) -> None:
        keys = list(slot.group_keys)
        for key in keys:
            self.bind_groups.discard(key)
        forget_evicted(keys)


def _group_key(pipeline: Pipeline, bindings: Sequence[Buffer]) -> tuple[Any, ...]:
    # Spelled out for the common counts, which is twice as fast.
    count = len(bindings)
    if count == 3:
        first, second, third = bindings
        return (pipeline.layout_id, first.slot, second.slot, third.slot)
    if count == 2:
        first, second = bindings
        return (pipeline.layout_id, first.slot, second.slot)
    return (pipeline.layout_id, *[buffer.slot for buffer in bindings])


def _owners(outputs: Sequence[Buffer]) -> tuple[Any, ...]:
    return tuple([part for output in outputs for part in (output.slot, output.id)])
