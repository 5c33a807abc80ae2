"""Spread, averages, reductions that leave NaN out, and differences of neighbours.

Composites over primitives, so every derivative follows from theirs.  On WebGPU those along the
last axes fuse into one kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import bool_, int32
from ..errors import ArgumentError, DTypeError, ShapeError
from . import choice, joining, reduction, structural, views
from . import elementwise as arithmetic
from .calling import (
    as_integer,
    cast_to,
    check_flag,
    is_scalar,
    lift,
    normalize_axes,
    normalize_axis,
    promote,
)
from .floats import isnan
from .norms import root
from .primitive import Primitive
from .reduction_operands import (
    accumulated,
    as_real,
    chosen,
    count_along,
    inexact,
    ordered,
    reduced,
    squared_modulus,
)
from .reduction_rules import REDUCE_MAX, REDUCE_MIN, REDUCE_SUM, Shape
from .value import Value, constant_like

__all__ = [
    "average",
    "diff",
    "nanmax",
    "nanmean",
    "nanmin",
    "nansum",
    "std",
    "var",
]


# -- spread -------------------------------------------------------------------------------------


def _variance(
    op: str,
    x: Any,
    axis: Any,
    correction: Any,
    ddof: Any,
    dtype: Any,
    keepdims: bool,
    where: Any,
) -> tuple[Any, np.dtype[Any]]:
    """The variance in the dtype it is computed in, and the dtype of the result."""
    lost = as_correction(op, correction, ddof)
    value, result = inexact(op, x, dtype)
    axes = normalize_axes(op, axis, value.ndim)
    centre = reduction.mean_of(op, value, axes, True, where)
    centred = chosen(op, arithmetic.subtract(value, centre), where, 0)
    total = reduced(REDUCE_SUM, squared_modulus(centred), axes, keepdims)
    if where is None:
        left = count_along(value, axes) - lost
        return arithmetic.divide(total, left if left > 0 else 0.0), result
    count = reduction.count_where(op, value, axes, keepdims, where)
    left_of_each = choice.maximum(arithmetic.subtract(count, lost), 0)
    return arithmetic.divide(total, left_of_each), result


def as_correction(op: str, correction: Any, ddof: Any) -> float:
    """How many degrees of freedom are lost, by either name.

    Raises ArgumentError for both names, DTypeError for anything but a number.
    """
    if correction is not None and ddof is not None:
        raise ArgumentError(op, "correction and ddof are two names of one number; give one")
    correction = correction if correction is not None else ddof
    if correction is None:
        return 0.0
    if not is_scalar(correction) or isinstance(correction, (complex, np.complexfloating)):
        raise DTypeError(op, f"a correction is a real number, got {correction!r}")
    return float(correction)


def var(
    x: Any,
    /,
    axis: Any = None,
    *,
    correction: float | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    ddof: float | None = None,
    where: Any = None,
) -> Any:
    """Variance over the given axes: the mean of abs(x - mean(x))**2, in two passes.

    The sum of squares is divided by the number of elements less `correction` (0 by default), for
    which `ddof` is NumPy's name.  Integers give the default float; complex tensors a real
    result.  float16 is computed in float32.  NaN where there are too few elements.  Elements where
    the bool mask `where` does not hold are left out.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        ArgumentError: for both `correction` and `ddof`.
        DTypeError: for an axis that is no integer, a correction that is no number, an unknown
            dtype, or a mask that is not bool.
        ShapeError: if `where` does not broadcast to the shape of `x`.

    >>> import tenferro_wgpu as tw
    >>> tw.var(tw.asarray([1.0, 2.0, 6.0]), correction=1).item()
    7.0
    """
    check_flag("var", "keepdims", keepdims)
    out, result = _variance("var", x, axis, correction, ddof, dtype, keepdims, where)
    return as_real(result, out)


def std(
    x: Any,
    /,
    axis: Any = None,
    *,
    correction: float | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    ddof: float | None = None,
    where: Any = None,
) -> Any:
    """Standard deviation over the given axes: the square root of `var`, with its arguments.

    The derivative where all elements are equal is 0.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        ArgumentError: for both `correction` and `ddof`.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.std(tw.asarray([1.0, 5.0])).item()
    2.0
    """
    check_flag("std", "keepdims", keepdims)
    out, result = _variance("std", x, axis, correction, ddof, dtype, keepdims, where)
    return as_real(result, root(out))


def diff(x: Any, /, n: int = 1, axis: int = -1, *, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along an axis, taken `n` times.

    `prepend` and `append` are scalars or tensors to put before and behind first; a scalar counts
    as one slice.  Bools differ where they are not equal; integers wrap around.

    Raises:
        ShapeError: for a tensor without axes, or parts that do not fit.
        ArgumentError: for a negative `n`.
        AxisError: if the axis does not exist.
        DTypeError: for an axis that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.diff(tw.asarray([1, 4, 9, 16])).tolist()
    [3, 5, 7]
    """
    value = lift("diff", x)
    if value.ndim == 0:
        raise ShapeError("diff", "a tensor of at least one axis is needed", (value.shape,))
    n = as_integer("diff", "n", n)
    if n < 0:
        raise ArgumentError("diff", f"differences are taken 0 times or more, got n={n}")
    place = normalize_axis("diff", axis, value.ndim)
    if n == 0:
        return value
    slice_shape = (*value.shape[:place], 1, *value.shape[place + 1 :])
    parts: list[Any] = []
    for part in (prepend, value, append):
        if part is not None:
            part = lift("diff", part, value)
            parts.append(structural.broadcast_to(part, slice_shape) if part.ndim == 0 else part)
    if len(parts) > 1:
        value = joining.concatenate(promote("diff", parts), axis=place)
    subtract = choice.not_equal if value.dtype is bool_ else arithmetic.subtract
    for _ in range(n):
        extent = value.shape[place]
        if not extent:
            break  # nothing is left, however often it is asked for
        later = views.part(value, place, 1, extent)
        value = subtract(later, views.part(value, place, 0, extent - 1))
    return value


