"""Element-wise kernels where CuPy's universal functions are not NumPy's.

Bound by `cupy_backend` in place of the shared ones.  They compute with a namespace ``xp`` like
those, so that the tests run them on NumPy.
"""

from __future__ import annotations

from typing import Any

from ..tensor import ShapeDtype
from .array_kernels import ArrayKernel

__all__ = ["KERNELS"]

Array = Any
Namespace = Any


def _moves(x: Array, y: Array, rest: Array) -> Array:
    """Where C's remainder has the wrong sign for Python's."""
    return (rest != 0) & ((rest < 0) != (y < 0))


def fmod(xp: Namespace, out: ShapeDtype, x: Array, y: Array) -> Array:
    """The remainder with the dividend's sign; CuPy sends integers through float64."""
    if out.dtype.kind == "f":
        return xp.fmod(x, y)
    rest = xp.remainder(x, y)
    return xp.where((rest != 0) & ((rest < 0) != (x < 0)), rest - y, rest)


def remainder(xp: Namespace, out: ShapeDtype, x: Array, y: Array) -> Array:
    """NumPy's npy_divmod: the exact fmod, moved to the sign of the divisor."""
    if out.dtype.kind != "f":
        return xp.remainder(x, y)
    rest = xp.fmod(x, y)
    moved = xp.where(_moves(x, y, rest), rest + y, rest)
    return xp.where(rest == 0, xp.copysign(xp.zeros_like(rest), y), moved)


def floor_divide(xp: Namespace, out: ShapeDtype, x: Array, y: Array) -> Array:
    """NumPy's npy_divmod; x / y itself by 0 and where an operand is infinite."""
    if out.dtype.kind != "f":
        return xp.floor_divide(x, y)
    if out.dtype.itemsize == 2:  # as NumPy does it: the quotient has more digits than float16
        x, y = x.astype("float32"), y.astype("float32")
    ratio = xp.true_divide(x, y)
    rest = xp.fmod(x, y)
    quotient = (x - rest) / y - _moves(x, y, rest)
    whole = xp.floor(quotient)
    whole = whole + (quotient - whole > 0.5)
    whole = xp.where(quotient == 0, xp.copysign(xp.zeros_like(ratio), ratio), whole)
    return xp.where((y == 0) | xp.isinf(x) | xp.isinf(y), ratio, whole)


def shift_left(xp: Namespace, out: ShapeDtype, x: Array, y: Array) -> Array:
    """x << y, and 0 for counts that C leaves undefined."""
    inside = (y >= 0) & (y < 8 * out.dtype.itemsize)
    return xp.where(inside, xp.left_shift(x, xp.where(inside, y, 0)), 0)


def shift_right(xp: Namespace, out: ShapeDtype, x: Array, y: Array) -> Array:
    """x >> y; for counts that C leaves undefined the sign alone is left."""
    inside = (y >= 0) & (y < 8 * out.dtype.itemsize)
    sign = xp.zeros_like(x) - (x < 0)
    return xp.where(inside, xp.right_shift(x, xp.where(inside, y, 0)), sign)


def nextafter(xp: Namespace, out: ShapeDtype, x: Array, y: Array) -> Array:
    """The next number toward y; CuPy takes float32's neighbour of a float16."""
    if out.dtype.itemsize != 2:
        return xp.nextafter(x, y)
    first, second = (_order(xp, part) for part in (x, y))
    step = first + xp.sign(second - first)
    bits = xp.where(step < 0, 0x8000 - step, step).astype("uint16")
    neighbour = bits.view("float16")
    neighbour = xp.where(step == 0, xp.copysign(neighbour, x), neighbour)
    return xp.where(xp.isnan(x) | xp.isnan(y), x + y, xp.where(x == y, x, neighbour))


def _order(xp: Namespace, x: Array) -> Array:
    """Integers in the order of float16 numbers, both zeros as 0."""
    bits = xp.array(x, order="C").view("uint16").astype("int32")
    return xp.where(bits >= 0x8000, 0x8000 - bits, bits)


#: Primitive name -> kernel.
KERNELS: dict[str, ArrayKernel] = {
    "fmod": fmod,
    "remainder": remainder,
    "floor_divide": floor_divide,
    "shift_left": shift_left,
    "shift_right": shift_right,
    "nextafter": nextafter,
}
