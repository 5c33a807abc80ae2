"""Primitives that run along one axis: shape rules, and derivative rules without a division.

All derivatives of running products, extrema and logarithms of sums are linear recurrences
y[i] = a[i] * y[i-1] + b[i], a primitive of its own whose derivatives are recurrences again: right
where factors are 0, of linear cost, and differentiable any number of times.  Nothing here looks at
a user's arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import ShapeDtype
from . import choice, exponential, joining, views
from . import elementwise as arithmetic
from .primitive import Primitive
from .value import Value, apply, constant_like


def _same_shape(x: ShapeDtype, *, axis: int) -> ShapeDtype:
    return ShapeDtype(x.shape, x.dtype)


def shifted(x: Value, distance: int, axis: int, fill: Any = 0) -> Any:
    """`x` moved along an axis by `distance`, with `fill` where nothing arrives."""
    return _padded(x, distance, -distance, axis, fill)


def begun_with(x: Value, axis: int, fill: Any) -> Any:
    """`x` behind one slice of `fill`."""
    return _padded(x, 1, 0, axis, fill)


def _padded(x: Value, low: int, high: int, axis: int, fill: Any) -> Any:
    def along(amount: int) -> tuple[int, ...]:
        return tuple(amount if at == axis else 0 for at in range(x.ndim))

    return apply(
        joining.PAD, x, constant_like(x, fill, shape=()),
        low=along(low), high=along(high), interior=along(0),
    )  # fmt: skip


# -- sums and recurrences -----------------------------------------------------------------------


def _sum_shape(x: ShapeDtype, *, axis: int, reverse: bool) -> ShapeDtype:
    return ShapeDtype(x.shape, x.dtype)


def running_sum(x: Value, axis: int, reverse: bool = False) -> Any:
    """Sums of all elements up to each one; from the end with `reverse`."""
    return apply(CUMULATIVE_SUM, x, axis=axis, reverse=reverse)


CUMULATIVE_SUM: Primitive = Primitive(
    "cumulative_sum", ("x",), _sum_shape,
    vjp=lambda g, *, axis, reverse: running_sum(g, axis, not reverse),
    jvp=lambda t, *, axis, reverse: running_sum(t, axis, reverse),
)  # fmt: skip


def _recurrence_shape(a: ShapeDtype, b: ShapeDtype, *, axis: int, reverse: bool) -> ShapeDtype:
    return ShapeDtype(b.shape, b.dtype)


def recurrence(a: Value, b: Value, axis: int, reverse: bool = False) -> Any:
    """y[i] = a[i] * y[i-1] + b[i] along an axis, from y[-1] = 0; from the end with `reverse`.

    A factor of 0 forgets what was before it, infinities and NaN too.
    """
    return apply(LINEAR_RECURRENCE, a, b, axis=axis, reverse=reverse)


def _behind(x: Value, axis: int, reverse: bool) -> Any:
    """For each element the one that the recurrence comes to next; 0 at its end."""
    return shifted(x, 1 if reverse else -1, axis)


def _before(x: Value, axis: int, reverse: bool) -> Any:
    """For each element the one that the recurrence comes from; 0 at its start."""
    return shifted(x, -1 if reverse else 1, axis)


def _adjoint(g: Value, a: Value, axis: int, reverse: bool) -> Any:
    """What reaches each b: s[i] = g[i] + conj(a[i+1]) * s[i+1]."""
    return recurrence(arithmetic.conj(_behind(a, axis, reverse)), g, axis, not reverse)


LINEAR_RECURRENCE: Primitive = Primitive(
    "linear_recurrence", ("a", "b"), _recurrence_shape,
    vjp=(
        lambda g, a, out, *, axis, reverse: arithmetic.multiply(
            _adjoint(g, a, axis, reverse), arithmetic.conj(_before(out, axis, reverse))
        ),
        lambda g, a, *, axis, reverse: _adjoint(g, a, axis, reverse),
    ),
    jvp=(
        lambda t, a, out, *, axis, reverse: recurrence(
            a, arithmetic.multiply(t, _before(out, axis, reverse)), axis, reverse
        ),
        lambda t, a, *, axis, reverse: recurrence(a, t, axis, reverse),
    ),
)  # fmt: skip

# -- products -----------------------------------------------------------------------------------


def _products_before(out: Value, axis: int) -> Any:
    return shifted(out, 1, axis, fill=1)


def _prod_vjp(g: Value, x: Value, out: Value, axis: int) -> Any:
    reaching = _adjoint(g, x, axis, False)
    return arithmetic.multiply(reaching, arithmetic.conj(_products_before(out, axis)))


def _prod_jvp(t: Value, x: Value, out: Value, axis: int) -> Any:
    return recurrence(x, arithmetic.multiply(t, _products_before(out, axis)), axis)


CUMULATIVE_PROD: Primitive = Primitive(
    "cumulative_prod", ("x",), _same_shape,
    vjp=lambda g, x, out, *, axis: _prod_vjp(g, x, out, axis),
    jvp=lambda t, x, out, *, axis: _prod_jvp(t, x, out, axis),
)  # fmt: skip


def products_before(x: Value, axis: int) -> Any:
    """For each element the product of all before it along an axis; 1 for the first."""
    return _products_before(apply(CUMULATIVE_PROD, x, axis=axis), axis)


# -- extrema ------------------------------------------------------------------------------------


def _winners(x: Value, out: Value, axis: int, beats: Any) -> tuple[Any, Any]:
    """Where an element becomes the extremum, and 1 where the one before it stays, else 0.

    Of equal elements the first wins; the first NaN wins over all that follow.
    """
    extent = x.shape[axis]
    later, known = views.part(x, axis, 1, extent), views.part(out, axis, 0, extent - 1)
    turns_nan = choice.logical_and(choice.not_equal(later, later), choice.equal(known, known))
    wins = begun_with(choice.logical_or(beats(later, known), turns_nan), axis, True)
    stays = choice.where(wins, constant_like(x, 0), constant_like(x, 1))
    return wins, stays


def _extremum_rules(beats: Any) -> tuple[Any, Any]:
    def vjp(g: Value, x: Value, out: Value, *, axis: int) -> Any:
        if not x.shape[axis]:
            return g  # there is no first element
        wins, stays = _winners(x, out, axis, beats)
        return choice.where(wins, _adjoint(g, stays, axis, False), constant_like(g, 0))

    def jvp(t: Value, x: Value, out: Value, *, axis: int) -> Any:
        if not x.shape[axis]:
            return t
        wins, stays = _winners(x, out, axis, beats)
        return recurrence(stays, choice.where(wins, t, constant_like(t, 0)), axis)

    return vjp, jvp


_max_vjp, _max_jvp = _extremum_rules(lambda x, y: choice.greater(x, y))
_min_vjp, _min_jvp = _extremum_rules(lambda x, y: choice.less(x, y))

CUMULATIVE_MAX: Primitive = Primitive(
    "cumulative_max", ("x",), _same_shape, vjp=_max_vjp, jvp=_max_jvp
)
CUMULATIVE_MIN: Primitive = Primitive(
    "cumulative_min", ("x",), _same_shape, vjp=_min_vjp, jvp=_min_jvp
)

# -- logarithms of sums of exponentials ---------------------------------------------------------


def _ratio(x: Value, out: Value) -> Any:
    """exp(x - out), and 0 for an `x` of -inf whatever `out` is."""
    nothing = choice.equal(x, -np.inf)
    zero = constant_like(x, 0)
    ratio = exponential.exp(
        arithmetic.subtract(choice.where(nothing, zero, x), choice.where(nothing, zero, out))
    )
    return choice.where(nothing, zero, ratio)


def _kept_ratio(out: Value, axis: int) -> Any:
    """How much of each sum was in the one before it."""
    return _ratio(shifted(out, 1, axis, fill=-np.inf), out)


CUMULATIVE_LOGSUMEXP: Primitive = Primitive(
    "cumulative_logsumexp", ("x",), _same_shape,
    vjp=lambda g, x, out, *, axis: arithmetic.multiply(
        _ratio(x, out), _adjoint(g, _kept_ratio(out, axis), axis, False)
    ),
    jvp=lambda t, x, out, *, axis: recurrence(
        _kept_ratio(out, axis), arithmetic.multiply(_ratio(x, out), t), axis
    ),
)  # fmt: skip
