"""Products, sequences and interpolation against NumPy, on every adapter."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.testing.products import PRODUCTS, small
from tenferro_wgpu.testing.values import ALL

#: One program of each kernel that these are made of.
EVERY_DTYPE = ("kron", "dot", "correlate, same")


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(rt, name):
    every = (*ALL, "complex64") if name in EVERY_DTYPE else ("float32", "complex64")
    for dtype in every:
        operands = [small(dtype, shape, n) for n, shape in enumerate([(3, 4), (4, 3), (5,)])]
        expected = PRODUCTS[name](np, *operands)
        got = PRODUCTS[name](tw, *(rt.constant_from(each) for each in operands))
        assert got.shape == expected.shape and got.dtype == dtype
        np.testing.assert_array_equal(got.numpy(), expected, dtype)


def test_cross_of_vectors_in_a_plane(cpu):
    x, y = np.arange(6.0).reshape(3, 2), np.arange(9.0).reshape(3, 3)
    a, b = cpu.constant_from(x), cpu.constant_from(y)
    np.testing.assert_array_equal(tw.cross(a, b).numpy(), np.cross(np.pad(x, ((0, 0), (0, 1))), y))
    flat = tw.cross(a, a[::-1]).numpy()
    np.testing.assert_array_equal(flat, x[:, 0] * x[::-1, 1] - x[:, 1] * x[::-1, 0])


X = np.array([-1.0, 0.0, 0.25, 1.0, 1.5, 2.0, 3.9, 4.0, 7.0, np.nan])
POINTS, VALUES = np.array([0.0, 1.0, 1.5, 4.0]), np.array([3.0, -1.0, 2.0, 2.5])
INTERPOLATED = {
    "plain": lambda xp, x, a, b: xp.interp(x, a, b),
    "ends": lambda xp, x, a, b: xp.interp(x, a, b, left=-9.0, right=9.0),
    "one point": lambda xp, x, a, b: xp.interp(x, a[1:2], b[1:2], left=5.0),
    "period": lambda xp, x, a, b: xp.interp(x[:-1], a, b, period=3.0),
    "negative period": lambda xp, x, a, b: xp.interp(x[:-1], xp.flip(a), b, period=-3.5),
    "one place": lambda xp, x, a, b: xp.interp(x[2], a, b),
    "places in a matrix": lambda xp, x, a, b: xp.interp(xp.reshape(x, (2, 5)), a, b),
}


@pytest.mark.parametrize("name", INTERPOLATED)
def test_interp(rt, name):
    program = INTERPOLATED[name]
    expected = program(np, X, POINTS, VALUES)
    for dtype, tolerance in (("float32", 1e-6), ("float64", 1e-14)):
        given = [rt.constant_from(each.astype(dtype)) for each in (X, POINTS, VALUES)]
        got = program(tw, *given)
        assert got.dtype == dtype and got.shape == np.shape(expected)
        np.testing.assert_allclose(got.numpy(), expected, tolerance, tolerance)


def test_interp_of_complex_values(cpu):
    values = VALUES + 1j * VALUES[::-1]
    got = tw.interp(*(cpu.constant_from(each) for each in (X, POINTS, values)))
    np.testing.assert_allclose(got.numpy(), np.interp(X, POINTS, values))


def test_interp_takes_numbers_and_integers(cpu):
    points, values = cpu.constant_from(np.array([0, 2])), cpu.constant_from(np.array([10, 20]))
    assert tw.interp(1, points, values).tolist() == 15.0
    assert tw.interp(cpu.constant_from(np.array([1, 2])), points, values).dtype == tw.float32
