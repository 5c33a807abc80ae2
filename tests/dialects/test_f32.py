"""float32 in WGSL: exact arithmetic, special values, and transcendental functions in ulp."""

from __future__ import annotations

import numpy as np
import pytest
from base_functions import FUNCTIONS
from harness import evaluate
from measure_ulp import device_flushes, flushed, measure, random_bits

INFINITY, NAN = np.inf, np.nan
TINY = np.finfo(np.float32).tiny
SUBNORMAL = np.finfo(np.float32).smallest_subnormal
SPECIAL = np.array(
    [0, SUBNORMAL, 3 * SUBNORMAL, TINY - SUBNORMAL, TINY, 1.5 * TINY, 2.0**-64, 2.0**-24, 0.5]
    + [1 - 2.0**-24, 1, 1 + 2.0**-23, 1.5, 2, 3, 100, 2.0**23, 2.0**24, 2.0**31, 2.0**32]
    + [1e30, 2.0**63, 3.4028233e38, np.finfo(np.float32).max, INFINITY, NAN],
    dtype=np.float32,
)
SPECIAL = np.concatenate([SPECIAL, -SPECIAL])
PAIRS = tuple(side.reshape(-1) for side in np.meshgrid(SPECIAL, SPECIAL, indexing="ij"))
SAMPLES = 1_000_000


