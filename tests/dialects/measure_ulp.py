"""Prints the largest error of each floating-point function of a dialect in units of the last place.

Run by hand and by `test_f32.py` (in small): `python tests/dialects/measure_ulp.py [--dialect f32]
[--samples 1000000]`. All samples are compared with NumPy in the next wider format; the worst of
them are computed again with mpmath, and those errors are the ones printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

if __package__:
    from .f64_domains import hard_arguments, hard_powers
    from .harness import adapter_name, evaluate, use_adapter
else:
    from f64_domains import (  # type: ignore[import-not-found, no-redef]
        hard_arguments,
        hard_powers,
    )
    from harness import adapter_name, evaluate, use_adapter  # type: ignore[import-not-found, no-redef]

WORST_POINTS = 40
#: Wider format that NumPy computes references in. 80-bit long doubles leave 11 bits for binary64.
WIDER: dict[str, Any] = {"float32": np.float64, "float64": np.longdouble}

Sampler = Callable[[np.random.Generator, int, Any], tuple[np.ndarray, ...]]


@dataclass(frozen=True)
class Function:
    """One measured function: its NumPy and mpmath references and where its arguments come from."""

    name: str
    wide: Callable[..., np.ndarray]
    exact: Callable[..., Any]
    ranges: tuple[tuple[float, float], ...]


def _reciprocal_root(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


FUNCTIONS = (
    Function("exp", np.exp, mpmath.exp, ((-104, 89), (-10, 10), (-0.4, 0.4))),
    Function("expm1", np.expm1, mpmath.expm1, ((-30, 89), (-2, 2), (-0.4, 0.4), (-1e-3, 1e-3))),
    Function("log", np.log, mpmath.log, ((0, 10), (0.5, 2), (0.99, 1.01))),
    Function("log1p", np.log1p, mpmath.log1p, ((-1, 1), (-0.4, 0.5), (-1e-3, 1e-3), (0, 1e9))),
    Function("sin", np.sin, mpmath.sin, ((-10, 10), (-1e4, 1e4), (-1e9, 1e9))),
    Function("cos", np.cos, mpmath.cos, ((-10, 10), (-1e4, 1e4), (-1e9, 1e9))),
    Function("tanh", np.tanh, mpmath.tanh, ((-10, 10), (-1, 1), (0.5, 0.7))),
    Function("sqrt", np.sqrt, mpmath.sqrt, ((0, 4),)),
    Function("rsqrt", _reciprocal_root, lambda x: 1 / mpmath.sqrt(x), ((0, 4),)),
)


def random_bits(random: np.random.Generator, count: int, dtype: Any) -> np.ndarray:
    """Return numbers of uniformly random bits: every exponent, both signs, some not finite."""
    words = np.dtype(f"u{np.dtype(dtype).itemsize}")
    return random.integers(0, np.iinfo(words).max, count, dtype=words, endpoint=True).view(dtype)


def arguments(
    function: Function, random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (name of the domain, arguments): random bits, then each range."""
    yield "all bits", random_bits(random, count, dtype)
    for low, high in function.ranges:
        yield f"[{low:g}, {high:g}]", random.uniform(low, high, count).astype(dtype)
    if np.dtype(dtype) == np.float64:
        yield from hard_arguments(function.name, random, count)


