"""The distinct elements or slices of a tensor: stable sorts, and the first of each run.

How many there are is read from the device (see `reading`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import bool_, int64
from . import choice, indexing, joining, structural, truth, views
from . import elementwise as arithmetic
from .calling import cast_to, check_flag, lift, normalize_axis
from .compaction import NONZERO, compressed, counts_of, total_of
from .floats import isnan
from .ordering import sorted_rows, sorted_values
from .permuting import unpermuted_rows
from .reading import Reading, run, run_async
from .value import Value, apply, constant_like

__all__ = [
    "unique",
    "unique_all",
    "unique_async",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAll(NamedTuple):
    """Distinct elements, where each is first, which of them each element is, and how often."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """Distinct elements and how often each occurs."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """Distinct elements and, for each element, which of them it is."""

    values: Any
    inverse_indices: Any


class _Runs:
    """The sorted rows of a matrix and their runs of equal ones."""

    def __init__(self, before: Value, ordered: Value, order: Value, count: int) -> None:
        self._before = before
        self._ordered = ordered
        self._order = order
        self._count = count

    def values(self) -> Any:
        """The first row of each run."""
        return compressed(self._ordered, self._before, self._count)

    def indices(self) -> Any:
        """Where each run's first row stands in the matrix: its first one there."""
        column = views.reshaped(self._order, (self._order.size, 1))
        found = compressed(column, self._before, self._count)
        return views.reshaped(found, (self._count,))

    def counts(self) -> Any:
        """The length of each run."""
        size = self._order.size
        starts = views.reshaped(
            apply(NONZERO, self._before, shape=(size,), count=self._count), (self._count,)
        )
        if not self._count:
            return starts
        later = views.part(starts, 0, 1, self._count)
        ends = joining.concatenate([later, constant_like(starts, size, shape=(1,))])
        return arithmetic.subtract(ends, starts)

    def inverse(self) -> Any:
        """The run of each row of the matrix."""
        size = self._order.size
        if not size:
            return constant_like(self._order, 0, shape=(0,), dtype=int64)
        runs = arithmetic.subtract(views.part(self._before, 0, 1, size + 1), 1)
        rows = views.reshaped(cast_to(runs, int64), (1, size))
        return views.reshaped(unpermuted_rows(rows, self._order), (size,))


class _Elements(_Runs):
    """The distinct elements of a tensor: runs of a matrix with one column."""

    shape: tuple[int, ...]

    def values(self) -> Any:
        """The first element of each run."""
        found = super().values()
        return views.reshaped(found, (found.size,))

    def inverse(self) -> Any:
        """The run of each element, in the shape of the tensor."""
        return views.reshaped(super().inverse(), self.shape)


class _Slices(_Runs):
    """The distinct slices of a tensor along an axis: runs of a matrix with a row for each."""

    place: int
    rest: tuple[int, ...]

    def values(self) -> Any:
        """The first slice of each run."""
        found = super().values()
        return structural.moveaxis(
            views.reshaped(found, (found.shape[0], *self.rest)), 0, self.place
        )


def _before(ordered: Value, equal_nan: bool) -> Any:
    """How many runs begin before each row of a sorted matrix, and in all."""
    size, columns = ordered.shape
    flags = constant_like(ordered, True, shape=(min(size, 1),), dtype=bool_)
    if size > 1:
        left = views.part(ordered, 0, 0, size - 1)
        right = views.part(ordered, 0, 1, size)
        differs = choice.not_equal(left, right)
        if equal_nan and ordered.dtype.kind in "fc":
            both = choice.logical_and(isnan(left), isnan(right))
            differs = choice.logical_and(differs, choice.logical_not(both))
        if columns == 1:
            differs = views.reshaped(differs, (size - 1,))
        else:
            differs = truth.any(differs, axis=1)
        flags = joining.concatenate([flags, differs])
    return counts_of(flags)


def _in_order(matrix: Value) -> tuple[Any, Any]:
    """The sorted elements, and their number in place of the order, which nobody asks for."""
    return sorted_values(matrix), matrix


def _elements(
    value: Value, equal_nan: bool, ordering: Callable[[Value], tuple[Any, Any]] = sorted_rows
) -> Reading[_Elements]:
    size = value.size
    ordered, order = ordering(views.reshaped(value, (1, size)))
    column = views.reshaped(ordered, (size, 1))
    before = _before(column, equal_nan)
    count = yield total_of(before)
    found = _Elements(before, column, order, count)
    found.shape = value.shape
    return found


def _slices(value: Value, place: int) -> Reading[_Slices]:
    """As NumPy's, slices with a NaN are all distinct."""
    moved = structural.moveaxis(value, place, 0)
    size, rest = moved.shape[0], moved.shape[1:]
    columns = math.prod(rest)
    matrix = views.reshaped(moved, (size, columns))
    order: Any = value.interpreter.array(np.arange(size))
    # By the last column first: every sort is stable.
    for column in reversed(range(columns if size else 0)):
        line = views.reshaped(views.part(matrix, 1, column, column + 1), (size,))
        keys = views.reshaped(indexing.take(line, order, mode="clip"), (1, size))
        _, moves = sorted_rows(keys)
        order = indexing.take(order, views.reshaped(moves, (size,)), mode="clip")
    ordered = indexing.take(matrix, order, axis=0, mode="clip")
    before = _before(ordered, False)
    count = yield total_of(before)
    found = _Slices(before, ordered, views.reshaped(order, (1, size)), count)
    found.place, found.rest = place, rest
    return found


