"""Running sums and extrema on NumPy: as accurate as its own sums, or in one pass.

NumPy adds running sums one after another, so their error grows like n.  Used only by
`numpy_backend`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tensor import ShapeDtype
from .array_scan_kernels import turned

__all__ = ["SCANS"]

Array = np.ndarray[Any, Any]

#: Elements added one after another; each level of blocks adds as many roundings.
_BLOCK = 64
#: What is added exactly enough in a wider type, which is faster than blocks.
_WIDER = {
    np.dtype(np.float32): np.dtype(np.float64),
    np.dtype(np.complex64): np.dtype(np.complex128),
}


def _in_blocks(x: Array) -> Array:
    """Running sums along the last axis: within blocks, of blocks, and both together."""
    extent = x.shape[-1]
    if extent <= 2 * _BLOCK:
        return np.add.accumulate(x, axis=-1)
    whole = extent // _BLOCK * _BLOCK
    sums = np.empty_like(x, order="C")
    blocks = sums[..., :whole].reshape((*x.shape[:-1], whole // _BLOCK, _BLOCK))
    np.add.accumulate(
        x[..., :whole].reshape(blocks.shape), axis=-1, out=blocks
    )  # a view of `sums`: splitting the last axis of C order never copies
    before = _in_blocks(blocks[..., -1].copy())
    blocks[..., 1:, :] += before[..., :-1, None]
    if whole < extent:
        np.add.accumulate(x[..., whole:], axis=-1, out=sums[..., whole:])
        sums[..., whole:] += before[..., -1:]
    return sums


def cumulative_sum(xp: Any, out: ShapeDtype, x: Array, *, axis: int, reverse: bool) -> Array:
    """Running sums along `axis` in the operand's dtype, accurate for inexact dtypes."""
    x = turned(np, x, axis, reverse)
    wider = _WIDER.get(out.dtype)
    if wider is not None:
        sums = np.add.accumulate(x, axis=axis, dtype=wider).astype(out.dtype)
    elif out.dtype.kind in "fc" and x.shape[axis] > 2 * _BLOCK:
        sums = np.moveaxis(_in_blocks(np.ascontiguousarray(np.moveaxis(x, axis, -1))), -1, axis)
    else:
        sums = np.add.accumulate(x, axis=axis, dtype=out.dtype)
    return np.asarray(turned(np, sums, axis, reverse))


def cumulative_max(xp: Any, out: ShapeDtype, x: Array, *, axis: int) -> Array:
    """Running maxima along `axis`; NaN stays."""
    return np.asarray(np.maximum.accumulate(x, axis=axis))


def cumulative_min(xp: Any, out: ShapeDtype, x: Array, *, axis: int) -> Array:
    """Running minima along `axis`; NaN stays."""
    return np.asarray(np.minimum.accumulate(x, axis=axis))


#: Primitive name -> kernel, in place of the shared ones.
SCANS: dict[str, Callable[..., Any]] = {
    "cumulative_sum": cumulative_sum,
    "cumulative_max": cumulative_max,
    "cumulative_min": cumulative_min,
}
