"""Slopes of sampled functions and the areas under them.

Composites over element-wise operations and views, which WebGPU fuses; nothing is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError, ShapeError
from . import elementwise as arithmetic
from . import joining, reduction, statistics, views
from .calling import as_integer, broadcast_shapes, lift, normalize_axes, normalize_axis, to_inexact
from .value import Value
from .views import part

__all__ = ["gradient", "trapezoid"]


def _along(x: Value, ndim: int, axis: int) -> Any:
    """A vector as a view that lies along one axis of `ndim`."""
    return views.reshaped(x, tuple(x.size if at == axis else 1 for at in range(ndim)))


def _spacings(value: Value, given: Sequence[Any], axes: Sequence[int]) -> list[Value]:
    """The distance between samples, or the places of the samples, along each axis."""
    if len(given) not in (0, 1, len(axes)):
        raise ArgumentError(
            "gradient",
            f"there are {len(given)} spacings for {len(axes)} axes; give none, one or {len(axes)}",
        )
    if len(given) == 1 and isinstance(given[0], Value) and given[0].ndim and len(axes) > 1:
        raise ArgumentError("gradient", f"places along one axis do not fit {len(axes)} axes")
    found = []
    for axis, spacing in zip(axes, given or (1.0,), strict=False):
        place = to_inexact(lift("gradient", spacing, value))
        if place.ndim and place.shape != (value.shape[axis],):
            raise ShapeError(
                "gradient",
                f"places of shape {place.shape} for {value.shape[axis]} samples along axis {axis}",
                (place.shape, value.shape),
            )
        found.append(place)
    return found * len(axes) if len(found) == 1 else found


def _weighted(*pairs: tuple[Any, Any]) -> Any:
    """The sum of products."""
    terms = [arithmetic.multiply(weight, x) for weight, x in pairs]
    total = terms[0]
    for term in terms[1:]:
        total = arithmetic.add(total, term)
    return total


def _slopes(f: Value, axis: int, spacing: Value, edge_order: int) -> Any:
    """Central differences within, one-sided ones of an order at both ends."""
    count = f.shape[axis]

    def at(start: int, stop: int) -> Any:
        return part(f, axis, start, stop)

    def step(first: int, last: int) -> Any:
        return arithmetic.subtract(at(last, last + 1), at(first, first + 1))

    before, middle, behind = at(0, count - 2), at(1, count - 1), at(2, count)
    if not spacing.ndim:
        within = arithmetic.divide(
            arithmetic.subtract(behind, before), arithmetic.multiply(spacing, 2.0)
        )
        first: Any = spacing
        last: Any = spacing
        low = ((-1.5, 0), (2.0, 1), (-0.5, 2))
        high = ((1.5, count - 1), (-2.0, count - 2), (0.5, count - 3))
        if edge_order == 2:
            ends = [
                arithmetic.divide(_weighted(*((c, at(n, n + 1)) for c, n in side)), spacing)
                for side in (low, high)
            ]
            return joining.concatenate([ends[0], within, ends[1]], axis=axis)
    else:
        steps = _along(statistics.diff(spacing), f.ndim, axis)
        left, right = part(steps, axis, 0, count - 2), part(steps, axis, 1, count - 1)
        both = arithmetic.add(left, right)
        within = _weighted(
            (
                arithmetic.divide(arithmetic.negative(right), arithmetic.multiply(left, both)),
                before,
            ),
            (
                arithmetic.divide(
                    arithmetic.subtract(right, left), arithmetic.multiply(left, right)
                ),
                middle,
            ),
            (arithmetic.divide(left, arithmetic.multiply(right, both)), behind),
        )
        first, last = part(steps, axis, 0, 1), part(steps, axis, count - 2, count - 1)
        if edge_order == 2:
            second, before_last = part(steps, axis, 1, 2), part(steps, axis, count - 3, count - 2)
            low_end = _one_sided(first, second, *(at(n, n + 1) for n in (0, 1, 2)))
            high_end = _one_sided(
                arithmetic.negative(last), arithmetic.negative(before_last),
                *(at(n, n + 1) for n in (count - 1, count - 2, count - 3)),
            )  # fmt: skip
            return joining.concatenate([low_end, within, high_end], axis=axis)
    ends = [
        arithmetic.divide(step(0, 1), first), arithmetic.divide(step(count - 2, count - 1), last)
    ]  # fmt: skip
    return joining.concatenate([ends[0], within, ends[1]], axis=axis)


def _one_sided(h: Any, k: Any, f0: Any, f1: Any, f2: Any) -> Any:
    """The slope at the first of three samples, `h` and then `k` apart, of their parabola."""
    both = arithmetic.add(h, k)
    return _weighted(
        (
            arithmetic.divide(
                arithmetic.negative(arithmetic.add(h, both)), arithmetic.multiply(h, both)
            ),
            f0,
        ),
        (arithmetic.divide(both, arithmetic.multiply(h, k)), f1),
        (arithmetic.divide(arithmetic.negative(h), arithmetic.multiply(k, both)), f2),
    )


def gradient(f: Any, /, *spacings: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes of sampled values along axes: central differences, one-sided ones at the ends.

    Not the derivative of a program: that is `backward`.

    Args:
        f: a tensor; integers become the default float.
        spacings: the distance between samples, 1 by default; one for all axes, or one for each.
            A tensor of one axis holds the places of the samples instead.
        axis: an integer, a tuple, or None for all axes.
        edge_order: 1 or 2, the order of accuracy at the ends.

    Returns:
        A tensor of the shape of `f` for one axis, for several a tuple of them.

    Raises:
        ShapeError: for less than ``edge_order + 1`` samples along an axis, or places that do not
            fit.
        ArgumentError: for another number of spacings, or another `edge_order`.
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.gradient(tw.asarray([1.0, 2.0, 4.0, 7.0])).tolist()
    [1.0, 1.5, 2.5, 3.0]
    """
    op = "gradient"
    value = to_inexact(lift(op, f))
    order = as_integer(op, "edge_order", edge_order)
    if order not in (1, 2):
        raise ArgumentError(op, f"edge_order is 1 or 2, got {edge_order!r}")
    if axis is None:
        axes = list(range(value.ndim))
    else:
        normalize_axes(op, axis, value.ndim)
        given = axis if isinstance(axis, (tuple, list)) else (axis,)
        axes = [normalize_axis(op, one, value.ndim) for one in given]
    places = _spacings(value, spacings, axes)
    for one in axes:
        if value.shape[one] < edge_order + 1:
            raise ShapeError(
                op,
                f"{value.shape[one]} samples along axis {one}; edge_order={edge_order} needs "
                f"{edge_order + 1}",
                (value.shape,),
            )
    found = tuple(_slopes(value, one, h, edge_order) for one, h in zip(axes, places, strict=True))
    return found[0] if len(found) == 1 else found


