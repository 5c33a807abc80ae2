"""Activations and normalisation: values against NumPy in float64, and every edge with gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reverse_mode import vjp

import tenferro_wgpu as tw
from tenferro_wgpu import errors

NAN, INF = np.nan, np.inf
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


def np_softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def np_layer_norm(x, w, b, axis=-1, eps=1e-5):
    shape = [-1 if at == axis % x.ndim else 1 for at in range(x.ndim)]
    centred = x - x.mean(axis=axis, keepdims=True)
    out = centred / np.sqrt((centred**2).mean(axis=axis, keepdims=True) + eps)
    return out * w.reshape(shape) + b.reshape(shape)


def np_rms_norm(x, w, axis=-1, eps=1e-5):
    shape = [-1 if at == axis % x.ndim else 1 for at in range(x.ndim)]
    return x / np.sqrt((x**2).mean(axis=axis, keepdims=True) + eps) * w.reshape(shape)


#: name: (ours, NumPy's in float64, how many operands of one axis).
FUNCTIONS = {
    "relu": (tw.relu, lambda x: np.maximum(x, 0), 0),
    "softplus": (tw.softplus, lambda x: np.logaddexp(x, 0), 0),
    "silu": (tw.silu, lambda x: x / (1 + np.exp(-x)), 0),
    "gelu": (tw.gelu, lambda x: x * 0.5 * np.vectorize(math.erfc)(-x / math.sqrt(2)), 0),
    "gelu, tanh": (
        lambda x: tw.gelu(x, approximate="tanh"),
        lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), 0,
    ),
    "softmax": (tw.softmax, np_softmax, 0),
    "softmax, axis 0": (lambda x: tw.softmax(x, axis=0), lambda x: np_softmax(x, 0), 0),
    "softmax, two axes": (
        lambda x: tw.softmax(x, axis=(0, -1)), lambda x: np_softmax(x, (0, -1)), 0,
    ),
    "log_softmax": (tw.log_softmax, lambda x: np.log(np_softmax(x)), 0),
    "log_softmax, axis 1": (
        lambda x: tw.log_softmax(x, axis=1), lambda x: np.log(np_softmax(x, 1)), 0,
    ),
    "masked_softmax": (
        lambda x: tw.masked_softmax(x, x < 1),
        lambda x: np.nan_to_num(np_softmax(np.where(x < 1, x, -INF))), 0,
    ),
    "layer_norm": (tw.layer_norm, np_layer_norm, 2),
    "layer_norm, axis 1": (
        lambda x, w, b: tw.layer_norm(x, w[:3], b[:3], axis=1),
        lambda x, w, b: np_layer_norm(x, w[:3], b[:3], 1), 2,
    ),
    "rms_norm": (tw.rms_norm, np_rms_norm, 1),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(rt, name, dtype):
    ours, reference, weights = FUNCTIONS[name]
    rng = np.random.default_rng(3)
    arrays = [(rng.standard_normal((2, 3, 5)) * 3).astype(dtype)]
    arrays += [rng.standard_normal(5).astype(dtype) for _ in range(weights)]
    x, *rest = (rt.constant_from(array) for array in arrays)
    wide, *others = (array.astype(np.float64) for array in arrays)
    for view in (lambda y: y, lambda y: y[::-1, :, ::1], lambda y: y[:, ::-1]):
        got = ours(view(x), *rest)
        assert got.dtype == dtype
        # Scaled by what is subtracted: the elements are at most 10.
        tolerance = 20 * EPSILON[dtype]
        want = reference(view(wide), *others)
        np.testing.assert_allclose(got.numpy(), want, rtol=tolerance, atol=2 * tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gelu_keeps_its_digits_far_below_zero(rt, dtype):
    x = np.array([-1.0, -3.0, -5.0, -6.0], dtype)
    wide = x.astype(np.float64)
    exact = wide * 0.5 * np.vectorize(math.erfc)(-wide / math.sqrt(2))
    inner = math.sqrt(8 / math.pi) * (wide + 0.044715 * wide**3)
    rough = wide / (1 + np.exp(-inner))
    tensor, tolerance = rt.constant_from(x), 100 * EPSILON[dtype]
    np.testing.assert_allclose(tw.gelu(tensor).numpy(), exact, tolerance)
    np.testing.assert_allclose(tw.gelu(tensor, approximate="tanh").numpy(), rough, tolerance)


def test_dtypes(rt):
    whole = rt.constant_from(np.array([[1, 2, 3]], "i4"))
    for function in (tw.softmax, tw.log_softmax, tw.layer_norm, tw.rms_norm, tw.softplus, tw.silu):
        assert function(whole).dtype == np.float32
    assert tw.relu(rt.constant_from(np.array([-1, 2], "i4"))).tolist() == [0, 2]
    for function in (tw.softmax, tw.relu, tw.layer_norm):
        with pytest.raises(errors.DTypeError, match="no order"):
            function(rt.constant_from(np.ones(3, "c8")))
    with pytest.raises(errors.ArgumentError, match="approximate"):
        tw.gelu(whole, approximate=True)
    with pytest.raises(errors.DTypeError, match="bools"):
        tw.relu(rt.constant_from(np.array([True])))
    mask = rt.constant_from(np.ones(3, "i4"))
    with pytest.raises(errors.DTypeError, match="mask"):
        tw.masked_softmax(rt.constant_from(np.ones(3, "f4")), mask)


@pytest.mark.parametrize("eps", [-1e-9, NAN, INF])
def test_eps_is_checked(rt, eps):
    x = rt.constant_from(np.ones((2, 3), "f4"))
    for function in (tw.layer_norm, tw.rms_norm):
        with pytest.raises(errors.ArgumentError, match="eps"):
            function(x, eps=eps)
    with pytest.raises(errors.ShapeError, match="weight"):
        tw.layer_norm(x, x[0, :2])
    with pytest.raises(errors.ShapeError, match="broadcast"):
        tw.masked_softmax(x[0], x > 0)


def gradient(rt, function, *arrays):
    """Value and the gradient of the first operand, for a cotangent of distinct numbers."""
    tensors = [rt.constant_from(np.asarray(array)) for array in arrays]
    out = function(*tensors)
    weight = np.arange(1, out.size + 1, dtype=out.dtype).reshape(out.shape)
    (g, *_) = vjp(lambda x: function(x, *tensors[1:]), tensors[:1], rt.constant_from(weight))
    return out.numpy(), g.numpy()


def test_slices_of_minus_infinity(rt):
    x = np.array([[-INF, -INF], [-INF, 1], [INF, 1], [NAN, 1]], "f4")
    value, g = gradient(rt, tw.softmax, x)
    np.testing.assert_array_equal(value[:2], [[0, 0], [0, 1]])
    assert np.isnan(value[2:]).all()
    np.testing.assert_array_equal(g[:2], [[0, 0], [0, 0]])
    value, g = gradient(rt, tw.log_softmax, x)
    np.testing.assert_array_equal(value[:2], [[-INF, -INF], [-INF, 0]])
    assert np.isnan(value[2:]).all()
    assert np.isfinite(g[:2]).all()
    value, g = gradient(rt, lambda y: tw.logsumexp(y, axis=1), x[:2])
    np.testing.assert_array_equal(value, [-INF, 1])
    np.testing.assert_array_equal(g, [[0, 0], [0, 2]])


def test_masked_elements_have_no_gradient_whatever_they_are(rt):
    x = np.array([[NAN, 1, 1], [INF, -INF, 3], [5, NAN, INF]], "f4")
    mask = np.array([[False, True, True], [False, True, True], [False, False, False]])
    value, g = gradient(rt, tw.masked_softmax, x, mask)
    np.testing.assert_array_equal(value, [[0, 0.5, 0.5], [0, 0, 1], [0, 0, 0]])
    np.testing.assert_allclose(g, [[0, -0.25, 0.25], [0, 0, 0], [0, 0, 0]], atol=1e-6)
    assert (g[~mask] == 0).all()
    value, g = gradient(rt, tw.masked_log_softmax, x, mask)
    np.testing.assert_allclose(value[0], [-INF, -np.log(2), -np.log(2)], rtol=1e-6)
    np.testing.assert_array_equal(value[1:], [[-INF, -INF, 0], [-INF] * 3])
    assert (g[~mask] == 0).all() and np.isfinite(g).all()


def test_axes_without_elements(rt):
    x = rt.constant_from(np.zeros((3, 0), "f4"))
    mask = rt.constant_from(np.zeros((3, 0), bool))
    for out in (tw.softmax(x), tw.log_softmax(x), tw.masked_softmax(x, mask), tw.layer_norm(x)):
        assert out.shape == (3, 0)
    assert tw.softmax(x, axis=0).shape == (3, 0)


def derivatives_at(rt, function, point):
    """The first and the second derivative at one point."""
    x, one = (rt.constant_from(np.array([value], "f8")) for value in (point, 1.0))

    def slope(y):
        return tw.jvp(function, [y], [one])[1]

    return slope(x).item(), tw.jvp(slope, [x], [one])[1].item()


def test_derivatives_at_zero(rt):
    for function, first, second in (
        (tw.softplus, 0.5, 0.25),
        (tw.sigmoid, 0.25, 0.0),
        (tw.relu, 0.0, 0.0),
        (tw.silu, 0.5, 0.5),
        (lambda x: tw.logaddexp(x, 0 * x), 0.5, 0.25),
    ):
        np.testing.assert_allclose(derivatives_at(rt, function, 0.0), (first, second), atol=1e-15)
    assert derivatives_at(rt, tw.softplus, -800.0) == (0, 0)
    assert derivatives_at(rt, tw.softplus, 800.0) == (1, 0)
    for function in (tw.std, tw.norm):
        x = rt.variable_from(np.zeros(3, "f4"))
        function(x).backward()
        assert x.grad.tolist() == [0, 0, 0]


def test_relu_keeps_nan_and_no_negative_zero(rt):
    value, g = gradient(rt, tw.relu, np.array([NAN, -0.0, 0.0, -INF, INF], "f4"))
    np.testing.assert_array_equal(value, [NAN, 0, 0, 0, INF])
    assert not np.signbit(value[1:]).any()
    np.testing.assert_array_equal(g, [1, 0, 0, 0, 5])
