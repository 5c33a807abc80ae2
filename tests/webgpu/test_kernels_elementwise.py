"""Element-wise kernels: every kind of operand, constants as params, expressions, plans."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from kernel_support import LAYOUTS, sample, strided

from tenferro_wgpu.backends.webgpu.expressions import Expression, Step
from tenferro_wgpu.backends.webgpu.kernels.elementwise import plan_map, prepare_map, run_map
from tenferro_wgpu.errors import TensorTooLargeError, UnsupportedOperationError
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

DTYPES = ("float32", "float64", "int32", "uint32", "int64", "int8", "uint16", "uint64")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5, 7), (4, 8, 12)])
def test_binary_of_strided_operand_and_bias(kernels, shape, dtype, layout):
    view, x = strided(kernels, sample(dtype, shape), layout)
    bias = sample(dtype, x.shape[-1:], seed=1)
    row = kernels.tensor(bias)
    row = row.with_layout(row.layout.broadcast_in_dim(x.shape, (x.ndim - 1,)))
    with np.errstate(all="ignore"):
        expected = x * bias
    np.testing.assert_array_equal(
        kernels.run("mul", view, row, shape=x.shape, dtype=dtype), expected
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", (*DTYPES, "bool"))
def test_download_of_a_view(kernels, dtype, layout):
    view, x = strided(kernels, sample(dtype, (4, 6, 5)), layout)
    found = kernels.backend.download(view)
    assert found.dtype == x.dtype and found.flags.c_contiguous
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize("dtype", (*DTYPES, "bool"))
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (5,), (2, 4)])
def test_constants_fill_any_shape(kernels, dtype, shape):
    value = np.array(1, dtype)
    constant = kernels.constant(value, dtype, shape)
    np.testing.assert_array_equal(kernels.backend.download(constant), np.full(shape, value))
    copied = kernels.run("copy", constant, shape=shape, dtype=dtype)
    np.testing.assert_array_equal(copied, np.full(shape, value))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1e300, "float32"),
        (-0.0, "float64"),
        (float("nan"), "float32"),
        (2**32 - 1, "uint32"),
        (7, "bool"),
    ],
)
def test_scalars_take_their_dtype_without_a_warning(kernels, value, dtype):
    with np.errstate(all="ignore"):
        expected = np.asarray(value).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scalar = kernels.constant(value, dtype)
    found = (kernels.backend.download(scalar), kernels.run("copy", scalar, shape=(), dtype=dtype))
    for each in found:
        assert each.dtype == dtype and each.shape == ()
        np.testing.assert_array_equal(each, expected)
        assert np.signbit(float(each)) == np.signbit(float(expected)) or np.isnan(expected)


def test_sizes_and_scalars_make_no_new_pipelines(kernels):
    def scale(size: int, factor: float) -> None:
        x = np.arange(4 * size, dtype="f4")
        product = kernels.run(
            "mul", x, kernels.constant(factor, "f4", x.shape), shape=x.shape, dtype="f4"
        )
        np.testing.assert_array_equal(product, x * np.float32(factor))

    scale(3, 0.5)
    before = kernels.pipelines()
    for number in range(1, 100):
        scale(number, number / 7)
    assert kernels.pipelines() == before


def test_moves_keep_every_bit(kernels):
    bits = np.array([0x7F800001, 0xFFC12345, 1, 0x80000000, 0x007FFFFF], np.uint32)
    x = bits.view(np.float32)
    condition = np.array([True, False, True, False, True])
    for name, operands in (("copy", (x,)), ("select", (condition, x, x))):
        moved = kernels.run(name, *operands, shape=x.shape, dtype="f4")
        np.testing.assert_array_equal(moved.view(np.uint32), bits)


@pytest.mark.parametrize("source", (*DTYPES, "bool"))
@pytest.mark.parametrize("target", (*DTYPES, "bool"))
def test_casts_between_all_dtypes(kernels, source, target):
    x = sample(source, (3, 7))
    if target == "uint32":
        x = np.abs(x)
    cast = kernels.run("cast", x, shape=x.shape, dtype=target)
    np.testing.assert_array_equal(cast, x.astype(target))


@pytest.mark.parametrize("name", ["add", "mul", "maximum", "less", "greater_equal", "equal"])
def test_arithmetic_of_bool_is_logic(kernels, name):
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    function = {"mul": "multiply"}.get(name, name)
    np.testing.assert_array_equal(
        kernels.run(name, x, y, shape=(4,), dtype=bool), getattr(np, function)(x, y)
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clip_of_special_values(kernels, dtype):
    x = np.array([-5, -np.inf, np.inf, np.nan, 2, 0.5, -0.0], dtype)
    low, high = np.full_like(x, -1), np.full_like(x, 1)
    high[4] = np.nan
    np.testing.assert_array_equal(
        kernels.run("clip", x, low, high, shape=x.shape, dtype=dtype), np.clip(x, low, high)
    )


def test_missing_kernels_name_operation_and_dtype(kernels):
    with pytest.raises(UnsupportedOperationError, match="exp on int32") as caught:
        kernels.run("exp", np.arange(3, dtype="i4"), shape=(3,), dtype="i4")
    assert caught.value.op == "exp" and caught.value.backend == "webgpu"
    with pytest.raises(UnsupportedOperationError, match="no_such_thing"):
        kernels.run("no_such_thing", np.arange(3, dtype="i4"), shape=(3,), dtype="i4")


def test_beyond_the_binding_limit(kernels):
    limit = kernels.backend.device.limits.max_storage_buffer_binding_size
    size = limit // 4 + 1
    with pytest.raises(TensorTooLargeError) as caught:
        kernels.queue("copy", kernels.constant(1, "f4", (size,)), shape=(size,), dtype="f4")
    assert caught.value.limit == limit and caught.value.nbytes == 4 * size


def test_more_workgroups_than_one_dimension_holds(kernels):
    size = 65536 * 64 + 5
    x = np.arange(size, dtype=np.int64)[::-1]
    view = kernels.tensor(np.ascontiguousarray(x[::-1]))
    flipped = view.with_layout(view.layout.flip((0,)))
    np.testing.assert_array_equal(kernels.backend.download(flipped), x)


def test_a_chain_with_two_outputs_keeps_each_rounding(kernels):
    """(x + y) - x and x - x in one kernel: nothing may fold, infinities must become NaN."""
    steps = (
        Step("add", "f32", (0, 1), "f32"),
        Step("sub", "f32", (2, 0), "f32"),
        Step("sub", "f32", (0, 0), "f32"),
    )
    expression = Expression(("f32", "f32"), steps, (3, 4))
    x = np.array([1e8, np.inf, 1.0, np.nan, 5.0], "f4")
    y = np.array([1.0, 1.0, 2.0, 1.0, 0.25], "f4")
    operands = (kernels.tensor(x), kernels.tensor(y))
    launcher = kernels.backend._launcher
    launch = prepare_map(launcher, expression, [operand.layout for operand in operands], (5,))
    buffers = run_map(launcher, launch, operands, "chain")
    layout = contiguous_layout((5,))
    results = [
        kernels.backend.download(Tensor(x.dtype, layout, buffer, kernels.backend))
        for buffer in buffers
    ]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(results[0], (x + y) - x)
        np.testing.assert_array_equal(results[1], x - x)


def test_plans_load_four_elements_where_memory_allows():
    shape = (6, 8)
    rows = Layout(shape, (0, 1), 0)
    plan = plan_map([contiguous_layout(shape), rows, Layout(shape, (1, 6), 0), None], shape, True)
    assert plan.kinds == ("contiguous", "packed", "strided", "constant")
    assert (plan.width, plan.invocations) == (4, 12)
    odd = plan_map([contiguous_layout(shape), Layout(shape, (1, 6), 0)], shape, False)
    assert (odd.width, odd.invocations, odd.kinds) == (1, 48, ("contiguous", "strided"))
    assert plan_map([Layout(shape, (8, 1), 3)], shape, True).width == 1


def test_outputs_are_contiguous_and_fresh(kernels):
    x = kernels.tensor(np.ones((2, 3), "f4"))
    (result,) = kernels.backend.execute(
        type("P", (), {"name": "copy"})(), (x,), {}, (ShapeDtype((2, 3), np.dtype("f4")),)
    )
    assert result.layout.is_contiguous and result.handle is not x.handle
