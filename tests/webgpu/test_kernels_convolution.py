"""Overlapping windows as operands of products: plans without a GPU, and every scheme of tiles."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_support import Kernels
from test_contraction_tiles import forced, usable

from tenferro_wgpu.backends.webgpu.kernels.contraction_plan import (
    Matrices,
    matrices,
    plan_contraction,
    run_words,
    runs_of,
)
from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import Tile
from tenferro_wgpu.backends.webgpu.kernels.convolution import plan_convolution
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.testing.products import CONVOLUTIONS, convolved, small

TILES = [
    Tile("registers", 4, 4), Tile("registers", 2, 1), Tile("workgroup", 4, 4, 8, 8, 16),
    Tile("lanes", 1, 1), Tile("subgroup", 16, 8, 1, 8), Tile("subgroup", 16, 4, 1, 4),
    Tile("aligned", 2, 2),
]  # fmt: skip


def planned(shape: tuple[int, ...], kernel: tuple[int, ...], groups: int = 1):
    places = tuple(n - k + 1 for n, k in zip(shape[2:], kernel[2:], strict=True))
    ones = (1,) * len(places)
    return plan_convolution(
        contiguous_layout(shape), contiguous_layout(kernel), places, ones, ones, groups
    )


def test_each_image_is_a_product_that_lies_in_order():
    plan = planned((3, 4, 12, 12), (8, 4, 3, 3))
    assert plan.shape == (3, 8, 10, 10) and plan.order is None
    assert plan.windows == Layout((3, 4, 3, 3, 10, 10), (576, 144, 12, 1, 12, 1), 0)
    assert plan.kernel == Layout((3, 8, 4, 3, 3), (0, 36, 9, 3, 1), 0)


def test_small_images_are_columns_of_one_product():
    plan = planned((3, 4, 6, 6), (8, 4, 3, 3))
    assert plan.shape == (8, 3, 4, 4) and plan.order == (1, 0, 2, 3)
    assert plan.batch == ((), ())


def test_groups_are_batches():
    plan = planned((1, 4, 12, 12), (6, 2, 3, 3), 2)
    assert plan.shape == (1, 2, 3, 10, 10) and plan.batch == ((0, 1), (0, 1))


def test_windows_are_read_in_place_and_other_views_copied():
    plan = planned((1, 4, 12, 12), (8, 4, 3, 3))
    work = matrices(plan.kernel, plan.windows, plan.contracting, plan.batch)
    assert isinstance(work, Matrices)
    assert (work.m, work.n, work.k) == (8, 100, 36)
    assert work.x.is_plain
    assert work.y.runs == ((), ((10, 1), (10, 12)), ((3, 1), (3, 12), (4, 144)))
    # As large as its span: a copy has one run along every side.
    cut = Layout((5, 6, 4), (60, 8, 1), 0)
    assert matrices(cut, contiguous_layout((4, 3)), ((2,), (0,)), ((), ())) == "x"


def test_rows_of_several_runs_are_loaded_in_fours():
    repeated = Layout((4, 5, 20), (0, 20, 1), 0)
    work = matrices(repeated, contiguous_layout((20, 8)), ((2,), (0,)), ((), ()))
    assert isinstance(work, Matrices) and work.x.runs == ((), ((5, 20), (4, 0)), ())
    plan = plan_contraction(work, Tile("registers", 4, 4), True)
    assert (plan.x_load, plan.y_load) == ("along K", "along N")
    # Extent, reciprocal and stride of a run, then the stride of the other, in loads of four.
    assert plan.words[19] == 5 and plan.words[21:] == (5, 0)


def test_runs_merge_and_have_reciprocals():
    assert runs_of(contiguous_layout((2, 3, 4)), (0, 1, 2)) == ((24, 1),)
    assert runs_of(contiguous_layout((2, 1, 4)), (1,)) == ()
    words = run_words(((3, 1), (5, 12), (4, 144)))
    assert len(words) == 7 and words[0] == 3 and words[2:4] == (1, 5) and words[5:] == (12, 144)
    assert np.uint32(words[1]).view(np.float32) == np.float32(1 / 3)


@pytest.mark.parametrize("seed", range(4))
def test_quotients_by_reciprocals_are_one_off_at_most(seed):
    """The arithmetic of the template in float32, over all positions it is used for."""
    rng = np.random.default_rng(seed)
    extents = np.concatenate([np.arange(2, 40), rng.integers(2, 1 << 24, 4000)]).astype(np.uint32)
    positions = rng.integers(0, 1 << 24, (len(extents), 40), dtype=np.uint32)
    multiples = positions // extents[:, None] * extents[:, None]
    for given in (positions, multiples, np.maximum(multiples, 1) - 1):
        reciprocal = (1 / extents).astype(np.float32)[:, None]
        near = (given.astype(np.float32) * reciprocal).astype(np.int64)
        assert np.abs(near - given // extents[:, None]).max() <= 1


def test_extents_are_data():
    """Two sizes make plans of one structure, the third has fewer runs."""
    structures = []
    for shape in ((2, 4, 12, 12), (5, 3, 20, 17)):
        plan = planned(shape, (8, shape[1], 3, 3))
        work = matrices(plan.kernel, plan.windows, plan.contracting, plan.batch)
        structures.append(plan_contraction(work, Tile("registers", 4, 4), False).structure)
    assert structures[0] == structures[1]


@pytest.mark.parametrize("tile", TILES, ids=lambda tile: repr(tile)[5:-1].replace("=", ""))
def test_every_scheme_reads_windows(kernels: Kernels, tile):
    dtype = "float64" if tile.scheme == "aligned" else "float32"
    if not usable(kernels, tile, dtype):
        pytest.skip("not for this adapter and dtype")
    with forced(kernels, tile):
        for name in ("a picture", "strides", "groups", "many small images", "a volume"):
            case = CONVOLUTIONS[name]
            x, kernel = small(dtype, case.x), small(dtype, case.kernel, 1)
            expected = convolved(x, kernel, **case.options)
            found = kernels.run(
                "conv", x, kernel, shape=expected.shape, dtype=dtype, strides=case.strides,
                low=tuple(low for low, _ in case.padding),
                high=tuple(high for _, high in case.padding),
                x_dilation=case.input_dilation, kernel_dilation=case.kernel_dilation,
                groups=case.groups,
            )  # fmt: skip
            np.testing.assert_array_equal(found, expected, name)


@pytest.mark.parametrize("tile", [each for each in TILES if each.scheme != "aligned"],
                         ids=lambda tile: repr(tile)[5:-1].replace("=", ""))  # fmt: skip
def test_repeated_rows_and_batches_are_read_in_place(kernels: Kernels, tile):
    """Axes of stride 0 beside others: rows begin at multiples of four, so that fours are loaded."""
    if not usable(kernels, tile, "float32"):
        pytest.skip("not for this adapter and dtype")
    x, y = small("float32", (2, 5, 20)), small("float32", (2, 20, 6), 1)
    rows = Layout((2, 3, 4, 5, 20), (100, 0, 0, 20, 1), 0)
    columns = Layout((2, 3, 20, 6), (120, 0, 6, 1), 0)
    expected = np.einsum("bik,bkj->bij", x, y)[:, None, None].repeat(4, 2).repeat(3, 1)
    with forced(kernels, tile):
        found = kernels.run(
            "dot_general", kernels.tensor(x).with_layout(rows),
            kernels.tensor(y).with_layout(columns), shape=(2, 3, 4, 5, 6), dtype="float32",
            contracting=((4,), (2,)), batch=((0, 1), (0, 1)),
        )  # fmt: skip
    np.testing.assert_array_equal(found, expected)


def test_long_walks_divide(kernels: Kernels):
    """Places past 2^24, where a product with a reciprocal does not find them."""
    kernel = np.float32([[[1, 2]]])
    length = 1 << 23
    x = np.zeros((1, 1, 1, length + 1), np.float32)
    x[..., -4:] = [1, 2, 3, 4]
    source = kernels.tensor(x)
    # Three rows that are the same one: more places than elements.
    rows = source.with_layout(Layout((1, 1, 3, length + 1), (0, 0, 0, 1), 0))
    found = kernels.queue(
        "conv", rows, kernel[:, :, None], shape=(1, 1, 3, length), dtype="float32",
        strides=(1, 1), low=(0, 0), high=(0, 0), x_dilation=(1, 1), kernel_dilation=(1, 1),
        groups=1,
    )  # fmt: skip
    ends = found.with_layout(Layout((3, 4), (length, 1), length - 4))
    np.testing.assert_array_equal(kernels.backend.download(ends), [[2, 5, 8, 11]] * 3)
