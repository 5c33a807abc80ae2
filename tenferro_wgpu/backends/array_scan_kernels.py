"""Running sums, products, extrema and recurrences over a NumPy-compatible namespace.

Part of `array_kernels`.  Where the namespace has no scan of its own, one is made by doubling
(Hillis and Steele, "Data parallel algorithms", 1986): log2 n vectorised passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensor import ShapeDtype

__all__ = ["SCAN_KERNELS"]

Array = Any
Namespace = Any


def _along(x: Array, axis: int, places: slice) -> Array:
    return x[(slice(None),) * axis + (places,)]


def turned(xp: Namespace, x: Array, axis: int, reverse: bool) -> Array:
    """`x` seen from the other end of an axis, if `reverse`."""
    return xp.flip(x, axis) if reverse else x


def cumulative_sum(xp: Namespace, out: ShapeDtype, x: Array, *, axis: int, reverse: bool) -> Array:
    """Running sums along `axis` in the operand's dtype."""
    sums = xp.cumsum(turned(xp, x, axis, reverse), axis=axis, dtype=out.dtype)
    return turned(xp, sums, axis, reverse)


def cumulative_prod(xp: Namespace, out: ShapeDtype, x: Array, *, axis: int) -> Array:
    """Running products along `axis` in the operand's dtype."""
    return xp.cumprod(x, axis=axis, dtype=out.dtype)


def doubled(xp: Namespace, x: Array, axis: int, combine: Callable[[Array, Array], Array]) -> Array:
    """Running combinations along `axis` of an operation of two neighbours."""
    y = xp.array(x, order="C")
    distance = 1
    while distance < x.shape[axis]:
        combined = combine(
            _along(y, axis, slice(None, -distance)), _along(y, axis, slice(distance, None))
        )
        _along(y, axis, slice(distance, None))[...] = combined
        distance *= 2
    return y


def cumulative_max(xp: Namespace, out: ShapeDtype, x: Array, *, axis: int) -> Array:
    """Running maxima along `axis`; NaN stays."""
    return doubled(xp, x, axis, xp.maximum)


def cumulative_min(xp: Namespace, out: ShapeDtype, x: Array, *, axis: int) -> Array:
    """Running minima along `axis`; NaN stays."""
    return doubled(xp, x, axis, xp.minimum)


def cumulative_logsumexp(xp: Namespace, out: ShapeDtype, x: Array, *, axis: int) -> Array:
    """Running logarithms of sums of exponentials along `axis`."""
    return doubled(xp, x, axis, xp.logaddexp)


def linear_recurrence(
    xp: Namespace, out: ShapeDtype, a: Array, b: Array, *, axis: int, reverse: bool
) -> Array:
    """y[i] = a[i] * y[i-1] + b[i] along `axis`; a factor of 0 forgets what was before."""
    factors = xp.array(turned(xp, a, axis, reverse), order="C")
    sums = xp.array(turned(xp, b, axis, reverse), order="C")
    distance = 1
    while distance < out.shape[axis]:
        later, earlier = slice(distance, None), slice(None, -distance)
        own = _along(factors, axis, later)
        passed = own * _along(sums, axis, earlier)
        total = xp.where(own == 0, _along(sums, axis, later), passed + _along(sums, axis, later))
        product = own * _along(factors, axis, earlier)
        _along(sums, axis, later)[...] = total
        own[...] = product
        distance *= 2
    return turned(xp, sums, axis, reverse)


#: Primitive name -> kernel.
SCAN_KERNELS: dict[str, Callable[..., Array]] = {
    "cumulative_sum": cumulative_sum,
    "cumulative_prod": cumulative_prod,
    "cumulative_max": cumulative_max,
    "cumulative_min": cumulative_min,
    "cumulative_logsumexp": cumulative_logsumexp,
    "linear_recurrence": linear_recurrence,
}
