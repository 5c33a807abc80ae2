"""The measured functions of float32 that are not in `base_functions.py`.

Rows for `measure_ulp.py`; see `functions.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from functions import HALF, REFERENCES, SINGLE, Domains, Function, near_zero

Ranges = tuple[tuple[float, float], ...]


def _row(name: str, ranges: Ranges) -> Function:
    return Function(name, *REFERENCES[name], ranges, dialects=SINGLE + HALF)


def _pair(name: str, domains: Domains) -> Function:
    return Function(name, *REFERENCES[name], operands=2, dialects=SINGLE + HALF, domains=domains)


def plane(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Yield points of the plane: sides of near sizes at every scale, and slim ones."""
    x, y = random.uniform(-1, 1, (2, count))
    scale = 2.0 ** random.integers(-148, 128, count)
    yield "near sizes, any scale", ((x * scale).astype(dtype), (y * scale).astype(dtype))
    yield "[-1, 1]", (x.astype(dtype), y.astype(dtype))
    thin = x * 2.0 ** random.uniform(-20, 0, count)
    yield "slim", (x.astype(dtype), thin.astype(dtype))


def exponents(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Yield operands of logaddexp whose result is at least 2^-7: NumPy finds the worst."""
    x, y = random.uniform(-100, 100, (2, count)).astype(dtype)
    near = (x + random.uniform(-20, 20, count)).astype(dtype)
    narrow = random.uniform(-2, 1, (2, count)).astype(dtype)
    for name, first, second in (("wide", x, y), ("near", x, near), ("narrow", *narrow)):
        far = np.abs(np.logaddexp(first.astype(np.float64), second)) > 2.0**-7
        yield name, (first[far], second[far])


FUNCTIONS = (
    _row("exp2", ((-150, 128), (-2, 2), (-1e-3, 1e-3))),
    _row("log2", ((0, 10), (0.5, 2), (0.99, 1.01))),
    _row("log10", ((0, 100), (0.5, 2), (0.99, 1.01))),
    _row("cbrt", ((-8, 8), (0.9, 1.1))),
    _row("sigmoid", ((-104, 20), (-5, 5), (-18.1, -17))),
    _row("tan", ((-10, 10), (-1, 1), (-1e4, 1e4), (-1e9, 1e9))),
    _row("asin", ((-1, 1), (-0.5, 0.5), (0.99, 1))),
    _row("acos", ((-1, 1), (-0.5, 0.5), (0.99, 1), (-1, -0.99))),
    _row("atan", ((-10, 10), (-1, 1), (0.4, 0.5), (0.99, 1.01))),
    _row("sinh", ((-90, 90), (-2, 2), (88, 89.5))),
    _row("cosh", ((-90, 90), (-2, 2), (88, 89.5), (-0.01, 0.01))),
    _row("asinh", ((-10, 10), (-2, 2), (-0.1, 0.1), (1e4, 2e4))),
    _row("acosh", ((1, 10), (1, 1.01), (1.9, 2.1), (1e4, 2e4))),
    _row("atanh", ((-1, 1), (-0.5, 0.5), (0.99, 1))),
    _pair("atan2", plane),
    _pair("hypot", plane),
    _pair("logaddexp", exponents),
    near_zero(SINGLE + HALF),
)
