"""Trigonometric functions, element by element: one row each, rules beside the meaning.

Complex rules follow the Hermitian convention: a vjp multiplies by the conjugate derivative.
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import DTypeError
from . import choice
from .calling import check_flag, lift, to_inexact
from .elementwise import add, conj, divide, imag, multiply, negative, real, subtract
from .powers import hypot, part_of_length, sqrt
from .table import FLOATING, REAL_FLOATING, binary, unary
from .value import Value, constant_like

__all__ = ["acos", "angle", "asin", "atan", "atan2", "cos", "deg2rad", "rad2deg", "sin", "tan"]

DEGREE = math.pi / 180.0

sin: Any = unary(
    "sin", FLOATING,
    vjp=lambda g, x: multiply(g, conj(cos(x))), jvp=lambda t, x: multiply(t, cos(x)),
    doc="""Sine of angles in radians.

    >>> import tenferro_wgpu as tw
    >>> tw.sin(tw.asarray([0.0])).tolist()
    [0.0]
    """,
)  # fmt: skip
cos: Any = unary(
    "cos", FLOATING,
    vjp=lambda g, x: negative(multiply(g, conj(sin(x)))),
    jvp=lambda t, x: negative(multiply(t, sin(x))),
    doc="""Cosine of angles in radians.

    >>> import tenferro_wgpu as tw
    >>> tw.cos(tw.asarray([0.0])).tolist()
    [1.0]
    """,
)  # fmt: skip
tan: Any = unary(
    "tan", FLOATING,
    vjp=lambda g, out: multiply(g, conj(add(1, multiply(out, out)))),
    jvp=lambda t, out: multiply(t, add(1, multiply(out, out))),
    doc="""Tangent of angles in radians.

    >>> import tenferro_wgpu as tw
    >>> tw.tan(tw.asarray([0.0])).tolist()
    [0.0]
    """,
)  # fmt: skip


def _cosine_of_arc(x: Value) -> Any:
    """sqrt(1 - x*x), without cancellation near 1."""
    return sqrt(multiply(subtract(1, x), add(1, x)))


asin: Any = unary(
    "asin", FLOATING,
    vjp=lambda g, x: divide(g, conj(_cosine_of_arc(x))),
    jvp=lambda t, x: divide(t, _cosine_of_arc(x)),
    doc="""Inverse sine, in radians; NaN outside [-1, 1] for real tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.asin(tw.asarray([0.0])).tolist()
    [0.0]
    """,
)  # fmt: skip
acos: Any = unary(
    "acos", FLOATING,
    vjp=lambda g, x: negative(divide(g, conj(_cosine_of_arc(x)))),
    jvp=lambda t, x: negative(divide(t, _cosine_of_arc(x))),
    doc="""Inverse cosine, in radians; NaN outside [-1, 1] for real tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.acos(tw.asarray([1.0])).tolist()
    [0.0]
    """,
)  # fmt: skip
atan: Any = unary(
    "atan", FLOATING,
    vjp=lambda g, x: divide(g, conj(add(1, multiply(x, x)))),
    jvp=lambda t, x: divide(t, add(1, multiply(x, x))),
    doc="""Inverse tangent, in radians.

    >>> import tenferro_wgpu as tw
    >>> tw.atan(tw.asarray([0.0])).tolist()
    [0.0]
    """,
)  # fmt: skip


def _over_square(g: Value, x: Value, y: Value) -> Any:
    """g * x / (x*x + y*y) without overflow, and 0 at the origin."""
    length = hypot(x, y)
    at_zero = choice.equal(length, 0)
    safe = choice.where(at_zero, constant_like(length, 1), length)
    return divide(part_of_length(g, x, length), safe)


atan2: Any = binary(
    "atan2", REAL_FLOATING,
    vjp=(lambda g, x, y: _over_square(g, y, x), lambda g, x, y: negative(_over_square(g, x, y))),
    jvp=(lambda t, x, y: _over_square(t, y, x), lambda t, x, y: negative(_over_square(t, x, y))),
    doc="""The angle of the point whose second coordinate is `x` and first coordinate is `y`.

    NumPy's arctan2, in radians between -pi and pi.  The derivative at the origin is 0.

    >>> import tenferro_wgpu as tw
    >>> tw.atan2(tw.asarray([0.0]), 1.0).tolist()
    [0.0]
    """,
)  # fmt: skip


def angle(z: Any, /, deg: bool = False) -> Any:
    """The argument of complex numbers, between -pi and pi; 0 or pi for real ones.

    Takes any dtype and shape, integers as the default float.  The derivative at 0 is 0.

    Args:
        z: a tensor.
        deg: whether to give degrees instead of radians.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.angle(tw.asarray([2.0, -1.0]), deg=True).tolist()
    [0.0, 180.0]
    """
    check_flag("angle", "deg", deg)
    value = to_inexact(lift("angle", z))
    radians = atan2(imag(value), real(value))
    return rad2deg(radians) if deg else radians


def deg2rad(x: Any, /) -> Any:
    """Degrees as radians.

    Takes any shape; integers give the default float.

    Raises:
        DTypeError: for complex numbers, ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.deg2rad(tw.asarray([0.0])).tolist()
    [0.0]
    """
    return multiply(_real("deg2rad", x), DEGREE)


def rad2deg(x: Any, /) -> Any:
    """Radians as degrees.

    Takes any shape; integers give the default float.

    Raises:
        DTypeError: for complex numbers, ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.rad2deg(tw.asarray([0.0])).tolist()
    [0.0]
    """
    return multiply(_real("rad2deg", x), 1.0 / DEGREE)


def _real(op: str, x: Any) -> Value:
    value = to_inexact(lift(op, x))
    if value.dtype.kind == "c":
        raise DTypeError(op, f"{value.dtype} tensors are not supported", (value.dtype,))
    return value
