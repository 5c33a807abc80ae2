"""Both binary64 dialects give NumPy's bits: arithmetic, comparisons, casts; fma exact integers'.

`TENFERRO_FUZZ_COUNT` sets the random patterns per operation (1,000,000 in CI's long run).
"""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
import pytest
from binary64_patterns import (
    binary_bits,
    exact_fma,
    random_bits,
    ternary_bits,
    unary_bits,
    with_exponent,
)
from harness import evaluate

COUNT = int(os.environ.get("TENFERRO_FUZZ_COUNT", "50000"))
NAN_BITS = np.uint64(0x7FF8000000000000)

BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
}
COMPARISONS = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def canonical(values: np.ndarray) -> np.ndarray:
    """Return the bits of float64 values, every NaN as the same one."""
    return np.where(np.isnan(values), NAN_BITS, values.view(np.uint64))


def assert_same(got: np.ndarray, wanted: np.ndarray, *operands: np.ndarray) -> None:
    """Fail with the first operands (as hexadecimal bits) whose results differ."""
    if wanted.dtype == np.float64:
        got, wanted = canonical(got), canonical(wanted)
    wrong = np.flatnonzero(got != wanted)
    if wrong.size:
        at = wrong[0]
        shown = [f"{each[at]:#x}" for each in operands]
        pytest.fail(f"{wrong.size} of {got.size} differ; {shown}: {got[at]!r}, not {wanted[at]!r}")


def apply(f64: str, function: str, *operands: np.ndarray, result: str | None = None) -> np.ndarray:
    """Evaluate one function of the dialect on arrays of bits."""
    call = f"{{{{ {f64}.{function} }}}}({', '.join('abc'[: len(operands)])})"
    floats = (each.view(np.float64) for each in operands)
    return evaluate(call, *floats, result=result or f64, inputs=(f64,) * len(operands))


@pytest.mark.parametrize("function", BINARY)
def test_arithmetic(f64: str, function: str) -> None:
    a, b = binary_bits(np.random.default_rng(len(function)), COUNT)
    wanted = BINARY[function](a.view(np.float64), b.view(np.float64))
    assert_same(apply(f64, function, a, b), wanted, a, b)


@pytest.mark.parametrize("function", COMPARISONS)
def test_comparisons(f64: str, function: str) -> None:
    a, b = binary_bits(np.random.default_rng(11), COUNT)
    wanted = COMPARISONS[function](a.view(np.float64), b.view(np.float64))
    assert_same(apply(f64, function, a, b, result="bool"), wanted, a, b)


@pytest.mark.parametrize(("function", "pick"), [("maximum", np.maximum), ("minimum", np.minimum)])
def test_maximum_and_minimum(f64: str, function: str, pick: np.ufunc) -> None:
    a, b = binary_bits(np.random.default_rng(12), COUNT)
    wanted = pick(a.view(np.float64), b.view(np.float64))
    # Which of two zeros of opposite sign wins depends on NumPy's build: either will do.
    zeros = (wanted == 0) & (a.view(np.float64) == b.view(np.float64))
    got = apply(f64, function, a, b)
    assert np.all(got[zeros] == 0)
    assert_same(got[~zeros], wanted[~zeros], a[~zeros], b[~zeros])


