"""Spread, averages, reductions that leave NaN out, and differences of neighbours.

Composites over primitives, so every derivative follows from theirs.  On WebGPU those along the
last axes fuse into one kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import bool_, real_dtype
from ..errors import ArgumentError, ShapeError
from . import choice, contraction, joining, reduction, structural, views
from . import elementwise as arithmetic
from .calling import cast_to, lift, normalize_axes, normalize_axis, promote
from .floats import isnan
from .norms import root
from .reduction_operands import (
    accumulated,
    as_real,
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
    "cov",
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
    op: str, x: Any, axis: Any, correction: Any, ddof: Any, dtype: Any, keepdims: bool
) -> tuple[Any, np.dtype[Any]]:
    """The variance in the dtype it is computed in, and the dtype of the result."""
    if correction is not None and ddof is not None:
        raise ArgumentError(op, "correction and ddof are two names of one number; give one")
    value, result = inexact(op, x, dtype)
    axes = normalize_axes(op, axis, value.ndim)
    count = count_along(value, axes)
    lost = correction if correction is not None else ddof if ddof is not None else 0
    centred = arithmetic.subtract(value, reduction.mean(value, axis=axes, keepdims=True))
    total = reduced(REDUCE_SUM, squared_modulus(centred), axes, keepdims)
    left = count - float(lost)
    return arithmetic.divide(total, left if left > 0 else 0.0), result


def var(
    x: Any,
    /,
    axis: Any = None,
    *,
    correction: float | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    ddof: float | None = None,
) -> Any:
    """Variance over the given axes: the mean of abs(x - mean(x))**2, in two passes.

    The sum of squares is divided by the number of elements less `correction` (0 by default), for
    which `ddof` is NumPy's name.  Integers give the default float; complex tensors a real
    result.  float16 is computed in float32.  NaN where there are too few elements.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        ArgumentError: for both `correction` and `ddof`.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.var(tw.asarray([1.0, 2.0, 6.0]), correction=1).item()
    7.0
    """
    out, result = _variance("var", x, axis, correction, ddof, dtype, keepdims)
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
    out, result = _variance("std", x, axis, correction, ddof, dtype, keepdims)
    return as_real(result, root(out))


def cov(
    m: Any,
    /,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """Covariance matrix of variables, one per row of `m` (per column without `rowvar`).

    `y` holds further variables.  The sum of products is divided by the number of observations
    less `ddof`, by default 1, or 0 with `bias`.  `fweights` says how often, `aweights` how
    heavily an observation counts: tensors of one axis.  NumPy's definition and order.

    Raises:
        ShapeError: for more than two axes, or weights that do not fit.
        ArgumentError: for a `ddof` that is no integer.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.cov(tw.asarray([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    if ddof is not None and ddof != int(ddof):
        raise ArgumentError("cov", f"ddof is an integer, got {ddof!r}")
    operands = [m] if y is None else promote("cov", (lift("cov", m), lift("cov", y)))
    rows = []
    result = None
    for operand in operands:
        value, result = inexact("cov", operand, dtype)
        if value.ndim > 2:
            raise ShapeError("cov", f"at most two axes, got shape {value.shape}", (value.shape,))
        if value.ndim < 2:
            value = views.reshaped(value, (1, value.size))
        elif not rowvar:
            value = structural.transpose(value)
        rows.append(value)
    assert result is not None
    x = rows[0] if len(rows) == 1 else joining.concatenate(rows, axis=0)
    lost = float(ddof if ddof is not None else 0 if bias else 1)
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            weight = cast_to(lift("cov", given, x), real_dtype(x.dtype))
            if weight.shape != x.shape[1:]:
                raise ShapeError(
                    "cov",
                    f"weights of shape {weight.shape} do not fit {x.shape[1]} observations",
                    (weight.shape,),
                )
            weights = weight if weights is None else arithmetic.multiply(weights, weight)
    if weights is None:
        left: Any = float(max(x.shape[1] - lost, 0.0))
        centre = reduction.mean(x, axis=1, keepdims=True)
        scaled = centred = arithmetic.subtract(x, centre)
    else:
        total = reduction.sum(weights)
        left = total
        if lost and aweights is None:
            left = arithmetic.subtract(total, lost)
        elif lost:
            aweight = cast_to(lift("cov", aweights, x), real_dtype(x.dtype))
            heavy = arithmetic.divide(reduction.sum(arithmetic.multiply(weights, aweight)), total)
            left = arithmetic.subtract(total, arithmetic.multiply(heavy, lost))
        left = choice.maximum(left, 0)
        centre = arithmetic.divide(
            reduction.sum(arithmetic.multiply(x, weights), axis=1, keepdims=True), total
        )
        centred = arithmetic.subtract(x, centre)
        scaled = arithmetic.multiply(centred, weights)
    products = contraction.matmul(centred, arithmetic.conj(structural.transpose(scaled)))
    return cast_to(structural.squeeze(arithmetic.divide(products, left)), result)


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
    value = ordered("nanmax", x)
    axes = normalize_axes("nanmax", axis, value.ndim)
    if value.dtype.kind != "f" or not axes:
        return reduced(REDUCE_MAX, value, axes, keepdims)
    missing = isnan(value)
    masked = choice.where(missing, constant_like(value, -np.inf, shape=()), value)
    some = reduced(
        REDUCE_MAX,
        choice.where(missing, constant_like(value, 0, shape=()), constant_like(value, 1)),
        axes,
        keepdims,
    )
    out = reduced(REDUCE_MAX, masked, axes, keepdims)
    return choice.where(choice.equal(some, 0), constant_like(value, np.nan, shape=()), out)


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
    value = ordered("nanmin", x)
    if value.dtype.kind != "f":
        return reduced(REDUCE_MIN, value, normalize_axes("nanmin", axis, value.ndim), keepdims)
    # Negating a float changes nothing but its sign, and ties share alike.
    return arithmetic.negative(nanmax(arithmetic.negative(value), axis, keepdims=keepdims))
