"""Functions that pick or add elements by index, built on the primitives of `gathering`.

Host indices (integers, lists, ndarrays) are checked at the call and wrapped once if negative.
Indices that are tensors are never read: the backend checks them as the `mode` says.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import int64, uint64
from ..errors import ArgumentError, IndexOutOfBoundsError, IndexTypeError, ShapeError
from ..naming import called
from . import choice, joining, rounding, structural, views
from .calling import (
    as_axes,
    broadcast_shapes,
    cast_to,
    lift,
    normalize_axes,
    normalize_axis,
    promote,
)
from .gathering import GATHER, INDEX_DTYPES, MODES
from .scattering import scatter_of
from .value import Value, apply, constant_like

__all__ = ["gather", "scatter_add", "scatter_add_slices", "take", "take_along_axis"]

Shape = tuple[int, ...]

# -- indices ------------------------------------------------------------------------------------


def check_mode(op: str, mode: str) -> None:
    """Raise ArgumentError unless `mode` is one of the four."""
    if not isinstance(mode, str) or mode not in MODES:
        raise ArgumentError(op, f"mode must be one of {MODES}, got {mode!r}")


def host_array(op: str, indices: Any) -> np.ndarray[Any, Any]:
    """An ndarray of any dtype from nested lists; raises ShapeError if they are ragged."""
    try:
        return np.asarray(indices)
    except ValueError:
        raise ShapeError(op, "the nested lists of indices have ragged lengths") from None


def index_array(op: str, indices: Any) -> np.ndarray[Any, Any]:
    """Host indices as an integer array; raises DTypeError for anything else."""
    array = host_array(op, indices)
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise IndexTypeError(op, f"indices must be integers, got {array.dtype}", (array.dtype,))
    return array


def check_integers(op: str, indices: Value) -> None:
    """Raise DTypeError unless the tensor holds integers."""
    if indices.dtype.kind not in "iu":
        raise IndexTypeError(op, f"indices must be integers, got {indices.dtype}", (indices.dtype,))


def device_indices(indices: Value, extents: Shape, mode: str) -> Any:
    """An integer tensor in a dtype of the kernels; its last axis may count several axes.

    Of uint64 the numbers that int64 does not hold stay beyond every axis; mode "wrap" brings
    all numbers into their axis first.
    """
    if indices.dtype in INDEX_DTYPES:
        return indices
    if indices.dtype == uint64:
        if mode == "wrap":
            divisors = indices.interpreter.array(_divisors(extents))
            indices = rounding.remainder(indices, divisors)
        else:
            indices = choice.minimum(indices, constant_like(indices, 2**63 - 1))
    return cast_to(indices, int64)


def prepared_indices(op: str, x: Value, indices: Any, axis: int, mode: str) -> tuple[Value, str]:
    """An index tensor for the kernels and the mode they need.

    Host indices in mode "raise" are checked and wrapped here, so that the kernel need not.
    """
    if isinstance(indices, Value):
        check_integers(op, indices)
        return device_indices(indices, x.shape[axis : axis + 1], mode), mode
    array = index_array(op, indices)
    if mode == "raise":
        outside = (array < -x.shape[axis]) | (array >= x.shape[axis])
        if outside.any():
            raise IndexOutOfBoundsError(
                called(op), index=int(array[outside].flat[0]), axis=axis, size=x.shape[axis]
            )
        array = array.astype(np.int64)
        array = np.where(array < 0, array + x.shape[axis], array)
        mode = "clip"
    array = _within_int64(array, x.shape[axis : axis + 1], mode)
    narrow = array.size == 0 or (array.min() >= -(2**31) and array.max() < 2**31)
    return x.interpreter.array(array.astype(np.int32 if narrow else np.int64)), mode


# -- public functions ---------------------------------------------------------------------------


def gather(
    x: Any, indices: Any, /, *, axes: Any, slice_sizes: Any, mode: str = "raise"
) -> Any:  # fmt: skip
    """Gather slices that start at given indices, as StableHLO does.

    `indices` has shape ``batch + (len(axes),)``: entry j is the start along ``axes[j]``; along
    other axes slices start at 0.  The result has shape ``batch + slice_sizes``.

    `mode` says what an index out of bounds does: "raise" (negative indices count from the end;
    others raise IndexOutOfBoundsError, for an index tensor when a result is read or at
    synchronize), "clip" (the nearest index there is, 0 for negative ones), "wrap" (the index
    modulo the extent), or "fill" (NaN, or 0 where the dtype has none; for negative ones too).

    Raises:
        IndexOutOfBoundsError: in mode "raise".
        ShapeError: if the indices do not count the axes, or slices exceed the tensor.
        DTypeError: for indices that are no integers.
        ArgumentError: for another `mode`.
        AxisError: if an axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([1.0, 2.0, 3.0, 4.0])
    >>> tw.gather(x, [[2], [0]], axes=(0,), slice_sizes=(2,)).tolist()
    [[3.0, 4.0], [1.0, 2.0]]
    """
    value = lift("gather", x)
    check_mode("gather", mode)
    places = ordered_axes("gather", axes, value.ndim)
    sizes = views.as_shape("gather", slice_sizes)
    starts, mode = start_indices("gather", value, indices, places, sizes, mode)
    return apply(GATHER, value, starts, axes=places, slice_sizes=sizes, mode=mode)


def ordered_axes(op: str, axes: Any, ndim: int) -> Shape:
    """The axes that a start counts for, in the caller's order; raises AxisError."""
    several = as_axes(op, axes)
    normalize_axes(op, several, ndim)
    return tuple(normalize_axis(op, axis, ndim) for axis in several)


