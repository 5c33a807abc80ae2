"""dot_general: batched matrix products of operands with any strides.

`plan_contraction` reduces the axes of both operands to batch, M, N and K, each walked with one
stride, and picks tile and loads; where the axes of an operand don't merge, the launch function
copies that operand first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tenferro_wgpu.backends.webgpu.dialects import Dialect
from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    LONGEST_LOOP,
    WORKGROUP,
    Launcher,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.reduction import launch_reduction
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts, coalesce, words
from tenferro_wgpu.errors import DTypeError
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

Load: TypeAlias = Literal["scalar", "along K", "along M", "along N"]
Walk: TypeAlias = Literal["linear", "grid"]
Pairs: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]

#: Largest register tile, by dialect. Software float64 does not compile in time beyond one.
LARGEST_TILE = {"f32": 8, "i32": 8, "u32": 8, "f64n": 4}
#: Invocations that keep a device busy, on software adapters too (more of them share what they
#: load). K is split where there would be less than an eighth of that.
BUSY = 8192
#: Tiles along each side of a workgroup's grid.
GRID = 8
#: The fewest terms of a result worth a split of their own.
SHORTEST_SPLIT = 256


@dataclass(frozen=True)
class Operand:
    """Offset and strides of one operand: batch, free (M or N) and K."""

    offset: int
    batch: int
    free: int
    depth: int


@dataclass(frozen=True)
class Matrices:
    """A contraction as batched matrices, in elements."""

    batches: int
    m: int
    n: int
    k: int
    x: Operand
    y: Operand


@dataclass(frozen=True)
class ContractionPlan:
    """Launch of one batched matrix product."""

    rows: int
    columns: int
    x_load: Load
    y_load: Load
    splits: int
    walk: Walk
    workgroups: int
    params: bytes


def matrices(
    x: Layout, y: Layout, contracting: Pairs, batch: Pairs
) -> Matrices | Literal["x", "y"]:
    """Merge axes into batch, M, N and K, or name the operand that must be copied for it."""
    x_depth, y_depth = contracting
    x_free = free_axes(x.ndim, contracting[0], batch[0])
    y_free = free_axes(y.ndim, contracting[1], batch[1])
    for which, layout, groups in (
        ("x", x, (batch[0], x_free, x_depth)),
        ("y", y, (batch[1], y_free, y_depth)),
    ):
        if any(_merged([layout], [group]) is None for group in groups):
            return "x" if which == "x" else "y"
    batches = _merged([x, y], [batch[0], batch[1]])
    depth = _merged([x, y], [x_depth, y_depth])
    m = _merged([x], [x_free])
    n = _merged([y], [y_free])
    if batches is None or depth is None or m is None or n is None:
        return "y"
    return Matrices(
        batches[0], m[0], n[0], depth[0],
        Operand(x.offset, batches[1][0], m[1][0], depth[1][0]),
        Operand(y.offset, batches[1][1], n[1][0], depth[1][1]),
    )  # fmt: skip


def in_memory_order(x: Layout, contracting: Pairs) -> Pairs:
    """The same contraction with its pairs of axes in the order that `x` has in memory."""
    pairs = sorted(
        zip(*contracting, strict=True), key=lambda pair: abs(x.strides[pair[0]]), reverse=True
    )
    return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)


def free_axes(ndim: int, contracting: Sequence[int], batch: Sequence[int]) -> list[int]:
    """Axes that are neither contracted nor batched, ascending."""
    return [axis for axis in range(ndim) if axis not in contracting and axis not in batch]


def _merged(
    layouts: Sequence[Layout], groups: Sequence[Sequence[int]]
) -> tuple[int, tuple[int, ...]] | None:
    """Extent and strides of groups of axes walked together, or None if they are several runs."""
    shape = [layouts[0].shape[axis] for axis in groups[0]]
    strides = [
        [layout.strides[axis] for axis in group]
        for layout, group in zip(layouts, groups, strict=True)
    ]
    extents, merged = coalesce(shape, strides)
    if not extents:
        return 1, (0,) * len(layouts)
    if len(extents) > 1:
        return None
    return extents[0], tuple(own[0] for own in merged)


def plan_contraction(work: Matrices, largest: int, packable: bool) -> ContractionPlan:
    """Choose tile, loads and splits of a non-empty product with K > 0.

    Args:
        work: the matrices.
        largest: largest tile side of the dialect.
        packable: whether four elements may be loaded at once.
    """
    rows = _tile_side(work.m, largest)
    columns = _tile_side(work.n, largest)
    x_load: Load = "scalar"
    y_load: Load = "scalar"
    x, y = work.x, work.y
    if packable:
        aligned = work.k % 4 == 0
        x_rest, y_rest = (x.offset, x.batch), (y.offset, y.batch)
        if rows >= 4 and work.m % 4 == 0 and x.free == 1 and _fours(*x_rest, x.depth):
            x_load = "along M"
        elif aligned and x.depth == 1 and _fours(*x_rest, x.free):
            x_load = "along K"
        if columns >= 4 and work.n % 4 == 0 and y.free == 1 and _fours(*y_rest, y.depth):
            y_load = "along N"
        elif aligned and y.depth == 1 and _fours(*y_rest, y.free):
            y_load = "along K"
    row_tiles, column_tiles = -(-work.m // rows), -(-work.n // columns)
    tiles = work.batches * row_tiles * column_tiles
    splits = 1
    if tiles < BUSY // 8:
        splits = max(1, min(-(-BUSY // tiles), work.k // SHORTEST_SPLIT))
    splits = max(splits, -(-work.k // LONGEST_LOOP))
    chunk = 4 * -(-work.k // (4 * splits))
    splits = -(-work.k // chunk)
    walk: Walk = "linear"
    items = tiles * splits
    workgroups = workgroup_count(items, WORKGROUP)
    grid = (-(-row_tiles // GRID), -(-column_tiles // GRID))
    if row_tiles >= GRID and column_tiles >= GRID:
        walk = "grid"
        items = workgroups = splits * work.batches * grid[0] * grid[1]
    params = words(
        (
            0, items, work.m, work.n, work.k, chunk, work.batches, row_tiles, column_tiles,
            *_in_loads(x, x_load), *_in_loads(y, y_load, depth_first=True), *grid,
        )
    )  # fmt: skip
    return ContractionPlan(rows, columns, x_load, y_load, splits, walk, workgroups, params)


def _tile_side(extent: int, largest: int) -> int:
    if extent >= 32 and largest >= 8:
        return 8
    return 4 if extent >= 4 and largest >= 4 else 1


def _fours(*values: int) -> bool:
    return all(value % 4 == 0 for value in values)


def _in_loads(operand: Operand, load: Load, depth_first: bool = False) -> tuple[int, ...]:
    """Offset, batch stride and the two others (M, K for x; K, N for y) in units of loads."""
    free, depth = operand.free, operand.depth
    unit = 1 if load == "scalar" else 4
    if load == "along K":
        free, depth = free // 4, 1
    elif unit == 4:
        free, depth = 1, depth // 4
    pair = (depth, free) if depth_first else (free, depth)
    return (operand.offset // unit, operand.batch // unit, *pair)


@kernel("dot_general")
def launch_contraction(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Contract two operands over paired axes; the result is batch, free of x, free of y."""
    x, y = operands
    (spec,) = outputs
    contracting, batch = params["contracting"], params["batch"]
    if x.dtype.kind == "b":
        raise DTypeError(name, "takes no bool; cast it to an integer first", (x.dtype,))
    result = contiguous_layout(spec.shape)
    if result.size == 0:
        return (launcher.empty(spec, name),)
    if x.size == 0:
        zero = launcher.backend.scalar(0, spec.dtype)
        filled = zero.with_layout(zero.layout.broadcast_in_dim(spec.shape, ()))
        return launch_elementwise(launcher, "copy", (filled,), {}, outputs)
    key = (name, x.layout, y.layout, x.dtype.num, contracting, batch)
    found = launcher.plan(key)
    if found is None:
        contracting = in_memory_order(x.layout, contracting)
        work = matrices(x.layout, y.layout, contracting, batch)
        if not isinstance(work, Matrices):
            position = 0 if work == "x" else 1
            moved, own_batch, own_depth = _in_matrix_order(
                launcher, operands[position], contracting[position], batch[position]
            )
            params = {
                "contracting": _replaced(contracting, position, own_depth),
                "batch": _replaced(batch, position, own_batch),
            }
            copies = (moved, y) if position == 0 else (x, moved)
            return launch_contraction(launcher, name, copies, params, outputs)
        check_counts(name, work.batches, work.m, work.n, work.k, result.size)
        found = _prepare(launcher, work, launcher.dialect(x.dtype))
        launcher.plans.store(key, found)
    plan, pipeline, workgroups = found
    partials = ShapeDtype((plan.splits, *spec.shape), spec.dtype) if plan.splits > 1 else spec
    product = launcher.empty(partials, name)
    buffers = (launcher.buffer(x), launcher.buffer(y), product.handle)
    launcher.queue.dispatch(pipeline, buffers, plan.params, workgroups, name, (product.handle,))
    if plan.splits > 1:
        return launch_reduction(launcher, "reduce_sum", (product,), {"axes": (0,)}, outputs)
    return (product,)


