"""Reductions and argmax: any axes of any layout, accuracy, specials, plans."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_support import LAYOUTS, sample, strided

from tenferro_wgpu.backends.webgpu.kernels.argmax import plan_argmax
from tenferro_wgpu.backends.webgpu.kernels.reduction_plan import (
    memory_order,
    plan_addressing,
    plan_reduction,
)
from tenferro_wgpu.backends.webgpu.kernels.strides import words
from tenferro_wgpu.errors import DTypeError, ShapeError, TensorTooLargeError
from tenferro_wgpu.layout import Layout, contiguous_layout

REDUCTIONS = {
    "reduce_sum": np.sum,
    "reduce_prod": np.prod,
    "reduce_max": np.max,
    "reduce_min": np.min,
}
AXES = [(0,), (1,), (2,), (0, 2), (0, 1, 2), (1, 2), ()]


def kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "uint32", "int64", "int8", "uint16", "uint64"]
)
def test_any_axes_of_any_layout(kernels, dtype, layout):
    view, x = strided(kernels, sample(dtype, (6, 5, 8)), layout)
    for axes in AXES:
        shape = kept(x.shape, axes)
        for name, function in REDUCTIONS.items():
            found = kernels.run(name, view, shape=shape, dtype=dtype, axes=axes)
            with np.errstate(all="ignore"):
                # NumPy would widen the sums of 32-bit integers.
                expected = function(x, axis=axes).astype(dtype)
            if dtype.startswith("float"):
                tolerance = 1e-5 if dtype == "float32" else 1e-13
                np.testing.assert_allclose(found, expected, tolerance, tolerance)
            else:
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(3, 20_001), (20_001, 3), (70_001,), (1, 8192), (8192, 4)])
@pytest.mark.parametrize("axis", [0, -1])
def test_long_sums_are_accurate(kernels, shape, axis):
    axis %= len(shape)
    x = np.random.default_rng(1).uniform(0.5, 1, shape).astype("f4")
    found = kernels.run("reduce_sum", x, shape=kept(shape, (axis,)), dtype="f4", axes=(axis,))
    expected = x.sum(axis, dtype="f8")
    assert np.abs(found / expected - 1).max() < 4 * np.finfo("f4").eps


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values(kernels, dtype):
    x = np.ones((5, 40), dtype)
    x[0, 3] = np.inf
    x[1, 3], x[1, 20] = np.inf, -np.inf
    x[2, 39] = np.nan
    x[3] = np.finfo(dtype).max
    x[4] = -np.inf
    for name, function in REDUCTIONS.items():
        with np.errstate(all="ignore"):
            expected = function(x, axis=1)
        found = kernels.run(name, x, shape=(5,), dtype=dtype, axes=(1,))
        np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize("size", [2**31, 2**32, 2**32 + 5])
def test_views_beyond_32_bits_are_refused(kernels, size):
    row = kernels.constant(1, "f4", (size,))
    real = kernels.tensor(np.ones((1, 3), "f4"))
    column = real.with_layout(real.layout.broadcast_in_dim((size, 3), (0, 1)))
    for name in ("reduce_sum", "reduce_max"):
        with pytest.raises(TensorTooLargeError, match=name):
            kernels.queue(name, row, shape=(), dtype="f4", axes=(0,))
        with pytest.raises(TensorTooLargeError, match=name):
            kernels.queue(name, column, shape=(3,), dtype="f4", axes=(0,))
        with pytest.raises(TensorTooLargeError, match=name):
            kernels.queue(name, column, shape=(size,), dtype="f4", axes=(1,))
    with pytest.raises(TensorTooLargeError, match="argmax"):
        kernels.queue("argmax", column, shape=(3,), dtype="i8", axis=0)


def test_the_product_of_reduced_extents_is_bounded_too(kernels):
    view = kernels.constant(1, "f4", (2**24, 2**8))
    with pytest.raises(TensorTooLargeError, match="reduce_sum"):
        kernels.queue("reduce_sum", view, shape=(), dtype="f4", axes=(0, 1))


def test_params_refuse_what_32_bits_do_not_hold():
    assert words((-1, 2**32 - 1, -(2**31))) == b"\xff" * 8 + b"\0\0\0\x80"
    for value in (2**32, -(2**31) - 1):
        with pytest.raises(TensorTooLargeError):
            words((0, value))


def test_reducing_nothing(kernels):
    empty = np.zeros((0, 3), "f4")
    for name, value in (("reduce_sum", 0), ("reduce_prod", 1)):
        found = kernels.run(name, empty, shape=(3,), dtype="f4", axes=(0,))
        np.testing.assert_array_equal(found, np.full(3, value, "f4"))
    assert kernels.run("reduce_max", empty, shape=(0,), dtype="f4", axes=(1,)).shape == (0,)
    with pytest.raises(ShapeError, match="no element"):
        kernels.run("reduce_max", empty, shape=(3,), dtype="f4", axes=(0,))


def test_bool_is_ordered_but_not_summed(kernels):
    x = np.array([[True, False], [False, False]])
    assert kernels.run("reduce_max", x, shape=(2,), dtype=bool, axes=(1,)).tolist() == [True, False]
    assert kernels.run("reduce_min", x, shape=(), dtype=bool, axes=(0, 1)).item() is False
    with pytest.raises(DTypeError, match="cast it"):
        kernels.run("reduce_sum", x, shape=(2,), dtype=bool, axes=(1,))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
def test_argmax_takes_the_first(kernels, dtype, layout):
    view, x = strided(kernels, sample(dtype, (6, 5, 8)), layout)
    for axis in range(3):
        found = kernels.run("argmax", view, shape=kept(x.shape, (axis,)), dtype="i8", axis=axis)
        np.testing.assert_array_equal(found, x.argmax(axis))


@pytest.mark.parametrize("size", [7, 5000])
def test_argmax_of_nan_infinities_and_zeros(kernels, size):
    rows = np.zeros((4, size), "f4")
    rows[0, [3, 5]] = np.nan
    rows[1] = -np.inf
    rows[2, [2, size - 1]] = np.inf
    rows[3, 0] = -0.0
    found = kernels.run("argmax", rows, shape=(4,), dtype="i8", axis=1)
    np.testing.assert_array_equal(found, rows.argmax(1))


@pytest.mark.parametrize("is_cpu", [True, False])
@pytest.mark.parametrize("shape, axis", [((1 << 20, 1 << 15), 0), ((1 << 10, 1 << 26), 1)])
def test_plans_have_no_long_loop(is_cpu, shape, axis):
    # llvmpipe ends the loops of an invocation after 65,535 iterations, silently.
    layout = contiguous_layout(shape)
    for packable in (True, False):
        for step in plan_reduction(shape, (axis,), is_cpu=is_cpu, packable=packable):
            assert step.chunk <= 32768 * step.lanes
    for step in plan_argmax(layout, axis, is_cpu=is_cpu):
        assert step.chunk <= 32768 * step.lanes


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_max", "argmax"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("size", [70_000, 200_000, 1_000_000])
def test_long_rows_of_many_results(kernels, name, dtype, size):
    # Many outputs leave no reason to split but the length of the loops.
    rows = 2100 if size == 70_000 and dtype != "float64" else 16
    row = np.zeros(size, dtype)
    row[1::2], row[-2] = 1, 7
    tensor = kernels.tensor(row)
    tensor = tensor.with_layout(tensor.layout.broadcast_in_dim((rows, size), (1,)))
    expected = {"reduce_sum": row.sum(), "reduce_max": 7, "argmax": size - 2}[name]
    params = {"axis": 1} if name == "argmax" else {"axes": (1,)}
    result = "int64" if name == "argmax" else dtype
    found = kernels.run(name, tensor, shape=(rows,), dtype=result, **params)
    np.testing.assert_array_equal(found, np.full(rows, expected))


def test_plan_on_a_cpu_adapter_gives_each_output_an_invocation():
    (step,) = plan_reduction((4096, 256), (1,), is_cpu=True, packable=True)
    assert (step.lanes, step.splits, step.pack) == (1, 1, "inner")
    assert (step.outputs, step.count, step.workgroups) == (4096, 64, 64)
    (column,) = plan_reduction((64, 4096), (0,), is_cpu=True, packable=True)
    assert (column.pack, column.outputs, column.count) == ("outer", 1024, 64)


def test_plan_splits_few_long_rows_and_joins_them():
    first, *others = plan_reduction((1 << 22,), (0,), is_cpu=True, packable=True)
    assert first.splits > 100 and first.splits * first.chunk >= first.count
    assert others and others[-1].splits == 1 and others[-1].outputs == 1
    gpu = plan_reduction((4, 1 << 20), (1,), is_cpu=False, packable=True)
    assert gpu[0].lanes == 256 and gpu[0].splits > 1
    columns = plan_reduction((4096, 512), (0,), is_cpu=False, packable=False)
    assert columns[0].lanes == 1 and columns[0].splits > 1


def test_plan_of_a_long_argmax_compares_winners():
    first, *others = plan_argmax(contiguous_layout((3, 100_000)), 1, is_cpu=True)
    assert first.splits > 1 and first.splits * first.chunk >= 100_000
    assert others[0].count == first.splits and others[-1].splits == 1


def test_plan_walks_memory_forwards():
    flipped = Layout((4, 8), (-1, -4), 31)
    order, backwards = memory_order([None, flipped], (4, 8))
    assert (order, backwards) == ((1, 0), {0, 1})
    (step,) = plan_reduction((4, 8), (0, 1), order, is_cpu=True, packable=True)
    found = plan_addressing(step, (4, 8), (0, 1), [flipped], (), order, backwards)
    assert (step.count, found.inner_rank, found.kinds) == (8, 1, ("packed",))
    assert found.words[-3:] == (8, 0, 1)


@pytest.mark.parametrize("is_cpu", [True, False])
def test_both_schemes_give_the_same_sums(kernels, is_cpu, monkeypatch):
    launcher = kernels.backend._launcher
    launcher.clear_caches()
    monkeypatch.setattr(launcher, "is_cpu", is_cpu)
    for shape, axes in (((3, 5000), (1,)), ((5000, 3), (0,)), ((40, 50, 60), (0, 2))):
        x = sample("int32", shape)
        found = kernels.run("reduce_sum", x, shape=kept(shape, axes), dtype="i4", axes=axes)
        np.testing.assert_array_equal(found, x.sum(axes))
        y = sample("float32", shape)
        found = kernels.run("argmax", y, shape=kept(shape, axes[:1]), dtype="i8", axis=axes[0])
        np.testing.assert_array_equal(found, y.argmax(axes[0]))
    launcher.clear_caches()
