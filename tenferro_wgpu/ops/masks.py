"""Boolean masks as indices: how many elements they choose, and what they choose.

A mask on the host is counted there.  One on the device is counted there too, and the count, a
single number, is read when the shape of a result needs it: once per mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import MaskShapeError
from . import structural, views
from .compaction import NONZERO, compressed, counts_of, expanded, total_of
from .reading import Reading
from .value import Value, apply

__all__ = ["Mask"]

Shape = tuple[int, ...]


class Mask:
    """A mask in the key of an index; it indexes as many axes as it has."""

    __slots__ = ("_before", "_count", "_flags", "_host", "_x", "shape")

    def __init__(self, x: Value, mask: Any) -> None:
        self._x = x
        self._host: np.ndarray[Any, Any] | None = None
        self._flags: Value | None = mask if isinstance(mask, Value) else None
        if self._flags is None:
            self._host = np.asarray(mask)
        self._before: Value | None = None
        self._count: int | None = None if self._host is None else int(np.count_nonzero(self._host))
        self.shape: Shape = tuple(mask.shape) if self._host is None else self._host.shape

    def check(self, op: str, axis: int) -> None:
        """Raise MaskShapeError if the axes of the tensor from `axis` on are not the mask's.

        As in NumPy an extent of 0 of the mask fits every axis.
        """
        shape = self._x.shape
        extents = shape[axis : axis + len(self.shape)]
        if any(n not in (0, m) for n, m in zip(self.shape, extents, strict=True)):
            raise MaskShapeError(op, self.shape, shape, axis)

    @property
    def extent(self) -> int:
        """Elements of the mask: the extent of the axes that it indexes, made one."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def flags(self) -> Value:
        """The mask as a vector of bools on the device."""
        if self._flags is None:
            assert self._host is not None, "a mask is on the host or on the device"
            self._flags = self._x.interpreter.array(self._host)
        flags: Value = views.reshaped(self._flags, (self.extent,))
        return flags

    @property
    def before(self) -> Value:
        """How many elements are chosen before each one, and in all."""
        if self._before is None:
            self._before = counts_of(self.flags)
        return self._before

    @property
    def counted(self) -> bool:
        """Whether the number of chosen elements is known."""
        return self._count is not None

    @property
    def count(self) -> int:
        """The number of chosen elements, which must be known."""
        assert self._count is not None, "whoever parses a key counts its masks first"
        return self._count

    def counting(self) -> Reading[None]:
        """A program that finds out how many elements are chosen."""
        if self._count is None:
            self._count = yield total_of(self.before)

    def positions(self) -> Any:
        """Where the mask is true, counted in C order: an index for the axes made one."""
        if self._host is not None:
            return np.flatnonzero(self._host)
        found = apply(NONZERO, self.before, shape=(self.extent,), count=self.count)
        return views.reshaped(found, (self.count,))

    def chosen(self, x: Value, place: int) -> Any:
        """The chosen elements along one axis of `x`, which stands for the mask's axes."""
        matrix = views.as_matrix(x, (place,), views.other_axes(x, place))
        return _rows_along(compressed(matrix, self.before, self.count), x, place)

    def spread(self, values: Value, place: int) -> Any:
        """Values put where they were chosen from along an axis, zeros elsewhere."""
        matrix = views.as_matrix(values, (place,), views.other_axes(values, place))
        return _rows_along(expanded(matrix, self.before), values, place)

    def along(self, shape: Shape, place: int) -> Any:
        """The mask along one axis of `shape`, repeated along the others."""
        return structural.broadcast_in_dim(self.flags, shape, (place,))


def _rows_along(matrix: Value, like: Value, place: int) -> Any:
    """The rows of a matrix along an axis of `like`, whose other axes are its columns."""
    others = views.other_axes(like, place)
    x = views.reshaped(matrix, (matrix.shape[0], *(like.shape[axis] for axis in others)))
    return views.permuted(x, views.inverse_permutation((place, *others)))