def trapezoid(y: Any, /, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The area under sampled values along an axis, by the trapezoidal rule.

    Args:
        y: a tensor; integers become the default float.
        x: the places of the samples: a tensor of one axis, or one that broadcasts with `y`.
        dx: the distance between samples where `x` is not given.
        axis: the axis of the samples.

    Raises:
        ShapeError: if `x` does not fit `y`.
        AxisError: if the axis does not exist.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.trapezoid(tw.asarray([1.0, 2.0, 4.0]), dx=2.0).item()
    9.0
    """
    op = "trapezoid"
    value = to_inexact(lift(op, y))
    place = normalize_axis(op, axis, value.ndim)
    count = value.shape[place]
    if x is None:
        widths = lift(op, dx, value)
    else:
        at = to_inexact(lift(op, x, value))
        if at.ndim == 1:
            if at.size != count:
                raise ShapeError(op, f"{at.size} places for {count} samples", (at.shape,))
            widths = _along(statistics.diff(at), value.ndim, place)
        else:
            broadcast_shapes(op, at.shape, value.shape)
            axis_of_x = place - value.ndim
            if at.ndim < -axis_of_x or at.shape[axis_of_x] != count:
                raise ShapeError(op, f"places of shape {at.shape} do not fit", (at.shape,))
            widths = statistics.diff(at, axis=axis_of_x)
    later = part(value, place, min(1, count), count)
    earlier = part(value, place, 0, max(count - 1, 0))
    broadcast_shapes(op, widths.shape, later.shape)
    areas = arithmetic.divide(arithmetic.multiply(widths, arithmetic.add(later, earlier)), 2.0)
    return reduction.sum(areas, axis=place - value.ndim)