def power_arguments(
    random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """Yield (name of the domain, (base, exponent)) for pow, most with finite results."""
    limits = np.finfo(dtype)
    bits = np.abs(random_bits(random, count, dtype))
    with np.errstate(all="ignore"):
        yield "all bits", (bits, random_bits(random, count, dtype))
        logarithm = np.log2(bits.astype(WIDER[np.dtype(dtype).name]))
        result = random.uniform(limits.minexp - limits.nmant, limits.maxexp, count)
        yield "any base, finite result", (bits, (result / logarithm).astype(dtype))
        near_one = (
            1 + random.uniform(-1, 1, count) * 2.0 ** random.uniform(-22, -1, count)
        ).astype(dtype)
        logarithm = np.log2(near_one.astype(WIDER[np.dtype(dtype).name]))
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


def last_place(exact: np.ndarray, dtype: Any) -> np.ndarray:
    """Return the unit in the last place of `dtype` at `exact` (in the wider format)."""
    limits = np.finfo(dtype)
    exponents = np.maximum(np.frexp(exact)[1] - 1, limits.minexp)
    return np.ldexp(np.ones_like(exact), exponents - limits.nmant)


def errors_in_ulp(
    got: np.ndarray, exact: np.ndarray, dtype: Any, *, flushes: bool = False
) -> np.ndarray:
    """Return |got - exact| in units of the last place of `dtype`; infinite where kinds differ.

    Results and exact values past the largest finite number by less than half a place agree. With
    `flushes`, an exact value below the normal numbers may also come out as zero.
    """
    wide = got.astype(exact.dtype)
    limits = np.finfo(dtype)
    with np.errstate(all="ignore"):
        unit = last_place(np.where(np.isfinite(exact), exact, 0), dtype)
        error = np.abs(wide - exact) / unit
        top = limits.max.astype(exact.dtype) * (1 + limits.eps.astype(exact.dtype) / 4)
        overflows = np.abs(exact) >= top
        fits = np.isinf(wide) & (np.sign(wide) == np.sign(exact))
        error = np.where(overflows, np.where(fits, 0, np.inf), error)
        both_nan = np.isnan(exact) & np.isnan(wide)
        error = np.where(np.isnan(exact) | np.isnan(wide), np.where(both_nan, 0, np.inf), error)
        if flushes:
            error = np.where((np.abs(exact) < limits.tiny) & (wide == 0), 0, error)
    return np.asarray(error)


def flushed(x: np.ndarray) -> np.ndarray:
    """Return `x` with subnormal numbers as zeros of their sign, as flushing hardware sees them."""
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def worst_with_mpmath(
    function: Callable[..., Any],
    operands: tuple[np.ndarray, ...],
    got: np.ndarray,
    errors: np.ndarray,
) -> tuple[float, tuple[float, ...]]:
    """Return the largest error among the worst points, by mpmath, and its operands."""
    largest, where = 0.0, tuple(float(each[0]) for each in operands)
    candidates = np.argsort(np.where(np.isfinite(errors), errors, np.inf))[-WORST_POINTS:]
    for index in candidates:
        point = tuple(float(each[index]) for each in operands)
        error = float(errors[index])
        if np.isfinite(error) and np.isfinite(got[index]) and np.all(np.isfinite(point)):
            with mpmath.workprec(1200):
                exact = mpmath.mpmathify(function(*point))
                unit = mpmath.mpf(float(last_place(np.array([float(exact)]), got.dtype)[0]))
                error = float(abs(mpmath.mpf(float(got[index])) - exact) / unit) if unit else error
        if error > largest:
            largest, where = error, point
    return largest, where


def device_flushes(name: str) -> bool:
    """Return whether the adapter flushes subnormal results of the dialect's arithmetic."""
    dtype = {"f32": np.float32}.get(name, np.float64)
    tiny = np.full(4, np.finfo(dtype).tiny)
    half = np.full(4, dtype(0.5))
    product = evaluate(f"{{{{ {name}.mul }}}}(a, b)", tiny, half, result=name, inputs=(name, name))
    return bool(product[0] == 0)


def measure(
    name: str, count: int, seed: int = 1
) -> Iterator[tuple[str, str, float, tuple[float, ...]]]:
    """Yield (function, domain, largest error in ulp, operands there) for a dialect."""
    dtype = np.float32 if name == "f32" else np.float64
    wide = WIDER[np.dtype(dtype).name]
    random = np.random.default_rng(seed)
    flushes = device_flushes(name)
    for function in FUNCTIONS:
        for domain, x in arguments(function, random, count, dtype):
            got = evaluate(f"{{{{ {name}.{function.name} }}}}(a)", x, result=name, inputs=(name,))
            with np.errstate(all="ignore"):
                exact = function.wide(x.astype(wide))
                errors = errors_in_ulp(got, exact, dtype, flushes=flushes)
                if flushes:
                    other = function.wide(flushed(x).astype(wide))
                    errors = np.minimum(errors, errors_in_ulp(got, other, dtype, flushes=True))
            yield function.name, domain, *worst_with_mpmath(function.exact, (x,), got, errors)
    for domain, (x, y) in power_arguments(random, count, dtype):
        got = evaluate(f"{{{{ {name}.pow }}}}(a, b)", x, y, result=name, inputs=(name, name))
        with np.errstate(all="ignore"):
            exact = np.power(x.astype(wide), y.astype(wide))
        errors = errors_in_ulp(got, exact, dtype, flushes=flushes)
        yield "pow", domain, *worst_with_mpmath(mpmath.power, (x, y), got, errors)


def main() -> None:
    """Measure the dialects named on the command line and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", action="append", choices=["f32", "f64s", "f64n"])
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--adapter", default="", help='part of its name ("llvmpipe"); default: any')
    chosen = parser.parse_args()
    use_adapter(chosen.adapter)
    print(f"adapter: {adapter_name()}; {chosen.samples} samples per domain")
    print(f"{'dialect':8}{'function':9}{'domain':28}{'max ulp':>10}  at")
    for name in chosen.dialect or ["f32"]:
        for function, domain, error, where in measure(name, chosen.samples):
            place = ", ".join(f"{each:.9g}" for each in where)
            print(f"{name:8}{function:9}{domain:28}{error:10.3f}  {place}")


if __name__ == "__main__":
    main()
