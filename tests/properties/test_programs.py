"""Random programs: adapters against NumPy, and the laws that derivatives obey."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import shared_runtime
from hypothesis import HealthCheck, Phase, given, settings, strategies
from properties.programs import Program, random_inputs, random_program
from properties.sources import DrawnSource
from reverse_mode import vjp

import tenferro_wgpu as tw


def property_test(examples: int):
    """Settings of every test here: derandomized, so that a failure repeats."""

    def decorate(function: Any) -> Any:
        return settings(
            max_examples=examples, deadline=None, derandomize=True, database=None,
            suppress_health_check=list(HealthCheck), print_blob=True,
            phases=[Phase.generate],
        )(given(data=strategies.data())(function))  # fmt: skip

    return decorate


def gradients(runtime: Any, program: Program, inputs: list[np.ndarray], weight: np.ndarray) -> Any:
    """The value of a program on a runtime and the gradients of its weighted sum."""
    variables = [runtime.variable_from(x) for x in inputs]
    with runtime.as_default():
        out = program(*variables)
        out.backward(gradient=runtime.constant_from(weight)) if out.requires_grad else None
    slots = [None if x.grad is None else x.grad.numpy() for x in variables]
    return out.numpy(), slots


def weight_of(source: DrawnSource, program: Program, inputs: list[np.ndarray]) -> np.ndarray:
    cpu = shared_runtime("numpy")
    shape = program(*map(cpu.constant_from, inputs)).shape
    return source.generator().uniform(-1, 1, shape)


def assert_near(got: Any, expected: Any, program: Program) -> None:
    """Equal up to the rounding of a few operations, relative to the largest element."""
    scale = max(1.0, float(np.max(np.abs(expected), initial=0)))
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-11 * scale, err_msg=repr(program))


def test_adapters_agree_on_values_and_gradients(rt, adapter):
    if adapter == "numpy":
        pytest.skip("NumPy is what the others are compared with")

    @property_test(8 if adapter == "swiftshader" else 20)
    def check(data):
        source = DrawnSource(data)
        program = random_program(source)
        inputs = random_inputs(source, program)
        weight = weight_of(source, program, inputs)
        expected, expected_slots = gradients(shared_runtime("numpy"), program, inputs, weight)
        got, slots = gradients(rt, program, inputs, weight)
        assert_near(got, expected, program)
        for mine, theirs in zip(slots, expected_slots, strict=True):
            assert (mine is None) == (theirs is None)
            if mine is not None:
                assert_near(mine, theirs, program)

    check()


@property_test(80)
def test_reverse_mode_is_the_transpose_of_forward_mode(data):
    source, cpu = DrawnSource(data), shared_runtime("numpy")
    program = random_program(source)
    inputs = random_inputs(source, program)
    weight = weight_of(source, program, inputs)
    directions = random_inputs(source, program)
    with cpu.as_default():
        primals = [cpu.constant_from(x) for x in inputs]
        out, tangent = tw.jvp(program, primals, [cpu.constant_from(t) for t in directions])
        pulled = vjp(program, primals, cpu.constant_from(weight))
    assert tangent.shape == out.shape and tangent.dtype == out.dtype
    left = float(np.sum(weight * tangent.numpy()))
    right = sum(float(np.sum(g.numpy() * t)) for g, t in zip(pulled, directions, strict=True))
    assert left == pytest.approx(right, rel=1e-9, abs=1e-9), repr(program)


@property_test(40)
def test_backward_of_a_vjp_is_the_jvp_of_a_vjp(data):
    """Second derivatives: forward over reverse is symmetric to reverse over forward."""
    source, cpu = DrawnSource(data), shared_runtime("numpy")
    program = random_program(source, most=5)
    inputs = random_inputs(source, program)
    weight = cpu.constant_from(weight_of(source, program, inputs))
    directions = [cpu.constant_from(t) for t in random_inputs(source, program)]
    probes = [cpu.constant_from(t) for t in random_inputs(source, program)]

    def slope(*xs: Any) -> Any:
        return tw.sum(tw.jvp(program, list(xs), directions)[1] * weight)

    def pulled(*xs: Any) -> Any:
        cotangents = vjp(program, xs, weight)
        return sum(tw.sum(g * t) for g, t in zip(cotangents, directions, strict=True))

    with cpu.as_default():
        primals = [cpu.constant_from(x) for x in inputs]
        _, forward = tw.jvp(pulled, primals, probes)
        reverse = vjp(slope, primals, cpu.constant_from(np.array(1.0)))
    left = forward.item()
    right = sum(tw.sum(g * p).item() for g, p in zip(reverse, probes, strict=True))
    assert left == pytest.approx(right, rel=1e-8, abs=1e-8), repr(program)


@property_test(60)
def test_the_gradient_of_a_linear_map_is_its_transpose_everywhere(data):
    source, cpu = DrawnSource(data), shared_runtime("numpy")
    program = random_program(source, linear=True)
    inputs = random_inputs(source, program)
    weight = weight_of(source, program, inputs)
    value, slots = gradients(cpu, program, inputs, weight)
    _, elsewhere = gradients(cpu, program, [3 * x - 1 for x in inputs], weight)
    total = 0.0
    for x, g, other in zip(inputs, slots, elsewhere, strict=True):
        if g is not None:
            np.testing.assert_array_equal(g, other, err_msg=repr(program))
            total += float(np.sum(g * x))
    assert float(np.sum(weight * value)) == pytest.approx(total, rel=1e-10, abs=1e-10), program


def test_repeated_backward_accumulates(rt, adapter):
    @property_test(30 if adapter == "numpy" else 4)
    def check(data):
        source = DrawnSource(data)
        program = random_program(source)
        inputs = random_inputs(source, program)
        weight = rt.constant_from(weight_of(source, program, inputs))
        variables = [rt.variable_from(x) for x in inputs]
        out = program(*variables)
        if not out.requires_grad:
            return
        counted = out.backward(gradient=weight)
        once = [None if x.grad is None else x.grad.numpy() for x in variables]
        again = out.backward(gradient=weight)
        for x, g in zip(variables, once, strict=True):
            if g is not None:
                np.testing.assert_array_equal(counted[x].numpy(), g)
                np.testing.assert_array_equal(again[x].numpy(), g)
                np.testing.assert_array_equal(x.grad.numpy(), g + g)

    check()
