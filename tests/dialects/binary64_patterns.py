"""Bit patterns of binary64 that break rounding, and exact references NumPy does not have.

Tests of the f64 dialects import this; it knows nothing of devices or WGSL.
"""

from __future__ import annotations

import numpy as np

SIGN_BIT = np.uint64(1 << 63)
EXPONENT_SHIFT = np.uint64(52)
FRACTION_AND_SIGN = np.uint64(0x800FFFFFFFFFFFFF)

#: Zero, the subnormal and normal borders, neighbours of one, ties, infinities, NaNs; both signs.
SPECIAL_BITS = np.array(
    [
        0x0000000000000000,
        0x0000000000000001,
        0x0000000000000002,
        0x0000000000000003,
        0x0008000000000000,
        0x000FFFFFFFFFFFFF,
        0x0010000000000000,
        0x0010000000000001,
        0x001FFFFFFFFFFFFF,
        0x0020000000000000,
        0x3CA0000000000000,
        0x3CA0000000000001,
        0x3CB0000000000000,
        0x3FDFFFFFFFFFFFFF,
        0x3FE0000000000000,
        0x3FEFFFFFFFFFFFFF,
        0x3FF0000000000000,
        0x3FF0000000000001,
        0x4000000000000000,
        0x4008000000000000,
        0x41DFFFFFFFC00000,
        0x41E0000000000000,
        0x41EFFFFFFFE00000,
        0x41F0000000000000,
        0x433FFFFFFFFFFFFF,
        0x4340000000000000,
        0x43DFFFFFFFFFFFFF,
        0x43E0000000000000,
        0x47EFFFFFE0000000,
        0x47EFFFFFF0000000,
        0x7FE0000000000000,
        0x7FEFFFFFFFFFFFFF,
        0x7FF0000000000000,
        0x7FF0000000000001,
        0x7FF8000000000000,
        0x7FFFFFFFFFFFFFFF,
    ],
    np.uint64,
)
SPECIAL_BITS = np.concatenate([SPECIAL_BITS, SPECIAL_BITS | SIGN_BIT])


def with_exponent(bits: np.ndarray, fields: np.ndarray) -> np.ndarray:
    """Return `bits` with the biased exponent replaced by `fields`, clipped to finite numbers."""
    clipped = np.clip(fields, 0, 2046).astype(np.uint64)
    return (bits & FRACTION_AND_SIGN) | (clipped << EXPONENT_SHIFT)


def exponent_field(bits: np.ndarray) -> np.ndarray:
    """Return the biased exponents as int64."""
    return ((bits >> EXPONENT_SHIFT) & np.uint64(0x7FF)).astype(np.int64)


def random_bits(random: np.random.Generator, count: int) -> np.ndarray:
    """Return `count` patterns: uniform bits, near one, subnormal, sparse and full fractions."""
    bits = random.integers(0, 2**64, count, dtype=np.uint64)
    part = count // 8
    one, two, three, four = (slice(k * part, (k + 1) * part) for k in range(4))
    bits[one] = with_exponent(bits[one], random.integers(1010, 1040, part))
    bits[two] &= np.uint64(0x801FFFFFFFFFFFFF)
    runs = (np.uint64(1) << random.integers(0, 53, part).astype(np.uint64)) - np.uint64(1)
    bits[three] &= ~runs
    bits[four] |= (np.uint64(1) << random.integers(0, 53, part).astype(np.uint64)) - np.uint64(1)
    return random.permutation(bits)


def unary_bits(random: np.random.Generator, count: int) -> np.ndarray:
    """Return `count` random patterns and every special one, as uint64."""
    return np.concatenate([random_bits(random, count), SPECIAL_BITS])


