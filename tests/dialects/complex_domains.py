"""Where functions of complex numbers are hard: neighbourhoods, ends of the range, huge powers.

`complex_functions.py` gives these domains to its rows. Bases and exponents of powers are found in
mpmath, since their results have to be in range, which a rounded exponent easily misses. Nothing
here evaluates anything on a device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
from samples import random_bits

Operands = tuple[np.ndarray, ...]

#: Branch points, zeros and poles have these parts.
_CENTERS = (0.0, 1.0, -1.0, 0.5, 2.0, np.pi / 2, -np.pi / 2, np.pi)
#: Bits in which exponents are looked for: as many as the largest ones have before the point.
_PRECISION = 2600


def joined(real: np.ndarray, imaginary: np.ndarray, dtype: Any) -> np.ndarray:
    """Return the complex numbers with these parts, signs of zeros and all."""
    found = np.empty(real.shape, dtype)
    found.real, found.imag = real, imaginary
    return found


def logarithm(z: mpmath.mpc) -> mpmath.mpc:
    """Return log(z) from the exact |z|^2: mpmath's own loses |z| next to the unit circle."""
    x, y = z.real, z.imag
    return mpmath.mpc(mpmath.log(x * x + y * y) / 2, mpmath.atan2(y, x))


def power(base: mpmath.mpc, exponent: mpmath.mpc) -> mpmath.mpc:
    """Return a power, with as many bits as its angle and the end of its modulus take."""
    with mpmath.workprec(_PRECISION):
        return mpmath.exp(exponent * logarithm(base))


def _of_sizes(
    random: np.random.Generator, count: int, low: float, high: float, part: Any = np.float64
) -> np.ndarray:
    """Numbers of either sign whose binary exponents are uniform between two."""
    sizes = np.ldexp(random.uniform(1, 2, count), random.integers(int(low), int(high), count))
    return (random.choice([-1.0, 1.0], count) * sizes).astype(part)


def _near(random: np.random.Generator, count: int, part: Any) -> np.ndarray:
    """Numbers next to `_CENTERS` or there, but for 0: cuts lie there, and mpmath has one side."""
    centers = random.choice(_CENTERS, count)
    distance = _of_sizes(random, count, -np.finfo(part).nmant - 4, -1)
    there = (centers != 0) & (random.random(count) < 0.3)
    return np.where(there, centers, centers + distance).astype(part)


def planes(random: np.random.Generator, count: int, dtype: Any) -> Iterator[tuple[str, Operands]]:
    """Special neighbourhoods, parts of any bits beside others, and the ends of the range."""
    limits = np.finfo(dtype)
    part = limits.dtype
    lowest = limits.minexp - limits.nmant
    first, second = _near(random, count, part), _near(random, count, part)
    bits = random_bits(random, count, part)
    bits = np.where(np.isfinite(bits), bits, part.type(0.25))
    largest = np.log(limits.max)
    grown = random.choice([-1, 1], count) * random.uniform(0.9 * largest, 2.1 * largest, count)
    small = _of_sizes(random, count, lowest, 0, part)
    angle = random.uniform(-np.pi, np.pi, count)
    around = 1 + random.choice([0, 1], count) * _of_sizes(random, count, -limits.nmant, -2)
    circle = joined(
        (around * np.cos(angle)).astype(part), (around * np.sin(angle)).astype(part), dtype
    )
    turns = np.rint(_of_sizes(random, count, 0, 30)) * np.pi / 2
    moved = turns + random.choice([0, 1], count) * _of_sizes(random, count, -limits.nmant, 0)
    end = part.type(limits.max) * random.uniform(0.25, 1, (2, count)).astype(part)
    end *= random.choice([-1, 1], (2, count)).astype(part)
    yield "near special points", (joined(first, second, dtype),)
    yield "any imaginary part", (joined(first, bits, dtype),)
    yield "any real part", (joined(bits, first, dtype),)
    yield "small imaginary part", (joined(first, small, dtype),)
    yield "small real part", (joined(small, second, dtype),)
    yield "grown", (joined(grown.astype(part), bits, dtype),)
    yield "grown aside", (joined(bits, grown.astype(part), dtype),)
    yield "around the unit circle", (circle,)
    yield "around a unit circle by zero", (joined(circle.real - 1, circle.imag, dtype),)
    yield "multiples of a right angle", (joined(moved.astype(part), small, dtype),)
    yield "multiples of it aside", (joined(small, moved.astype(part), dtype),)
    yield "largest", (joined(end[0], end[1], dtype),)


def powers_of_two(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, Operands]]:
    """Results of every size in range, turned by imaginary parts of every size."""
    limits = np.finfo(dtype)
    part = limits.dtype
    real = (random.uniform(-1, 1, count) * limits.maxexp).astype(part)
    imaginary = _of_sizes(random, count, limits.minexp, limits.maxexp, part)
    yield "any finite result", (joined(real, imaginary, dtype),)
    yield "whole", (joined(np.rint(real), _of_sizes(random, count, -20, 12, part), dtype),)


def _to_range(
    random: np.random.Generator, base: np.ndarray, lowest: float, highest: float
) -> Operands:
    """Exponents that lead to moduli up to the ends and to angles of 2^lowest to 2^highest."""
    limits = np.finfo(base.dtype)
    grown = random.uniform(0.97 * np.log(limits.tiny), 0.99 * np.log(limits.max), base.size)
    turned = _of_sizes(random, base.size, lowest, highest)
    return base, _divided(grown + 1j * turned, base)


