"""``x[key]``: everything that NumPy's index expressions may hold.

Integers, slices, None and Ellipsis make views; index arrays gather, masks compress.  Called by
the operators of every tensor class; `selection` says what a key selects.
"""

from __future__ import annotations

from typing import Any

from .calling import lift
from .reading import Reading, run, run_async
from .selection import parse_key

__all__ = ["getitem", "getitem_async"]


def _selected(op: str, x: Any, key: Any) -> Reading[Any]:
    selection = parse_key(op, lift(op, x), key)
    yield from selection.counting()
    return selection.result()


def getitem(x: Any, key: Any, /) -> Any:
    """Select elements of a tensor as ``x[key]`` does.

    `key` is an integer, a slice with any step, None, Ellipsis, an integer tensor, list or
    ndarray, a boolean mask of any of these kinds, or a tuple of these; index arrays and masks
    mix as in NumPy.  Host indices are checked at the call.  The shape of what a mask selects
    depends on its values: for a mask on the device one number is read.

    Raises:
        IndexOutOfBoundsError: for an index outside its axis.
        IndexShapeError: for index arrays that do not broadcast to one shape.
        MaskShapeError: for a mask that has not the shape of the axes it indexes.
        AxisError: for more indices than axes.
        IndexTypeError: for anything else in a key.
        DTypeError: for a slice between numbers that are no integers.
        ArgumentError: for a step of 0.
        SyncUnavailableError: for a mask where nothing can wait; `getitem_async` can.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> tw.getitem(x, (slice(None), slice(None, None, -2))).tolist()
    [[3.0, 1.0], [6.0, 4.0]]
    >>> tw.getitem(x, x > 3.5).tolist()
    [4.0, 5.0, 6.0]
    """
    return run(_selected("getitem", x, key), "getitem", "getitem_async")


async def getitem_async(x: Any, key: Any, /) -> Any:
    """Like `getitem`, without blocking: for masks in browsers that cannot wait.

    Raises:
        IndexOutOfBoundsError, IndexShapeError, MaskShapeError: as `getitem`.
        IndexTypeError, AxisError, DTypeError, ArgumentError: as `getitem`.

    >>> import asyncio, tenferro_wgpu as tw
    >>> x = tw.asarray([1.0, -2.0, 3.0])
    >>> asyncio.run(tw.getitem_async(x, x > 0)).tolist()
    [1.0, 3.0]
    """
    return await run_async(_selected("getitem_async", x, key))
