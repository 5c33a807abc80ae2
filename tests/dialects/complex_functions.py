"""The measured functions of complex numbers.

Rows for `measure_ulp.py`; see `functions.py`. An error is the distance of two complex numbers in
units of the last place of the modulus. Domains are where these functions are hardest: next to
branch points, zeros and poles, parts of very different sizes, results at the ends of the range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
from functions import Function
from samples import random_bits

COMPLEX = ("c64", "c128s", "c128n")
#: Branch points, zeros and poles have these parts.
_CENTERS = (0.0, 1.0, -1.0, 0.5, 2.0, np.pi / 2, -np.pi / 2, np.pi)

Operands = tuple[np.ndarray, ...]


def _near(random: np.random.Generator, count: int, part: Any) -> np.ndarray:
    """Numbers next to `_CENTERS`, at distances of all sizes."""
    smallest = np.log10(np.finfo(part).eps)
    distance = random.standard_normal(count) * 10.0 ** random.uniform(smallest, -0.5, count)
    return (random.choice(_CENTERS, count) + distance).astype(part)


def _joined(real: np.ndarray, imaginary: np.ndarray, dtype: Any) -> np.ndarray:
    found = np.empty(real.shape, dtype)
    found.real, found.imag = real, imaginary
    return found


def _planes(random: np.random.Generator, count: int, dtype: Any) -> Iterator[tuple[str, Operands]]:
    """Special neighbourhoods, and parts of any bits beside parts that are not extreme."""
    part = np.finfo(dtype).dtype
    first, second = _near(random, count, part), _near(random, count, part)
    bits = random_bits(random, count, part)
    bits = np.where(np.isfinite(bits), bits, part.type(0.25))
    largest = np.log(np.finfo(part).max)
    grown = random.uniform(0.9 * largest, 2.1 * largest, count).astype(part)
    yield "near special points", (_joined(first, second, dtype),)
    yield "any imaginary part", (_joined(first, bits, dtype),)
    yield "any real part", (_joined(bits, first, dtype),)
    yield "grown", (_joined(grown, bits, dtype),)


def _powers_of_two(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, Operands]]:
    """Imaginary parts up to 2^12: beyond, the angle is as rough as its rounded product."""
    part = np.finfo(dtype).dtype
    sizes = random.choice([-1.0, 1.0], count) * 2.0 ** random.uniform(-20, 12, count)
    yield (
        "any finite result",
        (
            _joined(
                random.uniform(-0.75, 1, count).astype(part) * np.finfo(part).maxexp,
                sizes.astype(part),
                dtype,
            ),
        ),
    )


def _powers(random: np.random.Generator, count: int, dtype: Any) -> Iterator[tuple[str, Operands]]:
    """Bases and exponents whose results are in range; angles of up to a hundred turns."""
    limits = np.finfo(dtype)
    largest = 0.9 * np.log(limits.max)

    def to_range(base: np.ndarray, turns: float) -> Operands:
        grown = random.uniform(-largest / 2, largest, count)
        wanted = grown + 1j * random.uniform(-turns, turns, count)
        return base, (wanted / np.log(base.astype(np.clongdouble))).astype(dtype)

    moderate = random.uniform(-3, 3, (2, count)) * 10.0 ** random.uniform(-2, 1, (2, count))
    base = _joined(moderate[0], moderate[1], dtype)
    yield "moderate", (base, (random.uniform(-3, 3, count) + 1j * moderate[1]).astype(dtype))
    yield "whole", (base, random.integers(-25, 25, count).astype(dtype))
    yield "any finite result", to_range(base, 600)
    wide = 10.0 ** random.uniform(limits.minexp / 8, limits.maxexp / 8, (2, count))
    yield "of any size", to_range(_joined(wide[0], -wide[1], dtype), 30)
    close = random.standard_normal((2, count)) * 10.0 ** random.uniform(-6, -1, (2, count))
    yield "near one", to_range(_joined(1 + close[0], close[1], dtype), 300)


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
    return Function(name, exact, wide, ranges=((-3, 3),), dialects=COMPLEX, domains=_planes)


FUNCTIONS: tuple[Function, ...] = (
    _row("exp", mpmath.exp, np.exp),
    _row("expm1", lambda z: mpmath.exp(z) - 1, _expm1),
    Function(
        "exp2",
        lambda z: mpmath.exp(z * mpmath.ln2),
        lambda z: np.exp(z * np.log(z.real.dtype.type(2))),
        ranges=((-3, 3),),
        dialects=COMPLEX,
        domains=_powers_of_two,
        all_bits=False,
    ),
    _row("log", mpmath.log, np.log),
    _row("log1p", lambda z: mpmath.log(1 + z), _log1p),
    _row("log2", lambda z: mpmath.log(z) / mpmath.ln2, np.log2),
    _row("log10", lambda z: mpmath.log(z) / mpmath.ln10, np.log10),
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
    Function(
        "pow",
        lambda x, y: mpmath.exp(y * mpmath.log(x)),
        np.power,
        operands=2,
        dialects=COMPLEX,
        domains=_powers,
        all_bits=False,
    ),
)
