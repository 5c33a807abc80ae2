"""Complex numbers where functions go wrong, and how results are compared with references."""

from __future__ import annotations

import numpy as np

_PARTS = [0.0, -0.0, 1.0, -1.0, 2.5, -0.3, np.inf, -np.inf, np.nan, 1e-12, -1e9]


def grid(dtype: str, *, subnormal: bool = True, extremes: bool = True) -> np.ndarray:
    """Every pair of special parts.

    Args:
        dtype: of the numbers.
        subnormal: whether subnormal parts are among them.
        extremes: whether parts next to the ends of the range are.
    """
    limits = np.finfo(dtype)
    parts = list(_PARTS)
    if extremes:
        parts += [limits.max, -limits.max, limits.tiny * 4]
    if subnormal:
        parts += [limits.tiny / 16, -limits.smallest_subnormal]
    return pairs_of_parts(np.array(parts, limits.dtype), dtype)


def pairs_of_parts(parts: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers whose real and imaginary parts are any two of `parts`."""
    found = np.empty(len(parts) ** 2, dtype)
    found.real = np.repeat(parts, len(parts))
    found.imag = np.tile(parts, len(parts))
    return found


def same_specials(got: np.ndarray, want: np.ndarray, eps: float) -> np.ndarray:
    """Where results agree: finite ones within `eps` normwise, other parts each for itself.

    Signs of zeros count, those of NaN and beside a NaN do not: C leaves these open.
    """
    if want.dtype.kind not in "fc":
        return np.asarray(got == want)
    if want.dtype.kind == "f":
        return _same_parts(got, want) | _near(got, want, eps)
    is_nan = np.isnan(want.real) | np.isnan(want.imag)
    sizes = _same_parts(np.abs(got.real), np.abs(want.real))
    sizes &= _same_parts(np.abs(got.imag), np.abs(want.imag))
    same = _same_parts(got.real, want.real) & _same_parts(got.imag, want.imag) | (is_nan & sizes)
    close_real = _same_parts(got.real, want.real) | _near(got.real, want.real, eps)
    close_imag = _same_parts(got.imag, want.imag) | _near(got.imag, want.imag, eps)
    # A zero part of a finite result keeps its sign; a small part may lose digits to a large one.
    zeros = _zeros_agree(got.real, want.real) & _zeros_agree(got.imag, want.imag)
    return same | (close_real & close_imag) | (_near(got, want, eps) & zeros)


def normwise_error(got: np.ndarray, want: np.ndarray, dtype: str) -> float:
    """The largest error relative to the reference's modulus, in units of the dtype's epsilon."""
    return float(np.max(np.abs(got - want) / np.abs(want)) / np.finfo(dtype).eps)


def _same_parts(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    nan = np.isnan(want)
    return (nan & np.isnan(got)) | ((got == want) & (np.signbit(got) == np.signbit(want)))


def _zeros_agree(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    both = (got == 0) & (want == 0)
    return ~both | (np.signbit(got) == np.signbit(want))


def _near(got: np.ndarray, want: np.ndarray, eps: float) -> np.ndarray:
    wide = np.clongdouble if want.dtype.kind == "c" else np.longdouble
    limit = eps * np.finfo(want.dtype).eps
    with np.errstate(all="ignore"):
        distance = np.abs(got.astype(wide) - want.astype(wide))
        return (
            np.isfinite(want) & np.isfinite(got) & (distance <= limit * np.abs(want.astype(wide)))
        )
