"""The measured functions of complex numbers.

Rows for `measure_ulp.py`; see `functions.py`. An error is the distance of two complex numbers in
units of the last place of the modulus. Domains are where these functions are hardest
(`complex_domains.py`): next to branch points, zeros and poles, parts of very different sizes,
results at the ends of the range.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from complex_domains import logarithm, moderate_powers, pairs, planes, power, powers, powers_of_two
from functions import Function

COMPLEX = ("c64", "c128s", "c128n")


def _expm1(z: np.ndarray) -> np.ndarray:
    x, y = z.real, z.imag
    half = np.sin(y / 2)
    found = np.empty_like(z)
    found.real = np.expm1(x) * np.cos(y) - 2 * half * half
    found.imag = np.exp(x) * np.sin(y)
    return found


def _log1p(z: np.ndarray) -> np.ndarray:
    x, y = z.real, z.imag
    found = np.log(1 + z)
    near = np.abs(z) < 0.5
    found.real = np.where(near, np.log1p(x * (2 + x) + y * y) / 2, found.real)
    return found


def _row(name: str, exact: Callable[..., Any], wide: Callable[..., Any] | None) -> Function:
    return Function(name, exact, wide, ranges=((-3, 3),), dialects=COMPLEX, domains=planes)


FUNCTIONS: tuple[Function, ...] = (
    _row("exp", mpmath.exp, np.exp),
    _row("expm1", lambda z: mpmath.exp(z) - 1, _expm1),
    Function(
        "exp2",
        lambda z: mpmath.exp(z * mpmath.ln2),
        None,
        ranges=((-3, 3),),
        dialects=COMPLEX,
        domains=powers_of_two,
        all_bits=False,
    ),
    _row("log", logarithm, np.log),
    _row("log1p", lambda z: logarithm(1 + z), _log1p),
    _row("log2", lambda z: logarithm(z) / mpmath.ln2, np.log2),
    _row("log10", lambda z: logarithm(z) / mpmath.ln10, np.log10),
    _row("sqrt", mpmath.sqrt, np.sqrt),
    _row("rsqrt", lambda z: 1 / mpmath.sqrt(z), lambda z: 1 / np.sqrt(z)),
    _row("sin", mpmath.sin, np.sin),
    _row("cos", mpmath.cos, np.cos),
    _row("tan", mpmath.tan, np.tan),
    _row("asin", mpmath.asin, np.arcsin),
    _row("acos", mpmath.acos, np.arccos),
    _row("atan", mpmath.atan, np.arctan),
    _row("sinh", mpmath.sinh, np.sinh),
    _row("cosh", mpmath.cosh, np.cosh),
    _row("tanh", mpmath.tanh, np.tanh),
    _row("asinh", mpmath.asinh, np.arcsinh),
    _row("acosh", mpmath.acosh, np.arccosh),
    _row("atanh", mpmath.atanh, np.arctanh),
    Function("mul", operator.mul, np.multiply, operands=2, dialects=COMPLEX, domains=pairs),
    Function("div", operator.truediv, np.divide, operands=2, dialects=COMPLEX, domains=pairs),
    Function(
        "pow",
        power,
        np.power,
        operands=2,
        dialects=COMPLEX,
        domains=moderate_powers,
        all_bits=False,
    ),
    Function("pow", power, None, operands=2, dialects=COMPLEX, domains=powers, all_bits=False),
)
