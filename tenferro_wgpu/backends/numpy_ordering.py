"""Sorting on NumPy without what its stable sorts cost.

NumPy's sort of values is several times as fast as its stable order.  Equal elements that differ
are zeros and numbers of complex parts alone, so values need no stable sort; and the order of
elements of up to 32 bits is a sort of integers that hold the element's rank in their upper half
and its column in the lower one.  Used only by `numpy_backend`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import ShapeDtype
from . import array_ordering_kernels as shared

__all__ = ["ORDERING"]

Array = np.ndarray[Any, Any]

#: From more places on, sorting everything is faster than finding them.
_MOST_PLACES = 16
#: Shorter rows are sorted faster with their order beside them.
_SHORTEST_PACKED = 1024


def argsort(
    xp: Any, out: ShapeDtype, x: Array, *, descending: bool, first: int | None = None
) -> Array:
    """The stable order of each row; with `first`, only so many columns are right."""
    if x.dtype.itemsize > 4 or x.dtype.kind not in "fiu" or x.shape[-1] < _SHORTEST_PACKED:
        order: Array = shared.argsort(xp, out, x, descending=descending)
        return order
    records = _ranks(x)
    if descending:
        np.invert(records, out=records)  # of signed numbers that turns the order around
    records <<= 32
    records |= np.arange(x.shape[-1])
    if first is None or first > x.shape[-1] // 8:
        records.sort(axis=-1)
    elif first:
        # Records are distinct, so that the smallest ones are found without sorting the others.
        records.partition(first - 1, axis=-1)
        records[..., :first].sort(axis=-1)
    records &= 0xFFFFFFFF
    return records


def _ranks(x: Array) -> Array:
    """Elements as int64 between -2**31 and 2**31 of the same order; NaN is the largest."""
    if x.dtype.kind != "f":
        # Unsigned numbers fit too, moved to the middle.
        ranks = x.astype(np.int64)
        return ranks - 2**31 if x.dtype.kind == "u" else ranks
    # Adding 0 makes 0 of -0.  Negative floats have the order of their bits turned around.
    bits = (x.astype(np.float32) + np.float32(0)).view(np.int32)
    ranks = (bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.int64)
    ranks[np.isnan(x)] = 2**31 - 1
    return ranks


def _half_ranks(x: Array) -> Array:
    """float16 as int16 of the same order: NumPy's own sort mixes zeros with the smallest numbers.

    Measured with NumPy 2.4 and AVX-512, in rows of thousands.  NaN are the largest, without sign.
    """
    bits = x.view(np.int16)
    return np.where(np.isnan(x), bits & 0x7FFF, _turned(bits))


def _halves(ranks: Array) -> Array:
    """The float16 numbers of their ranks."""
    return _turned(ranks).view(np.float16)


def _turned(bits: Array) -> Array:
    """Bits of negative numbers in the opposite order, which is its own inverse."""
    turned: Array = bits ^ ((bits >> 15) & 0x7FFF)
    return turned


def sort(
    xp: Any, out: ShapeDtype, x: Array, *, descending: bool, places: tuple[int, ...] | None
) -> Array:
    """Each row in order; with `places` these elements of it are right, and others anywhere."""
    result: Array
    if x.dtype.kind == "c":
        result = shared.sort(xp, out, x, descending=descending, places=places)
        return result
    halves = x.dtype == np.float16
    values = _half_ranks(x) if halves else x
    if places is not None and len(places) <= _MOST_PLACES and not descending:
        result = np.partition(values, places, axis=-1)
        return _halves(result) if halves else result
    result = np.sort(values, axis=-1)
    if halves:
        result = _halves(result)
    if descending:
        result = result[..., ::-1].copy()
    if x.dtype.kind == "f":
        # Zeros of either sign are equal: they keep the order they had.
        zeros = result == 0
        if zeros.any():
            result[zeros] = x[x == 0]
    return result


#: Kernels by primitive name, in place of the shared ones.
ORDERING: dict[str, Callable[..., Array]] = {"argsort": argsort, "sort": sort}
