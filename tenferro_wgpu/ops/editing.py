"""Slices put into a tensor and taken out of it, at places that the host knows: one gather each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DTypeError, IndexOutOfBoundsError, ShapeError
from ..naming import called
from . import joining, structural, views
from .calling import as_integer, cast_to, is_scalar, lift, normalize_axis
from .indexing import take
from .value import Value

__all__ = ["delete", "insert"]

Array = np.ndarray[Any, Any]


def _along(op: str, x: Any, axis: Any) -> tuple[Value, int]:
    value = lift(op, x)
    if axis is None:
        return views.reshaped(value, (value.size,)), 0
    return value, normalize_axis(op, axis, value.ndim)


def _places(op: str, obj: Any, axis: int, count: int, extent: int) -> Array:
    """Places from 0 on, `extent` of which exist, from an integer, a slice, integers or a mask."""
    if isinstance(obj, slice):
        for part in (obj.start, obj.stop, obj.step):
            if part is not None:
                as_integer(op, "a part of a slice", part)
        if obj.step == 0:
            raise DTypeError(op, "the step of a slice is not 0")
        return np.arange(count)[obj]
    if isinstance(obj, Value):
        raise DTypeError(
            op, "places are known to the host: an integer, a slice, a list or an ndarray; read a "
            "tensor with .numpy(), or write x[~mask]",
        )  # fmt: skip
    if not is_scalar(obj) and not isinstance(obj, (list, tuple, np.ndarray)):
        raise DTypeError(op, f"places are integers, a slice or a mask, got {type(obj).__name__}")
    try:
        places = np.asarray(obj)
    except ValueError:
        raise DTypeError(op, f"places are integers, a slice or a mask, got {obj!r}") from None
    if places.dtype == bool and places.ndim:
        if places.shape != (count,):
            raise ShapeError(op, f"a mask of shape {places.shape} for {count} slices")
        return np.flatnonzero(places)
    if not places.size:
        return np.zeros(places.shape, np.int64)
    if places.dtype.kind not in "iu" or places.ndim > 1:
        raise DTypeError(op, f"places are integers, a slice or a mask, got {obj!r}")
    outside = (places < -count) | (places >= extent)
    if outside.any():
        first = int(places[outside].flat[0])
        raise IndexOutOfBoundsError(called(op), index=first, axis=axis, size=count)
    found = places.astype(np.int64)
    return np.where(found < 0, found + count, found)


def delete(x: Any, obj: Any, /, axis: int | None = None) -> Any:
    """A tensor without some slices along an axis, as NumPy's `delete`.

    Args:
        x: a tensor of any dtype.
        obj: an integer, a slice, a list or ndarray of integers, or a mask of the host.  A mask on
            the device chooses by ``x[~mask]``.
        axis: the axis; None for the flattened tensor.

    Raises:
        IndexOutOfBoundsError: for a place that does not exist.
        ShapeError: for a mask of another length.
        AxisError: if the axis does not exist.
        DTypeError: for tensors and anything else as places.

    >>> import tenferro_wgpu as tw
    >>> tw.delete(tw.asarray([1.0, 2.0, 3.0, 4.0]), [0, -1]).tolist()
    [2.0, 3.0]
    """
    value, place = _along("delete", x, axis)
    count = value.shape[place]
    keep = np.ones(count, bool)
    keep[_places("delete", obj, place, count, count)] = False
    return take(value, np.flatnonzero(keep), axis=place)


def insert(x: Any, obj: Any, values: Any, /, axis: int | None = None) -> Any:
    """A tensor with slices put before places along an axis, as NumPy's `insert`.

    Args:
        x: a tensor of any dtype.
        obj: the places in `x`: an integer, a slice, a list or ndarray of integers, or a mask of
            the host.
        values: a tensor or scalar that broadcasts to what is inserted, and takes the dtype of `x`.
        axis: the axis; None for the flattened tensor.

    Raises:
        IndexOutOfBoundsError: for a place that does not exist.
        ShapeError: for values that do not broadcast, or a mask of another length.
        AxisError: if the axis does not exist.
        DTypeError: for tensors and anything else as places, and for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.insert(tw.asarray([1.0, 2.0, 3.0]), [1, 3], 9.0).tolist()
    [1.0, 9.0, 2.0, 3.0, 9.0]
    """
    op = "insert"
    value, place = _along(op, x, axis)
    count = value.shape[place]
    places = _places(op, obj, place, count, count + 1)
    new = cast_to(lift(op, values, value), value.dtype)
    if new.ndim > value.ndim:
        raise ShapeError(op, f"values of shape {new.shape} in shape {value.shape}", (new.shape,))
    new = views.reshaped(new, (1,) * (value.ndim - new.ndim) + new.shape)
    if places.size == 1 and not isinstance(obj, slice):
        if not places.ndim:
            new = structural.moveaxis(new, 0, place)
        # Several slices may go before one place.
        places = np.repeat(places.reshape(1), new.shape[place])
    target = (*value.shape[:place], places.size, *value.shape[place + 1 :])
    new = structural.broadcast_to(new, target)
    if places.size == 0:
        return value
    order = np.argsort(places, kind="stable")
    # Where the slices of `x` and the new ones stand, in what they make when joined.
    source = np.insert(np.arange(count), places[order], count + order)
    joined = joining.concatenate([value, new], axis=place)
    return take(joined, source, axis=place)
