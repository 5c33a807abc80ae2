"""Special functions over a NumPy-compatible namespace: kernels of the CPU and CUDA backends.

Registered by `array_kernels`.  Everything is computed in float64 and rounded once to the result's
dtype.  The same algorithms, over the same coefficients, are in `shaders/special.wgsl.j2`.
"""

from __future__ import annotations

from typing import Any

from .. import approximations as known
from ..tensor import ShapeDtype

__all__ = ["digamma", "erf", "erfc", "lgamma", "polygamma"]

Array = Any
Namespace = Any

#: Below, log gamma and digamma step up or down; above, their asymptotic series hold.
_SERIES_FROM = 10.0
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


def lgamma(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """The logarithm of the absolute value of the gamma function; infinite at its poles."""
    x = _wide(xp, x)
    positive = _lgamma_positive(xp, xp.where(x < 0, 1.0 - x, x))
    rest = xp.abs(x - xp.rint(x))
    reflected = known.LOG_PI - xp.log(xp.sin(known.PI * rest)) - positive
    # Negative numbers without a fraction are poles, and so are all beyond 2^52.
    reflected = xp.where(rest == 0, xp.inf, reflected)
    return xp.where(xp.isinf(x), xp.inf, xp.where(x < 0, reflected, positive))


def _lgamma_positive(xp: Namespace, x: Array) -> Array:
    """log gamma for x >= 0 or NaN."""
    product = xp.ones_like(x)
    step = xp.where(x < _SERIES_FROM, x, 2.0)
    for _ in range(8):
        high = step >= 2.5
        step = xp.where(high, step - 1.0, step)
        product = xp.where(high, product * step, product)
    low = xp.where(step < 0.5, step, xp.where(step < 1.5, step - 1.0, step - 2.0))
    near = low * _polynomial(low, known.GAMMA) + xp.log(product)
    near = xp.where(step < 0.5, near - xp.log(step * (1.0 + step)), near)
    near = xp.where((step >= 0.5) & (step < 1.5), near - xp.log1p(low), near)
    large = xp.maximum(x, _SERIES_FROM)
    inverse = 1.0 / large
    series = inverse * _polynomial(inverse * inverse, known.STIRLING)
    far = (large - 0.5) * (xp.log(large) - 1.0) + (known.HALF_LOG_TWO_PI - 0.5 + series)
    return xp.where(x < _SERIES_FROM, near, far)


def digamma(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """The logarithmic derivative of the gamma function; NaN at the negative integers."""
    x = _wide(xp, x)
    positive = _digamma_positive(xp, xp.where(x < 0, 1.0 - x, x))
    rest = x - xp.rint(x)
    angle = known.PI * rest
    reflected = positive - known.PI * xp.cos(angle) / xp.sin(angle)
    reflected = xp.where(rest == 0, xp.nan, reflected)
    found = xp.where(x < 0, reflected, positive)
    return xp.where(x == 0, xp.copysign(xp.inf, -x), found)


def _digamma_positive(xp: Namespace, x: Array) -> Array:
    """digamma for x >= 0 or NaN; at 0 the value does not matter."""
    small = x < 1.0
    step = xp.where(x < _SERIES_FROM, xp.where(small, x + 1.0, x), 1.0)
    added = xp.where(small, -1.0 / x, 0.0)
    for _ in range(8):
        high = step > 2.0
        step = xp.where(high, step - 1.0, step)
        added = xp.where(high, added + 1.0 / step, added)
    zero, missing = known.DIGAMMA_ZERO
    away = (step - zero) - missing
    near = away * _polynomial(away, known.DIGAMMA) + added
    large = xp.maximum(x, _SERIES_FROM)
    square = 1.0 / (large * large)
    far = xp.log(large) - (0.5 / large + square * _polynomial(square, known.HARMONIC))
    return xp.where(x < _SERIES_FROM, near, far)


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

    Euler and Maclaurin's formula, as in Cephes' zeta.c.  Powers are of q / (q + k) and the
    factorial is divided by powers of q as it grows, so that neither leaves the range.
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
    scale = 1.0 / q
    factor = xp.zeros_like(s)
    for _ in range(int(xp.max(n)) if n.size else 0):
        factor = factor + 1.0
        scale = xp.where(factor <= n, scale * (factor / q), scale)
    return total * scale
