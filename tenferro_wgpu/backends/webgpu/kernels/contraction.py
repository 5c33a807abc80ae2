"""dot_general: batched matrix products of operands with any strides.

The backend calls `launch_contraction`; `launch_contraction_epilogue` computes a product and an
element-wise expression of it in one kernel. contraction_plan.py decides, contraction_tiles.py has
the table of tiles. Where the axes of an operand don't merge, that operand is copied first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from tenferro_wgpu.backends.webgpu.commands import Pipeline, PipelineSource
from tenferro_wgpu.backends.webgpu.dialects import Dialect, dialect
from tenferro_wgpu.backends.webgpu.drivers.protocol import Access
from tenferro_wgpu.backends.webgpu.kernels.complex_product import (
    TurnedRows,
    as_real,
    is_real_product,
    turned_rows,
)
from tenferro_wgpu.backends.webgpu.kernels.contraction_plan import (
    ContractionPlan,
    Matrices,
    Pairs,
    free_axes,
    in_memory_order,
    matrices,
    plan_contraction,
)
from tenferro_wgpu.backends.webgpu.kernels.contraction_search import start_tuning
from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import AdapterKind, Tile, TileTable
from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher, accesses
from tenferro_wgpu.backends.webgpu.kernels.reduction import launch_reduction
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts, words
from tenferro_wgpu.backends.webgpu.kernels.vector_product import (
    is_vector_product,
    launch_vector_product,
)
from tenferro_wgpu.backends.webgpu.subgroups import adapter_of
from tenferro_wgpu.errors import DTypeError
from tenferro_wgpu.layout import contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

__all__ = ["launch_contraction", "tile_table"]

#: The largest tile over whose elements an expression is written out; beyond, a loop runs over them,
#: since what is written out must be compiled (llvmpipe: 6 ms for each load).
MOST_UNROLLED = 4

#: Dialects whose arithmetic is WGSL's own, on vectors too.
FOURS = ("f32", "u32", "f64n", "i64n", "u64n")

_tables: WeakKeyDictionary[Any, TileTable] = WeakKeyDictionary()


def tile_table(launcher: Launcher) -> TileTable:
    """The choice of tiles on the launcher's device, shared by everything on it."""
    device = launcher.queue.device
    found = _tables.get(device)
    if found is None:
        found = _tables[device] = TileTable(adapter_of(device))
        start_tuning(device, found)
    return found


@dataclass(frozen=True)
class Epilogue:
    """An expression of the product as the template sees it; see shaders/matmul/product.wgsl.j2.

    `scratch` is the result that can hold the product, or -1; `words` are the params of the leaves.
    """

    key: Any = None
    leaves: tuple[tuple[str, Dialect, int, int], ...] = ()
    results: tuple[tuple[int, Dialect, int], ...] = ()
    statements: tuple[str, ...] = ()
    scratch: int = -1
    words: tuple[int, ...] = ()


@dataclass(frozen=True)
class ContractionLaunch:
    """A plan made ready: everything of a dispatch but its buffers.

    `turned` is a dispatch before it, whose result stands for y.
    """

    plan: ContractionPlan
    pipeline: Pipeline
    params: bytes
    workgroups: tuple[int, int, int]
    turned: TurnedRows | None = None


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
    found: ContractionLaunch | None = launcher.plan(key)
    if found is None:
        if is_vector_product(launcher, x, y, spec, params):
            return (launch_vector_product(launcher, x, y, spec, params),)
        work = as_matrices(launcher, name, operands, params)
        if not isinstance(work, Matrices):
            return launch_contraction(launcher, name, *work, outputs)
        check_counts(name, work.batches, work.m, work.n, work.k, result.size)
        own = launcher.dialect(x.dtype)
        if is_real_product(own, work):
            real = as_real(work)
            if real is None:
                again = _with_rows(launcher, operands, params)
                return launch_contraction(launcher, name, *again, outputs)
            T = dialect(own.parts)
            found = prepare(launcher, planned(launcher, real, T), T)
            found = replace(found, turned=turned_rows(launcher, work, own))
        else:
            T = arithmetic_dialect(own)
            found = prepare(launcher, planned(launcher, work, T), T, result=own)
        launcher.plans.store(key, found)
    splits = found.plan.splits
    partials = ShapeDtype((splits, *spec.shape), spec.dtype) if splits > 1 else spec
    product = launcher.empty(partials, name)
    right = launcher.buffer(y)
    if found.turned is not None:
        turned = found.turned
        rows = launcher.empty_buffer(turned.nbytes, name)
        launcher.queue.dispatch(
            turned.pipeline, (right, rows), turned.params, turned.workgroups, name, (rows,)
        )
        right = rows
    buffers = (launcher.buffer(x), right, product.handle)
    launcher.queue.dispatch(
        found.pipeline, buffers, found.params, found.workgroups, name, (product.handle,)
    )
    if splits > 1:
        return launch_reduction(launcher, "reduce_sum", (product,), {"axes": (0,)}, outputs)
    return (product,)


