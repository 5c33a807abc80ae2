"""Sets, partial orders, slices put in and taken out, and bins of several axes, against NumPy."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from cases.operations import assert_close
from cases.values import COMPLEX

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.testing.ordering import random_order

DTYPES = ("float32", "float64", "int64", "int8", "uint64", "bool", "float16", *COMPLEX)
SETS = ("union1d", "intersect1d", "setdiff1d", "setxor1d")


@pytest.mark.parametrize("dtype", DTYPES)
def test_sets(rt, dtype):
    for first, second in ((40, 31), (0, 5), (5, 0), (1, 1)):
        a, b = random_order(dtype, first, 3), random_order(dtype, second, 4)
        a = a.reshape(2, -1) if first == 40 else a
        if a.dtype.kind == "c":  # which NaN of several is kept is not said
            a, b = (np.where(np.isnan(each), 1, each).astype(dtype) for each in (a, b))
        x, y = rt.constant_from(a), rt.constant_from(b)
        for name in SETS:
            want = getattr(np, name)(a, b)
            assert_close(getattr(tw, name)(x, y).numpy(), want, 0, name, any_zero=True)
        if np.dtype(dtype).kind != "c":  # NumPy finds other places of equal zeros
            mine, theirs = tw.intersect1d(x, y, False, True), np.intersect1d(a, b, False, True)
            for got, want in zip(mine[1:], theirs[1:], strict=True):
                np.testing.assert_array_equal(got.numpy(), want)
    kept = tw.setdiff1d(rt.constant_from([5, 1, 9, 3]), rt.constant_from([1, 2]), True)
    assert kept.tolist() == [5, 9, 3]


def test_sets_without_blocking(rt):
    x, y = rt.constant_from([3, 1, 3, 7]), rt.constant_from([2, 1, 7])
    for name in SETS:
        got = asyncio.run(getattr(tw, f"{name}_async")(x, y))
        assert got.tolist() == getattr(tw, name)(x, y).tolist()


@pytest.mark.parametrize("dtype", ["float32", "int64", "float64", "complex64"])
def test_partial_orders(rt, dtype):
    host = random_order(dtype, 60, 7).reshape(3, 5, 4)
    x = rt.constant_from(host)
    for axis in (0, 1, -1, None):
        count = host.size if axis is None else host.shape[axis]
        for kth in (0, -1, [0, count // 2]):
            near = [one % count for one in (kth if isinstance(kth, list) else [kth])]
            want = np.take(np.sort(host, axis), near, axis or 0 if axis is None else axis)
            got = tw.partition(x, kth, axis).numpy()
            at = 0 if axis is None else axis
            np.testing.assert_array_equal(np.take(got, near, at), want)
            places = tw.argpartition(x, kth, axis).numpy()
            flat = host.reshape(-1) if axis is None else host
            found = np.take_along_axis(flat, places, at)
            np.testing.assert_array_equal(np.take(found, near, at), want)


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_lexsort(rt, dtype):
    keys = np.stack([random_order(dtype, 60, seed) for seed in range(3)]).reshape(3, 3, 20)
    keys[2] = keys[2] > 0
    own = [rt.constant_from(key) for key in keys]
    for axis in (0, -1):
        want = np.lexsort(keys, axis)
        assert_close(tw.lexsort(own, axis).numpy(), want, 0)
        assert_close(tw.lexsort(rt.constant_from(keys), axis).numpy(), want, 0)
    whole = np.array([2, 1, 2, 1])
    got = tw.lexsort((own[0][0, :4], rt.constant_from(whole)))
    assert_close(got.numpy(), np.lexsort((keys[0, 0, :4], whole)), 0)


PLACES = {
    "integer": 1, "negative": -2, "list": [2, 0, 2], "pair": [-1, 0], "slice": slice(None, None, 2),
    "back": slice(None, 0, -1), "one in a list": [1], "none": [],
    "mask": np.array([True, False, True, False]),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_slices_put_in_and_taken_out(rt, name, dtype):
    obj = PLACES[name]
    host = (np.arange(24).reshape(2, 4, 3) % 7).astype(dtype)
    x = rt.constant_from(host)
    assert_close(tw.delete(x, obj, axis=1).numpy(), np.delete(host, obj, axis=1), 0)
    new = (np.arange(6).reshape(2, 1, 3) + 1).astype(dtype)
    for values in (np.asarray(1, dtype), new):
        if name in ("integer", "negative") and values.ndim:
            values = values[:1, 0]  # the first axis of values becomes the one of the places
        want = np.insert(host, obj, values, axis=1)
        got = tw.insert(x, obj, rt.constant_from(values), axis=1)
        assert_close(got.numpy(), want, 0)
    if name != "mask":
        assert_close(tw.delete(x, obj).numpy(), np.delete(host, obj), 0)
        want = np.insert(host, obj, np.asarray(1, dtype))
        assert_close(tw.insert(x, obj, rt.constant_from(np.asarray(1, dtype))).numpy(), want, 0)


def test_several_slices_before_one_place(rt):
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = rt.constant_from(host)
    for obj, values in (([1], host[:2]), (2, host[0]), ([3], host[0]), (-1, host[2])):
        got = tw.insert(x, obj, rt.constant_from(values), axis=0)
        np.testing.assert_array_equal(got.numpy(), np.insert(host, obj, values, axis=0))
    columns = np.arange(6, dtype=np.float32).reshape(2, 3)
    got = tw.insert(x, 1, rt.constant_from(columns), axis=1)
    np.testing.assert_array_equal(got.numpy(), np.insert(host, 1, columns, axis=1))


def test_bins_of_several_axes(rt):
    rng = np.random.default_rng(8)
    points = rng.integers(0, 8, (60, 3)).astype(np.float32) / 4
    points[5, 1] = np.nan
    heavy = rng.integers(1, 4, 60).astype(np.float32)
    x, w = rt.constant_from(points), rt.constant_from(heavy)
    edges = [0.0, 0.5, 0.75, 2.0]
    for options in (
        {"bins": (3, edges, 2), "range": ((0, 1), None, (0, 2))},
        {"bins": 4, "range": ((0, 2),) * 3},
        {"bins": 2, "range": ((0, 2),) * 3, "weights": heavy},
        {"bins": (3, edges, 2), "range": ((0, 1), None, (0, 2)), "density": True},
    ):
        own = {**options, "weights": w} if "weights" in options else options
        got, mine = tw.histogramdd(x, **own)
        want, theirs = np.histogramdd(points, **options)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
        for each, other in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(each.numpy(), other, rtol=1e-6)
    assert tw.histogramdd(x, 2, ((0, 2),) * 3)[0].dtype == tw.int64
    turned = rt.constant_from((heavy * (1 - 2j)).astype(np.complex64))
    options = {"bins": 2, "range": ((0, 2),) * 3, "density": True}
    want = np.histogramdd(points, **options, weights=heavy)[0]
    got = tw.histogramdd(x, **options, weights=turned)[0].numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6)
    plane = points[:, ::2]
    a, b = rt.constant_from(plane[:, 0].copy()), rt.constant_from(plane[:, 1].copy())
    for bins in (4, (2, edges), edges):
        got = tw.histogram2d(a, b, bins)
        want = np.histogram2d(plane[:, 0], plane[:, 1], bins)
        for mine, theirs in zip(got, want, strict=True):
            np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: tw.partition(x, 4), errors.ArgumentError, "partition: kth=4 of 4"),
        (lambda x: tw.argpartition(x, 1.5), errors.DTypeError, "argpartition: kth"),
        (lambda x: tw.lexsort([x, x[0]]), errors.ShapeError, "lexsort: keys have one shape"),
        (lambda x: tw.lexsort([]), errors.ShapeError, "lexsort"),
        (lambda x: tw.delete(x, 12), errors.IndexOutOfBoundsError, "delete: index 12"),
        (lambda x: tw.delete(x, x > 0), errors.DTypeError, r"delete: .*x\[~mask\]"),
        (lambda x: tw.delete(x, [True], axis=0), errors.ShapeError, "delete: a mask"),
        (lambda x: tw.insert(x, 5, 1.0, axis=1), errors.IndexOutOfBoundsError, "insert: index 5"),
        (lambda x: tw.insert(x, [0, 1], x, axis=1), errors.ShapeError, "insert: "),
        (lambda x: tw.insert(x, [], x[:, :2], axis=1), errors.ShapeError, "insert: "),
        (lambda x: tw.setxor1d(x, x, x), errors.DTypeError, "setxor1d: assume_unique is True or"),
        (lambda x: tw.union1d(x, [1]), errors.DTypeError, "union1d: .*constant_from"),
        (lambda x: tw.histogram2d(x, x), errors.ShapeError, "histogram2d: vectors"),
        (lambda x: tw.histogramdd(x, (1, 2)), errors.ShapeError, "histogramdd: 2 bins for 4 axes"),
        (lambda x: tw.histogramdd(x, 0), errors.ArgumentError, "histogramdd: .*one bin"),
    ],
)
def test_errors(cpu, call, error, words):
    with pytest.raises(error, match=words):
        call(cpu.constant_from(np.arange(12, dtype=np.float32).reshape(3, 4)))
