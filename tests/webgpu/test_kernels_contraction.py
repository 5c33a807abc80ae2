"""dot_general: any axes, layouts and dtypes against einsum; tiles, splits and plans."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_support import sample, strided

from tenferro_wgpu.backends.webgpu.kernels.contraction_plan import (
    Matrices,
    Operand,
    in_memory_order,
    matrices,
    plan_contraction,
)
from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import Adapter, Tile, TileTable
from tenferro_wgpu.errors import DTypeError, TensorTooLargeError
from tenferro_wgpu.layout import Layout, contiguous_layout

DTYPES = ("float32", "float64", "int32", "uint32", "int64", "int8", "uint16", "uint64")


def einsum(x, y, contracting, batch):
    """The same contraction by NumPy, floats in float64."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    x_names: list[str] = [""] * x.ndim
    y_names: list[str] = [""] * y.ndim
    for i, j in (*zip(*batch, strict=True), *zip(*contracting, strict=True)):
        x_names[i] = y_names[j] = next(letters)
    names = [x_names[i] for i in batch[0]]
    for own, taken in (
        (x_names, (batch[0], contracting[0])),
        (y_names, (batch[1], contracting[1])),
    ):
        for axis in range(len(own)):
            if axis not in (*taken[0], *taken[1]):
                own[axis] = next(letters)
                names.append(own[axis])
    wide = np.float64 if x.dtype.kind == "f" else x.dtype
    formula = f"{''.join(x_names)},{''.join(y_names)}->{''.join(names)}"
    return np.einsum(formula, x.astype(wide), y.astype(wide))


def check(kernels, x, y, contracting, batch=((), ()), x_view=None, y_view=None):
    expected = einsum(x, y, contracting, batch)
    found = kernels.run(
        "dot_general",
        x if x_view is None else x_view,
        y if y_view is None else y_view,
        shape=expected.shape,
        dtype=x.dtype,
        contracting=contracting,
        batch=batch,
    )
    if x.dtype.kind == "f":
        tolerance = 2e-5 if x.dtype == np.float32 else 1e-13
        np.testing.assert_allclose(found, expected, tolerance, tolerance)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", [1, 3, 8, 33])
@pytest.mark.parametrize("n", [1, 5, 40])
def test_matrix_product(kernels, dtype, m, n):
    for k in (1, 7, 12):
        check(kernels, sample(dtype, (m, k)), sample(dtype, (k, n), 1), ((1,), (0,)))


@pytest.mark.parametrize("x_axis", [0, 1])
@pytest.mark.parametrize("y_axis", [0, 1])
@pytest.mark.parametrize("sizes", [(36, 40, 44), (33, 35, 37), (2, 64, 8)])
def test_transposed_operands_in_place(kernels, x_axis, y_axis, sizes):
    m, n, k = sizes
    x = sample("float32", (m, k) if x_axis else (k, m))
    y = sample("float32", (k, n) if y_axis == 0 else (n, k), 1)
    check(kernels, x, y, ((x_axis,), (y_axis,)))


@pytest.mark.parametrize("layout", ["transposed", "flipped", "stepped", "broadcast"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_strided_operands(kernels, dtype, layout):
    x_view, x = strided(kernels, sample(dtype, (8, 8, 8)), layout)
    y_view, y = strided(kernels, sample(dtype, (8, 8, 8), 1), layout)
    check(kernels, x, y, ((2,), (1,)), ((0,), (0,)), x_view, y_view)
    check(kernels, x, y, ((0, 2), (1, 0)), ((), ()), x_view, y_view)


@pytest.mark.parametrize(
    ("x_shape", "y_shape", "contracting", "batch"),
    [
        ((2, 3, 4, 5), (5, 4, 6), ((2, 3), (1, 0)), ((), ())),
        ((2, 3, 4, 5), (3, 5, 2, 6), ((3,), (1,)), ((0, 1), (2, 0))),
        ((4, 3), (2, 5), ((), ()), ((), ())),
        ((3, 4), (3, 4), ((0, 1), (0, 1)), ((), ())),
        ((3, 4), (4, 3), ((), ()), ((0, 1), (1, 0))),
        ((), (3,), ((), ()), ((), ())),
        ((5, 2, 3), (3, 5), ((0, 2), (1, 0)), ((), ())),
    ],
)
def test_general_contractions(kernels, x_shape, y_shape, contracting, batch):
    for dtype in ("float32", "int32"):
        check(kernels, sample(dtype, x_shape), sample(dtype, y_shape, 1), contracting, batch)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16", "uint64"])
def test_long_contractions_are_split(kernels, dtype):
    check(kernels, sample(dtype, (3, 3001)), sample(dtype, (3001, 2), 1), ((1,), (0,)))


def test_long_contractions_of_many_results(kernels):
    rows, columns = 8200, 1
    # llvmpipe ends long loops early: each invocation must have a part of them.
    x, y = kernels.constant(1, "f4", (rows, 70_001)), kernels.constant(1, "f4", (70_001, columns))
    found = kernels.run(
        "dot_general", x, y, shape=(rows, columns), dtype="f4",
        contracting=((1,), (0,)), batch=((), ()),
    )  # fmt: skip
    assert (found == 70_001).all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("size", [70_000, 200_000, 1_000_000])
@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 2)])
def test_very_long_contractions(kernels, dtype, size, rows, columns):
    x, y = sample("int32", (rows, size)) % 3, sample("int32", (size, columns), 1) % 3
    found = kernels.run(
        "dot_general", x.astype(dtype), y.astype(dtype), shape=(rows, columns), dtype=dtype,
        contracting=((1,), (0,)), batch=((), ()),
    )  # fmt: skip
    np.testing.assert_array_equal(found, x @ y)


