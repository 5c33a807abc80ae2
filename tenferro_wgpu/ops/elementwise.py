"""Arithmetic and analytic element-wise operations: one row each, rules beside the meaning.

Operands broadcast and promote around the table (`calling`); cotangents are summed back to an
operand's shape and projected to its dtype there too, so the rules below state only calculus.
Complex rules follow the Hermitian convention: a vjp multiplies by the conjugate derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import real_dtype
from ..errors import ArgumentError
from ..tensor import ShapeDtype
from . import choice
from .calling import REAL, elementwise, lift
from .table import FLOATING, NUMERIC, TABLE, binary, row, same, unary
from .value import Value, apply, constant_like

# The public functions below call each other inside their rules, in any order.

# -- arithmetic ---------------------------------------------------------------------------------

add: Any = binary(
    "add", NUMERIC,
    vjp=(lambda g: g, lambda g: g), jvp=(lambda t: t, lambda t: t),
    doc="""Add two tensors element by element.

    Shapes broadcast, dtypes promote; integers wrap around.

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
    vjp=(lambda g, y: multiply(g, conj(y)), lambda g, x: multiply(g, conj(x))),
    jvp=(lambda t, y: multiply(t, y), lambda t, x: multiply(x, t)),
    doc="""Multiply two tensors element by element.

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


def _is_zero(x: Value) -> Any:
    return choice.equal(x, 0)


def _power_base(g: Value, x: Value, y: Value) -> Any:
    """g * y * x**(y-1), and exactly 0 where y is 0 (x may be 0 there)."""
    at_zero = _is_zero(y)
    exponent = choice.where(at_zero, constant_like(y, 1), subtract(y, 1))
    slope = choice.where(at_zero, constant_like(y, 0), multiply(y, apply(POWER, x, exponent)))
    return multiply(g, conj(slope))


def _power_exponent(g: Value, x: Value, out: Value) -> Any:
    """g * log(x) * x**y, and 0 where the base is 0."""
    at_zero = _is_zero(x)
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

    Shapes broadcast, dtypes promote.

    Raises:
        ArgumentError: for a negative integer power of integers.
        DTypeError: for bools, ndarrays and lists.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> tw.pow(tw.asarray([1.0, 2.0, 3.0]), 2).tolist()
    [1.0, 4.0, 9.0]
    """
    if isinstance(x, Value) and isinstance(y, EXPONENTS) and not isinstance(y, bool):
        if y == 2 and x.dtype.kind in NUMERIC:
            return multiply(x, x)
        if y == 0.5 and x.dtype.kind in FLOATING:
            return sqrt(x)
        if y < 0 and isinstance(y, (int, np.integer)) and x.dtype.kind in "biu":
            raise ArgumentError(
                "pow",
                "integers to negative integer powers are not allowed; "
                "convert with astype(...) first",
            )
    return elementwise(POWER, (x, y), NUMERIC)


def _abs_shape(x: ShapeDtype) -> ShapeDtype:
    return ShapeDtype(x.shape, real_dtype(x.dtype))


abs: Any = unary(
    "abs", NUMERIC, shape_rule=_abs_shape,
    vjp=lambda g, x: multiply(g, sign(x)), jvp=lambda t, x: real(multiply(conj(sign(x)), t)),
    doc="""Absolute value; the modulus of a complex number, as a real tensor.

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
    at_zero = _is_zero(modulus)
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

# -- analytic functions -------------------------------------------------------------------------

exp: Any = unary(
    "exp", FLOATING,
    vjp=lambda g, out: multiply(g, conj(out)), jvp=lambda t, out: multiply(t, out),
    doc="""Exponential function, element by element.

    >>> import tenferro_wgpu as tw
    >>> tw.exp(tw.asarray([0.0])).tolist()
    [1.0]
    """,
)  # fmt: skip
log: Any = unary(
    "log", FLOATING,
    vjp=lambda g, x: divide(g, conj(x)), jvp=lambda t, x: divide(t, x),
    doc="""Natural logarithm; -inf at 0 and NaN below it for real tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.log(tw.asarray([1.0])).tolist()
    [0.0]
    """,
)  # fmt: skip
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
tanh: Any = unary(
    "tanh", FLOATING,
    vjp=lambda g, out: multiply(g, conj(subtract(1, multiply(out, out)))),
    jvp=lambda t, out: multiply(t, subtract(1, multiply(out, out))),
    doc="""Hyperbolic tangent.

    >>> import tenferro_wgpu as tw
    >>> tw.tanh(tw.asarray([0.0])).tolist()
    [0.0]
    """,
)  # fmt: skip
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
expm1: Any = unary(
    "expm1", FLOATING,
    vjp=lambda g, out: multiply(g, conj(add(out, 1))), jvp=lambda t, out: multiply(t, add(out, 1)),
    doc="""exp(x) - 1, accurate near 0.

    >>> import tenferro_wgpu as tw
    >>> tw.expm1(tw.asarray([0.0])).tolist()
    [0.0]
    """,
)  # fmt: skip
log1p: Any = unary(
    "log1p", FLOATING,
    vjp=lambda g, x: divide(g, conj(add(x, 1))), jvp=lambda t, x: divide(t, add(x, 1)),
    doc="""log(1 + x), accurate near 0.

    >>> import tenferro_wgpu as tw
    >>> tw.log1p(tw.asarray([0.0])).tolist()
    [0.0]
    """,
)  # fmt: skip

# -- complex parts ------------------------------------------------------------------------------

TABLE["real"] = REAL
_conj = row(
    "conj", ("x",), same("conj"), vjp=lambda g: conj(g), jvp=lambda t: conj(t)
)  # fmt: skip
_imag: Any = row(
    "imag", ("x",), REAL.shape_rule,
    vjp=lambda g: multiply(g, 1j), jvp=lambda t: apply(_imag, t),
)  # fmt: skip


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
