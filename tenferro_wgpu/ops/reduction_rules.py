"""Primitives that reduce axes: shape rules, and derivative rules that survive zeros and ties.

`reduction` and `statistics` call them; nothing here looks at a user's arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..dtypes import float16, float32, int64
from ..errors import ShapeError
from ..tensor import ShapeDtype
from . import choice, scanning_rules, views
from . import elementwise as arithmetic
from .calling import cast_to
from .primitive import Primitive
from .value import Value, apply, constant_like

Shape = tuple[int, ...]

# -- shapes -------------------------------------------------------------------------------------


def drop(x: ShapeDtype, axes: Shape) -> Shape:
    return tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)


def _reduced_shape(x: ShapeDtype, *, axes: Shape) -> ShapeDtype:
    return ShapeDtype(drop(x, axes), x.dtype)


def _extremum_shape(name: str) -> Callable[..., ShapeDtype]:
    def shape_rule(x: ShapeDtype, *, axes: Shape) -> ShapeDtype:
        shape = drop(x, axes)
        if any(x.shape[axis] == 0 for axis in axes):
            raise ShapeError(
                name, f"no element to choose along axes {axes} of shape {x.shape}", (x.shape,)
            )
        return ShapeDtype(shape, x.dtype)

    return shape_rule


def _position_shape(name: str) -> Callable[..., ShapeDtype]:
    def shape_rule(x: ShapeDtype, *, axis: int) -> ShapeDtype:
        shape = drop(x, (axis,))
        if x.shape[axis] == 0:
            raise ShapeError(
                name, f"no element to choose along axis {axis} of shape {x.shape}", (x.shape,)
            )
        return ShapeDtype(shape, int64)

    return shape_rule


# -- rules --------------------------------------------------------------------------------------


def spread(g: Value, shape: Shape, axes: Shape) -> Any:
    """A reduced tensor repeated along the axes that were reduced."""
    kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
    return apply(views.BROADCAST_IN_DIM, g, shape=shape, axes=kept)


def _winners(x: Value, out: Value, axes: Shape) -> tuple[Any, Any]:
    """Where the extremum stands, and how often (at least 1, so that NaN divides nothing)."""
    wins = choice.equal(x, spread(out, x.shape, axes))
    count = summed(choice.where(wins, constant_like(x, 1), constant_like(x, 0)), axes)
    return wins, choice.maximum(count, 1)


def _extremum_vjp(g: Value, x: Value, out: Value, axes: Shape) -> Any:
    wins, count = _winners(x, out, axes)
    share = spread(arithmetic.divide(g, count), x.shape, axes)
    return choice.where(wins, share, constant_like(x, 0))


def _extremum_jvp(t: Value, x: Value, out: Value, axes: Shape) -> Any:
    wins, count = _winners(x, out, axes)
    return arithmetic.divide(summed(choice.where(wins, t, constant_like(t, 0)), axes), count)


def _products_of_others(x: Value, axes: Shape) -> Any:
    """For each element the product of all others along `axes`: right with any zeros.

    Running products from both ends, whose own derivatives are right with zeros too.
    """
    kept = views.other_axes(x, *axes)
    permutation = kept + axes
    moved = views.permuted(x, permutation)
    extents = tuple(x.shape[axis] for axis in kept)
    rows = views.reshaped(moved, (*extents, math.prod(x.shape[axis] for axis in axes)))
    if rows.shape[-1] <= 1:
        return constant_like(x, 1)
    last = rows.ndim - 1
    before = scanning_rules.products_before(rows, last)
    turned = scanning_rules.products_before(apply(views.FLIP, rows, axes=(last,)), last)
    others = arithmetic.multiply(before, apply(views.FLIP, turned, axes=(last,)))
    return views.permuted(
        views.reshaped(others, moved.shape), views.inverse_permutation(permutation)
    )


def _prod_vjp(g: Value, x: Value, axes: Shape) -> Any:
    slope = arithmetic.conj(_products_of_others(x, axes))
    return arithmetic.multiply(spread(g, x.shape, axes), slope)


def _prod_jvp(t: Value, x: Value, axes: Shape) -> Any:
    return summed(arithmetic.multiply(t, _products_of_others(x, axes)), axes)


# -- primitives ---------------------------------------------------------------------------------

REDUCE_SUM: Primitive = Primitive(
    "reduce_sum", ("x",), _reduced_shape,
    vjp=lambda g, x_like, *, axes: spread(g, x_like.shape, axes),
    jvp=lambda t, *, axes: summed(t, axes),
)  # fmt: skip
REDUCE_PROD: Primitive = Primitive(
    "reduce_prod", ("x",), _reduced_shape,
    vjp=lambda g, x, *, axes: _prod_vjp(g, x, axes),
    jvp=lambda t, x, *, axes: _prod_jvp(t, x, axes),
)  # fmt: skip
REDUCE_MAX: Primitive = Primitive(
    "reduce_max", ("x",), _extremum_shape("max"),
    vjp=lambda g, x, out, *, axes: _extremum_vjp(g, x, out, axes),
    jvp=lambda t, x, out, *, axes: _extremum_jvp(t, x, out, axes),
)  # fmt: skip
REDUCE_MIN: Primitive = Primitive(
    "reduce_min", ("x",), _extremum_shape("min"),
    vjp=lambda g, x, out, *, axes: _extremum_vjp(g, x, out, axes),
    jvp=lambda t, x, out, *, axes: _extremum_jvp(t, x, out, axes),
)  # fmt: skip
ARGMAX: Primitive = Primitive("argmax", ("x",), _position_shape("argmax"))
ARGMIN: Primitive = Primitive("argmin", ("x",), _position_shape("argmin"))


def summed(x: Value, axes: Shape) -> Any:
    """Sum over ascending non-negative axes, float16 in float32; `x` itself over none."""
    if not axes:
        return x
    if x.dtype is float16:
        return cast_to(apply(REDUCE_SUM, cast_to(x, float32), axes=axes), float16)
    return apply(REDUCE_SUM, x, axes=axes)
