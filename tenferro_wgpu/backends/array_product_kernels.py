"""Products over a NumPy-compatible namespace, and the padding that convolutions begin with.

A part of `array_kernels`, which has the table of all kernels.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ..tensor import ShapeDtype

__all__ = ["conv", "dot_general", "pad"]

Array = Any
Namespace = Any
Shape = tuple[int, ...]


def pad(
    xp: Namespace,
    out: ShapeDtype,
    x: Array,
    fill: Array,
    *,
    low: tuple[int, ...],
    high: tuple[int, ...],
    interior: tuple[int, ...],
) -> Array:
    """StableHLO pad: edges may be negative (crop), `interior` spreads the elements apart."""
    result = xp.empty(out.shape, out.dtype)
    result[...] = fill
    sources = []
    targets = []
    for extent, before, gap, size in zip(x.shape, low, interior, out.shape, strict=True):
        step = gap + 1
        # Element i lands at before + i * step; keep those that land inside [0, size).
        first = max(0, -(before // step))
        last = min(extent, -((before - size) // step))
        if last <= first:
            return result
        start = before + first * step
        sources.append(slice(first, last))
        targets.append(slice(start, start + (last - first - 1) * step + 1, step))
    result[tuple(targets)] = x[tuple(sources)]
    return result


#: Operands of fewer elements are not worth rearranging for BLAS.
_SMALL_COPY = 256


def dot_general(
    xp: Namespace,
    out: ShapeDtype,
    x: Array,
    y: Array,
    *,
    contracting: tuple[tuple[int, ...], tuple[int, ...]],
    batch: tuple[tuple[int, ...], tuple[int, ...]],
) -> Array:
    """Generalised product; result axes are batch, left free, right free."""
    left_contracting, right_contracting = contracting
    left_batch, right_batch = batch
    if x.ndim == 2 and y.ndim == 2 and len(left_contracting) == 1 and not left_batch:
        # Products of matrices and their derivatives: the general path costs 5 us more.
        left = x if left_contracting[0] == 1 else x.T
        right = y if right_contracting[0] == 0 else y.T
        return xp.matmul(_for_blas(xp, left, out), _for_blas(xp, right, out))
    left_free = [
        axis for axis in range(x.ndim) if axis not in left_batch and axis not in left_contracting
    ]
    right_free = [
        axis for axis in range(y.ndim) if axis not in right_batch and axis not in right_contracting
    ]
    left = x.transpose((*left_batch, *left_free, *left_contracting))
    right = y.transpose((*right_batch, *right_contracting, *right_free))
    batch_count = len(left_batch)
    batch_shape = left.shape[:batch_count]
    rows = prod(left.shape[batch_count : batch_count + len(left_free)])
    terms = prod(left.shape[batch_count + len(left_free) :])
    columns = prod(right.shape[batch_count + len(right_contracting) :])
    left = left.reshape((*batch_shape, rows, terms))
    right = right.reshape((*batch_shape, terms, columns))
    product = xp.matmul(_for_blas(xp, left, out), _for_blas(xp, right, out))
    return product.reshape(out.shape)


def _for_blas(xp: Namespace, x: Array, out: ShapeDtype) -> Array:
    """`x` itself where BLAS reads its last two axes in place, else a contiguous copy."""
    if out.dtype.kind not in "fc" or x.size < _SMALL_COPY:
        return x
    itemsize = x.dtype.itemsize
    (rows, columns), (row_stride, column_stride) = x.shape[-2:], x.strides[-2:]
    if column_stride == itemsize and row_stride >= itemsize * columns:
        return x
    if row_stride == itemsize and column_stride >= itemsize * rows:
        return x
    return xp.ascontiguousarray(x)


def conv(
    xp: Namespace,
    out: ShapeDtype,
    x: Array,
    kernel: Array,
    *,
    strides: Shape,
    low: Shape,
    high: Shape,
    x_dilation: Shape,
    kernel_dilation: Shape,
    groups: int,
) -> Array:
    """Correlation of (N, C, spatial) with (O, C / groups, window), as JAX defines it."""
    if 0 in out.shape:
        return xp.empty(out.shape, out.dtype)
    outputs, channels, *window = kernel.shape
    if 0 in kernel.shape or 0 in x.shape:
        return xp.zeros(out.shape, out.dtype)
    gaps = tuple(step - 1 for step in x_dilation)
    if any(low) or any(high) or any(gaps):
        none = (0, 0)
        extents = tuple(
            n + (n - 1) * gap + a + b
            for n, gap, a, b in zip(x.shape[2:], gaps, low, high, strict=True)
        )
        padded = ShapeDtype((*x.shape[:2], *extents), x.dtype)
        x = pad(
            xp, padded, x, x.dtype.type(0),
            low=(*none, *low), high=(*none, *high), interior=(*none, *gaps),
        )  # fmt: skip
    places = out.shape[2:]
    batch_step, channel_step, *steps = x.strides
    # (group, channel, window, batch, places): overlapping, read only.
    windows = xp.lib.stride_tricks.as_strided(
        x,
        (groups, channels, *window, x.shape[0], *places),
        (
            channels * channel_step,
            channel_step,
            *(step * apart for step, apart in zip(steps, kernel_dilation, strict=True)),
            batch_step,
            *(step * stride for step, stride in zip(steps, strides, strict=True)),
        ),
    )
    weights = kernel.reshape((groups, outputs // groups, channels, *window))
    summed = tuple(range(1, 2 + len(window)))
    shape = (groups, outputs // groups, x.shape[0], *places)
    product = dot_general(
        xp, ShapeDtype(shape, out.dtype), weights, windows,
        contracting=(tuple(axis + 1 for axis in summed), summed), batch=((0,), (0,)),
    )  # fmt: skip
    return xp.moveaxis(product, 2, 0).reshape(out.shape)
