"""The measured functions of binary64 that are not in `base_functions.py`.

Rows for `measure_ulp.py`; see `functions.py`. Domains are where these functions are hardest: small
and huge arguments, borders of cases and of table rows, results that overflow or underflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from f64_domains import NEAREST_MULTIPLES, around, near_multiples_of_half_pi
from functions import DOUBLE, REFERENCES, Domains, Function, near_zero

Operands = tuple[np.ndarray, ...]


def _signed_powers(random: np.random.Generator, low: float, high: float, count: int) -> np.ndarray:
    """Return numbers of both signs, uniform in the logarithm of their size."""
    return random.choice([-1.0, 1.0], count) * 2.0 ** random.uniform(low, high, count)


def _subnormal(random: np.random.Generator, count: int) -> np.ndarray:
    return random.integers(1, 2**52, count).view(np.float64) * random.choice([-1.0, 1.0], count)


def _of_sizes(*sizes: tuple[float, float], centers: tuple[float, ...] = ()) -> Domains:
    """Domains by powers of two that bound them, around some numbers, and subnormal ones."""

    def domains(
        random: np.random.Generator, count: int, dtype: Any
    ) -> Iterator[tuple[str, Operands]]:
        for low, high in sizes:
            yield f"2^[{low:g}, {high:g}]", (_signed_powers(random, low, high, count),)
        for center in centers:
            yield f"around {center:.4g}", (around(center, random, count),)
        yield "subnormal", (_subnormal(random, count),)

    return domains


def _tangent(random: np.random.Generator, count: int, dtype: Any) -> Iterator[tuple[str, Operands]]:
    yield from _of_sizes((-60, 2), (900, 1024))(random, count, dtype)
    yield "near n pi/2", (near_multiples_of_half_pi(random, min(count, 20_000)),)
    yield "nearest to n pi/2", (np.concatenate([NEAREST_MULTIPLES, -NEAREST_MULTIPLES]),)


def _cubes(random: np.random.Generator, count: int, dtype: Any) -> Iterator[tuple[str, Operands]]:
    yield from _of_sizes((-4, 4))(random, count, dtype)
    roots = np.floor(2.0 ** random.uniform(0, 17, count))
    neighbours = random.choice([-np.inf, np.inf], count)
    yield "next to cubes", (np.nextafter(roots**3, neighbours),)


def _planes(random: np.random.Generator, count: int, dtype: Any) -> Iterator[tuple[str, Operands]]:
    """Points of the plane: of all ratios, on the borders between table rows, tiny and huge."""
    x = _signed_powers(random, -500, 500, count)
    yield "ratios 2^[-8, 8]", (x * _signed_powers(random, -8, 8, count), x)
    yield "ratios 2^[-60, 60]", (x * _signed_powers(random, -60, 60, count), x)
    thirty_seconds = random.integers(1, 33, count) / 32
    yield "at borders", (x * thirty_seconds * (1 + _signed_powers(random, -52, -20, count)), x)
    yield "subnormal", (_subnormal(random, count), _signed_powers(random, -1070, -1000, count))
    yield "tiny ratios", (_subnormal(random, count), _signed_powers(random, -3, 60, count))
    yield (
        "huge",
        (_signed_powers(random, 1000, 1024, count), _signed_powers(random, 1000, 1024, count)),
    )


def _exponents(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, Operands]]:
    """Sums of exponentials whose logarithm stays 2^-9 away from zero: NumPy finds the worst."""
    for name, low, high in (("[-50, 50]", -50, 50), ("[-2, 2]", -2, 2), ("[-750, 710]", -750, 710)):
        a, b = random.uniform(low, high, (2, count))
        far = np.abs(np.logaddexp(a, b)) > 2.0**-9
        yield name, (a[far], b[far])
    a = random.uniform(-700, 700, count)
    yield "near each other", (a, a + _signed_powers(random, -50, 3, count))


def _row(name: str, *ranges: tuple[float, float], domains: Domains, operands: int = 1) -> Function:
    return Function(name, *REFERENCES[name], ranges, operands, DOUBLE, domains)


_SMALL = (-60.0, 0.0)

FUNCTIONS: tuple[Function, ...] = (
    _row("exp2", (-1075, -1021), (-1100, 1025), (-2, 2), domains=_of_sizes(_SMALL)),
    _row("log2", (0, 10), (0.5, 2), domains=_of_sizes((-60, 60), centers=(1,))),
    _row("log10", (0, 10), (0.5, 2), domains=_of_sizes((-60, 60), centers=(1,))),
    _row("cbrt", (-8, 8), domains=_cubes),
    _row("tan", (-2, 2), (-1e4, 1e4), (-1e9, 1e9), domains=_tangent),
    _row("asin", (-1, 1), domains=_of_sizes(_SMALL, centers=(1, -1, 0.5))),
    _row("acos", (-1, 1), domains=_of_sizes(_SMALL, centers=(1, -1, 0))),
    _row("atan", (-2, 2), (-40, 40), domains=_of_sizes(_SMALL, (0, 60), centers=(1, 1 / 32))),
    _row("sinh", (-22, 22), (-1, 1), (709, 710.5), domains=_of_sizes(_SMALL, (0, 9.5))),
    _row("cosh", (-22, 22), (-1, 1), (709, 710.5), domains=_of_sizes(_SMALL, (0, 9.5))),
    _row("asinh", (-4, 4), domains=_of_sizes(_SMALL, (0, 60), (500, 1024))),
    _row("acosh", (1, 4), domains=_of_sizes((0, 60), (500, 1024), centers=(1, 2))),
    _row("atanh", (-1, 1), domains=_of_sizes(_SMALL, centers=(1, -1, 1 / 32))),
    _row("sigmoid", (-40, 40), (-750, -700), domains=_of_sizes(_SMALL, (0, 9.5))),
    _row("atan2", domains=_planes, operands=2),
    _row("hypot", domains=_planes, operands=2),
    _row("logaddexp", domains=_exponents, operands=2),
    near_zero(DOUBLE),
)