def pairs(count: int = SAMPLES) -> tuple[np.ndarray, np.ndarray]:
    """Random bits, pairs of near magnitudes that cancel, and all pairs of special numbers."""
    random = np.random.default_rng(7)
    x = random_bits(random, count, np.float32)
    y = random_bits(random, count, np.float32)
    near = x[: count // 4].view(np.uint32) ^ (random.integers(0, 2**31, count // 4) >> 12).astype(
        np.uint32
    )
    y[: count // 4] = -near.view(np.float32)
    return np.concatenate([x, PAIRS[0]]), np.concatenate([y, PAIRS[1]])


def different(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Where the bits differ, any NaN being as good as any other."""
    both_nan = np.isnan(got) & np.isnan(expected)
    return (got.view(np.uint32) != expected.view(np.uint32)) & ~both_nan


def assert_same(got: np.ndarray, expected: np.ndarray, *operands: np.ndarray) -> None:
    """Bits agree; on a device that flushes, only where no subnormal number takes part."""
    wrong = different(got, expected)
    if device_flushes("f32"):
        for array in (*operands, expected):
            wrong &= ~((np.abs(array) < 2 * TINY) & (array != 0))
    where = np.flatnonzero(wrong)[:5]
    shown = [(*(each[i] for each in operands), got[i], expected[i]) for i in where]
    assert not wrong.any(), f"{wrong.sum()} differ; operands, got, expected: {shown}"


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic_has_the_bits_of_numpy(name: str) -> None:
    x, y = pairs()
    with np.errstate(all="ignore"):
        expected = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name](
            x, y
        )
    assert_same(evaluate(f"{{{{ f32.{name} }}}}(a, b)", x, y, result="f32"), expected, x, y)


def test_sqrt_has_the_bits_of_numpy() -> None:
    x, _ = pairs()
    with np.errstate(all="ignore"):
        assert_same(evaluate("{{ f32.sqrt }}(a)", x, result="f32"), np.sqrt(x), x)


@pytest.mark.parametrize("name", ["neg", "abs", "sign"])
def test_sign_functions(name: str) -> None:
    x, _ = pairs(10_000)
    expected = {"neg": np.negative, "abs": np.abs, "sign": np.sign}[name](x)
    assert_same(evaluate(f"{{{{ f32.{name} }}}}(a)", x, result="f32"), expected, x)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_propagate_nan(name: str) -> None:
    x, y = pairs(10_000)
    got = evaluate(f"{{{{ f32.{name} }}}}(a, b)", x, y, result="f32")
    expected = getattr(np, name)(x, y)
    if device_flushes("f32"):
        got, expected = flushed(got), flushed(expected)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
)
@pytest.mark.parametrize("negated", [False, True])
def test_comparisons(name: str, negated: bool) -> None:
    x, y = pairs(10_000)
    x, y = np.concatenate([x, x]), np.concatenate([y, x])
    if device_flushes("f32"):
        x, y = flushed(x), flushed(y)
    sign = "!" if negated else ""
    got = evaluate(f"{sign}{{{{ f32.{name} }}}}(a, b)", x, y, result="bool")
    np.testing.assert_array_equal(got, getattr(np, name)(x, y) ^ negated)


def exact_fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """x * y + z rounded once.

    The product is exact in float64. The sum is rounded to odd there (an inexact one takes the
    neighbour whose last bit is set), after which rounding to float32 is as good as rounding once.
    """
    with np.errstate(all="ignore"):
        product = x.astype(np.float64) * y
        addend = z.astype(np.float64)
        total = product + addend
        back = total - product
        lost = (product - (total - back)) + (addend - back)
        bits = total.view(np.int64)
        away = np.where((lost > 0) == (total > 0), 1, -1)
        inexact = np.isfinite(total) & (lost != 0) & (bits & 1 == 0)
        return np.where(inexact, bits + away, bits).view(np.float64).astype(np.float32)


def fma_operands() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random bits, cancelling addends, subnormal results, ties broken only by a lost bit."""
    random = np.random.default_rng(11)
    count = 200_000
    x, y, z = (random_bits(random, count, np.float32) for _ in range(3))
    scale = 2.0 ** random.integers(-30, 30, count)
    near_x = random.uniform(1, 2, count).astype(np.float32)
    near_y = (random.uniform(1, 2, count) * scale).astype(np.float32)
    product = near_x.astype(np.float64) * near_y
    cancelling = (-product * (1 + random.choice([0, 0, 1e-7, 1e-3, 0.5, 3], count))).astype(
        np.float32
    )
    low_x = (random.uniform(1, 2, count) * 2.0**-74).astype(np.float32)
    low_y = (random.uniform(1, 2, count) * 2.0 ** random.integers(-77, -45, count)).astype(
        np.float32
    )
    low_z = random.integers(-4, 5, count).astype(np.float32) * SUBNORMAL
    # 1 + 2^-24 is a tie; the product of the last two decides which way.
    ties = 1 + 2.0**-23 * random.integers(0, 64, count)
    lost = 2.0 ** random.integers(-48, -24, count) * random.choice([-1, 1], count)
    half = np.full(count, 2.0**-24) * random.choice([-1, 1], count)
    tie_x, tie_y = (half * (1 + lost)).astype(np.float32), (1 + lost).astype(np.float32)
    columns = [
        (x, y, z),
        (near_x, near_y, cancelling),
        (low_x, low_y, low_z),
        (tie_x, tie_y, ties.astype(np.float32)),
        tuple(random.choice(SPECIAL, count) for _ in range(3)),
    ]
    return tuple(np.concatenate(column) for column in zip(*columns, strict=True))  # type: ignore[return-value]


def test_fma_rounds_once() -> None:
    x, y, z = fma_operands()
    got = evaluate("{{ f32.fma }}(a, b, c)", x, y, z, result="f32")
    expected = exact_fma(x, y, z)
    assert_same(got, expected, x, y, z)


def test_fma_differs_from_two_roundings_where_it_must() -> None:
    x = np.array([1 + 2.0**-23], np.float32)
    got = evaluate("{{ f32.fma }}(a, a, b)", x, -(x * x), result="f32")
    assert got[0] == 2.0**-46


EXPRESSIONS_A_COMPILER_MAY_FOLD = {
    "f32.sub(f32.hide(f32.add(a, b)), a)": lambda a, b: (a + b) - a,
    "f32.sub(a, f32.hide(a))": lambda a, b: a - a,
    "f32.div(a, f32.hide(a))": lambda a, b: a / a,
    "f32.mul(a, f32.hide(f32.zero()))": lambda a, b: a * np.float32(0),
}


@pytest.mark.parametrize("expression", EXPRESSIONS_A_COMPILER_MAY_FOLD)
def test_hidden_values_are_not_folded(expression: str) -> None:
    a = np.array([1e8, 1, INFINITY, NAN, 0, -3], np.float32)
    b = np.ones_like(a)
    wgsl = expression.replace("f32.", "tf_")
    for name in ("sub", "hide", "add", "div", "mul", "zero"):
        wgsl = wgsl.replace(f"tf_{name}(", f"tf_{name}_f32(")
    with np.errstate(all="ignore"):
        expected = EXPRESSIONS_A_COMPILER_MAY_FOLD[expression](a, b)
    assert_same(evaluate(wgsl, a, b, result="f32"), expected, a, b)


UNARY_SPECIAL = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


@pytest.mark.parametrize("name", UNARY_SPECIAL)
def test_special_values(name: str) -> None:
    x = np.array([0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, -2, 1e30, -1e30], np.float32)
    with np.errstate(all="ignore"):
        expected = UNARY_SPECIAL[name](x.astype(np.float64)).astype(np.float32)
    got = evaluate(f"{{{{ f32.{name} }}}}(a)", x, result="f32")
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    exact = ~np.isfinite(expected) | (expected == 0) | (np.abs(expected) == 1)
    assert_same(got[exact], expected[exact], x[exact])
    np.testing.assert_allclose(got[~exact], expected[~exact], rtol=4 * 2.0**-24)


@pytest.mark.parametrize("name", ["sin", "tanh", "expm1", "log1p"])
def test_subnormal_arguments_come_back(name: str) -> None:
    x = np.array([SUBNORMAL, -SUBNORMAL, TINY / 2, -TINY / 3, 2.0**-30, -0.0], np.float32)
    got = evaluate(f"{{{{ f32.{name} }}}}(a)", x, result="f32")
    assert not different(got, x).any()


def test_log_of_subnormal_numbers() -> None:
    x = np.array([SUBNORMAL, 5 * SUBNORMAL, TINY / 2, TINY / 3], np.float32)
    got = evaluate("{{ f32.log }}(a)", x, result="f32")
    np.testing.assert_allclose(got, np.log(x.astype(np.float64)), rtol=2.0**-23)


def test_exp_reaches_subnormal_results() -> None:
    x = np.array([-87.5, -90, -100, -103.5, -104], np.float32)
    got = evaluate("{{ f32.exp }}(a)", x, result="f32")
    expected = np.exp(x.astype(np.float64)).astype(np.float32)
    if device_flushes("f32"):
        expected = flushed(expected)
    assert np.abs(got - expected).max() <= 2 * SUBNORMAL


POWER_VALUES = np.array(
    [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 2.5, -2.5, 1e30, -1e30, INFINITY, -INFINITY, NAN]
    + [16777215, 16777216, 16777217.0, -16777215, 8388607.5, 1 + 2.0**-23, 1 - 2.0**-24, 150, -151],
    np.float32,
)


def test_power_table_of_ieee() -> None:
    x, y = (each.reshape(-1) for each in np.meshgrid(POWER_VALUES, POWER_VALUES))
    got = evaluate("{{ f32.pow }}(a, b)", x, y, result="f32")
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    if device_flushes("f32"):
        expected = flushed(expected)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    np.testing.assert_array_equal(
        np.signbit(got[~np.isnan(got)]), np.signbit(expected[~np.isnan(got)])
    )
    np.testing.assert_allclose(got, expected, rtol=4 * 2.0**-24, atol=2 * SUBNORMAL)


#: Largest errors in ulp where division and square root are rounded correctly; 4 is the promise.
BOUNDS = {
    "exp": 1.1,
    "expm1": 1.7,
    "log": 1.0,
    "log1p": 1.0,
    "sqrt": 0.5,
    "sin": 3.0,
    "cos": 3.0,
    "tanh": 1.5,
    "rsqrt": 1.6,
    "pow": 1.2,
}


def test_transcendental_functions_are_within_their_bounds(dialect_device: str) -> None:
    found = measure("f32", 50_000, functions=FUNCTIONS)
    errors = {(name, domain): error for name, domain, error, _ in found}
    software = dialect_device != "default"
    bounds = {where: BOUNDS.get(where[0], 2.0) if software else 4.0 for where in errors}
    too_large = {where: error for where, error in errors.items() if error > bounds[where]}
    assert len(errors) > 30
    assert not too_large


def test_sine_of_huge_and_of_nearly_cancelling_arguments() -> None:
    bits = np.arange(0x3F000000, 0x7F800000, 2999, dtype=np.uint32)
    # 16367173 * 2^72 is the float32 nearest to a multiple of pi/2, relative to its size.
    nearest = np.array([16367173 * 2.0**72], np.float32)
    x = np.concatenate([bits.view(np.float32), nearest])
    for name, reference in (("sin", np.sin), ("cos", np.cos)):
        got = evaluate(f"{{{{ f32.{name} }}}}(a)", x, result="f32")
        np.testing.assert_allclose(got, reference(x.astype(np.float64)), rtol=4 * 2.0**-24)
