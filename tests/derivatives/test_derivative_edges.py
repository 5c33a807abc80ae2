"""Derivatives where there is a choice or a trap: ties, bounds, zeros, NaN, repeated indices."""

from __future__ import annotations

import numpy as np
import pytest
from cases.coverage_calls import ONE
from reverse_mode import vjp

import tenferro_wgpu as tw

NAN, INF = np.nan, np.inf

#: name: (function, points, gradients of its sum)
ROWS = {
    "maximum, tie": (tw.maximum, ([1, 2, 3], [3, 2, 1]), ([0, 0.5, 1], [1, 0.5, 0])),
    "maximum, NaN": (tw.maximum, ([NAN, 2], [1, NAN]), ([0, 0], [0, 0])),
    "minimum, tie": (tw.minimum, ([1, 2, 3], [3, 2, 1]), ([1, 0.5, 0], [0, 0.5, 1])),
    "clip, closed interval": (
        lambda x: tw.clip(x, -1.0, 1.0), ([-2, -1, 0, 1, 2],), ([0, 1, 1, 1, 0],),
    ),
    "clip, equal bounds": (
        tw.clip, ([-2, 0, 2], [0, 0, 0], [0, 0, 0]), ([0, 1, 0], [1, 0, 0], [0, 0, 1]),
    ),
    "clip, bounds in the wrong order": (
        tw.clip, ([-2, 0, 2], [1, 1, 1], [-1, -1, -1]), ([0, 0, 0], [0, 0, 0], [1, 1, 1]),
    ),
    "clip, active bounds": (
        tw.clip, ([-2, 0, 2], [-1, -1, -1], [1, 1, 1]), ([0, 1, 0], [1, 0, 0], [0, 0, 1]),
    ),
    "max, tie": (tw.max, ([3, 1, 3, 3],), ([1 / 3, 0, 1 / 3, 1 / 3],)),
    "min, tie": (tw.min, ([3, 1, 3, 1],), ([0, 0.5, 0, 0.5],)),
    "quantile, tie": (lambda x: tw.quantile(x, 0.5), ([1, 1],), ([0.5, 0.5],)),
    "quantiles of nothing": (
        lambda x: tw.quantile(x, [0.5, 0.1], axis=1) + tw.median(x, axis=1), (np.zeros((2, 0)),),
        (np.zeros((2, 0)),),
    ),
    "no quantiles": (lambda x: tw.nanquantile(x, []), ([1, 2],), ([0, 0],)),
    "quantile of infinities": (lambda x: tw.quantile(x, 0.25), ([INF, INF],), ([1, 0],)),
    "nanquantile, tie": (
        lambda x: tw.nanquantile(x, 0.25), ([2, NAN, 2, 2, 2],), ([0.25, 0, 0.75, 0, 0],),
    ),
    "max, infinite": (tw.max, ([INF, 1, INF],), ([0.5, 0, 0.5],)),
    "max, NaN": (tw.max, ([1, NAN, 3],), ([0, 0, 0],)),
    "prod, one zero": (tw.prod, ([2, 0, 3],), ([0, 6, 0],)),
    "prod, two zeros": (tw.prod, ([0, 4, 0],), ([0, 0, 0],)),
    "abs at 0": (tw.abs, ([-2, 0, 2],), ([-1, 0, 1],)),
    "sign": (tw.sign, ([-2, 0, 2],), ([0, 0, 0],)),
    "sqrt at 0": (tw.sqrt, ([0, 4],), ([INF, 0.25],)),
    "pow, base 0": (tw.pow, ([0, 0, 0], [0, 1, 2]), ([0, 1, 0], [0, 0, 0])),
    "pow, negative base": (lambda x: x**3, ([-2, 0],), ([12, 0],)),
    "where, the branch not taken": (
        lambda x, y: tw.where(x > 0, x, y), ([1, -1], [NAN, 2]), ([1, 0], [0, 1]),
    ),
    "repeated indices": (lambda x: x[[0, 2, 0]], ([1, 2, 3],), ([2, 0, 1],)),
    "indices of a tensor": (
        lambda x: tw.take(x, tw.argmax(x)), ([1, 3, 2],), ([0, 1, 0],),
    ),
    "nothing, chosen from nothing": (
        lambda x, y: x[tw.asarray([[]], dtype="int64")] + y, (np.zeros((0, 2)), [3]),
        (np.zeros((0, 2)), [0]),
    ),
    "nothing, put somewhere": (
        lambda x, y: tw.ones(3).at[[]].set(x) * y[0], (np.zeros(0), [2]), (np.zeros(0), [3]),
    ),
    "nothing, put into an empty slice": (
        lambda x: tw.ones(3).at[1:1].set(x), (np.zeros(0),), (np.zeros(0),),
    ),
    "nothing, counted nowhere": (
        lambda x: tw.bincount(tw.asarray([], dtype="int64"), x), (np.zeros(0),), (np.zeros(0),),
    ),
    "nothing, counted": (
        lambda x: tw.bincount(tw.asarray([], dtype="int64"), x, 2), (np.zeros(0),), (np.zeros(0),),
    ),
    "out of bounds, filled": (
        lambda x: tw.where(tw.asarray([True, False]), tw.take(x, [1, 9], mode="fill"), 0.0),
        ([1, 2],), ([0, 1],),
    ),
    "out of bounds, clipped": (
        lambda x: tw.take(x, [1, 9], mode="clip"), ([1, 2],), ([0, 2],),
    ),
    "an operand that is repeated": (lambda x: tw.broadcast_to(x, (5, 2)), ([1, 2],), ([5, 5],)),
    "an operand used twice": (lambda x: x * x + x, ([1, 2],), ([3, 5],)),
    "division by 0": (lambda x, y: x / y, ([1, 0], [INF, 2]), ([0, 0.5], [0, 0])),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_gradient(rt, name, dtype):
    function, points, gradients = ROWS[name]
    variables = [rt.variable_from(np.array(point, dtype)) for point in points]
    tw.sum(function(*variables)).backward()
    for x, expected in zip(variables, gradients, strict=True):
        np.testing.assert_allclose(x.grad.numpy(), np.array(expected, dtype), rtol=1e-6)


#: A direction of 0 across an infinite slope, or through NaN, has no tangent.
WITHOUT_TANGENT = {"sqrt at 0", "maximum, NaN", "max, NaN"}


@pytest.mark.parametrize("name", [name for name in ROWS if name not in WITHOUT_TANGENT])
def test_tangent(cpu, name):
    function, points, gradients = ROWS[name]
    primals = [cpu.constant_from(np.array(point, "float64")) for point in points]
    for position, expected in enumerate(gradients):
        for index in np.ndindex(np.shape(expected)):
            directions = [np.zeros(np.shape(point)) for point in points]
            directions[position][index] = 1.0
            _, tangent = tw.jvp(function, primals, [cpu.constant_from(d) for d in directions])
            assert float(tw.sum(tangent)) == pytest.approx(np.array(expected)[index])


def test_a_nan_cotangent_does_not_enter_the_branch_not_taken(rt):
    x, y = rt.variable_from([1.0, 2.0]), rt.variable_from([3.0, 4.0])
    out = tw.where(rt.constant_from([True, False]), x, y)
    out.backward(gradient=rt.constant_from([1.0, NAN]))
    np.testing.assert_array_equal(x.grad.numpy(), [1, 0])
    np.testing.assert_array_equal(y.grad.numpy(), [0, NAN])


def test_tangent_and_update_out_of_bounds_are_zero(rt):
    x, t = rt.constant_from([1.0, 2.0]), rt.constant_from([5.0, 7.0])
    out, tangent = tw.jvp(lambda x: tw.take(x, [1, 9], mode="fill"), (x,), (t,))
    np.testing.assert_array_equal(out.numpy(), [2, NAN])
    np.testing.assert_array_equal(tangent.numpy(), [7, 0])
    updates = rt.variable_from([1.0, 2.0])
    tw.scatter_add(x, [9, 0], updates, mode="fill").sum().backward()
    np.testing.assert_array_equal(updates.grad.numpy(), [0, 1])


def test_gradients_keep_the_dtype_of_their_tensor(rt):
    x = rt.variable_from(np.float32([1, 2]))
    y = rt.variable_from(np.float64([3, 4]))
    (x * y * rt.constant_from([2, 3])).sum().backward()
    assert x.grad.dtype == "float32" and y.grad.dtype == "float64"
    np.testing.assert_array_equal(x.grad.numpy(), [6, 12])
    np.testing.assert_array_equal(y.grad.numpy(), [2, 6])


def test_a_real_tensor_gets_the_real_part(cpu):
    x = cpu.variable_from([1.0, 2.0])
    z = cpu.constant_from(np.array([1 + 2j, 3 - 1j]))
    tw.real(x * z).sum().backward()
    assert x.grad.dtype == "float32"
    np.testing.assert_array_equal(x.grad.numpy(), [1, 3])


def test_the_gradient_of_the_squared_modulus_is_twice_z(cpu):
    values = np.array([1 + 2j, 3 - 1j])
    z = cpu.variable_from(values)
    tw.real(z * tw.conj(z)).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * values)


