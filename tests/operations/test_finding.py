"""What elements are distinct, not zero, in the middle, in which bin: on every adapter."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.dtypes import SUPPORTED
from tenferro_wgpu.ops.quantiles import METHODS
from tenferro_wgpu.testing.ordering import random_order

DTYPES = [dtype.name for dtype in SUPPORTED]


@pytest.fixture
def on(rt):
    """Puts an array on the adapter."""
    return lambda array: rt.constant_from(np.asarray(array))


def same(got, want):
    want = np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero(on, dtype):
    for shape in ((60,), (3, 4, 5), (2, 0, 3), (1,), (2,) * 8, (70001,)):
        host = random_order(dtype, int(np.prod(shape))).reshape(shape)
        x = on(host)
        for got, want in zip(tw.nonzero(x), np.nonzero(host), strict=True):
            same(got, want)
        same(tw.flatnonzero(x), np.flatnonzero(host))
        same(tw.argwhere(x), np.argwhere(host))
    same(tw.flatnonzero(x[::-2]), np.flatnonzero(host[::-2]))
    same(tw.argwhere(x[1]), np.argwhere(host[1]))
    with pytest.raises(errors.ShapeError):
        tw.nonzero(x[1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(on, dtype):
    for shape in ((60,), (3, 0), (5, 8), (1,), (), (3001,)):
        host = random_order(dtype, int(np.prod(shape))).reshape(shape)
        x = on(host)
        for equal_nan in (True, False):
            found = tw.unique(x, True, True, True, equal_nan=equal_nan)
            values, index, inverse, counts = np.unique(host, True, True, True, equal_nan=equal_nan)
            same(found[0], values)
            same(found[1], index)
            same(found[2], inverse.reshape(shape))
            same(found[3], counts)
        all_of_it = tw.unique_all(x)
        same(all_of_it.values, values)
        same(all_of_it.indices, index)
        same(all_of_it.counts, counts)
        same(tw.unique_inverse(x).inverse_indices, inverse.reshape(shape))
        same(tw.unique_counts(x).counts, counts)
        same(tw.unique_values(x), values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_slices(on, dtype):
    few = np.random.default_rng(3).integers(0, 2, 40)
    for shape, axis in (((20, 2), 0), ((2, 5, 2), 1), ((2, 0), 0), ((0, 2), -2), ((40,), -1)):
        host = few[: int(np.prod(shape))].reshape(shape).astype(dtype)
        found = tw.unique(on(host), True, True, True, axis)
        for got, want in zip(found, np.unique(host, True, True, True, axis), strict=True):
            same(got, want)
    with pytest.raises(errors.AxisError, match="unique: axis 1"):
        tw.unique(on(host), axis=1)


def test_slices_with_nan_are_distinct(rt):
    host = np.array([[np.nan, 1], [0, 1], [np.nan, 1], [-0.0, 1]], np.float32)
    same(tw.unique(rt.constant_from(host), axis=0), np.unique(host, axis=0))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool"])
def test_median(on, dtype):
    host = random_order(dtype, 3 * 5 * 6).reshape(3, 5, 6)
    host = np.where(np.isnan(host), 7, host).astype(dtype)
    if dtype.startswith("f"):
        host[0, 0, 0] = np.nan
    target = np.float64 if dtype == "float64" else np.float32
    x = on(host)
    for axis in (None, 0, 1, -1, (0, 2), ()):
        for keepdims in (True, False):
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # rows of NaN alone
                want = np.median(host.astype(np.float64), axis=axis, keepdims=keepdims)
                nan_want = np.nanmedian(host.astype(np.float64), axis=axis, keepdims=keepdims)
            if axis == ():
                want = nan_want = host.astype(np.float64)
            same(tw.median(x, axis, keepdims=keepdims), want.astype(target))
            same(tw.nanmedian(x, axis, keepdims=keepdims), nan_want.astype(target))
    assert np.isnan(tw.median(x[:, :0]).item())
    assert tw.nanmedian(x[:, :0], axis=1).shape == (3, 6)


@pytest.mark.parametrize("method", METHODS)
def test_quantile(on, method):
    rng = np.random.default_rng(0)
    host = rng.standard_normal((4, 7)).astype(np.float64)
    x = on(host.astype(np.float32))
    q = np.array([0.0, 0.1, 0.25, 0.5, 0.6, 0.99, 1.0])
    for axis in (None, 0, 1):
        want = np.quantile(host, q, axis=axis, method=method)
        got = tw.quantile(x, q, axis=axis, method=method)
        assert got.shape == want.shape and got.dtype == np.float32
        np.testing.assert_allclose(got.numpy(), want, rtol=2e-6, atol=1e-6)
    got = tw.percentile(x, [[30.0], [40.0]], axis=1, method=method, keepdims=True)
    want = np.percentile(host, [[30.0], [40.0]], axis=1, method=method, keepdims=True)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-6, atol=1e-6)


def test_quantile_edges(on):
    x = on(np.array([[1.0, np.inf, 2.0], [np.nan, 1.0, 2.0], [np.inf] * 3], np.float32))
    assert np.array_equal(tw.quantile(x, 0.0, axis=1).numpy(), [1, np.nan, np.inf], equal_nan=True)
    assert tw.quantile(on(np.array([4, 8], np.int32)), 0.5).item() == 6.0
    for call, error in (
        (lambda: tw.quantile(x, 1.5), errors.ArgumentError),
        (lambda: tw.quantile(x, 0.5, method="best"), errors.ArgumentError),
        (lambda: tw.quantile(x, x), errors.DTypeError),
        (lambda: tw.percentile(x, -1), errors.ArgumentError),
        (lambda: tw.median(x, axis=2), errors.AxisError),
    ):
        with pytest.raises(error):
            call()


@pytest.mark.parametrize("dtype", DTYPES)
def test_windows(on, dtype):
    host = random_order(dtype, 60).reshape(3, 4, 5)
    new = random_order(dtype, 12, seed=9).reshape(2, 2, 3)
    x, update = on(host), on(new)
    for starts in ([0, 1, 2], [1, 2, 2], [-5, 7, 1], [2**40, -(2**40), 0]):
        at = [min(max(s, 0), n - k) for s, n, k in zip(starts, host.shape, new.shape, strict=True)]
        key = tuple(slice(a, a + k) for a, k in zip(at, new.shape, strict=True))
        want = host.copy()
        want[key] = new
        for given in (starts, on(np.array(starts)), [on(np.array(s)) for s in starts]):
            same(tw.dynamic_slice(x, given, new.shape), host[key])
            same(tw.dynamic_update_slice(x, update, given), want)
    same(tw.dynamic_update_slice(x.transpose(), update.transpose(), [2, 1, 0]),
         tw.dynamic_update_slice(x, update, [0, 1, 2]).numpy().transpose())  # fmt: skip
    same(tw.dynamic_update_slice(x[0, 0, 0], update[0, 0, 0], []), new[0, 0, 0])
    same(tw.dynamic_update_slice(x, update[:0], [0, 0, 0]), host)


def test_windows_that_do_not_fit(on):
    x = on(np.zeros((2, 3), np.float32))
    for call, error in (
        (lambda: tw.dynamic_slice(x, [0], (1, 1)), errors.ShapeError),
        (lambda: tw.dynamic_slice(x, [0, 0], (3, 1)), errors.ShapeError),
        (lambda: tw.dynamic_slice(x, [0.5, 0], (1, 1)), errors.DTypeError),
        (lambda: tw.dynamic_slice(x, x[0, :2], (1, 1)), errors.DTypeError),
        (lambda: tw.dynamic_update_slice(x, x[0], [0, 0]), errors.ShapeError),
        (lambda: tw.scatter(x, [[0]], x[:1, :1], axes=(1,), combine="sum"), errors.ArgumentError),
    ):
        with pytest.raises(error):
            call()


@pytest.mark.parametrize("dtype", DTYPES)
def test_put_along_axis(on, dtype):
    host = random_order(dtype, 60).reshape(3, 4, 5)
    for axis, shape in ((1, (3, 2, 5)), (-1, (3, 4, 7)), (0, (1, 1, 5)), (2, (3, 4, 0))):
        index = np.random.default_rng(1).integers(0, host.shape[axis], shape)
        full = tuple(s if a == axis % 3 else n for a, (n, s) in
                     enumerate(zip(host.shape, shape, strict=True)))  # fmt: skip
        new = random_order(dtype, int(np.prod(full)), seed=5).reshape(full)
        want = host.copy()
        np.put_along_axis(want, np.broadcast_to(index, full), new, axis)
        for given in (index, on(index - host.shape[axis])):
            same(tw.put_along_axis(on(host), given, on(new), axis=axis), want)
    want = host.copy()
    np.put_along_axis(want, np.array([3, 3, 59]), host.reshape(-1)[:1], None)
    same(tw.put_along_axis(on(host), [3, 3, 59], on(host)[0, 0, :1], axis=None), want)


def test_put_along_axis_out_of_bounds(on):
    x = on(np.zeros((2, 3), np.float32))
    with pytest.raises(errors.IndexOutOfBoundsError):
        tw.put_along_axis(x, [[0], [3]], 1.0, axis=1)
    filled = tw.put_along_axis(x, [[0], [3]], 1.0, axis=1, mode="fill")
    assert filled.tolist() == [[1.0, 0.0, 0.0], [0.0] * 3]
    with pytest.raises(errors.ShapeError, match="as many axes"):
        tw.put_along_axis(x, [0], 1.0)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "bool"])
def test_bincount(on, dtype):
    for count in (0, 1, 50, 20000):
        rng = np.random.default_rng(count)
        host = rng.integers(0, 2 if dtype == "bool" else 9, count).astype(dtype)
        weights = rng.integers(-4, 5, count).astype(np.float32)
        x = on(host)
        same(tw.bincount(x), np.bincount(host.astype(int)))
        same(tw.bincount(x, minlength=12), np.bincount(host.astype(int), minlength=12))
        same(tw.bincount(x, on(weights)), np.bincount(host.astype(int), weights).astype("f4"))
        same(tw.bincount(x, length=2), np.bincount(host.astype(int), minlength=2)[:2])
    if dtype.startswith("i"):
        with pytest.raises(errors.IndexOutOfBoundsError):
            tw.bincount(on(np.array([1, -1], dtype)))
    with pytest.raises(errors.ShapeError):
        tw.bincount(x, on(np.zeros(3, np.float32)))
    with pytest.raises(errors.DTypeError):
        tw.bincount(on(np.zeros(3, np.float32)))


def test_histogram(on):
    rng = np.random.default_rng(3)
    host = rng.integers(-8, 9, (40, 50)).astype(np.float32) / 4
    host[0, :3] = np.nan, np.inf, -np.inf
    weights = rng.integers(0, 4, host.shape).astype(np.int32)
    x, w = on(host), on(weights)
    for options in ({"bins": 8, "range": (-2, 2)}, {"bins": [-2.0, 0.0, 0.25, 1.5]},
                    {"bins": 3, "range": (1, 1)}):  # fmt: skip
        counts, edges = tw.histogram(x, **options)
        want, want_edges = np.histogram(host, **options)
        same(counts, want)
        np.testing.assert_allclose(edges.numpy(), want_edges)
        same(tw.histogram(x, weights=w, **options)[0],
             np.histogram(host, weights=weights, **options)[0].astype(np.int32))  # fmt: skip
        turned = (weights * (1 - 2j)).astype(np.complex64)
        same(tw.histogram(x, weights=on(turned), **options)[0],
             np.histogram(host, weights=turned, **options)[0])  # fmt: skip
        if want.sum():
            density = tw.histogram(x, density=True, **options)[0]
            want = np.histogram(host, density=True, **options)[0]
            np.testing.assert_allclose(density.numpy(), want, rtol=1e-6)
    for part in (host[1:], host[1:, :0], host[1:2, :1]):
        counts, edges = tw.histogram(on(part), bins=4)
        want, want_edges = np.histogram(part, bins=4)
        same(counts, want)
        np.testing.assert_allclose(edges.numpy(), want_edges, rtol=1e-6)
    same(tw.histogram(on(np.arange(9)), 3)[0], [3, 3, 3])
    for call in (
        lambda: tw.histogram(x, 0),
        lambda: tw.histogram(x, range=(2, 1)),
        lambda: tw.histogram(x, [1.0]),
        lambda: tw.histogram(x, weights=w[0]),
    ):
        with pytest.raises(ValueError):
            call()


def test_digitize(on):
    host = np.array([[-1.0, 0.0, 0.5], [1.0, 3.5, np.nan]], np.float32)
    for bins in ([0.0, 0.5, 1.0, 3.0], [3.0, 1.0, 1.0, 0.0], [2.0]):
        edges = np.array(bins, np.float32)
        for right in (False, True):
            same(tw.digitize(on(host), on(edges), right), np.digitize(host, edges, right))


@pytest.mark.parametrize("dtype", ["int8", "float32", "bool", "complex64", "uint64"])
def test_isin(rt, dtype):
    values = np.array([0, 1, 2, 3, 5, 7, 1]).astype(dtype)
    among = np.array([[3, 1], [9, 0]]).astype(dtype)
    x, y = rt.constant_from(values), rt.constant_from(among)
    for invert in (False, True):
        got = tw.isin(x, y, invert=invert)
        np.testing.assert_array_equal(got.numpy(), np.isin(values, among, invert=invert))
    assert not tw.isin(x, y[:0]).numpy().any() and tw.isin(x, y[:0], invert=True).numpy().all()


def test_isin_never_finds_nan(rt):
    x = rt.constant_from(np.float32([np.nan, 1, -0.0]))
    assert tw.isin(x, rt.constant_from(np.float32([0, np.nan, np.inf]))).tolist() == [
        False, False, True,
    ]  # fmt: skip
    assert tw.isin(2, rt.constant_from(np.array([1, 2]))).item() is True


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_repeat_by_counts_on_the_device(on, dtype):
    host = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    x = on(host)
    for counts, axis in (([2, 0, 3], 0), ([1, 2, 0, 3], 1), ([2], 1), (2, None), ([0, 0, 0], 0)):
        got = tw.repeat(x, on(np.array(counts, dtype)), axis=axis)
        same(got, np.repeat(host, counts, axis))
    same(tw.repeat(x[:0], on(np.array([2], dtype)), axis=0), host[:0])
    for counts, error in (([1, -1, 2], errors.ArgumentError), ([1, 2], errors.ShapeError)):
        with pytest.raises(error, match="counts"):
            tw.repeat(x, on(np.array(counts, np.int64)), axis=0)
    with pytest.raises(errors.DTypeError, match="counts"):
        tw.repeat(x, on(np.ones(3, np.float32)), axis=0)
