"""Orders that are partial, or by several keys, over the sorts of `ordering`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError, ShapeError
from . import views
from .calling import as_integer, lift, normalize_axis
from .ordering import Rows, row_order, sorted_values
from .permuting import permuted_rows
from .value import Value

__all__ = ["argpartition", "lexsort", "partition"]


def _check_ranks(op: str, kth: Any, count: int) -> None:
    """Refuse places that do not exist; a sort makes all others right."""
    given = kth.tolist() if isinstance(kth, np.ndarray) else kth
    for each in given if isinstance(given, (tuple, list)) else (given,):
        place = as_integer(op, "kth", each)
        if not -count <= place < count:
            raise ArgumentError(op, f"kth={place} of {count} elements")


def _rows_along(op: str, x: Any, axis: Any) -> Rows:
    value = lift(op, x)
    if axis is None:
        return Rows(views.reshaped(value, (value.size,)), 0)
    return Rows(value, normalize_axis(op, axis, value.ndim))


def partition(x: Any, kth: Any, /, axis: int | None = -1) -> Any:
    """The elements along an axis with the k-th ones in their place: none before is larger.

    Args:
        x: a tensor of any dtype; NaN counts as the largest number.
        kth: the place from 0 on, negative from the end, or several of them.
        axis: the axis; None for the flattened tensor.

    All elements are sorted; NumPy's leaves the others in another order.  The derivative goes where
    the elements go.

    Raises:
        ArgumentError: for a place that does not exist.
        AxisError: if the axis does not exist.
        DTypeError: for ndarrays and lists, and for a `kth` that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.partition(tw.asarray([7.0, 1.0, 5.0, 3.0]), 2)[2].item()
    5.0
    """
    rows = _rows_along("partition", x, axis)
    _check_ranks("partition", kth, rows.matrix.shape[1])
    return rows.restored(sorted_values(rows.matrix))


def argpartition(x: Any, kth: Any, /, axis: int | None = -1) -> Any:
    """The indices that partition a tensor along an axis, as int64; see `partition`.

    Raises:
        ArgumentError: for a place that does not exist.
        AxisError: if the axis does not exist.
        DTypeError: for ndarrays and lists, and for a `kth` that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.argpartition(tw.asarray([7.0, 1.0, 5.0, 3.0]), 2)[2].item()
    2
    """
    rows = _rows_along("argpartition", x, axis)
    _check_ranks("argpartition", kth, rows.matrix.shape[1])
    return rows.restored(row_order(rows.matrix))


def lexsort(keys: Any, /, axis: int = -1) -> Any:
    """The stable order by several keys, as int64: by the last key first, then by those before it.

    Args:
        keys: a list or tuple of tensors of one shape, or a tensor whose first axis is that of the
            keys.
        axis: the axis of each key to sort along.

    Raises:
        ShapeError: for keys of several shapes or without axes, or no keys.
        AxisError: if the axis does not exist.
        DTypeError: for ndarrays, and for lists of anything but tensors.

    >>> import tenferro_wgpu as tw
    >>> surnames, names = tw.asarray([2, 1, 2]), tw.asarray([9, 5, 3])
    >>> tw.lexsort((names, surnames)).tolist()
    [1, 2, 0]
    """
    op = "lexsort"
    if isinstance(keys, Value):
        if not keys.ndim:
            raise ShapeError(op, "keys have at least one axis", (keys.shape,))
        values = [
            views.reshaped(views.part(keys, 0, n, n + 1), keys.shape[1:])
            for n in range(keys.shape[0])
        ]
    elif isinstance(keys, (list, tuple)):
        anchor = next((key for key in keys if isinstance(key, Value)), None)
        values = [lift(op, key, anchor) for key in keys]
    else:
        raise DTypeError(op, f"keys are tensors in a list or tuple, got {type(keys).__name__}")
    shapes = {value.shape for value in values}
    if len(shapes) != 1 or () in shapes:
        raise ShapeError(
            op, f"keys have one shape of at least one axis, got {sorted(shapes)}", tuple(shapes)
        )
    place = normalize_axis(op, axis, values[0].ndim)
    rows = [Rows(value, place) for value in values]
    order = row_order(rows[0].matrix)
    for each in rows[1:]:
        if each.matrix.shape[1] > 1 and each.matrix.size:
            moves = row_order(permuted_rows(each.matrix, order))
            order = permuted_rows(order, moves)
    return rows[0].restored(order)
