"""Special functions over a NumPy-compatible namespace: kernels of the CPU and CUDA backends.

Registered by `array_kernels`.  Everything is computed in float64 and rounded once to the result's
dtype.  The same algorithms, over the same coefficients, are in `shaders/special.wgsl.j2` and
`shaders/gamma.wgsl.j2`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy

from .. import approximations as known
from ..tensor import ShapeDtype

__all__ = ["digamma", "erf", "erfc", "lgamma", "polygamma"]

Array = Any
Namespace = Any

#: Below, log gamma and digamma step up or down; above, their asymptotic series hold.
_SERIES_FROM = 10.0
#: From here on log gamma steps up; from here down its reflection loses nothing.
_STEPS_UP_FROM = -24.0
#: Elements that are computed at once.
_BLOCK = 8192
#: Terms that Euler and Maclaurin's sum adds before its correction.
_ZETA_TERMS = 10


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    total = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _wide(xp: Namespace, x: Array) -> Array:
    return x.astype(xp.float64)


def erf(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    x = _wide(xp, x)
    size = xp.minimum(xp.abs(x), 1.0)
    near = size * _polynomial(size * size, known.ERF)
    far = 1.0 - _erfc_positive(xp, xp.maximum(xp.abs(x), 0.5))
    return xp.copysign(xp.where(xp.abs(x) < 1.0, near, far), x)


def erfc(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """1 - erf(x), without cancellation where erf is near 1."""
    x = _wide(xp, x)
    size = xp.minimum(xp.abs(x), 1.0)
    far = _erfc_positive(xp, xp.maximum(xp.abs(x), 0.5))
    far = xp.where(x < 0, 2.0 - far, far)
    near = 1.0 - xp.copysign(size * _polynomial(size * size, known.ERF), x)
    return xp.where(xp.abs(x) < 0.5, near, far)


def _erfc_positive(xp: Namespace, x: Array) -> Array:
    """erfc(x) for x >= 1/2 or NaN."""
    x = xp.minimum(x, 30.0)
    scaled = _polynomial((x - 4.0) / (x + 4.0), known.ERFC) / (1.0 + 2.0 * x)
    # exp(-x^2) from the square of a short x, which is exact, and what is left.
    short = x.astype(xp.float32).astype(xp.float64)
    return xp.exp(-short * short) * (xp.exp((short - x) * (short + x)) * scaled)


def _in_blocks(function: Callable[[Namespace, Array], Array], xp: Namespace, x: Array) -> Array:
    """`function` of `x`; on a CPU block by block: its many temporary arrays stay in cache."""
    if xp is not numpy or x.size <= _BLOCK:
        return function(xp, x)
    flat = x.reshape(-1)
    result = numpy.empty_like(flat)
    for start in range(0, flat.size, _BLOCK):
        result[start : start + _BLOCK] = function(xp, flat[start : start + _BLOCK])
    return result.reshape(x.shape)


def _has_any(xp: Namespace, condition: Array) -> bool:
    """Whether a step has work to do; a device is not waited for, there it may have none."""
    return xp is not numpy or bool(numpy.any(condition))


def _two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """x + y and what its rounding lost (Knuth)."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def _add(x: tuple[Array, Array], y: tuple[Array, Array]) -> tuple[Array, Array]:
    """The sum of two numbers that are sums of a head and a tail."""
    head, lost = _two_sum(x[0], y[0])
    return _two_sum(head, lost + (x[1] + y[1]))


def _times(xp: Namespace, x: tuple[Array, Array], y: Array) -> tuple[Array, Array]:
    """The product of a head and a tail with a number, as a head and a tail (Dekker, 1971)."""
    # Halves of 24 digits and of what they leave; no number here is past the range of float32.
    product = x[0] * y
    x_high = x[0].astype(xp.float32).astype(xp.float64)
    y_high = y.astype(xp.float32).astype(xp.float64)
    x_low, y_low = x[0] - x_high, y - y_high
    lost = (x_high * y_high - product) + (x_high * y_low + x_low * y_high)
    return product, lost + (x_low * y_low + x[1] * y)


def _inverse(xp: Namespace, x: tuple[Array, Array]) -> tuple[Array, Array]:
    """1 / x as a head and a tail: what the quotient leaves is divided again."""
    quotient = 1.0 / x[0]
    head, tail = _times(xp, x, quotient)
    return quotient, ((1.0 - head) - tail) * quotient


