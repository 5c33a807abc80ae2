"""What the parts of an index select, axis by axis: shared by reading and by changed copies.

Slices, integers and new axes become one strided view; index arrays and masks then act on axes of
that view.  A mask indexes one axis, into which the view merges those that it has.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..dtypes import bool_, int64
from ..errors import (
    ArgumentError,
    AxisError,
    DTypeError,
    IndexOutOfBoundsError,
    IndexShapeError,
    IndexTypeError,
    ShapeError,
)
from ..naming import called
from . import choice, joining, structural, views
from .calling import broadcast_shapes, cast_to
from .indexing import host_array, index_array, picked, prepared_indices
from .joining import PAD
from .masks import Mask
from .primitive import Primitive
from .reading import Reading
from .value import Value, apply, constant_like

__all__ = ["Selection", "fitted", "parse_key"]

Shape = tuple[int, ...]


def parse_key(op: str, x: Value, key: Any) -> Selection:
    """What ``x[key]`` selects; raises for an index that does not fit `x`."""
    items = [_part(op, x, item) for item in (key if isinstance(key, tuple) else (key,))]
    arrays = any(isinstance(item, (Value, np.ndarray, Mask)) for item in items)
    selection = Selection(op, x, arrays)
    for item in _expand_ellipsis(op, items, x.ndim):
        selection.add(item)
    return selection


def fitted(op: str, new: Value, shape: tuple[int, ...]) -> Any:
    """Values of the shape of what they replace; raises ShapeError naming the method."""
    if broadcast_shapes(op, new.shape, shape) != shape:
        raise ShapeError(
            op, f"values of shape {new.shape} do not broadcast to {shape}", (new.shape, shape)
        )
    return structural.broadcast_to(new, shape)


def _part(op: str, x: Value, item: Any) -> Any:
    """A part of a key with lists, and tuples inside a tuple, as arrays, and masks as `Mask`."""
    if isinstance(item, (list, tuple, range)):
        nested = list(item)
        item = (
            joining.stack_nested(op, nested)
            if joining.holds_tensor(nested)
            else host_array(op, nested)
        )
        if isinstance(item, np.ndarray) and item.dtype != np.bool_:
            item = index_array(op, item)
    if isinstance(item, (bool, np.bool_)) or getattr(item, "dtype", None) == np.bool_:
        return Mask(x, item)
    return item


def _expand_ellipsis(op: str, items: list[Any], ndim: int) -> list[Any]:
    consumed = 0
    for item in items:
        if isinstance(item, Mask):
            consumed += len(item.shape)
        elif item is not None and item is not Ellipsis:
            consumed += 1
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
        #: Extents after slicing; integers are dropped, None is inserted, a mask's axes are one.
        self._shape: list[int] = []
        #: Index arrays and masks: (axis of the result of slicing, axis of x, which, run of
        #: neighbours).
        self._advanced: list[tuple[int, int, Any, int]] = []
        self._run = 0

    # -- parsing ----------------------------------------------------------------------------------

    def add(self, item: Any) -> None:
        """Take the next part of the key."""
        if item is None or item is Ellipsis:
            self._run += 1
            if item is None:
                self._shape.append(1)
            return
        axis = len(self._starts)
        if isinstance(item, Mask):
            self._add_mask(item, axis)
            return
        extent = self._x.shape[axis]
        if isinstance(item, slice):
            self._run += 1
            self._add_slice(item, axis, extent)
        elif isinstance(item, (Value, np.ndarray)):
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
        self._advanced.append((len(self._shape), axis, item, self._run))
        self._take_all(extent)
        self._shape.append(extent)

    def _add_mask(self, mask: Mask, axis: int) -> None:
        mask.check(self._op, axis)
        extents = self._x.shape[axis : axis + len(mask.shape)]
        chosen: Any = mask
        if mask.shape != extents:
            # An extent of 0 fits every axis; such a mask chooses nothing.
            chosen = np.zeros(0, np.int64)
        self._advanced.append((len(self._shape), axis, chosen, self._run))
        for extent in extents:
            self._take_all(extent)
        self._shape.append(math.prod(extents))

    def _add_integer(self, item: Any, axis: int, extent: int) -> None:
        try:
            index = operator.index(item)
        except TypeError:
            raise IndexTypeError(
                self._op, f"indices are integers, slices, None, ... or arrays, got {item!r}"
            ) from None
        if not -extent <= index < extent:
            raise IndexOutOfBoundsError(called(self._op), index=index, axis=axis, size=extent)
        if self._arrays:
            # Among index arrays NumPy treats an integer as one of them.
            self._add_array(np.asarray(index), axis, extent)
            return
        index %= extent
        self._starts.append(index)
        self._stops.append(index + 1)
        self._steps.append(1)

    # -- what is known ----------------------------------------------------------------------------

    @property
    def is_advanced(self) -> bool:
        """Whether an index array or a mask takes part."""
        return bool(self._advanced)

    @property
    def mask(self) -> Mask | None:
        """The mask of a key that has one and no index arrays."""
        if len(self._advanced) == 1 and isinstance(self._advanced[0][2], Mask):
            return self._advanced[0][2]
        return None

    def counting(self) -> Reading[None]:
        """A program that counts what each mask chooses."""
        for _, _, item, _ in self._advanced:
            if isinstance(item, Mask):
                yield from item.counting()

    @property
    def shape(self) -> Shape:
        """Shape of the sliced tensor, on which index arrays and masks act."""
        return tuple(self._shape)

    @property
    def place(self) -> int:
        """The axis of the sliced tensor that the first index array or mask indexes."""
        return self._advanced[0][0]

    # -- selecting --------------------------------------------------------------------------------

    def sliced(self) -> Any:
        """The tensor after slices, integers and new axes."""
        x = views.sliced(
            self._x, tuple(self._starts), tuple(self._stops), tuple(self._steps)
        )  # fmt: skip
        if self._flipped:
            x = apply(views.FLIP, x, axes=tuple(self._flipped))
        return views.reshaped(x, self.shape)

    def result(self) -> Any:
        """The selected elements; masks have been counted."""
        x = self.sliced()
        if not self._advanced:
            return x
        mask = self.mask
        if mask is not None:
            return mask.chosen(x, self.place)
        axes, found, mode = self._indices(x)
        out = picked(self._op, x, found, axes, mode)
        before = self._behind(axes)
        count = found[0].ndim
        if before is None:
            return out
        return views.permuted(
            out,
            (*range(count, count + before), *range(count), *range(count + before, out.ndim)),
        )

    def _indices(self, x: Value) -> tuple[Shape, list[Any], str]:
        """The indexed axes, one index tensor for each, of one shape and dtype, and the mode."""
        axes = tuple(place for place, _, _, _ in self._advanced)
        prepared = [
            prepared_indices(
                self._op, x, item.positions() if isinstance(item, Mask) else item, place, "raise"
            )
            for place, _, item, _ in self._advanced
        ]
        mode = "raise" if any(mode == "raise" for _, mode in prepared) else "clip"
        found = [indices for indices, _ in prepared]
        dtype = found[0].dtype
        if any(one.dtype is not dtype for one in found):
            found = [cast_to(one, int64) for one in found]
        shapes = [one.shape for one in found]
        try:
            shape = broadcast_shapes(self._op, *shapes)
        except ShapeError:
            raise IndexShapeError(self._op, shapes) from None
        return axes, [structural.broadcast_to(one, shape) for one in found], mode

    def _behind(self, axes: Shape) -> int | None:
        """Axes in front of the index arrays'; None if those are separated and come first."""
        runs = {run for _, _, _, run in self._advanced}
        return axes[0] if len(runs) == 1 else None

    # -- changing ---------------------------------------------------------------------------------

    def scattered(self, primitive: Primitive, v: Value) -> Any:
        """The sliced tensor with `v`, which broadcasts, scattered by index arrays."""
        x = self.sliced()
        axes, found, mode = self._indices(x)
        batch = found[0].shape
        rest = tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)
        before = self._behind(axes) or 0
        count = len(batch)
        v = fitted(self._op, v, rest[:before] + batch + rest[before:])
        v = views.permuted(
            v, (*range(before, before + count), *range(before), *range(before + count, v.ndim))
        )
        empty = [axis for axis in axes if x.shape[axis] == 0]
        if empty:
            if found[0].size:
                raise IndexOutOfBoundsError(called(self._op), axis=empty[0], size=0)
            return x
        sizes = tuple(1 if axis in axes else extent for axis, extent in enumerate(x.shape))
        starts = joining.stack(found, axis=count)
        return apply(
            primitive, x, starts, views.reshaped(v, batch + sizes), axes=axes, mode=mode,
            caller=self._op,
        )  # fmt: skip

    def restored(self, changed: Value) -> Any:
        """The whole tensor with the sliced one in its place."""
        x = self._x
        if changed.size == x.size and not self._flipped:
            return views.reshaped(changed, x.shape)
        inside = constant_like(x, True, shape=self.shape, dtype=bool_)
        return choice.where(self.placed(inside), self.placed(changed), x)

    def placed(self, v: Value) -> Any:
        """The transpose of slicing: `v` where it selects, 0 elsewhere."""
        extents = self._x.shape
        counts = tuple(
            -(-(stop - start) // step)
            for start, stop, step in zip(self._starts, self._stops, self._steps, strict=True)
        )
        v = views.reshaped(v, counts)
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