def binary_bits(random: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs: random, close in magnitude, products and quotients at the borders, specials."""
    first = random_bits(random, count)
    second = random_bits(random, count)
    part = count // 8
    near, big, tiny, one = (slice(k * part, (k + 1) * part) for k in range(4))
    flips = random.integers(0, 2**63, part, dtype=np.uint64)
    flips >>= random.integers(1, 63, part).astype(np.uint64)
    signs = random.integers(0, 2, part).astype(np.uint64) << np.uint64(63)
    second[near] = first[near] ^ flips ^ signs
    fields = exponent_field(first)
    second[big] = with_exponent(second[big], 3069 - fields[big] + random.integers(-2, 3, part))
    second[tiny] = with_exponent(second[tiny], 1023 - fields[tiny] + random.integers(-60, 5, part))
    second[one] = with_exponent(second[one], fields[one] + random.integers(-3, 4, part))
    return (
        np.concatenate([first, np.repeat(SPECIAL_BITS, SPECIAL_BITS.size)]),
        np.concatenate([second, np.tile(SPECIAL_BITS, SPECIAL_BITS.size)]),
    )


def ternary_bits(
    random: np.random.Generator, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return operands of fma: random, addends that cancel the product, lost sticky bits, specials.

    The directed cases are those that random bits do not reach: an addend that cancels the rounded
    product (only its rounding error is left), a product half a unit of the addend give or take
    2^-104 of itself, and an addend far below a product that ends in a tie.
    """
    first, second = (each[:count] for each in binary_bits(random, count))
    third = random_bits(random, count)
    part = count // 8
    with np.errstate(all="ignore"):
        product = (first.view(np.float64) * second.view(np.float64)).view(np.uint64)
    fields = exponent_field(product)
    cancel, nearly, close, sticky, tie = (slice(k * part, (k + 1) * part) for k in range(5))
    third[cancel] = product[cancel] ^ SIGN_BIT
    wobble = random.integers(0, 2**63, part, dtype=np.uint64)
    wobble >>= random.integers(1, 64, part).astype(np.uint64)
    third[nearly] = product[nearly] ^ SIGN_BIT ^ wobble
    third[close] = with_exponent(third[close], fields[close] + random.integers(-115, 116, part))

    # The addend is any number, the product half its last place times 1, 1 +- 2^-52, 1 - 2^-104.
    third[sticky] = with_exponent(third[sticky], random.integers(200, 1900, part))
    half = exponent_field(third[sticky]) - 53 + random.integers(-1, 2, part)
    one_ulp = random.integers(0, 4, part)
    first[sticky] = np.where(one_ulp & 1, 0x3FF0000000000001, 0x3FF0000000000000)
    first[sticky] |= random.integers(0, 2, part).astype(np.uint64) << np.uint64(63)
    below = np.where(one_ulp & 2, 0x3FEFFFFFFFFFFFFE, 0x3FF0000000000000).astype(np.uint64)
    second[sticky] = with_exponent(below, half - (one_ulp & 2) // 2)

    # A product of 54 significant bits, the last one set, and an addend far below it.
    odd = random.integers(2**26, 2**27, (2, part)).astype(np.float64)
    odd = np.floor(odd / 2) * 2 + 1
    first[tie], second[tie] = odd[0].view(np.uint64), odd[1].view(np.uint64)
    fields = exponent_field((odd[0] * odd[1]).view(np.uint64))
    third[tie] = with_exponent(third[tie], fields - random.integers(54, 1000, part))

    chosen = SPECIAL_BITS[[0, 1, 5, 6, 14, 16, 17, 31, 32, 34]]
    chosen = np.concatenate([chosen, chosen | SIGN_BIT])
    grid = [axis.ravel() for axis in np.meshgrid(chosen, chosen, chosen, indexing="ij")]
    return tuple(np.concatenate([a, b]) for a, b in zip((first, second, third), grid, strict=True))


def _scaled_integers(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return finite numbers as signed Python integers times powers of two (the exponents)."""
    field = exponent_field(bits)
    fraction = (bits & np.uint64((1 << 52) - 1)).astype(np.int64)
    magnitude = np.where(field > 0, fraction | (1 << 52), fraction)
    signed = np.where(bits >> np.uint64(63) == 1, -magnitude, magnitude)
    return signed.astype(object), np.maximum(field, 1) - 1075


def _rounded(value: int, exponent: int) -> float:
    """Return value * 2^exponent rounded to nearest even (value is not zero)."""
    magnitude = abs(value)
    excess = max(magnitude.bit_length() - 53, -1074 - exponent)
    if excess > 0:
        kept = magnitude >> excess
        rest = magnitude & ((1 << excess) - 1)
        half = 1 << (excess - 1)
        kept += rest > half or (rest == half and kept & 1)
        exponent += excess
    else:
        kept = magnitude
    if kept.bit_length() + exponent > 1024:
        return float("-inf") if value < 0 else float("inf")
    # Two exact steps: kept has at most 54 bits, and the result is a binary64 number.
    result = float(kept) * 2.0 ** max(exponent, -1000) * 2.0 ** min(exponent + 1000, 0)
    return -result if value < 0 else result


def exact_fma(first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
    """Return a * b + c rounded once, by Python integers; operands and result as uint64 bits.

    Where an operand is not finite, a factor is zero or the sum is zero, two roundings of NumPy give
    the same as one, and NumPy is the reference.
    """
    a, b, c = (bits.view(np.float64) for bits in (first, second, third))
    with np.errstate(all="ignore"):
        result = a * b + c
    # A finite product may overflow, and inf - inf is not what one rounding gives.
    infinite_addend = np.isfinite(a) & np.isfinite(b) & np.isinf(c)
    result[infinite_addend] = c[infinite_addend]
    plain = np.isfinite(a) & np.isfinite(b) & np.isfinite(c) & (a != 0) & (b != 0)
    chosen = np.flatnonzero(plain)
    (a_int, a_exp), (b_int, b_exp), (c_int, c_exp) = (
        _scaled_integers(bits[chosen]) for bits in (first, second, third)
    )
    product, product_exp = a_int * b_int, a_exp + b_exp
    # An addend that is zero, or so far below or above that it is a sticky bit, must not cost a
    # shift by thousands of places: 220 places keep every bit that rounding can see.
    gap = product_exp - c_exp
    up = np.clip(gap, 0, 220)
    down = np.clip(-gap, 0, 220)
    product_far, addend_far = gap > 220, gap < -220
    total = (product << up.astype(object)) + (c_int << down.astype(object))
    exponent = np.where(gap >= 0, product_exp - up, product_exp)
    # Far apart: the smaller one becomes +-1 at the lowest of the 220 places.
    signs = np.sign(c_int).astype(object)
    total = np.where(product_far, (product << 220) + signs, total)
    addend_shifted = (c_int << 220) + np.sign(product).astype(object)
    total = np.where(addend_far & (c_int != 0), addend_shifted, total)
    exponent = np.where(addend_far & (c_int != 0), c_exp - 220, exponent)
    total = np.where(c_int == 0, product, total)
    exponent = np.where(c_int == 0, product_exp, exponent)
    with np.errstate(all="ignore"):
        values = [
            _rounded(value, power) if value else 0.0
            for value, power in zip(total.tolist(), exponent.tolist(), strict=True)
        ]
    result[chosen] = values
    return result.view(np.uint64)
