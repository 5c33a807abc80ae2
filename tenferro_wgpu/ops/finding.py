"""Where elements are not zero: functions whose results have a shape that depends on values.

Each has a form that awaits the one number it reads, for browsers that cannot wait.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import bool_
from ..errors import ShapeError
from . import choice, views
from .calling import lift
from .compaction import NONZERO, counts_of, total_of
from .reading import Reading, run, run_async
from .value import Value, apply

__all__ = ["argwhere", "flatnonzero", "nonzero", "nonzero_async"]


def _flags(x: Value) -> Any:
    return x if x.dtype is bool_ else choice.not_equal(x, 0)


def _coordinates(x: Value, shape: tuple[int, ...]) -> Reading[Any]:
    before = counts_of(_flags(x))
    count = yield total_of(before)
    return apply(NONZERO, before, shape=shape, count=count)


def _nonzero(op: str, x: Any) -> Reading[tuple[Any, ...]]:
    value = lift(op, x)
    if value.ndim == 0:
        raise ShapeError(op, "a tensor of shape () has no axes to index; reshape it to (1,)")
    found = yield from _coordinates(value, value.shape)
    return tuple(views.picked(found, 0, axis) for axis in range(value.ndim))


def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The indices of the elements that are not zero: one int64 vector for each axis.

    Takes any dtype; NaN is not zero.  The number of such elements is read from the device.

    Raises:
        ShapeError: for a tensor of shape ().
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `nonzero_async` can.

    >>> import tenferro_wgpu as tw
    >>> rows, columns = tw.nonzero(tw.asarray([[0.0, 5.0], [7.0, 0.0]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
    return run(_nonzero("nonzero", x), "nonzero", "nonzero_async")


async def nonzero_async(x: Any, /) -> tuple[Any, ...]:
    """Like `nonzero`, without blocking: for browsers that cannot wait.

    Raises:
        ShapeError: for a tensor of shape ().
        DTypeError: for ndarrays and lists.

    >>> import asyncio, tenferro_wgpu as tw
    >>> [found] = asyncio.run(tw.nonzero_async(tw.asarray([0.0, 5.0, 7.0])))
    >>> found.tolist()
    [1, 2]
    """
    found: tuple[Any, ...] = await run_async(_nonzero("nonzero_async", x))
    return found


def flatnonzero(x: Any, /) -> Any:
    """The indices of the elements of the flattened tensor that are not zero, as int64.

    Raises:
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `nonzero_async` can.

    >>> import tenferro_wgpu as tw
    >>> tw.flatnonzero(tw.asarray([[0.0, 5.0], [7.0, 0.0]])).tolist()
    [1, 2]
    """
    value = lift("flatnonzero", x)
    found = run(_coordinates(value, (value.size,)), "flatnonzero", "nonzero_async")
    return views.picked(found, 0, 0)


def argwhere(x: Any, /) -> Any:
    """The indices of the elements that are not zero, as the int64 rows of a matrix.

    Raises:
        DTypeError: for ndarrays and lists.
        SyncUnavailableError: where nothing can wait; `nonzero_async` can.

    >>> import tenferro_wgpu as tw
    >>> tw.argwhere(tw.asarray([[0.0, 5.0], [7.0, 0.0]])).tolist()
    [[0, 1], [1, 0]]
    """
    value = lift("argwhere", x)
    found = run(_coordinates(value, value.shape), "argwhere", "nonzero_async")
    return views.permuted(found, (1, 0))
