"""Samples, polynomials, spread and norms of matrices against NumPy: adapters x options x edges."""

from __future__ import annotations

import warnings

import mpmath
import numpy as np
import pytest
from cases.operations import assert_close

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.ops.quantiles import METHODS

NAN, INF = np.nan, np.inf


def near(got, want, eps=64):
    """Equal shapes and dtypes, and values to some places of the largest."""
    want = np.asarray(want)
    got = got.numpy()
    assert got.shape == want.shape and got.dtype == want.dtype
    scale = np.max(np.abs(want[np.isfinite(want)]), initial=1e-30)
    allowed = eps * np.finfo(got.dtype).eps
    np.testing.assert_allclose(got, want, rtol=allowed, atol=allowed * scale)


@pytest.fixture(scope="module")
def cube():
    return np.random.default_rng(50).standard_normal((3, 4, 5)).astype(np.float32)


@pytest.fixture(scope="module")
def holes(cube):
    """Some NaN, a line and a plane of them."""
    found = cube.copy()
    found[np.random.default_rng(51).random(cube.shape) < 0.3] = NAN
    found[0, 0] = NAN
    found[1, :, 2] = NAN
    return found


def test_gradient(rt, cube):
    x = rt.constant_from(cube)
    places = np.array([-1.0, -0.5, 0.75, 2.0], np.float32)
    at = rt.constant_from(places)
    for order in (1, 2):
        near(tw.gradient(x, axis=1, edge_order=order), np.gradient(cube, axis=1, edge_order=order))
        near(
            tw.gradient(x, at, axis=1, edge_order=order),
            np.gradient(cube, places, axis=1, edge_order=order),
        )
        mine = tw.gradient(x, 0.5, at, 2, edge_order=order)
        theirs = np.gradient(cube, 0.5, places, 2, edge_order=order)
        assert isinstance(mine, tuple)
        for got, want in zip(mine, theirs, strict=True):
            near(got, want)
    mine, theirs = tw.gradient(x, 2.0, axis=(2, -3)), np.gradient(cube, 2.0, axis=(2, -3))
    for got, want in zip(mine, theirs, strict=True):
        near(got, want)
    whole = np.array([1, 4, 9, 2], np.int32)
    near(tw.gradient(rt.constant_from(whole)), np.gradient(whole).astype(np.float32))
    z = cube[0] + 1j * cube[1]
    near(tw.gradient(rt.constant_from(z), axis=0), np.gradient(z, axis=0))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x: tw.gradient(x[:1], axis=0),
            errors.ShapeError,
            "1 samples along axis 0.*needs 2",
        ),
        (lambda x: tw.gradient(x, 1.0, 2.0), errors.ArgumentError, "2 spacings for 3 axes"),
        (lambda x: tw.gradient(x, x[0, 0], axis=1), errors.ShapeError, "places of shape"),
        (lambda x: tw.gradient(x, edge_order=3), errors.ArgumentError, "edge_order is 1 or 2"),
        (lambda x: tw.gradient(x, axis=(1, -2)), errors.AxisError, "named twice"),
        (lambda x: tw.gradient(x, axis=3), errors.AxisError, "gradient: axis 3"),
        (lambda x: tw.trapezoid(x, x[0, 0, :3]), errors.ShapeError, "3 places for 5 samples"),
        (lambda x: tw.polyval(x, x), errors.ShapeError, "one axis"),
        (lambda x: tw.polyval(["a"], x), errors.DTypeError, "numbers"),
        (lambda x: tw.heaviside(x, 1j), errors.DTypeError, "heaviside"),
        (lambda x: tw.unwrap(x, period=0), errors.ArgumentError, "positive"),
        (lambda x: tw.unwrap(x, period=10**400), errors.ArgumentError, "finite"),
        (lambda x: tw.unwrap(x, period=x), errors.DTypeError, "unwrap: period is a number"),
        (lambda x: tw.ptp(x > 0), errors.DTypeError, "ptp: bools"),
        (lambda x: tw.nanquantile(x, 2), errors.ArgumentError, "nanquantile"),
        (lambda x: tw.norm(x, 2, (0, 1)), errors.UnsupportedOperationError, "linear algebra"),
        (lambda x: tw.norm(x, "nuc", (0, 1)), errors.UnsupportedOperationError, "singular values"),
        (lambda x: tw.norm(x, "two", (0, 1)), errors.ArgumentError, "fro"),
        (lambda x: tw.norm(x, 3, (0, 1)), errors.ArgumentError, "fro"),
        (lambda x: tw.mean(x, where=x), errors.DTypeError, "mean: where is a bool tensor"),
        (lambda x: tw.var(x[0], where=x > 0), errors.ShapeError, "var: where"),
    ],
)
def test_errors(cpu, cube, call, error, words):
    with pytest.raises(error, match=words):
        call(cpu.constant_from(cube))


