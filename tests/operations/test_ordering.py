"""Sorting, orders and searches on every adapter against NumPy, for every dtype it has."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.dtypes import SUPPORTED
from tenferro_wgpu.testing.ordering import LENGTHS, argsort_descending, orderings, random_order

DTYPES = [dtype.name for dtype in SUPPORTED]


def same(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape
    if want.dtype.kind in "fc":
        got, want = (np.stack([a.real, a.imag]) for a in (got, want))
        np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]),
                                      np.signbit(want[~np.isnan(want)]))  # fmt: skip
    np.testing.assert_array_equal(got, want)


@pytest.fixture
def on(rt):
    """Puts an array on the adapter."""
    return lambda array: rt.constant_from(np.asarray(array))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sort_and_argsort_of_rows_and_columns(on, dtype):
    for count in LENGTHS:
        host = orderings(dtype, count)
        x = on(host)
        same(tw.sort(x).numpy(), np.sort(host, axis=-1, kind="stable"))
        same(tw.argsort(x).numpy(), np.argsort(host, axis=-1, kind="stable"))
        if count in (0, 1, 33, 257):
            same(tw.argsort(x, axis=None).numpy(), np.argsort(host, axis=None, kind="stable"))
            same(tw.argsort(x.T[::-1], axis=0).numpy(),
                 np.argsort(host.T[::-1], axis=0, kind="stable"))  # fmt: skip
            same(tw.argsort(x, descending=True).numpy(), argsort_descending(host, -1))


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
@pytest.mark.parametrize("count", [65537, 1_000_000])
def test_long_rows(on, adapter, dtype, count):
    if dtype == "float64" and count > 65537:
        count = 200_000
    host = random_order(dtype, count, seed=4)
    host[: count // 2] = random_order("bool", count // 2).astype(dtype)
    host[count // 2 :] += np.arange(count - count // 2).astype(dtype) % 1000
    order = tw.argsort(on(host)).numpy()
    np.testing.assert_array_equal(order, np.argsort(host, kind="stable"))


@pytest.mark.parametrize("axis", range(-3, 3))
def test_any_axis_of_any_view(on, axis):
    host = random_order("float32", 6 * 5 * 8).reshape(6, 5, 8)
    x = on(host)
    for view in (
        lambda a: a,
        lambda a: a.transpose(),
        lambda a: a[::2, ::-1, 1:],
        lambda a: a[:, :0],
    ):
        same(tw.sort(view(x), axis=axis).numpy(), np.sort(view(host), axis=axis, kind="stable"))
        same(tw.argsort(view(x), axis=axis).numpy(),
             np.argsort(view(host), axis=axis, kind="stable"))  # fmt: skip


def test_eight_axes_and_none(on):
    host = random_order("float32", 3**8).reshape((3,) * 8)
    same(tw.sort(on(host), axis=3).numpy(), np.sort(host, axis=3, kind="stable"))
    assert tw.sort(on(np.float32(2.0)[None])[0], axis=None).tolist() == [2.0]
    with pytest.raises(errors.AxisError):
        tw.sort(on(np.float32(2.0)[None])[0])


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_topk(on, dtype):
    host = random_order(dtype, 120).reshape(6, 20)
    x = on(host)
    for largest in (True, False):
        for k in (0, 1, 7, 20):
            order = (
                argsort_descending(host, -1) if largest else np.argsort(host, -1, kind="stable")
            )[:, :k]
            values, indices = tw.topk(x, k, largest=largest)
            same(indices.numpy(), order)
            same(values.numpy(), np.take_along_axis(host, order, -1))
    values, indices = x.topk(2, axis=0)
    assert values.shape == indices.shape == (2, 20)
    with pytest.raises(errors.ArgumentError, match="k=21"):
        tw.topk(x, 21)
    with pytest.raises(errors.DTypeError, match="k must be an integer"):
        tw.topk(x, 1.5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_searchsorted(on, dtype):
    for count in (0, 1, 33, 2049):
        known = np.sort(random_order(dtype, count), kind="stable")
        wanted = random_order(dtype, 60, seed=3).reshape(3, 20)
        for side in ("left", "right"):
            found = tw.searchsorted(on(known), on(wanted), side=side)
            same(found.numpy(), np.searchsorted(known, wanted, side))


def test_searchsorted_with_a_sorter_scalars_and_promotion(on):
    host = np.array([3.0, 1.0, 2.0], np.float32)
    x = on(host)
    assert tw.searchsorted(x, 2.5, sorter=tw.argsort(x)).item() == 2
    assert tw.searchsorted(on(np.array([1, 2, 3], np.int32)), 2.5).item() == 2
    assert tw.searchsorted(x[1:], on(np.empty((2, 0), np.float32))).shape == (2, 0)
    with pytest.raises(errors.ShapeError, match="one axis"):
        tw.searchsorted(x[None], x)
    with pytest.raises(errors.ShapeError, match="sorter"):
        tw.searchsorted(x, x, sorter=tw.argsort(x)[:1])
    with pytest.raises(errors.ArgumentError, match="side"):
        tw.searchsorted(x, x, side="middle")


def test_new_sizes_need_no_new_pipelines(rt, adapter):
    if adapter == "numpy":
        pytest.skip("nothing is compiled here")

    def run(rows, columns):
        x = rt.constant_from(random_order("float32", rows * columns).reshape(rows, columns))
        tw.sort(x, descending=columns % 2 == 0).numpy()

    run(5, 40), run(3, 3000)
    built = rt.backend.stats()["pipelines"]["built"]
    run(7, 211), run(1, 77), run(2, 5001)
    assert rt.backend.stats()["pipelines"]["built"] == built
