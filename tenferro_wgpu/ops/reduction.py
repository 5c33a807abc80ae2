"""Sums, products, extrema and positions over any set of axes.

What users call; the primitives and their rules are in `reduction_rules`, what is built from
several reductions in `statistics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import as_dtype, bool_, float16, real_dtype
from ..errors import ArgumentError
from . import choice, views
from . import elementwise as arithmetic
from .calling import as_axes, cast_to, check_flag, lift, normalize_axes, normalize_axis, to_inexact
from .primitive import Primitive
from .reduction_operands import (
    accumulated,
    chosen,
    count_along,
    ordered,
    reduced,
    squared_modulus,
    widened,
    with_kept_axes,
)
from .reduction_rules import (
    ARGMAX,
    ARGMIN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_SUM,
)
from .value import Value, apply, constant_like

__all__ = [
    "argmax",
    "argmin",
    "max",
    "mean",
    "min",
    "prod",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "sum",
    "sum_of_squares",
]


def _total(
    op: str,
    primitive: Primitive,
    combine: Callable[[Any, Any], Any],
    identity: int,
    x: Any,
    axis: Any,
    dtype: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    value = accumulated(op, x, dtype)
    result = value.dtype
    value = chosen(op, widened(value), where, identity)
    out = reduced(primitive, value, normalize_axes(op, axis, value.ndim), keepdims)
    if initial is not None:
        out = combine(out, initial)
    return cast_to(out, result) if result in (float16, bool_) else out


def _extremum(
    op: str,
    primitive: Primitive,
    combine: Callable[[Any, Any], Any],
    x: Any,
    axis: Any,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Any:
    value = ordered(op, x)
    axes = normalize_axes(op, axis, value.ndim)
    if initial is None:
        if where is not None:
            raise ArgumentError(op, "where needs initial, the result where nothing is chosen")
        return reduced(primitive, value, axes, keepdims)
    if not count_along(value, axes):
        shape = tuple(n for at, n in enumerate(value.shape) if at not in axes)
        out = constant_like(value, initial, shape=shape)
        return with_kept_axes(out, value.shape, axes) if keepdims else out
    return combine(reduced(primitive, chosen(op, value, where, initial), axes, keepdims), initial)


def _position(op: str, primitive: Primitive, x: Any, axis: Any, keepdims: bool) -> Any:
    value = ordered(op, x)
    if axis is None:
        flat = views.reshaped(value, (value.size,))
        out = apply(primitive, flat, axis=0)
        return with_kept_axes(out, value.shape, tuple(range(value.ndim))) if keepdims else out
    place = normalize_axis(op, axis, value.ndim)
    out = apply(primitive, value, axis=place)
    return with_kept_axes(out, value.shape, (place,)) if keepdims else out


# -- public functions ---------------------------------------------------------------------------


def sum(
    x: Any,
    /,
    axis: Any = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Sum over the given axes; without `axis`, over all.

    `axis` is None, an integer or a tuple; an empty tuple sums over nothing.  Bools and integers
    are accumulated in int64 or uint64, floats in their own dtype (float16 in float32), or all in
    `dtype`.  The sum of nothing is 0.  `initial` is added; elements where the bool mask `where`
    does not hold are left out.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for an axis that is no integer, an unknown dtype, or a mask that is not bool.
        ShapeError: if `where` does not broadcast to the shape of `x`.

    >>> import tenferro_wgpu as tw
    >>> tw.sum(tw.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [4.0, 6.0]
    """
    check_flag("sum", "keepdims", keepdims)
    return _total(
        "sum", REDUCE_SUM, arithmetic.add, 0, x, axis, dtype, keepdims, initial, where
    )  # fmt: skip


