"""float32's further functions in WGSL: bits against NumPy's, special values, errors in ulp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases.operations import floor_quotient
from f32_functions import FUNCTIONS
from functions import REFERENCES
from harness import evaluate
from measure_ulp import device_flushes, flushed, measure
from samples import random_bits
from test_f32 import INFINITY, NAN, SPECIAL, SUBNORMAL, TINY, assert_same, different, pairs


def whole_numbers_and_halves() -> np.ndarray:
    """Every magnitude: random bits, halves, their neighbours, and large odd numbers."""
    halves = np.arange(-1000, 1000, dtype=np.float32) / 2
    above = np.nextafter(halves, np.float32(INFINITY))
    edges = np.array([2.0**22, 2.0**23, 2.0**24, 2.0**31, 2.0**62], np.float32)
    near = np.concatenate([np.nextafter(edges, np.float32(0)), edges, edges + 0.5, edges + 1])
    random = random_bits(np.random.default_rng(3), 100_000, np.float32)
    return np.concatenate([random, SPECIAL, halves, above, -above, near, -near])


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round"])
def test_rounding_has_the_bits_of_numpy(name: str) -> None:
    x = whole_numbers_and_halves()
    got = evaluate(f"{{{{ f32.{name} }}}}(a)", x, result="f32")
    with np.errstate(all="ignore"):
        assert not different(got, getattr(np, name)(x)).any()


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "signbit"])
def test_predicates_know_every_number(name: str) -> None:
    x = whole_numbers_and_halves()
    own = {"isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite", "signbit": "sign_bit"}
    got = evaluate(f"{{{{ f32.{own[name]} }}}}(a)", x, result="bool")
    np.testing.assert_array_equal(got, getattr(np, name)(x))


@pytest.mark.parametrize("name", ["copysign", "nextafter"])
def test_moves_of_bits(name: str) -> None:
    x, y = pairs(20_000)
    got = evaluate(f"{{{{ f32.{name} }}}}(a, b)", x, y, result="f32")
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x, y)
    assert not different(got, expected).any()
    if name == "copysign":
        np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_extremes_ignore_nan(name: str) -> None:
    x, y = pairs(10_000)
    got = evaluate(f"{{{{ f32.{name} }}}}(a, b)", x, y, result="f32")
    expected = getattr(np, name)(x, y)
    if device_flushes("f32"):
        got, expected = flushed(got), flushed(expected)
    np.testing.assert_array_equal(got, expected)


def dividends_and_divisors() -> tuple[np.ndarray, np.ndarray]:
    """Pairs of every exponent difference, exact multiples, and all pairs of special numbers."""
    random = np.random.default_rng(11)
    x, y = pairs(100_000)
    small = random.integers(-40, 40, (2, 20_000)).astype(np.float32)
    divisor = random.uniform(-9, 9, 20_000).astype(np.float32)
    multiple = (divisor * random.integers(-(2**22), 2**22, 20_000)).astype(np.float32)
    first = np.concatenate([x, small[0], small[0] * np.float32(0.1), multiple])
    second = np.concatenate([y, small[1], small[1] * np.float32(0.1), divisor])
    return first, second


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
def test_division_with_remainder_has_the_bits_of_numpy(name: str) -> None:
    x, y = dividends_and_divisors()
    got = evaluate(f"{{{{ f32.{name} }}}}(a, b)", x, y, result="f32")
    with np.errstate(all="ignore"):
        expected = floor_quotient(x, y) if name == "floor_divide" else getattr(np, name)(x, y)
    if name == "fmod":  # in integers: subnormal numbers count on every device
        assert not different(got, expected).any()
    elif name == "remainder":
        with np.errstate(all="ignore"):
            rest = np.fmod(x, y)
        assert_same(got, expected, x, y, rest)
    else:
        flushes = device_flushes("f32")
        with np.errstate(all="ignore"):
            rest = np.fmod(x, y)
        some = (np.abs(np.stack([x, y, rest])) < 2 * TINY) & (np.stack([x, y, rest]) != 0)
        wrong = different(got, expected) & ~(flushes & some.any(0))
        assert not wrong.any(), (x[wrong][:5], y[wrong][:5], got[wrong][:5], expected[wrong][:5])


def test_atan2_has_the_table_of_c() -> None:
    values = np.array([0.0, -0.0, 1, -1, 2.5, -1e-30, 1e30, INFINITY, -INFINITY, NAN], np.float32)
    y, x = (side.reshape(-1) for side in np.meshgrid(values, values, indexing="ij"))
    got = evaluate("{{ f32.atan2 }}(a, b)", y, x, result="f32")
    expected = np.arctan2(y.astype(np.float64), x).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected) & ~np.isnan(got))
    np.testing.assert_allclose(got, expected, rtol=2.0**-23)
    y = np.array([1e-30, -1e-40, 3 * SUBNORMAL], np.float32)
    x = np.array([1e10, 1.0, 2.0], np.float32)
    expected = (y.astype(np.float64) / x).astype(np.float32)
    if device_flushes("f32"):
        expected = flushed(expected)
    assert np.abs(evaluate("{{ f32.atan2 }}(a, b)", y, x, result="f32") - expected).max() <= (
        0 if not device_flushes("f32") else TINY
    )


def test_hypot_neither_overflows_nor_underflows_early() -> None:
    x = np.array([3e38, 3, 3e-30, 3 * SUBNORMAL, 5, INFINITY, NAN, NAN, -INFINITY], np.float32)
    y = np.array([1e38, 4, 4e-30, 4 * SUBNORMAL, 0, NAN, -INFINITY, 1, 2], np.float32)
    got = evaluate("{{ f32.hypot }}(a, b)", x, y, result="f32")
    expected = np.hypot(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    if device_flushes("f32"):
        expected = flushed(expected)
    np.testing.assert_allclose(got, expected, rtol=2.0**-22)
    assert got[1] == 5
    exceeding = np.array([3e38], np.float32)
    assert evaluate("{{ f32.hypot }}(a, b)", exceeding, exceeding, result="f32")[0] == INFINITY


def test_logaddexp_of_infinities_and_of_large_numbers() -> None:
    values = np.array([INFINITY, -INFINITY, NAN, 0, 1, -1, 3e38, -3e38, 88.5, 89, 0.25], np.float32)
    x, y = (side.reshape(-1) for side in np.meshgrid(values, values))
    got = evaluate("{{ f32.logaddexp }}(a, b)", x, y, result="f32")
    with np.errstate(all="ignore"):
        expected = np.logaddexp(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(got, expected, rtol=2.0**-22)


#: Arguments at which each function of one operand is exact or not finite.
POINTS = [0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 3.4e38, -3.4e38, 1.5, -1.5, 200, -200]
EXACT: dict[str, Callable[[Any], Any]] = {name: REFERENCES[name][1] for name in REFERENCES}


@pytest.mark.parametrize("name", [row.name for row in FUNCTIONS if row.operands == 1])
def test_special_values_are_those_of_numpy(name: str) -> None:
    x = np.array(POINTS, np.float32)
    got = evaluate(f"{{{{ f32.{name} }}}}(a)", x, result="f32")
    with np.errstate(all="ignore"):
        expected = EXACT[name](x.astype(np.float64)).astype(np.float32)
    if device_flushes("f32"):
        expected = flushed(expected)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    defined = ~np.isnan(got)
    np.testing.assert_array_equal(np.signbit(got[defined]), np.signbit(expected[defined]))
    np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))
    finite = np.isfinite(got)
    np.testing.assert_allclose(got[finite], expected[finite], rtol=2.0**-22)


@pytest.mark.parametrize("name", ["cbrt", "tan", "asin", "atan", "sinh", "asinh", "atanh"])
def test_odd_functions_keep_small_arguments(name: str) -> None:
    x = np.array([SUBNORMAL, -SUBNORMAL, TINY / 2, -TINY / 3, 2.0**-30, -0.0], np.float32)
    got = evaluate(f"{{{{ f32.{name} }}}}(a)", x, result="f32")
    if name == "cbrt":
        np.testing.assert_allclose(got, np.cbrt(x.astype(np.float64)), rtol=2.0**-23)
    else:
        assert not different(got, x).any()


def test_powers_are_exact_where_they_can_be() -> None:
    power = np.arange(-149, 128).astype(np.float32)
    exact = np.ldexp(np.float32(1), power.astype(np.int32))
    expected = flushed(exact) if device_flushes("f32") else exact
    np.testing.assert_array_equal(evaluate("{{ f32.exp2 }}(a)", power, result="f32"), expected)
    np.testing.assert_array_equal(evaluate("{{ f32.log2 }}(a)", exact, result="f32"), power)
    tens = np.arange(-10, 39)
    x = (10.0**tens).astype(np.float32)
    np.testing.assert_array_equal(evaluate("{{ f32.log10 }}(a)", x, result="f32"), tens)
    cubes = np.arange(-255, 256).astype(np.float32)
    got = evaluate("{{ f32.cbrt }}(a)", cubes**3, result="f32")
    np.testing.assert_array_equal(got, cubes)


def test_sinh_and_cosh_overflow_where_they_do() -> None:
    x = np.array([88.8, 89.4, 89.41598, 89.41599, 89.5, -89.41598, -89.41599], np.float32)
    for name in ("sinh", "cosh"):
        got = evaluate(f"{{{{ f32.{name} }}}}(a)", x, result="f32")
        with np.errstate(over="ignore"):
            expected = getattr(np, name)(x.astype(np.float64)).astype(np.float32)
        np.testing.assert_allclose(got, expected, rtol=2.0**-22)


#: Largest errors in ulp where division and square root are rounded correctly; 4 is the promise.
BOUNDS = {"sigmoid": 2.5, "acosh": 2.2, "atan": 1.9, "asin": 1.0, "acos": 1.0, "log2": 0.6}


def test_errors_are_within_their_bounds(dialect_device: str) -> None:
    found = measure("f32", 20_000, functions=FUNCTIONS)
    errors = {(name, domain): error for name, domain, error, _ in found}
    software = dialect_device != "default"
    bounds = {where: BOUNDS.get(where[0], 1.8) if software else 4.0 for where in errors}
    too_large = {where: error for where, error in errors.items() if error > bounds[where]}
    assert len(errors) > 60
    assert not too_large
