"""Running sums, products and extrema against NumPy: sizes, axes, layouts, dtypes and accuracy."""

from __future__ import annotations

import numpy as np
import pytest
from cases.operations import assert_close
from cases.values import LAYOUTS, random, special

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.testing.reductions import SCANS

ROWS = [(name, dtype) for name, case in SCANS.items() for dtype in case.dtypes]
NAN, INF = np.nan, np.inf
#: Around the sizes of blocks and tiles, and a scan of the totals of blocks of blocks.
SIZES = (0, 1, 2, 255, 256, 257, 2047, 65537)


def values_of(name, dtype, shape):
    count = int(np.prod(shape))
    values = random(dtype, count, 5).reshape(shape)
    if name == "cumprod" and values.dtype.kind in "fc":
        # A random walk of the logarithm, which no product leaves the range by.
        return (np.sign(values) * np.exp(values / 100)).astype(dtype)
    return values


def expected(case, x, **options):
    """NumPy's result; of floats in a wider type, rounded once."""
    with np.errstate(all="ignore"):
        if x.dtype.kind not in "fc":
            return np.asarray(case.reference(x, **options))
        wide = x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)
        return np.asarray(case.reference(wide, **options)).astype(x.dtype)


def compare(case, got, x, **options):
    """Equal but for roundings of the largest number that was added."""
    want = expected(case, x, **options)
    if case.ulps == 0 or x.dtype.kind not in "fc":
        return assert_close(got, want, 0, str(options), any_zero=True)
    assert got.dtype == want.dtype and got.shape == want.shape
    scale = np.abs(expected(case, np.abs(x), **options)) if case.ours is tw.cumsum else np.abs(want)
    with np.errstate(invalid="ignore"):
        error = np.abs(got - want) / (scale * np.finfo(x.dtype).eps)
    assert np.all((error <= case.ulps) | (got == want)), f"{options}: {np.nanmax(error)} eps"
    return None


@pytest.mark.parametrize(("name", "dtype"), ROWS)
def test_axes_and_layouts(rt, adapter, name, dtype):
    case = SCANS[name]
    values = values_of(name, dtype, (3, 5, 4))
    x = rt.constant_from(values)
    for axis in (None, 0, 1, -1):
        compare(case, case.ours(x, axis=axis).numpy(), values, axis=axis)
    if adapter == "swiftshader" and dtype == "complex128":
        return  # each number of axes takes seconds to compile there
    values = values_of(name, dtype, (4, 6))
    x = rt.constant_from(values)
    for on_host, on_device in LAYOUTS.values():
        compare(case, case.ours(on_device(x)).numpy(), on_host(values))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("name", SCANS)
def test_sizes(rt, name, dtype):
    case = SCANS[name]
    if dtype not in case.dtypes:
        return
    for size in SIZES:
        values = values_of(name, dtype, size)
        compare(case, case.ours(rt.constant_from(values)).numpy(), values)
    for shape, axis in (((257, 40), 0), ((2, 3001), 1), ((3001, 2), 0), ((40, 300), 1)):
        values = values_of(name, dtype, shape)
        compare(case, case.ours(rt.constant_from(values), axis=axis).numpy(), values, axis=axis)


def test_a_million(rt):
    values = random("float32", 1_000_003, 1)
    compare(SCANS["cumsum"], tw.cumsum(rt.constant_from(values)).numpy(), values)
    whole = values.astype("i4")
    assert_close(tw.cumsum(rt.constant_from(whole)).numpy(), np.cumsum(whole), 0)
    assert_close(tw.cummax(rt.constant_from(values)).numpy(), np.maximum.accumulate(values), 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_long_sums_are_accurate(rt, adapter, dtype):
    """Of one sign, so that NumPy's own running sum is wrong by hundreds of roundings."""
    size = 20_011 if adapter == "swiftshader" and dtype == "float64" else 200_003
    values = (np.random.default_rng(2).random(size) + 0.1).astype(dtype)
    if dtype == "complex64":
        values = values * np.complex64(1 + 0.25j)
    want = np.cumsum(values.astype(np.result_type(dtype, np.longdouble)))
    got = tw.cumsum(rt.constant_from(values)).numpy()
    error = np.max(np.abs(got - want) / np.abs(want)) / np.finfo(dtype).eps
    assert error < 12, f"{error:.1f} eps"
    columns = np.stack([values[:4001]] * 3, axis=1)
    got = tw.cumsum(rt.constant_from(columns), axis=0).numpy()
    want = want[:4001, None]
    error = np.max(np.abs(got - want) / np.abs(want)) / np.finfo(dtype).eps
    assert error < 12, f"{error:.1f} eps"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
def test_nan_and_infinities(rt, name, dtype):
    case = SCANS[name]
    values = np.array(
        [[1, NAN, 2, 3], [INF, 1, 2, -INF], [-INF, 3, 1, -INF], [-0.0, 0, 1, 0], [2, 0, INF, 1]],
        dtype,
    )
    got = case.ours(rt.constant_from(values), axis=1).numpy()
    with np.errstate(all="ignore"):
        assert_close(got, case.reference(values, axis=1), 0, any_zero=True)


def test_extrema_of_special_values(rt):
    values = np.concatenate([special("float32")[:-1], special("float32")])
    for ours, theirs in ((tw.cummax, np.maximum), (tw.cummin, np.minimum)):
        got = ours(rt.constant_from(values)).numpy()
        assert_close(got, theirs.accumulate(values), 0, any_zero=True)


def test_dtypes_and_initial_elements(rt):
    values = random("int32", 12, 3).reshape(3, 4)
    x = rt.constant_from(values)
    for ours, theirs in (
        (tw.cumulative_sum, np.cumulative_sum),
        (tw.cumulative_prod, np.cumulative_prod),
    ):
        for options in ({}, {"dtype": "float64"}, {"dtype": "int32"}, {"include_initial": True}):
            got = ours(x, axis=1, **options).numpy()
            assert_close(got, theirs(values, axis=1, **options), 0)
        with pytest.raises(errors.AxisError, match="must be chosen"):
            ours(x)
        assert ours(x[0]).shape == (4,)
        assert ours(x[0, 0], include_initial=True).shape == (2,)
        assert ours(x[:, :0], axis=1, include_initial=True).shape == (3, 1)
    assert tw.cumsum(rt.constant_from(np.array([True, True]))).dtype == np.int64
    with pytest.raises(errors.DTypeError, match="no order"):
        tw.cummax(rt.constant_from(np.ones(3, "c8")))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_running_logarithms_of_sums(rt, dtype):
    rng = np.random.default_rng(4)
    rows = [
        rng.standard_normal((3, 300)) * 40,
        [[-INF, -INF, 1, 2]], [[1, INF, 2, -INF]], [[0, NAN, 1, INF]], [[1e4, 1e4, -1e4, 9999]],
        rng.standard_normal((2, 3000)),
    ]  # fmt: skip
    for values in rows:
        values = np.array(values, dtype)
        got = tw.cumulative_logsumexp(rt.constant_from(values), axis=1).numpy()
        with np.errstate(all="ignore"):
            want = np.logaddexp.accumulate(values.astype(np.longdouble), axis=1).astype(dtype)
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(got, want, rtol=30 * eps, atol=30 * eps)
    got = tw.cumulative_logsumexp(rt.constant_from(np.array([1.0], dtype)), include_initial=True)
    assert got.tolist() == [-INF, 1.0]
