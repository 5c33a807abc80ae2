"""Running sums, products, extrema and logarithms of sums along an axis.

What users call; the primitives and their rules are in `scanning_rules`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import AxisError
from . import views
from .calling import cast_to, check_flag, normalize_axis
from .primitive import Primitive
from .reduction_operands import accumulated, inexact, ordered, widened
from .scanning_rules import (
    CUMULATIVE_LOGSUMEXP,
    CUMULATIVE_MAX,
    CUMULATIVE_MIN,
    CUMULATIVE_PROD,
    begun_with,
    running_sum,
)
from .value import Value, apply

__all__ = [
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_logsumexp",
    "cumulative_prod",
    "cumulative_sum",
]


def _standard(op: str, x: Value, axis: Any) -> tuple[Value, int]:
    """The operand and its axis by the rules of the Array API: only a vector may leave it out."""
    if axis is not None:
        return x, normalize_axis(op, axis, x.ndim)
    if x.ndim > 1:
        raise AxisError(
            op,
            f"of the {x.ndim} axes of shape {x.shape} one must be chosen",
            axis=None,
            ndim=x.ndim,
        )
    return (x if x.ndim else views.reshaped(x, (1,))), 0


def _numpys(op: str, x: Value, axis: Any) -> tuple[Value, int]:
    """The operand and its axis by NumPy's older rules: flattened without an axis."""
    if axis is None:
        return views.reshaped(x, (x.size,)), 0
    return x, normalize_axis(op, axis, x.ndim)


def _sum(op: str, x: Any, axis: Any, dtype: Any, chosen: Any, include_initial: bool) -> Any:
    value = accumulated(op, x, dtype)
    result = value.dtype
    value, place = chosen(op, widened(value), axis)
    out = running_sum(value, place)
    return cast_to(begun_with(out, place, 0) if include_initial else out, result)


def _prod(op: str, x: Any, axis: Any, dtype: Any, chosen: Any, include_initial: bool) -> Any:
    value = accumulated(op, x, dtype)
    result = value.dtype
    value, place = chosen(op, widened(value), axis)
    out = apply(CUMULATIVE_PROD, value, axis=place)
    return cast_to(begun_with(out, place, 1) if include_initial else out, result)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Sums of the elements up to each one along an axis, which only a vector may leave out.

    Bools and integers are accumulated in int64 or uint64, floats in their own dtype (float16 in
    float32), or all in `dtype`.  The error of a float does not grow with its place, or hardly.
    `include_initial` puts the sum of nothing, 0, before them.

    Raises:
        AxisError: if the axis does not exist, or is left out of a tensor of several.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.cumulative_sum(tw.asarray([1, 2, 3]), include_initial=True).tolist()
    [0, 1, 3, 6]
    """
    check_flag("cumulative_sum", "include_initial", include_initial)
    return _sum("cumulative_sum", x, axis, dtype, _standard, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Products of the elements up to each one along an axis, which only a vector may leave out.

    Dtypes as in `cumulative_sum`; `include_initial` puts the product of nothing, 1, before them.
    Derivatives are right where elements are 0.  On a GPU products of blocks are taken first, so
    that factors whose product overflows by themselves give inf there even behind small ones.

    Raises:
        AxisError: if the axis does not exist, or is left out of a tensor of several.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.cumulative_prod(tw.asarray([[1, 2, 3], [4, 5, 6]]), axis=1).tolist()
    [[1, 2, 6], [4, 20, 120]]
    """
    check_flag("cumulative_prod", "include_initial", include_initial)
    return _prod("cumulative_prod", x, axis, dtype, _standard, include_initial)


def cumsum(x: Any, /, axis: int | None = None, dtype: Any = None) -> Any:
    """`cumulative_sum` in NumPy's older form: without an axis, of the flattened tensor.

    Raises:
        AxisError: if the axis does not exist.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.cumsum(tw.asarray([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 3.0, 6.0, 10.0]
    """
    return _sum("cumsum", x, axis, dtype, _numpys, False)


def cumprod(x: Any, /, axis: int | None = None, dtype: Any = None) -> Any:
    """`cumulative_prod` in NumPy's older form: without an axis, of the flattened tensor.

    Raises:
        AxisError: if the axis does not exist.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.cumprod(tw.asarray([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 2.0, 6.0, 24.0]
    """
    return _prod("cumprod", x, axis, dtype, _numpys, False)


def _extremum(op: str, primitive: Primitive, x: Any, axis: Any) -> Any:
    value, place = _numpys(op, ordered(op, x), axis)
    return apply(primitive, value, axis=place)


def cummax(x: Any, /, axis: int | None = None) -> Any:
    """Largest element up to each one along an axis; without it, of the flattened tensor.

    NaN from the first NaN on.  The derivative goes to the first of equal elements.

    Raises:
        AxisError: if the axis does not exist.
        DTypeError: for complex tensors, and for an axis that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.cummax(tw.asarray([1.0, 3.0, 2.0, 5.0])).tolist()
    [1.0, 3.0, 3.0, 5.0]
    """
    return _extremum("cummax", CUMULATIVE_MAX, x, axis)


def cummin(x: Any, /, axis: int | None = None) -> Any:
    """Smallest element up to each one along an axis; without it, of the flattened tensor.

    NaN from the first NaN on.  The derivative goes to the first of equal elements.

    Raises:
        AxisError: if the axis does not exist.
        DTypeError: for complex tensors, and for an axis that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.cummin(tw.asarray([3.0, 1.0, 2.0, 0.0])).tolist()
    [3.0, 1.0, 1.0, 0.0]
    """
    return _extremum("cummin", CUMULATIVE_MIN, x, axis)


def cumulative_logsumexp(
    x: Any, /, *, axis: int | None = None, include_initial: bool = False
) -> Any:
    """log(sum(exp(x))) of the elements up to each one along an axis, without overflow.

    Only a vector may leave the axis out.  Integers give the default float.  `include_initial`
    puts that of nothing, -inf, before them.

    Raises:
        AxisError: if the axis does not exist, or is left out of a tensor of several.
        DTypeError: for complex tensors, and for an axis that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.cumulative_logsumexp(tw.asarray([1000.0, -1000.0])).tolist()
    [1000.0, 1000.0]
    """
    check_flag("cumulative_logsumexp", "include_initial", include_initial)
    value, result = inexact("cumulative_logsumexp", ordered("cumulative_logsumexp", x))
    value, place = _standard("cumulative_logsumexp", value, axis)
    out = apply(CUMULATIVE_LOGSUMEXP, value, axis=place)
    return cast_to(begun_with(out, place, -np.inf) if include_initial else out, result)