def lgamma(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """The logarithm of the absolute value of the gamma function; infinite at its poles."""
    return _in_blocks(_lgamma, xp, _wide(xp, x))


def _lgamma(xp: Namespace, x: Array) -> Array:
    mirrored = x <= _STEPS_UP_FROM
    positive = _lgamma_stepped(xp, xp.where(mirrored, 1.0 - x, x))
    rest = xp.abs(x - xp.rint(x))
    reflected = known.LOG_PI - xp.log(xp.sin(known.PI * rest)) - positive
    found = xp.where(mirrored, reflected, positive)
    # Negative numbers without a fraction are poles, and so are all beyond 2^52.
    return xp.where(((rest == 0) & (x <= 0)) | xp.isinf(x), xp.inf, found)


def _lgamma_stepped(xp: Namespace, x: Array) -> Array:
    """log gamma from `_STEPS_UP_FROM` on, or NaN.

    Next to the zeros among negative numbers neither log gamma(2 + d) nor the logarithm of the
    product of the factors between is large: nothing cancels.
    """
    step = xp.where(x < _SERIES_FROM, x, 2.0)
    before = step
    up = step < 1.5
    product = (xp.ones_like(x), xp.zeros_like(x))
    crosses = _has_any(xp, x < 0)
    for _ in range(int(2.5 - _STEPS_UP_FROM)):
        # A number below 1.5 may be rounded up to 2.5, and stays there.
        down = (step >= 2.5) & ~up
        moves = down | (step < 1.5)
        if not _has_any(xp, moves):
            break
        before = xp.where(moves, step, before)
        step = xp.where(moves, step + xp.where(down, -1.0, 1.0), step)
        factor = xp.where(down, step, before)
        factor = xp.where(moves, factor, 1.0)
        product = _times(xp, product, factor) if crosses else (product[0] * factor, product[1])
    place = xp.where(up, before - 1.0, step - 2.0)
    ratio = xp.where(xp.abs(product[0]) < 2.0**-90, 0.0, product[1] / product[0])
    logarithm = xp.log(xp.abs(product[0])) + ratio
    near = place * _polynomial(place, known.GAMMA) + xp.where(up, -logarithm, logarithm)
    large = xp.maximum(x, _SERIES_FROM)
    inverse = 1.0 / large
    series = inverse * _polynomial(inverse * inverse, known.STIRLING)
    far = (large - 0.5) * (xp.log(large) - 1.0) + (known.HALF_LOG_TWO_PI - 0.5 + series)
    return xp.where(x < _SERIES_FROM, near, far)


def digamma(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """The logarithmic derivative of the gamma function; NaN at the negative integers.

    With y = |x|: digamma(y), or for negative x digamma(y) + 1/y + pi cot(pi y), where pi cot(pi y)
    is 1/s - 1/(1 - s) + 1/(1 + s) and a small rest, for the distance s to the nearest integer.
    These terms cancel at the zeros, so they are added in two numbers each.
    """
    return _in_blocks(_digamma, xp, _wide(xp, x))


def _digamma(xp: Namespace, x: Array) -> Array:
    negative = x < 0
    tiny = xp.abs(x) < 2.0**-60
    y = xp.where(tiny, 1.0, xp.abs(x))
    small, below_one = y < _SERIES_FROM, y < 1.0
    nothing = xp.zeros_like(y)
    rest = y - xp.rint(y)
    # Of 1/y: half of it from 10 on, nothing where it cancels.
    inverse = _inverse(xp, (xp.minimum(y, 2.0**60), nothing))
    share = xp.where(small, 1.0, 0.5) * xp.where(negative, 1.0, -1.0)
    share = xp.where(small & (below_one == negative), 0.0, share)
    total = (inverse[0] * share, inverse[1] * share)
    if _has_any(xp, negative):
        total = _add(total, _cotangent(xp, xp.where(negative, rest, 0.25), negative))
    step = xp.where(small & ~below_one, y, 1.0)
    for _ in range(8):
        high = step > 2.0
        step = xp.where(high, step - 1.0, step)
        head, tail = _inverse(xp, (step, nothing))
        total = _add(total, (xp.where(high, head, 0.0), xp.where(high, tail, 0.0)))
    zero, missing = known.DIGAMMA_ZERO
    # Without a rounding below one: the zero less one is as long as the zero.
    away = xp.where(below_one, y - (zero - 1.0), step - zero) - missing
    near = away * _polynomial(away, known.DIGAMMA)
    square = 1.0 / xp.maximum(y, _SERIES_FROM) ** 2
    series = square * _polynomial(square, known.HARMONIC)
    logarithm, lost = _logarithm(xp, xp.maximum(y, _SERIES_FROM))
    positive = (xp.where(small, near, logarithm), xp.where(small, 0.0, lost))
    total = _add(_add(total, (xp.where(small, 0.0, -series), nothing)), positive)
    found = xp.where(negative & (rest == 0), xp.nan, total[0] + total[1])
    found = xp.where(xp.isinf(x), xp.where(negative, xp.nan, x), found)
    return xp.where(tiny, -1.0 / x, found)


def _cotangent(xp: Namespace, rest: Array, wanted: Array) -> tuple[Array, Array]:
    """pi cot(pi rest) for |rest| <= 1/2 where it is wanted, as a head and a tail; else zero."""
    size = xp.abs(rest)
    total = _inverse(xp, (size, xp.zeros_like(size)))
    for sign in (-1.0, 1.0):
        head, tail = _inverse(xp, _two_sum(xp.ones_like(size), sign * size))
        total = _add(total, (sign * head, sign * tail))
    bend = size * _polynomial(size * size, known.COTANGENT)
    total = _add(total, (bend, xp.zeros_like(size)))
    sign = xp.where(wanted, xp.copysign(1.0, rest), 0.0)
    return xp.where(wanted, total[0], 0.0) * sign, xp.where(wanted, total[1], 0.0) * sign


def _logarithm(xp: Namespace, x: Array) -> tuple[Array, Array]:
    """log(x) as a head and a tail, for finite normal x; NaN counts as 10.

    x = 2^k c (1 + f), where c is a multiple of 1/64, whose logarithm is in a table.
    """
    mantissa, exponent = xp.frexp(
        xp.where(x >= _SERIES_FROM, xp.minimum(x, xp.finfo(xp.float64).max), 10.0)
    )
    place = xp.rint(mantissa * 64.0)
    center = place / 64.0
    heads, tails = (xp.asarray(column)[place.astype(xp.int64)] for column in _center_logarithms())
    apart = mantissa - center
    fraction = apart / center
    head, tail = _times(xp, (fraction, xp.zeros_like(fraction)), center)
    lost = ((apart - head) - tail) / mantissa
    high, low = known.LOG_TWO
    exponent = exponent.astype(xp.float64)
    total = _add((exponent * high, exponent * low), (heads, tails))
    return _add(total, (xp.log1p(fraction), lost))


@cache
def _center_logarithms() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """log(j / 64) for j = 1 ... 64 as nearest numbers and what is missing; no row for 0."""
    exact = [Decimal(1) if j == 0 else (Decimal(j) / 64).ln() for j in range(65)]
    heads = tuple(float(value) for value in exact)
    return heads, tuple(
        float(value - Decimal(head)) for value, head in zip(exact, heads, strict=True)
    )


def polygamma(xp: Namespace, out: ShapeDtype, n: Array, x: Array) -> Array:
    """Derivative number n of digamma: (-1)^(n+1) n! zeta(n+1, x), reflected for negative x."""
    n, x = xp.broadcast_arrays(_wide(xp, n), _wide(xp, x))
    rest = x - xp.rint(x)
    fraction = xp.where(rest < 0, rest + 1.0, rest)
    complement = xp.where(rest < 0, -rest, 1.0 - rest)
    sign = xp.where(xp.fmod(n, 2.0) == 0, -1.0, 1.0)
    # The sum over all integers has period one; what the positive ones do not add is a zeta again.
    below = _scaled_zeta(xp, n, complement) - _scaled_zeta(xp, n, 1.0 - x)
    reflected = _scaled_zeta(xp, n, fraction) + sign * below
    positive = xp.where(xp.isinf(x), 0.0, _scaled_zeta(xp, n, x))
    found = sign * xp.where(x < 0, reflected, positive)
    return xp.where((rest == 0) & (x <= 0), xp.where(sign > 0, xp.inf, xp.nan), found)


def _scaled_zeta(xp: Namespace, n: Array, q: Array) -> Array:
    """n! times the Hurwitz zeta function, the sum of (q + k)^-(n + 1) over k >= 0, for q > 0.

    Euler and Maclaurin's formula, as in Cephes' zeta.c.  Powers are of q / (q + k).  The sum is
    about q / n or above 1, so that it is divided by q first; the factors of n! over q follow from
    either end, large ones while the product is below 1, which keeps it in range.
    """
    s = n + 1.0
    total = xp.ones_like(s)
    end = q
    for _ in range(_ZETA_TERMS):
        end = end + 1.0
        power = xp.power(q / end, s)
        total = total + power
    # The last term counts half, and the integral from there on follows.
    total = total + power * (end / n - 0.5)
    factor = s / end
    rising = s
    correction = xp.zeros_like(s)
    for coefficient in known.EULER_MACLAURIN:
        correction = correction + coefficient * factor
        for _ in range(2):
            rising = rising + 1.0
            factor = factor * (rising / end)
    # Where the power vanishes the factors may have overflowed: there is nothing to correct.
    total = total + xp.where(power == 0, 0.0, power * correction)
    total = total / q
    low, high = xp.ones_like(s), n
    for _ in range(int(xp.max(n)) if n.size else 0):
        is_large = total >= 1.0
        factor = xp.where(is_large, low, high) / q
        total = xp.where(low <= high, total * factor, total)
        low, high = xp.where(is_large, low + 1.0, low), xp.where(is_large, high, high - 1.0)
    return total
