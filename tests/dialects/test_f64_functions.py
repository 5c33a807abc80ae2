"""The further functions of both binary64 dialects: bits, special values, exact results.

Where a result is a matter of bits (whole numbers, remainders, neighbours, signs) NumPy is the
reference over random patterns and every special one; errors in ulp are in `test_f64_math.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from binary64_patterns import SPECIAL_BITS, binary_bits, unary_bits
from cases.operations import floor_quotient
from harness import evaluate
from test_f64_math import NATIVE_BOUNDS, SPECIAL, apply, assert_same_values

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

COUNT = 20_000

WHOLE: dict[str, Callable[..., Any]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}
KINDS: dict[str, Callable[..., Any]] = {
    "is_nan": np.isnan,
    "is_inf": np.isinf,
    "is_finite": np.isfinite,
    "sign_bit": np.signbit,
}
OF_BITS: dict[str, Callable[..., Any]] = {
    "copysign": np.copysign,
    "nextafter": np.nextafter,
    "fmax": np.fmax,
    "fmin": np.fmin,
}
REMAINDERS: dict[str, Callable[..., Any]] = {
    "fmod": np.fmod,
    "remainder": np.remainder,
    "floor_divide": floor_quotient,
}
TRANSCENDENTAL: dict[str, Callable[..., Any]] = {
    "exp2": np.exp2,
    "log2": np.log2,
    "log10": np.log10,
    "cbrt": np.cbrt,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sigmoid": lambda x: np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x))),
}
PAIRS: dict[str, Callable[..., Any]] = {
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
}


def patterns(count: int = COUNT) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of numbers: random bits, near each other, specials with specials."""
    first, second = binary_bits(np.random.default_rng(1), count)
    return first.view(np.float64), second.view(np.float64)


def near_whole(random: np.random.Generator, count: int) -> np.ndarray:
    """Return halves of whole numbers of every size, and their neighbours."""
    halves = np.round(2.0 ** random.uniform(0, 54, count)) / 2 * random.choice([-1, 1], count)
    towards = random.choice([-np.inf, 0.0, np.inf], count)
    return np.where(towards == 0, halves, np.nextafter(halves, towards))


@pytest.mark.parametrize("function", WHOLE)
def test_whole_numbers(f64: str, function: str) -> None:
    random = np.random.default_rng(2)
    x = np.concatenate(
        [unary_bits(random, COUNT).view(np.float64), near_whole(random, COUNT), SPECIAL]
    )
    assert_same_values(apply(f64, function, x), WHOLE[function](x), x)


@pytest.mark.parametrize("function", KINDS)
def test_kinds_of_numbers(f64: str, function: str) -> None:
    x = unary_bits(np.random.default_rng(3), 1000).view(np.float64)
    got = evaluate(f"{{{{ {f64}.{function} }}}}(a)", x, result="bool", inputs=(f64,))
    np.testing.assert_array_equal(got, KINDS[function](x))


@pytest.mark.parametrize("function", OF_BITS)
def test_functions_of_bits(f64: str, function: str) -> None:
    x, y = patterns()
    got = apply(f64, function, x, y)
    wanted = OF_BITS[function](x, y)
    if function in ("fmax", "fmin"):  # either of two equal zeros
        both_zero = (x == 0) & (y == 0)
        assert np.all(got[both_zero] == 0)
        got[both_zero] = wanted[both_zero]
    assert_same_values(got, wanted, x, y)


def test_copied_signs_keep_every_payload(f64: str) -> None:
    """The sign of a NaN counts, and its other bits come through."""
    magnitudes, signs = (side.ravel() for side in np.meshgrid(SPECIAL_BITS, SPECIAL_BITS))
    got = apply(f64, "copysign", magnitudes.view(np.float64), signs.view(np.float64))
    top = np.uint64(1 << 63)
    np.testing.assert_array_equal(got.view(np.uint64), (magnitudes & ~top) | (signs & top))


@pytest.mark.parametrize("function", REMAINDERS)
def test_remainders(f64: str, function: str) -> None:
    """NumPy's bits, for random bits (quotients of 2,000 bits too), near multiples and specials."""
    random = np.random.default_rng(4)
    x, y = patterns()
    whole = np.round(2.0 ** random.uniform(0, 53, COUNT)) * random.choice([-1, 1], COUNT)
    divisor = random.uniform(-10, 10, COUNT)
    multiples = divisor * np.round(random.uniform(-1e6, 1e6, COUNT))
    x = np.concatenate([x, whole, multiples, np.repeat(SPECIAL, SPECIAL.size)])
    y = np.concatenate([y, whole[::-1], divisor, np.tile(SPECIAL, SPECIAL.size)])
    assert_same_values(apply(f64, function, x, y), REMAINDERS[function](x, y), x, y)


