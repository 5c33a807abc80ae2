"""Primitives that bring the chosen ones of many elements together, with their rules.

A count of the chosen ones before each element is made once; how many there are in all is the one
number that a caller must read (see `reading`), and from then on it is a param: every shape is
known at the call.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ..dtypes import bool_, int32, int64
from ..errors import DTypeError, ShapeError
from ..tensor import ShapeDtype
from . import views
from .primitive import Primitive
from .value import Value, apply

__all__ = ["COMPRESS", "COUNT_BEFORE", "COUNT_PLACES", "EXPAND", "NONZERO"]

Shape = tuple[int, ...]


def _count_shape(mask: ShapeDtype) -> ShapeDtype:
    if mask.dtype is not bool_ or len(mask.shape) != 1:
        raise DTypeError("count_before", f"a vector of bools is needed, got {mask.dtype}")
    return ShapeDtype((mask.shape[0] + 1,), int32)


def _nonzero_shape(before: ShapeDtype, *, shape: Shape, count: int) -> ShapeDtype:
    if before.shape != (prod(shape) + 1,):
        raise ShapeError("nonzero", f"counts of shape {before.shape} do not fit a mask of {shape}")
    return ShapeDtype((len(shape), count), int64)


def _places_shape(places: ShapeDtype, *, length: int) -> ShapeDtype:
    if places.dtype is not int64 or len(places.shape) != 1:
        raise DTypeError("count_places", f"an int64 vector is needed, got {places.dtype}")
    return ShapeDtype((length,), int64)


def _compressed_shape(x: ShapeDtype, before: ShapeDtype, *, count: int) -> ShapeDtype:
    if len(x.shape) != 2 or before.shape != (x.shape[0] + 1,):
        raise ShapeError("compress", f"{x.shape} rows do not fit counts of shape {before.shape}")
    return ShapeDtype((count, x.shape[1]), x.dtype)


def _expanded_shape(x: ShapeDtype, before: ShapeDtype) -> ShapeDtype:
    if len(x.shape) != 2 or len(before.shape) != 1:
        raise ShapeError("expand", f"{x.shape} rows do not fit counts of shape {before.shape}")
    return ShapeDtype((before.shape[0] - 1, x.shape[1]), x.dtype)


#: How many elements of a mask are true before each one, and in all, at the end.
COUNT_BEFORE: Primitive = Primitive("count_before", ("mask",), _count_shape)

#: Where a mask of `shape` is true: row i of the result is the coordinate along axis i.
NONZERO: Primitive = Primitive("nonzero", ("before",), _nonzero_shape)


#: How often each number from 0 up to a length occurs; others are not counted.
COUNT_PLACES: Primitive = Primitive("count_places", ("places",), _places_shape)


def compressed(x: Value, before: Value, count: int) -> Any:
    """The chosen rows of a matrix, `count` of them, in order."""
    return apply(COMPRESS, x, before, count=count)


def expanded(x: Value, before: Value) -> Any:
    """A matrix with the rows of `x` where they were chosen from, zeros elsewhere."""
    return apply(EXPAND, x, before)


COMPRESS: Primitive = Primitive(
    "compress", ("x", "before"), _compressed_shape,
    vjp=(lambda g, before: expanded(g, before), None),
    jvp=(lambda t, before, *, count: compressed(t, before, count), None),
)  # fmt: skip
EXPAND: Primitive = Primitive(
    "expand", ("x", "before"), _expanded_shape,
    vjp=(lambda g, x_like, before: compressed(g, before, x_like.shape[0]), None),
    jvp=(lambda t, before: expanded(t, before), None),
)  # fmt: skip


def counts_of(mask: Value) -> Any:
    """`COUNT_BEFORE` of a mask of any shape, in C order."""
    return apply(COUNT_BEFORE, views.reshaped(mask, (mask.size,)))


def total_of(before: Value) -> Any:
    """The last of the counts, as a tensor of shape ()."""
    return views.picked(before, 0, before.shape[0] - 1)