def start_indices(
    op: str, x: Value, indices: Any, axes: Shape, sizes: Shape, mode: str
) -> tuple[Value, str]:
    """The starts of windows of `sizes` for the kernels, and the mode they need."""
    if isinstance(indices, Value):
        check_integers(op, indices)
        return device_indices(indices, tuple(x.shape[axis] for axis in axes), mode), mode
    array = index_array(op, indices)
    if array.ndim == 0 or array.shape[-1] != len(axes) or len(sizes) != x.ndim:
        return x.interpreter.array(array.astype(np.int64)), mode
    found = _within_int64(array, tuple(x.shape[axis] for axis in axes), mode).astype(np.int64)
    if mode == "raise":
        for column, axis in enumerate(axes):
            starts = found[..., column]
            wrapped = np.where(starts < 0, starts + x.shape[axis], starts)
            outside = (wrapped < 0) | (wrapped > x.shape[axis] - sizes[axis])
            if outside.any():
                index = int(array[..., column][outside].flat[0])
                raise IndexOutOfBoundsError(called(op), index=index, axis=axis, size=x.shape[axis])
            found[..., column] = wrapped
        mode = "clip"
    return x.interpreter.array(found), mode


def scatter_add_slices(
    x: Any, indices: Any, updates: Any, /, *, axes: Any, mode: str = "raise"
) -> Any:  # fmt: skip
    """A tensor with slices added at given indices: the transpose of `gather`.

    `updates` has shape ``batch + slice_sizes``; slices that meet accumulate, in a fixed order;
    bools by logical or.
    `mode` as in `gather`, except that "fill" drops what is out of bounds.

    Raises:
        IndexOutOfBoundsError: in mode "raise".
        ShapeError: if indices, updates and tensor do not fit together.
        DTypeError: for indices that are no integers.
        ArgumentError: for another `mode`.
        AxisError: if an axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> x, updates = tw.zeros(4), tw.asarray([[1.0, 2.0], [10.0, 20.0]])
    >>> tw.scatter_add_slices(x, [[0], [1]], updates, axes=(0,)).tolist()
    [1.0, 12.0, 20.0, 0.0]
    """
    value, added = promote("scatter_add_slices", (x, updates))
    check_mode("scatter_add_slices", mode)
    places = ordered_axes("scatter_add_slices", axes, value.ndim)
    sizes = added.shape[added.ndim - value.ndim :]
    starts, mode = start_indices("scatter_add_slices", value, indices, places, sizes, mode)
    primitive = scatter_of("add", value.dtype)
    return apply(
        primitive, value, starts, added, axes=places, mode=mode, caller="scatter_add_slices"
    )


