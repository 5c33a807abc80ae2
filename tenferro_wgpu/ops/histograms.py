"""Counting: how often numbers occur, and how many fall into which bin.

Counts are exact however numbers collide, and sums of weights do not depend on timing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import int64
from ..errors import ArgumentError, DTypeError, IndexOutOfBoundsError, ShapeError
from ..naming import called
from . import choice, views
from . import elementwise as arithmetic
from .calling import as_integer, cast_to, check_flag, is_scalar, lift, promote, to_inexact
from .compaction import COUNT_PLACES
from .gathering import SCATTER_ADD
from .indexing import host_array
from .joining import concatenate
from .ordering import searchsorted
from .permuting import SEARCH_SORTED
from .reading import Reading, run
from .reduction import max as largest
from .reduction import min as smallest
from .reduction import sum as total
from .value import Value, apply, constant_like

__all__ = ["bincount", "digitize", "histogram"]


def counted(places: Value, weights: Value | None, length: int) -> Any:
    """The sum of weights, or the number, of each place from 0 to `length`; others are dropped."""
    if weights is None:
        return apply(COUNT_PLACES, places, length=length)
    if length == 0:
        return views.part(views.reshaped(weights, (weights.size,)), 0, 0, 0)
    counts = constant_like(weights, 0, shape=(length,))
    starts = views.reshaped(places, (places.size, 1))
    rows = views.reshaped(weights, (places.size, 1))
    return apply(SCATTER_ADD, counts, starts, rows, axes=(0,), mode="fill")


def weights_of(op: str, x: Value, weights: Any) -> Value | None:
    if weights is None:
        return None
    found = lift(op, weights, x)
    if found.shape != x.shape:
        raise ShapeError(
            op, f"weights of shape {found.shape} for a tensor of shape {x.shape}",
            (found.shape, x.shape),
        )  # fmt: skip
    return found


def bincount(
    x: Any, /, weights: Any = None, minlength: int = 0, *, length: int | None = None
) -> Any:
    """How often each number from 0 up occurs in a vector, or the sum of its weights.

    Args:
        x: a vector of integers, none of them negative.
        weights: a tensor of the same shape: integers and bools become the default float.
        minlength: the least length of the result.
        length: the length of the result; larger numbers are not counted, and nothing is read.
            Without it the largest number is read from the device.

    The result is int64, or of the dtype of the weights.

    Raises:
        ShapeError: if `x` is not a vector, or the weights have another shape.
        DTypeError: if `x` is not of integers.
        IndexOutOfBoundsError: for a negative number; with `length` it is not counted.
        ArgumentError: for a negative length.
        SyncUnavailableError: without `length` where nothing can wait.

    >>> import tenferro_wgpu as tw
    >>> tw.bincount(tw.asarray([1, 3, 1])).tolist()
    [0, 2, 0, 1]
    >>> tw.bincount(tw.asarray([1, 3, 1]), length=3).tolist()
    [0, 2, 0]
    """
    value = lift("bincount", x)
    if value.dtype.kind not in "biu":
        raise DTypeError("bincount", f"integers are counted, got {value.dtype}", (value.dtype,))
    if value.ndim != 1:
        raise ShapeError("bincount", f"a vector is needed, got {value.shape}", (value.shape,))
    if length is None:
        least = as_integer("bincount", "minlength", minlength)
    else:
        least = as_integer("bincount", "length", length)
    if least < 0:
        raise ArgumentError("bincount", f"a length cannot be negative, got {least}")
    added = weights_of("bincount", value, weights)
    if added is not None:
        if added.dtype.kind == "c":
            raise DTypeError("bincount", "weights are real numbers", (added.dtype,))
        added = to_inexact(added)
    places = cast_to(value, int64)
    if length is None and value.size:
        least = max(least, run(_length(places), "bincount", "bincount(x, length=...)"))
    return counted(places, added, least)


def _length(places: Value) -> Reading[int]:
    """One more than the largest number, or an error that names the least, if negative."""
    count = arithmetic.add(largest(places), 1)
    least = smallest(places)
    found = yield choice.where(choice.less(least, 0), least, count)
    if found < 0:
        raise IndexOutOfBoundsError(called("bincount"), index=found)
    return found


def bin_edges(op: str, x: Value, bins: Any, limits: Any) -> Value:
    """The ascending edges of bins, in the dtype of `x`."""
    if isinstance(bins, Value) or not is_scalar(bins):
        edges = bins if isinstance(bins, Value) else x.interpreter.array(_host_edges(op, bins))
        if edges.ndim != 1:
            raise ShapeError(op, f"edges are a vector, got shape {edges.shape}", (edges.shape,))
        if edges.size < 2:
            raise ShapeError(op, "there are at least two edges", (edges.shape,))
        return cast_to(edges, x.dtype)
    count = as_integer(op, "bins", bins)
    if count < 1:
        raise ArgumentError(op, f"there is at least one bin, got {count}")
    if limits is not None:
        try:
            low, high = (float(limit) for limit in limits)
        except (TypeError, ValueError):
            raise DTypeError(op, f"a range is a pair of numbers, got {limits!r}") from None
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise ArgumentError(op, f"a range is two finite ascending numbers, got {limits!r}")
    elif x.size == 0:
        low, high = 0.0, 1.0
    else:
        return _edges_of_values(x, count)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return x.interpreter.array(np.linspace(low, high, count + 1).astype(x.dtype))


def _host_edges(op: str, bins: Any) -> np.ndarray[Any, Any]:
    if isinstance(bins, str):
        raise ArgumentError(op, f"bins are a number of bins or their edges, got {bins!r}")
    array = host_array(op, bins)
    if array.dtype.kind not in "biuf":
        raise DTypeError(op, f"edges are real numbers, got {array.dtype}", (array.dtype,))
    if array.ndim == 1 and np.any(array[1:] < array[:-1]):
        raise ArgumentError(op, f"edges ascend, got {bins!r}")
    return array


def _edges_of_values(x: Value, count: int) -> Value:
    low, high = smallest(x), largest(x)
    apart = choice.where(choice.equal(low, high), 0.5, constant_like(low, 0))
    low, high = arithmetic.subtract(low, apart), arithmetic.add(high, apart)
    step = arithmetic.divide(arithmetic.subtract(high, low), count)
    steps = x.interpreter.array(np.arange(count).astype(x.dtype))
    edges = arithmetic.add(arithmetic.multiply(steps, step), low)
    joined: Value = concatenate([edges, views.reshaped(high, (1,))])
    return joined


def histogram(
    x: Any,
    /,
    bins: Any = 10,
    range: Any = None,
    *,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any]:
    """How many elements fall between which edges.

    Args:
        x: a tensor of any shape; bools and integers are compared as the default float.
        bins: the number of equal bins, or their ascending edges as a tensor, list or ndarray.
        range: for a number of bins the lowest and the highest edge; without it those of the
            elements.  Nothing is read from the device.
        density: whether to give densities, whose integral is 1, instead of counts.
        weights: a tensor of the shape of `x`; sums of weights replace counts.

    A bin holds its lower edge, and the last one the highest edge too.  NaN is in no bin.

    Returns:
        ``(counts, edges)``: int64, the dtype of the weights or, as densities, a float; and the
        edges in the float dtype that they are compared in.

    Raises:
        ArgumentError: for less than one bin, NumPy's rules by name such as "auto", or a range or a
            list of edges that does not ascend; the edges of a tensor are not read.
        ShapeError: if the edges are not a vector, or the weights have another shape.
        DTypeError: for complex numbers, ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> counts, edges = tw.histogram(tw.asarray([0.0, 0.5, 1.5, 2.0]), bins=2)
    >>> counts.tolist(), edges.tolist()
    ([2, 2], [0.0, 1.0, 2.0])
    """
    if density is not None:
        check_flag("histogram", "density", density)
    value = lift("histogram", x)
    added = weights_of("histogram", value, weights)
    if value.dtype.kind == "c":
        raise DTypeError("histogram", "complex numbers have no order", (value.dtype,))
    value = to_inexact(views.reshaped(value, (value.size,)))
    edges = bin_edges("histogram", value, bins, range)
    count = edges.shape[0] - 1
    if added is not None:
        added = views.reshaped(added, (value.size,))
        if added.dtype.kind == "b":
            added = cast_to(added, int64)
    places = bin_of(value, edges)
    counts = counted(places, added, count)
    if density:
        widths = arithmetic.subtract(
            views.part(edges, 0, 1, count + 1), views.part(edges, 0, 0, count)
        )
        numbers = counts if counts.dtype.kind == "c" else cast_to(counts, edges.dtype)
        counts = arithmetic.divide(arithmetic.divide(numbers, widths), total(numbers))
    return counts, edges


def bin_of(value: Value, edges: Value) -> Any:
    """The number of the bin of each element of a vector; -1 or too large for those outside."""
    count = edges.shape[0] - 1
    found = apply(SEARCH_SORTED, edges, value, side="right")
    last = views.part(edges, 0, count, count + 1)
    return choice.where(choice.equal(value, last), count - 1, arithmetic.subtract(found, 1))


def digitize(x: Any, bins: Any, /, right: bool = False) -> Any:
    """The number of the bin that each element falls into, as int64.

    Bin i lies between ``bins[i - 1]``, which belongs to it, and ``bins[i]``, which does not; with
    `right` it is the other way round.  The edges ascend or descend.

    Args:
        x: a tensor or scalar of any shape.
        bins: the edges: a tensor of one axis; dtypes promote.

    Raises:
        ShapeError: if the edges are not a vector.
        DTypeError: for complex numbers, ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.digitize(tw.asarray([0.2, 6.4, 3.0]), tw.asarray([0.0, 1.0, 3.0])).tolist()
    [1, 3, 3]
    """
    check_flag("digitize", "right", right)
    value, edges = promote("digitize", (x, bins))
    if value.dtype.kind == "c":
        raise DTypeError("digitize", "complex numbers have no order", (value.dtype,))
    side = "left" if right else "right"
    ascending = searchsorted(edges, value, side=side)
    count = edges.shape[0]
    if count < 2:
        return ascending
    reversed_edges = apply(views.FLIP, edges, axes=(0,))
    descending = arithmetic.subtract(count, searchsorted(reversed_edges, value, side=side))
    first = views.picked(edges, 0, 0)
    final = views.picked(edges, 0, count - 1)
    return choice.where(choice.less_equal(first, final), ascending, descending)
