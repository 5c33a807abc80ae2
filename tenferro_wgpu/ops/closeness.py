"""Whether tensors are close or equal: answers made of comparisons, left on the device."""

from __future__ import annotations

from typing import Any

from ..dtypes import bool_, float64
from . import choice, elementwise
from .calling import cast_to, check_flag, promote, promote_broadcast
from .floats import isfinite, isnan
from .truth import all
from .value import constant_like

__all__ = ["allclose", "array_equal", "isclose"]


def isclose(
    x: Any, y: Any, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether `abs(x - y) <= atol + rtol * abs(y)`, element by element.

    Infinities are close to themselves alone.  Integers are compared as float64.

    Args:
        x, y: tensors or scalars whose shapes broadcast, of any dtype.
        rtol: how far apart they may be for their size.
        atol: how far apart they may be besides.
        equal_nan: whether NaN is close to NaN.

    Raises:
        DTypeError: for ndarrays and lists.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> tw.isclose(tw.asarray([1.0, 2.0]), 1.000001).tolist()
    [True, False]
    """
    check_flag("isclose", "equal_nan", equal_nan)
    first, second = promote_broadcast("isclose", (x, y))
    if first.dtype.kind == "b":
        return choice.equal(first, second)
    whole = first.dtype.kind in "iu"
    if whole:
        first, second = cast_to(first, float64), cast_to(second, float64)
    apart = elementwise.abs(elementwise.subtract(first, second))
    allowed = elementwise.add(elementwise.multiply(elementwise.abs(second), rtol), atol)
    near = choice.less_equal(apart, allowed)
    if whole:
        return near
    near = choice.logical_and(near, isfinite(second))
    close = choice.logical_or(near, choice.equal(first, second))
    if equal_nan:
        close = choice.logical_or(close, choice.logical_and(isnan(first), isnan(second)))
    return close


def allclose(
    x: Any, y: Any, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether all elements are close, as a bool tensor of shape (); see `isclose`.

    The answer stays on the device until Python asks for it: `if tw.allclose(x, y):` reads it.

    Args:
        x, y: tensors or scalars whose shapes broadcast, of any dtype.
        rtol, atol, equal_nan: as for `isclose`.

    Raises:
        DTypeError: for ndarrays and lists.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> bool(tw.allclose(tw.asarray([1.0, 2.0]), tw.asarray([1.0, 2.0])))
    True
    """
    check_flag("allclose", "equal_nan", equal_nan)
    return all(isclose(x, y, rtol, atol, equal_nan))


def array_equal(x: Any, y: Any, /, equal_nan: bool = False) -> Any:
    """Whether two tensors have one shape and equal elements, as a bool tensor of shape ().

    Args:
        x, y: tensors or scalars of any dtype.
        equal_nan: whether NaN equals NaN.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> bool(tw.array_equal(tw.asarray([1, 2]), tw.asarray([1, 2, 3])))
    False
    """
    check_flag("array_equal", "equal_nan", equal_nan)
    first, second = promote("array_equal", (x, y))
    if first.shape != second.shape:
        return constant_like(first, False, shape=(), dtype=bool_)
    same = choice.equal(first, second)
    if equal_nan:
        same = choice.logical_or(same, choice.logical_and(isnan(first), isnan(second)))
    return all(same)
