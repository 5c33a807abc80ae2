"""Analytic functions with their NumPy references: one row each, run wherever the others are.

Part of the tables of `operations`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .cases import Case
from .values import COMPLEX, FLOATS

__all__ = ["BINARY", "UNARY"]

Array = np.ndarray[Any, Any]


def _rsqrt(x: Array) -> Array:
    result: Array = 1 / np.sqrt(x)
    return result


def _sigmoid(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    result: Array = np.where(x >= 0, 1, small) / (1 + small)
    return result


def log1p(z: Array) -> Array:
    """NumPy's loses the real part of small numbers; there by log1p of the squared modulus."""
    x, y = z.real, z.imag
    near = 0.5 * np.log1p(x * (2 + x) + y * y) + 1j * np.arctan2(y, 1 + x)
    return np.where(np.abs(z) < 0.5, near, np.log1p(z))


def _each(function: Callable[[float], float], pole: float) -> Callable[[Array], Array]:
    """A function of the standard library, with what it gives where that raises."""

    def value(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return pole

    def reference(x: Array) -> Array:
        return np.array([value(float(each)) for each in x.ravel()], np.float64).reshape(x.shape)

    return reference


def _log_gamma(x: float) -> float:
    """By Stirling's series in decimals: the standard library's is off by epsilons at its zeros."""
    if not -100 < x < 30 or x == 0:
        return math.lgamma(x)
    product, y = Decimal(1), Decimal(x)
    while y < 30:
        product, y = product * y, y + 1
    if product == 0:
        return math.inf
    series = sum(Decimal(top) / below / y**power for top, below, power in _STIRLING)
    half_log_two_pi = Decimal("0.918938533204672741780329736406")
    log_gamma = (y - Decimal("0.5")) * y.ln() - y + half_log_two_pi + series
    return float(log_gamma - abs(product).ln())


#: B_2k / (2k (2k - 1) x^(2k - 1)): numerator, denominator, power.
_STIRLING = (
    (1, 12, 1),
    (-1, 360, 3),
    (1, 1260, 5),
    (-1, 1680, 7),
    (1, 1188, 9),
    (-691, 360360, 11),
)


def _moderate(*arrays: Array) -> tuple[Array, ...]:
    """Without huge, infinite and zero numbers, where NumPy's own complex values are poor."""
    kept = []
    for x in arrays:
        plain = np.isfinite(x) & (np.abs(x) < 20) & (np.abs(x) > 0.01)
        kept.append(np.where(plain, x, np.asarray(1.5 - 0.5j, x.dtype)))
    return tuple(kept)


def _function(ours: Any, theirs: Any) -> dict[str, Case]:
    """A row for floats and one for complex numbers."""
    name = ours.__name__
    return {
        name: Case(ours, theirs, FLOATS, ulps=4),
        f"{name}, complex": Case(ours, theirs, COMPLEX, ulps=8),
    }


UNARY = {
    "sqrt": Case(tw.sqrt, np.sqrt, FLOATS),
    "sqrt, complex": Case(tw.sqrt, np.sqrt, COMPLEX, ulps=8),
    "cbrt": Case(tw.cbrt, np.cbrt, FLOATS, ulps=4),
    "sigmoid": Case(tw.sigmoid, _sigmoid, FLOATS, ulps=4),
    "deg2rad": Case(tw.deg2rad, np.deg2rad, FLOATS, ulps=2),
    "rad2deg": Case(tw.rad2deg, np.rad2deg, FLOATS, ulps=2),
    "angle": Case(tw.angle, np.angle, FLOATS, ulps=4),
    "angle, complex": Case(tw.angle, np.angle, COMPLEX, ulps=4),
    "rsqrt": Case(tw.rsqrt, _rsqrt, FLOATS, ulps=4),
    "rsqrt, complex": Case(tw.rsqrt, _rsqrt, COMPLEX, ulps=8, domain=_moderate),
    **_function(tw.exp, np.exp),
    "exp2": Case(tw.exp2, np.exp2, FLOATS, ulps=4),
    "exp2, complex": Case(tw.exp2, np.exp2, COMPLEX, ulps=16, domain=_moderate),
    "expm1": Case(tw.expm1, np.expm1, FLOATS, ulps=4),
    "expm1, complex": Case(tw.expm1, np.expm1, COMPLEX, ulps=8, domain=_moderate),
    **_function(tw.log, np.log),
    **_function(tw.log2, np.log2),
    **_function(tw.log10, np.log10),
    "log1p": Case(tw.log1p, np.log1p, FLOATS, ulps=4),
    "log1p, complex": Case(tw.log1p, log1p, COMPLEX, ulps=8),
    **_function(tw.sin, np.sin),
    **_function(tw.cos, np.cos),
    **_function(tw.tan, np.tan),
    **_function(tw.asin, np.arcsin),
    **_function(tw.acos, np.arccos),
    **_function(tw.atan, np.arctan),
    **_function(tw.sinh, np.sinh),
    **_function(tw.cosh, np.cosh),
    **_function(tw.tanh, np.tanh),
    **_function(tw.asinh, np.arcsinh),
    **_function(tw.acosh, np.arccosh),
    **_function(tw.atanh, np.arctanh),
    "erf": Case(tw.erf, _each(math.erf, 0), FLOATS, ulps=4),
    "erfc": Case(tw.erfc, _each(math.erfc, 0), FLOATS, ulps=16),
    "lgamma": Case(tw.lgamma, _each(_log_gamma, np.inf), FLOATS, ulps=16, absolute=1),
}

BINARY = {
    "pow": Case(tw.pow, np.power, FLOATS, ulps=4),
    "pow, complex": Case(tw.pow, np.power, COMPLEX, ulps=64, domain=_moderate),
    "atan2": Case(tw.atan2, np.arctan2, FLOATS, ulps=4),
    "hypot": Case(tw.hypot, np.hypot, FLOATS, ulps=4),
    "logaddexp": Case(tw.logaddexp, np.logaddexp, FLOATS, ulps=4, absolute=2),
}
