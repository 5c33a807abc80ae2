"""Submitting what is recorded, in order, and what happens when that is interrupted or refused.

:class:`Submitter` is the base of recorder.Recorder and uses what that holds; nobody else calls
it.  Everything but ``_wait_for_batches`` runs with the queue's lock.  It knows commands, the
driver and the pool's batches, but neither pipelines nor how commands are made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from tenferro_wgpu.backends.webgpu.device import Device
from tenferro_wgpu.backends.webgpu.drivers.protocol import (
    Batch,
    BatchRejectedError,
    Command,
    Driver,
)
from tenferro_wgpu.backends.webgpu.faults import IndexChecks
from tenferro_wgpu.backends.webgpu.memory import Buffer, BufferPool
from tenferro_wgpu.backends.webgpu.recovery import fresh, submit_in_halves
from tenferro_wgpu.errors import (
    DeviceLostError,
    DeviceOutOfMemoryError,
    IndexOutOfBoundsError,
    RuntimeClosedError,
    TenferroError,
)

#: Recording more per batch gains little (the knee of host cost is at 32 to 64 dispatches).
MAX_BATCH = 64
#: A first batch this small starts an idle GPU early; batches then double.  Software adapters
#: compute on the CPUs that record, so they gain nothing from an early start.
FIRST_BATCH = 8
#: Submit when this many bytes of results were allocated, so that freed memory comes back.
MAX_BATCH_BYTES = 256 << 20

#: Stands for a batch where nothing is being submitted.
NO_BATCH = Batch(sent=True)
#: Receives (operation, GPU nanoseconds or None) for every dispatch of a profiled batch.
ProfileHook = Callable[[str, "int | None"], None]


class Submitter:
    """Submits the commands of one queue; recorder.Recorder makes every attribute."""

    device: Device
    profile_hook: ProfileHook | None
    _driver: Driver
    _lock: Any
    _commands: list[Command]
    _unsent: Batch
    _pool: BufferPool
    _checks: IndexChecks
    _failed: dict[int, TenferroError]
    _unreported: list[TenferroError]
    _awaited: deque[tuple[Batch, ProfileHook | None, Any]]
    _closed: str | None
    _suspicious: bool
    _synchronous: bool
    _threshold: int
    _flush_at_bytes: int
    _dispatches: int
    _submits: int

    def _check_usable(self, operation: str, buffers: Sequence[Buffer] = ()) -> None:
        if self._closed is not None:
            raise RuntimeClosedError(operation, self._closed)
        if self.device.lost is not None:
            raise DeviceLostError(operation, str(getattr(self.device.lost, "reason", "")))
        for buffer in buffers:
            error = self._failed.get(buffer.id)
            if error is not None:
                if isinstance(error, IndexOutOfBoundsError) and error in self._unreported:
                    self._unreported.remove(error)
                raise fresh(error)

    def _note_lost(self, error: DeviceLostError, operation: str) -> DeviceLostError:
        self.device.lost = error
        self._suspicious = True
        return DeviceLostError(operation, error.reason)

    # ----- submission

    def flush(self) -> None:
        """Submit what is recorded; does not wait."""
        with self._lock:
            if self._suspicious:
                self._check_usable("flush")
            self._flush()
        self._wait_for_batches()

    def _start_batch(self) -> Batch:
        """Take the recorded commands for submission and open the next batch.

        Where a signal handler or finalizer calls this in the middle of a submission, or an
        interrupt ended one, the commands that were not sent yet come first.
        """
        batch = Batch()
        empty: list[Command] = []
        # Nothing is called from here to the clearing, so that no signal handler runs.
        unsent, recorded = self._unsent, self._commands
        if not unsent.sent:
            batch += unsent
        batch += recorded
        self._commands = empty
        self._unsent = batch
        if not unsent.sent:
            unsent.clear()
        if self._checks.unsettled:
            self._checks.follow(batch)
        self._dispatches += len(recorded)
        self._submits += 1
        self._flush_at_bytes = self._pool.allocated_bytes + MAX_BATCH_BYTES
        self._threshold = 1 if self._synchronous else min(2 * self._threshold, MAX_BATCH)
        return batch

    def _has_commands(self) -> bool:
        return bool(self._commands or not self._unsent.sent)

    def _flush(self) -> None:
        if not self._has_commands():
            return
        if self.device.lost is not None:
            self._check_usable(self._operation(self._unsent or self._commands))
        batch = self._start_batch()
        try:
            hook = self.profile_hook
            if hook is not None:
                self._awaited.append((batch, hook, self._driver.submit_timed(batch)))
            else:
                self._driver.submit(batch)
                if self._synchronous:
                    self._awaited.append((batch, None, None))
            batch.sent = True
        except DeviceLostError as error:
            batch.sent = True
            raise self._note_lost(error, self._operation(batch)) from error
        except (BatchRejectedError, DeviceOutOfMemoryError):
            self._recover(batch)
        finally:
            self._end_batch()

    def _end_batch(self) -> None:
        """What the submitted batch named may be written and released, unless more is recorded."""
        if self._unsent.sent:
            self._unsent = NO_BATCH
        if not self._has_commands():
            self._pool.next_batch()

    def _operation(self, commands: Sequence[Command]) -> str:
        return commands[0][4] if commands else "submit"

    def _wait_for_batches(self) -> None:
        """Wait for the submitted batches that want it; called without the lock."""
        while self._awaited:
            try:
                commands, hook, token = self._awaited.popleft()
            except IndexError:  # another thread waits for it
                return
            durations: Sequence[int | None] = ()
            try:
                if hook is None:
                    self._driver.wait()
                else:
                    durations = self._driver.finish_timed(token)
            except DeviceLostError as error:
                raise self._note_lost(error, self._operation(commands)) from error
            if hook is not None:
                unknown = [None] * len(commands)
                for command, duration in zip(commands, durations or unknown, strict=True):
                    hook(command[4], duration)

    def _recover(self, batch: Batch) -> None:
        batch.sent = True
        try:
            failures = submit_in_halves(batch, self._driver)
        except DeviceLostError as error:
            raise self._note_lost(error, self._operation(batch)) from error
        for failure in failures:
            if failure.slot.holder == failure.buffer_id:
                self._failed[failure.buffer_id] = failure.error
            if failure.error not in self._unreported:
                self._unreported.append(failure.error)
        self._watch_failures()

    def _watch_failures(self) -> None:
        if self._failed:
            self._suspicious = True
            self._pool.on_returned = self._forget_failure

    def _forget_failure(self, buffer_id: int) -> None:
        if self._failed.pop(buffer_id, None) is not None and not self._failed:
            self._pool.on_returned = None
            self._suspicious = self._closed is not None or self.device.lost is not None
