"""A matrix product and an element-wise expression of it, in one kernel.

Fusion calls `launch_contraction_epilogue` with what would follow `dot_general` (bias, activation,
scaling, residual); the product of a tile stays in registers until the expression is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenferro_wgpu.backends.webgpu.dialects import Dialect, dialect
from tenferro_wgpu.backends.webgpu.expressions import Expression
from tenferro_wgpu.backends.webgpu.kernels.complex_product import is_real_product
from tenferro_wgpu.backends.webgpu.kernels.contraction import (
    MOST_UNROLLED,
    Epilogue,
    arithmetic_dialect,
    as_matrices,
    planned,
    prepare,
)
from tenferro_wgpu.backends.webgpu.kernels.contraction_plan import (
    Matrices,
    Pairs,
    free_axes,
    merged,
    product_words,
)
from tenferro_wgpu.backends.webgpu.kernels.epilogue import PreparedEpilogue, run_epilogue
from tenferro_wgpu.backends.webgpu.kernels.launch import Constant, Launcher
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts
from tenferro_wgpu.backends.webgpu.kernels.vector_product import is_vector_product
from tenferro_wgpu.errors import UnsupportedOperationError
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

__all__ = ["launch_contraction_epilogue"]


def launch_contraction_epilogue(
    launcher: Launcher,
    operands: tuple[Tensor, Tensor],
    params: Mapping[str, Any],
    expression: Expression,
    leaves: Sequence[Tensor],
    spec: ShapeDtype,
    *,
    key: Any = None,
) -> tuple[Tensor, ...]:
    """Contract two operands and evaluate an expression of every element of the product.

    Args:
        launcher: of the backend.
        operands: x and y, as for `dot_general`.
        params: `contracting` and `batch`, as for `dot_general`.
        expression: its value 0 is an element of the product, values 1, 2, ... of the leaves; it
            may store several values, the product among them.
        leaves: buffers or constants, broadcast to the shape of the product.
        spec: shape and dtype of the product.
        key: what stands for the expression and its leaves' layouts and kinds of handle in
            ``launcher.plans``; by default it is built from them.

    Returns:
        One contiguous tensor of the product's shape for each output of the expression, with the
        dtype of its dialect (uint32 or int64 for what is only moved).

    Raises:
        UnsupportedOperationError: too many buffers, an empty product, a leaf whose axes don't
            merge into batch, rows and columns, a sum that is split over invocations, no
            output as wide as the product, or a function that a dialect lacks. The caller then
            runs the operations one by one.
        TensorTooLargeError: beyond the limits of the device.
    """
    x, y = operands
    contracting, batch = params["contracting"], params["batch"]
    if key is None:
        key = (expression, *[part for leaf in leaves for part in (type(leaf.handle), leaf.layout)])
    key = ("matmul epilogue", key, x.spec, y.spec, contracting, batch)
    found: PreparedEpilogue | None = launcher.plan(key)
    if found is None:
        size = contiguous_layout(spec.shape).size
        if size == 0 or x.size == 0 or x.dtype.kind == "b":
            raise _refused("the product is empty or of bools")
        if is_vector_product(launcher, x, y, spec, params):
            raise _refused("a product with a vector is a reduction")
        work = as_matrices(launcher, "dot_general", operands, params)
        if not isinstance(work, Matrices):
            (x, y), params = work
            return launch_contraction_epilogue(launcher, (x, y), params, expression, leaves, spec)
        check_counts("dot_general", work.batches, work.m, work.n, work.k, size)
        if is_real_product(launcher.dialect(x.dtype), work):
            raise _refused("a product of complex matrices is one of real ones")
        found = _prepare(launcher, work, (contracting, batch), x, expression, leaves, spec)
        launcher.plans.store(key, found)
    return run_epilogue(launcher, "dot_general", found, (x, y), leaves, spec.shape)


def _prepare(
    launcher: Launcher,
    work: Matrices,
    axes: tuple[Pairs, Pairs],
    x: Tensor,
    expression: Expression,
    leaves: Sequence[Tensor],
    spec: ShapeDtype,
) -> PreparedEpilogue:
    bound = tuple(i for i, leaf in enumerate(leaves) if type(leaf.handle) is not Constant)
    outputs = expression.output_dialects()
    limit = launcher.limits.max_storage_buffers_per_shader_stage
    if 2 + len(bound) + len(outputs) > limit:
        raise _refused(f"{2 + len(bound) + len(outputs)} buffers; the limit is {limit}")
    (x_contracting, _), (x_batch, _) = axes
    batches = len(x_batch)
    rows = len(free_axes(x.ndim, x_contracting, x_batch))
    words: list[int] = []
    described = []
    constants = []
    for position, leaf in enumerate(leaves):
        word = product_words(work) + len(words)
        own = dialect(expression.operands[1 + position])
        if position in bound:
            words += leaf_words(leaf.layout, batches, rows)
            described.append(("strided", own, 2 + bound.index(position), word))
        else:
            words += [0] * own.constant_words
            constants.append((position, 4 * word))
            described.append(("constant", own, -1, word))
    results = tuple(
        (number, own, 2 + len(bound) + index)
        for index, (number, own) in enumerate(zip(expression.outputs, outputs, strict=True))
    )
    size = contiguous_layout(spec.shape).size
    output_bytes = tuple(size * 4 * own.words for own in outputs)
    for nbytes in output_bytes:
        launcher.check_bindable(nbytes, "dot_general")
    product = dialect(expression.operands[0])
    scratch = scratch_output(product, outputs)
    T = arithmetic_dialect(product)
    # Hidden: no compiler may merge the last step of the sum with the first of the expression.
    element = "product" if T is product else f"tf_narrow_{product.name}(product)"
    statements = (f"let v0 = tf_hide_{product.name}({element});", *expression.statements())
    launch = prepare(
        launcher,
        planned(launcher, work, T),
        T,
        Epilogue(
            key=(expression, tuple(kind for kind, *_ in described)),
            leaves=tuple(described),
            results=results,
            statements=statements,
            scratch=scratch,
            words=tuple(words),
        ),
    )
    tile = launch.plan.tile
    if scratch < 0 and tile.rows * tile.columns > MOST_UNROLLED:
        raise _refused("no output can hold the product meanwhile")
    if launch.plan.splits > 1:
        raise _refused("its long sums are split over invocations")
    return PreparedEpilogue(
        launch.pipeline, launch.params, launch.workgroups, bound, tuple(constants), output_bytes,
        outputs,
    )  # fmt: skip


def scratch_output(product: Dialect, outputs: Sequence[Dialect]) -> int:
    """Which output can hold the product before the expression is evaluated, or -1."""
    for position, own in enumerate(outputs):
        if own == product:
            return position
    for position, own in enumerate(outputs):
        if own.words == product.words == 1:
            return position
    return -1


def leaf_words(layout: Layout, batches: int, rows: int) -> list[int]:
    """Offset of a leaf, and its strides along batch, M and N.

    Args:
        layout: of the product's shape.
        batches: how many axes of the product are batched.
        rows: how many axes after them are free axes of x.

    Raises UnsupportedOperationError where axes of one group are several runs.
    """
    groups = (
        range(batches),
        range(batches, batches + rows),
        range(batches + rows, layout.ndim),
    )
    strides = []
    for group in groups:
        run = merged([layout], [tuple(group)])
        if run is None:
            raise _refused("a leaf has several runs along batch, rows or columns")
        strides.append(run[1][0])
    return [layout.offset, *strides]


def _refused(reason: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        "dot_general", backend="webgpu", hint=f"no fused kernel: {reason}"
    )
