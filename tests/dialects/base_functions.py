"""The measured functions that every floating dialect has: exp, log, sin, pow and their relatives.

Rows for `measure_ulp.py`; see `functions.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
from f64_domains import hard_arguments, hard_powers
from functions import Domains, Function
from samples import WIDER, random_bits


def _reciprocal_root(x: np.ndarray) -> Any:
    return 1 / np.sqrt(x)


def power_arguments(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Yield (name of the domain, (base, exponent)) for pow, most with finite results."""
    limits = np.finfo(dtype)
    wide = WIDER[np.dtype(dtype).name]
    bits = np.abs(random_bits(random, count, dtype))
    with np.errstate(all="ignore"):
        logarithm = np.log2(bits.astype(wide))
        result = random.uniform(limits.minexp - limits.nmant, limits.maxexp, count)
        yield "any base, finite result", (bits, (result / logarithm).astype(dtype))
        near_one = (
            1 + random.uniform(-1, 1, count) * 2.0 ** random.uniform(-22, -1, count)
        ).astype(dtype)
        logarithm = np.log2(near_one.astype(wide))
        yield "base near 1, finite result", (near_one, (result / logarithm).astype(dtype))
    yield (
        "[0.5, 2] ** [-100, 100]",
        (
            random.uniform(0.5, 2, count).astype(dtype),
            random.uniform(-100, 100, count).astype(dtype),
        ),
    )
    yield (
        "negative base, integers",
        (
            -random.uniform(0.1, 10, count).astype(dtype),
            random.integers(-40, 40, count).astype(dtype),
        ),
    )
    if np.dtype(dtype) == np.float64:
        yield from hard_powers(random, count)


def _hard(name: str) -> Domains:
    """Domains where binary64 is hardest; other dtypes have none here."""

    def domains(
        random: np.random.Generator, count: int, dtype: Any
    ) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
        if np.dtype(dtype) == np.float64:
            for domain, x in hard_arguments(name, random, count):
                yield domain, (x,)

    return domains


def _row(name: str, exact: Any, wide: Any, ranges: tuple[tuple[float, float], ...]) -> Function:
    return Function(name, exact, wide, ranges, domains=_hard(name))


FUNCTIONS = (
    _row("exp", mpmath.exp, np.exp, ((-104, 89), (-10, 10), (-0.4, 0.4))),
    _row("expm1", mpmath.expm1, np.expm1, ((-30, 89), (-2, 2), (-0.4, 0.4), (-1e-3, 1e-3))),
    _row("log", mpmath.log, np.log, ((0, 10), (0.5, 2), (0.99, 1.01))),
    _row("log1p", mpmath.log1p, np.log1p, ((-1, 1), (-0.4, 0.5), (-1e-3, 1e-3), (0, 1e9))),
    _row("sin", mpmath.sin, np.sin, ((-10, 10), (-1e4, 1e4), (-1e9, 1e9))),
    _row("cos", mpmath.cos, np.cos, ((-10, 10), (-1e4, 1e4), (-1e9, 1e9))),
    _row("tanh", mpmath.tanh, np.tanh, ((-10, 10), (-1, 1), (0.5, 0.7))),
    _row("sqrt", mpmath.sqrt, np.sqrt, ((0, 4),)),
    _row("rsqrt", lambda x: 1 / mpmath.sqrt(x), _reciprocal_root, ((0, 4),)),
    Function("pow", mpmath.power, np.power, operands=2, domains=power_arguments),
)
