"""Orders, searches, permutations and choices by masks over a NumPy-compatible namespace.

Part of `array_kernels`; called only through its table.
"""

from __future__ import annotations

from typing import Any

from ..tensor import ShapeDtype

__all__ = [
    "argsort",
    "compress",
    "count_before",
    "count_places",
    "expand",
    "nonzero",
    "permute",
    "searchsorted",
    "sort",
    "unpermute",
]

Array = Any
Namespace = Any


def argsort(
    xp: Namespace, out: ShapeDtype, x: Array, *, descending: bool, first: int | None = None
) -> Array:
    """The stable order of each row; descending it keeps equal elements in their order too."""
    if not descending:
        return xp.argsort(x, axis=-1, kind="stable")
    order = xp.argsort(x[..., ::-1], axis=-1, kind="stable")
    return (x.shape[-1] - 1) - order[..., ::-1]


def sort(
    xp: Namespace, out: ShapeDtype, x: Array, *, descending: bool, places: tuple[int, ...] | None
) -> Array:
    """Each row in that order; all `places` are right, whichever are asked for."""
    if not descending:
        return xp.sort(x, axis=-1, kind="stable")
    return xp.sort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]


def permute(xp: Namespace, out: ShapeDtype, x: Array, order: Array) -> Array:
    """``out[i, j] = x[i, order[i, j]]``."""
    return xp.take_along_axis(x, order, axis=1)


def unpermute(xp: Namespace, out: ShapeDtype, x: Array, order: Array) -> Array:
    """``out[i, order[i, j]] = x[i, j]``."""
    result = xp.empty(out.shape, out.dtype)
    result[xp.arange(out.shape[0])[:, None], order] = x
    return result


def searchsorted(xp: Namespace, out: ShapeDtype, x: Array, values: Array, *, side: str) -> Array:
    """Where `values` would be inserted into `x`."""
    return xp.searchsorted(x, values, side=side)


def count_before(xp: Namespace, out: ShapeDtype, mask: Array) -> Array:
    """How many elements of a mask are true before each one, and in all."""
    result = xp.zeros(out.shape, out.dtype)
    xp.cumsum(mask, dtype=out.dtype, out=result[1:])
    return result


def nonzero(
    xp: Namespace, out: ShapeDtype, before: Array, *, shape: tuple[int, ...], count: int
) -> Array:
    """Coordinates of the chosen elements of an array of `shape`, one row per axis."""
    positions = _chosen(xp, before)
    if not shape:
        return xp.empty(out.shape, out.dtype)
    return xp.stack(xp.unravel_index(positions, shape))


def compress(xp: Namespace, out: ShapeDtype, x: Array, before: Array, *, count: int) -> Array:
    """The chosen rows of `x`."""
    return x[_chosen(xp, before)]


def expand(xp: Namespace, out: ShapeDtype, x: Array, before: Array) -> Array:
    """Zeros with the rows of `x` at the chosen places."""
    result = xp.zeros(out.shape, out.dtype)
    result[_chosen(xp, before)] = x
    return result


def count_places(xp: Namespace, out: ShapeDtype, places: Array, *, length: int) -> Array:
    """How often each number from 0 to `length` occurs."""
    if length == 0:
        return xp.zeros(out.shape, out.dtype)
    known = places[(places >= 0) & (places < length)]
    return xp.bincount(known, minlength=length)


def _chosen(xp: Namespace, before: Array) -> Array:
    return xp.flatnonzero(before[1:] != before[:-1])