def prod(
    x: Any,
    /,
    axis: Any = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Product over the given axes; without `axis`, over all.

    Dtypes, `initial` and `where` as in `sum`; the product of nothing is 1.  Derivatives are right
    where elements are 0.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for an axis that is no integer, an unknown dtype, or a mask that is not bool.
        ShapeError: if `where` does not broadcast to the shape of `x`.

    >>> import tenferro_wgpu as tw
    >>> tw.prod(tw.asarray([2.0, 3.0, 4.0])).item()
    24.0
    """
    check_flag("prod", "keepdims", keepdims)
    return _total(
        "prod", REDUCE_PROD, arithmetic.multiply, 1, x, axis, dtype, keepdims, initial, where
    )  # fmt: skip


def max(
    x: Any,
    /,
    axis: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Largest element along the given axes; NaN if there is one.

    Equal largest elements share the derivative in equal parts.  No result is less than
    `initial`, which `where`, a bool mask of the elements to look at, needs.

    Raises:
        ShapeError: if there is no element to choose from and no `initial`.
        DTypeError: for complex tensors.
        ArgumentError: for `where` without `initial`.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.max(tw.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=1).tolist()
    [5.0, 4.0]
    """
    check_flag("max", "keepdims", keepdims)
    return _extremum("max", REDUCE_MAX, choice.maximum, x, axis, keepdims, initial, where)


def min(
    x: Any,
    /,
    axis: Any = None,
    *,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Smallest element along the given axes; NaN if there is one.

    Equal smallest elements share the derivative in equal parts.  `initial` and `where` as in
    `max`.

    Raises:
        ShapeError: if there is no element to choose from and no `initial`.
        DTypeError: for complex tensors.
        ArgumentError: for `where` without `initial`.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.min(tw.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=1).tolist()
    [1.0, 3.0]
    """
    check_flag("min", "keepdims", keepdims)
    return _extremum("min", REDUCE_MIN, choice.minimum, x, axis, keepdims, initial, where)


def mean(
    x: Any,
    /,
    axis: Any = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """Arithmetic mean over the given axes; without `axis`, over all.

    Integers give the default float, or everything `dtype`.  float16 is accumulated in float32.
    Elements where the bool mask `where` does not hold are left out.  The mean of nothing is NaN.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for an axis that is no integer, an unknown dtype, or a mask that is not bool.
        ShapeError: if `where` does not broadcast to the shape of `x`.

    >>> import tenferro_wgpu as tw
    >>> tw.mean(tw.asarray([1.0, 2.0, 6.0])).item()
    3.0
    """
    check_flag("mean", "keepdims", keepdims)
    value = lift("mean", x)
    value = to_inexact(value) if dtype is None else cast_to(value, as_dtype(dtype, "mean"))
    result = value.dtype
    value = widened(value)
    axes = normalize_axes("mean", axis, value.ndim)
    return cast_to(mean_of("mean", value, axes, keepdims, where), result)


def mean_of(op: str, value: Value, axes: tuple[int, ...], keepdims: bool, where: Any) -> Any:
    """The mean of floats over ascending axes, of those that a mask chooses, or all."""
    total = reduced(REDUCE_SUM, chosen(op, value, where, 0), axes, keepdims)
    if where is None:
        return arithmetic.divide(total, float(count_along(value, axes)))
    return arithmetic.divide(total, count_where(op, value, axes, keepdims, where))


def count_where(op: str, value: Value, axes: tuple[int, ...], keepdims: bool, where: Any) -> Any:
    """How many elements a mask chooses for each result, in the real dtype of `value`."""
    ones = constant_like(value, 1, dtype=real_dtype(value.dtype))
    return reduced(REDUCE_SUM, chosen(op, ones, where, 0), axes, keepdims)


def sum_of_squares(
    x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False
) -> Any:
    """Sum of x**2 over the given axes, of abs(x)**2 for complex tensors (a real result).

    Dtypes as in `sum`; integers are widened before they are squared.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.sum_of_squares(tw.asarray([1.0, 2.0, 3.0])).item()
    14.0
    """
    check_flag("sum_of_squares", "keepdims", keepdims)
    value = accumulated("sum_of_squares", x, dtype)
    result = value.dtype
    axes = normalize_axes("sum_of_squares", axis, value.ndim)
    out = reduced(REDUCE_SUM, squared_modulus(widened(value)), axes, keepdims)
    return cast_to(out, result) if result in (float16, bool_) else out


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Index of the first largest element along an axis, as int64; of the first NaN if any.

    Without `axis`, the index into the flattened tensor.

    Raises:
        ShapeError: if there is no element to choose from.
        DTypeError: for complex tensors, and for an axis that is no integer.
        AxisError: if the axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> tw.argmax(tw.asarray([1.0, 5.0, 5.0])).item()
    1
    """
    check_flag("argmax", "keepdims", keepdims)
    return _position("argmax", ARGMAX, x, axis, keepdims)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Index of the first smallest element along an axis, as int64; of the first NaN if any.

    Without `axis`, the index into the flattened tensor.

    Raises:
        ShapeError: if there is no element to choose from.
        DTypeError: for complex tensors, and for an axis that is no integer.
        AxisError: if the axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> tw.argmin(tw.asarray([7.0, 5.0, 5.0])).item()
    1
    """
    check_flag("argmin", "keepdims", keepdims)
    return _position("argmin", ARGMIN, x, axis, keepdims)


def reduce_sum(x: Any, /, axes: Sequence[int]) -> Any:
    """Sum over `axes`, in the Rust project's spelling; no axes leave the tensor as it is.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: if `axes` is no list of integers.

    >>> import tenferro_wgpu as tw
    >>> tw.reduce_sum(tw.asarray([[1.0, 2.0], [3.0, 4.0]]), [0, 1]).item()
    10.0
    """
    return sum(x, axis=as_axes("reduce_sum", axes))


def reduce_prod(x: Any, /, axes: Sequence[int]) -> Any:
    """Product over `axes`; no axes leave the tensor as it is.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: if `axes` is no list of integers.

    >>> import tenferro_wgpu as tw
    >>> tw.reduce_prod(tw.asarray([2.0, 3.0]), [0]).item()
    6.0
    """
    return prod(x, axis=as_axes("reduce_prod", axes))


def reduce_max(x: Any, /, axes: Sequence[int]) -> Any:
    """Largest element over `axes`; no axes leave the tensor as it is.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: if `axes` is no list of integers.
        ShapeError: if there is no element to choose from.

    >>> import tenferro_wgpu as tw
    >>> tw.reduce_max(tw.asarray([2.0, 3.0]), [0]).item()
    3.0
    """
    return max(x, axis=as_axes("reduce_max", axes))


def reduce_min(x: Any, /, axes: Sequence[int]) -> Any:
    """Smallest element over `axes`; no axes leave the tensor as it is.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: if `axes` is no list of integers.
        ShapeError: if there is no element to choose from.

    >>> import tenferro_wgpu as tw
    >>> tw.reduce_min(tw.asarray([2.0, 3.0]), [0]).item()
    2.0
    """
    return min(x, axis=as_axes("reduce_min", axes))
