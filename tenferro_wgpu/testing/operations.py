"""Operations with their NumPy references: one row each, run on every adapter, dtype and layout.

Used by the tests and by `check_backend`; it knows public functions only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .cases import Case, assert_close, check, operands, reference
from .functions import BINARY as FUNCTIONS_OF_TWO
from .functions import UNARY as FUNCTIONS_OF_ONE
from .values import ALL, COMPLEX, EVERY, FLOATS, INTEGERS, NUMBERS

__all__ = [
    "BINARY", "REDUCTIONS", "UNARY", "Case", "assert_close", "check", "floor_quotient", "operands",
    "reference",
]  # fmt: skip

Array = np.ndarray[Any, Any]

FIELD = (*NUMBERS, *COMPLEX)
BITS = ("bool", *INTEGERS)
#: Rounding is never NumPy's own for complex numbers: products and quotients have several.
_NORMWISE: dict[str, Any] = {"ulps": 8, "native": True}


def _exponents(x: Array, y: Array) -> tuple[Array, Array]:
    """Integers have no negative powers."""
    return (x, np.abs(y % 70)) if y.dtype.kind in "iu" else (x, y)


def _is_negative(x: Array) -> Array:
    result: Array = x < 0 if x.dtype.kind in "iub" else np.signbit(x)
    return result


def floor_quotient(x: Array, y: Array) -> Array:
    """NumPy's, but x / y where an operand is infinite, as the Array API says."""
    quotient: Array = np.floor_divide(x, y)
    if x.dtype.kind != "f":
        return quotient
    infinite = np.isinf(x) | np.isinf(y)
    result: Array = np.where(infinite, np.true_divide(x, y), quotient)
    return result


def _of_floats(theirs: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """NumPy's function of floats; integers as they are, which older NumPys turn to floats."""
    return lambda x: theirs(x) if x.dtype.kind == "f" else x


def _joined(x: Array, y: Array) -> Array:
    shape = np.broadcast_shapes(x.shape, y.shape)
    result = np.empty(shape, np.result_type(x.dtype, np.complex64))
    result.real, result.imag = x, y
    return result


def _ones(x: Array) -> Array:
    return np.bitwise_count(x.astype(np.uint8) if x.dtype.kind == "b" else x)


UNARY = {
    "negative": Case(tw.negative, np.negative, FIELD),
    "positive": Case(tw.positive, np.positive, FIELD),
    "abs": Case(tw.abs, np.abs, ALL),
    "abs, complex": Case(tw.abs, np.abs, COMPLEX, ulps=4),
    "sign": Case(tw.sign, np.sign, NUMBERS),
    "sign, complex": Case(tw.sign, np.sign, COMPLEX, ulps=8),
    "square": Case(tw.square, np.square, ALL),
    "square, complex": Case(tw.square, lambda x: x * x, COMPLEX, **_NORMWISE),
    "reciprocal": Case(tw.reciprocal, lambda x: 1 / x, FLOATS),
    "floor": Case(tw.floor, _of_floats(np.floor), ALL),
    "ceil": Case(tw.ceil, _of_floats(np.ceil), ALL),
    "trunc": Case(tw.trunc, _of_floats(np.trunc), ALL),
    "round": Case(tw.round, _of_floats(np.rint), ALL),
    "round, complex": Case(tw.round, np.round, COMPLEX, ulps=1),
    "isnan": Case(tw.isnan, np.isnan, EVERY),
    "isinf": Case(tw.isinf, np.isinf, EVERY),
    "isfinite": Case(tw.isfinite, np.isfinite, EVERY),
    "signbit": Case(tw.signbit, _is_negative, ALL),
    "nan_to_num": Case(tw.nan_to_num, np.nan_to_num, EVERY),
    "bitwise_not": Case(tw.bitwise_not, np.bitwise_not, BITS),
    "bitwise_count": Case(tw.bitwise_count, _ones, BITS),
    "logical_not": Case(tw.logical_not, np.logical_not, EVERY),
    **FUNCTIONS_OF_ONE,
}

BINARY = {
    "add": Case(tw.add, np.add, EVERY),
    "subtract": Case(tw.subtract, np.subtract, FIELD),
    "multiply": Case(tw.multiply, np.multiply, ALL),
    "multiply, complex": Case(tw.multiply, np.multiply, COMPLEX, **_NORMWISE),
    "divide": Case(tw.divide, np.divide, FLOATS),
    "divide, complex": Case(tw.divide, np.divide, COMPLEX, **_NORMWISE),
    "pow, integers": Case(tw.pow, np.power, BITS, ulps=4, domain=_exponents),
    "floor_divide": Case(tw.floor_divide, floor_quotient, ALL),
    "remainder": Case(tw.remainder, np.remainder, ALL),
    "fmod": Case(tw.fmod, np.fmod, ALL),
    "maximum": Case(tw.maximum, np.maximum, ALL, any_zero=True),
    "minimum": Case(tw.minimum, np.minimum, ALL, any_zero=True),
    "fmax": Case(tw.fmax, np.fmax, ALL, any_zero=True),
    "fmin": Case(tw.fmin, np.fmin, ALL, any_zero=True),
    "copysign": Case(tw.copysign, np.copysign, FLOATS),
    "nextafter": Case(tw.nextafter, np.nextafter, FLOATS),
    "complex": Case(tw.complex, _joined, FLOATS),
    "equal": Case(tw.equal, np.equal, EVERY),
    "not_equal": Case(tw.not_equal, np.not_equal, EVERY),
    "less": Case(tw.less, np.less, ALL),
    "less_equal": Case(tw.less_equal, np.less_equal, ALL),
    "greater": Case(tw.greater, np.greater, ALL),
    "greater_equal": Case(tw.greater_equal, np.greater_equal, ALL),
    "isclose": Case(tw.isclose, np.isclose, EVERY),
    "logical_and": Case(tw.logical_and, np.logical_and, EVERY),
    "logical_or": Case(tw.logical_or, np.logical_or, EVERY),
    "logical_xor": Case(tw.logical_xor, np.logical_xor, EVERY),
    "bitwise_and": Case(tw.bitwise_and, np.bitwise_and, BITS),
    "bitwise_or": Case(tw.bitwise_or, np.bitwise_or, BITS),
    "bitwise_xor": Case(tw.bitwise_xor, np.bitwise_xor, BITS),
    "gcd": Case(tw.gcd, np.gcd, INTEGERS),
    "lcm": Case(tw.lcm, np.lcm, INTEGERS),
    "bitwise_left_shift": Case(tw.bitwise_left_shift, np.left_shift, BITS),
    "bitwise_right_shift": Case(tw.bitwise_right_shift, np.right_shift, BITS),
    **FUNCTIONS_OF_TWO,
}

#: Reductions: reference with axis=, run over several axes of several layouts.
REDUCTIONS = {
    "sum": Case(tw.sum, np.sum, EVERY, ulps=16),
    "prod": Case(tw.prod, np.prod, EVERY, ulps=16),
    "max": Case(tw.max, np.max, ALL, any_zero=True),
    "min": Case(tw.min, np.min, ALL, any_zero=True),
    "mean": Case(tw.mean, np.mean, (*FLOATS, *COMPLEX), ulps=16),
}