def take(x: Any, indices: Any, /, axis: int | None = None, *, mode: str = "raise") -> Any:
    """Elements at given indices along an axis; without `axis`, of the flattened tensor.

    The result has the shape of `indices` in place of that axis.  `mode` as in `gather`.

    Raises:
        IndexOutOfBoundsError: in mode "raise", at the call for host indices.
        DTypeError: for indices that are no integers.
        ArgumentError: for another `mode`.
        AxisError: if an axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> tw.take(tw.asarray([10.0, 20.0, 30.0]), [2, 0, -1]).tolist()
    [30.0, 10.0, 30.0]
    """
    value = lift("take", x)
    check_mode("take", mode)
    if axis is None:
        value, axis = views.reshaped(value, (value.size,)), 0
    place = normalize_axis("take", axis, value.ndim)
    found, mode = prepared_indices("take", value, indices, place, mode)
    sizes = value.shape[:place] + (1,) + value.shape[place + 1 :]
    if value.shape[place] == 0:
        if found.size:
            raise IndexOutOfBoundsError(called("take"), axis=place, size=0)
        return views.reshaped(value, value.shape[:place] + found.shape + value.shape[place + 1 :])
    starts = views.reshaped(found, (*found.shape, 1))
    out = apply(GATHER, value, starts, axes=(place,), slice_sizes=sizes, mode=mode, caller="take")
    rest = value.shape[:place] + value.shape[place + 1 :]
    return _batch_to(views.reshaped(out, found.shape + rest), found.ndim, place)


def _within_int64(array: np.ndarray[Any, Any], extents: Shape, mode: str) -> np.ndarray[Any, Any]:
    """Host indices with those that int64 does not hold as `device_indices` has them."""
    if array.dtype != np.uint64:
        return array
    found: np.ndarray[Any, Any]
    if mode == "wrap":
        found = np.remainder(array, _divisors(extents))
    else:
        found = np.minimum(array, np.uint64(2**63 - 1))
    return found


def _divisors(extents: Shape) -> Any:
    """What numbers of a last axis that counts several axes, or of one axis, are divided by."""
    sizes = np.maximum(np.array(extents, np.uint64), 1)
    return sizes[0] if len(sizes) == 1 else sizes


def _batch_to(x: Value, count: int, place: int) -> Any:
    """Move the first `count` axes so that they start at `place`."""
    before = tuple(range(count, count + place))
    return views.permuted(
        x, (*before, *range(count), *range(count + place, x.ndim))
    )  # fmt: skip


def scatter_add(
    x: Any, indices: Any, updates: Any, /, *, axis: int = 0, mode: str = "raise"
) -> Any:  # fmt: skip
    """A tensor with `updates` added at given indices along an axis: the transpose of `take`.

    `updates` broadcasts to the shape of `x` with the shape of `indices` in place of the axis.
    Repeated indices accumulate, in a fixed order.  Dtypes promote; `mode` as in `gather`, except
    that "fill" drops what is out of bounds.  Bools accumulate by logical or.

    Raises:
        IndexOutOfBoundsError: in mode "raise".
        ShapeError: if the updates do not broadcast.
        DTypeError: for indices that are no integers.
        ArgumentError: for another `mode`.
        AxisError: if an axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> tw.scatter_add(tw.zeros(3), [0, 2, 0], tw.asarray([1.0, 2.0, 4.0])).tolist()
    [5.0, 0.0, 2.0]
    """
    value, added = promote("scatter_add", (x, updates))
    check_mode("scatter_add", mode)
    return scattered("scatter_add", value, indices, added, axis, mode)


