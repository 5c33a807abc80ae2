"""Whether and how many elements are not 0, over any set of axes and of every dtype."""

from __future__ import annotations

from typing import Any

from ..dtypes import bool_, int32, int64
from . import choice
from .calling import cast_to, check_flag, lift, normalize_axes
from .primitive import Primitive
from .reduction_operands import chosen, count_along, reduced, with_kept_axes
from .reduction_rules import REDUCE_MAX, REDUCE_MIN, REDUCE_SUM
from .value import Value, constant_like

__all__ = ["all", "any", "count_nonzero"]


def _truth(op: str, x: Any) -> Value:
    value = lift(op, x)
    return value if value.dtype is bool_ else choice.not_equal(value, 0)


def _quantified(
    op: str, primitive: Primitive, empty: bool, x: Any, axis: Any, keepdims: bool, where: Any
) -> Any:
    value = chosen(op, _truth(op, x), where, empty)
    axes = normalize_axes(op, axis, value.ndim)
    if not count_along(value, axes):
        shape = tuple(n for at, n in enumerate(value.shape) if at not in axes)
        out = constant_like(value, empty, shape=shape)
        return with_kept_axes(out, value.shape, axes) if keepdims else out
    # As integers, which a kernel reduces together with what made them.
    return choice.not_equal(reduced(primitive, cast_to(value, int32), axes, keepdims), 0)


def any(
    x: Any, /, axis: Any = None, *, keepdims: bool = False, where: Any = None
) -> Any:  # fmt: skip
    """Whether any element along the given axes is not 0, as bools; False of nothing.

    Takes every dtype; NaN is not 0.  Elements where the bool mask `where` does not hold are left
    out.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for ndarrays and lists, and for a mask that is not bool.
        ShapeError: if `where` does not broadcast to the shape of `x`.

    >>> import tenferro_wgpu as tw
    >>> tw.any(tw.asarray([[0.0, 2.0], [0.0, 0.0]]), axis=1).tolist()
    [True, False]
    """
    check_flag("any", "keepdims", keepdims)
    return _quantified("any", REDUCE_MAX, False, x, axis, keepdims, where)


def all(
    x: Any, /, axis: Any = None, *, keepdims: bool = False, where: Any = None
) -> Any:  # fmt: skip
    """Whether every element along the given axes is not 0, as bools; True of nothing.

    Takes every dtype; NaN is not 0.  Elements where the bool mask `where` does not hold are left
    out.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for ndarrays and lists, and for a mask that is not bool.
        ShapeError: if `where` does not broadcast to the shape of `x`.

    >>> import tenferro_wgpu as tw
    >>> tw.all(tw.asarray([[1, 2], [0, 3]]), axis=1).tolist()
    [True, False]
    """
    check_flag("all", "keepdims", keepdims)
    return _quantified("all", REDUCE_MIN, True, x, axis, keepdims, where)


def count_nonzero(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements along the given axes are not 0, as int64.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.count_nonzero(tw.asarray([[0, 2, 3], [0, 0, 5]]), axis=1).tolist()
    [2, 1]
    """
    check_flag("count_nonzero", "keepdims", keepdims)
    value = cast_to(_truth("count_nonzero", x), int64)
    return reduced(REDUCE_SUM, value, normalize_axes("count_nonzero", axis, value.ndim), keepdims)
