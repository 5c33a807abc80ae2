"""Hyperbolic functions, element by element: one row each, rules beside the meaning.

Complex rules follow the Hermitian convention: a vjp multiplies by the conjugate derivative.
"""

from __future__ import annotations

from typing import Any

from .elementwise import add, conj, divide, multiply, subtract
from .powers import hypot, sqrt
from .table import FLOATING, unary
from .value import Value

__all__ = ["acosh", "asinh", "atanh", "cosh", "sinh", "tanh"]

sinh: Any = unary(
    "sinh", FLOATING,
    vjp=lambda g, x: multiply(g, conj(cosh(x))), jvp=lambda t, x: multiply(t, cosh(x)),
    doc="""Hyperbolic sine.

    >>> import tenferro_wgpu as tw
    >>> tw.sinh(tw.asarray([0.0])).tolist()
    [0.0]
    """,
)  # fmt: skip
cosh: Any = unary(
    "cosh", FLOATING,
    vjp=lambda g, x: multiply(g, conj(sinh(x))), jvp=lambda t, x: multiply(t, sinh(x)),
    doc="""Hyperbolic cosine.

    >>> import tenferro_wgpu as tw
    >>> tw.cosh(tw.asarray([0.0])).tolist()
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


def _length(x: Value) -> Any:
    """sqrt(1 + x*x)."""
    if x.dtype.kind == "f":
        return hypot(x, 1.0)  # x*x would overflow
    return sqrt(add(1, multiply(x, x)))


asinh: Any = unary(
    "asinh", FLOATING,
    vjp=lambda g, x: divide(g, conj(_length(x))), jvp=lambda t, x: divide(t, _length(x)),
    doc="""Inverse hyperbolic sine.

    >>> import tenferro_wgpu as tw
    >>> tw.asinh(tw.asarray([0.0])).tolist()
    [0.0]
    """,
)  # fmt: skip


def _two_roots(x: Value) -> Any:
    """sqrt(x - 1) * sqrt(x + 1), whose branch cut is that of acosh."""
    return multiply(sqrt(subtract(x, 1)), sqrt(add(x, 1)))


acosh: Any = unary(
    "acosh", FLOATING,
    vjp=lambda g, x: divide(g, conj(_two_roots(x))), jvp=lambda t, x: divide(t, _two_roots(x)),
    doc="""Inverse hyperbolic cosine; NaN below 1 for real tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.acosh(tw.asarray([1.0])).tolist()
    [0.0]
    """,
)  # fmt: skip


def _between_ones(x: Value) -> Any:
    """1 - x*x, without cancellation near 1."""
    return multiply(subtract(1, x), add(1, x))


atanh: Any = unary(
    "atanh", FLOATING,
    vjp=lambda g, x: divide(g, conj(_between_ones(x))),
    jvp=lambda t, x: divide(t, _between_ones(x)),
    doc="""Inverse hyperbolic tangent; NaN outside [-1, 1] for real tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.atanh(tw.asarray([0.0])).tolist()
    [0.0]
    """,
)  # fmt: skip
