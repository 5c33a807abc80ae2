"""Rounding, and division that rounds, element by element: one row each.

Integers are their own floor; what NumPy says of division by zero holds for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import float16, float32
from . import choice
from .calling import as_integer, cast_to, lift, promote_broadcast
from .elementwise import add, complex, divide, imag, multiply, negative, real, subtract
from .table import REAL_FLOATING, REAL_NUMBERS, binary, in_int8, unary
from .value import Value, constant_like

__all__ = [
    "ceil", "divmod", "floor", "floor_divide", "fmod", "remainder", "round", "trunc",
]  # fmt: skip


def flat(g: Value) -> Any:
    """The derivative of steps: true zeros, whatever the cotangent holds."""
    return constant_like(g, 0)


def _rounding(name: str, doc: str) -> Any:
    return unary(
        name, REAL_FLOATING, vjp=flat, jvp=flat, elsewhere=("biu", lambda x: x),
        doc=f"""{doc}

    Integers and bools are returned as they are.  The derivative is 0 everywhere.

    >>> import tenferro_wgpu as tw
    >>> tw.{name}(tw.asarray([3.0])).tolist()
    [3.0]
    """,
    )  # fmt: skip


floor: Any = _rounding("floor", "The greatest integer not above every element, as a float.")
ceil: Any = _rounding("ceil", "The least integer not below every element, as a float.")
trunc: Any = _rounding("trunc", "Every element without its fraction, as a float.")
_nearest: Any = _rounding("round", "The nearest integer, as a float; halves go to the even one.")


def round(x: Any, /, decimals: int = 0) -> Any:
    """Round to `decimals` decimal places; halves go to the even neighbour.

    As in NumPy, a float is multiplied by a power of ten, rounded and divided again, so that
    halves that binary fractions only come near to may go either way; float16 goes through float32.
    Integers are exact and change only for negative `decimals`; complex numbers are rounded part by
    part.  The derivative is 0 everywhere.

    Args:
        x: a tensor of any shape and dtype.
        decimals: places behind the point, or before it if negative.

    Raises:
        ArgumentError: for `decimals` beyond 64 bits.
        DTypeError: for ndarrays and lists, or if `decimals` is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.round(tw.asarray([0.5, 1.5, -2.5])).tolist()
    [0.0, 2.0, -2.0]
    >>> tw.round(tw.asarray([1234, 1250]), -2).tolist()
    [1200, 1200]
    """
    decimals = as_integer("round", "decimals", decimals)
    value = lift("round", x)
    if value.dtype.kind == "c":
        return _rounded_parts(value, decimals)
    if decimals == 0:
        return _nearest(value)
    if value.dtype.kind in "biu":
        return value if decimals > 0 or value.dtype.kind == "b" else _rounded(value, -decimals)
    return _at_place(value, decimals)


#: Powers of ten that float32 and float64 hold.
_MOST_PLACES = {4: 38, 8: 308}


def _at_place(x: Value, decimals: int) -> Any:
    """Floats rounded at a place other than that of ones; float16 in float32, which holds more."""
    if x.dtype is float16:
        return cast_to(_at_place(cast_to(x, float32), decimals), float16)
    most = _MOST_PLACES[x.dtype.itemsize]
    if decimals > most:
        return x  # only subnormal numbers have digits there
    if decimals > 0:
        return divide(_nearest(multiply(x, 10.0**decimals)), 10.0**decimals)
    unit = 10.0 ** min(-decimals, most)
    return multiply(_nearest(divide(x, unit)), unit)


def _rounded_parts(z: Value, decimals: int) -> Any:
    """Complex numbers with both parts rounded."""
    return complex(round(real(z), decimals), round(imag(z), decimals))


def _rounded(x: Value, zeros: int) -> Any:
    """Integers to the nearest multiple of 10**zeros, halves to the even one."""
    unit = 10**zeros
    if unit > np.iinfo(x.dtype).max:
        return constant_like(x, 0)
    multiple, rest = divmod(x, unit)
    missing = subtract(unit, rest)
    is_odd = choice.not_equal(remainder(multiple, 2), 0)
    up = choice.logical_or(
        choice.less(missing, rest), choice.logical_and(choice.equal(missing, rest), is_odd)
    )
    return multiply(choice.where(up, add(multiple, 1), multiple), unit)


floor_divide: Any = binary(
    "floor_divide", REAL_NUMBERS, vjp=(flat, flat), jvp=(flat, flat),
    elsewhere=in_int8(lambda x, y: floor_divide(x, y)),
    doc="""The floor of the quotient: `x // y`; bools give int8.

    Integers divided by 0 give 0, and the lowest integer divided by -1 itself.  Where an operand
    is infinite the result is that of `x / y`, as the Array API says.  The derivative is 0.

    >>> import tenferro_wgpu as tw
    >>> tw.floor_divide(tw.asarray([7.0, -7.0]), 2.0).tolist()
    [3.0, -4.0]
    """,
)  # fmt: skip
remainder: Any = binary(
    "remainder", REAL_NUMBERS, elsewhere=in_int8(lambda x, y: remainder(x, y)),
    vjp=(lambda g: g, lambda g, x, y: negative(multiply(g, floor_divide(x, y)))),
    jvp=(lambda t: t, lambda t, x, y: negative(multiply(t, floor_divide(x, y)))),
    doc="""What floor division leaves, with the sign of `y`: `x % y`.

    Integers divided by 0 leave 0; bools give int8.

    >>> import tenferro_wgpu as tw
    >>> tw.remainder(tw.asarray([7.0, -7.0]), 4.0).tolist()
    [3.0, 1.0]
    """,
)  # fmt: skip


def _whole_quotient(g: Value, x: Value, y: Value, out: Value) -> Any:
    # The truncated quotient; rounding mends what the division of a multiple of y loses.
    return negative(multiply(g, _nearest(divide(subtract(x, out), y))))


fmod: Any = binary(
    "fmod", REAL_NUMBERS, elsewhere=in_int8(lambda x, y: fmod(x, y)),
    vjp=(lambda g: g, _whole_quotient), jvp=(lambda t: t, _whole_quotient),
    doc="""What division that truncates leaves, with the sign of `x`: C's fmod.

    Integers divided by 0 leave 0; bools give int8.

    >>> import tenferro_wgpu as tw
    >>> tw.fmod(tw.asarray([7.0, -7.0]), 4.0).tolist()
    [3.0, -3.0]
    """,
)  # fmt: skip


def divmod(x: Any, y: Any, /) -> tuple[Any, Any]:
    """`floor_divide(x, y)` and `remainder(x, y)`.

    Takes bools, which give int8, integers and floats whose shapes broadcast.

    Raises:
        DTypeError: for complex numbers, ndarrays and lists.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> [part.tolist() for part in tw.divmod(tw.asarray([7.0, -7.0]), 4.0)]
    [[1.0, -2.0], [3.0, 1.0]]
    """
    x, y = promote_broadcast("divmod", (x, y))
    return floor_divide(x, y), remainder(x, y)
