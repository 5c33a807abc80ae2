"""Sets of elements: union, intersection and differences, each by one sort and one choice.

How many elements there are is read from the device (see `reading`).
"""

from __future__ import annotations

from typing import Any

from ..dtypes import bool_
from . import choice, joining, views
from .calling import check_flag, promote
from .compaction import compressed, counts_of, total_of
from .floats import isnan
from .indexing import take
from .membership import isin
from .ordering import searchsorted, sorted_rows
from .reading import Reading, run, run_async
from .value import Value, constant_like

__all__ = [
    "intersect1d", "intersect1d_async", "setdiff1d", "setdiff1d_async", "setxor1d",
    "setxor1d_async", "union1d", "union1d_async",
]  # fmt: skip


def _line(x: Value) -> Any:
    return views.reshaped(x, (x.size,))


def _operands(op: str, x: Any, y: Any) -> tuple[Value, Value]:
    first, second = promote(op, (x, y))
    return _line(first), _line(second)


def _in_order(x: Value) -> tuple[Any, Any]:
    """The elements of a vector in order, and the order."""
    ordered, order = sorted_rows(views.reshaped(x, (1, x.size)))
    return _line(ordered), _line(order)


def _begins(ordered: Value, besides: Any = None) -> Any:
    """Where runs of equal elements begin in sorted ones, all NaN being equal.

    `besides`: where two neighbours that are both NaN differ all the same.
    """
    size = ordered.size
    first = constant_like(ordered, True, shape=(min(size, 1),), dtype=bool_)
    if size < 2:
        return first
    left, right = views.part(ordered, 0, 0, size - 1), views.part(ordered, 0, 1, size)
    differs = choice.not_equal(left, right)
    if ordered.dtype.kind in "fc":
        both = choice.logical_and(isnan(left), isnan(right))
        if besides is not None:
            both = choice.logical_and(both, choice.logical_not(besides))
        differs = choice.logical_and(differs, choice.logical_not(both))
    return joining.concatenate([first, differs])


def _chosen(flags: Value, *lines: Value) -> Reading[list[Any]]:
    """The elements of each vector where a mask holds."""
    before = counts_of(flags)
    count = yield total_of(before)
    found = [compressed(views.reshaped(line, (line.size, 1)), before, count) for line in lines]
    return [_line(each) for each in found]


def _union(op: str, x: Any, y: Any) -> Reading[Any]:
    ordered, _ = _in_order(joining.concatenate(list(_operands(op, x, y))))
    return (yield from _chosen(_begins(ordered), ordered))[0]


def _intersection(op: str, x: Any, y: Any, unique: bool, indices: bool) -> Reading[Any]:
    check_flag(op, "assume_unique", unique)  # which spares nothing here
    check_flag(op, "return_indices", indices)
    first, second = _operands(op, x, y)
    ordered, order = _in_order(first)
    flags = choice.logical_and(_begins(ordered), isin(ordered, second))
    if not indices:
        return (yield from _chosen(flags, ordered))[0]
    values, places = yield from _chosen(flags, ordered, order)
    if not values.size:
        return values, places, places
    known, known_order = _in_order(second)
    return values, places, take(known_order, searchsorted(known, values), mode="clip")


def _difference(op: str, x: Any, y: Any, unique: bool) -> Reading[Any]:
    check_flag(op, "assume_unique", unique)
    first, second = _operands(op, x, y)
    if unique:
        return (yield from _chosen(isin(first, second, invert=True), first))[0]
    ordered, _ = _in_order(first)
    flags = choice.logical_and(_begins(ordered), isin(ordered, second, invert=True))
    return (yield from _chosen(flags, ordered))[0]


def _symmetric_difference(op: str, x: Any, y: Any, unique: bool) -> Reading[Any]:
    check_flag(op, "assume_unique", unique)
    first, second = _operands(op, x, y)
    ordered, order = _in_order(joining.concatenate([first, second]))
    size = ordered.size
    besides = None
    if size > 1:
        # A NaN of one operand is not in the other: as in NumPy, there is one of each.
        from_first = choice.less(order, first.size)
        besides = choice.not_equal(
            views.part(from_first, 0, 0, size - 1), views.part(from_first, 0, 1, size)
        )
    flags = choice.not_equal(isin(ordered, first), isin(ordered, second))
    if ordered.dtype.kind in "fc":
        flags = choice.logical_or(flags, isnan(ordered))
    flags = choice.logical_and(flags, _begins(ordered, besides))
    return (yield from _chosen(flags, ordered))[0]


