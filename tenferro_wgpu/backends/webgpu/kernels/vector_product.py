"""Products with a vector on software adapters: a weighted sum of the matrix's rows or columns.

contraction.py asks here first.  Such a product reads every element of the matrix once, so it is
bound by loads, and the fused reduction has the better pattern of them: neighbouring invocations
sum neighbouring columns, or one invocation a row.  Sums are compensated there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
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
    size = contiguous_layout(spec.shape).size
    batch = params["batch"][0]
    batches = 1
    for axis in batch:
        batches *= x.shape[axis]
    depth = x.size * y.size // (size * batches) if size else 0
    # One of the operands has no free extent: as many elements as one sum per batch reads.
    return depth > 0 and min(x.size, y.size) ** 2 == depth * batches * batches


def launch_vector_product(
    launcher: Launcher, x: Tensor, y: Tensor, spec: ShapeDtype, params: Mapping[str, Any]
) -> Tensor:
    """The contraction of a matrix (or a batch of them) with vectors, by a reduction."""
    (x_sum, y_sum), (x_batch, y_batch) = params["contracting"], params["batch"]
    x_free = [axis for axis in range(x.ndim) if axis not in (*x_sum, *x_batch)]
    y_free = [axis for axis in range(y.ndim) if axis not in (*y_sum, *y_batch)]
    shape = tuple(
        [x.shape[axis] for axis in (*x_batch, *x_sum, *x_free)] + [y.shape[axis] for axis in y_free]
    )
    leaves = (
        _spread(x, (*x_batch, *x_sum, *x_free), shape, 0, len(y_free)),
        _spread(y, (*y_batch, *y_sum, *y_free), shape, len(x_free), 0, len(x_batch) + len(x_sum)),
    )
    first = len(x_batch)
    name = launcher.dialect(x.dtype).name
    return launch_fused_reduction(
        launcher,
        "reduce_sum",
        _product(name),
        leaves,
        shape,
        tuple(range(first, first + len(x_sum))),
        spec,
    )


@lru_cache(maxsize=8)
def _product(name: str) -> Expression:
    return primitive_expression("mul", (name, name), name)


def _spread(
    tensor: Tensor,
    order: tuple[int, ...],
    shape: tuple[int, ...],
    before: int,
    after: int,
    position: int = 0,
) -> Tensor:
    """The tensor's axes in `order`; repeated ones `before` at `position`, `after` at the end."""
    layout = tensor.layout
    strides = [layout.strides[axis] for axis in order]
    strides[position:position] = [0] * before
    strides += [0] * after
    return tensor.with_layout(Layout(shape, tuple(strides), layout.offset))