def as_matrices(
    launcher: Launcher, name: str, operands: tuple[Tensor, ...], params: Mapping[str, Any]
) -> Matrices | tuple[tuple[Tensor, ...], Mapping[str, Any]]:
    """The contraction as matrices, or operands (one of them copied) and params to try again."""
    x, y = operands
    batch = params["batch"]
    contracting = in_memory_order(x.layout, params["contracting"])
    work = matrices(x.layout, y.layout, contracting, batch)
    if isinstance(work, Matrices):
        return work
    position = 0 if work == "x" else 1
    moved, own_batch, own_depth = _in_matrix_order(
        launcher, operands[position], contracting[position], batch[position]
    )
    again = {
        "contracting": _replaced(contracting, position, own_depth),
        "batch": _replaced(batch, position, own_batch),
    }
    return ((moved, y) if position == 0 else (x, moved)), again


def _with_rows(
    launcher: Launcher, operands: tuple[Tensor, ...], params: Mapping[str, Any]
) -> tuple[tuple[Tensor, ...], Mapping[str, Any]]:
    """Operands, x copied so that its rows are runs of memory, and params."""
    x, y = operands
    contracting = in_memory_order(x.layout, params["contracting"])
    moved, own_batch, own_depth = _in_matrix_order(launcher, x, contracting[0], params["batch"][0])
    again = {
        "contracting": (own_depth, contracting[1]),
        "batch": (own_batch, params["batch"][1]),
    }
    return (moved, y), again


def arithmetic_dialect(T: Dialect) -> Dialect:
    """The dialect to compute in: the low bits of sums and products need no more than uint32's."""
    return dialect("u32") if T.words == 1 and T.dtype.kind in "iu" else T


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


def planned(launcher: Launcher, work: Matrices, T: Dialect) -> ContractionPlan:
    """The plan of a product with the tile chosen for it, searched for where that is on."""
    table = tile_table(launcher)
    if table.search is not None and table.is_worth_searching(work.size, T.name):
        table.search(launcher, work.size, T)
    tile = table.choose(work.size, T.name, T.words, work.contiguous_k)
    return plan_with(work, tile, T, table.adapter.kind)


def plan_with(work: Matrices, tile: Tile, T: Dialect, kind: AdapterKind) -> ContractionPlan:
    """The plan of a product in a dialect, cut as `tile` says, on a kind of adapter."""
    return plan_contraction(work, tile, not T.storage.startswith("vec"), kind)


def prepare(
    launcher: Launcher,
    plan: ContractionPlan,
    T: Dialect,
    epilogue: Epilogue | None = None,
    result: Dialect | None = None,
) -> ContractionLaunch:
    """Compile the kernel of a plan, with an expression of the product or alone.

    `T` is what sums are computed in, and `result`, by default the same, what alone they become.
    """
    tile = plan.tile
    stored = result or T
    alone = Epilogue(stored.name, results=((0, stored, 2),))
    after = epilogue or alone
    bound = 2 + sum(kind != "constant" for kind, *_ in after.leaves)
    all_words = (*plan.words, *after.words)

    def build() -> PipelineSource:
        context = {
            "T": T, "scheme": tile.scheme, "rows": tile.rows, "columns": tile.columns,
            "tile_rows": tile.tile_rows, "tile_columns": tile.tile_columns,
            "lanes": tile.tile_columns, "depth": tile.depth, "walk": plan.walk,
            "x_load": plan.x_load, "y_load": plan.y_load,
            "x_order": plan.x_order, "y_order": plan.y_order,
            "walks": dict(plan.runs), "long_walks": plan.long_walks,
            "packed_store": epilogue is None and _stores_fours(plan, T),
            "leaves": after.leaves, "results": after.results,
            "statements": after.statements,
            "scratch": -1 if _is_small(tile) else after.scratch,
            "workgroup_size": tile.workgroup_size,
        }  # fmt: skip
        bindings: tuple[Access, ...] = accesses(bound, len(after.results))
        return PipelineSource(
            "matmul/product", context, bindings, len(all_words), tile.workgroup_size,
            f"matmul {T.name} {tile.scheme} {tile.rows}x{tile.columns}",
            ("subgroups",) if tile.scheme == "subgroup" else (),
        )  # fmt: skip

    pipeline = launcher.queue.pipeline(("matmul/product", T.name, plan.structure, after.key), build)
    params = words(all_words).ljust(pipeline.params_size, b"\0")
    return ContractionLaunch(plan, pipeline, params, launcher.groups(plan.workgroups))


def _is_small(tile: Tile) -> bool:
    return tile.rows * tile.columns <= MOST_UNROLLED


def _stores_fours(plan: ContractionPlan, T: Dialect) -> bool:
    """Whether a lane has four neighbouring columns of rows that begin at a multiple of four."""
    return plan.y_load == "along N" and T.name in FOURS
