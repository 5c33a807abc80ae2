"""Exponentials and logarithms, element by element: one row each, rules beside the meaning.

Complex rules follow the Hermitian convention: a vjp multiplies by the conjugate derivative.
"""

from __future__ import annotations

import math
from typing import Any

from . import choice
from .elementwise import abs as absolute
from .elementwise import add, conj, divide, multiply, negative, subtract
from .table import FLOATING, REAL_FLOATING, binary, unary
from .value import Value

__all__ = [
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "sigmoid",
]  # fmt: skip

LN2 = math.log(2.0)
LN10 = math.log(10.0)

exp: Any = unary(
    "exp", FLOATING,
    vjp=lambda g, out: multiply(g, conj(out)), jvp=lambda t, out: multiply(t, out),
    doc="""Exponential function, element by element.

    >>> import tenferro_wgpu as tw
    >>> tw.exp(tw.asarray([0.0])).tolist()
    [1.0]
    """,
)  # fmt: skip
exp2: Any = unary(
    "exp2", FLOATING,
    vjp=lambda g, out: multiply(g, conj(multiply(out, LN2))),
    jvp=lambda t, out: multiply(t, multiply(out, LN2)),
    doc="""2 to the power of every element.

    >>> import tenferro_wgpu as tw
    >>> tw.exp2(tw.asarray([3.0])).tolist()
    [8.0]
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
log: Any = unary(
    "log", FLOATING,
    vjp=lambda g, x: divide(g, conj(x)), jvp=lambda t, x: divide(t, x),
    doc="""Natural logarithm; -inf at 0 and NaN below it for real tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.log(tw.asarray([1.0])).tolist()
    [0.0]
    """,
)  # fmt: skip
log2: Any = unary(
    "log2", FLOATING,
    vjp=lambda g, x: divide(g, conj(multiply(x, LN2))),
    jvp=lambda t, x: divide(t, multiply(x, LN2)),
    doc="""Logarithm to base 2; -inf at 0 and NaN below it for real tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.log2(tw.asarray([8.0])).tolist()
    [3.0]
    """,
)  # fmt: skip
log10: Any = unary(
    "log10", FLOATING,
    vjp=lambda g, x: divide(g, conj(multiply(x, LN10))),
    jvp=lambda t, x: divide(t, multiply(x, LN10)),
    doc="""Logarithm to base 10; -inf at 0 and NaN below it for real tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.log10(tw.asarray([1.0])).tolist()
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


def _share(g: Value, x: Value, y: Value) -> Any:
    """g * exp(x) / (exp(x) + exp(y)); one half where both are the same infinity."""
    # Of equal finite numbers the difference is 0 by itself, and has derivatives.
    infinite = choice.logical_and(choice.equal(x, y), choice.equal(absolute(x), math.inf))
    difference = choice.where(infinite, 0.0, subtract(x, y))
    return multiply(g, sigmoid(difference))


_SHARES = (lambda g, x, y: _share(g, x, y), lambda g, x, y: _share(g, y, x))

logaddexp: Any = binary(
    "logaddexp", REAL_FLOATING, vjp=_SHARES, jvp=_SHARES,
    doc="""log(exp(x) + exp(y)) without overflow.

    >>> import tenferro_wgpu as tw
    >>> tw.logaddexp(tw.asarray([-float("inf")]), 2.0).tolist()
    [2.0]
    """,
)  # fmt: skip


def _sigmoid_slope(g: Value, x: Value, out: Value) -> Any:
    # 1 - out would have no correct digit for a large x.
    return multiply(g, multiply(out, sigmoid(negative(x))))


sigmoid: Any = unary(
    "sigmoid", REAL_FLOATING, vjp=_sigmoid_slope, jvp=_sigmoid_slope,
    doc="""The logistic function, 1 / (1 + exp(-x)), without overflow.

    >>> import tenferro_wgpu as tw
    >>> tw.sigmoid(tw.asarray([0.0])).tolist()
    [0.5]
    """,
)  # fmt: skip
