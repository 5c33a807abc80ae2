"""The measured special functions: the error function and the family of the gamma function.

Rows for `measure_ulp.py`; see `functions.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
from functions import Domains, Function
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


#: Zeros of lgamma among the negative numbers from which it steps up.
_LGAMMA_ZEROS = (
    (-2.457024738220801, -2.747682646727413, -3.143580888349980, -3.955294284858598)
    + (-4.039361839740537, -4.991544640560048, -5.008218168440171, -5.998607480080875)
    + tuple(-n + sign / math.factorial(n) for n in range(6, 18) for sign in (-1, 1))
)


def _digamma_zeros(sections: np.ndarray) -> np.ndarray:
    """The zeros of digamma in (-n - 1, -n), n > 0, to some digits: those of the reflection."""
    return -sections - 1 + np.arctan(np.pi / np.log(sections + 1)) / np.pi


def _about(random: np.random.Generator, centers: np.ndarray, dtype: Any) -> np.ndarray:
    """Numbers at every distance from the centers, on both sides, down to their neighbours."""
    distance = 2.0 ** random.uniform(-np.finfo(dtype).nmant - 1, -3, centers.size)
    return (centers * (1 + random.choice([-1, 1], centers.size) * distance)).astype(dtype)


def _negative_numbers(name: str) -> Domains:
    """Domains where sums of the reflection and of steps cancel, and next to the poles."""

    def domains(
        random: np.random.Generator, count: int, dtype: Any
    ) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
        bits = random_bits(random, count, dtype)
        yield "bits below 1", (np.where(np.abs(bits) < 1, bits, dtype.type(0.75)),)
        digits = np.finfo(dtype).nmant
        sections = np.floor(2.0 ** random.uniform(0, digits - 1, count))
        first = np.append(random.choice([-0.504083008264455], count), -1.573498473162390)
        large = _digamma_zeros(sections)
        zeros = {"lgamma": random.choice(_LGAMMA_ZEROS, count), "digamma": np.append(first, large)}
        yield "about zeros", (_about(random, zeros[name], dtype),)
        yield "half-integers", ((-sections - 0.5).astype(dtype),)
        small = np.floor(2.0 ** random.uniform(0, min(digits - 1, 8), count)).astype(dtype)
        aside = random.choice([-np.inf, np.inf], count).astype(dtype)
        yield "next to poles", (np.nextafter(-small, aside),)
        yield "large", ((-(2.0 ** random.uniform(3, digits, count))).astype(dtype),)

    return domains


def _positive_numbers(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    centers = random.choice([1, 2, 1.4616321449683622], count)
    yield "about 1, 2 and the zero of digamma", (_about(random, centers, dtype),)


#: The contract's measure: an error of one epsilon is none, so that it says nothing about the zeros,
#: which lie between numbers. Positive numbers are measured in units of the last place alone.
_NEGATIVE = ((-5, 0), (-40, 0))
_POSITIVE = ((0, 3), (0.5, 2.5), (2, 12), (10, 1e5))
FUNCTIONS: tuple[Function, ...] = (
    Function("erf", _short(mpmath.erf), None, ((-3, 3), (-1, 1), (-7, 7))),
    Function("erfc", _error_complement, None, ((-3, 3), (0, 10), (0.4, 1.1))),
    Function("lgamma", _log_gamma, None, _POSITIVE, domains=_positive_numbers, positive=True),
    Function(
        "lgamma", _log_gamma, None, _NEGATIVE, domains=_negative_numbers("lgamma"), absolute=1
    ),
    Function("digamma", _digamma, None, _POSITIVE, domains=_positive_numbers, positive=True),
    Function(
        "digamma", _digamma, None, _NEGATIVE, domains=_negative_numbers("digamma"), absolute=1
    ),
)