def test_sqrt(f64: str) -> None:
    bits = unary_bits(np.random.default_rng(13), COUNT)
    bits[: COUNT // 2] &= np.uint64(2**63 - 1)
    # Squares and their neighbours: exact roots and the closest misses.
    roots = np.random.default_rng(14).integers(1, 2**26, COUNT // 4).astype(np.float64)
    squares = (roots * roots).view(np.uint64)
    offsets = np.random.default_rng(15).integers(-2, 3, squares.size)
    bits = np.concatenate([bits, (squares.astype(np.int64) + offsets).astype(np.uint64)])
    assert_same(apply(f64, "sqrt", bits), np.sqrt(bits.view(np.float64)), bits)


def test_signs_move_bits_only(f64: str) -> None:
    bits = unary_bits(np.random.default_rng(16), 2000)
    x = bits.view(np.float64)
    assert_same(apply(f64, "neg", bits).view(np.uint64), (-x).view(np.uint64), bits)
    assert_same(apply(f64, "abs", bits).view(np.uint64), np.abs(x).view(np.uint64), bits)
    assert_same(apply(f64, "sign", bits), np.sign(x), bits)
    assert_same(apply(f64, "is_nan", bits, result="bool"), np.isnan(x), bits)
    assert_same(apply(f64, "hide", bits).view(np.uint64), bits, bits)


def test_fma_is_exact(f64: str) -> None:
    a, b, c = ternary_bits(np.random.default_rng(17), COUNT)
    wanted = exact_fma(a, b, c).view(np.float64)
    assert_same(apply(f64, "fma", a, b, c), wanted, a, b, c)


@pytest.mark.parametrize(
    ("a", "b", "c", "wanted"),
    [
        # All that is left is the rounding error of the product.
        (1 + 2.0**-52, 1 + 2.0**-52, -(1 + 2.0**-51), 2.0**-104),
        (1 + 2.0**-52, 1 - 2.0**-53, -1.0, 2.0**-53 - 2.0**-105),
        # A tie of the product, decided by an addend 900 binary places below.
        (2.0**27 + 1, 2.0**26 + 1, 2.0**-900, 2.0**53 + 2.0**27 + 2.0**26 + 2),
        (2.0**27 + 1, 2.0**26 + 1, -(2.0**-900), 2.0**53 + 2.0**27 + 2.0**26),
        (1 + 2.0**-27, 1 + 2.0**-26, 2.0**-900, 1 + 2.0**-26 + 2.0**-27 + 2.0**-52),
        (1 + 2.0**-27, 1 + 2.0**-26, -(2.0**-900), 1 + 2.0**-26 + 2.0**-27),
        # Half a unit of the addend, give or take 2^-104 of it.
        (1 + 2.0**-52, 2.0**-53 * (1 - 2.0**-52), 1.0, 1.0),
        (1 + 2.0**-52, 2.0**-53, 1.0, 1 + 2.0**-52),
        # The product overflows, the sum does not; the product underflows, the sum does not.
        (2.0**1023, 2.0, -(2.0**1023), 2.0**1023),
        (2.0**-1000, 2.0**-70, 2.0**-1074, 2.0**-1070 + 2.0**-1074),
        (2.0**-538, 2.0**-537, 2.0**-1074, 2.0**-1073),
        (2.0**-538, -(2.0**-537), 2.0**-1074, 0.0),
        # Signs of zero.
        (-0.0, 1.0, 0.0, 0.0),
        (-0.0, 1.0, -0.0, -0.0),
        (1.0, 1.0, -1.0, 0.0),
        # A finite product never meets infinity as inf - inf.
        (2.0**1000, 2.0**1000, -np.inf, -np.inf),
        (0.0, np.inf, 1.0, np.nan),
    ],
)
def test_fma_directed(f64: str, a: float, b: float, c: float, wanted: float) -> None:
    operands = [np.array([value]) for value in (a, b, c)]
    got = apply(f64, "fma", *(each.view(np.uint64) for each in operands))
    assert_same(got, np.array([wanted]))


def test_hide_keeps_rounding_steps(f64: str) -> None:
    """What compilers fold: (a + b) - a rounds twice, x - x and x * 0 are NaN at infinity."""
    a = np.array([1e17, 1e16, 1.0, np.inf, np.nan, 1e308])
    b = np.array([1.0, 3.0, 2.0**-53, 1.0, 1.0, 1e308])
    view = f"{{{{ {f64}.%s }}}}"
    hide, add, sub = (view % name for name in ("hide", "add", "sub"))
    inputs = (f64, f64)
    error = evaluate(f"{sub}({hide}({add}(a, b)), a)", a, b, result=f64, inputs=inputs)
    assert_same(error, (a + b) - a, a.view(np.uint64))
    nothing = evaluate(f"{sub}(a, {hide}(a))", a, b, result=f64, inputs=inputs)
    assert_same(nothing, a - a, a.view(np.uint64))
    zero = f"{{{{ {f64}.zero }}}}()"
    product = evaluate(f"{{{{ {f64}.mul }}}}(a, {zero})", a, b, result=f64, inputs=inputs)
    assert_same(product, a * 0.0, a.view(np.uint64))
    total = evaluate(f"{add}(a, {zero})", -0.0 * b, b, result=f64, inputs=inputs)
    assert_same(total, 0.0 * b, b.view(np.uint64))


def test_hide_keeps_the_order_of_sums(f64: str) -> None:
    """llvmpipe turns a + (b c + d e) into (a + b c) + d e, and b c + d c into (b + d) c."""
    operands = np.random.default_rng(5).uniform(0, 1, (4, COUNT))
    a, b, c, d = operands
    view = f"{{{{ {f64}.%s }}}}"
    hide, add, mul = (view % name for name in ("hide", "add", "mul"))
    inputs = (f64,) * 4
    products = f"{hide}({add}({mul}(b, c), {mul}(d, a)))"
    got = evaluate(f"{add}(a, {products})", *operands, result=f64, inputs=inputs)
    assert_same(got, a + (b * c + d * a), a.view(np.uint64))
    common = f"{add}({hide}({mul}(b, c)), {hide}({mul}(d, c)))"
    got = evaluate(common, *operands, result=f64, inputs=inputs)
    assert_same(got, b * c + d * c, b.view(np.uint64))


def cast(source: str, target: str, array: np.ndarray) -> np.ndarray:
    """Cast an array between two dialects."""
    call = f"{{{{ {source}.cast_to('{target}') }}}}(a)"
    return evaluate(call, array, result=target, inputs=(source,))


def integer_range_bits(random: np.random.Generator) -> np.ndarray:
    """Return doubles around the borders of every integer and single format, and specials."""
    bits = unary_bits(random, COUNT)
    half = COUNT // 2
    bits[:half] = with_exponent(bits[:half], random.integers(1015, 1090, half))
    bits[half:COUNT] = with_exponent(bits[half:COUNT], random.integers(868, 1153, COUNT - half))
    return bits


@pytest.mark.parametrize("target", ["i32", "i64s", "bool"])
def test_casts_to_integers(f64: str, target: str) -> None:
    bits = integer_range_bits(np.random.default_rng(18))
    x = bits.view(np.float64)
    dtype = {"i32": np.int32, "i64s": np.int64, "bool": np.bool_}[target]
    if target == "bool":
        wanted = x != 0
    else:
        # What NumPy gives on x86-64; other processors saturate, so it is spelled out.
        info = np.iinfo(dtype)
        inside = (np.trunc(x) >= float(info.min)) & (np.trunc(x) < -float(info.min))
        wanted = np.where(inside, np.where(inside, x, 0).astype(dtype), info.min).astype(dtype)
    assert_same(cast(f64, target, x), wanted, bits)


def test_cast_to_unsigned(f64: str) -> None:
    bits = integer_range_bits(np.random.default_rng(19))
    x = bits.view(np.float64)
    # NumPy's own answers outside the range depend on its build: inside it, and down to -2^31, wrap.
    inside = (x > -(2.0**31) - 1) & (x < 2.0**32)
    wanted = np.where(inside, x, 0).astype(np.int64).astype(np.uint32)
    wanted = np.where(inside | (x >= 2.0**32), wanted, np.uint32(2**31))
    assert_same(cast(f64, "u32", x), wanted, bits)


def test_cast_to_single(f64: str) -> None:
    bits = integer_range_bits(np.random.default_rng(20))
    wanted = bits.view(np.float64).astype(np.float32)
    # As doubles: exact, and a NaN stays a NaN.
    got = cast(f64, "f32", bits.view(np.float64))
    assert_same(got.astype(np.float64), wanted.astype(np.float64), bits)


@pytest.mark.parametrize("source", ["f32", "i32", "u32", "i64s", "bool"])
def test_casts_from(f64: str, source: str) -> None:
    random = np.random.default_rng(21)
    words = random.integers(0, 2**32, COUNT, dtype=np.uint32)
    words >>= random.integers(0, 32, COUNT).astype(np.uint32)
    wide = random_bits(random, COUNT).view(np.int64) >> random.integers(0, 63, COUNT)
    singles = np.concatenate(
        [words, np.array([0, 1, 0x80000000, 0x7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000])]
    )
    arrays = {
        "f32": singles.astype(np.uint32).view(np.float32),
        "i32": words.view(np.int32),
        "u32": words,
        "i64s": wide,
        "bool": (words & 1) == 1,
    }
    array = arrays[source]
    assert_same(cast(source, f64, array), array.astype(np.float64))


def test_casts_between_the_dialects_keep_bits(f64: str) -> None:
    bits = unary_bits(np.random.default_rng(22), 1000)
    targets = {"f64s", f64}
    for target in sorted(targets):
        there = cast(f64, target, bits.view(np.float64))
        back = cast(target, f64, there)
        assert_same(back.view(np.uint64), bits, bits)


def sums_of_eight(*operands: np.ndarray) -> np.ndarray:
    """The software dialect's sum of four arrays, each taken twice."""
    call = "tf_sum8_f64s(a, b, c, d, c, a, d, b)"
    return evaluate(call, *operands, result="f64s", inputs=("f64s",) * 4)


@pytest.mark.parametrize("spread", [3, 40])
@pytest.mark.parametrize("lowest", [1, 1023, 2000])
def test_sums_of_eight_are_rounded_once(f64: str, spread: int, lowest: int) -> None:
    if f64 != "f64s":
        pytest.skip("the software dialect's own")
    random = np.random.default_rng(spread)
    fields = random.integers(lowest - 1, lowest + spread, (4, min(COUNT // 10, 5000)))
    operands = with_exponent(random_bits(random, fields.size).reshape(fields.shape), fields)
    values = operands.view(np.float64)
    values[1, ::3] = -values[0, ::3]  # cancellation
    values[3, ::2] = 0
    found = sums_of_eight(*values)
    if spread == 3:
        assert_same(found, np.array([math.fsum([*column, *column]) for column in values.T]))
        return
    for column, near in zip(values.T, found, strict=True):
        exact = 2 * sum(Fraction(value) for value in column.tolist())
        allowed = Fraction(float(np.spacing(abs(near)))) / 2
        allowed += Fraction(float(np.abs(column).max())) / 2**55
        assert abs(Fraction(float(near)) - exact) <= allowed


def test_sums_of_eight_keep_special_values(f64: str) -> None:
    if f64 != "f64s":
        pytest.skip("the software dialect's own")
    nan = np.array([0x7FF0000000000001], np.uint64).view(np.float64)[0]
    special = np.array([np.inf, -np.inf, nan, -nan, 0.0, -0.0, 1.5, -2.0, 5e-324, 1e307])
    values = np.stack([part.ravel() for part in np.meshgrid(*[special] * 4)])
    with np.errstate(all="ignore"):
        wanted = values.sum(0) * 2
    found = sums_of_eight(*values)
    assert_same(np.where(found == 0, 0.0, found), np.where(wanted == 0, 0.0, wanted))
    largest = np.full((4, 2), 1.7e308) * [1, -1]
    assert sums_of_eight(*largest).tolist() == [np.inf, -np.inf]
