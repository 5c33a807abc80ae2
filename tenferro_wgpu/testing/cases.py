"""What a row of a case table is, and how a result is compared with its reference.

Used by the tables of this package, by the tests and by `check_backend`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Case", "assert_close", "check", "operands", "reference"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Case:
    """One operation: ours, NumPy's, the dtypes it takes and how far results may differ.

    `ulps` bounds the distance to the reference in units of the last place: 0 means the same
    bits (any NaN equals any NaN).  The reference of a float is then evaluated in float64, that
    of a complex number in complex128.
    """

    ours: Callable[..., Any]
    reference: Callable[..., Any]
    dtypes: tuple[str, ...]
    ulps: float = 0
    #: Whether the sign of a zero result is the platform's choice in NumPy too.
    any_zero: bool = False
    #: What operands become first, where NumPy or the platform leaves some values undefined.
    domain: Callable[..., tuple[Array, ...]] | None = None
    #: Whether the reference is evaluated in the operands' own dtype even with `ulps`.
    native: bool = False
    #: Units of the dtype's epsilon by which results near 0 may differ besides.
    absolute: float = 0


def operands(case: Case, *arrays: Array) -> tuple[Array, ...]:
    """The arrays within the domain of the case."""
    return arrays if case.domain is None else case.domain(*arrays)


def assert_close(
    got: Array,
    want: Array,
    ulps: float,
    what: str = "",
    *,
    any_zero: bool = False,
    may_flush: bool = False,
    absolute: float = 0,
) -> None:
    """Same dtype and shape, and equal within `ulps`; NaN equals NaN, zeros keep their sign.

    Complex numbers are compared by their distance, in units of the last place of the modulus,
    where both parts are finite, and part by part where one is not.  `may_flush` accepts 0 for a
    subnormal float32 on an adapter whose hardware flushes; `absolute` adds so many epsilons.
    """
    want = np.asarray(want)
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    if got.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    with np.errstate(all="ignore"):
        if got.dtype.kind == "c":
            same = _near(got, want, ulps, absolute)
        else:
            same = _same(got, want, ulps, any_zero, may_flush, absolute)
    bad = np.flatnonzero(~same)
    assert bad.size == 0, (
        f"{what}: {bad.size} of {same.size} differ; first at {bad[0]}: "
        f"got {got.ravel()[bad[0]]!r}, expected {want.ravel()[bad[0]]!r}"
    )


def _same(
    got: Array, want: Array, ulps: float, any_zero: bool, may_flush: bool, absolute: float
) -> Array:
    """Where floats agree."""
    limits = np.finfo(got.dtype)
    nan = np.isnan(want)
    same = (got == want) | (nan & np.isnan(got))
    if ulps == 0 and not any_zero:
        same &= nan | (np.signbit(got) == np.signbit(want))
    elif ulps:
        finite = np.isfinite(want) & np.isfinite(got)
        allowed = ulps * np.spacing(np.abs(want)) + np.asarray(absolute * limits.eps, got.dtype)
        same |= finite & (np.abs(got - want) <= allowed)
        # A result just past the largest number may round either way.
        edge = limits.max * (1 - 2 * ulps * limits.eps)
        same |= (np.abs(want) >= limits.max) & (np.abs(got) >= edge)
    if may_flush and got.dtype == np.float32:
        same |= (got == 0) & (np.abs(want) <= limits.tiny)
    result: Array = same
    return result


def _near(got: Array, want: Array, ulps: float, absolute: float) -> Array:
    """Where complex numbers agree."""
    limits = np.finfo(got.dtype)
    kind = np.dtype(f"f{got.dtype.itemsize // 2}")
    size = np.abs(want)
    finite = np.isfinite(want) & np.isfinite(got)
    allowed = ulps * limits.eps * size + absolute * limits.eps + ulps * limits.smallest_subnormal
    same = finite & ((got == want) | (np.abs(got - want) <= allowed))
    parts = np.ones(want.shape, bool)
    for mine, theirs in ((got.real, want.real), (got.imag, want.imag)):
        mine, theirs = mine.astype(kind), theirs.astype(kind)
        parts &= _same(mine, theirs, max(ulps, 1), True, True, absolute)
    result: Array = same | parts
    return result


def check(adapter: str, case: Case, got: Array, *arrays: Array, **options: Any) -> None:
    """Compare a result of `case` on an adapter with NumPy's on the same host arrays."""
    assert_close(
        got,
        reference(case, *arrays, **options),
        case.ulps,
        f"{case.ours.__name__} {arrays[0].dtype} {options or ''}",
        any_zero=case.any_zero,
        may_flush=adapter == "swiftshader",
        absolute=case.absolute,
    )


#: dtype -> the wider one in which the reference of a rounded function is evaluated.
_WIDER = {"float16": "float64", "float32": "float64", "complex64": "complex128"}


def reference(case: Case, *arrays: Array, **options: Any) -> Array:
    """NumPy's result; functions that may differ in the last place are evaluated wider."""
    dtype = arrays[-1].dtype
    wider = _WIDER.get(dtype.name)
    with np.errstate(all="ignore"):
        if case.ulps and wider is not None and not case.native:
            wide = np.asarray(case.reference(*(a.astype(wider) for a in arrays), **options))
            # Real results of complex numbers, as of abs, have the precision of their parts.
            return wide.astype(
                f"f{dtype.itemsize // 2}" if wide.dtype.kind == "f" and dtype.kind == "c" else dtype
            )
        return np.asarray(case.reference(*arrays, **options))