def test_integers_and_comparisons_carry_no_derivative(rt):
    x = rt.variable_from([1.0, 2.0])
    assert not (x > 1).requires_grad
    assert not tw.argmax(x).requires_grad
    assert not x.astype(tw.int32).requires_grad


#: name: (function of one tensor to a number, point, its matrix of second derivatives)
SECOND = {
    "prod, two zeros": (tw.prod, [0, 0, 3], [[0, 3, 0], [3, 0, 0], [0, 0, 0]]),
    "running products, two zeros": (
        lambda x: tw.sum(tw.cumprod(x)), [2, 0, 0], [[0, 1, 0], [1, 0, 2], [0, 2, 0]],
    ),
    "square of 0": (lambda x: tw.sum(x**2), [0, -1], [[2, 0], [0, 2]]),
    "cube of 0": (lambda x: tw.sum(x**3), [0, -1], [[0, 0], [0, -6]]),
    "norm of nothing but zeros": (tw.norm, [0, 0], [[0, 0], [0, 0]]),
    "deviation of equal numbers": (tw.std, [2, 2], [[0, 0], [0, 0]]),
    "max, tie": (lambda x: tw.max(x) * tw.sum(x), [1, 1, 0],
                 [[1, 1, 0.5], [1, 1, 0.5], [0.5, 0.5, 0]]),
    "sort, tie": (
        lambda x: tw.sum(tw.sort(x) ** 2 * tw.asarray([1.0, 2.0, 3.0])), [2, 1, 2],
        [[4, 0, 0], [0, 2, 0], [0, 0, 6]],
    ),
    "logarithm of a sum of zeros": (tw.logsumexp, [-INF, -INF], [[0, 0], [0, 0]]),
    "softmax of minus infinities": (
        lambda x: tw.sum(tw.softmax(x) * tw.asarray([1.0, 2.0])), [-INF, -INF], [[0, 0], [0, 0]],
    ),
    "masked softmax, NaN behind the mask": (
        lambda x: tw.sum(tw.masked_softmax(x, tw.asarray([False, True, True])) ** 2), [NAN, 0, 0],
        [[0, 0, 0], [0, 0.25, -0.25], [0, -0.25, 0.25]],
    ),
    "the branch not taken": (
        lambda x: tw.sum(tw.where(x > 0, x * x, 0.0)), [NAN, 3], [[0, 0], [0, 2]],
    ),
    "softplus far out": (lambda x: tw.sum(tw.softplus(x)), [0, 800, -800],
                         [[0.25, 0, 0], [0, 0, 0], [0, 0, 0]]),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(rt, name):
    function, point, expected = SECOND[name]
    x, one = (rt.constant_from(np.array(each, np.float32)) for each in (point, 1.0))

    def gradient(x):
        return vjp(function, (x,), one)[0]

    def slope(direction):
        return lambda x: tw.jvp(function, (x,), (direction,))[1]

    for place, row in enumerate(expected):
        direction = rt.constant_from(np.eye(len(point), dtype=np.float32)[place])
        _, forward = tw.jvp(gradient, (x,), (direction,))
        (reverse,) = vjp(slope(direction), (x,), one)
        np.testing.assert_allclose(forward.numpy(), row, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(reverse.numpy(), row, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (2, 0, 3)])
def test_empty_tensors_have_empty_gradients(rt, shape):
    """Every function of one tensor that takes an empty one."""
    x = rt.variable_from(np.zeros(shape, np.float32))
    tracked = 0
    for name in (*ONE, "cumsum", "cumprod", "cummax", "cummin"):
        x.clear_grad()
        try:
            out = getattr(tw, name)(x)
        except (ValueError, TypeError):
            continue  # what has no largest element, no matrix, no order
        out = out[0] if isinstance(out, tuple) else out
        if out.requires_grad:
            out.backward(gradient=tw.ones_like(out.detach()))
            assert x.grad.numpy().shape == shape, name
            tracked += 1
    assert tracked > 40
