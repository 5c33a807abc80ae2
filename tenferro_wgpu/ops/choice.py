"""Order, choice, comparison and logic, element by element.

`where` is what keeps NaN out of derivatives: the branch that is not taken gets true zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import bool_
from ..tensor import ShapeDtype
from . import elementwise as arithmetic
from .calling import (
    broadcast_shapes,
    constants,
    elementwise,
    is_scalar,
    lift,
    promote,
    promote_broadcast,
)
from .table import ANY, ORDERED, binary, row, same, to_bool, unary
from .value import Value, apply, constant_like

__all__ = [
    "clip", "equal", "fmax", "fmin", "greater", "greater_equal", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "not_equal",
    "where",
]  # fmt: skip

# -- order and choice ---------------------------------------------------------------------------


def _share(g: Value, wins: Value, ties: Value) -> Any:
    """The whole cotangent to a winner, half to each of a tie, true zeros elsewhere."""
    return where(wins, g, where(ties, arithmetic.multiply(g, 0.5), constant_like(g, 0)))


def _extremum_rules(beats: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    return (
        lambda g, x, y: _share(g, beats(x, y), equal(x, y)),
        lambda g, x, y: _share(g, beats(y, x), equal(x, y)),
    )


_greater_rules = _extremum_rules(lambda x, y: greater(x, y))
_less_rules = _extremum_rules(lambda x, y: less(x, y))

maximum: Any = binary(
    "maximum", ORDERED, vjp=_greater_rules, jvp=_greater_rules,
    doc="""The larger of two tensors, element by element; NaN if either is NaN.

    Equal elements share the derivative, one half each.

    >>> import tenferro_wgpu as tw
    >>> tw.maximum(tw.asarray([1.0, 5.0]), 2.0).tolist()
    [2.0, 5.0]
    """,
)  # fmt: skip
minimum: Any = binary(
    "minimum", ORDERED, vjp=_less_rules, jvp=_less_rules,
    doc="""The smaller of two tensors, element by element; NaN if either is NaN.

    Equal elements share the derivative, one half each.

    >>> import tenferro_wgpu as tw
    >>> tw.minimum(tw.asarray([1.0, 5.0]), 2.0).tolist()
    [1.0, 2.0]
    """,
)  # fmt: skip


def _larger_rules(beats: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """Rules of extrema that pass NaN by: an operand that is NaN gets 0, the other one all."""

    def first(g: Value, x: Value, y: Value) -> Any:
        # x counts where it is no NaN, and is beaten neither by y nor because y is NaN.
        wins = logical_and(equal(x, x), logical_not(beats(y, x)))
        return _share(g, logical_and(wins, not_equal(x, y)), equal(x, y))

    return first, lambda g, x, y: first(g, y, x)


_fmax_rules = _larger_rules(lambda x, y: greater(x, y))
_fmin_rules = _larger_rules(lambda x, y: less(x, y))

fmax: Any = binary(
    "fmax", "f", vjp=_fmax_rules, jvp=_fmax_rules, elsewhere=("biu", maximum),
    doc="""The larger of two tensors, element by element; the other one where one is NaN.

    Equal elements share the derivative, one half each; a NaN gets 0.

    >>> import tenferro_wgpu as tw
    >>> tw.fmax(tw.asarray([1.0, float("nan")]), 2.0).tolist()
    [2.0, 2.0]
    """,
)  # fmt: skip
fmin: Any = binary(
    "fmin", "f", vjp=_fmin_rules, jvp=_fmin_rules, elsewhere=("biu", minimum),
    doc="""The smaller of two tensors, element by element; the other one where one is NaN.

    Equal elements share the derivative, one half each; a NaN gets 0.

    >>> import tenferro_wgpu as tw
    >>> tw.fmin(tw.asarray([1.0, float("nan")]), 2.0).tolist()
    [1.0, 2.0]
    """,
)  # fmt: skip


def _gate(condition: Value, g: Value) -> Any:
    return where(condition, g, constant_like(g, 0))


_CLIP_RULES = (
    lambda g, x, low, high: _gate(
        logical_and(less_equal(low, x), less_equal(x, high)), g
    ),
    lambda g, x, low, high: _gate(logical_and(less(x, low), less_equal(low, high)), g),
    lambda g, x, low, high: _gate(less(high, maximum(x, low)), g),
)  # fmt: skip

CLIP = row("clip", ("x", "low", "high"), same("clip"), _CLIP_RULES, _CLIP_RULES)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Any:
    """Limit every element to the closed interval from `min` to `max`.

    Either bound may be None or a tensor that broadcasts.  The derivative passes on the closed
    interval, bounds included; where a bound is active it passes to the bound.

    Takes bools, integers and floats of any shape; the three broadcast and promote.

    Raises:
        DTypeError: for complex numbers, ndarrays and lists.
        ShapeError: if the bounds do not broadcast with `x`.
        RangeError: for a bound that an integer `x` cannot hold.

    >>> import tenferro_wgpu as tw
    >>> tw.clip(tw.asarray([-1.0, 0.5, 9.0]), 0.0, 1.0).tolist()
    [0.0, 0.5, 1.0]
    """
    given = [bound for bound in (min, max) if bound is not None]
    value, *bounds = promote("clip", (lift("clip", x), *given))
    # No bound is the end of the dtype that all have together, which may be wider than that of x.
    lowest, highest = _ends(value.dtype)
    low = constant_like(value, lowest, shape=()) if min is None else bounds.pop(0)
    high = constant_like(value, highest, shape=()) if max is None else bounds.pop(0)
    return elementwise(CLIP, (value, low, high), ORDERED)


def _ends(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The lowest and the highest element of a dtype."""
    if dtype.kind == "f":
        return -np.inf, np.inf
    if dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return False, True


