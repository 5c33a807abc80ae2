"""Special functions of real tensors: the error function and the family of the gamma function.

Rows like those of `elementwise`; what they compute is in `backends/special_functions.py`, and in
`shaders/special.wgsl.j2`, `shaders/gamma.wgsl.j2` and the dialects that use them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from .calling import elementwise
from .elementwise import add, multiply, negative
from .exponential import exp
from .table import REAL_FLOATING, row, same, unary
from .value import Value, constant_like

__all__ = ["digamma", "erf", "erfc", "lgamma", "polygamma"]

_TWO_OVER_ROOT_PI = 1.1283791670955126


def _bell(g: Value, x: Value) -> Any:
    """g times the derivative of erf, 2/sqrt(pi) exp(-x^2)."""
    return multiply(g, multiply(_TWO_OVER_ROOT_PI, exp(negative(multiply(x, x)))))


erf: Any = unary(
    "erf", REAL_FLOATING, vjp=lambda g, x: _bell(g, x), jvp=lambda t, x: _bell(t, x),
    doc="""Error function: 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.

    >>> import tenferro_wgpu as tw
    >>> round(tw.erf(tw.asarray([1.0], dtype=tw.float64)).item(), 12)
    0.84270079295
    """,
)  # fmt: skip
erfc: Any = unary(
    "erfc", REAL_FLOATING,
    vjp=lambda g, x: negative(_bell(g, x)), jvp=lambda t, x: negative(_bell(t, x)),
    doc="""Complementary error function 1 - erf(x), accurate where erf is near 1.

    >>> import tenferro_wgpu as tw
    >>> round(tw.erfc(tw.asarray([1.0], dtype=tw.float64)).item(), 12)
    0.15729920705
    """,
)  # fmt: skip
lgamma: Any = unary(
    "lgamma", REAL_FLOATING,
    vjp=lambda g, x: multiply(g, digamma(x)), jvp=lambda t, x: multiply(t, digamma(x)),
    doc="""Logarithm of the absolute value of the gamma function; inf at its poles.

    >>> import tenferro_wgpu as tw
    >>> round(tw.lgamma(tw.asarray([5.0], dtype=tw.float64)).exp().item(), 9)
    24.0
    """,
)  # fmt: skip
digamma: Any = unary(
    "digamma", REAL_FLOATING,
    vjp=lambda g, x: multiply(g, polygamma(1, x)), jvp=lambda t, x: multiply(t, polygamma(1, x)),
    doc="""Logarithmic derivative of the gamma function; NaN at the negative integers.

    >>> import tenferro_wgpu as tw
    >>> round(tw.digamma(tw.asarray([1.0], dtype=tw.float64)).item(), 12)
    -0.577215664902
    """,
)  # fmt: skip


def _next_derivative(g: Value, n: Value, x: Value) -> Any:
    return multiply(g, elementwise(_polygamma, (add(n, 1), x), REAL_FLOATING))


_polygamma = row(
    "polygamma", ("n", "x"), same("polygamma"),
    # An order is an integer: nothing moves with it.
    vjp=(lambda g, n: constant_like(n, 0), lambda g, n, x: _next_derivative(g, n, x)),
    jvp=(lambda t, out: constant_like(out, 0), lambda t, n, x: _next_derivative(t, n, x)),
)  # fmt: skip


def polygamma(n: int, x: Any, /) -> Any:
    """Derivative number `n` of `digamma`, element by element.

    n = 0 is digamma itself, n = 1 the trigamma function.  By the Hurwitz zeta function (Euler and
    Maclaurin's sum), for negative `x` with the reflection formula.

    Args:
        n: a Python integer from 0 to 1000.
        x: a tensor of any shape: floats, integers as the default float.

    Raises:
        ArgumentError: for another `n`.
        DTypeError: for complex tensors, ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> round(tw.polygamma(1, tw.asarray([1.0], dtype=tw.float64)).item(), 9)
    1.644934067
    """
    if (
        isinstance(n, (bool, np.bool_))
        or not isinstance(n, (int, np.integer))
        or not 0 <= n <= 1000
    ):
        raise ArgumentError("polygamma", f"n must be an integer from 0 to 1000, got {n!r}")
    if n == 0:
        return digamma(x)
    return elementwise(_polygamma, (float(n), x), REAL_FLOATING)
