"""Python's operators on tensors: every form of each, with NumPy's values and dtypes."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors

BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod, "divmod": divmod, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
IN_PLACE = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv,
    "**=": operator.ipow, "//=": operator.ifloordiv, "%=": operator.imod, "&=": operator.iand,
    "|=": operator.ior, "^=": operator.ixor, "<<=": operator.ilshift, ">>=": operator.irshift,
}  # fmt: skip
OF_INTEGERS = {"&", "|", "^", "<<", ">>", "&=", "|=", "^=", "<<=", ">>="}

INTEGERS = np.array([[7, -7, 0, 100, -128, 127]], np.int8)
OTHERS = np.array([[2], [-3], [7]], np.int8)
FLOATS = np.array([[7.5, -7.5, 0.0, np.inf, np.nan, 1e20]], np.float32)
DIVISORS = np.array([[2.5], [-0.7], [3.0]], np.float32)


def same(got, expected):
    got = got if isinstance(got, tuple) else (got,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for mine, theirs in zip(got, expected, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine.numpy(), theirs)


@pytest.mark.parametrize("symbol", BINARY)
def test_integers(rt, symbol):
    function = BINARY[symbol]
    x, y = rt.constant_from(INTEGERS), rt.constant_from(OTHERS)
    with np.errstate(all="ignore"):
        same(function(x, y), function(INTEGERS, OTHERS))
        same(function(x, 3), function(INTEGERS, 3))
        same(function(3, x), function(3, INTEGERS))


@pytest.mark.parametrize("symbol", sorted(set(BINARY) - OF_INTEGERS))
def test_floats(rt, symbol):
    function = BINARY[symbol]
    x, y = rt.constant_from(FLOATS[:, :3]), rt.constant_from(DIVISORS)
    same(function(x, y), function(FLOATS[:, :3], DIVISORS))
    same(function(x, 2.5), function(FLOATS[:, :3], 2.5))
    same(function(2, y), function(2, DIVISORS))


def test_floor_division_of_infinities_is_the_quotient(rt):
    x = rt.constant_from(np.float32([np.inf, -np.inf, np.inf, 1, -1, 0, np.inf]))
    y = rt.constant_from(np.float32([2, 2, -2, -np.inf, np.inf, np.inf, np.inf]))
    expected = np.float32([np.inf, -np.inf, -np.inf, -0.0, -0.0, 0.0, np.nan])
    got = (x // y).numpy()
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[:-1]), np.signbit(expected[:-1]))


@pytest.mark.parametrize("symbol", ["&", "|", "^"])
def test_bools(rt, symbol):
    function = BINARY[symbol]
    first, second = np.array([[True, False]]), np.array([[True], [False]])
    x, y = rt.constant_from(first), rt.constant_from(second)
    same(function(x, y), function(first, second))
    same(function(x, True), function(first, True))
    same(function(False, x), function(False, first))
    same(~x, ~first)


def test_bools_meet_integers(rt):
    x = rt.constant_from([True, False])
    same(x & 3, np.array([1, 0]))
    same(x | rt.constant_from(np.uint8([4, 5])), np.uint8([5, 5]))


@pytest.mark.parametrize("symbol", IN_PLACE)
def test_in_place_forms_make_new_tensors(rt, symbol):
    of_integers = symbol in OF_INTEGERS
    x = before = rt.constant_from(np.int32([7, 9]) if of_integers else np.float32([7, 9]))
    plain = before.numpy().copy()
    x = IN_PLACE[symbol](x, 2)
    np.testing.assert_array_equal(x.numpy(), IN_PLACE[symbol](plain, 2))
    np.testing.assert_array_equal(before.numpy(), [7, 9])


@pytest.mark.parametrize("symbol", sorted(set(IN_PLACE) - OF_INTEGERS))
def test_in_place_forms_on_variables(rt, symbol):
    x = rt.variable_from([7.0, 9.0])
    with pytest.raises(errors.InPlaceOnVariableError, match="no_grad"):
        IN_PLACE[symbol](x, 2.0)
    with tw.no_grad():
        y = IN_PLACE[symbol](x, 2.0)
    assert y.requires_grad and y.grad is None and y is not x
    np.testing.assert_allclose(y.numpy(), IN_PLACE[symbol](np.float32([7, 9]), np.float32(2)))


def test_rounding_by_python(rt):
    host = np.float32([-1.5, 0.26, 2.5])
    x = rt.constant_from(host)
    same(round(x), np.rint(host))
    same(round(x, 1), np.round(host, 1))
    same(math.floor(x), np.floor(host))
    same(math.ceil(x), np.ceil(host))
    same(math.trunc(x), np.trunc(host))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rounding_at_any_place_gives_no_nan(rt, dtype):
    host = np.array([1.5, -0.126, 1000.5, 3.25e4, 0.0, np.inf], dtype)
    x = rt.constant_from(host)
    for decimals in (2, 3):
        expected = np.round(host.astype(np.float64), decimals).astype(dtype)
        np.testing.assert_allclose(tw.round(x, decimals).numpy(), expected, rtol=1e-7)
    for decimals in (6, 50, 400):
        np.testing.assert_allclose(tw.round(x, decimals).numpy(), host, rtol=1e-7)
    assert tw.round(x[:-1], -400).tolist() == [0.0] * 5
    assert tw.round(x, -4).tolist()[3:] == [30000.0, 0.0, np.inf]


@pytest.mark.parametrize("decimals", [-3, -2, -1, 0, 1])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint64"])
def test_integers_round_to_tens(rt, dtype, decimals):
    limits = np.iinfo(dtype)
    values = [0, 1, 4, 5, 6, 14, 15, 25, 35, 45, 50, 55, 99, 100, 114, 115]
    values += [-v for v in values] if limits.min else []
    host = np.array(values, dtype)
    got = tw.round(rt.constant_from(host), decimals)
    same(got, np.round(host, decimals))


def test_shifts_by_any_count(rt):
    for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64"):
        width = 8 * np.dtype(dtype).itemsize
        limits = np.iinfo(dtype)
        counts = [0, 1, width - 1, width, width + 1, min(limits.max, 2**40)]
        counts += [-1, limits.min] if limits.min else []
        values = np.array([1, limits.max, limits.min, 5], dtype)[:, None]
        places = np.array(counts, dtype)[None]
        x, y = rt.constant_from(values), rt.constant_from(places)
        same(x << y, np.left_shift(values, places))
        same(x >> y, np.right_shift(values, places))


def test_division_of_integers_by_zero_gives_zero_without_a_warning(rt, recwarn):
    for dtype in ("int8", "uint16", "int32", "int64", "uint64"):
        limits = np.iinfo(dtype)
        x = rt.constant_from(np.array([5, limits.min, limits.max], dtype))
        for got in (x // 0, x % 0, tw.fmod(x, 0)):
            np.testing.assert_array_equal(got.numpy(), np.zeros(3, dtype))
        if limits.min:
            lowest = rt.constant_from(np.array([limits.min], dtype))
            assert (lowest // -1).tolist() == [limits.min]
            assert (lowest % -1).tolist() == [0]
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_equality_of_whole_tensors(rt):
    x = rt.constant_from(np.float32([1, np.nan]))
    y = rt.constant_from(np.float32([1.0000001, np.nan]))
    assert not tw.allclose(x, y) and tw.allclose(x, y, equal_nan=True)
    assert not tw.array_equal(x, x) and tw.array_equal(x, x, equal_nan=True)
    assert not tw.array_equal(x, x[:1])
    assert tw.allclose(x[:0], y[:0]) and tw.array_equal(x[:0], x[:0])
    assert tw.allclose(rt.constant_from([1, 2]), rt.constant_from([1, 2]), rtol=0, atol=0)
    big = rt.constant_from(np.int64([2**53, -(2**62)]))
    assert not tw.isclose(big, big - 2**50, rtol=1e-9).numpy().any()


def test_lists_raise_even_where_python_would_say_false(rt):
    x = rt.constant_from([1.0, 2.0])
    for use in (operator.eq, operator.ne, operator.lt, operator.add, operator.matmul):
        for other in ([1.0, 2.0], (1.0, 2.0)):
            with pytest.raises(errors.DTypeError, match="constant_from"):
                use(x, other)
            with pytest.raises(errors.DTypeError, match="constant_from"):
                use(other, x)
    assert (x == "a") is False and (x != None) is True  # noqa: E711
