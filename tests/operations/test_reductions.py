"""Reductions against NumPy: adapters x dtypes x axes x layouts, empty axes and long ones."""

from __future__ import annotations

import numpy as np
import pytest
from cases.operations import REDUCTIONS, assert_close, check
from cases.values import ALL, LAYOUTS, random

import tenferro_wgpu as tw

ROWS = [(name, dtype) for name, case in REDUCTIONS.items() for dtype in case.dtypes]
AXES = [None, 0, 1, -1, (0, 2), (0, 1, 2), ()]


def _values(dtype, shape):
    values = random(dtype, int(np.prod(shape)), 5).reshape(shape)
    # Of one sign: the error of a sum is relative to the sum of magnitudes.
    if values.dtype.kind == "c":
        return np.abs(values.real) / 4 + 1j * np.abs(values.imag) / 4
    return np.abs(values) / 4 if values.dtype.kind == "f" else values


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize(("name", "dtype"), ROWS)
def test_axes(rt, adapter, name, dtype, axis):
    if adapter == "swiftshader" and dtype == "complex128" and axis not in (None, (0, 2)):
        return  # software complex division takes seconds to compile there, for each layout
    case = REDUCTIONS[name]
    values = _values(dtype, (3, 5, 4)).astype(dtype)
    got = case.ours(rt.constant_from(values), axis=axis).numpy()
    check(adapter, case, got, values, axis=axis)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "empty"])
@pytest.mark.parametrize(("name", "dtype"), ROWS)
def test_layouts(rt, adapter, name, dtype, layout):
    if adapter == "swiftshader" and dtype == "complex128" and layout != "transposed":
        return  # as above
    case = REDUCTIONS[name]
    on_host, on_device = LAYOUTS[layout]
    values = _values(dtype, (4, 6)).astype(dtype)
    got = case.ours(on_device(rt.constant_from(values))).numpy()
    check(adapter, case, got, on_host(values))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["max", "min", "sum", "prod"])
def test_nan_and_infinities(rt, adapter, name, dtype):
    case = REDUCTIONS[name]
    values = np.array([[1, np.nan, 2], [np.inf, 1, 2], [-np.inf, 3, np.inf], [-0.0, 0.0, 1]], dtype)
    got = case.ours(rt.constant_from(values), axis=1).numpy()
    check(adapter, case, got, values, axis=1)


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_empty_axis_gives_identity(rt, name):
    case = REDUCTIONS[name]
    values = np.zeros((3, 0), np.float32)
    got = case.ours(rt.constant_from(values), axis=1).numpy()
    assert_close(got, case.reference(values, axis=1), 0)


@pytest.mark.parametrize("name", ["max", "min", "argmax"])
def test_empty_axis_has_no_extremum(rt, name):
    with pytest.raises(ValueError, match=name):
        getattr(tw, name)(rt.constant_from(np.zeros((3, 0), np.float32)), axis=1)


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("axis", [None, 0, 1, -1], ids=str)
def test_argmax(rt, dtype, axis):
    values = (
        random(dtype, 60, 6).reshape(3, 5, 4)
        if dtype == "bool"
        else np.random.default_rng(1).integers(0, 4, (3, 5, 4)).astype(dtype)
    )
    got = tw.argmax(rt.constant_from(values), axis=axis).numpy()
    assert_close(got, np.argmax(values, axis=axis), 0)


def test_argmax_takes_the_first_nan(rt):
    values = np.array([[1, np.nan, 3, np.nan], [5, 1, 5, 2]], np.float32)
    assert tw.argmax(rt.constant_from(values), axis=1).tolist() == [1, 0]


@pytest.mark.parametrize("shape", [(200_003,), (300, 701), (701, 300), (2, 70_001)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_long_sums_are_accurate(rt, adapter, dtype, shape):
    if adapter == "swiftshader" and dtype == "float64" and shape != (300, 701):
        shape = (30, 701)  # software float64 on a software GPU: the same path, a tenth the size
    values = (np.random.default_rng(2).random(shape) + 0.1).astype(dtype)
    if dtype == "complex64":
        values = values * np.complex64(1 + 0.25j)
    x = rt.constant_from(values)
    for axis in (None, *range(len(shape))):
        want = values.astype(np.result_type(dtype, np.longdouble)).sum(axis=axis)
        got = tw.sum(x, axis=axis).numpy()
        error = np.max(np.abs(got - want) / np.abs(want)) / np.finfo(dtype).eps
        assert error < 12, f"axis {axis}: {error:.1f} eps"


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32"])
def test_sums_keep_a_dtype_that_is_asked_for(rt, dtype):
    values = random(dtype, 60, 8).reshape(3, 20)
    got = tw.sum(rt.constant_from(values), axis=1, dtype=dtype).numpy()
    assert_close(got, np.sum(values, axis=1, dtype=dtype), 0)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32"])
def test_sums_and_products_in_bool_are_or_and_and(rt, dtype):
    values = np.array([[0, 1, 0, 2], [1, 3, 1, 1], [0, 0, 0, 0]], dtype)
    x = rt.constant_from(values)
    for name in ("sum", "prod", "cumsum", "cumprod", "mean", "nansum"):
        ours, theirs = getattr(tw, name), getattr(np, name)
        assert_close(ours(x, axis=1, dtype=bool).numpy(), theirs(values, axis=1, dtype=bool), 0)
    empty = x[:, :0]
    assert tw.sum(empty, dtype=bool).item() is False and tw.prod(empty, dtype=bool).item() is True
