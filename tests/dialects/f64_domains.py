"""Where binary64 functions are hardest: domains for `measure_ulp.py` and the tests of f64.

Near zeros of the result, near multiples of pi/2, huge arguments, the borders of overflow and
underflow, subnormal arguments and results. Nothing here evaluates anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import mpmath
import numpy as np

#: Doubles whose distance to a multiple of pi/2 is the smallest known (after W. Kahan), and others
#: that need every bit of the reduction.
NEAREST_MULTIPLES = np.array(
    [6381956970095103.0 * 2.0**797, 5.319372648326541e255, 1.7976931348623157e308, 1e22, 2.0**1023]
)

Uniform = Callable[[float, float], np.ndarray]


def near_multiples_of_half_pi(random: np.random.Generator, count: int) -> np.ndarray:
    """Return the doubles nearest to n pi/2, n up to 2^60, and their neighbours."""
    multiples = [int(2**each) for each in random.uniform(0, 60, count)]
    with mpmath.workprec(200):
        nearest = np.array([float(n * mpmath.pi / 2) for n in multiples])
    towards = random.choice([-np.inf, 0.0, np.inf], count)
    return np.where(towards == 0, nearest, np.nextafter(nearest, towards))


def around(center: float, random: np.random.Generator, count: int) -> np.ndarray:
    """Return numbers at distances of 2^-60 to 2^-3 of `center`, on both sides."""
    return center + random.choice([-1, 1], count) * 2.0 ** random.uniform(-60, -3, count)


def hard_arguments(
    function: str, random: np.random.Generator, count: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (name of the domain, float64 arguments) of a function of one argument."""

    def uniform(low: float, high: float) -> np.ndarray:
        return random.uniform(low, high, count)

    subnormal = random.integers(1, 2**52, count).view(np.float64)
    subnormal = subnormal * random.choice([-1.0, 1.0], count)
    if function in ("exp", "expm1"):
        yield "around the overflow", uniform(709.7, 709.8)
        yield "[-760, 710]", uniform(-760, 710)
    if function == "exp":
        yield "subnormal results", uniform(-745.2, -708)
    if function in ("exp", "expm1", "tanh", "log1p", "sin", "cos"):
        yield "around 0", around(0, random, count)
        yield "subnormal", subnormal
    if function == "expm1":
        yield "around ln 2", around(np.log(2), random, count)
    if function == "tanh":
        yield "[-23, 23]", uniform(-23, 23)
    if function in ("log", "rsqrt", "sqrt"):
        yield "around 1", around(1, random, count)
        yield "subnormal", np.abs(subnormal)
    if function == "log1p":
        yield "around -1", -1 + 2.0 ** uniform(-53, 0)
        yield "2^[-60, 70]", 2.0 ** uniform(-60, 70)
    if function in ("sin", "cos"):
        yield "near n pi/2", near_multiples_of_half_pi(random, min(count, 20_000))
        yield "nearest to n pi/2", np.concatenate([NEAREST_MULTIPLES, -NEAREST_MULTIPLES])
        yield "huge", 2.0 ** uniform(900, 1024)


def hard_powers(
    random: np.random.Generator, count: int
) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """Yield (name of the domain, (base, exponent)) of pow in float64."""
    near = around(1, random, count)
    base = 2.0 ** random.uniform(-1074, 1024, count)
    with np.errstate(all="ignore"):
        yield "base at 1, finite result", (near, random.uniform(-1080, 1030, count) / np.log2(near))
        yield "subnormal results", (base, random.uniform(-1075, -1020, count) / np.log2(base))
        yield "around the overflow", (base, random.uniform(1023.9, 1024.01, count) / np.log2(base))
    subnormal = random.integers(1, 2**52, count).view(np.float64)
    yield "subnormal base", (subnormal, random.uniform(-1, 1, count))
