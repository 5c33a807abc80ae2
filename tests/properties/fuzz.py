"""Random calls with right and wrong arguments: NumPy, its backend and an adapter must agree.

    python tests/properties/fuzz.py --calls 5000 --seed 7 --adapter lavapipe

More than half of the calls are right: both backends give NumPy's values.  The others are made
wrong: both give the same values, or both raise the same documented exception.  A crash, a hang, an
internal error (AttributeError, AssertionError, RecursionError, an error of the driver) or a
different answer is a finding; it is printed with the number that repeats it (``--first N
--calls 1``).  In pytest a short run of it is in ``test_fuzz.py``.
"""

from __future__ import annotations

import argparse
import faulthandler
import signal
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from cases.operations import assert_close
from properties import wrong_calls
from properties.calls import Call
from properties.makers import CALLS
from properties.operands import ALL
from properties.sources import SeededSource, Source

import tenferro_wgpu as tw
from tenferro_wgpu.errors import TenferroError, UnsupportedOperationError

ALLOWED = (TenferroError, TypeError, ValueError, IndexError, OverflowError, MemoryError)
#: What every backend has; others may be missing on an adapter.
COMMON_DTYPES = ALL
#: Results above this are not read.
MOST_READ = 10**6
SECONDS_PER_CALL = 60
#: How many calls are right on purpose; some of the others are by chance.
PERCENT_RIGHT = 60


@dataclass
class Finding(Exception):
    """A call on which the backends do not agree, or that failed in a way it must not."""

    number: int
    call: Call
    reason: str

    def __str__(self) -> str:
        return f"call {self.number}: {self.call!r}\n  {self.reason}"


class Hang(BaseException):
    """A call that did not come back."""


@contextmanager
def limited_time(seconds: int) -> Iterator[None]:
    """Raise Hang in the block after a while (where the platform has alarms)."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: Any) -> None:
        raise Hang(f"no answer in {seconds} s")

    previous = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def random_call(seed: int, number: int) -> tuple[Call, bool]:
    """Call `number` of a seed, with up to two arguments made wrong, and whether it is right."""
    source: Source = SeededSource(seed * 1_000_003 + number)
    if source.chance(PERCENT_RIGHT):
        return CALLS[source.choice(tuple(CALLS))](source), True
    name = source.choice([*CALLS, *wrong_calls.CALLS])
    call = (CALLS.get(name) or wrong_calls.CALLS[name])(source)
    for _ in range(source.choice((0, 1, 1, 2))):
        wrong_calls.spoil(source, call)
    return call, False


def outcome(call: Call, runtime: Any) -> Any:
    """The values of a call, or the class of the exception it raised."""
    try:
        with np.errstate(all="ignore"), limited_time(SECONDS_PER_CALL), runtime.as_default():
            result = call.run(runtime)
            values = [_read(item) for item in (result if isinstance(result, tuple) else [result])]
            runtime.backend.synchronize()
            return values
    except ALLOWED as error:
        assert str(error), f"{type(error)} without a message"
        return error


def _read(item: Any) -> Any:
    if not isinstance(item, tw.EagerTensor):
        return item
    return item.numpy() if item.size <= MOST_READ else (item.shape, item.dtype)


def _unless_large(array: np.ndarray[Any, Any]) -> Any:
    return array if array.size <= MOST_READ else (array.shape, array.dtype)


def difference(call: Call, expected: Any, got: Any) -> str:
    """Why two outcomes do not agree; empty if they do."""
    if (
        isinstance(got, UnsupportedOperationError)
        and got.dtype is not None
        and str(got.dtype) not in COMMON_DTYPES
    ):
        return ""
    if isinstance(expected, ValueError) and "negative integer powers" in str(expected):
        # Exponents in a tensor: read on the host, undefined on a device (see `tw.pow`).
        return "" if not isinstance(got, Exception) or type(got) is type(expected) else _text(got)
    if isinstance(expected, MemoryError) and isinstance(got, MemoryError):
        return ""
    if isinstance(expected, Exception) or isinstance(got, Exception):
        if type(expected) is type(got):
            return ""
        return f"NumPy backend: {_text(expected)}\n  adapter: {_text(got)}"
    if len(expected) != len(got):
        return f"{len(expected)} results, and {len(got)} on the adapter"
    for mine, theirs in zip(got, expected, strict=True):
        try:
            if isinstance(theirs, np.ndarray):
                assert_close(
                    mine,
                    theirs,
                    2 * call.ulps,
                    "value",
                    any_zero=call.any_zero,
                    may_flush=True,
                    absolute=2 * call.absolute,
                )
            else:
                assert _same(mine, theirs), f"{mine!r}, expected {theirs!r}"
        except AssertionError as error:
            return str(error)
    return ""


def _difference_from_numpy(call: Call, got: Any) -> str:
    """Why the outcome of a right call is not NumPy's; empty if it is."""
    wanted = call.expected()
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    reason = difference(call, [_unless_large(np.asarray(each)) for each in wanted], got)
    return reason and f"NumPy itself, {reason}"


def _is_rough(call: Call, expected: Any, got: Any) -> bool:
    """Whether values are complex powers: NumPy's lose as many digits as the angle has."""
    return call.name == "pow" and all(
        isinstance(each, list) and isinstance(each[0], np.ndarray) and each[0].dtype.kind == "c"
        for each in (expected, got)
    )


def _same(mine: Any, theirs: Any) -> bool:
    return bool(mine == theirs or (mine != mine and theirs != theirs))


def _text(result: Any) -> str:
    if isinstance(result, Exception):
        return f"{type(result).__name__}: {result}"
    return f"gave {str(result)[:200]}"


def check_call(seed: int, number: int, reference: Any, runtime: Any) -> str:
    """Compare one call; returns "value" or the exception's name, raises Finding."""
    call, is_right = random_call(seed, number)
    expected: Any = None
    try:
        expected = outcome(call, reference)
        got = outcome(call, runtime)
    except (Exception, Hang) as error:
        where = "NumPy backend" if expected is None else "adapter"
        text = "".join(traceback.format_exception(error, limit=-6))
        raise Finding(number, call, f"{where} failed inside: {text}") from error
    is_undefined = call.undefined or _is_rough(call, expected, got)
    reason = "" if is_undefined else difference(call, expected, got)
    if is_right and not reason:
        reason = _difference_from_numpy(call, got)
    if reason:
        raise Finding(number, call, reason)
    return type(expected).__name__ if isinstance(expected, Exception) else "value"


def main() -> int:
    from conftest import make_runtime

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--adapter", default="lavapipe")
    parser.add_argument("--most-findings", type=int, default=20)
    options = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    reference, runtime = make_runtime("numpy"), make_runtime(options.adapter)
    for one, name in ((reference, "numpy"), (runtime, options.adapter)):
        wrong_calls.prepare(one, lambda name=name: make_runtime(name))
    findings, outcomes = 0, Counter()
    for number in range(options.first, options.first + options.calls):
        # A native hang or crash shows where it was.
        faulthandler.dump_traceback_later(3 * SECONDS_PER_CALL, exit=True)
        if number % 500 == 0:
            print(f"seed {options.seed}, call {number}", flush=True)
        try:
            outcomes[check_call(options.seed, number, reference, runtime)] += 1
        except Finding as finding:
            findings += 1
            print(finding, flush=True)
            if findings >= options.most_findings:
                break
    faulthandler.cancel_dump_traceback_later()
    print(dict(outcomes.most_common()))
    print(f"{findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
