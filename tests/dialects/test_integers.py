"""Integers of every width and bool in WGSL against NumPy, and casts among them and float32."""

from __future__ import annotations

import re
from itertools import product

import harness
import numpy as np
import pytest
from measure_ulp import random_bits

from tenferro_wgpu.backends.webgpu.dialects import dialect, dialect_for

INTEGERS = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64s": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64s": np.uint64,
    "i64n": np.int64,
    "u64n": np.uint64,
}
DTYPES = {**INTEGERS, "bool": np.bool_}
COUNT = 60_000


@pytest.fixture(autouse=True)
def _native_integers(request: pytest.FixtureRequest, dialect_device: str) -> None:
    """Skips what needs 64-bit integers on a device that has none."""
    native = {"i64n", "u64n"} & set(map(str, request.node.callspec.params.values()))
    if native and not harness.has_native_i64():
        pytest.skip(f"{dialect_device} has no native 64-bit integers")


def evaluate(expression: str, *operands: np.ndarray, result: str) -> np.ndarray:
    """Evaluate with operands in the dialects of their dtypes that the expression names."""
    named = re.findall(r"\{\{ (\w+)\.", expression)
    carriers = {dialect(name).dtype: name for name in named}
    inputs = [
        carriers.get(each.dtype) or dialect_for(each.dtype, frozenset()).name for each in operands
    ]
    return harness.evaluate(expression, *operands, result=result, inputs=tuple(inputs))


def special(name: str) -> np.ndarray:
    """The ends of the range, powers of two and their neighbours; both values of bool."""
    if name == "bool":
        return np.array([False, True])
    limits = np.iinfo(DTYPES[name])
    near = [
        sign * 2**power + step for sign in (-1, 1) for power in range(64) for step in (-1, 0, 1)
    ]
    inside = sorted({0, *(each for each in near if limits.min <= each <= limits.max)})
    return np.array(inside, dtype=DTYPES[name])


