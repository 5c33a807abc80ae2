"""Arithmetic and complex parts, element by element: one row each, rules beside the meaning.

Operands broadcast and promote around the table (`calling`); cotangents are summed back to an
operand's shape and projected to its dtype there too, so the rules below state only calculus.
Complex rules follow the Hermitian convention: a vjp multiplies by the conjugate derivative.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import bool_, default_complex, float16, float32, int8, real_dtype
from ..errors import DTypeError
from ..tensor import ShapeDtype
from . import choice
from .calling import REAL, cast_to, lift, promote_broadcast, to_inexact
from .table import FLOATING, NUMERIC, TABLE, binary, row, same, unary
from .value import Value, apply, constant_like

__all__ = [
    "abs", "add", "complex", "conj", "divide", "imag", "multiply", "negative", "positive", "real",
    "reciprocal", "sign", "square", "subtract",
]  # fmt: skip

# The public functions below call each other inside their rules, in any order.

# -- arithmetic ---------------------------------------------------------------------------------

add: Any = binary(
    "add", NUMERIC, elsewhere=("b", lambda x, y: choice.logical_or(x, y)),
    vjp=(lambda g: g, lambda g: g), jvp=(lambda t: t, lambda t: t),
    doc="""Add two tensors element by element.

    Shapes broadcast, dtypes promote; integers wrap around.  Of bools it is logical or.

    >>> import tenferro_wgpu as tw
    >>> tw.add(tw.asarray([1.0, 2.0]), 0.5).tolist()
    [1.5, 2.5]
    """,
)  # fmt: skip
subtract: Any = binary(
    "sub", NUMERIC, public_name="subtract",
    vjp=(lambda g: g, lambda g: negative(g)), jvp=(lambda t: t, lambda t: negative(t)),
    doc="""Subtract the second tensor from the first, element by element.

    >>> import tenferro_wgpu as tw
    >>> tw.subtract(tw.asarray([1.0, 2.0]), 0.5).tolist()
    [0.5, 1.5]
    """,
)  # fmt: skip
multiply: Any = binary(
    "mul", NUMERIC, public_name="multiply",
    elsewhere=("b", lambda x, y: choice.logical_and(x, y)),
    vjp=(lambda g, y: multiply(g, conj(y)), lambda g, x: multiply(g, conj(x))),
    jvp=(lambda t, y: multiply(t, y), lambda t, x: multiply(x, t)),
    doc="""Multiply two tensors element by element; of bools it is logical and.

    >>> import tenferro_wgpu as tw
    >>> tw.multiply(tw.asarray([1.0, 2.0]), 3.0).tolist()
    [3.0, 6.0]
    """,
)  # fmt: skip
divide: Any = binary(
    "div", FLOATING, public_name="divide",
    vjp=(
        lambda g, y: divide(g, conj(y)),
        lambda g, y, out: negative(multiply(g, conj(divide(out, y)))),
    ),
    jvp=(
        lambda t, y: divide(t, y),
        lambda t, y, out: negative(multiply(t, divide(out, y))),
    ),
    doc="""True division, element by element; integers give the default float.

    Division by zero gives infinities and NaN by IEEE-754, without a warning.

    >>> import tenferro_wgpu as tw
    >>> tw.divide(tw.asarray([1.0, 2.0]), 4.0).tolist()
    [0.25, 0.5]
    """,
)  # fmt: skip
negative: Any = unary(
    "neg", NUMERIC, vjp=lambda g: negative(g), jvp=lambda t: negative(t),
    doc="""Negate every element.

    >>> import tenferro_wgpu as tw
    >>> tw.negative(tw.asarray([1.0, -2.0])).tolist()
    [-1.0, 2.0]
    """,
)  # fmt: skip


def positive(x: Any, /) -> Any:
    """The tensor itself, as `+x`.

    Takes integers, floats and complex numbers of any shape.

    Raises:
        DTypeError: for bools, ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.positive(tw.asarray([1.0, -2.0])).tolist()
    [1.0, -2.0]
    """
    value = lift("positive", x)
    if value.dtype.kind == "b":
        raise DTypeError("positive", "bool tensors are not supported", (value.dtype,))
    return value


def square(x: Any, /) -> Any:
    """The square of every element, x * x.

    Takes any dtype and shape; integers wrap around, bools give int8 as in NumPy.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.square(tw.asarray([1.0, -3.0])).tolist()
    [1.0, 9.0]
    """
    value = lift("square", x)
    if value.dtype is bool_:
        value = cast_to(value, int8)
    return multiply(value, value)


def reciprocal(x: Any, /) -> Any:
    """1 / x, element by element; integers give the default float.

    Takes any dtype and shape.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.reciprocal(tw.asarray([4.0, -0.5])).tolist()
    [0.25, -2.0]
    """
    return divide(1, lift("reciprocal", x))


def _abs_shape(x: ShapeDtype) -> ShapeDtype:
    return ShapeDtype(x.shape, real_dtype(x.dtype))


abs: Any = unary(
    "abs", NUMERIC, shape_rule=_abs_shape, elsewhere=("b", lambda x: x),
    vjp=lambda g, x: multiply(g, sign(x)), jvp=lambda t, x: real(multiply(conj(sign(x)), t)),
    doc="""Absolute value; the modulus of a complex number, as a real tensor; bools stay.

    The derivative at 0 is 0.

    >>> import tenferro_wgpu as tw
    >>> tw.abs(tw.asarray([-1.5, 2.0])).tolist()
    [1.5, 2.0]
    """,
)  # fmt: skip


def _sign_derivative(t: Value, x: Value) -> Any:
    """0 for real x; for complex z/|z| the part of t across the radius, over |z|; 0 at 0."""
    if x.dtype.kind != "c":
        return constant_like(x, 0)
    direction = sign(x)
    across = subtract(t, multiply(direction, real(multiply(conj(direction), t))))
    modulus = abs(x)
    at_zero = choice.equal(modulus, 0)
    safe = choice.where(at_zero, constant_like(modulus, 1), modulus)
    return choice.where(at_zero, constant_like(x, 0), divide(across, safe))


sign: Any = unary(
    "sign", NUMERIC,
    vjp=lambda g, x: _sign_derivative(g, x), jvp=lambda t, x: _sign_derivative(t, x),
    doc="""Sign of every element: -1, 0 or 1; z/abs(z) for complex; NaN stays NaN.

    >>> import tenferro_wgpu as tw
    >>> tw.sign(tw.asarray([-3.0, 0.0, 5.0])).tolist()
    [-1.0, 0.0, 1.0]
    """,
)  # fmt: skip

# -- complex parts ------------------------------------------------------------------------------

TABLE["real"] = REAL
_conj = row(
    "conj", ("x",), same("conj"), vjp=lambda g: conj(g), jvp=lambda t: conj(t)
)  # fmt: skip
_imag: Any = row(
    "imag", ("x",), REAL.shape_rule,
    vjp=lambda g: _joined(constant_like(g, 0), g), jvp=lambda t: apply(_imag, t),
)  # fmt: skip


def _joined_shape(x: ShapeDtype, y: ShapeDtype) -> ShapeDtype:
    return ShapeDtype(same("complex")(x, y).shape, default_complex(x.dtype))


def _joined(x: Value, y: Value) -> Any:
    return apply(_complex, x, y)


_complex: Any = row(
    "complex", ("x", "y"), _joined_shape,
    vjp=(lambda g: real(g), lambda g: imag(g)),
    jvp=(lambda t: _joined(t, constant_like(t, 0)), lambda t: _joined(constant_like(t, 0), t)),
)  # fmt: skip


def complex(x: Any, y: Any, /) -> Any:
    """The complex numbers with the real parts `x` and the imaginary parts `y`.

    Both parts come back bit by bit: ``x + y * 1j`` makes NaN of infinities, and 0.0 of -0.0.

    Takes floats, and bools and integers as the default float, of shapes that broadcast; float16
    becomes float32, the parts of the smallest complex dtype.

    Raises:
        DTypeError: for complex numbers, ndarrays and lists.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> tw.complex(tw.asarray([1.0, 2.0]), float("inf")).tolist()
    [(1+infj), (2+infj)]
    """
    parts = [to_inexact(part) for part in promote_broadcast("complex", (x, y))]
    if parts[0].dtype.kind == "c":
        raise DTypeError("complex", "parts are real numbers", (parts[0].dtype,))
    if parts[0].dtype is float16:
        parts = [cast_to(part, float32) for part in parts]
    return _joined(*parts)


def conj(x: Any, /) -> Any:
    """Complex conjugate; a real tensor is returned as it is.

    Takes any shape and dtype.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([1.0])
    >>> tw.conj(x) is x
    True
    """
    value = x if isinstance(x, Value) else lift("conj", x)
    return apply(_conj, value) if value.dtype.kind == "c" else value


def real(x: Any, /) -> Any:
    """Real part; a real tensor is returned as it is.

    Takes any shape and dtype.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.real(tw.asarray([1.5])).tolist()
    [1.5]
    """
    value = lift("real", x)
    return apply(REAL, value) if value.dtype.kind == "c" else value


def imag(x: Any, /) -> Any:
    """Imaginary part; zeros for a real tensor.

    Takes any shape and dtype.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.imag(tw.asarray([1.5])).tolist()
    [0.0]
    """
    value = lift("imag", x)
    return apply(_imag, value) if value.dtype.kind == "c" else constant_like(value, 0)


COPY = row("copy", ("x",), same("copy"), vjp=lambda g: g, jvp=lambda t: t)
