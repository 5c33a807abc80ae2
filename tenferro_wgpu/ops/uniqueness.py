"""The distinct elements of a tensor: one stable sort, and a choice of each run's first element.

How many there are is read from the device (see `reading`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..dtypes import bool_, int64
from ..errors import UnsupportedOperationError
from . import choice, joining, views
from . import elementwise as arithmetic
from .calling import cast_to, lift
from .compaction import NONZERO, compressed, counts_of, total_of
from .floats import isnan
from .ordering import sorted_rows
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
    """The sorted elements of a tensor and their runs of equal ones."""

    def __init__(self, x: Value, before: Value, ordered: Value, order: Value, count: int) -> None:
        self._x = x
        self._before = before
        self._ordered = ordered
        self._order = order
        self._count = count

    def _column(self, rows: Value) -> Any:
        return views.reshaped(rows, (rows.size, 1))

    def values(self) -> Any:
        """The first element of each run."""
        found = compressed(self._column(self._ordered), self._before, self._count)
        return views.reshaped(found, (self._count,))

    def indices(self) -> Any:
        """Where each run's first element stands in the flattened tensor: its first one there."""
        found = compressed(self._column(self._order), self._before, self._count)
        return views.reshaped(found, (self._count,))

    def counts(self) -> Any:
        """The length of each run."""
        size = self._x.size
        starts = views.reshaped(
            apply(NONZERO, self._before, shape=(size,), count=self._count), (self._count,)
        )
        if not self._count:
            return starts
        later = views.part(starts, 0, 1, self._count)
        ends = joining.concatenate([later, constant_like(starts, size, shape=(1,))])
        return arithmetic.subtract(ends, starts)

    def inverse(self) -> Any:
        """The run of each element, in the shape of the tensor."""
        size = self._x.size
        if not size:
            return constant_like(self._x, 0, dtype=int64)
        runs = arithmetic.subtract(views.part(self._before, 0, 1, size + 1), 1)
        rows = views.reshaped(cast_to(runs, int64), (1, size))
        return views.reshaped(unpermuted_rows(rows, self._order), self._x.shape)


def _runs(op: str, x: Any, equal_nan: bool) -> Reading[_Runs]:
    value = lift(op, x)
    size = value.size
    ordered, order = sorted_rows(views.reshaped(value, (1, size)))
    flags = constant_like(value, True, shape=(min(size, 1),), dtype=bool_)
    if size > 1:
        line = views.reshaped(ordered, (size,))
        left = views.part(line, 0, 0, size - 1)
        right = views.part(line, 0, 1, size)
        differs = choice.not_equal(left, right)
        if equal_nan and value.dtype.kind in "fc":
            both = choice.logical_and(isnan(left), isnan(right))
            differs = choice.logical_and(differs, choice.logical_not(both))
        flags = joining.concatenate([flags, differs])
    before = counts_of(flags)
    count = yield total_of(before)
    return _Runs(value, before, ordered, order, count)


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
    return run(_runs("unique_values", x, False), "unique_values", _ASYNC).values()


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
    runs = run(_runs("unique_counts", x, False), "unique_counts", _ASYNC)
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
    runs = run(_runs("unique_inverse", x, False), "unique_inverse", _ASYNC)
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
    runs = run(_runs("unique_all", x, False), "unique_all", _ASYNC)
    return UniqueAll(runs.values(), runs.indices(), runs.inverse(), runs.counts())


def _unique(
    op: str, x: Any, index: bool, inverse: bool, counts: bool, axis: Any, equal_nan: bool
) -> Reading[Any]:
    if axis is not None:
        raise UnsupportedOperationError(
            op, hint="axis=None alone: the elements of the flattened tensor"
        )
    runs = yield from _runs(op, x, equal_nan)
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
    axis: None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements in ascending order, with what else is asked for, as NumPy's `unique`.

    With any of the three options a tuple: values, the first index of each in the flattened
    tensor, which of them each element is, and how often each occurs.  With `equal_nan` all NaN
    count as one.  The result is sorted whatever `sorted` says.

    Raises:
        UnsupportedOperationError: for an axis.
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `unique_async` can.

    >>> import tenferro_wgpu as tw
    >>> values, counts = tw.unique(tw.asarray([3.0, 1.0, 3.0]), return_counts=True)
    >>> values.tolist(), counts.tolist()
    ([1.0, 3.0], [1, 2])
    """
    del sorted
    options = (return_index, return_inverse, return_counts)
    return run(_unique("unique", x, *options, axis, equal_nan), "unique", _ASYNC)


async def unique_async(
    x: Any,
    /,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
) -> Any:
    """Like `unique`, without blocking: for browsers that cannot wait.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import asyncio, tenferro_wgpu as tw
    >>> asyncio.run(tw.unique_async(tw.asarray([3.0, 1.0, 3.0]))).tolist()
    [1.0, 3.0]
    """
    options = (return_index, return_inverse, return_counts)
    return await run_async(_unique("unique_async", x, *options, None, equal_nan))