def operand_pairs(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Random integers of every length, equal ones among them, and all pairs of special ones."""
    dtype = DTYPES[name]
    ends = special(name)
    pairs = [side.reshape(-1) for side in np.meshgrid(ends, ends)]
    if name == "bool":
        return pairs[0], pairs[1]
    random = np.random.default_rng(3)
    bits = 8 * np.dtype(dtype).itemsize
    x, y = (
        random_bits(random, COUNT, dtype) >> random.integers(0, bits, COUNT).astype(dtype)
        for _ in range(2)
    )
    y[: COUNT // 8] = x[: COUNT // 8]
    return np.concatenate([x, pairs[0]]), np.concatenate([y, pairs[1]])


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("function", ["add", "sub", "mul", "maximum", "minimum"])
def test_arithmetic_wraps_as_numpy(name: str, function: str) -> None:
    x, y = operand_pairs(name)
    wide = {"add": np.add, "sub": np.subtract, "mul": np.multiply}.get(function)
    expected = (wide or getattr(np, function))(x, y)
    got = evaluate(f"{{{{ {name}.{function} }}}}(a, b)", x, y, result=name)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("function", ["fma", "multiply_add"])
def test_multiply_and_add(name: str, function: str) -> None:
    x, y = operand_pairs(name)
    got = evaluate(f"{{{{ {name}.{function} }}}}(a, b, a)", x, y, result=name)
    np.testing.assert_array_equal(got, x * y + x)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("function", ["neg", "abs", "sign"])
def test_sign_functions(name: str, function: str) -> None:
    x, _ = operand_pairs(name)
    expected = {"neg": np.negative, "abs": np.abs, "sign": np.sign}[function](x)
    got = evaluate(f"{{{{ {name}.{function} }}}}(a)", x, result=name)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("function", ["floor_divide", "remainder", "fmod"])
def test_division_by_anything(name: str, function: str) -> None:
    x, y = operand_pairs(name)
    with np.errstate(all="ignore"):
        expected = getattr(np, function)(x, y)
    got = evaluate(f"{{{{ {name}.{function} }}}}(a, b)", x, y, result=name)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", INTEGERS)
def test_quotients_next_to_whole_ones(name: str) -> None:
    """Products and their neighbours divided by a factor: where a guessed digit is one off."""
    x, y = operand_pairs(name)
    kept = (y > 0) & (x > 0)
    y = y[kept]
    most = np.iinfo(y.dtype).max // y
    near = (x[kept] % np.maximum(most, 1)) * y
    near = np.concatenate([near - near.dtype.type(1), near, near + near.dtype.type(1)])
    y = np.concatenate([y, y, y])
    got = evaluate(f"{{{{ {name}.floor_divide }}}}(a, b)", near, y, result=name)
    np.testing.assert_array_equal(got, near // y)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("function", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bits(name: str, function: str) -> None:
    x, y = operand_pairs(name)
    got = evaluate(f"{{{{ {name}.{function} }}}}(a, b)", x, y, result=name)
    np.testing.assert_array_equal(got, getattr(np, function)(x, y))


@pytest.mark.parametrize("name", DTYPES)
def test_bitwise_not(name: str) -> None:
    x, _ = operand_pairs(name)
    got = evaluate(f"{{{{ {name}.bitwise_not }}}}(a)", x, result=name)
    np.testing.assert_array_equal(got, np.invert(x))


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("function", ["shift_left", "shift_right"])
def test_shifts_of_any_count(name: str, function: str) -> None:
    x, y = operand_pairs(name)
    random = np.random.default_rng(11)
    counts = random.integers(-3 if name[0] == "i" else 0, 70, x.size).astype(y.dtype)
    x, y = np.concatenate([x, x]), np.concatenate([counts, y])
    expected = {"shift_left": np.left_shift, "shift_right": np.right_shift}[function](x, y)
    got = evaluate(f"{{{{ {name}.{function} }}}}(a, b)", x, y, result=name)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", INTEGERS)
def test_power_is_repeated_squaring(name: str) -> None:
    random = np.random.default_rng(5)
    x, _ = operand_pairs(name)
    y = random.integers(0, 70, x.size).astype(DTYPES[name])
    got = evaluate(f"{{{{ {name}.pow }}}}(a, b)", x, y, result=name)
    np.testing.assert_array_equal(got, np.power(x, y))


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize(
    "function", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
)
def test_comparisons(name: str, function: str) -> None:
    x, y = operand_pairs(name)
    got = evaluate(f"{{{{ {name}.{function} }}}}(a, b)", x, y, result="bool")
    np.testing.assert_array_equal(got, getattr(np, function)(x, y))


@pytest.mark.parametrize("name", DTYPES)
def test_select_takes_the_second_where_true(name: str) -> None:
    x, y = operand_pairs(name)
    condition = np.arange(x.size) % 3 == 0
    got = evaluate(f"{{{{ {name}.select }}}}(a, b, c)", x, y, condition, result=name)
    np.testing.assert_array_equal(got, np.where(condition, y, x))


@pytest.mark.parametrize("name", DTYPES)
def test_constants(name: str) -> None:
    x = np.zeros(1, DTYPES[name])
    limits = (False, True) if name == "bool" else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    expected = {"zero": 0, "one": 1, "lowest": limits[0], "highest": limits[1]}
    for constant, value in expected.items():
        got = evaluate(f"{{{{ {name}.{constant} }}}}()", x, result=name)
        assert got[0] == value, constant


@pytest.mark.parametrize("name", DTYPES)
def test_bits_and_hiding_keep_values(name: str) -> None:
    x = special(name)
    if name == "bool":
        words = np.array([0, 1], np.uint32), np.zeros(2, np.uint32)
    else:
        wide = x.astype(np.int64).view(np.uint64)
        words = wide.astype(np.uint32), (wide >> np.uint64(32)).astype(np.uint32)
    made = evaluate(f"{{{{ {name}.hide }}}}({{{{ {name}.from_bits }}}}(a, b))", *words, result=name)
    np.testing.assert_array_equal(made, x)


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        ("add", np.add),
        ("mul", np.multiply),
        ("logical_and", np.logical_and),
        ("logical_or", np.logical_or),
        ("maximum", np.maximum),
        ("minimum", np.minimum),
    ],
)
def test_boolean_arithmetic(function: str, reference: np.ufunc) -> None:
    x, y = operand_pairs("bool")
    got = evaluate(f"{{{{ bool.{function} }}}}(a, b)", x, y, result="bool")
    np.testing.assert_array_equal(got, reference(x, y))


def test_logical_not() -> None:
    x = np.array([True, False])
    got = evaluate("{{ bool.logical_not }}(a)", x, result="bool")
    np.testing.assert_array_equal(got, ~x)


@pytest.mark.parametrize(("source", "target"), list(product(DTYPES, DTYPES)))
def test_casts_between_integers(source: str, target: str) -> None:
    x, _ = operand_pairs(source)
    got = evaluate(f'{{{{ {source}.cast_to("{target}") }}}}(a)', x, result=target)
    np.testing.assert_array_equal(got, x.astype(DTYPES[target]))


@pytest.mark.parametrize("source", DTYPES)
def test_casts_to_float_round_to_nearest_even(source: str) -> None:
    x, _ = operand_pairs(source)
    if source != "bool":
        # One more than a tie, on either side: the last bits decide.
        ties = (np.int64(2**24 + 1) << np.arange(0, 38)).astype(np.int64)
        near = np.concatenate([ties + step for step in (-1, 0, 1)] + [-ties])
        limits = np.iinfo(x.dtype)
        near = near[(near >= limits.min) & (near <= min(limits.max, 2**63 - 1))]
        x = np.concatenate([x, near.astype(x.dtype)])
    got = evaluate(f'{{{{ {source}.cast_to("f32") }}}}(a)', x, result="f32")
    np.testing.assert_array_equal(got.view(np.uint32), x.astype(np.float32).view(np.uint32))


FLOATS = np.array(
    [0, 0.5, 0.99999994, 1, 1.5, 2.5, 16777215, 2.0**24, 1e9, 2147483520, 2.0**31, 2.0**32]
    + [4294967040, 2.0**33, 1e15, 2.0**62, 9.2233715e18, 2.0**63, 2.0**64, 1e30, np.inf, 1e-45],
    np.float32,
)


def float_arguments() -> np.ndarray:
    """Random bits, random magnitudes up to 2^66, halves, and the borders of every range."""
    random = np.random.default_rng(9)
    magnitudes = 2.0 ** random.uniform(-3, 66, COUNT) * random.choice([-1, 1], COUNT)
    return np.concatenate(
        [
            random_bits(random, COUNT, np.float32),
            magnitudes.astype(np.float32),
            random.integers(-1000, 1000, 1000).astype(np.float32) / 2,
            FLOATS,
            -FLOATS,
        ]
    )


@pytest.mark.parametrize("target", ["i8", "i16", "i32", "i64s", "i64n", "u8", "u16", "bool"])
def test_casts_from_float_are_those_of_x86(target: str) -> None:
    x = np.concatenate([float_arguments(), np.array([np.nan, -np.nan], np.float32)])
    if target == "bool":
        expected = x != 0
    else:
        # NumPy leaves what does not fit to the processor; stated here so that it holds anywhere.
        wide = np.int64 if target in ("i64s", "i64n") else np.int32
        limit = -float(np.iinfo(wide).min)
        fits = (x >= -limit) & (x < limit)
        expected = np.where(fits, np.where(fits, x, 0).astype(wide), np.iinfo(wide).min)
        expected = expected.astype(DTYPES[target])
    got = evaluate(f'{{{{ f32.cast_to("{target}") }}}}(a)', x, result=target)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("target", "bits"), [("u32", 32), ("u64s", 64), ("u64n", 64)])
def test_casts_from_float_to_unsigned(target: str, bits: int) -> None:
    """What fits is truncated, -2^(bits-1)..0 wraps, below and NaN give 2^(bits-1), above 0."""
    x = np.concatenate([float_arguments(), np.array([np.nan, -np.nan], np.float32)])
    half = 2.0 ** (bits - 1)
    whole = [int(each) if -half <= each < 2 * half else 0 for each in x.tolist()]
    middle = (x < -half) | np.isnan(x)
    expected = [half if is_middle else each for each, is_middle in zip(whole, middle, strict=True)]
    expected = np.array([int(each) % 2**bits for each in expected], DTYPES[target])
    got = evaluate(f'{{{{ f32.cast_to("{target}") }}}}(a)', x, result=target)
    np.testing.assert_array_equal(got, expected)
