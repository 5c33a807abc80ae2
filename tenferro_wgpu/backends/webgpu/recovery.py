"""What happens when the driver refuses a batch: find the command to blame, run the rest.

Called by queue.py with its lock held.  One bad command makes the driver drop the whole batch, so
the batch is submitted in halves, recursively, in order.  The results of the bad command, and of
every later command of the batch that reads them, are reported as failed; the others run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

from tenferro_wgpu.backends.webgpu.drivers.protocol import BatchRejectedError, Command, Driver
from tenferro_wgpu.errors import DeviceOutOfMemoryError, TenferroError


class Failure(NamedTuple):
    """A buffer that does not hold what it should."""

    slot: Any
    buffer_id: int
    error: TenferroError


def submit_in_halves(commands: Sequence[Command], driver: Driver) -> list[Failure]:
    """Submit all commands but the bad ones and their dependents.

    Returns the outputs of those; the error of a dependent is that of the command it depends on.
    """
    search = _Search(driver)
    search.submit(list(commands))
    return search.failures


class _Search:
    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self.failures: list[Failure] = []
        #: What is wrong in a device buffer (slot) now.
        self._spoilt: dict[Any, Failure] = {}

    def submit(self, commands: list[Command]) -> None:
        runnable = [command for command in commands if not self._depends_on_failure(command)]
        if not runnable:
            return
        try:
            self._driver.submit(runnable)
        except (BatchRejectedError, DeviceOutOfMemoryError) as error:
            if len(runnable) == 1:
                self._fail(runnable[0], _blame(runnable[0][4], error))
                return
            middle = len(runnable) // 2
            self.submit(runnable[:middle])
            self.submit(runnable[middle:])

    def _depends_on_failure(self, command: Command) -> bool:
        if not self._spoilt:
            return False
        for slot, buffer_id in _outputs(command):
            failure = self._spoilt.get(slot)
            if failure is not None and failure.buffer_id != buffer_id:
                # The pool gave the memory to a new owner, and this command is what fills it.
                del self._spoilt[slot]
        for slot in command[5][1:]:
            failure = self._spoilt.get(slot)
            if failure is not None:
                self._fail(command, failure.error)
                return True
        return False

    def _fail(self, command: Command, error: TenferroError) -> None:
        for slot, buffer_id in _outputs(command):
            failure = Failure(slot, buffer_id, error)
            self.failures.append(failure)
            self._spoilt[slot] = failure


def _outputs(command: Command) -> Iterator[tuple[Any, int]]:
    flat = iter(command[6])
    return zip(flat, flat, strict=True)


def _blame(operation: str, error: Exception) -> TenferroError:
    if isinstance(error, DeviceOutOfMemoryError):
        return DeviceOutOfMemoryError(operation, error.nbytes, "submitting it")
    # No cause: its traceback would keep the whole batch alive.
    return TenferroError(f"{operation}: the device refused this dispatch: {error}")


def fresh(error: TenferroError) -> TenferroError:
    """A copy of a stored error, to raise.

    Raising the stored one would hang the frames of every reader, and the failed buffers they
    hold, on its traceback.
    """
    again = copy(error)
    again.args = error.args
    again.__dict__.update(error.__dict__)
    return again