def _divided(wanted: np.ndarray, base: np.ndarray, *, real: bool = False) -> np.ndarray:
    """The exponents w with w log(base) = wanted, or the real parts alone of log(base); else 1."""
    found = np.empty(base.size, base.dtype)
    with mpmath.workprec(_PRECISION), np.errstate(over="ignore"):
        for index, z in enumerate(base):
            divisor = logarithm(mpmath.mpc(complex(z)))
            divisor = divisor.real if real else divisor
            quotient = mpmath.mpc(complex(wanted[index])) / divisor if divisor else mpmath.mpc(1)
            found[index] = complex(quotient) if abs(quotient) < mpmath.mpf(2) ** 1020 else 1
    found[~np.isfinite(found)] = 1
    return found


def moderate_powers(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, Operands]]:
    """Powers whose exponents are small enough for NumPy's wider format to tell the worst."""
    parts = random.uniform(-3, 3, (2, count)) * 10.0 ** random.uniform(-2, 1, (2, count))
    base = joined(parts[0], parts[1], dtype)
    yield "moderate", (base, (random.uniform(-3, 3, count) + 1j * parts[1]).astype(dtype))
    yield "small whole", (base, random.integers(-9, 9, count).astype(dtype))


def powers(random: np.random.Generator, count: int, dtype: Any) -> Iterator[tuple[str, Operands]]:
    """Results at the ends of the range and angles up to the largest numbers: see
    `complex_long_logarithm.wgsl.j2` for why these are the hard ones."""
    count = max(count // 20, 12)
    limits = np.finfo(dtype)
    part = limits.dtype
    digits = limits.nmant

    def small(low: float) -> np.ndarray:
        return _of_sizes(random, count, low, -1)

    base = (random.standard_normal(count) + 1j * random.standard_normal(count)).astype(dtype)
    yield "whole", (base, random.integers(-130, 130, count).astype(dtype))
    sizes = _of_sizes(random, 2 * count, limits.minexp - 5, limits.maxexp, part)
    wide = joined(sizes[:count], sizes[count:], dtype)
    close = joined((1 + small(-digits)).astype(part), small(-digits).astype(part), dtype)
    for angles in ((0, 5), (6, 12), (12, digits), (digits, 2 * digits)):
        yield f"angles to 2^{angles[1]}", _to_range(random, base, *angles)
        yield f"of any size, to 2^{angles[1]}", _to_range(random, wide, *angles)
        yield f"near one, to 2^{angles[1]}", _to_range(random, close, *angles)
    grown = random.uniform(np.log(limits.tiny), np.log(limits.max), count)
    angle = random.uniform(-np.pi, np.pi, count)
    circle = joined(np.cos(angle).astype(part), np.sin(angle).astype(part), dtype)
    yield "real, unit circle", (circle, _divided(grown, circle, real=True))
    beside = joined(
        np.ones(count, part), _of_sizes(random, count, limits.minexp / 2, -1, part), dtype
    )
    yield "real, beside one", (beside, _divided(grown, beside, real=True))
    across = joined(beside.imag, random.choice([-1, 1], count).astype(part), dtype)
    yield "real, beside i", (across, _divided(grown, across, real=True))
    positive = joined(np.abs(sizes[:count]), np.zeros(count, part), dtype)
    huge = _of_sizes(random, count, 0, limits.maxexp - 1, part)
    lowered = (grown / 2 / np.log(positive.real.astype(np.float64))).astype(part)
    yield "positive base, any imaginary part", (positive, joined(lowered, huge, dtype))
    axis = random.choice(np.array([1, -1, 1j, -1j], dtype), count)
    yield (
        "units, any real part",
        (
            axis,
            joined(np.where(random.random(count) < 0.5, np.rint(huge), huge), grown / 4, dtype),
        ),
    )
    # The two products of the modulus cancel, as far as their rounding allows.
    for bits in (digits // 2, digits, digits + 7):
        log = np.log(base.astype(np.clongdouble))
        away = np.conj(log) * 1j / np.abs(log) * 2.0**bits
        yield f"cancelling, 2^{bits}", (base, away.astype(dtype))


def pairs(random: np.random.Generator, count: int, dtype: Any) -> Iterator[tuple[str, Operands]]:
    """Factors, dividends and divisors of sizes whose results are in range; cancelling ones."""
    limits = np.finfo(dtype)
    part = limits.dtype
    lowest, highest = limits.minexp - limits.nmant, limits.maxexp

    def sized(low: float, high: float) -> np.ndarray:
        parts = _of_sizes(random, 2 * count, low, high, part)
        return joined(parts[:count], parts[count:], dtype)

    whole = sized(-3, 3)
    for name, first, second in (
        ("both large", (highest - 60, highest), (highest - 60, highest)),
        ("both small", (lowest, limits.minexp + 60), (lowest, limits.minexp + 60)),
        ("large, any", (highest - 60, highest), (-60, 60)),
        ("small, any", (lowest, limits.minexp + 60), (-60, 60)),
        ("any, small", (-60, 60), (limits.minexp, limits.minexp + 60)),
        (
            "of roots of the range",
            (highest // 2 - 30, highest // 2),
            (highest // 2 - 30, highest // 2),
        ),
        ("large, small", (highest - 60, highest), (lowest // 2, lowest // 2 + 60)),
    ):
        yield name, (sized(*first), sized(*second))
    yield "across", (whole, (np.conj(whole) * (1 + 1j)).astype(dtype))
    yield "inverse", (whole, (1 / whole.astype(np.clongdouble)).astype(dtype))
    yield "turned inverse", (whole, (1j / whole.astype(np.clongdouble)).astype(dtype))
