"""float16 in WGSL, software and native: every bit pattern, against NumPy's float16."""

from __future__ import annotations

import harness
import numpy as np
import pytest
from cases.operations import floor_quotient
from functions import REFERENCES
from harness import evaluate
from samples import random_bits

EVERY = np.arange(65536, dtype=np.uint16).view(np.float16)
DOUBLES = ("f64s", "f64n")


@pytest.fixture(params=["f16s", "f16n"])
def half(request: pytest.FixtureRequest, dialect_device: str) -> str:
    """Name of a float16 dialect the adapter can run."""
    if request.param == "f16n" and not harness.has_native_f16():
        pytest.skip(f"{dialect_device} has no native f16")
    return str(request.param)


def pairs(count: int = 200_000) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of any bits, of near sizes, and of subnormal numbers."""
    random = np.random.default_rng(17)
    x = random_bits(random, count, np.float16)
    y = random_bits(random, count, np.float16)
    near = x[: count // 4].view(np.uint16) ^ (random.integers(0, 2**16, count // 4) >> 9).astype(
        np.uint16
    )
    y[: count // 4] = -near.view(np.float16)
    tiny = random.integers(0, 0x800, (2, count // 4)).astype(np.uint16).view(np.float16)
    return np.concatenate([x, tiny[0], tiny[0]]), np.concatenate([y, tiny[1], -tiny[1]])


def assert_same(got: np.ndarray, expected: np.ndarray, *operands: np.ndarray) -> None:
    """Bits agree, any NaN being as good as any other."""
    assert got.dtype == expected.dtype
    words = np.dtype(f"u{got.itemsize}")
    with np.errstate(all="ignore"):
        both_nan = np.isnan(got) & np.isnan(expected)
    wrong = (got.view(words) != expected.view(words)) & ~both_nan
    where = np.flatnonzero(wrong)[:5]
    shown = [(*(each[i] for each in operands), got[i], expected[i]) for i in where]
    assert not wrong.any(), f"{wrong.sum()} differ; operands, got, expected: {shown}"


def test_storage_keeps_every_pattern(half: str) -> None:
    got = evaluate("a", EVERY, result=half, inputs=(half,))
    assert_same(got, EVERY)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(EVERY))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic_has_the_bits_of_numpy(half: str, name: str) -> None:
    x, y = pairs()
    numpy = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
    with np.errstate(all="ignore"):
        expected = numpy(x, y)
    got = evaluate(f"{{{{ {half}.{name} }}}}(a, b)", x, y, result=half, inputs=(half, half))
    assert_same(got, expected, x, y)


def test_sqrt_has_the_bits_of_numpy(half: str) -> None:
    with np.errstate(all="ignore"):
        expected = np.sqrt(EVERY)
    assert_same(evaluate(f"{{{{ {half}.sqrt }}}}(a)", EVERY, result=half, inputs=(half,)), expected)


def test_fma_rounds_once(half: str) -> None:
    x, y = pairs(100_000)
    z = np.roll(y, 1)
    with np.errstate(all="ignore"):
        z[::3] = (-x.astype(np.float32) * y).astype(np.float16)[::3]
        # Products are exact in float64, and so are almost all sums.
        expected = (x.astype(np.float64) * y + z).astype(np.float16)
    call = f"{{{{ {half}.fma }}}}(a, b, c)"
    assert_same(evaluate(call, x, y, z, result=half, inputs=(half,) * 3), expected, x, y, z)


@pytest.mark.parametrize("name", ["neg", "abs", "sign", "floor", "ceil", "trunc", "round"])
def test_exact_functions_have_the_bits_of_numpy(half: str, name: str) -> None:
    numpy = {"neg": np.negative, "round": np.rint}.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        expected = numpy(EVERY)
    call = f"{{{{ {half}.{name} }}}}(a)"
    assert_same(evaluate(call, EVERY, result=half, inputs=(half,)), expected, EVERY)


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "signbit"])
def test_predicates(half: str, name: str) -> None:
    own = {"isnan": "is_nan", "isinf": "is_inf", "isfinite": "is_finite", "signbit": "sign_bit"}
    call = f"{{{{ {half}.{own[name]} }}}}(a)"
    got = evaluate(call, EVERY, result="bool", inputs=(half,))
    np.testing.assert_array_equal(got, getattr(np, name)(EVERY))


@pytest.mark.parametrize(
    "name",
    ["copysign", "nextafter", "maximum", "minimum", "fmax", "fmin"]
    + ["fmod", "remainder", "floor_divide"],
)
def test_functions_of_two_have_the_bits_of_numpy(half: str, name: str) -> None:
    x, y = pairs(50_000)
    with np.errstate(all="ignore"):
        expected = floor_quotient(x, y) if name == "floor_divide" else getattr(np, name)(x, y)
    got = evaluate(f"{{{{ {half}.{name} }}}}(a, b)", x, y, result=half, inputs=(half, half))
    if name in ("maximum", "minimum", "fmax", "fmin"):  # which of two zeros is free
        np.testing.assert_array_equal(got, expected)
    else:
        assert_same(got, expected, x, y)


@pytest.mark.parametrize(
    "name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
)
def test_comparisons(half: str, name: str) -> None:
    x, y = pairs(50_000)
    x, y = np.concatenate([x, x]), np.concatenate([y, x])
    got = evaluate(f"{{{{ {half}.{name} }}}}(a, b)", x, y, result="bool", inputs=(half, half))
    np.testing.assert_array_equal(got, getattr(np, name)(x, y))


UNARY = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tanh")},
    **{name: wide for name, (_, wide) in REFERENCES.items()},
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
BINARY = ("pow", "atan2", "hypot", "logaddexp")


@pytest.mark.parametrize("name", [name for name in UNARY if name not in BINARY])
def test_transcendental_functions_of_every_number(half: str, name: str) -> None:
    got = evaluate(f"{{{{ {half}.{name} }}}}(a)", EVERY, result=half, inputs=(half,))
    assert_nearly(got, UNARY[name], EVERY)


@pytest.mark.parametrize("name", BINARY)
def test_transcendental_functions_of_two(half: str, name: str) -> None:
    # C's hypot and pow answer a signalling NaN with NaN, whatever the other operand is.
    x, y = (np.where(np.isnan(each), np.float16(np.nan), each) for each in pairs(50_000))
    numpy = np.power if name == "pow" else REFERENCES[name][1]
    got = evaluate(f"{{{{ {half}.{name} }}}}(a, b)", x, y, result=half, inputs=(half, half))
    assert_nearly(got, numpy, x, y)


def assert_nearly(got: np.ndarray, numpy: object, *operands: np.ndarray) -> None:
    """Results are the float16 nearest to the exact value, or its neighbour at a near tie."""
    assert callable(numpy)
    with np.errstate(all="ignore"):
        exact = numpy(*[each.astype(np.float64) for each in operands])
        expected = exact.astype(np.float16)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        np.testing.assert_array_equal(np.isinf(got), np.isinf(expected))
        finite = np.isfinite(expected)
        got, exact, expected = got[finite], exact[finite], expected[finite]
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))
        error = np.abs(got.astype(np.float64) - exact) / np.spacing(np.abs(expected))
    assert error.max() < 0.502


OTHERS = ("bool", "i8", "i16", "i32", "i64s", "u8", "u16", "u32", "u64s", "f32", *DOUBLES)


def values_of(other: str) -> np.ndarray:
    """Values of another dialect about what float16 can hold and what it just cannot."""
    dtype = harness.dialect(other).dtype
    random = np.random.default_rng(23)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = [sign * (65519 + step) for sign in (-1, 1) for step in range(-20, 20)]
        whole += [sign * 2**power + step for sign in (-1, 1) for power in range(64)
                  for step in (-1, 0, 1)]  # fmt: skip
        whole += [int(each) for each in random.integers(-70000, 70000, 20_000)]
        return np.array([each for each in whole if limits.min <= each <= limits.max], dtype)
    # Around every tie between two float16, by one unit of the other type either way.
    finite = EVERY[np.isfinite(EVERY)].astype(np.float64)
    steps = np.ldexp(1.0, np.maximum(np.frexp(np.abs(finite))[1] - 11, -24))
    tie = (finite + steps / 2).astype(dtype)
    up = np.nextafter(tie, dtype.type(np.inf))
    down = np.nextafter(tie, dtype.type(-np.inf))
    bits = random_bits(random, 50_000, dtype)
    special = np.array([np.inf, -np.inf, np.nan, 1e-45, -1e-30, 65519.99, 65520, 1e30], dtype)
    return np.concatenate([tie, up, down, bits, special])


@pytest.mark.parametrize("other", OTHERS)
def test_casts_to_half_round_once(half: str, other: str) -> None:
    if other == "f64n" and not harness.has_native_f64():
        pytest.skip("no native f64")
    x = values_of(other)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    call = f"{{{{ {other}.cast_to('{half}') }}}}(a)"
    assert_same(evaluate(call, x, result=half, inputs=(other,)), expected, x)


@pytest.mark.parametrize("other", OTHERS)
def test_casts_from_half_are_those_of_numpy(half: str, other: str) -> None:
    if other == "f64n" and not harness.has_native_f64():
        pytest.skip("no native f64")
    dtype = harness.dialect(other).dtype
    x = EVERY
    if dtype.kind in "iu":  # others have no value that C defines
        limits = np.iinfo(dtype)
        whole = np.trunc(EVERY[np.isfinite(EVERY)].astype(np.float64))
        x = EVERY[np.isfinite(EVERY)][(whole >= limits.min) & (whole <= limits.max)]
    with np.errstate(all="ignore"):
        expected = x.astype(dtype)
    call = f"{{{{ {half}.cast_to('{other}') }}}}(a)"
    got = evaluate(call, x, result=other, inputs=(half,))
    if dtype.kind == "f":
        assert_same(got, expected, x)
    else:
        np.testing.assert_array_equal(got, expected)


def test_the_two_dialects_pass_values_to_each_other(half: str) -> None:
    other = {"f16s": "f16n", "f16n": "f16s"}[half]
    if not harness.has_native_f16():
        pytest.skip("no native f16")
    call = f"{{{{ {half}.cast_to('{other}') }}}}(a)"
    assert_same(evaluate(call, EVERY, result=other, inputs=(half,)), EVERY)
