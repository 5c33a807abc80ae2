"""Statistics and norms against NumPy: adapters x dtypes x axes x layouts, and edges."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from cases.operations import assert_close, check
from cases.values import LAYOUTS, random

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.testing.reductions import QUANTIFIERS, STATISTICS

TABLE = {**QUANTIFIERS, **STATISTICS}
ROWS = [(name, dtype) for name, case in TABLE.items() for dtype in case.dtypes]
AXES = [None, 1, -1, (0, 2), ()]
NAN, INF = np.nan, np.inf


def values_of(name, dtype, shape):
    values = random(dtype, int(np.prod(shape)), 5).reshape(shape)
    if name in QUANTIFIERS:
        return values * (np.arange(values.size).reshape(shape) % 5 < 2).astype(values.dtype)
    # Of one sign: the error of a sum is relative to the sum of magnitudes.
    if values.dtype.kind == "c":
        return (np.abs(values.real) + 0.1 + 1j * np.abs(values.imag)).astype(dtype)
    return (np.abs(values) / 4 + 0.1).astype(dtype) if values.dtype.kind == "f" else values


@pytest.mark.parametrize(("name", "dtype"), ROWS)
def test_axes(rt, adapter, name, dtype):
    case = TABLE[name]
    values = values_of(name, dtype, (3, 5, 4))
    x = rt.constant_from(values)
    # Software complex numbers take seconds to compile there, for each layout.
    is_slow = adapter == "swiftshader" and dtype == "complex128"
    for axis in AXES[:2] if is_slow else AXES:
        if axis == () and name == "average":
            continue  # NumPy divides by an array of ones of another shape
        for keepdims in (False, True):
            options = {"axis": axis, "keepdims": keepdims}
            check(adapter, case, case.ours(x, **options).numpy(), values, **options)


@pytest.mark.parametrize("name", TABLE)
def test_layouts(rt, adapter, name):
    case = TABLE[name]
    values = values_of(name, "float32", (4, 6))
    x = rt.constant_from(values)
    for layout, (on_host, on_device) in LAYOUTS.items():
        if layout != "empty":
            check(adapter, case, case.ours(on_device(x)).numpy(), on_host(values))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "name", ["any", "all", "count_nonzero", "nansum", "nanmean", "nanmax", "nanmin"]
)
def test_nan_and_infinities(rt, adapter, name, dtype):
    values = np.array(
        [[1, NAN, 2], [INF, 1, NAN], [-INF, NAN, -INF], [NAN, NAN, NAN], [-0.0, 0, 0], [3, 2, 1]],
        dtype,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for axis in (0, 1, None):
            got = TABLE[name].ours(rt.constant_from(values), axis=axis).numpy()
            check(adapter, TABLE[name], got, values, axis=axis)


def test_logsumexp_of_infinities_and_of_nothing(rt):
    values = np.array(
        [[-INF, -INF], [INF, 1], [NAN, 0], [1e4, 1e4], [-1e4, -1e4], [-INF, 2], [INF, -INF]], "f4"
    )
    got = tw.logsumexp(rt.constant_from(values), axis=1).numpy()
    with np.errstate(all="ignore"):
        want = np.logaddexp.reduce(values.astype("f8"), axis=1).astype("f4")
    np.testing.assert_allclose(got, want, rtol=1e-6)
    nothing = tw.logsumexp(rt.constant_from(np.zeros((3, 0), "f4")), axis=1, keepdims=True)
    assert nothing.tolist() == [[-INF]] * 3


def test_results_of_nothing(rt):
    x = rt.constant_from(np.zeros((2, 0), np.float32))
    assert tw.any(x, axis=1).tolist() == [False, False]
    assert tw.all(x, axis=1, keepdims=True).tolist() == [[True], [True]]
    assert tw.count_nonzero(x).item() == 0
    assert np.isnan(tw.var(x, axis=1).numpy()).all()
    assert tw.norm(x).item() == 0
    assert tw.nansum(x).item() == 0
    assert tw.max(x, axis=1, initial=3).tolist() == [3, 3]
    for name in ("argmin", "nanmax", "nanmin"):
        with pytest.raises(errors.ShapeError, match="no element"):
            getattr(tw, name)(x, axis=1)
    assert tw.var(x, axis=0).shape == (0,)
    assert tw.softmax(x).shape == (2, 0)


def test_variance_without_enough_elements(rt):
    x = rt.constant_from(np.array([[1.0, 2.0], [3.0, 3.0]], "f4"))
    assert tw.var(x, axis=1, correction=2).tolist()[0] == INF
    assert np.isnan(tw.var(x, axis=1, ddof=3).numpy()[1])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_variance_is_accurate_far_from_zero(rt, dtype):
    """In one pass, mean(x**2) - mean(x)**2, nothing would be left of it."""
    offset = {"float32": 1e4, "float64": 1e9}[dtype]
    values = (np.random.default_rng(3).standard_normal((4, 3000)) + offset).astype(dtype)
    want = values.astype(np.longdouble).var(axis=1)
    for x, axis in ((values, 1), (values.T.copy(), 0)):
        got = tw.var(rt.constant_from(x), axis=axis).numpy()
        # What is left of the rounding of the mean: (offset * eps)**2, and of the sum.
        np.testing.assert_allclose(got, want, rtol=40 * np.finfo(dtype).eps + 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "bool"])
def test_argmin(rt, dtype):
    values = np.random.default_rng(1).integers(0, 4, (3, 5, 4)).astype(dtype)
    x = rt.constant_from(values)
    for axis in (None, 0, 1, -1):
        for keepdims in (False, True):
            got = tw.argmin(x, axis=axis, keepdims=keepdims).numpy()
            assert_close(got, np.argmin(values, axis=axis, keepdims=keepdims), 0)
    assert tw.argmin(rt.constant_from(np.array([2, NAN, 1, NAN], "f4"))).item() == 1


def test_masks_and_initial_values(rt):
    values = np.random.default_rng(2).integers(-5, 6, (3, 4)).astype("f4")
    mask = values > 0
    x, where = rt.constant_from(values), rt.constant_from(mask)
    for name in ("sum", "prod", "max", "min"):
        ours, theirs = getattr(tw, name), getattr(np, name)
        for axis in (None, 0, 1):
            for row in (where, where[0]):
                found = ours(x, axis=axis, initial=2, where=row).numpy()
                wanted = theirs(values, axis=axis, initial=2, where=row.numpy())
                assert_close(found, wanted, 0, any_zero=True)
    assert_close(tw.sum(x, axis=1, where=where).numpy(), np.sum(values, axis=1, where=mask), 0)
    with pytest.raises(errors.ArgumentError, match="initial"):
        tw.max(x, where=where)
    with pytest.raises(errors.DTypeError, match="bool"):
        tw.sum(x, where=x)
    with pytest.raises(errors.ShapeError, match="broadcast"):
        tw.sum(x[0], where=where)


def test_average_with_weights(rt):
    rng = np.random.default_rng(4)
    values = rng.random((2, 3, 4)).astype("f4")
    x = rt.constant_from(values)
    for axis, shape in (
        (None, (2, 3, 4)),
        (1, (3,)),
        (-1, (4,)),
        ((0, 2), (2, 4)),
        ((2, 0), (4, 2)),
    ):
        weights = rng.random(shape).astype("f4")
        mine = tw.average(x, axis, rt.constant_from(weights), returned=True)
        theirs = np.average(values, axis, weights, returned=True)
        for got, want in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
            assert got.dtype == want.dtype
    mine, theirs = tw.average(x, 1, returned=True), np.average(values, 1, returned=True)
    for got, want in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
    for axis, shape in ((0, (3,)), (None, (2,)), ((0, 2), (4, 2))):
        with pytest.raises(errors.ShapeError, match="weights"):
            tw.average(x, axis, rt.constant_from(np.ones(shape, "f4")))


def test_covariance(rt):
    rng = np.random.default_rng(5)
    m, y = rng.random((3, 7)).astype("f4"), rng.random((2, 7)).astype("f4")
    often = rng.integers(1, 4, 7)
    heavy = rng.random(7).astype("f4")
    for options in (
        {}, {"bias": True}, {"ddof": 3}, {"rowvar": False}, {"y": y}, {"y": y[0]},
        {"y": y.T, "rowvar": False, "m": m.T}, {"m": m[0]}, {"fweights": often},
        {"aweights": heavy}, {"fweights": often, "aweights": heavy, "ddof": 0},
        {"fweights": often, "aweights": heavy},
    ):  # fmt: skip
        arrays = {"m": m, **options}
        own = {
            key: rt.constant_from(value) if isinstance(value, np.ndarray) else value
            for key, value in arrays.items()
        }
        got = tw.cov(own.pop("m"), **own).numpy()
        want = np.cov(**arrays)
        assert got.shape == want.shape and got.dtype == np.float32
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)
    with pytest.raises(errors.ShapeError, match="two axes"):
        tw.cov(rt.constant_from(np.ones((2, 2, 2))))
    with pytest.raises(errors.ShapeError, match="observations"):
        tw.cov(rt.constant_from(m), fweights=rt.constant_from(often[:3]))


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "int64", "bool"])
def test_differences(rt, dtype):
    values = random(dtype, 60, 9).reshape(3, 5, 4)
    x = rt.constant_from(values)
    for n in (0, 1, 2, 4, 7):
        for axis in (-1, 0, 1):
            assert_close(tw.diff(x, n, axis).numpy(), np.diff(values, n, axis), 0)
    edges = {"prepend": values[:, :2], "append": 1}
    own = {"prepend": x[:, :2], "append": 1}
    got = tw.diff(x, axis=1, **own).numpy()
    assert_close(got, np.diff(values, axis=1, **edges).astype(got.dtype), 0)
    with pytest.raises(errors.ArgumentError, match="n=-1"):
        tw.diff(x, -1)
    with pytest.raises(errors.ShapeError, match="one axis"):
        tw.diff(x[0, 0, 0])


def test_norm_takes_the_norms_of_vectors(rt):
    values = random("float32", 12, 3).reshape(3, 4)
    x = rt.constant_from(values)
    np.testing.assert_allclose(tw.norm(x).item(), np.linalg.norm(values), rtol=1e-6)
    np.testing.assert_allclose(
        tw.norm(x, 1, 0, True).numpy(), np.linalg.norm(values, 1, 0, True), rtol=1e-6
    )
    np.testing.assert_allclose(
        tw.norm(x, axis=(0, 1)).item(), np.linalg.norm(values, axis=(0, 1)), rtol=1e-6
    )
    with pytest.raises(errors.ShapeError, match="vector_norm"):
        tw.norm(x[None], 1)
    with pytest.raises(errors.ArgumentError, match="real number"):
        tw.vector_norm(x, ord="fro")
