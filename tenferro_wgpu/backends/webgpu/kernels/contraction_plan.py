"""From any contraction to batched matrices, and from those to the launch of one kernel.

`matrices` reduces the axes of both operands to batch, M, N and K, each walked with one stride;
`plan_contraction` picks loads, splits of K and workgroups for a tile. Pure functions of layouts;
contraction.py carries them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from struct import pack, unpack
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


#: Extents and strides of axes walked together that are several runs of memory, innermost first.
Runs: TypeAlias = tuple[tuple[int, int], ...]

#: The groups of an operand's axes that may be several runs, in the order of `Operand.runs`.
GROUPS = ("batch", "free", "depth")
#: Runs of one group that the template walks: of a 3-d convolution's windows they are four.
MOST_RUNS = 4
#: Positions from which a product with a reciprocal does not find a quotient any more.
LONG_WALK = 1 << 24
#: Params words of a product whose axes are single runs.
PLAIN_WORDS = 19


@dataclass(frozen=True)
class Operand:
    """Offset and strides of one operand: batch, free (M or N) and K.

    `runs` has those of the groups that are several runs, and nothing for the others; the stride
    of such a group is its innermost.
    """

    offset: int
    batch: int
    free: int
    depth: int
    runs: tuple[Runs, Runs, Runs] = ((), (), ())

    @property
    def is_plain(self) -> bool:
        """Whether M or N, and K, have one stride each."""
        return not self.runs[1] and not self.runs[2]

    @property
    def batch_strides(self) -> tuple[int, ...]:
        """All strides along the batch."""
        return tuple(stride for _, stride in self.runs[0]) or (self.batch,)

    @property
    def has_fours_along_depth(self) -> bool:
        """Whether every row or column begins at a multiple of four, and runs on along K."""
        begins = tuple(stride for _, stride in self.runs[1]) or (self.free,)
        return self.depth == 1 and not self.runs[2] and _fours(*begins)


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
    #: By name of a group that is several runs of memory: how many, and the params word they begin
    #: at.
    runs: tuple[tuple[str, tuple[int, int]], ...] = ()
    long_walks: bool = False

    @property
    def structure(self) -> tuple[object, ...]:
        """Everything that the text of the kernel depends on, besides dialect and epilogue."""
        return (
            self.tile, self.x_load, self.y_load, self.x_order, self.y_order, self.walk,
            self.runs, self.long_walks,
        )  # fmt: skip


def matrices(
    x: Layout, y: Layout, contracting: Pairs, batch: Pairs
) -> Matrices | Literal["x", "y"]:
    """Merge axes into batch, M, N and K, or name the operand that must be copied for it."""
    x_groups = (batch[0], free_axes(x.ndim, contracting[0], batch[0]), contracting[0])
    y_groups = (batch[1], free_axes(y.ndim, contracting[1], batch[1]), contracting[1])
    operands = (_operand(x, x_groups), _operand(y, y_groups))
    if operands[0] is None:
        return "x"
    if operands[1] is None:
        return "y"
    extents = [prod([x.shape[axis] for axis in group]) for group in x_groups]
    n = prod([y.shape[axis] for axis in y_groups[1]])
    return Matrices(extents[0], extents[1], n, extents[2], operands[0], operands[1])


def _operand(layout: Layout, groups: Sequence[Sequence[int]]) -> Operand | None:
    """An operand by its groups of axes, or None where it is better copied."""
    runs = [runs_of(layout, group) for group in groups]
    if any(len(each) > 1 for each in runs):
        # A copy has one run of each, and no overlaps; where it would be larger, nothing is copied.
        span = 1 + sum((n - 1) * abs(s) for n, s in zip(layout.shape, layout.strides, strict=True))
        if layout.size <= span or max(len(each) for each in runs) > MOST_RUNS:
            return None
    batch, free, depth = (each[0][1] if each else 0 for each in runs)
    several = [each if len(each) > 1 else () for each in runs]
    return Operand(layout.offset, batch, free, depth, (several[0], several[1], several[2]))


def runs_of(layout: Layout, group: Sequence[int]) -> Runs:
    """Extents and strides of axes walked together, merged, innermost first; extents of 1 vanish."""
    extents, (strides,) = coalesce(
        [layout.shape[axis] for axis in group], [[layout.strides[axis] for axis in group]]
    )
    return tuple(zip(reversed(extents), reversed(strides), strict=True))


def run_words(runs: Runs, unit: int = 1) -> tuple[int, ...]:
    """Params of a group of several runs, as shaders/matmul/product.wgsl.j2 wants them.

    `unit` is the elements of a load.
    """
    words: list[int] = []
    for extent, stride in runs[:-1]:
        (reciprocal,) = unpack("<I", pack("<f", 1 / extent))
        words += [extent, reciprocal, stride // unit]
    return (*words, runs[-1][1] // unit)


def product_words(work: Matrices) -> int:
    """How many params words the product needs: those of an expression follow."""
    groups = [each for operand in (work.x, work.y) for each in operand.runs]
    return PLAIN_WORDS + sum(3 * len(each) - 2 for each in groups if each)


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
    words: tuple[int, ...] = (
        0, items, work.m, work.n, work.k, chunk, work.batches, row_tiles, column_tiles,
        *_in_loads(work.x, x_load), *_in_loads(work.y, y_load, depth_first=True), *grid,
    )  # fmt: skip
    runs: list[tuple[str, tuple[int, int]]] = []
    for side, operand, load in (("x", work.x, x_load), ("y", work.y, y_load)):
        for group, each in zip(GROUPS, operand.runs, strict=True):
            if each:
                runs.append((f"{side}_{group}", (len(each), len(words))))
                words += run_words(each, 1 if load == "scalar" else 4)
    return ContractionPlan(
        tile, x_load, y_load,
        "K" if not shared or abs(work.x.depth) <= abs(work.x.free) else "M",
        "N" if not shared or abs(work.y.free) <= abs(work.y.depth) else "K",
        splits, walk, workgroups, words, tuple(runs),
        bool(runs) and max(work.batches, work.m, work.n, work.k) >= LONG_WALK,
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
    if _fours(x.offset, *x.batch_strides):
        if x.is_plain and across and work.m % 4 == 0 and x.free == 1 and _fours(x.depth):
            x_load = "along M"
        elif aligned and x.has_fours_along_depth:
            x_load = "along K"
    if _fours(y.offset, *y.batch_strides):
        if y.is_plain and tile.columns >= 4 and work.n % 4 == 0 and y.free == 1 and _fours(y.depth):
            y_load = "along N"
        elif aligned and y.has_fours_along_depth and tile.scheme != "workgroup":
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