_ASYNC = "unique_async"


def unique_values(x: Any, /) -> Any:
    """The distinct elements of a tensor in ascending order; every NaN is distinct.

    The number of distinct elements is read from the device.  Any dtype; the derivative goes to
    the first of equal elements.

    Raises:
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `unique_async` can.

    >>> import tenferro_wgpu as tw
    >>> tw.unique_values(tw.asarray([3.0, 1.0, 3.0])).tolist()
    [1.0, 3.0]
    """
    return run(
        _elements(lift("unique_values", x), False, _in_order), "unique_values", _ASYNC
    ).values()


def unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct elements, as `unique_values`, and how often each occurs, as int64.

    Raises:
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `unique_async` can.

    >>> import tenferro_wgpu as tw
    >>> values, counts = tw.unique_counts(tw.asarray([3.0, 1.0, 3.0]))
    >>> values.tolist(), counts.tolist()
    ([1.0, 3.0], [1, 2])
    """
    runs = run(_elements(lift("unique_counts", x), False, _in_order), "unique_counts", _ASYNC)
    return UniqueCounts(runs.values(), runs.counts())


def unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct elements, as `unique_values`, and which of them each element of `x` is.

    The second has the shape of `x`, as int64: ``take(values, inverse_indices)`` is `x`.

    Raises:
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `unique_async` can.

    >>> import tenferro_wgpu as tw
    >>> values, inverse = tw.unique_inverse(tw.asarray([3.0, 1.0, 3.0]))
    >>> inverse.tolist()
    [1, 0, 1]
    """
    runs = run(_elements(lift("unique_inverse", x), False), "unique_inverse", _ASYNC)
    return UniqueInverse(runs.values(), runs.inverse())


def unique_all(x: Any, /) -> UniqueAll:
    """The distinct elements, their first places in the flattened tensor, the inverse, the counts.

    Raises:
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `unique_async` can.

    >>> import tenferro_wgpu as tw
    >>> found = tw.unique_all(tw.asarray([3.0, 1.0, 3.0]))
    >>> found.indices.tolist(), found.counts.tolist()
    ([1, 0], [1, 2])
    """
    runs = run(_elements(lift("unique_all", x), False), "unique_all", _ASYNC)
    return UniqueAll(runs.values(), runs.indices(), runs.inverse(), runs.counts())


def _unique(
    op: str, x: Any, index: bool, inverse: bool, counts: bool, axis: Any, equal_nan: bool
) -> Reading[Any]:
    value = lift(op, x)
    place = None if axis is None else normalize_axis(op, axis, value.ndim)
    runs: _Runs
    if place is None or value.ndim == 1:
        runs = yield from _elements(value, equal_nan)
    else:
        runs = yield from _slices(value, place)
    found = [runs.values()]
    if index:
        found.append(runs.indices())
    if inverse:
        found.append(runs.inverse())
    if counts:
        found.append(runs.counts())
    return found[0] if len(found) == 1 else tuple(found)


def unique(
    x: Any,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements in ascending order, with what else is asked for, as NumPy's `unique`.

    With any of the three options a tuple: values, the first index of each in the flattened
    tensor, which of them each element is, and how often each occurs.  With `equal_nan` all NaN
    count as one.  The result is sorted whatever `sorted` says.

    With an `axis` the distinct slices along it, ordered by their first elements, then the second
    ones and so on; slices with a NaN are all distinct.  Time grows with the length of a slice: its
    places are sorted one after another.

    Raises:
        AxisError: if the axis does not exist.
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `unique_async` can.

    >>> import tenferro_wgpu as tw
    >>> values, counts = tw.unique(tw.asarray([3.0, 1.0, 3.0]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1.0, 3.0], [1, 2])
    """
    check_flag("unique", "return_index", return_index)
    check_flag("unique", "return_inverse", return_inverse)
    check_flag("unique", "return_counts", return_counts)
    check_flag("unique", "equal_nan", equal_nan)
    check_flag("unique", "sorted", sorted)
    del sorted
    options = (return_index, return_inverse, return_counts)
    return run(_unique("unique", x, *options, axis, equal_nan), "unique", _ASYNC)


async def unique_async(
    x: Any,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """Like `unique`, without blocking: for browsers that cannot wait.

    Raises:
        AxisError: if the axis does not exist.
        DTypeError: for ndarrays and lists.

    >>> import asyncio, tenferro_wgpu as tw
    >>> asyncio.run(tw.unique_async(tw.asarray([3.0, 1.0, 3.0]))).tolist()
    [1.0, 3.0]
    """
    check_flag("unique_async", "return_index", return_index)
    check_flag("unique_async", "return_inverse", return_inverse)
    check_flag("unique_async", "return_counts", return_counts)
    check_flag("unique_async", "equal_nan", equal_nan)
    options = (return_index, return_inverse, return_counts)
    return await run_async(_unique("unique_async", x, *options, axis, equal_nan))
