"""Result dtypes of mixed operands against NumPy's, with the deviations that the docs list."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.dtypes import SUPPORTED
from tenferro_wgpu.ops.operators import Operators
from tenferro_wgpu.ops.value import AbstractInterpreter, AbstractValue

WORLD = AbstractInterpreter()
NAMES = [dtype.name for dtype in SUPPORTED]
INTEGERS = [name for name in NAMES if np.dtype(name).kind in "iu"]
KINDS = "biufc"


class Symbol(Operators, AbstractValue):
    """An abstract value with operators."""

    __slots__ = ()


def value(dtype: str) -> Symbol:
    return Symbol(WORLD, (3,), np.dtype(dtype))


def rank(dtype: np.dtype) -> int:
    return "bifc".index("i" if dtype.kind == "u" else dtype.kind)


def expected(first: str, second: str) -> np.dtype | None:
    """NumPy's dtype but for the deviations; None where there is none."""
    x, y = np.dtype(first), np.dtype(second)
    if rank(x) != rank(y) and min(rank(x), rank(y)) == 1:
        return max(x, y, key=rank)  # an integer takes the dtype of the float
    found = np.promote_types(x, y)
    if found.kind == "f" and x.kind in "iu":
        return None  # int64 with uint64: NumPy's float64 would lose digits
    return found


@pytest.mark.parametrize("first", NAMES)
def test_the_order_of_three_tensors_does_not_matter(first):
    for others in itertools.combinations(NAMES, 2):
        found = set()
        for names in itertools.permutations((first, *others)):
            try:
                found.add(tw.stack([value(name) for name in names]).dtype)
            except errors.DTypeError:
                found.add(None)
        assert len(found) == 1, (first, *others)
        if None not in found:
            assert tw.result_type(first, *others) in found


@pytest.mark.parametrize("second", NAMES)
@pytest.mark.parametrize("first", NAMES)
def test_two_tensors(first, second):
    dtype = expected(first, second)
    x, y = value(first), value(second)
    if dtype is None:
        with pytest.raises(errors.DTypeError, match=r"astype"):
            tw.equal(x, y)
        return
    assert tw.where(value("bool"), x, y).dtype == dtype
    assert (x + y).dtype == (y * x).dtype == (y @ x).dtype == dtype
    quotient = dtype if dtype.kind in "fc" else WORLD.default_dtype
    assert (x / y).dtype == quotient
    if dtype.kind in "biuf":
        # As in NumPy, which has no logic for the division of bools.
        counted = np.dtype("int8") if dtype.kind == "b" else dtype
        assert (x // y).dtype == (x % y).dtype == counted
    if dtype.kind in "biu":
        assert (x & y).dtype == dtype


def test_the_deviations_from_numpy_are_those_of_the_documentation():
    differing = set()
    for first in NAMES:
        for second in NAMES:
            ours = expected(first, second)
            # None equals float64 to NumPy.
            if ours is None or ours != np.promote_types(first, second):
                differing.add(frozenset((np.dtype(first).kind, np.dtype(second).kind)))
    pairs = {"".join(sorted(kinds)) for kinds in differing}
    # An integer with a float or complex number; int64 with uint64.
    assert pairs == {"fi", "fu", "ci", "cu", "iu"}


SCALARS = {"bool": True, "int": 2, "float": 2.0, "complex": 2j}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", NAMES)
def test_python_scalars_are_weak(name, scalar):
    dtype, number = np.dtype(name), SCALARS[scalar]
    if scalar == "float" and dtype.kind in "biu":
        wanted = WORLD.default_dtype
    elif scalar == "complex" and dtype.kind in "biu":
        wanted = np.dtype("complex64")
    else:
        # A bool array of NumPy's with a Python int gives the default integer.
        wanted = np.result_type(dtype, number) if dtype.kind != "b" else np.result_type(number)
    x = value(name)
    assert tw.where(value("bool"), x, number).dtype == wanted
    assert tw.equal(number, x).dtype == "bool"
    if wanted.kind != "b":
        assert (x + number).dtype == (number - x).dtype == wanted
        # Also where `pow` takes another way for a number.
        same = type(number)(2)
        assert (x**same).dtype == tw.pow(x, number).dtype == (number**x).dtype == wanted


@pytest.mark.parametrize("name", NAMES)
def test_numpy_scalars_are_weak_too(name):
    dtype = np.dtype(name)
    for scalar in (np.float64(1.5), np.int8(1), np.bool_(True)):
        if np.dtype(type(scalar)).kind in "iu" and dtype.kind == "b":
            continue
        if rank(np.dtype(type(scalar))) <= rank(dtype):
            assert tw.where(value("bool"), value(name), scalar).dtype == dtype
        elif dtype.kind != "b" and isinstance(scalar, np.float64):
            assert (value(name) ** type(scalar)(2)).dtype == WORLD.default_dtype


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_out_of_range_overflow(cpu, name):
    limits = np.iinfo(name)
    x = cpu.constant_from(np.array([0, 1], name))
    assert (x * 0 + limits.max).tolist() == [limits.max] * 2
    assert (x * 0 + limits.min).tolist() == [limits.min] * 2
    for scalar in (limits.max + 1, limits.min - 1, 2**70):
        for function in (operator.add, operator.floordiv, operator.and_, tw.maximum):
            for operands in ((x, scalar), (scalar, x)):
                with pytest.raises(OverflowError, match=name):
                    function(*operands)


def test_analytic_functions_of_integers_give_the_default_float():
    for name in ("bool", *INTEGERS):
        for function in (tw.exp, tw.sqrt, tw.sin, tw.asinh, tw.sigmoid, tw.cbrt, tw.reciprocal):
            assert function(value(name)).dtype == "float32"
        assert tw.hypot(value(name), 2).dtype == "float32"
        for function in (tw.floor, tw.ceil, tw.trunc, tw.round):
            assert function(value(name)).dtype == name
    wide = AbstractInterpreter(np.float64)
    assert tw.exp(wide.value((3,), "int8")).dtype == "float64"


def test_defaults(cpu):
    assert tw.asarray([1, 2]).dtype == "int64"
    assert tw.asarray([1.0]).dtype == "float32"
    assert tw.asarray([1j]).dtype == "complex64"
    assert (tw.asarray([True]) + 1).dtype == "int64"
    assert tw.add(1, 2).dtype == "int64" and tw.add(1, 2.0).dtype == "float32"
    assert tw.sum(tw.asarray([1], dtype="int8")).dtype == "int64"
    assert tw.sum(tw.asarray([1], dtype="uint8")).dtype == "uint64"
