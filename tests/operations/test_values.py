"""Values of every element-wise operation against NumPy: adapters x dtypes x special values."""

from __future__ import annotations

import numpy as np
import pytest
from cases.operations import BINARY, UNARY, assert_close, check
from cases.values import ALL, LAYOUTS, NUMBERS, matrix, pairs, vector

import tenferro_wgpu as tw

UNARY_ROWS = [(name, dtype) for name, case in UNARY.items() for dtype in case.dtypes]
BINARY_ROWS = [(name, dtype) for name, case in BINARY.items() for dtype in case.dtypes]


@pytest.mark.parametrize(("name", "dtype"), UNARY_ROWS)
def test_unary(rt, adapter, name, dtype):
    case = UNARY[name]
    values = vector(dtype)
    got = case.ours(rt.constant_from(values)).numpy()
    check(adapter, case, got, values)


@pytest.mark.parametrize(("name", "dtype"), BINARY_ROWS)
def test_binary(rt, adapter, name, dtype):
    case = BINARY[name]
    first, second = pairs(dtype)
    got = case.ours(rt.constant_from(first), rt.constant_from(second)).numpy()
    check(adapter, case, got, first, second)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("name", "dtype"), UNARY_ROWS)
def test_unary_layouts(rt, adapter, name, dtype, layout):
    case = UNARY[name]
    on_host, on_device = LAYOUTS[layout]
    values = matrix(dtype)
    got = case.ours(on_device(rt.constant_from(values))).numpy()
    check(adapter, case, got, on_host(values))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("name", "dtype"), BINARY_ROWS)
def test_binary_layouts(rt, adapter, name, dtype, layout):
    case = BINARY[name]
    on_host, on_device = LAYOUTS[layout]
    first, second = matrix(dtype, 3), matrix(dtype, 4)
    x, y = on_device(rt.constant_from(first)), on_device(rt.constant_from(second))
    got = case.ours(x, y).numpy()
    check(adapter, case, got, on_host(first), on_host(second))


@pytest.mark.parametrize(("name", "dtype"), BINARY_ROWS)
def test_binary_broadcasts(rt, adapter, name, dtype):
    case = BINARY[name]
    first, second = matrix(dtype, 3)[:, :1], matrix(dtype, 4)[1]
    got = case.ours(rt.constant_from(first), rt.constant_from(second)).numpy()
    check(adapter, case, got, first, second)


@pytest.mark.parametrize("target", ALL)
@pytest.mark.parametrize("source", ALL)
def test_astype(rt, source, target):
    values = vector(source)
    if np.dtype(source).kind == "f" and np.dtype(target).kind in "iu":
        limits = np.iinfo(target)
        with np.errstate(all="ignore"):
            inside = (np.trunc(values) >= limits.min) & (np.trunc(values) <= limits.max)
            inside &= values < float(limits.max)
        values = values[inside]  # NumPy leaves the rest to the processor
    got = tw.astype(rt.constant_from(values), target).numpy()
    with np.errstate(all="ignore"):
        assert_close(got, values.astype(target), 0, f"{source} to {target}")


@pytest.mark.parametrize("dtype", ALL)
def test_where(rt, dtype):
    first, second = pairs(dtype)
    condition = np.arange(len(first)) % 3 == 0
    got = tw.where(
        rt.constant_from(condition), rt.constant_from(first), rt.constant_from(second)
    ).numpy()
    assert_close(got, np.where(condition, first, second), 0)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_clip(rt, dtype):
    values = vector(dtype)
    got = tw.clip(rt.constant_from(values), 1, 3).numpy()
    assert_close(got, np.clip(values, *np.array([1, 3], dtype)), 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_guards_keep_infinities_and_rounding(rt, dtype):
    """What compilers like to fold: x - x, x * 0, x / x and (x + a) - x are not constants."""
    values = np.array([1.0, np.inf, -np.inf, np.nan, 1e8, 1e17], dtype)
    x = rt.constant_from(values)
    with np.errstate(all="ignore"):
        assert_close((x - x).numpy(), values - values, 0)
        assert_close((x * 0.0).numpy(), values * np.dtype(dtype).type(0), 0)
        assert_close((x / x).numpy(), values / values, 0)
        assert_close(((x + 1.0) - x).numpy(), (values + np.dtype(dtype).type(1)) - values, 0)
