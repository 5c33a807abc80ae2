"""Accurate floating-point sums on NumPy: the error grows like log n along every axis.

NumPy sums pairwise only along the axis its inner loop runs over; along any other axis it adds
row after row and the error grows like n.  Used only by `numpy_backend`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import ShapeDtype

__all__ = ["reduce_sum"]

Array = np.ndarray[Any, Any]

#: Rows added one after another before partial sums are paired up; each level shrinks the work
#: sixteenfold, so folding costs about 1/15 more memory traffic than one plain pass.
_BLOCK = 16


def reduce_sum(xp: Any, out: ShapeDtype, x: Array, *, axes: tuple[int, ...]) -> Any:
    """Sum over `axes` in the operand's dtype, pairwise or in blocks for inexact dtypes."""
    if out.dtype.kind not in "fc" or x.size <= _BLOCK or not axes:
        return np.add.reduce(x, axis=axes, dtype=out.dtype)
    if x.flags.c_contiguous:
        x, axes = _merge_adjacent(x, axes)
    # Later axes first: they are the ones NumPy sums pairwise, and they leave less for the rest.
    for axis in reversed(axes):
        x = _fold(x, axis)
    return x.reshape(out.shape)


def _merge_adjacent(x: Array, axes: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
    """The same C-contiguous array with neighbouring reduced, or kept, axes made one."""
    shape: list[int] = []
    reduced: list[int] = []
    previous: bool | None = None
    for axis, extent in enumerate(x.shape):
        is_reduced = axis in axes
        if is_reduced is previous:
            shape[-1] *= extent
        else:
            if is_reduced:
                reduced.append(len(shape))
            shape.append(extent)
            previous = is_reduced
    return x.reshape(shape), tuple(reduced)


def _fold(x: Array, axis: int) -> Array:
    """Sum along one axis."""
    while x.shape[axis] > 2 * _BLOCK and not _is_inner_loop(x, axis):
        extent = x.shape[axis]
        blocks, rest = divmod(extent, _BLOCK)
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        lead = (slice(None),) * axis
        partial = np.empty((*before, blocks + (rest > 0), *after), x.dtype)
        whole = x[(*lead, slice(0, blocks * _BLOCK))]
        # Splitting one axis never copies.
        whole = whole.reshape((*before, blocks, _BLOCK, *after))
        np.add.reduce(whole, axis=axis + 1, out=partial[(*lead, slice(0, blocks))])
        if rest:
            tail = x[(*lead, slice(blocks * _BLOCK, extent))]
            np.add.reduce(tail, axis=axis, out=partial[(*lead, blocks)])
        x = partial
    return np.asarray(np.add.reduce(x, axis=axis))


def _is_inner_loop(x: Array, axis: int) -> bool:
    """Whether NumPy's inner loop surely runs along `axis` (the strictly smallest stride)."""
    own = abs(x.strides[axis])
    return all(
        abs(stride) > own
        for other, stride in enumerate(x.strides)
        if other != axis and x.shape[other] != 1
    )
