"""complex64 and complex128 on every adapter: special values against NumPy, part by part.

All pairs of special parts meet each other.  NumPy multiplies by a reciprocal in a division, and
with fused multiply-adds on some processors; where that overflows or rounds twice, mpmath decides.
"""

from __future__ import annotations

import numpy as np
import pytest
from cases.complex_values import grid, normwise_error, same_specials

import tenferro_wgpu as tw

DTYPES = ("complex64", "complex128")
#: NumPy's own error and ours.
ARITHMETIC_EPS = 8.0

UNARY = {
    "negative": (tw.negative, np.negative),
    "conj": (tw.conj, np.conj),
    "real": (tw.real, np.real),
    "imag": (tw.imag, np.imag),
    "abs": (tw.abs, np.abs),
}


@pytest.fixture
def flushes(adapter):
    """Whether subnormal float32 numbers may become zero."""
    return adapter == "swiftshader"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(rt, flushes, name, dtype):
    ours, reference = UNARY[name]
    z = grid(dtype, subnormal=not flushes)
    got = ours(rt.constant_from(z)).numpy()
    with np.errstate(all="ignore"):
        want = reference(z)
    assert got.dtype == want.dtype
    bad = ~same_specials(got, want, ARITHMETIC_EPS)
    assert not bad.any(), (z[bad][0], got[bad][0], want[bad][0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_binary(rt, flushes, name, dtype):
    z = grid(dtype, subnormal=False, extremes=name in ("add", "subtract") and not flushes)
    first, second = np.repeat(z, len(z)), np.tile(z, len(z))
    got = getattr(tw, name)(rt.constant_from(first), rt.constant_from(second)).numpy()
    with np.errstate(all="ignore"):
        want = getattr(np, name)(first, second)
    bad = ~same_specials(got, want, ARITHMETIC_EPS)
    assert not bad.any(), (first[bad][0], second[bad][0], got[bad][0], want[bad][0], bad.sum())


@pytest.mark.parametrize("dtype", DTYPES)
def test_equality(rt, dtype):
    z = grid(dtype, subnormal=False)
    first, second = np.repeat(z, len(z)), np.tile(z, len(z))
    x, y = rt.constant_from(first), rt.constant_from(second)
    np.testing.assert_array_equal(tw.equal(x, y).numpy(), first == second)
    np.testing.assert_array_equal(tw.not_equal(x, y).numpy(), first != second)


@pytest.mark.parametrize("dtype", DTYPES)
def test_quotients_and_moduli_do_not_overflow_on_the_way(rt, flushes, dtype):
    """Results in range are right over the whole range of exponents."""
    limits = np.finfo(dtype)
    rng = np.random.default_rng(4)
    low, high = np.log2(limits.tiny) + 3, np.log2(limits.max) - 3
    low += limits.nmant if flushes else 0  # no part that matters is subnormal
    size = 2.0 ** rng.uniform(low, high, 400).astype(np.longdouble)
    unit = np.exp(1j * rng.uniform(-np.pi, np.pi, (2, 400)))
    divisor = (size * unit[0]).astype(dtype)
    quotient = (2.0 ** rng.uniform(-3, 3, 400) * unit[1]).astype(dtype)
    wide = np.clongdouble if dtype == "complex128" else np.complex128
    dividend = (divisor.astype(wide) * quotient).astype(dtype)
    want = dividend.astype(wide) / divisor.astype(wide)
    got = tw.divide(rt.constant_from(dividend), rt.constant_from(divisor)).numpy()
    assert normwise_error(got, want, dtype) < ARITHMETIC_EPS
    assert (
        normwise_error(
            tw.abs(rt.constant_from(divisor)).numpy(), np.abs(divisor.astype(wide)), dtype
        )
        < ARITHMETIC_EPS
    )
    direction = tw.sign(rt.constant_from(divisor)).numpy()
    exact = divisor.astype(wide) / np.abs(divisor.astype(wide))
    assert normwise_error(direction, exact, dtype) < ARITHMETIC_EPS


@pytest.mark.parametrize("dtype", DTYPES)
def test_sign(rt, dtype):
    z = grid(dtype, subnormal=False, extremes=False)
    got = tw.sign(rt.constant_from(z)).numpy()
    with np.errstate(all="ignore"):
        want = np.sign(z)
    bad = ~same_specials(got, want, ARITHMETIC_EPS)
    assert not bad.any(), (z[bad][0], got[bad][0], want[bad][0])


@pytest.mark.parametrize("target", ["bool", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_from_complex(rt, dtype, target):
    z = grid(dtype, subnormal=False)
    with np.errstate(all="ignore"):
        want = (z.real if np.dtype(target).kind == "f" else z).astype(target)
    got = tw.astype(rt.constant_from(z), target).numpy()
    assert got.dtype == want.dtype
    assert same_specials(got, want, 0).all()


@pytest.mark.parametrize("source", ["bool", "int32", "int64", "uint32", "float32", "float64"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_to_complex(rt, dtype, source):
    values = np.array([0, 1, -1, 2, 2**24 + 1, 100]).astype(source)
    if values.dtype.kind == "f":
        values = np.concatenate([values, np.array([-0.0, np.inf, -np.inf, np.nan], source)])
    got = tw.astype(rt.constant_from(values), dtype).numpy()
    assert got.dtype == dtype
    assert same_specials(got, values.astype(dtype), 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_moves_keep_every_bit(rt, dtype):
    """Payloads of NaN, subnormal numbers and signs of zeros come through copies and choices."""
    rng = np.random.default_rng(5)
    z = rng.integers(0, 256, 64 * np.dtype(dtype).itemsize, np.uint8).view(dtype).copy()
    part = z.real.dtype
    words = f"u{part.itemsize}"
    z.view(words)[8] = 1  # subnormal
    x = rt.constant_from(z)
    flipped = tw.concatenate([tw.flip(x, (0,)), x]).numpy()
    np.testing.assert_array_equal(flipped.view(words), np.concatenate([z[::-1], z]).view(words))
    mask = rt.constant_from(np.arange(64) % 3 == 0)
    chosen = tw.where(mask, x, tw.flip(x, (0,))).numpy()
    want = np.where(np.arange(64) % 3 == 0, z, z[::-1])
    np.testing.assert_array_equal(chosen.view(words), want.view(words))


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_are_joined_bit_by_bit(rt, flushes, dtype):
    """A product with 1j would make NaN of what stands beside infinities, and lose signs of 0."""
    z = grid(dtype, subnormal=not flushes)
    x, y = (rt.constant_from(part.copy()) for part in (z.real, z.imag))
    got = tw.complex(x, y).numpy()
    for mine, theirs in ((got.real, z.real), (got.imag, z.imag)):
        np.testing.assert_array_equal(mine, theirs)
        known = ~np.isnan(theirs)
        np.testing.assert_array_equal(np.signbit(mine[known]), np.signbit(theirs[known]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_replaced_parts_stay_in_their_place(rt, dtype):
    z = grid(dtype, subnormal=False)
    for options in ({}, {"nan": np.inf}, {"posinf": np.nan, "neginf": -np.inf, "nan": -0.0}):
        got = tw.nan_to_num(rt.constant_from(z), **options).numpy()
        want = np.nan_to_num(z, **options)
        np.testing.assert_array_equal(got.real, want.real)
        np.testing.assert_array_equal(got.imag, want.imag)