def _replaced(pairs: Pairs, position: int, axes: tuple[int, ...]) -> Pairs:
    return (axes, pairs[1]) if position == 0 else (pairs[0], axes)


def _in_matrix_order(
    launcher: Launcher, operand: Tensor, contracting: Sequence[int], batch: Sequence[int]
) -> tuple[Tensor, tuple[int, ...], tuple[int, ...]]:
    """A copy of an operand with axes batch, free, K, and where batch and K then are."""
    free = free_axes(operand.ndim, contracting, batch)
    order = (*batch, *free, *contracting)
    moved = operand.with_layout(operand.layout.transpose(order))
    copy = launch_elementwise(
        launcher, "copy", (moved,), {}, (ShapeDtype(moved.shape, moved.dtype),)
    )[0]
    first_depth = len(batch) + len(free)
    return copy, tuple(range(len(batch))), tuple(range(first_depth, len(order)))


def _prepare(
    launcher: Launcher, work: Matrices, T: Dialect
) -> tuple[ContractionPlan, Any, tuple[int, int, int]]:
    plan = plan_contraction(work, LARGEST_TILE.get(T.name, 1), T.words == 1)
    structure = {
        "rows": plan.rows,
        "columns": plan.columns,
        "x_load": plan.x_load,
        "y_load": plan.y_load,
        "walk": plan.walk,
    }
    pipeline = launcher.pipeline(
        "matmul/tile",
        (T.name, *structure.values()),
        {"T": T, **structure},
        bindings=("read", "read", "read_write"),
        params_words=len(plan.params) // 4,
    )
    return plan, pipeline, launcher.groups(plan.workgroups)
