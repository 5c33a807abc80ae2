"""``x[key]``: integers, slices, None, Ellipsis and integer index arrays, as in NumPy.

Everything but index arrays is a view.  Called by the operators of every tensor class.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    IndexOutOfBoundsError,
    UnsupportedOperationError,
)
from . import structural, views
from .calling import broadcast_shapes, cast_to, lift
from .indexing import host_array, index_array, picked, prepared_indices
from .joining import PAD
from .value import Value, apply, constant_like

__all__ = ["getitem"]


def getitem(x: Any, key: Any, /) -> Any:
    """Select elements of a tensor as ``x[key]`` does.

    `key` is an integer, a slice with any step, None, Ellipsis, an integer tensor, list or
    ndarray, or a tuple of these.  Host indices are checked at the call.

    Raises:
        IndexOutOfBoundsError: for an index outside its axis.
        AxisError: for more indices than axes.
        UnsupportedOperationError: for boolean masks.
        DTypeError: for anything else in a key.
        ArgumentError: for a step of 0.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> tw.getitem(x, (slice(None), slice(None, None, -2))).tolist()
    [[3.0, 1.0], [6.0, 4.0]]
    """
    return parse_key("getitem", lift("getitem", x), key).result()


def parse_key(op: str, x: Value, key: Any) -> Selection:
    """What ``x[key]`` selects; raises for an index that does not fit `x`."""
    items = list(key) if isinstance(key, tuple) else [key]
    # A tuple inside the key is an index array, as in NumPy.
    items = [list(item) if isinstance(item, tuple) else item for item in items]
    arrays = any(isinstance(item, (Value, list, np.ndarray)) for item in items)
    selection = Selection(op, x, arrays)
    for item in _expand_ellipsis(op, items, x.ndim):
        selection.add(item)
    return selection


def _expand_ellipsis(op: str, items: list[Any], ndim: int) -> list[Any]:
    consumed = sum(1 for item in items if item is not None and item is not Ellipsis)
    if consumed > ndim:
        raise AxisError(op, f"{consumed} indices for a tensor of {ndim} axes", ndim=ndim)
    dots = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise AxisError(op, "an index can have only one ellipsis", ndim=ndim)
    place = dots[0] if dots else len(items)
    # Kept in the list: an ellipsis separates index arrays even where it stands for no axis.
    return [*items[:place], Ellipsis, *[slice(None)] * (ndim - consumed), *items[place + 1 :]]


class Selection:
    """What the parts of a key select, axis by axis."""

    def __init__(self, op: str, x: Value, arrays: bool) -> None:
        self._op = op
        self._x = x
        self._arrays = arrays
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._steps: list[int] = []
        self._flipped: list[int] = []
        #: Extents after slicing; integers are dropped, None is inserted.
        self._shape: list[int] = []
        #: Index arrays: (axis of the result of slicing, axis of x, indices, run of neighbours).
        self._advanced: list[tuple[int, int, Any, int]] = []
        self._run = 0

    def add(self, item: Any) -> None:
        """Take the next part of the key."""
        if item is None or item is Ellipsis:
            self._run += 1
            if item is None:
                self._shape.append(1)
            return
        axis = len(self._starts)
        extent = self._x.shape[axis]
        if isinstance(item, slice):
            self._run += 1
            self._add_slice(item, axis, extent)
        elif isinstance(item, (bool, np.bool_)) or getattr(item, "dtype", None) == np.bool_:
            raise UnsupportedOperationError(
                self._op, dtype="bool", hint="a mask's result depends on values; use where(...)"
            )
        elif isinstance(item, (Value, list, np.ndarray)):
            self._add_array(item, axis, extent)
        else:
            self._add_integer(item, axis, extent)

    def _take_all(self, extent: int) -> None:
        self._starts.append(0)
        self._stops.append(extent)
        self._steps.append(1)

    def _add_slice(self, item: slice, axis: int, extent: int) -> None:
        try:
            picked_range = range(*item.indices(extent))
        except ValueError as error:
            raise ArgumentError(self._op, str(error)) from None
        except TypeError:
            raise DTypeError(self._op, f"slices are of integers, got {item!r}") from None
        count = len(picked_range)
        if picked_range.step < 0:
            if count > 1:
                self._flipped.append(axis)
            picked_range = picked_range[::-1]
        self._starts.append(picked_range[0] if count else 0)
        self._stops.append(picked_range[-1] + 1 if count else 0)
        self._steps.append(picked_range.step if count > 1 else 1)
        self._shape.append(count)

    def _add_array(self, item: Any, axis: int, extent: int) -> None:
        if isinstance(item, list):
            item = host_array(self._op, item)
            if item.dtype == np.bool_:
                self.add(item)
                return
            item = index_array(self._op, item)
        self._advanced.append((len(self._shape), axis, item, self._run))
        self._take_all(extent)
        self._shape.append(extent)

    def _add_integer(self, item: Any, axis: int, extent: int) -> None:
        try:
            index = operator.index(item)
        except TypeError:
            raise DTypeError(
                self._op, f"indices are integers, slices, None, ... or arrays, got {item!r}"
            ) from None
        if not -extent <= index < extent:
            raise IndexOutOfBoundsError(self._op, index=index, axis=axis, size=extent)
        if self._arrays:
            # Among index arrays NumPy treats an integer as one of them.
            self._add_array(np.asarray(index), axis, extent)
            return
        index %= extent
        self._starts.append(index)
        self._stops.append(index + 1)
        self._steps.append(1)

    def result(self) -> Any:
        """The selected elements."""
        x = views.sliced(
            self._x, tuple(self._starts), tuple(self._stops), tuple(self._steps)
        )  # fmt: skip
        if self._flipped:
            x = apply(views.FLIP, x, axes=tuple(self._flipped))
        x = views.reshaped(x, tuple(self._shape))
        return self._gathered(x) if self._advanced else x

    @property
    def is_advanced(self) -> bool:
        """Whether an index array takes part."""
        return bool(self._advanced)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result of a selection without index arrays."""
        return tuple(self._shape)

    def placed(self, v: Value) -> Any:
        """The transpose of a selection without index arrays: `v` where it selects, 0 elsewhere."""
        extents = self._x.shape
        counts = tuple(
            -(-(stop - start) // step)
            for start, stop, step in zip(self._starts, self._stops, self._steps, strict=True)
        )
        v = views.reshaped(v, counts)
        if 0 in counts:
            return constant_like(v, 0, shape=extents)
        if self._flipped:
            v = apply(views.FLIP, v, axes=tuple(self._flipped))
        return apply(
            PAD,
            v,
            constant_like(v, 0, shape=()),
            low=tuple(self._starts),
            high=tuple(n - stop for n, stop in zip(extents, self._stops, strict=True)),
            interior=tuple(step - 1 for step in self._steps),
        )

    def _gathered(self, x: Value) -> Any:
        axes = tuple(place for place, _, _, _ in self._advanced)
        prepared = [
            prepared_indices(self._op, x, item, place, "raise")
            for place, _, item, _ in self._advanced
        ]
        mode = "raise" if any(mode == "raise" for _, mode in prepared) else "clip"
        found = [indices for indices, _ in prepared]
        dtype = found[0].dtype
        if any(one.dtype is not dtype for one in found):
            found = [cast_to(one, np.dtype(np.int64)) for one in found]
        shape = broadcast_shapes(self._op, *(one.shape for one in found))
        found = [structural.broadcast_to(one, shape) for one in found]
        out = picked(x, found, axes, mode)
        runs = {run for _, _, _, run in self._advanced}
        if len(runs) > 1:
            return out
        place, count = axes[0], len(shape)
        return views.permuted(
            out, (*range(count, count + place), *range(count), *range(count + place, out.ndim))
        )