def _select_shape(condition: ShapeDtype, x: ShapeDtype, y: ShapeDtype) -> ShapeDtype:
    return ShapeDtype(broadcast_shapes("where", condition.shape, x.shape, y.shape), x.dtype)


SELECT = row(
    "select", ("condition", "x", "y"), _select_shape,
    vjp=(
        None,
        lambda g, condition: where(condition, g, constant_like(g, 0)),
        lambda g, condition: where(condition, constant_like(g, 0), g),
    ),
    jvp=(
        None,
        lambda t, condition: where(condition, t, constant_like(t, 0)),
        lambda t, condition: where(condition, constant_like(t, 0), t),
    ),
)  # fmt: skip


def where(condition: Any, x: Any, y: Any, /) -> Any:
    """Elements of `x` where `condition` holds, of `y` elsewhere.

    The places where a condition holds are `nonzero`'s.

    A condition that is not bool counts as true where it is not 0.  The branch that is not
    chosen gets a derivative of exactly 0, even if it holds NaN or infinities.

    The three broadcast; `x` and `y`, of any dtype, promote.

    Raises:
        DTypeError: for ndarrays and lists.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> tw.where(tw.asarray([True, False]), tw.asarray([1.0, 2.0]), 0.0).tolist()
    [1.0, 0.0]
    """
    if is_scalar(condition) and any(isinstance(v, Value) for v in (x, y)):
        anchor = x if isinstance(x, Value) else y
        chosen: Value = constant_like(anchor, bool(condition), shape=(), dtype=bool_)
    else:
        chosen = lift("where", condition)
    if chosen.dtype is not bool_:
        chosen = not_equal(chosen, 0)
    if is_scalar(x) and is_scalar(y):
        x, y = constants("where", chosen.interpreter, (x, y))
    first, second = promote("where", (x, y))
    return apply(SELECT, chosen, first, second)


# -- comparisons and logic ----------------------------------------------------------------------


def _comparison(name: str, kinds: str, symbol: str) -> Any:
    return binary(
        name,
        kinds,
        shape_rule=to_bool(name),
        doc=f"""Whether x {symbol} y, element by element, as a bool tensor.

    Comparisons with NaN are false, except that NaN is not equal to anything.

    >>> import tenferro_wgpu as tw
    >>> bool(tw.{name}(tw.asarray(1.0), 2.0)) == (1.0 {symbol} 2.0)
    True
    """,
    )


equal: Any = _comparison("equal", ANY, "==")
not_equal: Any = _comparison("not_equal", ANY, "!=")
less: Any = _comparison("less", ORDERED, "<")
less_equal: Any = _comparison("less_equal", ORDERED, "<=")
greater: Any = _comparison("greater", ORDERED, ">")
greater_equal: Any = _comparison("greater_equal", ORDERED, ">=")

#: Logic takes other dtypes too: what is not 0 is true, NaN as well.
_NUMBERS = "iufc"


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: function(*[not_equal(x, 0) for x in operands])


logical_and: Any = binary(
    "logical_and", "b", shape_rule=to_bool("logical_and"),
    elsewhere=(_NUMBERS, _truth(lambda x, y: logical_and(x, y))),
    doc="""Logical and, element by element; what is not 0 counts as true.

    >>> import tenferro_wgpu as tw
    >>> tw.logical_and(tw.asarray([True, False]), True).tolist()
    [True, False]
    """,
)  # fmt: skip
logical_or: Any = binary(
    "logical_or", "b", shape_rule=to_bool("logical_or"),
    elsewhere=(_NUMBERS, _truth(lambda x, y: logical_or(x, y))),
    doc="""Logical or, element by element; what is not 0 counts as true.

    >>> import tenferro_wgpu as tw
    >>> tw.logical_or(tw.asarray([True, False]), True).tolist()
    [True, True]
    """,
)  # fmt: skip
logical_not: Any = unary(
    "logical_not", "b", shape_rule=to_bool("logical_not"),
    elsewhere=(_NUMBERS, lambda x: equal(x, 0)),
    doc="""Logical not, element by element; what is not 0 counts as true.

    >>> import tenferro_wgpu as tw
    >>> tw.logical_not(tw.asarray([True, False])).tolist()
    [False, True]
    """,
)  # fmt: skip


def logical_xor(x: Any, y: Any, /) -> Any:
    """Logical exclusive or, element by element; what is not 0 counts as true.

    Takes any dtypes whose shapes broadcast.

    Raises:
        DTypeError: for ndarrays and lists.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> tw.logical_xor(tw.asarray([True, False]), True).tolist()
    [False, True]
    """
    first, second = promote_broadcast("logical_xor", (x, y))
    if first.dtype.kind != "b":
        first, second = not_equal(first, 0), not_equal(second, 0)
    return not_equal(first, second)
