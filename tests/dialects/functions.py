"""The registry's shape: which functions `measure_ulp.py` measures, in which dialects and where.

A row is a `Function`. Each family of dialects keeps its rows in a file of its own, which exports
`FUNCTIONS`; `measure_ulp.py` joins them. `REFERENCES` holds the NumPy and mpmath functions that
rows of several dialects share. Nothing here runs on a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

#: Yields (name of a domain, one array per operand) from a generator, a count and a dtype.
Domains = Callable[[np.random.Generator, int, Any], Iterator[tuple[str, tuple[np.ndarray, ...]]]]
SINGLE = ("f32",)
HALF = ("f16s", "f16n")
DOUBLE = ("f64s", "f64n")
FLOATS = SINGLE + HALF + DOUBLE


@dataclass(frozen=True)
class Function:
    """One measured function.

    Attributes:
        name: what the dialects call it (`tf_<name>_<dialect>`).
        exact: the function in mpmath, of as many numbers as it has operands.
        wide: the function in NumPy, called with the next wider format to find the worst of all
            samples; None: mpmath computes every sample, and there are fewer of them.
        ranges: operands uniform between two numbers (each part of a complex one), each a domain.
        operands: how many there are.
        dialects: where these domains are measured.
        domains: more of them.
        all_bits: whether operands of random bits are a domain too.
        positive: whether "all bits" is of positive numbers only.
        absolute: in units of the dtype's epsilon, an error that counts as none: near zeros of a
            function that are not representable.
    """

    name: str
    exact: Callable[..., Any]
    wide: Callable[..., Any] | None
    ranges: tuple[tuple[float, float], ...] = ()
    operands: int = 1
    dialects: tuple[str, ...] = FLOATS
    domains: Domains | None = None
    all_bits: bool = True
    absolute: float = 0.0
    positive: bool = False


def _sigmoid(x: np.ndarray) -> Any:
    return 1 / (1 + np.exp(-x))


def _exact_atanh(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.log1p(2 * x / (1 - x)) / 2


def _exact_asinh(x: mpmath.mpf) -> mpmath.mpf:
    magnitude = mpmath.log1p(abs(x) + x * x / (1 + mpmath.sqrt(1 + x * x)))
    return magnitude if x >= 0 else -magnitude


def _exact_atan2(y: mpmath.mpf, x: mpmath.mpf) -> mpmath.mpf:
    # mpmath has no signed zeros to tell which side of the cut is meant.
    return mpmath.nan if y == 0 else mpmath.atan2(y, x)


def _exact_cbrt(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.cbrt(x) if x >= 0 else -mpmath.cbrt(-x)


def _exact_logaddexp(x: mpmath.mpf, y: mpmath.mpf) -> mpmath.mpf:
    return max(x, y) + mpmath.log1p(mpmath.exp(-abs(x - y)))


def powers_near_one(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Yield pairs whose powers add up to nearly one, where logaddexp is nearly zero."""
    least = np.log(float(np.finfo(dtype).smallest_subnormal)) + 1
    uniform = random.uniform(-3, -0.7, count // 2)
    smaller = np.append(uniform, -(2.0 ** random.uniform(-0.5, np.log2(-least), count // 2)))
    smaller = smaller.astype(dtype)
    with mpmath.workprec(300):
        zeros = [float(mpmath.log1p(-mpmath.exp(float(each)))) for each in smaller]
    nearest = np.array(zeros).astype(dtype)
    beside = nearest * (1 + random.choice([-1, 1], nearest.size) * 2.0 ** random.uniform(-53, 0))
    towards = random.choice([-1, 1, 0], nearest.size).astype(dtype)
    neighbours = np.where(towards == 0, nearest, np.nextafter(nearest, towards))
    yield "next to zero", (neighbours, smaller)
    yield "about zero", (smaller, beside.astype(dtype))
    larger = -(2.0 ** random.uniform(-7, -0.53, count))
    result = larger * random.choice([-1, 1], count) * 2.0 ** random.uniform(-9, -0.1, count)
    smaller = np.log(np.expm1(result) - np.expm1(larger))
    yield "part lost", (larger.astype(dtype), smaller.astype(dtype))


#: name -> (mpmath's function, NumPy's function): the first fields of a row after its name.
REFERENCES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "cbrt": (_exact_cbrt, np.cbrt),
    "exp2": (lambda x: mpmath.power(2, x), np.exp2),
    "log2": (lambda x: mpmath.log(x) / mpmath.log(2), np.log2),
    "log10": (lambda x: mpmath.log(x) / mpmath.log(10), np.log10),
    "tan": (mpmath.tan, np.tan),
    "asin": (mpmath.asin, np.arcsin),
    "acos": (mpmath.acos, np.arccos),
    "atan": (mpmath.atan, np.arctan),
    "sinh": (mpmath.sinh, np.sinh),
    "cosh": (mpmath.cosh, np.cosh),
    "asinh": (_exact_asinh, np.arcsinh),
    "acosh": (mpmath.acosh, np.arccosh),
    "atanh": (_exact_atanh, np.arctanh),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), _sigmoid),
    "atan2": (_exact_atan2, np.arctan2),
    "hypot": (mpmath.hypot, np.hypot),
    "logaddexp": (_exact_logaddexp, np.logaddexp),
}


def near_zero(dialects: tuple[str, ...]) -> Function:
    """The row of logaddexp next to its zeros, where only mpmath has digits enough."""
    exact = REFERENCES["logaddexp"][0]
    return Function("logaddexp", exact, None, (), 2, dialects, powers_near_one, all_bits=False)
