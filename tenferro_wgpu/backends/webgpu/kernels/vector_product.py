"""Products with a vector on software adapters: a weighted sum of the matrix's rows or columns.

contraction.py asks here first.  Such a product reads every element of the matrix once, so it is
bound by loads, and the fused reduction has the better pattern of them: neighbouring invocations
sum neighbouring columns, or one invocation a row.  Sums are compensated there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from tenferro_wgpu.backends.webgpu.expressions import Expression, primitive_expression
from tenferro_wgpu.backends.webgpu.kernels.launch import Constant, Launcher
from tenferro_wgpu.backends.webgpu.kernels.reduction import launch_fused_reduction
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: Dialects whose sums are cheap enough to be compensated.
DIALECTS = frozenset({"f32", "f64n"})
#: Elements of the matrix from which on reading them is what costs.
FEWEST_ELEMENTS = 1 << 16


def is_vector_product(
    launcher: Launcher, x: Tensor, y: Tensor, spec: ShapeDtype, params: Mapping[str, Any]
) -> bool:
    """Whether `launch_vector_product` is the faster way."""
    if not launcher.is_cpu or max(x.size, y.size) < FEWEST_ELEMENTS:
        return False
    if type(x.handle) is Constant or type(y.handle) is Constant:
        return False
    if launcher.dialect(x.dtype).name not in DIALECTS:
        return False
    matrix = x if x.size >= y.size else y
    axes = zip(matrix.shape, matrix.layout.strides, strict=True)
    if prod([extent for extent, stride in axes if stride]) > matrix.buffer_size:
        return False  # overlapping windows: elements are read again and again, out of caches
    size = contiguous_layout(spec.shape).size
    batch = params["batch"][0]
    batches = 1
    for axis in batch:
        batches *= x.shape[axis]
    # Of batches, depth, rows and columns: the sizes are bkm, bkn and bmn.
    squared_depth = x.size * y.size // (size * batches) if size else 0
    # One of the operands has no free extent: as many elements as the sums read.
    return squared_depth > 0 and min(x.size, y.size) ** 2 == squared_depth * batches * batches


def launch_vector_product(
    launcher: Launcher, x: Tensor, y: Tensor, spec: ShapeDtype, params: Mapping[str, Any]
) -> Tensor:
    """The contraction of a matrix (or a batch of them) with vectors, by a reduction."""
    (x_sum, y_sum), (x_batch, y_batch) = params["contracting"], params["batch"]
    x_free = [axis for axis in range(x.ndim) if axis not in (*x_sum, *x_batch)]
    y_free = [axis for axis in range(y.ndim) if axis not in (*y_sum, *y_batch)]
    batch, depth = len(x_batch), len(x_sum)
    # The index space: batch, free axes of x and of y, contracted axes.  For each operand the
    # strides along it; an axis that it lacks repeats it.
    shape = (
        *[x.shape[axis] for axis in (*x_batch, *x_free)],
        *[y.shape[axis] for axis in y_free],
        *[x.shape[axis] for axis in x_sum],
    )
    x_strides = (*_strides(x, (*x_batch, *x_free)), *[0] * len(y_free), *_strides(x, x_sum))
    y_strides = (
        *_strides(y, y_batch), *[0] * len(x_free), *_strides(y, (*y_free, *y_sum)),
    )  # fmt: skip
    axes = tuple(range(len(shape) - depth, len(shape)))
    matrix, sums = (x, x_sum) if x.size >= y.size else (y, y_sum)
    if min(map(abs, matrix.layout.strides)) not in map(abs, _strides(matrix, sums)):
        # Rows lie across: the space is walked as the matrix lies in memory.
        order = (*range(batch), *axes, *range(batch, len(shape) - depth))
        shape, x_strides, y_strides = (
            tuple([each[axis] for axis in order]) for each in (shape, x_strides, y_strides)
        )
        axes = tuple(range(batch, batch + depth))
    leaves = (
        x.with_layout(Layout(shape, x_strides, x.layout.offset)),
        y.with_layout(Layout(shape, y_strides, y.layout.offset)),
    )
    return launch_fused_reduction(
        launcher,
        "reduce_sum",
        _product(launcher.dialect(x.dtype).name),
        leaves,
        shape,
        axes,
        spec,
        key=("vector product", x.spec, y.spec, x_sum, y_sum, x_batch, y_batch),
    )


def _strides(tensor: Tensor, axes: Sequence[int]) -> list[int]:
    return [tensor.layout.strides[axis] for axis in axes]


@lru_cache(maxsize=8)
def _product(name: str) -> Expression:
    return primitive_expression("mul", (name, name), name)
