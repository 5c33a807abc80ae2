"""Functions of complex numbers whose special values NumPy leaves NaN.

A part of `array_kernels`; the values are those of the Array API standard.
"""

from __future__ import annotations

from typing import Any

from ..tensor import ShapeDtype

__all__ = ["expm1"]

Array = Any
Namespace = Any


def expm1(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """exp(x) - 1; of complex infinities by their limits, and real on the real axis."""
    result = xp.expm1(x)
    if x.dtype.kind != "c":
        return result
    real, imag = xp.real(x), xp.imag(x)
    lost = xp.isinf(real) & ~xp.isfinite(imag)
    falls = lost & (real < 0)
    of_real = xp.where(falls, -1, xp.where(lost, real, xp.real(result)))
    of_imag = xp.where(imag == 0, imag, xp.imag(result))
    of_imag = xp.where(falls, xp.copysign(xp.zeros_like(imag), imag), of_imag)
    joined = xp.empty(out.shape, out.dtype)
    joined.real = of_real
    joined.imag = of_imag
    return joined
