"""The tables of the binary64 functions are what their comments say, derived anew with mpmath."""

from __future__ import annotations

import re
from collections.abc import Iterator

import mpmath
import pytest

from tenferro_wgpu.backends.webgpu.shaders import library

WORD = re.compile(r"0x([0-9a-f]{8})u")


@pytest.fixture(autouse=True)
def enough_digits() -> Iterator[None]:
    """Work with 1,500 bits."""
    with mpmath.workprec(1500):
        yield


def words(fragment: str) -> list[int]:
    """Return the 32-bit constants of a WGSL declaration, in order."""
    return [int(digits, 16) for digits in WORD.findall(library().fragments[fragment].text)]


def pairs(fragment: str) -> list[int]:
    """Return a table of vec2<u32> as 64-bit integers."""
    flat = words(fragment)
    return [low | high << 32 for low, high in zip(flat[::2], flat[1::2], strict=True)]


def holds_pair(constants: list[int], wanted: int) -> bool:
    """Return whether a 64-bit number is among 32-bit constants, its low word first."""
    pair = [wanted & 0xFFFFFFFF, wanted >> 32]
    return pair in [constants[place : place + 2] for place in range(len(constants) - 1)]


def truncated(value: mpmath.mpf, bits: int) -> int:
    """Return floor(value * 2^bits)."""
    return int(mpmath.floor(value * mpmath.mpf(2) ** bits))


def test_logarithm_of_e() -> None:
    value = sum(word << (32 * place) for place, word in enumerate(words("tf_log2_e_f64s")))
    assert value == truncated(1 / mpmath.log(2), 127)


def test_terms_of_the_exponential() -> None:
    logarithm = mpmath.log(2)
    wanted = [truncated(logarithm ** (j + 1) / mpmath.factorial(j + 1), 64) for j in range(18)]
    assert pairs("tf_exp2_terms_f64s") == wanted
    assert logarithm**19 / mpmath.factorial(19) < mpmath.mpf(2) ** -66


def test_terms_of_the_logarithm() -> None:
    wanted = [
        truncated(32 ** mpmath.mpf(1 - j) / ((j + 1) * mpmath.log(2)), 64) for j in range(1, 14)
    ]
    assert pairs("tf_log2_terms_f64s") == wanted


def test_rows_of_the_logarithm() -> None:
    """Every reciprocal leaves at most 1/32, and its logarithm belongs to it."""
    # The body tests five bits of the index with decimal constants, so only rows are hexadecimal.
    flat = words("tf_log2_row_f64s")
    assert len(flat) == 4 * 32
    for row in range(32):
        low, middle, high, reciprocal = flat[4 * row : 4 * row + 4]
        factor = mpmath.mpf(reciprocal) / 512
        for border in (row, row + 1):
            assert abs((1 + mpmath.mpf(border) / 32) * factor - 1) <= mpmath.mpf(1) / 32
        logarithm = -mpmath.log(factor) / mpmath.log(2) - (1 if row == 31 else 0)
        assert low | middle << 32 | high << 64 == truncated(logarithm, 96)
    assert flat[:4] == [0, 0, 0, 512]
    assert flat[-4:] == [0, 0, 0, 256]


def test_natural_logarithm_of_two() -> None:
    low, high = words("tf_natural_f64s")[:2]
    constant = low | high << 32
    assert constant == truncated(mpmath.log(2), 64)


def test_quarter_turns() -> None:
    half_pi = mpmath.pi / 2
    powers = [*range(1, 20, 2), *range(0, 20, 2)]
    wanted = [truncated(half_pi**n / mpmath.factorial(n) / 2, 64) for n in powers]
    assert pairs("tf_quarter_turn_terms_f64s") == wanted


@pytest.mark.parametrize("name", ["two_over_pi", "two_log_two_over_pi"])
def test_bits_of_a_quarter_turn(name: str) -> None:
    flat = words(f"tf_{name}_f64s")
    value = 0
    for word in flat:
        value = value << 32 | word
    wanted = {"two_over_pi": 2 / mpmath.pi, "two_log_two_over_pi": 2 * mpmath.ln2 / mpmath.pi}
    assert value == truncated(wanted[name], 32 * len(flat))
    # The largest double skips 30 words and the window has seven.
    assert len(flat) >= 37


@pytest.mark.parametrize("part", ["c64", "c128s"])
def test_long_constants_of_complex_powers(part: str) -> None:
    wanted = {"ln2": mpmath.ln2, "quarter": mpmath.pi / 2}
    for name, value in wanted.items():
        flat = words(f"tf_long_{name}_{part}")
        total = sum(word << (32 * place) for place, word in enumerate(reversed(flat)))
        assert total == truncated(value, 32 * (len(flat) - 1)), name


def test_common_logarithm_of_two() -> None:
    constants = words("tf_log10_f64s")
    wanted = truncated(mpmath.log(2) / mpmath.log(10), 64)
    assert [wanted & 0xFFFFFFFF, wanted >> 32] in [
        constants[i : i + 2] for i in range(len(constants))
    ]


def test_rows_of_the_arctangent() -> None:
    flat = words("tf_arctangent_row_f64s")
    rows = [low | high << 32 for low, high in zip(flat[::2], flat[1::2], strict=True)]
    assert rows == [truncated(mpmath.atan(mpmath.mpf(i) / 16), 64) for i in range(16)]


def test_terms_of_the_arctangent() -> None:
    wanted = [truncated(mpmath.mpf(1) / (2 * k + 1) / 2, 64) for k in range(7)]
    assert pairs("tf_arctangent_terms_f64s") == wanted
    assert mpmath.mpf(1) / 30**14 / 15 < mpmath.mpf(2) ** -64


def test_right_angles() -> None:
    constants = words("tf_angle_f64s")
    for angle in (mpmath.pi, mpmath.pi / 2):
        wanted = truncated(angle, 62)
        assert holds_pair(constants, wanted)


@pytest.mark.parametrize(("name", "count"), [("f64s", 8), ("f32", 4)])
def test_constants_of_logaddexp(name: str, count: int) -> None:
    """log2(e) and log(2), whose last words are whole ones without leading zeros in the text."""
    constants = words(f"tf_excess_{name}")
    logarithm = mpmath.log(2)
    for value, whole in ((1 / logarithm, 1), (logarithm, 0)):
        wanted = truncated(value, 32 * (count - 1))
        assert wanted >> 32 * (count - 1) == whole
        digits = [wanted >> 32 * place & 0xFFFFFFFF for place in range(count - 1)]
        assert digits in [constants[i : i + count - 1] for i in range(len(constants))]


def test_terms_of_logaddexp() -> None:
    """What its series leave out is below the digits: 2^-170 of float64, 2^-88 of float32."""
    for terms, digits in ((40, 170), (24, 88)):
        left_out = mpmath.log(2) ** terms / mpmath.factorial(terms + 1)
        assert left_out < mpmath.mpf(2) ** -digits
