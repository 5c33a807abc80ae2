"""Powers and roots, element by element: one row each, rules beside the meaning.

Complex rules follow the Hermitian convention: a vjp multiplies by the conjugate derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import bool_, int8
from ..errors import ArgumentError
from . import choice
from .calling import cast_to, elementwise, promote_broadcast
from .elementwise import conj, divide, multiply, subtract
from .exponential import log
from .table import FLOATING, NUMERIC, REAL_FLOATING, binary, row, same, unary
from .value import Value, apply, constant_like

__all__ = ["cbrt", "hypot", "pow", "rsqrt", "sqrt"]


def is_zero(x: Value) -> Any:
    """Whether elements are 0, of either sign."""
    return choice.equal(x, 0)


def _power_base(g: Value, x: Value, y: Value) -> Any:
    """g * y * x**(y-1), and exactly 0 where y is 0 (x may be 0 there)."""
    at_zero = is_zero(y)
    exponent = choice.where(at_zero, constant_like(y, 1), subtract(y, 1))
    slope = choice.where(at_zero, constant_like(y, 0), multiply(y, apply(POWER, x, exponent)))
    return multiply(g, conj(slope))


def _power_exponent(g: Value, x: Value, out: Value) -> Any:
    """g * log(x) * x**y, and 0 where the base is 0."""
    at_zero = is_zero(x)
    slope = multiply(log(choice.where(at_zero, constant_like(x, 1), x)), out)
    return multiply(g, conj(choice.where(at_zero, constant_like(out, 0), slope)))


#: Scalars whose value `pow` looks at.
EXPONENTS = (int, float, np.integer, np.floating)

POWER = row(
    "pow", ("x", "y"), same("pow"),
    vjp=(
        lambda g, x, y: _power_base(g, x, y),
        lambda g, x, out: _power_exponent(g, x, out),
    ),
    jvp=(
        lambda t, x, y: conj(_power_base(conj(t), x, y)),
        lambda t, x, out: conj(_power_exponent(conj(t), x, out)),
    ),
)  # fmt: skip


def pow(x: Any, y: Any, /) -> Any:
    """Raise the first tensor to the power of the second, element by element.

    As in NumPy, a scalar exponent of 2 multiplies and one of 0.5 takes the square root; an
    integer tensor with a negative integer exponent raises ArgumentError.  Exponents in an integer
    tensor are not read for that on a GPU: the results of negative ones are undefined there.

    Shapes broadcast, dtypes promote; bools alone give int8.

    Raises:
        ArgumentError: for a negative integer power of integers.
        DTypeError: for ndarrays and lists.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> tw.pow(tw.asarray([1.0, 2.0, 3.0]), 2).tolist()
    [1.0, 4.0, 9.0]
    """
    if isinstance(x, Value) and isinstance(y, EXPONENTS) and not isinstance(y, bool):
        whole = isinstance(y, (int, np.integer))
        if y == 2 and x.dtype.kind in (NUMERIC if whole else FLOATING):
            return multiply(x, x)
        if y == 0.5 and x.dtype.kind in FLOATING:
            return sqrt(x)
        if y < 0 and whole and x.dtype.kind in "biu":
            raise ArgumentError(
                "pow",
                "integers to negative integer powers are not allowed; "
                "convert with astype(...) first",
            )
    if all(isinstance(v, (bool, np.bool_)) or getattr(v, "dtype", None) == bool_ for v in (x, y)):
        x, y = (cast_to(v, int8) for v in promote_broadcast("pow", (x, y)))
    return elementwise(POWER, (x, y), NUMERIC)


sqrt: Any = unary(
    "sqrt", FLOATING,
    vjp=lambda g, out: divide(g, multiply(2, conj(out))),
    jvp=lambda t, out: divide(t, multiply(2, out)),
    doc="""Square root; NaN below 0, and an infinite derivative at 0.

    Correctly rounded on arrays and in software float64; a GPU's own may differ in the last place.

    >>> import tenferro_wgpu as tw
    >>> tw.sqrt(tw.asarray([4.0])).tolist()
    [2.0]
    """,
)  # fmt: skip
rsqrt: Any = unary(
    "rsqrt", FLOATING,
    vjp=lambda g, x, out: multiply(g, conj(multiply(-0.5, divide(out, x)))),
    jvp=lambda t, x, out: multiply(t, multiply(-0.5, divide(out, x))),
    doc="""Reciprocal square root.

    >>> import tenferro_wgpu as tw
    >>> tw.rsqrt(tw.asarray([4.0])).tolist()
    [0.5]
    """,
)  # fmt: skip


def _cube_root_slope(g: Value, out: Value) -> Any:
    return divide(g, multiply(3.0, multiply(out, out)))


cbrt: Any = unary(
    "cbrt", REAL_FLOATING, vjp=_cube_root_slope, jvp=_cube_root_slope,
    doc="""Cube root, negative for negative elements; an infinite derivative at 0.

    >>> import tenferro_wgpu as tw
    >>> tw.cbrt(tw.asarray([-8.0])).tolist()
    [-2.0]
    """,
)  # fmt: skip


def part_of_length(g: Value, x: Value, length: Value) -> Any:
    """g * x / length, and 0 where the length is 0."""
    at_zero = is_zero(length)
    safe = choice.where(at_zero, constant_like(length, 1), length)
    return multiply(g, choice.where(at_zero, constant_like(length, 0), divide(x, safe)))


_LENGTH_RULES = (
    lambda g, x, out: part_of_length(g, x, out),
    lambda g, y, out: part_of_length(g, y, out),
)

hypot: Any = binary(
    "hypot", REAL_FLOATING, vjp=_LENGTH_RULES, jvp=_LENGTH_RULES,
    doc="""sqrt(x*x + y*y) without overflow; infinite if either is, even beside NaN.

    The derivative at the origin is 0.

    >>> import tenferro_wgpu as tw
    >>> tw.hypot(tw.asarray([3.0]), 4.0).tolist()
    [5.0]
    """,
)  # fmt: skip