def scattered(op: str, value: Value, indices: Any, added: Value, axis: int, mode: str) -> Any:
    """`scatter_add` of tensors of one dtype, under the name the caller knows it by."""
    place = normalize_axis(op, axis, value.ndim)
    found, mode = prepared_indices(op, value, indices, place, mode)
    behind = value.shape[place + 1 :]
    added = structural.broadcast_to(added, value.shape[:place] + found.shape + behind)
    if value.shape[place] == 0:
        if found.size:
            raise IndexOutOfBoundsError(called(op), axis=place, size=0)
        return value
    batch = tuple(range(place, place + found.ndim))
    rest = views.other_axes(added, *batch)
    added = views.permuted(added, batch + rest)
    added = views.reshaped(added, found.shape + value.shape[:place] + (1,) + behind)
    starts = views.reshaped(found, (*found.shape, 1))
    primitive = scatter_of("add", value.dtype)
    return apply(primitive, value, starts, added, axes=(place,), mode=mode, caller=op)


def take_along_axis(x: Any, indices: Any, /, axis: int = -1, *, mode: str = "raise") -> Any:
    """Elements picked one by one along an axis, by indices of as many axes as the tensor.

    The other axes of both broadcast.  `mode` as in `gather`.

    Raises:
        IndexOutOfBoundsError: in mode "raise".
        ShapeError: if the numbers of axes differ, or the other axes do not broadcast.
        DTypeError: for indices that are no integers.
        ArgumentError: for another `mode`.
        AxisError: if an axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> tw.take_along_axis(x, [[2], [0]], axis=1).tolist()
    [[3.0], [4.0]]
    """
    value = lift("take_along_axis", x)
    check_mode("take_along_axis", mode)
    place = normalize_axis("take_along_axis", axis, value.ndim)
    found, mode = prepared_indices("take_along_axis", value, indices, place, mode)
    if found.ndim != value.ndim:
        raise ShapeError(
            "take_along_axis",
            f"indices of shape {found.shape} need as many axes as the tensor of shape "
            f"{value.shape}",
            (value.shape, found.shape),
        )
    one = (1,)
    others = broadcast_shapes(
        "take_along_axis",
        value.shape[:place] + one + value.shape[place + 1 :],
        found.shape[:place] + one + found.shape[place + 1 :],
    )
    value = structural.broadcast_to(
        value, others[:place] + (value.shape[place],) + others[place + 1 :]
    )
    shape = others[:place] + (found.shape[place],) + others[place + 1 :]
    found = structural.broadcast_to(found, shape)
    axes = tuple(range(value.ndim))
    return picked("take_along_axis", value, coordinates(found, place), axes, mode)


def coordinates(found: Value, place: int) -> list[Any]:
    """For each axis the index of every element, `found` itself along axis `place`."""
    result: list[Any] = []
    for axis, extent in enumerate(found.shape):
        if axis == place:
            result.append(found)
            continue
        count = found.interpreter.array(np.arange(extent, dtype=found.dtype))
        result.append(structural.broadcast_in_dim(count, found.shape, (axis,)))
    return result


def picked(op: str, x: Value, indices: list[Any], axes: Shape, mode: str) -> Any:
    """Single elements along `axes` by one index tensor per axis, all of one shape and dtype.

    The result has the shape of the indices, followed by the axes that were not indexed.
    """
    shape = indices[0].shape
    starts = joining.stack(indices, axis=len(shape))
    sizes = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
    rest = tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)
    empty = [axis for axis in axes if x.shape[axis] == 0]
    if empty:
        if starts.size:
            raise IndexOutOfBoundsError(called(op), axis=empty[0], size=0)
        return views.reshaped(x, shape + rest)
    out = apply(GATHER, x, starts, axes=axes, slice_sizes=sizes, mode=mode, caller=op)
    return views.reshaped(out, shape + rest)
