"""Sequences: convolution and correlation along one axis, and linear interpolation."""

from __future__ import annotations

from typing import Any

from ..dtypes import bool_, int32
from ..errors import ArgumentError, DTypeError, ShapeError
from . import choice, convolution, indexing, joining, rounding, structural, views
from .calling import cast_to, check_choice, is_scalar, lift, promote, to_inexact
from .elementwise import abs as magnitude
from .elementwise import add, conj, divide, multiply, subtract
from .ordering import argsort, searchsorted
from .value import Value
from .views import part

__all__ = ["convolve", "correlate", "interp"]


def convolve(x: Any, y: Any, /, mode: str = "full") -> Any:
    """Convolution of two sequences: sums of products, one of them reversed.

    `mode` is NumPy's: "full" has every overlap, n + m - 1 places; "same" the middle
    ``max(n, m)`` of them; "valid" those of complete overlap.

    Raises:
        ShapeError: if an operand has not one axis, or no elements.
        ArgumentError: for another `mode`.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.convolve(tw.asarray([1, 2, 3]), tw.asarray([0, 1, 10])).tolist()
    [0, 1, 12, 23, 30]
    """
    first, second = _sequences("convolve", x, y)
    if second.size > first.size:
        first, second = second, first
    return _correlated("convolve", first, structural.flip(second), mode)


def correlate(x: Any, y: Any, /, mode: str = "valid") -> Any:
    """Correlation of two sequences: sums of products, the second conjugated and shifted.

    `mode` as in `convolve`; as in NumPy, the result for exchanged operands is reversed.

    Raises:
        ShapeError: if an operand has not one axis, or no elements.
        ArgumentError: for another `mode`.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.correlate(tw.asarray([1, 2, 3]), tw.asarray([0, 1, 10])).tolist()
    [32]
    """
    first, second = _sequences("correlate", x, y)
    second = conj(second)
    if second.size > first.size:
        return structural.flip(_correlated("correlate", second, first, mode))
    return _correlated("correlate", first, second, mode)


def _sequences(op: str, x: Any, y: Any) -> tuple[Value, Value]:
    first, second = promote(op, (x, y))
    shapes = (first.shape, second.shape)
    for value in (first, second):
        if value.ndim != 1 or not value.size:
            raise ShapeError(
                op, f"shapes {shapes[0]} and {shapes[1]}: one axis of at least one element", shapes
            )
    return first, second


def _correlated(op: str, x: Value, y: Value, mode: str) -> Any:
    """Sums of products of `x` with shifts of the shorter `y`."""
    n, m = x.size, y.size
    modes = {"full": (m - 1, m - 1), "same": (m // 2, (m - 1) // 2), "valid": (0, 0)}
    check_choice(op, "mode", mode, tuple(modes))
    # Bools are counted: as in NumPy, their sum is whether any product is true.
    a, b = (cast_to(v, int32) if v.dtype is bool_ else v for v in (x, y))
    images, kernel = views.reshaped(a, (1, 1, n)), views.reshaped(b, (1, 1, m))
    out = convolution.conv(images, kernel, padding=[modes[mode]])
    return cast_to(views.reshaped(out, (out.shape[-1],)), x.dtype)


def interp(
    x: Any, xp: Any, fp: Any, /, left: Any = None, right: Any = None, period: Any = None
) -> Any:  # fmt: skip
    """Piecewise linear interpolation at `x` of the points (`xp`, `fp`).

    `xp` ascends.  Before the first point the result is `left`, by default the first of `fp`,
    behind the last one `right`.  With a `period`, `x` and `xp` are taken modulo it, and `xp` need
    not ascend.  Derivatives reach `x`, `xp` and `fp`; at a point the one to its right counts.

    Raises:
        ShapeError: if `xp` and `fp` are not sequences of one length above 0.
        ArgumentError: for a period of 0.
        DTypeError: for complex `x` or `xp`, and for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> points = tw.asarray([0.0, 1.0, 3.0])
    >>> tw.interp(tw.asarray([-1.0, 0.5, 2.0, 9.0]), points, tw.asarray([0.0, 10.0, 30.0])).tolist()
    [0.0, 5.0, 20.0, 30.0]
    """
    op = "interp"
    values = lift(op, fp)
    places, points = (to_inexact(each) for each in promote(op, (lift(op, x, values), xp)))
    if places.dtype.kind == "c":
        raise DTypeError(op, "complex numbers have no order", (places.dtype,))
    if points.ndim != 1 or points.shape != values.shape or not points.size:
        raise ShapeError(
            op,
            f"xp and fp need one axis of the same extent above 0, got {points.shape} and "
            f"{values.shape}",
            (points.shape, values.shape),
        )
    values = to_inexact(values)
    if values.dtype.kind == "f":
        places, points, values = promote(op, (places, points, values))
    if period is not None:
        places, points, values = _periodic(places, points, values, period)
        left = right = None
    count = points.size
    first, last = (views.picked(values, 0, index) for index in (0, count - 1))
    before = first if left is None else left
    behind = last if right is None else right
    low, high = (views.picked(points, 0, index) for index in (0, count - 1))
    if count == 1:
        within = structural.broadcast_to(first, places.shape)
    else:
        flat = views.reshaped(places, (places.size,))
        found = subtract(searchsorted(points, flat, side="right"), 1)
        index = views.reshaped(choice.clip(found, 0, count - 2), places.shape)
        following = add(index, 1)
        x0, x1 = (indexing.take(points, each, mode="clip") for each in (index, following))
        f0, f1 = (indexing.take(values, each, mode="clip") for each in (index, following))
        slope = divide(subtract(f1, f0), subtract(x1, x0))
        within = add(f0, multiply(slope, subtract(places, x0)))
        within = choice.where(choice.equal(places, high), last, within)
    result = choice.where(choice.less(places, low), before, within)
    return choice.where(choice.greater(places, high), behind, result)


def _periodic(
    places: Value, points: Value, values: Value, period: Any
) -> tuple[Value, Value, Value]:
    """Everything within one period, with a point more at either end."""
    if is_scalar(period) and period == 0:
        raise ArgumentError("interp", "period must not be 0")
    length = magnitude(lift("interp", period, points))
    places, points = (rounding.remainder(each, length) for each in (places, points))
    order = argsort(points)
    points, values = (indexing.take(each, order) for each in (points, values))
    count = points.size
    before, after = part(points, 0, count - 1, count), part(points, 0, 0, 1)
    ends = (subtract(before, length), points, add(after, length))
    around = (part(values, 0, count - 1, count), values, part(values, 0, 0, 1))
    return places, joining.concatenate(list(ends)), joining.concatenate(list(around))