@pytest.mark.parametrize("dialect", ["f32", "f64s", "i64s"])
@pytest.mark.parametrize("kind", ["cpu", "integrated", "discrete"])
@pytest.mark.parametrize("k", [70_000, 10**6, 10**8])
def test_plans_have_no_long_loop(k, kind, dialect):
    table = TileTable(Adapter(kind, lanes=8))
    for depth in (0, 1):
        operand = Operand(0, 0, 1, depth)
        for m, n in [(1, 1), (3, 2), (4096, 4096)]:
            work = Matrices(1, m, n, k, operand, operand)
            tile = table.choose(work.size, dialect, 1, work.contiguous_k)
            plan = plan_contraction(work, tile, dialect == "f32", kind)
            passes = 2 + tile.rows * tile.columns if dialect == "f64s" else 1
            lanes = tile.workgroup_size if tile.scheme == "lanes" else 1
            assert passes * -(-k // plan.splits) <= 65_535 * lanes


def test_batches_beyond_65535(kernels):
    x = sample("int32", (70_000, 2, 2))
    check(kernels, x, x[::-1].copy(), ((2,), (1,)), ((0,), (0,)))


def test_empty_contractions_are_zero(kernels):
    check(kernels, np.zeros((2, 0), "f4"), np.zeros((0, 3), "f4"), ((1,), (0,)))
    check(kernels, np.zeros((0, 2), "f4"), np.zeros((2, 3), "f4"), ((1,), (0,)))


def test_constants_are_operands_too(kernels):
    ones = kernels.constant(1, "f4", (6, 5))
    x = sample("float32", (4, 6))
    check(kernels, x, np.ones((6, 5), "f4"), ((1,), (0,)), y_view=ones)


def test_infinities_and_nan_follow_ieee(kernels):
    x = np.array([[np.inf, 1], [np.nan, 1], [np.inf, -np.inf], [1, 0]], "f4")
    y = np.array([[0, 1], [1, 1]], "f4")
    with np.errstate(all="ignore"):
        expected = (x[:, :, None] * y[None]).sum(1)
    found = kernels.run(
        "dot_general", x, y, shape=(4, 2), dtype="f4", contracting=((1,), (0,)), batch=((), ())
    )
    np.testing.assert_array_equal(found, expected)


def test_depths_beyond_32_bits_are_refused(kernels):
    size = 2**32 + 3
    x, y = kernels.constant(1, "f4", (1, size)), kernels.constant(1, "f4", (size, 1))
    with pytest.raises(TensorTooLargeError, match="dot_general"):
        kernels.queue(
            "dot_general", x, y, shape=(1, 1), dtype="f4",
            contracting=((1,), (0,)), batch=((), ()),
        )  # fmt: skip


def test_bool_is_refused(kernels):
    x = np.ones((2, 2), bool)
    with pytest.raises(DTypeError, match="cast it"):
        kernels.run(
            "dot_general", x, x, shape=(2, 2), dtype=bool, contracting=((1,), (0,)), batch=((), ())
        )


def test_sizes_make_no_new_pipelines(kernels):
    def product(m: int, n: int, k: int) -> None:
        check(kernels, sample("float32", (m, k)), sample("float32", (k, n), 1), ((1,), (0,)))

    product(96, 96, 96)
    before = kernels.pipelines()
    for side in range(112, 208, 16):  # every tile divides them
        product(side, side + 16, side - 16)
    assert kernels.pipelines() == before


def test_odd_sizes_share_a_few_pipelines(kernels):
    before = kernels.pipelines()
    for extra in range(40):
        x = sample("float32", (33 + extra, 35 + 3 * extra))
        check(kernels, x, sample("float32", (35 + 3 * extra, 34 + 2 * extra), 1), ((1,), (0,)))
    # The waste at the edges chooses one of three tiles, and each operand is loaded by one element
    # or by four: however many sizes, no more than these.
    assert kernels.pipelines() <= before + 3 * 4


def test_plan_reads_transposed_and_strided_operands_in_place():
    x, y = Layout((64, 32), (1, 64), 0), contiguous_layout((32, 48))
    work = matrices(x, y, ((1,), (0,)), ((), ()))
    assert isinstance(work, Matrices) and (work.m, work.n, work.k) == (64, 48, 32)
    tile = TileTable(Adapter("cpu")).choose(work.size, "f32", 1, work.contiguous_k)
    plan = plan_contraction(work, tile, True)
    assert (plan.x_load, plan.y_load) == ("along M", "along N")
    assert tile == Tile("registers", 8, 8)
    assert (plan.walk, plan.workgroups) == ("linear", 1)


def test_plan_copies_only_what_does_not_merge():
    x, y = contiguous_layout((2, 3, 4)), contiguous_layout((4, 3, 5))
    assert matrices(x, y, ((1, 2), (1, 0)), ((), ())) == "y"
    gaps = Layout((2, 3, 4), (24, 8, 1), 0)
    assert matrices(gaps, y, ((1, 2), (1, 0)), ((), ())) == "x"
    assert in_memory_order(x, ((2, 1), (0, 1))) == ((1, 2), (1, 0))
