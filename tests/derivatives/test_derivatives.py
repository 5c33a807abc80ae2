"""Derivative rules of every operation against central differences and against each other.

In float64 on NumPy: forward and reverse mode against differences of values, the two against
each other as transposes, and second derivatives in three nestings.
"""

from __future__ import annotations

import numpy as np
import pytest
from cases.derivative_cases import CASES, complex_spread, spread
from reverse_mode import vjp

import tenferro_wgpu as tw

STEP = 1e-5
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def inner(a, b):
    """Re(conj(a) b), the product that vjp and jvp are transposes under."""
    return float(np.sum(np.real(np.conj(a) * b)))


def similar(array, salt):
    """A direction of the shape and dtype of `array`."""
    values = complex_spread if array.dtype.kind == "c" else spread
    return values(*array.shape, salt=salt)


def values_of(tensors):
    return [x.numpy() for x in tensors]


def weight_of(case, rt):
    return similar(case.function(*map(rt.constant_from, case.inputs)).numpy(), salt=40)


def moved(case, directions, step):
    return [x + step * d for x, d in zip(case.inputs, directions, strict=True)]


@EVERY_CASE
def test_forward_mode_is_the_slope_of_the_values(cpu, case):
    directions = [similar(x, salt=20 + i) for i, x in enumerate(case.inputs)]

    def value(step):
        return case.function(*map(cpu.constant_from, moved(case, directions, step))).numpy()

    expected = (value(STEP) - value(-STEP)) / (2 * STEP)
    out, tangent = tw.jvp(
        case.function, list(map(cpu.constant_from, case.inputs)),
        list(map(cpu.constant_from, directions)),
    )  # fmt: skip
    assert tangent.shape == out.shape and tangent.dtype == out.dtype
    np.testing.assert_allclose(tangent.numpy(), expected, rtol=1e-6, atol=1e-6)


@EVERY_CASE
def test_reverse_mode_is_the_transpose_of_forward_mode(cpu, case):
    weight = weight_of(case, cpu)
    primals = list(map(cpu.constant_from, case.inputs))
    pulled = vjp(case.function, primals, cpu.constant_from(weight))
    for position, (x, g) in enumerate(zip(case.inputs, pulled, strict=True)):
        assert g.shape == x.shape and g.dtype == x.dtype
        directions = [np.zeros_like(one) for one in case.inputs]
        directions[position] = similar(x, salt=30 + position)
        _, pushed = tw.jvp(case.function, primals, list(map(cpu.constant_from, directions)))
        left, right = inner(weight, pushed.numpy()), inner(g.numpy(), directions[position])
        assert left == pytest.approx(right, rel=1e-11, abs=1e-11)


@EVERY_CASE
def test_backward_fills_the_slots_with_the_pulled_cotangents(cpu, case):
    weight = cpu.constant_from(weight_of(case, cpu))
    variables = list(map(cpu.variable_from, case.inputs))
    case.function(*variables).backward(gradient=weight)
    expected = vjp(case.function, list(map(cpu.constant_from, case.inputs)), weight)
    for x, g in zip(variables, values_of(expected), strict=True):
        np.testing.assert_array_equal(x.grad.numpy(), g)


@EVERY_CASE
def test_second_derivatives(cpu, case):
    weight = cpu.constant_from(weight_of(case, cpu))
    directions = [similar(x, salt=50 + i) for i, x in enumerate(case.inputs)]
    primals = list(map(cpu.constant_from, case.inputs))
    tangents = list(map(cpu.constant_from, directions))

    def gradient(*xs):
        return vjp(case.function, xs, weight)

    def gradient_at(step):
        return values_of(gradient(*map(cpu.constant_from, moved(case, directions, step))))

    expected = [
        (high - low) / (2 * STEP)
        for high, low in zip(gradient_at(STEP), gradient_at(-STEP), strict=True)
    ]
    _, forward_over_reverse = tw.jvp(gradient, primals, tangents)
    for found, slope in zip(values_of(forward_over_reverse), expected, strict=True):
        np.testing.assert_allclose(found, slope, rtol=2e-5, atol=2e-5)

    def slope_along_directions(*xs):
        return tw.jvp(case.function, xs, tangents)[1]

    reverse_over_forward = vjp(slope_along_directions, primals, weight)
    for first, second in zip(
        values_of(reverse_over_forward), values_of(forward_over_reverse), strict=True
    ):
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9)

    def projected_gradient(*xs):
        parts = [
            tw.sum(tw.real(tw.conj(g) * t)) for g, t in zip(gradient(*xs), tangents, strict=True)
        ]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    one = cpu.constant_from(np.float64(1.0))
    reverse_over_reverse = vjp(projected_gradient, primals, one)
    for first, second in zip(
        values_of(reverse_over_reverse), values_of(forward_over_reverse), strict=True
    ):
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9)
