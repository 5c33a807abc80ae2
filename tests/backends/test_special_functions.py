"""Special functions over NumPy arrays: units in the last place by mpmath, and special values."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.errors import ArgumentError, DTypeError

NAN, INFINITY = np.nan, np.inf


def log_gamma(x: mpmath.mpf) -> mpmath.mpf:
    if x > 0:
        return mpmath.loggamma(x)
    return mpmath.log(mpmath.pi / abs(mpmath.sinpi(x))) - mpmath.loggamma(1 - x)


def digamma(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.digamma(1 - x) - mpmath.pi * mpmath.cospi(x) / mpmath.sinpi(x)


GAMMA_RANGES = ((0, 3), (2, 12), (10, 1e6), (-5, 0), (-60, 0), (-1e9, 0))
#: function -> (the same in mpmath, ranges of its argument, units in the last place)
FUNCTIONS = {
    tw.erf: (mpmath.erf, ((-7, 7), (-1, 1), (-1e-8, 1e-8)), 2),
    tw.erfc: (mpmath.erfc, ((-3, 3), (0, 27)), 16),
    tw.lgamma: (log_gamma, (*GAMMA_RANGES, (-2.7477, -2.7476), (-9.00001, -9)), 16),
    tw.digamma: (digamma, (*GAMMA_RANGES, (-0.5041, -0.504), (-2829.851, -2829.849)), 16),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_units_in_the_last_place(cpu, function):
    exact, ranges, bound = FUNCTIONS[function]
    random = np.random.default_rng(1)
    x = np.concatenate([random.uniform(low, high, 100) for low, high in ranges])
    got = function(cpu.constant_from(x)).numpy()
    with mpmath.workprec(120):
        for at, value in zip(x, got, strict=True):
            true = exact(mpmath.mpf(float(at)))
            error = abs(mpmath.mpf(float(value)) - true)
            # Zeros at negative numbers: an absolute error of an epsilon.
            allowed = bound * float(np.spacing(abs(float(true))))
            assert error <= max(allowed, 2.0**-52 if at < 0 else 0.0), (at, value, true)


def test_lgamma_next_to_halves_and_whole_numbers(cpu):
    halves = np.arange(-12, 24) / 2
    x = np.concatenate([np.nextafter(halves, end) for end in (-30, 30)])
    x = x[np.abs(x) > 0.4]
    with mpmath.workprec(200):
        exact = np.array([float(log_gamma(mpmath.mpf(at))) for at in x])
    got = tw.lgamma(cpu.constant_from(x)).numpy()
    np.testing.assert_allclose(got, exact, rtol=16 * np.finfo(float).eps, atol=np.finfo(float).eps)


def test_special_values(cpu):
    x = cpu.constant_from(np.array([0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN]))
    np.testing.assert_array_equal(
        tw.lgamma(x).numpy(), [INFINITY, INFINITY, 0, INFINITY, INFINITY, INFINITY, NAN]
    )
    assert tw.erf(x).tolist()[4:6] == [1.0, -1.0] and np.signbit(tw.erf(x).numpy()[1])
    assert tw.erfc(x).tolist()[4:6] == [0.0, 2.0]
    found = tw.digamma(x).numpy()
    np.testing.assert_array_equal(
        found[[0, 1, 3, 4, 5, 6]], [-INFINITY, INFINITY, NAN, INFINITY, NAN, NAN]
    )
    np.testing.assert_array_equal(
        tw.polygamma(1, x).numpy()[[0, 3, 4, 6]], [INFINITY, INFINITY, 0, NAN]
    )


@pytest.mark.parametrize("order", [1, 2, 3, 7, 40])
def test_polygamma(cpu, order):
    x = np.concatenate([np.linspace(0.05, 30, 40), np.linspace(-4.9, -0.1, 20) + 1e-3])
    x = np.append(x, 0.9 * np.finfo(float).max ** (np.array([0.3, 0.6, 0.99]) / order))
    got = tw.polygamma(order, cpu.constant_from(x)).numpy()
    with mpmath.workprec(200):
        exact = [float(mpmath.psi(order, float(at))) for at in x]
    np.testing.assert_allclose(got, exact, rtol=1e-14, atol=1e-13)
    np.testing.assert_allclose(got[x > 0], np.array(exact)[x > 0], rtol=1e-14)


@pytest.mark.parametrize("order", [-1, 1.0, True, "1", 1001])
def test_orders_are_integers(cpu, order):
    with pytest.raises(ArgumentError, match="polygamma"):
        tw.polygamma(order, cpu.ones(3))


def test_every_dtype(cpu):
    x = np.array([0.5, 1.5, 3.0])
    for dtype in ("float16", "float32", "float64"):
        got = tw.lgamma(cpu.constant_from(x, dtype=dtype))
        assert got.dtype == np.dtype(dtype)
        eps = float(np.finfo(dtype).eps)
        np.testing.assert_allclose(
            got.numpy(), [np.log(np.pi) / 2, -0.1207822376, np.log(2)], 4 * eps + 1e-9
        )
    assert tw.erf(cpu.asarray([1, 2])).dtype == np.float32
    with pytest.raises(DTypeError):
        tw.erf(cpu.asarray([1j]))
    assert tw.polygamma(1, cpu.zeros((0, 3))).shape == (0, 3)
