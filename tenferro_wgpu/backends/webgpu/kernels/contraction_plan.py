"""From any contraction to batched matrices, and from those to the launch of one kernel.

`matrices` reduces the axes of both operands to batch, M, N and K, each walked with one stride;
`plan_contraction` picks loads, splits of K and workgroups for a tile. Pure functions of layouts;
contraction.py carries them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import GRID, AdapterKind, Size, Tile
from tenferro_wgpu.backends.webgpu.kernels.launch import LONGEST_LOOP, workgroup_count
from tenferro_wgpu.backends.webgpu.kernels.strides import coalesce
from tenferro_wgpu.layout import Layout

Load: TypeAlias = Literal["scalar", "along K", "along M", "along N"]
Walk: TypeAlias = Literal["linear", "grid", "group"]
Pairs: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]

#: Invocations that keep a device busy, on software adapters too (more of them share what they
#: load). K is split where there would be less than an eighth of that.
BUSY: dict[AdapterKind, int] = {"cpu": 8192, "integrated": 16384, "discrete": 131072}
#: The same in workgroups (or subgroups) that share what they load.
BUSY_GROUPS: dict[AdapterKind, int] = {"cpu": 64, "integrated": 128, "discrete": 512}
#: The fewest terms of a result worth a split of their own.
SHORTEST_SPLIT: dict[AdapterKind, int] = {"cpu": 256, "integrated": 64, "discrete": 64}


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

    @property
    def size(self) -> Size:
        """The extents alone."""
        return Size(self.batches, self.m, self.n, self.k)

    @property
    def contiguous_k(self) -> bool:
        """Whether neighbours along K are neighbours in memory, for both operands."""
        return abs(self.x.depth) == 1 and abs(self.y.depth) == 1


@dataclass(frozen=True)
class ContractionPlan:
    """Launch of one batched matrix product.

    `words` are the params, `structure` what the pipeline depends on besides the dialect.
    """

    tile: Tile
    x_load: Load
    y_load: Load
    x_order: str
    y_order: str
    splits: int
    walk: Walk
    workgroups: int
    words: tuple[int, ...]

    @property
    def structure(self) -> tuple[object, ...]:
        """Everything that the text of the kernel depends on, besides dialect and epilogue."""
        return (self.tile, self.x_load, self.y_load, self.x_order, self.y_order, self.walk)


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
        if any(merged([layout], [group]) is None for group in groups):
            return "x" if which == "x" else "y"
    batches = merged([x, y], [batch[0], batch[1]])
    depth = merged([x, y], [x_depth, y_depth])
    m = merged([x], [x_free])
    n = merged([y], [y_free])
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


def merged(
    layouts: Sequence[Layout], groups: Sequence[Sequence[int]]
) -> tuple[int, tuple[int, ...]] | None:
    """Extent and strides of groups of axes walked together, or None if they are several runs."""
    shape = [layouts[0].shape[axis] for axis in groups[0]]
    strides = [
        [layout.strides[axis] for axis in group]
        for layout, group in zip(layouts, groups, strict=True)
    ]
    extents, together = coalesce(shape, strides)
    if not extents:
        return 1, (0,) * len(layouts)
    if len(extents) > 1:
        return None
    return extents[0], tuple(own[0] for own in together)


def plan_contraction(
    work: Matrices, tile: Tile, packable: bool, kind: AdapterKind = "cpu"
) -> ContractionPlan:
    """Plan loads, splits and workgroups of a non-empty product with K > 0.

    Args:
        work: the matrices.
        tile: how they are cut.
        packable: whether four elements may be loaded at once.
        kind: of the adapter, which says how much work keeps it busy.
    """
    x_load, y_load = _loads(work, tile) if packable else ("scalar", "scalar")
    block_rows, block_columns = tile.block
    row_tiles, column_tiles = -(-work.m // block_rows), -(-work.n // block_columns)
    tiles = work.batches * row_tiles * column_tiles
    chunk = _chunk(work.k, tiles, tile, kind)
    splits = -(-work.k // chunk)
    walk: Walk = "group"
    items = workgroups = tiles * splits
    grid = (-(-row_tiles // GRID), -(-column_tiles // GRID))
    if tile.scheme in ("registers", "aligned"):
        walk = "linear"
        workgroups = workgroup_count(items, tile.workgroup_size)
        if row_tiles >= GRID and column_tiles >= GRID:
            walk = "grid"
            items = workgroups = splits * work.batches * grid[0] * grid[1]
    shared = tile.scheme == "workgroup"
    words = (
        0, items, work.m, work.n, work.k, chunk, work.batches, row_tiles, column_tiles,
        *_in_loads(work.x, x_load), *_in_loads(work.y, y_load, depth_first=True), *grid,
    )  # fmt: skip
    return ContractionPlan(
        tile, x_load, y_load,
        "K" if not shared or abs(work.x.depth) <= abs(work.x.free) else "M",
        "N" if not shared or abs(work.y.free) <= abs(work.y.depth) else "K",
        splits, walk, workgroups, words,
    )  # fmt: skip


def _loads(work: Matrices, tile: Tile) -> tuple[Load, Load]:
    """Vector loads that extents and alignment allow and the scheme knows."""
    x, y = work.x, work.y
    aligned = work.k % 4 == 0
    x_load: Load = "scalar"
    y_load: Load = "scalar"
    if tile.scheme == "aligned":
        return x_load, y_load
    across = tile.rows >= 4 and tile.scheme in ("registers", "subgroup")
    if tile.scheme == "subgroup":  # four rows of each lane, whole steps of K
        across = aligned and 1 <= 4 * tile.tile_columns // tile.rows <= 4
    if across and work.m % 4 == 0 and x.free == 1 and _fours(x.offset, x.batch, x.depth):
        x_load = "along M"
    elif aligned and x.depth == 1 and _fours(x.offset, x.batch, x.free):
        x_load = "along K"
    if tile.columns >= 4 and work.n % 4 == 0 and y.free == 1 and _fours(y.offset, y.batch, y.depth):
        y_load = "along N"
    elif (
        aligned
        and y.depth == 1
        and _fours(y.offset, y.batch, y.free)
        and tile.scheme != "workgroup"
    ):
        y_load = "along K"
    return x_load, y_load


def _chunk(k: int, tiles: int, tile: Tile, kind: AdapterKind) -> int:
    """Terms of each split: K, or less where there are too few tiles or loops would be too long."""
    busy = (BUSY if tile.scheme in ("registers", "aligned") else BUSY_GROUPS)[kind]
    splits = 1
    if tiles < busy // 8:
        splits = max(1, min(-(-busy // tiles), k // SHORTEST_SPLIT[kind]))
    longest = LONGEST_LOOP
    if tile.scheme == "aligned":  # two passes, and a third over each element where a sum overflows
        longest = 2 * LONGEST_LOOP // (2 + tile.rows * tile.columns) // 4 * 4 - 4
    elif tile.scheme == "lanes":
        longest *= tile.workgroup_size
    splits = max(splits, -(-k // longest))
    return 4 * -(-k // (4 * splits))


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