def test_trapezoid(rt, cube):
    x = rt.constant_from(cube)
    places = np.array([-1.0, -0.5, 0.75, 2.0], np.float32)
    near(tw.trapezoid(x), np.trapezoid(cube))
    near(tw.trapezoid(x, dx=0.3, axis=0), np.trapezoid(cube, dx=0.3, axis=0).astype(np.float32))
    near(tw.trapezoid(x, rt.constant_from(places), axis=1), np.trapezoid(cube, places, axis=1))
    near(tw.trapezoid(x, x), np.trapezoid(cube, cube))
    near(tw.trapezoid(x[:, :1]), np.trapezoid(cube[:, :1]))
    assert tw.trapezoid(x[..., :1]).tolist() == np.zeros((3, 4)).tolist()
    assert tw.trapezoid(x[..., :0]).tolist() == np.zeros((3, 4)).tolist()


def test_polynomials(rt, cube):
    x = rt.constant_from(cube)
    coefficients = np.array([2, -1, 0.5, 3], np.float32)
    near(tw.polyval(rt.constant_from(coefficients), x), np.polyval(coefficients, cube))
    near(tw.polyval([2, -1, 0.5, 3], x), np.polyval(coefficients, cube))
    whole = np.array([3, 0, -2], np.int64)
    got = tw.polyval(rt.constant_from(whole), rt.constant_from(np.arange(-4, 5)))
    assert_close(got.numpy(), np.polyval(whole, np.arange(-4, 5)), 0)
    assert tw.polyval([], x).numpy().any() == np.False_
    truths = np.array([True, False])
    bools = tw.polyval(rt.constant_from(truths), rt.constant_from(truths[::-1].copy()))
    assert_close(bools.numpy(), np.polyval(truths, truths[::-1]), 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_steps_and_cardinal_sines(rt, dtype):
    x = np.array([-INF, -2, -1e-30, -0.0, 0.0, 1e-30, 3, INF, NAN]).astype(dtype)
    for middle in (0.25, NAN, INF):
        y = np.full(x.shape, middle, dtype)
        with np.errstate(all="ignore"):
            want = np.heaviside(x, y)
        got = tw.heaviside(rt.constant_from(x), rt.constant_from(y)).numpy()
        assert_close(got, want, 0, any_zero=True)
    angles = [0, 1e-4, 0.047, 0.048, 0.3, 0.5, 0.99, -1.7, 12.25, 100.125, 7, -512]
    angles = np.array(angles).astype(dtype)
    want = np.array([float(mpmath.sincpi(float(each))) for each in angles]).astype(dtype)
    assert_close(tw.sinc(rt.constant_from(angles)).numpy(), want, 6, absolute=0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
def test_unwrap(rt, dtype):
    rng = np.random.default_rng(52)
    if np.dtype(dtype).kind == "f":
        phases = np.cumsum(rng.uniform(-3, 6, (4, 30)), axis=1).astype(dtype)
        options = ({}, {"axis": 0}, {"discont": 4.0}, {"period": 3.0})
    else:
        phases = rng.integers(-20, 20, (4, 30)).astype(dtype)
        options = (
            {"period": 4}, {"period": 5, "axis": 0}, {"period": 6, "discont": 4},
            {"period": 5, "discont": INF}, {"period": 4, "discont": -INF},
        )  # fmt: skip
    x = rt.constant_from(phases)
    for each in options:
        want = np.unwrap(phases, **each).astype(dtype)
        got = tw.unwrap(x, **each)
        if np.dtype(dtype).kind == "f":
            near(got, want)
        else:
            assert_close(got.numpy(), want, 0)
    unsigned = tw.unwrap(x, period=np.uint8(6)).numpy()
    np.testing.assert_allclose(unsigned, np.unwrap(phases, period=6), 1e-4, 1e-4)
    np.testing.assert_array_equal(tw.unwrap(x[:, :1]).numpy(), phases[:, :1])


def test_spread_without_nan(rt, holes):
    x = rt.constant_from(holes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for axis in (None, 0, 1, (0, 2)):
            for name in ("nanvar", "nanstd"):
                for ddof in (0, 1, 3):
                    options = {"axis": axis, "ddof": ddof, "keepdims": ddof == 1}
                    near(getattr(tw, name)(x, **options), getattr(np, name)(holes, **options), 256)
        z = (holes + 1j * holes[::-1]).astype(np.complex64)
        near(tw.nanvar(rt.constant_from(z), 1), np.nanvar(z, 1), 256)


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_without_nan(rt, holes, method):
    x = rt.constant_from(holes)
    wide = holes.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for axis, q in ((None, 0.3), (1, [0.0, 0.25, 0.7, 1.0]), ((0, 2), 0.5)):
            want = np.nanquantile(wide, q, axis, method=method).astype(np.float32)
            near(tw.nanquantile(x, q, axis, method=method), want)
        want = np.nanpercentile(wide, 40, 2, method=method, keepdims=True).astype(np.float32)
        near(tw.nanpercentile(x, 40, 2, method=method, keepdims=True), want)


def test_correlations(rt, cube):
    x = rt.constant_from(cube)
    near(tw.corrcoef(x[0]), np.corrcoef(cube[0], dtype=np.float32), 1000)
    near(
        tw.corrcoef(x[0], x[1], False), np.corrcoef(cube[0], cube[1], False, dtype=np.float32), 1000
    )
    z = (cube[0] + 1j * cube[1]).astype(np.complex64)
    near(tw.corrcoef(rt.constant_from(z)), np.corrcoef(z, dtype=np.complex64), 1000)
    assert tw.corrcoef(x[0, 0]).item() == 1.0
    diagonal = tw.diagonal(tw.corrcoef(x[0])).numpy()
    assert np.all(np.abs(diagonal) <= 1)


def test_masks_of_means(rt, cube):
    mask = np.random.default_rng(53).random(cube.shape) < 0.6
    mask[0, 1] = False
    x, where = rt.constant_from(cube), rt.constant_from(mask)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for axis in (None, 2, (0, 1)):
            for row in (where, where[:1, :, :1]):
                host = row.numpy()
                for name in ("mean", "var", "std"):
                    want = getattr(np, name)(cube, axis, where=host)
                    near(getattr(tw, name)(x, axis, where=row), want, 256)
                for name in ("any", "all"):
                    want = getattr(np, name)(cube > 0.5, axis, where=host, keepdims=True)
                    got = getattr(tw, name)(x > 0.5, axis, where=row, keepdims=True)
                    assert_close(got.numpy(), want, 0)
        near(tw.var(x, 2, where=where, ddof=4), np.var(cube, 2, where=mask, ddof=4), 1000)


@pytest.mark.parametrize("order", [None, "fro", 1, np.int64(-1), np.float32(INF), -INF])
def test_norms_of_matrices(rt, cube, order):
    x = rt.constant_from(cube)
    z = (cube + 1j * cube[::-1]).astype(np.complex64)
    for axis in ((0, 1), (2, 0), (-1, -2)):
        near(tw.norm(x, order, axis, True), np.linalg.norm(cube, order, axis, True))
        near(tw.norm(rt.constant_from(z), order, axis), np.linalg.norm(z, order, axis))
    near(tw.norm(x[0], order), np.linalg.norm(cube[0], order))
