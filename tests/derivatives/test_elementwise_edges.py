"""Derivatives of element-wise functions at kinks, jumps, zeros, infinities and NaN."""

from __future__ import annotations

import numpy as np
import pytest
from reverse_mode import vjp

import tenferro_wgpu as tw

NAN, INF = np.nan, np.inf

#: name: (function, points, gradients of its sum)
ROWS = {
    "floor": (tw.floor, ([-0.5, 0, 1.5, INF],), ([0, 0, 0, 0],)),
    "ceil": (tw.ceil, ([-0.5, 0, 1.5, NAN],), ([0, 0, 0, 0],)),
    "trunc": (tw.trunc, ([-0.5, 0, 1.5, INF],), ([0, 0, 0, 0],)),
    "round": (tw.round, ([-0.5, 0, 1.5, NAN],), ([0, 0, 0, 0],)),
    "floor_divide": (tw.floor_divide, ([5, 5, 4], [2, 0, INF]), ([0, 0, 0], [0, 0, 0])),
    "nextafter": (tw.nextafter, ([1, 0], [2, 0]), ([0, 0], [0, 0])),
    "remainder": (
        tw.remainder, ([5, -5, 5, 6], [3, 3, -3, 3]), ([1, 1, 1, 1], [-1, 2, 2, -2]),
    ),
    "fmod": (tw.fmod, ([5, -5, 5, 6], [3, 3, -3, 3]), ([1, 1, 1, 1], [-1, 1, 1, -2])),
    "remainder of a large quotient": (
        tw.remainder, ([1048577.5], [0.5]), ([1], [-2097155]),
    ),
    "copysign": (
        tw.copysign, ([2, 2, -2, 0], [1, -1, 1, 1]), ([1, -1, -1, 0], [0, 0, 0, 0]),
    ),
    "copysign of zeros": (tw.copysign, ([2, 2], [0.0, -0.0]), ([1, -1], [0, 0])),
    "fmax, tie": (tw.fmax, ([1, 2, 3], [3, 2, 1]), ([0, 0.5, 1], [1, 0.5, 0])),
    "fmax, NaN": (tw.fmax, ([NAN, 2, NAN], [1, NAN, NAN]), ([0, 1, 0], [1, 0, 0])),
    "fmin, tie": (tw.fmin, ([1, 2, 3], [3, 2, 1]), ([1, 0.5, 0], [0, 0.5, 1])),
    "fmin, NaN": (tw.fmin, ([NAN, 2, NAN], [1, NAN, NAN]), ([0, 1, 0], [1, 0, 0])),
    "hypot": (tw.hypot, ([0, 3, 0], [0, 4, -2]), ([0, 0.6, 0], [0, 0.8, -1])),
    "hypot of large numbers": (tw.hypot, ([3e30], [4e30]), ([0.6], [0.8])),
    "atan2": (
        tw.atan2, ([0, 1, 0, 0], [0, 0, 2, -2]), ([0, 0, 0.5, -0.5], [0, -1, 0, 0]),
    ),
    "logaddexp": (
        tw.logaddexp, ([0, -INF, -INF, INF], [0, 1, -INF, 1]),
        ([0.5, 0, 0.5, 1], [0.5, 1, 0.5, 0]),
    ),
    "sigmoid": (tw.sigmoid, ([0, 1000, -1000, INF, -INF],), ([0.25, 0, 0, 0, 0],)),
    "cbrt": (tw.cbrt, ([0, 8, -8],), ([INF, 1 / 12, 1 / 12],)),
    "angle": (tw.angle, ([2, -2, 0],), ([0, 0, 0],)),
    "nan_to_num": (tw.nan_to_num, ([2, NAN, INF, -INF],), ([1, 0, 0, 0],)),
    "atan of infinity": (tw.atan, ([INF, -INF],), ([0, 0],)),
    "asinh of large numbers": (tw.asinh, ([1e30, -1e30],), ([1e-30, 1e-30],)),
    "asin at its ends": (tw.asin, ([1, -1, 2],), ([INF, INF, NAN],)),
    "atanh at its ends": (tw.atanh, ([1, -1, 0],), ([INF, INF, 1],)),
    "acosh at its end": (tw.acosh, ([1, 0.5],), ([INF, NAN],)),
    "log2 at 0": (tw.log2, ([0, 1],), ([INF, 1 / np.log(2)],)),
    "reciprocal at 0": (tw.reciprocal, ([0, 2],), ([-INF, -0.25],)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_gradient(rt, name, dtype):
    function, points, gradients = ROWS[name]
    variables = [rt.variable_from(np.array(point, dtype)) for point in points]
    tw.sum(function(*variables)).backward()
    for x, expected in zip(variables, gradients, strict=True):
        assert x.grad.dtype == dtype
        np.testing.assert_allclose(x.grad.numpy(), np.array(expected, dtype), rtol=2e-6)


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "floor_divide"])
def test_steps_give_true_zeros_even_for_an_infinite_cotangent(cpu, name):
    function, points, _ = ROWS[name]
    primals = [cpu.constant_from(np.array(point, "float64")) for point in points]
    weight = cpu.constant_from(np.full(len(points[0]), INF))
    for g in vjp(function, primals, weight):
        np.testing.assert_array_equal(g.numpy(), np.zeros(len(points[0])))
    _, tangent = tw.jvp(function, primals, [weight] * len(primals))
    np.testing.assert_array_equal(tangent.numpy(), np.zeros(len(points[0])))


def test_the_slope_of_sigmoid_keeps_its_digits(cpu):
    x = cpu.variable_from(np.float64([30.0, 300.0]))
    tw.sigmoid(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([-30.0, -300.0]), rtol=1e-12)


def test_angle_of_complex_zero_has_no_slope(cpu):
    z = cpu.variable_from(np.array([0, 1j, -2]))
    tw.angle(z).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [0, -1, -0.5j], atol=1e-15)


def test_integers_carry_no_derivative(cpu):
    x = cpu.constant_from([1, 2])
    for out in (x // 2, x % 2, x & 1, ~x, x << 1, tw.floor(x), tw.isnan(x)):
        assert not out.requires_grad
    y = cpu.variable_from([1.5])
    for out in (tw.isnan(y), tw.signbit(y), tw.isclose(y, 1.5), tw.logical_not(y)):
        assert not out.requires_grad