# -- averages, and reductions without NaN -------------------------------------------------------


def average(
    x: Any,
    /,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Weighted mean over the given axes; with `returned`, a pair of it and the sum of weights.

    `weights` is a tensor of the shape of `x`, or of its extents along `axis`.  NaN or infinite
    where the weights add up to 0 (NumPy raises, for which the device would have to be read).

    Raises:
        ShapeError: if the weights do not fit.
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.average(tw.asarray([1.0, 4.0]), weights=tw.asarray([2.0, 1.0])).item()
    2.0
    """
    check_flag("average", "returned", returned)
    check_flag("average", "keepdims", keepdims)
    value = lift("average", x)
    axes = normalize_axes("average", axis, value.ndim)
    if weights is None:
        out = reduction.mean(value, axis=axes, keepdims=keepdims)
        return (out, constant_like(out, float(count_along(value, axes)))) if returned else out
    values = promote("average", (value, lift("average", weights, value)))
    (value, result), (weight, _) = (inexact("average", one) for one in values)
    if weight.shape != value.shape:
        weight = _weights_along(weight, value.shape, axis, axes)
    total = reduced(REDUCE_SUM, structural.broadcast_to(weight, value.shape), axes, keepdims)
    products = reduced(REDUCE_SUM, arithmetic.multiply(value, weight), axes, keepdims)
    out = cast_to(arithmetic.divide(products, total), result)
    return (out, cast_to(total, result)) if returned else out


def _weights_along(weight: Value, shape: Shape, axis: Any, axes: Shape) -> Any:
    """Weights of the extents along `axis`, as a view that broadcasts to `shape`."""
    named = axis if isinstance(axis, (tuple, list)) else axes
    order = [normalize_axis("average", one, len(shape)) for one in named]
    if axis is None or weight.shape != tuple(shape[at] for at in order):
        raise ShapeError(
            "average",
            f"weights of shape {weight.shape} fit neither shape {shape} nor its extents along "
            f"axis {axis}",
            (weight.shape, shape),
        )
    turned = views.permuted(weight, tuple(order.index(at) for at in axes))
    return views.reshaped(turned, tuple(n if at in axes else 1 for at, n in enumerate(shape)))


def nansum(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """Sum over the given axes with NaN counted as 0; dtypes as in `sum`.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.nansum(tw.asarray([1.0, float("nan"), 2.0])).item()
    3.0
    """
    check_flag("nansum", "keepdims", keepdims)
    value = accumulated("nansum", x, dtype)
    if value.dtype.kind in "fc":
        value = choice.where(isnan(value), constant_like(value, 0, shape=()), value)
    return reduction.sum(value, axis=axis, dtype=value.dtype, keepdims=keepdims)


def nanmean(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """Mean over the given axes of what is not NaN; NaN where nothing is left.

    Integers give the default float; float16 is accumulated in float32.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.nanmean(tw.asarray([1.0, float("nan"), 2.0])).item()
    1.5
    """
    check_flag("nanmean", "keepdims", keepdims)
    value, result = inexact("nanmean", x, dtype)
    if value.dtype.kind not in "fc":
        return reduction.mean(value, axis=axis, dtype=value.dtype, keepdims=keepdims)
    axes = normalize_axes("nanmean", axis, value.ndim)
    missing = isnan(value)
    nothing = constant_like(value, 0, shape=())
    total = reduced(REDUCE_SUM, choice.where(missing, nothing, value), axes, keepdims)
    count = reduced(
        REDUCE_SUM, choice.where(missing, nothing, constant_like(value, 1)), axes, keepdims
    )
    return cast_to(arithmetic.divide(total, count), result)


def nanmax(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Largest element along the given axes that is not NaN; NaN where nothing else is.

    Raises:
        ShapeError: if there is no element to choose from.
        DTypeError: for complex tensors.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.nanmax(tw.asarray([1.0, float("nan"), 2.0])).item()
    2.0
    """
    check_flag("nanmax", "keepdims", keepdims)
    return _without_nan("nanmax", REDUCE_MAX, -np.inf, x, axis, keepdims)


def nanmin(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Smallest element along the given axes that is not NaN; NaN where nothing else is.

    Raises:
        ShapeError: if there is no element to choose from.
        DTypeError: for complex tensors.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.nanmin(tw.asarray([1.0, float("nan"), 2.0])).item()
    1.0
    """
    check_flag("nanmin", "keepdims", keepdims)
    return _without_nan("nanmin", REDUCE_MIN, np.inf, x, axis, keepdims)


def _without_nan(
    op: str, primitive: Primitive, last: float, x: Any, axis: Any, keepdims: bool
) -> Any:
    """The extremum of what is not NaN, which loses to nothing but `last`."""
    value = ordered(op, x)
    axes = normalize_axes(op, axis, value.ndim)
    if value.dtype.kind != "f" or not axes:
        return reduced(primitive, value, axes, keepdims)
    missing = isnan(value)
    known = choice.where(missing, constant_like(value, last, shape=()), value)
    out = reduced(primitive, known, axes, keepdims)
    # As integers, which a kernel reduces together with what made them.
    nothing = reduced(REDUCE_MIN, cast_to(missing, int32), axes, keepdims)
    return choice.where(choice.not_equal(nothing, 0), constant_like(value, np.nan, shape=()), out)