@pytest.mark.parametrize("function", TRANSCENDENTAL)
def test_special_values(f64: str, function: str) -> None:
    """The kind, the sign of zeros and the infinities of NumPy; 2 ulp elsewhere."""
    x = np.concatenate([SPECIAL, [710.0, -710.0, 711.0, -711.0, 1100.0, -1100.0, 1e-20, 0.25]])
    got = apply(f64, function, x)
    wanted = TRANSCENDENTAL[function](x)
    special = ~np.isfinite(wanted) | (wanted == 0)
    assert_same_values(got[special], wanted[special], x[special])
    np.testing.assert_array_max_ulp(got[~special], wanted[~special], 2)


@pytest.mark.parametrize("function", PAIRS)
def test_pairs_of_special_values(f64: str, function: str) -> None:
    x, y = (side.ravel() for side in np.meshgrid(SPECIAL, SPECIAL, indexing="ij"))
    got = apply(f64, function, x, y)
    wanted = PAIRS[function](x, y)
    special = ~np.isfinite(wanted) | (wanted == 0)
    assert_same_values(got[special], wanted[special], x[special], y[special])
    np.testing.assert_array_max_ulp(got[~special], wanted[~special], 2)


def test_angles_of_axes_and_diagonals_are_nearest(f64: str) -> None:
    """Multiples of pi/4, with infinities, zeros and numbers of any size on the axes."""
    sides = np.array([0.0, 1.0, 5e-324, 1e308, np.inf])
    sides = np.concatenate([sides, -sides])
    y, x = (side.ravel() for side in np.meshgrid(sides, sides, indexing="ij"))
    on_axis = (x == 0) | (y == 0) | (np.abs(x) == np.abs(y)) | np.isinf(x) | np.isinf(y)
    got = apply(f64, "atan2", y, x)
    assert_same_values(got[on_axis], np.arctan2(y, x)[on_axis], y[on_axis], x[on_axis])


def test_powers_and_logarithms_of_bases_are_exact(f64: str) -> None:
    exponents = np.arange(-1074, 1024).astype(np.float64)
    powers = np.ldexp(1.0, exponents.astype(int))
    assert_same_values(apply(f64, "exp2", exponents), powers, exponents)
    assert_same_values(apply(f64, "log2", powers), exponents, powers)
    tens = np.array([float(f"1e{power}") for power in range(-307, 309)])
    assert_same_values(apply(f64, "log10", tens), np.arange(-307.0, 309.0), tens)


def test_cube_roots_of_cubes_are_exact(f64: str) -> None:
    roots = np.concatenate([np.arange(1.0, 5000), 2.0 ** np.arange(-357, 342), [1e5, 208063.0]])
    roots = np.concatenate([roots, -roots])
    assert_same_values(apply(f64, "cbrt", roots**3), roots, roots**3)


def test_logaddexp_of_powers_that_are_one_to_80_bits(f64: str) -> None:
    """Pairs found by a search: the closer the sum of powers is to one, the more digits it takes."""
    larger = [-0.20172889564191165, -0.0003708122822376818, -8.75651070671047e-27]
    smaller = [-1.7000000001142361, -7.900000001614685, -60.00000000639365]
    larger += [-1.8939168809923462e-131, -9.85967604833309e-305]
    smaller += [-301.0000000738508, -700.0000000502478]
    got = apply(f64, "logaddexp", np.array(larger), np.array(smaller))
    with mpmath.workprec(2600):
        powers = [mpmath.exp(x) + mpmath.expm1(y) for x, y in zip(smaller, larger, strict=True)]
        exact = np.array([float(mpmath.log1p(power)) for power in powers])
    assert np.all(np.abs(exact / np.array(larger)) < 2.0**-73)
    np.testing.assert_array_max_ulp(got, exact, 1)


def test_hypotenuses_of_triples_are_exact_at_every_scale(f64: str) -> None:
    scales = 2.0 ** np.arange(-1070, 1018)
    for a, b, c in ((3, 4, 5), (20, 21, 29), (5, 12, 13)):
        assert_same_values(apply(f64, "hypot", a * scales, -b * scales), c * scales, scales)


def test_further_dialects_agree_bit_for_bit(f64: str) -> None:
    x, y = patterns(2000)
    for function in TRANSCENDENTAL.keys() - NATIVE_BOUNDS.keys():
        assert_same_values(apply(f64, function, x), apply("f64s", function, x), x)
    for function in (*PAIRS, *OF_BITS, *REMAINDERS):
        assert_same_values(apply(f64, function, x, y), apply("f64s", function, x, y), x, y)
