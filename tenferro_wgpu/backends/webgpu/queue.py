"""The queue: what kernels use to allocate, upload, dispatch and read.

Kernel modules and backend.py call :class:`Queue`, one per runtime.  Work is recorded in a plain
list and submitted in batches (recorder.py); nothing waits for the device except ``synchronize``
and ``read``, which are here.  The queue's lock is never held while waiting.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from struct import pack_into
from typing import Any, TypeAlias
from weakref import WeakMethod

import numpy as np

from tenferro_wgpu.backends.memory_limit import checked_memory_limit
from tenferro_wgpu.backends.webgpu.commands import Pipeline, PipelineSource, fold_workgroups
from tenferro_wgpu.backends.webgpu.device import Device, register_queue
from tenferro_wgpu.backends.webgpu.drivers.protocol import BatchRejectedError, ReadRequest
from tenferro_wgpu.backends.webgpu.faults import (
    MAX_UNSETTLED,
    RECORD_BYTES,
    RECORD_WORD,
    RECORDS_PER_PAGE,
    Look,
)
from tenferro_wgpu.backends.webgpu.memory import DEFAULT_POOL_LIMIT, Buffer
from tenferro_wgpu.backends.webgpu.recorder import Recorder
from tenferro_wgpu.backends.webgpu.recovery import fresh
from tenferro_wgpu.backends.webgpu.submission import NO_BATCH
from tenferro_wgpu.errors import DeviceLostError, DeviceOutOfMemoryError, TenferroError

#: A buffer, the first of its bytes that is wanted, and how many are.
Range: TypeAlias = tuple[Buffer, int, int]

__all__ = ["Buffer", "Pipeline", "PipelineSource", "Queue", "fold_workgroups"]


class Queue(Recorder):
    """Records and submits the work of one runtime on a (shared) device, and reads results."""

    def __init__(
        self,
        device: Device,
        *,
        memory_limit: int | None = None,
        pool_limit: int = DEFAULT_POOL_LIMIT,
    ) -> None:
        memory_limit = checked_memory_limit(memory_limit)
        super().__init__(device, memory_limit=memory_limit, pool_limit=pool_limit)
        self._forked_callbacks: list[WeakMethod[Callable[[], None]]] = []
        register_queue(self)

    @property
    def lock(self) -> Any:
        """What guards the queue, for what is recorded above it."""
        return self._lock

    @property
    def closed(self) -> bool:
        """Whether it was closed, at exit or in a forked child too."""
        return self._closed is not None

    @property
    def needs_care(self) -> bool:
        """Whether uses may fail for other reasons than their own: closed, lost, failed buffers.

        Or fail late: while the device has not said whether it found a bad index, results that
        depend on it must not share a kernel with others.
        """
        return self._suspicious or bool(self._checks.unsettled)

    def settle(self) -> None:
        """Wait for everything recorded; report nothing, so that late faults stay for the user."""
        self.flush()
        self._driver.wait()

    # ----- checking indices

    def dispatch_checked(
        self,
        pipeline: Pipeline,
        bindings: Sequence[Buffer],
        params: bytes,
        workgroups: tuple[int, int, int],
        operation: str,
        outputs: Sequence[Buffer],
        *,
        axes: Sequence[int] = (),
        sizes: Sequence[int] = (),
        caller: str = "",
    ) -> None:
        """``dispatch`` a kernel that checks indices and may find a bad one.

        The kernel has one binding more than ``bindings``, the last: ``array<atomic<u32>>``,
        read_write.  Params word 3 receives the number of its record, four words long; the first
        invocation to find a bad index sets word 0 from 0 to 1 and stores the index (as i64) in
        words 1 and 3 and the position of its axis among ``axes`` in word 2.

        Reads of the outputs and of what was computed from them, and the next ``synchronize``,
        then raise ``IndexOutOfBoundsError`` naming ``caller``, or ``operation`` where none is
        given, and axis and size if given.
        With ``TENFERRO_SYNC=1`` this call does.
        """
        if len(self._checks.unsettled) >= MAX_UNSETTLED and sys.platform != "emscripten":
            self._look_now()
        if self._checks.is_full:
            self._add_page(operation)
        with self._lock:
            if self._checks.is_full:  # other threads were faster
                self._add_page(operation)
            check, page, record = self._checks.note(caller or operation, axes, sizes)
            block = bytearray(params)
            pack_into("<I", block, 4 * RECORD_WORD, record)
            recorded = self._dispatches + len(self._commands)
            self._locked_by = threading.get_ident()
            try:
                self.dispatch(
                    pipeline, (*bindings, page), bytes(block), workgroups, operation, outputs
                )
            finally:
                self._locked_by = 0
                if self._dispatches + len(self._commands) == recorded:
                    self._checks.settle((check,))
        self._wait_for_batches()
        if self._synchronous:
            self.synchronize()

    def _add_page(self, operation: str) -> None:
        page = self.upload(np.zeros(RECORDS_PER_PAGE * RECORD_BYTES, np.uint8), operation)
        with self._lock:
            self._checks.add_page(page)

    def _look_now(self) -> None:
        """Wait for the device and settle every check; nothing is raised but a lost device."""
        with self._lock:
            token, look = self._begin_read(())
        if look is not None:
            try:
                self._settle(look, self._driver.finish_read(token))
            except DeviceLostError as error:
                raise self._note_lost(error, "index checks") from error

    def _settle(self, look: Look, arrays: list[np.ndarray]) -> None:
        """Fail the buffers that depend on a bad index, and lower the flags."""
        with self._lock:
            if self._closed is not None:
                return
            faults = self._checks.faults(look, arrays)
            if faults:
                # What is recorded depends on them as well.
                self._flush()
                for buffer_id, error in self._checks.spoilt(faults):
                    self._failed.setdefault(buffer_id, error)
                self._unreported.extend(fault.error for fault in faults)
                self._watch_failures()
                for fault in faults:
                    page, offset = self._checks.record_of(fault.check)
                    self._write(page, offset, memoryview(bytes(RECORD_BYTES)), "index checks")
            self._checks.settle(look.checks)
        self._wait_for_batches()

    # ----- waiting

    def _begin_read(self, ranges: Sequence[Range]) -> tuple[Any, Look | None]:
        """Submit the open batch with copies of ``ranges`` and of index checks behind it."""
        operation = "read" if ranges else "synchronize"
        buffers = [each[0] for each in ranges]
        if self._suspicious:
            self._check_usable(operation, buffers)
        requests: list[ReadRequest] = []
        for buffer, offset, nbytes in ranges:
            if offset < 0 or nbytes < 0 or offset + nbytes > buffer.slot.size:
                raise ValueError(f"read: bytes {offset} to {offset + nbytes} of {buffer!r}")
            begin = offset & ~3
            if nbytes:
                length = (offset + nbytes + 3 & ~3) - begin
                requests.append(ReadRequest(buffer.slot.raw, begin, length))
        if ranges and not requests:
            return None, None
        nothing_to_copy = not requests and not self._checks.unsettled
        if nothing_to_copy or self.profile_hook is not None:
            self._flush()
        self._threshold = self._first_batch
        if nothing_to_copy:
            return None, None
        batch = self._start_batch() if self._has_commands() else NO_BATCH
        look = None
        checks = self._checks
        if checks.unsettled and (not ranges or any(map(checks.is_in_doubt, buffers))):
            look = self._checks.look()
            requests.extend(look.requests)
        try:
            token = self._driver.begin_read(batch, requests)
            batch.sent = True
            return token, look
        except DeviceLostError as error:
            batch.sent = True
            raise self._note_lost(error, operation) from error
        except (BatchRejectedError, DeviceOutOfMemoryError):
            self._recover(batch)
            self._check_usable(operation, buffers)
            self._pool.trim()
            return self._driver.begin_read((), requests), look
        finally:
            self._end_batch()
            self._threshold = self._first_batch

    def _finish_read(self, looked: list[np.ndarray], look: Look | None) -> None:
        """Take in what the device reported while the read was under way."""
        late = self._driver.take_late_errors()
        if late:
            raise TenferroError(f"the device refused a submission: {late[0]}")
        if look is not None:
            self._settle(look, looked)

    def read(self, buffer: Buffer, offset: int, nbytes: int) -> np.ndarray:
        """Wait for the bytes [offset, offset + nbytes) of a buffer; a fresh uint8 array.

        Raises the error of a failed buffer, ``IndexOutOfBoundsError`` when it depends on a
        dispatch that found a bad index, ``DeviceLostError``, ``RuntimeClosedError``,
        ``SyncUnavailableError``.
        """
        return self.read_many(((buffer, offset, nbytes),))[0]

    def read_many(self, ranges: Sequence[Range]) -> list[np.ndarray]:
        """``read`` several (buffer, offset, nbytes) with one submission and one wait."""
        with self._lock:
            token, look = self._begin_read(ranges)
        self._wait_for_batches()
        try:
            arrays = [] if token is None else self._driver.finish_read(token)
        except DeviceLostError as error:
            raise self._note_lost(error, "read") from error
        return self._taken(arrays, look, ranges)

    async def read_many_async(self, ranges: Sequence[Range]) -> list[np.ndarray]:
        """``read_many`` without blocking the thread."""
        with self._lock:
            token, look = self._begin_read(ranges)
        self._wait_for_batches()
        try:
            arrays = [] if token is None else await self._driver.finish_read_async(token)
        except DeviceLostError as error:
            raise self._note_lost(error, "read") from error
        return self._taken(arrays, look, ranges)

    async def read_async(self, buffer: Buffer, offset: int, nbytes: int) -> np.ndarray:
        """``read`` without blocking the thread."""
        return (await self.read_many_async(((buffer, offset, nbytes),)))[0]

    def _taken(
        self, arrays: list[np.ndarray], look: Look | None, ranges: Sequence[Range]
    ) -> list[np.ndarray]:
        """The bytes of each range, cut out of the words that were read."""
        copied = iter(arrays)
        taken = []
        for _, offset, nbytes in ranges:
            if nbytes:
                first = offset & 3
                taken.append(next(copied)[first : first + nbytes])
                self._reads += 1
                self._bytes_down += nbytes
            else:
                taken.append(np.empty(0, np.uint8))
        self._finish_read(list(copied), look)
        if self._failed:
            # Perhaps found by this read, perhaps by one in another thread meanwhile.
            with self._lock:
                self._check_usable("read", [each[0] for each in ranges])
        return taken

    def synchronize(self) -> None:
        """Submit what is recorded and wait for it.

        Raises, once each and one per call, the errors of dispatches that the device refused and
        ``IndexOutOfBoundsError`` of those that found a bad index (unless a read raised it).
        """
        with self._lock:
            token, look = self._begin_read(())
        self._wait_for_batches()
        try:
            if token is None:
                self._driver.wait()
            arrays = [] if token is None else self._driver.finish_read(token)
        except DeviceLostError as error:
            raise self._note_lost(error, "synchronize") from error
        self._finish_read(arrays, look)
        if self._unreported:
            raise fresh(self._unreported.pop(0))

    async def synchronize_async(self) -> None:
        """``synchronize`` without blocking the thread."""
        with self._lock:
            token, look = self._begin_read(())
        self._wait_for_batches()
        try:
            if token is None:
                await self._driver.wait_async()
            arrays = [] if token is None else await self._driver.finish_read_async(token)
        except DeviceLostError as error:
            raise self._note_lost(error, "synchronize") from error
        self._finish_read(arrays, look)
        if self._unreported:
            raise fresh(self._unreported.pop(0))

    # ----- house-keeping

    def stats(self) -> dict[str, Any]:
        """Counters as a tree: queue, memory, bind groups, pipelines (these are the device's)."""
        with self._lock:
            memory = self._pool.stats()
            return {
                "queue": {
                    "dispatches": self._dispatches + len(self._commands),
                    "pending": len(self._commands),
                    "submits": self._submits,
                    "reads": self._reads,
                    "bytes_up": self._bytes_up,
                    "bytes_down": self._bytes_down,
                    "failed_buffers": len(self._failed),
                },
                "memory": memory,
                "bind_groups": {**self.bind_groups.stats(), "built": self._groups_built},
                "pipelines": {**self.device.pipelines.stats(), "built": self._pipelines_built},
            }

    @property
    def memory_limit(self) -> int | None:
        """The most bytes of device memory this queue may hold, or None."""
        return self._pool.memory_limit

    @memory_limit.setter
    def memory_limit(self, nbytes: int | None) -> None:
        self._pool.memory_limit = checked_memory_limit(nbytes)

    @property
    def pool_limit(self) -> int:
        """The most bytes of freed memory kept for reuse; lowering it releases at once."""
        return self._pool.pool_limit

    @pool_limit.setter
    def pool_limit(self, nbytes: int) -> None:
        with self._lock:
            self._pool.pool_limit = nbytes
            self._pool.trim(nbytes)

    def clear_caches(self) -> None:
        """Release pooled memory, bind groups, and the device's compiled pipelines.

        Pipelines are shared: other queues of the device keep running and compile theirs anew.
        """
        with self._lock:
            self._pool.trim()
            self.bind_groups.clear()
            self.device.pipelines.clear()

    def close(self) -> None:
        """Release everything; recorded work is dropped.  Idempotent.

        Later uses of the queue or its buffers raise ``RuntimeClosedError``.
        """
        with self._lock:
            if self._closed is not None:
                return
            self._closed = ""
            self._suspicious = True
            self._commands.clear()
            self._unsent = NO_BATCH
            self.bind_groups.clear()
            self._checks.close()
            self._pool.close()

    def hold_for_good(self, seconds: float) -> None:
        """Take the lock and keep it: at exit, other threads wait here until the process ends.

        Daemon threads would otherwise meet a closed queue and print tracebacks.
        """
        self._lock.acquire(timeout=seconds)

    def call_in_forked_child(self, function: WeakMethod[Callable[[], None]]) -> None:
        """Have a method called after a fork, in the child, while its object lives."""
        self._forked_callbacks.append(function)

    def abandon_after_fork(self, reason: str) -> None:
        """In a forked child: refuse all further use, and release nothing."""
        self._lock = threading.RLock()
        self._acquire, self._release = self._lock.acquire, self._lock.release
        for reference in self._forked_callbacks:
            function = reference()
            if function is not None:
                function()
        self._closed = reason
        self._suspicious = True
