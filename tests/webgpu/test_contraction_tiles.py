"""Every tile of the table at odd sizes, any strides and dtypes, whatever adapter it is for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kernel_support import Kernels, sample, strided

from tenferro_wgpu.backends.webgpu.kernels.contraction import tile_table
from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import (
    SUBGROUP_TILES,
    WORKGROUP_TILES,
    Adapter,
    Size,
    Tile,
    TileTable,
    register_tile,
)

TILES = sorted(
    {tile for tiles in WORKGROUP_TILES.values() for tile in tiles}
    | {Tile("subgroup", rows, columns, 1, 8) for rows, columns in SUBGROUP_TILES}
    | {Tile("registers", side, other) for side in (1, 2, 4, 8) for other in (1, 4, 8)}
    | {Tile("aligned", rows, columns) for rows in (1, 2, 4) for columns in (1, 2, 4)}
    | {Tile("lanes", 1, 1)},
    key=repr,
)
WORDS = {"f32": 1, "i32": 1, "u32": 1, "f64n": 2, "i64s": 2, "f64s": 2}


@contextmanager
def forced(kernels: Kernels, tile: Tile | None) -> Iterator[None]:
    """Every product computed with one tile; skips where the adapter cannot."""
    launcher = kernels.backend._launcher
    table = tile_table(launcher)
    table.forced = tile
    launcher.plans.clear()
    try:
        yield
    finally:
        table.forced = None
        launcher.plans.clear()


def product(kernels: Kernels, dtype: str, x, y, contracting, batch=((), ())):
    (x_tensor, x_array), (y_tensor, y_array) = x, y
    wide = np.float64 if dtype.startswith("float") else x_array.dtype
    formula = {
        ((1,), (0,)): "mk,kn->mn",
        ((0,), (0,)): "km,kn->mn",
        ((1,), (1,)): "mk,nk->mn",
        ((0,), (1,)): "km,nk->mn",
        ((2,), (1,)): "bmk,bkn->bmn",
    }[contracting]
    expected = np.einsum(formula, x_array.astype(wide), y_array.astype(wide))
    found = kernels.run(
        "dot_general", x_tensor, y_tensor, shape=expected.shape, dtype=dtype,
        contracting=contracting, batch=batch,
    )  # fmt: skip
    if dtype.startswith("float"):
        tolerance = 2e-5 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(found, expected, tolerance, tolerance)
    else:
        np.testing.assert_array_equal(found, expected)


def usable(kernels: Kernels, tile: Tile, dtype: str) -> bool:
    dialect = kernels.backend._launcher.dialect(np.dtype(dtype))
    return tile_table(kernels.backend._launcher).can_compute(tile, dialect.name, dialect.words)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("tile", TILES, ids=lambda tile: repr(tile)[5:-1].replace("=", ""))
def test_tiles_at_odd_sizes(kernels, tile, dtype):
    if not usable(kernels, tile, dtype):
        pytest.skip("not for this adapter and dtype")
    if tile.rows * tile.columns > 16 and dtype != "float32":
        pytest.skip("large tiles are compiled for float32 alone here; the text is the same")
    with forced(kernels, tile):
        for m, n, k in [(37, 45, 23), (1, 7, 5), (68, 132, 20)]:
            x = sample(dtype, (m, k))
            y = sample(dtype, (k, n), 1)
            operands = (kernels.tensor(x), x), (kernels.tensor(y), y)
            product(kernels, dtype, *operands, ((1,), (0,)))


@pytest.mark.parametrize("tile", [each for each in TILES if each.scheme != "registers"],
                         ids=lambda tile: repr(tile)[5:-1].replace("=", ""))  # fmt: skip
def test_tiles_with_transposed_and_strided_operands(kernels, tile):
    dtype = "float64" if tile.scheme == "aligned" else "float32"
    if not usable(kernels, tile, dtype):
        pytest.skip("not for this adapter and dtype")
    with forced(kernels, tile):
        for x_axis, y_axis in [(0, 0), (1, 1), (0, 1)]:
            x = sample(dtype, (40, 40))
            y = sample(dtype, (40, 40), 1)
            product(
                kernels, dtype, (kernels.tensor(x), x), (kernels.tensor(y), y),
                ((x_axis,), (y_axis,)),
            )  # fmt: skip
        for layout in ("flipped", "stepped", "broadcast"):
            x = strided(kernels, sample(dtype, (3, 18, 22)), layout)
            y = strided(kernels, sample(dtype, (3, 22, 18), 1), layout)
            if layout == "stepped":
                y = strided(kernels, sample(dtype, (3, 22, 14), 1), layout)
            product(kernels, dtype, x, y, ((2,), (1,)), ((0,), (0,)))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(1, 3), st.integers(1, 70), st.integers(1, 140), st.integers(1, 70),
    st.sampled_from(["contiguous", "transposed", "flipped", "stepped", "broadcast"]),
    st.sampled_from(["contiguous", "transposed", "flipped", "stepped", "broadcast"]),
    st.sampled_from(["float32", "float64", "int32"]),
)  # fmt: skip
def test_any_size_and_strides(kernels, b, m, n, k, x_layout, y_layout, dtype):
    def operand(shape, layout, seed):
        if layout == "transposed":
            shape = shape[::-1]
        if layout == "stepped":
            shape = tuple(2 * extent + 1 for extent in shape)
        return strided(kernels, sample(dtype, shape, seed), layout)

    x = operand((b, m, k), x_layout, 0)
    y = operand((b, k, n), y_layout, 1)
    product(kernels, dtype, x, y, ((2,), (1,)), ((0,), (0,)))


@pytest.mark.parametrize("kind", ["cpu", "integrated", "discrete"])
@pytest.mark.parametrize("dialect", list(WORDS))
def test_every_choice_can_be_computed(kind, dialect):
    for lanes in (0, 4, 8, 16, 32):
        table = TileTable(Adapter(kind, lanes))
        for size in (1, 3, 8, 17, 64, 300, 5000):
            for other in (1, 3, 8, 17, 64, 300, 5000):
                for contiguous in (False, True):
                    size_of = Size(1, size, other, 777)
                    tile = table.choose(size_of, dialect, WORDS[dialect], contiguous)
                    assert table.can_compute(tile, dialect, WORDS[dialect])
                    assert tile.workgroup_size <= 256
                    assert tile.workgroup_bytes(WORDS[dialect]) <= 16384


def test_gpus_use_workgroup_memory_and_software_does_not():
    large = Size(1, 1024, 1024, 1024)
    assert TileTable(Adapter("discrete")).choose(large, "f32", 1, False).block == (64, 64)
    assert TileTable(Adapter("discrete")).choose(Size(1, 4096, 4096, 64), "f32", 1, False) == Tile(
        "workgroup", 8, 8, 16, 16, 8
    )
    assert TileTable(Adapter("integrated")).choose(large, "f32", 1, False).scheme == "workgroup"
    assert TileTable(Adapter("cpu")).choose(large, "f32", 1, False) == register_tile(large, "f32")
    assert TileTable(Adapter("cpu", 8)).choose(large, "f32", 1, False).scheme == "subgroup"


def test_matrices_times_vectors_are_shared_by_lanes_on_gpus():
    table = TileTable(Adapter("discrete"))
    assert table.choose(Size(1, 4096, 1, 4096), "f32", 1, True).scheme == "lanes"
    # Neighbouring invocations already read neighbouring elements of a row-major second operand.
    assert table.choose(Size(1, 1, 4096, 4096), "f32", 1, False).scheme == "registers"


def test_software_float64_rounds_each_sum_once(kernels):
    if kernels.backend._launcher.dialect(np.dtype("float64")).name != "f64s":
        pytest.skip("float64 is native here")
    random = np.random.default_rng(3)
    x, y = random.standard_normal((9, 1)), random.standard_normal((1, 11))
    found = kernels.run(
        "dot_general", x, y, shape=(9, 11), dtype="f8", contracting=((1,), (0,)), batch=((), ())
    )
    np.testing.assert_array_equal(found, x * y)
    # Terms that cancel leave what a chain of rounded additions would lose.
    x = np.array([[1e200, 1.0, -1e200, 3.0]])
    y = np.array([[1e90, 2.0**-1060, 1e90, 2.0**-1070]]).T
    found = kernels.run(
        "dot_general", x, y, shape=(1, 1), dtype="f8", contracting=((1,), (0,)), batch=((), ())
    )
    assert found == 0.0
    x = np.array([[1e16, 1.0, -1e16]])
    found = kernels.run(
        "dot_general", x, np.ones((3, 1)), shape=(1, 1), dtype="f8",
        contracting=((1,), (0,)), batch=((), ()),
    )  # fmt: skip
    assert found == 1.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values_in_every_dialect(kernels, dtype):
    huge = float(np.finfo(dtype).max)
    # Devices may flush subnormal float32.
    limits = np.finfo(dtype)
    tiny = float(limits.tiny if dtype == "float32" else limits.smallest_subnormal)
    x = np.array(
        [[np.inf, 1, 0], [np.nan, 1, 0], [np.inf, -np.inf, 1], [0, 0, 0], [huge, huge, 0],
         [huge, -huge, 1], [0, np.inf, 2], [-0.0, 0, -0.0], [tiny, 2 * tiny, 0]],
        dtype,
    )  # fmt: skip
    y = np.array([[0, 1, 2], [1, 1, 2], [1, np.inf, 1]], dtype)
    with np.errstate(all="ignore"):
        expected = (x[:, :, None] * y[None]).sum(1)
    found = kernels.run(
        "dot_general", x, y, shape=expected.shape, dtype=dtype, contracting=((1,), (0,)),
        batch=((), ()),
    )  # fmt: skip
    np.testing.assert_array_equal(found, expected)
    zeros = expected == 0  # a sum begins with +0; the sign of NaN is free
    np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit((expected + 0.0)[zeros]))


@pytest.mark.parametrize("kind", ["integrated", "discrete"])
def test_gpu_tables_on_any_adapter(kernels, kind):
    """The choices, loads and splits of real GPUs, run here."""
    launcher = kernels.backend._launcher
    table = tile_table(launcher)
    before = table.adapter
    table.adapter = Adapter(kind)
    launcher.plans.clear()
    try:
        for m, n, k in [(1, 200, 300), (200, 1, 300), (2, 3, 1000), (65, 70, 300), (130, 260, 40)]:
            x, y = sample("float32", (m, k)), sample("float32", (k, n), 1)
            operands = (kernels.tensor(x), x), (kernels.tensor(y), y)
            product(kernels, "float32", *operands, ((1,), (0,)))
            turned = np.ascontiguousarray(y.T)
            operands = (kernels.tensor(x), x), (kernels.tensor(turned), turned)
            product(kernels, "float32", *operands, ((1,), (1,)))
    finally:
        table.adapter = before
        launcher.plans.clear()
