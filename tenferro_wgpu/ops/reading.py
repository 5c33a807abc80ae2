"""Programs whose results have shapes that depend on values, and the two ways to run them.

Such a program is a generator: it yields an integer tensor of shape () and is sent its number.
`run` reads by waiting for the device; `run_async` awaits, for browsers that cannot wait.  No
derivative rule reads: by the time a derivative is taken, the number is a param.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from ..errors import SyncUnavailableError
from .value import Value

__all__ = ["Reading", "run", "run_async"]

T = TypeVar("T")
#: Yields tensors, is sent numbers, returns a result.
Reading = Generator[Value, int, T]


def run(program: Reading[T], op: str, async_form: str) -> T:
    """The result of a program, waiting where it reads.

    Raises SyncUnavailableError naming `op` and `async_form` where the platform cannot wait.
    """
    try:
        wanted = next(program)
        while True:
            wanted = program.send(wanted.interpreter.read(wanted))
    except StopIteration as finished:
        result: T = finished.value
        return result
    except SyncUnavailableError as error:
        program.close()
        raise SyncUnavailableError(op, async_form) from error


async def run_async(program: Reading[Any]) -> Any:
    """The result of a program, awaiting where it reads."""
    try:
        wanted = next(program)
        while True:
            wanted = program.send(await wanted.interpreter.read_async(wanted))
    except StopIteration as finished:
        return finished.value
