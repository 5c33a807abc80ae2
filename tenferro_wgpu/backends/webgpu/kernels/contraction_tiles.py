"""Tiles of matrix products: which scheme and how large, by class of adapter, dialect and size.

`contraction_plan` asks `TileTable.choose`; tuning puts measured choices before the table. Pure:
nothing here talks to a device or knows strides.

The table is from public results: llama.cpp's and TensorFlow.js's WebGPU backends use workgroup
memory with 4 x 4 or 8 x 8 results per invocation and K tiles of 8 to 32. Software renderers were
measured: they gain nothing from workgroup memory, and load lane by lane, so that subgroups which
share what they load are twice as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Scheme: TypeAlias = Literal["registers", "aligned", "subgroup", "workgroup", "lanes"]
AdapterKind: TypeAlias = Literal["cpu", "integrated", "discrete"]

#: Tiles along each side of a workgroup's grid, where a workgroup is 8 x 8 invocations.
GRID = 8
#: Bytes of workgroup memory that every device has.
WORKGROUP_MEMORY = 16384
#: What a shared row of x or column of y is worth loading for: below, tiles are rows or columns.
SHORTEST_SIDE = 4
#: Extents along M and N above which a subgroup's tile beats one of 8 x 8 in registers.
SUBGROUP_SIDE = 8
#: Extents along M and N from which tiles in workgroup memory pay.
WORKGROUP_SIDE = 16
#: Terms from which a workgroup shares one sum.
LONG_SUM = 128


@dataclass(frozen=True)
class Tile:
    """How a product is cut, apart from loads and splits.

    Attributes:
        scheme: who computes a tile; see shaders/matmul/product.wgsl.j2.
        rows, columns: results of one invocation (of one subgroup's rows, for "subgroup").
        tile_rows, tile_columns: invocations of a workgroup along M and N.
        depth: K at a time, where operands pass through workgroup memory.
    """

    scheme: Scheme
    rows: int
    columns: int
    tile_rows: int = 1
    tile_columns: int = 1
    depth: int = 1

    @property
    def block(self) -> tuple[int, int]:
        """Rows and columns of the product that one unit of work computes."""
        return self.rows * self.tile_rows, self.columns * self.tile_columns

    @property
    def workgroup_size(self) -> int:
        """Invocations of a workgroup."""
        if self.scheme in ("registers", "aligned", "lanes"):
            return 64
        return self.tile_rows * self.tile_columns

    def workgroup_bytes(self, words: int) -> int:
        """Workgroup memory for elements of `words` 32-bit words."""
        if self.scheme == "lanes":
            return self.workgroup_size * 4 * words
        if self.scheme != "workgroup":
            return 0
        rows, columns = self.block
        return (rows * (self.depth + 4) + self.depth * columns) * 4 * words


@dataclass(frozen=True)
class Adapter:
    """What tiles depend on: the kind of adapter, and the lanes of its subgroups (0: unknown)."""

    kind: AdapterKind
    lanes: int = 0


@dataclass(frozen=True)
class Size:
    """The extents of a batched product."""

    batches: int
    m: int
    n: int
    k: int

    @property
    def bucket(self) -> str:
        """Products of one bucket are tuned together: each extent up to a power of four."""
        steps = [max(0, (extent - 1).bit_length() + 1) // 2 for extent in (self.m, self.n, self.k)]
        return "x".join(str(4**step) for step in steps) + ("b" if self.batches > 1 else "")


#: Tiles through workgroup memory by kind of adapter, the largest (128 x 128) first.
WORKGROUP_TILES: dict[AdapterKind, tuple[Tile, ...]] = {
    "discrete": (
        Tile("workgroup", 8, 8, 16, 16, 8),
        Tile("workgroup", 4, 4, 16, 16, 16),
        Tile("workgroup", 4, 4, 8, 8, 16),
    ),
    "integrated": (Tile("workgroup", 4, 4, 16, 16, 16), Tile("workgroup", 4, 4, 8, 8, 32)),
    "cpu": (),
}
#: Workgroups that keep a device busy: smaller tiles where a larger one would make fewer.
BUSY_WORKGROUPS: dict[AdapterKind, int] = {"discrete": 128, "integrated": 32, "cpu": 4}
#: Multiplications from which a search of the best tile pays: a product of 1024 x 1024 matrices.
SEARCHED_WORK = 1 << 30
MOST_CANDIDATES = 8
#: Buckets that are searched without being asked for.
MOST_MEASURED = 256
#: Multiplications of software float64 from which its largest tile is worth compiling.
LARGE_ALIGNED = 1 << 23
#: Rows and columns per lane of a subgroup's tile, the largest first.
SUBGROUP_TILES = ((16, 8), (16, 4))
#: Largest register tile by dialect; 64-bit integers and complex numbers are pairs of words.
LARGEST_SIDE = {
    **dict.fromkeys(("f32", "i32", "u32", "f64n", "i64n", "u64n"), 8),
    **dict.fromkeys(("i64s", "u64s", "c64", "c128n"), 4),
}
#: Dialects whose elements are vectors already, so that workgroup memory holds no four as one.
VECTORS = frozenset({"i64s", "u64s", "c64", "c128s", "c128n"})


@dataclass
class TileTable:
    """The choice of tiles on one adapter: what tuning measured there, else the table.

    Attributes:
        adapter: of which class it is.
        measured: tiles by dialect and bucket of sizes.
        forced: a tile for every product it can compute, or None: tests set it.
        search: called with launcher, size and dialect before a large product of a bucket that
            was not measured; None where tuning is off.
    """

    adapter: Adapter
    measured: dict[tuple[str, str], Tile] = field(default_factory=dict)
    forced: Tile | None = None
    search: Callable[[Any, Size, Any], None] | None = None

    def choose(self, size: Size, dialect: str, words: int, contiguous_k: bool) -> Tile:
        """The tile for a product.

        Args:
            size: its extents.
            dialect: name of the dialect of its elements.
            words: 32-bit words of an element.
            contiguous_k: whether K is the contiguous axis of both operands.
        """
        if self.forced is not None and self.can_compute(self.forced, dialect, words):
            return self.forced
        found = self.measured.get((dialect, size.bucket))
        return found or self.default(size, dialect, words, contiguous_k)

    def is_worth_searching(self, size: Size, dialect: str) -> bool:
        """Whether a product is large, and nothing of its size was measured yet."""
        large = size.batches * size.m * size.n * size.k >= SEARCHED_WORK
        known = (dialect, size.bucket) in self.measured or len(self.measured) >= MOST_MEASURED
        return large and not known and self.forced is None

    def candidates(self, size: Size, dialect: str, words: int) -> tuple[Tile, ...]:
        """The tiles to compare for a product, its choice without tuning first: four to eight."""
        first = self.default(size, dialect, words, contiguous_k=False)
        if self.adapter.kind == "cpu":
            others: list[Tile] = [*self.subgroup_tiles(dialect)]
        else:
            others = [tile for tiles in WORKGROUP_TILES.values() for tile in tiles]
            others.append(Tile("workgroup", 8, 8, 8, 8, 8))
        others += [Tile("registers", 8, 8), Tile("registers", 4, 8), Tile("registers", 4, 4)]
        if dialect == "f64s":
            others = [
                Tile("aligned", 1, 1),
                Tile("aligned", 2, 2),
                Tile("aligned", 2, 4),
                Tile("aligned", 4, 4),
            ]
        usable = [tile for tile in others if self.can_compute(tile, dialect, words)]
        return tuple(dict.fromkeys((first, *usable)))[:MOST_CANDIDATES]

    def default(self, size: Size, dialect: str, words: int, contiguous_k: bool) -> Tile:
        """The tile that the table has for a product."""
        if dialect == "f64s":
            return aligned_tile(size)
        shorter = min(size.m, size.n)
        if self.adapter.kind == "cpu":
            if shorter > SUBGROUP_SIDE:
                for tile in self.subgroup_tiles(dialect):
                    if _filled(tile, size):
                        return tile
        elif shorter >= WORKGROUP_SIDE:
            usable = [
                t for t in WORKGROUP_TILES[self.adapter.kind] if self.can_compute(t, dialect, words)
            ]
            busy = BUSY_WORKGROUPS[self.adapter.kind]
            for tile in usable:
                if tiles_of(tile, size) >= busy:
                    return tile
            if usable:
                return usable[-1]
        elif shorter < SHORTEST_SIDE and contiguous_k and size.k >= LONG_SUM:
            return Tile("lanes", 1, 1)
        return register_tile(size, dialect)

    def subgroup_tiles(self, dialect: str) -> tuple[Tile, ...]:
        """Tiles of a whole subgroup, the largest first; none where its lanes are not known."""
        lanes = self.adapter.lanes
        if lanes not in (4, 8, 16) or dialect not in ("f32", "i32", "u32", "f64n"):
            return ()
        return tuple(
            Tile("subgroup", rows, columns, 1, lanes)
            for rows, columns in SUBGROUP_TILES
            if rows % lanes == 0
        )

    def can_compute(self, tile: Tile, dialect: str, words: int) -> bool:
        """Whether a tile can run on this adapter with this dialect."""
        if (tile.scheme == "aligned") != (dialect == "f64s"):
            return False
        if tile.scheme == "subgroup":
            return tile.tile_columns == self.adapter.lanes and dialect in (
                "f32",
                "i32",
                "u32",
                "f64n",
            )
        if tile.scheme == "workgroup":
            return dialect not in VECTORS and tile.workgroup_bytes(words) <= WORKGROUP_MEMORY
        return True


def tiles_of(tile: Tile, size: Size) -> int:
    """Units of work, before K is split."""
    rows, columns = tile.block
    return size.batches * -(-size.m // rows) * -(-size.n // columns)


def _filled(tile: Tile, size: Size) -> bool:
    """Whether a tile wastes less than a third of its work, and leaves work for two threads."""
    rows, columns = tile.block
    whole = -(-size.m // rows) * rows * -(-size.n // columns) * columns
    return 2 * whole <= 3 * size.m * size.n and tiles_of(tile, size) >= 4


def register_tile(size: Size, dialect: str) -> Tile:
    """The tile in registers of one invocation: at most 8 x 8."""
    largest = LARGEST_SIDE.get(dialect, 1)

    def side(extent: int) -> int:
        if extent >= 32 and largest >= 8:
            return 8
        return 4 if extent >= 4 and largest >= 4 else min(largest, extent, 2)

    return Tile("registers", side(size.m), side(size.n))


def aligned_tile(size: Size) -> Tile:
    """The tile of software float64 for a product; its code grows with each element of it."""
    large = size.batches * size.m * size.n * size.k >= LARGE_ALIGNED
    rows = 4 if large and size.m >= 16 else 2 if size.m >= 4 else 1
    columns = 4 if size.n >= 16 else 2 if size.n >= 4 else 1
    return Tile("aligned", rows, columns)
