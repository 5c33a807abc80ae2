"""Convolutions against plain loops, on every adapter."""

from __future__ import annotations

import numpy as np
import pytest
from cases.operations import assert_close

import tenferro_wgpu as tw
from tenferro_wgpu.testing.products import CONVOLUTIONS, convolved, small
from tenferro_wgpu.testing.values import NUMBERS


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_values(rt, name):
    case = CONVOLUTIONS[name]
    for dtype in ("float32", "int32"):
        x, kernel = small(dtype, case.x), small(dtype, case.kernel, 1)
        got = tw.conv(rt.constant_from(x), rt.constant_from(kernel), **case.options)
        assert_close(got.numpy(), convolved(x, kernel, **case.options), 0, name, any_zero=True)


@pytest.mark.parametrize("name", ["one axis", "every channel alone"])
def test_every_dtype(rt, name):
    case = CONVOLUTIONS[name]
    for dtype in (*NUMBERS, "complex64"):
        x, kernel = small(dtype, case.x), small(dtype, case.kernel, 1)
        got = tw.conv(rt.constant_from(x), rt.constant_from(kernel), **case.options)
        expected = convolved(x, kernel, **case.options)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.numpy(), expected, dtype)


def test_strided_operands(rt):
    x, kernel = small("float32", (8, 9, 4, 2)), small("float32", (3, 3, 8, 5), 1)
    case = {"strides": (1, 2), "padding": ((1, 1), (0, 1)), "input_dilation": (1, 1)}
    case |= {"kernel_dilation": (1, 1)}
    got = tw.conv(
        tw.permute_dims(rt.constant_from(x), (3, 2, 0, 1))[:, ::-1],
        tw.permute_dims(rt.constant_from(kernel), (3, 2, 0, 1))[:, ::2],
        **case,
    )
    expected = convolved(
        x.transpose(3, 2, 0, 1)[:, ::-1], kernel.transpose(3, 2, 0, 1)[:, ::2], **case
    )
    np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize(
    ("extent", "window", "stride"), [(7, 3, 1), (7, 2, 2), (8, 5, 3), (3, 1, 2)]
)
def test_same_has_a_place_for_every_stride(cpu, extent, window, stride):
    x, kernel = small("float64", (1, 2, extent)), small("float64", (3, 2, window), 1)
    got = tw.conv(cpu.constant_from(x), cpu.constant_from(kernel), strides=stride, padding="SAME")
    assert got.shape == (1, 3, -(-extent // stride))
    total = max(0, (got.shape[2] - 1) * stride + window - extent)
    padding = ((total // 2, total - total // 2),)
    np.testing.assert_array_equal(got.numpy(), convolved(x, kernel, (stride,), padding, (1,), (1,)))


TRANSPOSED = {
    "strides": ((2, 4, 5, 3), (4, 3, 3, 2), {"strides": (2, 3)}),
    "padding": ((1, 2, 6), (2, 3, 3), {"padding": 1, "strides": 2}),
    "output padding": ((1, 2, 6), (2, 3, 3), {"padding": 1, "strides": 2, "output_padding": 1}),
    "dilation": ((1, 2, 5, 5), (2, 3, 2, 2), {"kernel_dilation": (2, 1), "padding": ((1, 0), 0)}),
    "same": ((2, 2, 4, 3), (2, 3, 4, 3), {"strides": (2, 3), "padding": "SAME"}),
    "same, windows shorter than steps": (
        (1, 2, 3, 4),
        (2, 3, 1, 2),
        {"strides": (2, 4), "padding": "SAME"},
    ),
    "same, dilation": ((1, 2, 5), (2, 3, 2), {"kernel_dilation": 3, "padding": "SAME"}),
    "groups": ((2, 4, 5), (4, 3, 3), {"groups": 2, "strides": 2}),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_is_the_derivative_of_the_convolution(rt, name):
    """<conv(u), x> == <u, conv_transpose(x)> for every u."""
    shape, kernel_shape, options = TRANSPOSED[name]
    x = rt.constant_from(small("float32", shape))
    kernel = rt.constant_from(small("float32", kernel_shape, 1))
    result = tw.conv_transpose(x, kernel, **options)
    u = rt.variable_from(small("float32", result.shape, 2))
    forward = {key: value for key, value in options.items() if key != "output_padding"}
    out = tw.conv(u, kernel, **forward)
    assert out.shape == x.shape
    out.backward(gradient=x)
    np.testing.assert_array_equal(u.grad.numpy(), result.numpy())


def test_transposed_same_has_stride_times_as_many_places(cpu):
    x, kernel = cpu.ones((1, 2, 5)), cpu.ones((2, 3, 4))
    assert tw.conv_transpose(x, kernel, strides=3, padding="SAME").shape == (1, 3, 15)
    assert tw.conv_transpose(x, kernel, strides=3).shape == (1, 3, 16)


def test_bias_and_activation_give_the_bits_of_single_steps(rt):
    """Twice, so that a fused kernel runs where there is one."""
    x = rt.constant_from(small("float32", (2, 3, 12, 12)) / 3)
    kernel = rt.constant_from(small("float32", (8, 3, 3, 3), 1) / 7)
    bias = rt.constant_from(small("float32", (8, 1, 1), 2) / 5)
    product = tw.conv(x, kernel, padding=1).materialize().numpy()
    for _ in range(3):
        got = tw.maximum(tw.conv(x, kernel, padding=1) + bias, 0.0)
        np.testing.assert_array_equal(got.numpy(), np.maximum(product + bias.numpy(), 0))


def test_sums_that_are_split_over_invocations(rt):
    """The derivative of a kernel sums over all places of all images."""
    x, kernel = small("float32", (6, 2, 50, 40)), small("float32", (3, 2, 3, 3), 1)
    cotangent = small("float32", (6, 3, 48, 38), 2)
    weights = rt.variable_from(kernel)
    tw.conv(rt.constant_from(x), weights).backward(gradient=rt.constant_from(cotangent))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    expected = np.einsum("nchwij,nohw->ocij", windows, cotangent)
    np.testing.assert_array_equal(weights.grad.numpy(), expected)
