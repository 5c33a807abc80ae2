"""The measured special functions: the error function and the family of the gamma function.

Rows for `measure_ulp.py`; see `functions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
from functions import Function
from samples import random_bits


def _short(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with as many digits as it takes here; more of the gamma family take seconds."""

    def computed(*operands: Any) -> Any:
        with mpmath.workprec(200):
            return function(*operands)

    return computed


@_short
def _log_gamma(x: mpmath.mpf) -> mpmath.mpf:
    if x > 0:
        return mpmath.loggamma(x)
    if x == mpmath.floor(x):
        return mpmath.inf
    return mpmath.log(mpmath.pi / abs(mpmath.sinpi(x))) - mpmath.loggamma(1 - x)


@_short
def _digamma(x: mpmath.mpf) -> mpmath.mpf:
    if x > 0 or x == mpmath.floor(x):
        return mpmath.digamma(x) if x > 0 else mpmath.nan
    return mpmath.digamma(1 - x) - mpmath.pi * mpmath.cospi(x) / mpmath.sinpi(x)


@_short
def _error_complement(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.mpf(0 if x > 0 else 2) if abs(x) > 40 else mpmath.erfc(x)


def _small_numbers(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    bits = random_bits(random, count, dtype)
    yield "bits below 1", (np.where(np.abs(bits) < 1, bits, dtype.type(0.75)),)


#: Zeros of lgamma and digamma at negative numbers are not representable.
_NEGATIVE = ((-5, 0), (-40, 0))
FUNCTIONS: tuple[Function, ...] = (
    Function("erf", _short(mpmath.erf), None, ((-3, 3), (-1, 1), (-7, 7))),
    Function("erfc", _error_complement, None, ((-3, 3), (0, 10), (0.4, 1.1))),
    Function("lgamma", _log_gamma, None, ((0, 3), (0.5, 2.5), (2, 12), (10, 1000)), positive=True),
    Function("lgamma", _log_gamma, None, _NEGATIVE, domains=_small_numbers, absolute=4),
    Function("digamma", _digamma, None, ((0, 3), (1, 2), (2, 12), (10, 1e5)), positive=True),
    Function("digamma", _digamma, None, _NEGATIVE, domains=_small_numbers, absolute=8),
)