def union1d(x: Any, y: Any, /) -> Any:
    """The distinct elements of two tensors in ascending order; all NaN count as one.

    Dtypes promote; the derivative goes to the first of equal elements.  Their number is read from
    the device.

    Raises:
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `union1d_async` can.

    >>> import tenferro_wgpu as tw
    >>> tw.union1d(tw.asarray([3, 1, 3]), tw.asarray([2, 1])).tolist()
    [1, 2, 3]
    """
    return run(_union("union1d", x, y), "union1d", "union1d_async")


def intersect1d(
    x: Any, y: Any, /, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The distinct elements that are in both of two tensors, in ascending order.

    NaN equals nothing.  `assume_unique` promises that no tensor repeats an element, which spares
    nothing.  With `return_indices` a tuple: the elements, and where each is first in the flattened
    `x` and `y`, as int64.  Their number is read from the device.

    Raises:
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `intersect1d_async` can.

    >>> import tenferro_wgpu as tw
    >>> tw.intersect1d(tw.asarray([3, 1, 3, 4]), tw.asarray([3, 2, 1])).tolist()
    [1, 3]
    """
    program = _intersection("intersect1d", x, y, assume_unique, return_indices)
    return run(program, "intersect1d", "intersect1d_async")


def setdiff1d(x: Any, y: Any, /, assume_unique: bool = False) -> Any:
    """The distinct elements of `x` that are not in `y`, in ascending order.

    NaN equals nothing, so that it stays, once.  With `assume_unique` all elements of `x` that are
    not in `y`, in their own order.  Their number is read from the device.

    Raises:
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `setdiff1d_async` can.

    >>> import tenferro_wgpu as tw
    >>> tw.setdiff1d(tw.asarray([5, 1, 3, 5]), tw.asarray([3, 2])).tolist()
    [1, 5]
    """
    return run(_difference("setdiff1d", x, y, assume_unique), "setdiff1d", "setdiff1d_async")


def setxor1d(x: Any, y: Any, /, assume_unique: bool = False) -> Any:
    """The distinct elements that are in only one of two tensors, in ascending order.

    NaN equals nothing: one stays of each tensor.  `assume_unique` as in `intersect1d`.  Their
    number is read from the device.

    Raises:
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `setxor1d_async` can.

    >>> import tenferro_wgpu as tw
    >>> tw.setxor1d(tw.asarray([5, 1, 3]), tw.asarray([3, 2])).tolist()
    [1, 2, 5]
    """
    program = _symmetric_difference("setxor1d", x, y, assume_unique)
    return run(program, "setxor1d", "setxor1d_async")


async def union1d_async(x: Any, y: Any, /) -> Any:
    """Like `union1d`, without blocking: for browsers that cannot wait.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import asyncio, tenferro_wgpu as tw
    >>> asyncio.run(tw.union1d_async(tw.asarray([3, 1]), tw.asarray([2, 1]))).tolist()
    [1, 2, 3]
    """
    return await run_async(_union("union1d_async", x, y))


async def intersect1d_async(
    x: Any, y: Any, /, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """Like `intersect1d`, without blocking: for browsers that cannot wait.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import asyncio, tenferro_wgpu as tw
    >>> asyncio.run(tw.intersect1d_async(tw.asarray([3, 1]), tw.asarray([2, 1]))).tolist()
    [1]
    """
    program = _intersection("intersect1d_async", x, y, assume_unique, return_indices)
    return await run_async(program)


async def setdiff1d_async(x: Any, y: Any, /, assume_unique: bool = False) -> Any:
    """Like `setdiff1d`, without blocking: for browsers that cannot wait.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import asyncio, tenferro_wgpu as tw
    >>> asyncio.run(tw.setdiff1d_async(tw.asarray([3, 1]), tw.asarray([2, 1]))).tolist()
    [3]
    """
    return await run_async(_difference("setdiff1d_async", x, y, assume_unique))


async def setxor1d_async(x: Any, y: Any, /, assume_unique: bool = False) -> Any:
    """Like `setxor1d`, without blocking: for browsers that cannot wait.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import asyncio, tenferro_wgpu as tw
    >>> asyncio.run(tw.setxor1d_async(tw.asarray([3, 1]), tw.asarray([2, 1]))).tolist()
    [2, 3]
    """
    return await run_async(_symmetric_difference("setxor1d_async", x, y, assume_unique))
