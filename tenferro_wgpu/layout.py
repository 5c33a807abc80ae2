"""How a tensor's elements lie in its buffer: shape, signed strides and offset, in elements.

Pure arithmetic shared by every layer.  View operations of the library are functions from one
layout to another; they move no data.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

from .errors import ShapeError

__all__ = ["MOST_AXES", "Layout", "contiguous_layout"]

#: Axes of a tensor: as many as of a NumPy array, so that every tensor can be read.
MOST_AXES = 64


class Layout:
    """Shape, strides and offset of a strided tensor, all counted in elements.

    Strides are signed; a stride of 0 repeats an element.  Layouts are immutable and hashable.

    Raises ShapeError for more than `MOST_AXES` axes.
    """

    __slots__ = ("_hash", "is_contiguous", "ndim", "offset", "shape", "size", "strides")

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    size: int
    ndim: int
    is_contiguous: bool

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> None:
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.ndim = len(shape)
        if self.ndim > MOST_AXES:
            raise ShapeError("shape", f"{self.ndim} axes, of at most {MOST_AXES}", (shape,))
        self.size = prod(shape)
        self.is_contiguous = _is_contiguous(shape, strides)
        self._hash = hash((shape, strides, offset))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Layout)
            and self._hash == other._hash
            and self.shape == other.shape
            and self.strides == other.strides
            and self.offset == other.offset
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Layout(shape={self.shape}, strides={self.strides}, offset={self.offset})"

    def transpose(self, permutation: Sequence[int]) -> Layout:
        """Axes in the order of `permutation`."""
        return Layout(
            tuple(self.shape[axis] for axis in permutation),
            tuple(self.strides[axis] for axis in permutation),
            self.offset,
        )

    def broadcast_in_dim(self, shape: tuple[int, ...], axes: Sequence[int]) -> Layout:
        """Axis i of this layout becomes axis ``axes[i]`` of `shape`; extent 1 repeats."""
        strides = [0] * len(shape)
        for axis, extent, stride in zip(axes, self.shape, self.strides, strict=True):
            if extent == shape[axis]:
                strides[axis] = stride
        return Layout(shape, tuple(strides), self.offset)

    def slice(self, starts: Sequence[int], stops: Sequence[int], steps: Sequence[int]) -> Layout:
        """Positive-step slices of every axis (0 <= start <= stop <= extent)."""
        shape = tuple(
            max(0, -(-(stop - start) // step))
            for start, stop, step in zip(starts, stops, steps, strict=True)
        )
        offset = self.offset + sum(
            start * stride for start, stride in zip(starts, self.strides, strict=True)
        )
        strides = tuple(step * stride for step, stride in zip(steps, self.strides, strict=True))
        return Layout(shape, strides, offset if prod(shape) else self.offset)

    def flip(self, axes: Sequence[int]) -> Layout:
        """Reverse the given axes."""
        strides = list(self.strides)
        offset = self.offset
        for axis in axes:
            if self.shape[axis] > 0:
                offset += (self.shape[axis] - 1) * strides[axis]
            strides[axis] = -strides[axis]
        return Layout(self.shape, tuple(strides), offset)

    def diagonal(self, offset: int, rows: int, columns: int) -> Layout:
        """The elements of two axes whose column is their row + `offset`, as the last axis."""
        row, column = max(0, -offset), max(0, offset)
        count = max(0, min(self.shape[rows] - row, self.shape[columns] - column))
        kept = [axis for axis in range(self.ndim) if axis not in (rows, columns)]
        start = row * self.strides[rows] + column * self.strides[columns]
        return Layout(
            (*(self.shape[axis] for axis in kept), count),
            (
                *(self.strides[axis] for axis in kept),
                self.strides[rows] + self.strides[columns],
            ),
            self.offset + (start if count else 0),
        )

    def reshape(self, shape: tuple[int, ...]) -> Layout | None:
        """The same elements in C order under another shape, or None if that needs a copy."""
        if shape == self.shape:
            return self
        if self.size == 0:
            return Layout(shape, contiguous_strides(shape), self.offset)
        if self.is_contiguous:
            return Layout(shape, contiguous_strides(shape), self.offset)
        strides = _reshape_strides(self.shape, self.strides, shape)
        return None if strides is None else Layout(shape, strides, self.offset)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """C-order strides of `shape`, in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


@lru_cache(maxsize=4096)
def contiguous_layout(shape: tuple[int, ...]) -> Layout:
    """The C-order layout of `shape` at offset 0 (cached: results of operations all use it)."""
    return Layout(shape, contiguous_strides(shape), 0)


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent == 0:
            return True
        if extent != 1:
            if stride != expected:
                return False
            expected *= extent
    return True


def _reshape_strides(
    old_shape: tuple[int, ...], old_strides: tuple[int, ...], new_shape: tuple[int, ...]
) -> tuple[int, ...] | None:
    """NumPy's no-copy reshape: split and merge groups of axes of equal element count."""
    pairs = [(n, s) for n, s in zip(old_shape, old_strides, strict=True) if n != 1]
    strides: list[int] = []
    new_axis = 0
    old_axis = 0
    while old_axis < len(pairs):
        old_count = pairs[old_axis][0]
        old_end = old_axis + 1
        new_count = new_shape[new_axis]
        new_end = new_axis + 1
        while old_count != new_count:
            if old_count < new_count:
                old_count *= pairs[old_end][0]
                old_end += 1
            else:
                new_count *= new_shape[new_end]
                new_end += 1
        for axis in range(old_axis, old_end - 1):
            if pairs[axis][1] != pairs[axis + 1][0] * pairs[axis + 1][1]:
                return None
        group = [0] * (new_end - new_axis)
        group[-1] = pairs[old_end - 1][1]
        for position in range(len(group) - 2, -1, -1):
            group[position] = group[position + 1] * new_shape[new_axis + position + 1]
        strides.extend(group)
        old_axis, new_axis = old_end, new_end
    while new_axis < len(new_shape):
        strides.append(1)
        new_axis += 1
    return tuple(strides)
