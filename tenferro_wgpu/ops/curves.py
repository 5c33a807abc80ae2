"""Polynomials, steps, the cardinal sine, and phases made continuous.

Composites over element-wise operations, which WebGPU fuses; nothing is read.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from ..dtypes import bool_
from ..errors import ArgumentError, DTypeError, ShapeError
from . import choice, joining, rounding, scanning, statistics, views
from . import elementwise as arithmetic
from .calling import (
    is_scalar,
    lift,
    normalize_axis,
    promote,
    promote_broadcast,
    to_inexact,
)
from .trigonometry import sin
from .value import Value, constant_like
from .views import part

__all__ = ["heaviside", "polyval", "sinc", "unwrap"]


def polyval(p: Any, x: Any, /) -> Any:
    """The polynomial with coefficients `p`, from the highest power down, at `x`, by Horner's rule.

    Args:
        p: a tensor of one axis, or a list of numbers.
        x: a tensor or scalar; dtypes promote.  Of bools sums are or, products and.

    Raises:
        ShapeError: for coefficients of more than one axis.
        DTypeError: for coefficients that are no numbers, and for ndarrays.

    >>> import tenferro_wgpu as tw
    >>> tw.polyval([3, 0, 1], tw.asarray([0.0, 1.0, 2.0])).tolist()
    [1.0, 4.0, 13.0]
    """
    op = "polyval"
    if isinstance(p, (list, tuple)):
        wrong = [each for each in p if not is_scalar(each)]
        if wrong:
            raise DTypeError(op, f"coefficients are numbers, got {wrong[0]!r}")
        value = lift(op, x)
        coefficients = [lift(op, each, value) for each in p]
    else:
        known, value = promote(op, (p, x))
        if known.ndim > 1:
            raise ShapeError(
                op, f"coefficients have one axis, got shape {known.shape}", (known.shape,)
            )
        known = views.reshaped(known, (known.size,))
        coefficients = [
            views.reshaped(part(known, 0, n, n + 1), ()) for n in range(known.size)
        ]  # fmt: skip
    result: Any = constant_like(value, 0)
    for number, coefficient in enumerate(coefficients):
        term = arithmetic.multiply(result, value) if number else result
        result = arithmetic.add(term, coefficient)
    return result


def heaviside(x: Any, y: Any, /) -> Any:
    """The unit step: 0 where `x` is negative, 1 where it is positive, `y` at 0.

    NaN stays NaN.  The derivative is 0 for `x`, and goes to `y` at 0.

    Takes floats, and bools and integers as the default float, of shapes that broadcast.

    Raises:
        DTypeError: for complex numbers, ndarrays and lists.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> tw.heaviside(tw.asarray([-1.5, 0.0, 2.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    value, middle = (to_inexact(each) for each in promote_broadcast("heaviside", (x, y)))
    if value.dtype.kind == "c":
        raise DTypeError("heaviside", "complex numbers have no order", (value.dtype,))
    side = arithmetic.sign(value)
    step = arithmetic.add(arithmetic.multiply(side, 0.5), 0.5)
    return choice.where(choice.equal(side, 0), middle, step)


#: sin(t) / t as a polynomial of t**2: the series, whose next term is below 2**-70 at `_NEAR`.
_SERIES = [(-1) ** n / math.factorial(2 * n + 1) for n in range(7)]
_NEAR = 0.15


def sinc(x: Any, /) -> Any:
    """sin(pi x) / (pi x), and 1 at 0; 0 at the other integers.

    Takes floats and complex numbers, bools and integers as the default float.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.sinc(tw.asarray([0.0, 1.0, 2.0])).tolist()
    [1.0, 0.0, 0.0]
    """
    value = to_inexact(lift("sinc", x))
    angle = arithmetic.multiply(value, math.pi)
    near = choice.less(arithmetic.abs(angle), _NEAR)
    square = arithmetic.multiply(angle, angle)
    # Derivatives of the quotient would be 0 / 0 at 0; those of the series are right.
    series: Any = constant_like(square, _SERIES[-1])
    for coefficient in _SERIES[-2::-1]:
        series = arithmetic.add(arithmetic.multiply(series, square), coefficient)
    far = choice.where(near, constant_like(angle, 1, shape=()), angle)
    if value.dtype.kind == "c":
        return choice.where(near, series, arithmetic.divide(sin(far), far))
    # The angle less a multiple of pi, without rounding the multiple.
    turns = rounding.round(value)
    half = arithmetic.multiply(turns, 0.5)
    is_odd = choice.not_equal(half, rounding.floor(half))
    rest = sin(arithmetic.multiply(arithmetic.subtract(value, turns), math.pi))
    sine = choice.where(is_odd, arithmetic.subtract(0, rest), rest)
    return choice.where(near, series, arithmetic.divide(sine, far))


# -- phases -------------------------------------------------------------------------------------


def unwrap(
    p: Any, /, discont: Any = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Any:  # fmt: skip
    """Add multiples of a period so that neighbours along an axis differ by at most half of it.

    Args:
        p: a tensor of real numbers; integers become the default float unless the period is an
            integer too.
        discont: the least difference that is mended, if larger than half a period.
        axis: the axis of the sequence.
        period: a positive number.

    Raises:
        AxisError: if the axis does not exist.
        ArgumentError: for a period that is no positive, finite number.
        DTypeError: for complex numbers, bools, ndarrays and lists.
        RangeError: for an integer period that an integer dtype does not hold, and for unsigned
            integers, which do not hold negative steps.

    >>> import tenferro_wgpu as tw
    >>> tw.unwrap(tw.asarray([0, 1, 2, -1, 0]), period=4).tolist()
    [0, 1, 2, 3, 4]
    """
    op = "unwrap"
    value = lift(op, p)
    for name, number in (("period", period), ("discont", discont)):
        if number is None and name == "discont":
            continue
        if not is_scalar(number) or isinstance(number, (complex, np.complexfloating)):
            raise DTypeError(op, f"{name} is a number, got {number!r}")
    if not 0 < period <= sys.float_info.max:
        raise ArgumentError(op, f"a period is a positive, finite number, got {period!r}")
    # Python's numbers: NumPy's wrap around or have few digits.
    period = int(period) if isinstance(period, (int, np.integer)) else float(period)
    if value.dtype.kind in "cb":
        raise DTypeError(op, f"{value.dtype} tensors have no phase", (value.dtype,))
    in_integers = value.dtype.kind in "iu" and isinstance(period, int)
    value = value if in_integers else to_inexact(value)
    place = normalize_axis(op, axis, value.ndim)
    count = value.shape[place]
    if count < 2:
        return value
    high = period // 2 if in_integers else period / 2
    least = period - high if discont is None else discont
    is_ambiguous = not in_integers or period % 2 == 0
    steps = statistics.diff(value, axis=place)
    wrapped = arithmetic.add(
        rounding.remainder(arithmetic.add(steps, high), constant_like(steps, period)), -high
    )
    if is_ambiguous:
        at_edge = choice.logical_and(choice.equal(wrapped, -high), choice.greater(steps, 0))
        wrapped = choice.where(at_edge, constant_like(wrapped, high), wrapped)
    size = arithmetic.abs(steps)
    is_small = _is_below(size, least)
    changes = choice.where(is_small, constant_like(steps, 0), arithmetic.subtract(wrapped, steps))
    total = scanning.cumulative_sum(changes, axis=place, dtype=value.dtype)
    mended = arithmetic.add(part(value, place, 1, count), total)
    return joining.concatenate([part(value, place, 0, 1), mended], axis=place)


def _is_below(size: Value, least: Any) -> Any:
    """Whether sizes are below a number of any kind and size."""
    if size.dtype.kind == "f":
        return choice.less(size, float(min(least, np.finfo(np.float64).max)))
    highest = np.iinfo(size.dtype).max
    if not least <= highest:  # NaN too: nothing is below it
        return constant_like(size, not math.isnan(least), dtype=bool_)
    return choice.less(size, math.ceil(max(least, 0)))
