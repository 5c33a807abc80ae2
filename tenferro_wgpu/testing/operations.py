"""Operations with their NumPy references: one row each, run on every adapter, dtype and layout.

Used by the tests and by `check_backend`; it knows public functions only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .values import ALL, FLOATS, NUMBERS

__all__ = ["BINARY", "REDUCTIONS", "UNARY", "Case", "assert_close", "check", "reference"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """One operation: ours, NumPy's, the dtypes it takes and how far results may differ.

    `ulps` bounds the distance to the reference in units of the last place: 0 means the same
    bits (any NaN equals any NaN).  The reference of float32 is evaluated in float64.
    """

    ours: Callable[..., Any]
    reference: Callable[..., Any]
    dtypes: tuple[str, ...]
    ulps: float = 0
    #: Whether the sign of a zero result is the platform's choice in NumPy too.
    any_zero: bool = False


def _sign(x: Array) -> Array:
    result: Array = np.sign(x)
    return result


def _rsqrt(x: Array) -> Array:
    result: Array = 1 / np.sqrt(x)
    return result


UNARY = {
    "negative": Case(tw.negative, np.negative, NUMBERS),
    "abs": Case(tw.abs, np.abs, NUMBERS),
    "sign": Case(tw.sign, _sign, NUMBERS),
    "sqrt": Case(tw.sqrt, np.sqrt, FLOATS),
    "rsqrt": Case(tw.rsqrt, _rsqrt, FLOATS, ulps=4),
    "exp": Case(tw.exp, np.exp, FLOATS, ulps=4),
    "expm1": Case(tw.expm1, np.expm1, FLOATS, ulps=4),
    "log": Case(tw.log, np.log, FLOATS, ulps=4),
    "log1p": Case(tw.log1p, np.log1p, FLOATS, ulps=4),
    "sin": Case(tw.sin, np.sin, FLOATS, ulps=4),
    "cos": Case(tw.cos, np.cos, FLOATS, ulps=4),
    "tanh": Case(tw.tanh, np.tanh, FLOATS, ulps=4),
    "logical_not": Case(tw.logical_not, np.logical_not, ("bool",)),
}

BINARY = {
    "add": Case(tw.add, np.add, NUMBERS),
    "subtract": Case(tw.subtract, np.subtract, NUMBERS),
    "multiply": Case(tw.multiply, np.multiply, NUMBERS),
    "divide": Case(tw.divide, np.divide, FLOATS),
    "pow": Case(tw.pow, np.power, FLOATS, ulps=4),
    "maximum": Case(tw.maximum, np.maximum, ALL, any_zero=True),
    "minimum": Case(tw.minimum, np.minimum, ALL, any_zero=True),
    "equal": Case(tw.equal, np.equal, ALL),
    "not_equal": Case(tw.not_equal, np.not_equal, ALL),
    "less": Case(tw.less, np.less, ALL),
    "less_equal": Case(tw.less_equal, np.less_equal, ALL),
    "greater": Case(tw.greater, np.greater, ALL),
    "greater_equal": Case(tw.greater_equal, np.greater_equal, ALL),
    "logical_and": Case(tw.logical_and, np.logical_and, ("bool",)),
    "logical_or": Case(tw.logical_or, np.logical_or, ("bool",)),
}

#: Reductions: reference with axis=, run over several axes of several layouts.
REDUCTIONS = {
    "sum": Case(tw.sum, np.sum, ALL, ulps=16),
    "prod": Case(tw.prod, np.prod, ALL, ulps=16),
    "max": Case(tw.max, np.max, ALL, any_zero=True),
    "min": Case(tw.min, np.min, ALL, any_zero=True),
    "mean": Case(tw.mean, np.mean, FLOATS, ulps=16),
}


def assert_close(
    got: Array,
    want: Array,
    ulps: float,
    what: str = "",
    *,
    any_zero: bool = False,
    may_flush: bool = False,
) -> None:
    """Same dtype and shape, and equal within `ulps`; NaN equals NaN, zeros keep their sign.

    `may_flush` accepts 0 for a subnormal float32 on an adapter whose hardware flushes.
    """
    want = np.asarray(want)
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    limits = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        nan = np.isnan(want)
        same = (got == want) | (nan & np.isnan(got))
        if ulps == 0 and not any_zero:
            same &= nan | (np.signbit(got) == np.signbit(want))
        elif ulps:
            finite = np.isfinite(want) & np.isfinite(got)
            same |= finite & (np.abs(got - want) <= ulps * np.spacing(np.abs(want)))
            # A result just past the largest number may round either way.
            same |= (np.abs(want) >= limits.max) & (np.abs(got) >= limits.max * (1 - ulps * 2e-7))
        if may_flush and got.dtype == np.float32:
            same |= (got == 0) & (np.abs(want) <= limits.tiny)
    bad = np.flatnonzero(~same)
    assert bad.size == 0, (
        f"{what}: {bad.size} of {same.size} differ; first at {bad[0]}: "
        f"got {got.ravel()[bad[0]]!r}, expected {want.ravel()[bad[0]]!r}"
    )


def check(adapter: str, case: Case, got: Array, *arrays: Array, **options: Any) -> None:
    """Compare a result of `case` on an adapter with NumPy's on the same host arrays."""
    assert_close(
        got,
        reference(case, *arrays, **options),
        case.ulps,
        f"{case.ours.__name__} {arrays[0].dtype} {options or ''}",
        any_zero=case.any_zero,
        may_flush=adapter == "swiftshader",
    )


def reference(case: Case, *arrays: Array, **options: Any) -> Array:
    """NumPy's result; float32 transcendental functions are evaluated in float64 and rounded."""
    with np.errstate(all="ignore"):
        if case.ulps and arrays[0].dtype == np.float32:
            wide = case.reference(*(a.astype(np.float64) for a in arrays), **options)
            return np.asarray(wide).astype(np.float32)
        return np.asarray(case.reference(*arrays, **options))
