"""Functions that put elements in order, built on the primitives of `permuting`.

Every order is stable.  NaN counts as the largest number (it comes last, and first in descending
order), -0 equals 0, and complex numbers compare by their real and then their imaginary parts,
those with a NaN last, as in NumPy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..dtypes import int64
from ..errors import ArgumentError, ShapeError
from . import views
from .calling import as_integer, check_flag, lift, normalize_axis, promote
from .indexing import take, take_along_axis
from .permuting import ARGSORT, SEARCH_SORTED, SORT, permuted_rows
from .value import Value, apply, constant_like

__all__ = ["argsort", "searchsorted", "sort", "topk"]


class TopK(NamedTuple):
    """The largest or smallest elements along an axis, and where they stood."""

    values: Any
    indices: Any


class Rows:
    """An axis of a tensor as the rows of a matrix, and the way back."""

    __slots__ = ("_axes", "_rest", "matrix")

    def __init__(self, x: Value, place: int) -> None:
        others = views.other_axes(x, place)
        self._axes = (*others, place)
        self._rest = tuple(x.shape[axis] for axis in others)
        #: Shape (number of rows, extent of the axis).
        self.matrix: Value = views.as_matrix(x, others, (place,))

    def restored(self, matrix: Value) -> Any:
        """A matrix of as many rows, of any length, with the rows along the axis again."""
        x = views.reshaped(matrix, (*self._rest, matrix.shape[1]))
        return views.permuted(x, views.inverse_permutation(self._axes))


def _axis_of(op: str, x: Any, axis: Any) -> tuple[Value, int]:
    """A tensor and the axis to order it along; None stands for the flattened tensor."""
    value = lift(op, x)
    if axis is None:
        return views.reshaped(value, (value.size,)), 0
    return value, normalize_axis(op, axis, value.ndim)


def row_order(matrix: Value, descending: bool = False, first: int | None = None) -> Any:
    """The stable order of each row of a matrix, as int64; with `first`, of so many columns."""
    if matrix.shape[1] <= 1 or matrix.size == 0:
        return constant_like(matrix, 0, dtype=int64)
    return apply(ARGSORT, matrix, descending=bool(descending), first=first)


def sorted_rows(matrix: Value, descending: bool = False) -> tuple[Any, Any]:
    """Each row of a matrix in order, and the order."""
    order = row_order(matrix, descending)
    if matrix.shape[1] <= 1 or matrix.size == 0:
        return matrix, order
    return permuted_rows(matrix, order), order


def sorted_values(
    matrix: Value, descending: bool = False, places: tuple[int, ...] | None = None
) -> Any:
    """Each row of a matrix in order; with `places`, only these columns must be right."""
    if matrix.shape[1] <= 1 or matrix.size == 0:
        return matrix
    if matrix.interpreter.follows(matrix):
        return sorted_rows(matrix, descending)[0]
    return apply(SORT, matrix, descending=bool(descending), places=places)


def sort(
    x: Any, /, axis: int | None = -1, *, descending: bool = False, stable: bool = True
) -> Any:  # fmt: skip
    """The elements along an axis in order; with ``axis=None`` those of the flattened tensor.

    NaN counts as the largest number.  Equal elements keep their order, whatever `stable` says,
    in descending order too.  Any dtype and shape; the derivative goes where the elements go.

    Raises:
        AxisError: if the axis does not exist.
        DTypeError: for ndarrays and lists, and for an axis that is no integer.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    >>> tw.sort(x).tolist()
    [[1.0, 2.0, 3.0], [0.0, 4.0, 5.0]]
    >>> tw.sort(x, axis=None, descending=True).tolist()
    [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    """
    check_flag("sort", "descending", descending)
    check_flag("sort", "stable", stable)
    del stable
    value, place = _axis_of("sort", x, axis)
    rows = Rows(value, place)
    return rows.restored(sorted_values(rows.matrix, descending))


def argsort(
    x: Any, /, axis: int | None = -1, *, descending: bool = False, stable: bool = True
) -> Any:  # fmt: skip
    """The indices that sort a tensor along an axis, as int64; see `sort`.

    Raises:
        AxisError: if the axis does not exist.
        DTypeError: for ndarrays and lists, and for an axis that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.argsort(tw.asarray([3.0, 1.0, 2.0, 1.0])).tolist()
    [1, 3, 2, 0]
    """
    check_flag("argsort", "descending", descending)
    check_flag("argsort", "stable", stable)
    del stable
    value, place = _axis_of("argsort", x, axis)
    rows = Rows(value, place)
    return rows.restored(row_order(rows.matrix, descending))


def topk(
    x: Any, k: int, /, axis: int | None = -1, *, largest: bool = True, sorted: bool = True
) -> TopK:
    """The `k` largest (or smallest) elements along an axis, in order, and their int64 indices.

    Of equal elements the first ones are taken.  NaN counts as the largest number.  The result is
    ordered from the largest (or smallest) on, whatever `sorted` says.

    Returns:
        A named tuple ``(values, indices)``; the axis has extent `k`.

    Raises:
        ArgumentError: if the axis does not have `k` elements.
        AxisError: if the axis does not exist.
        DTypeError: for ndarrays and lists, and for a `k` that is no integer.

    >>> import tenferro_wgpu as tw
    >>> values, indices = tw.topk(tw.asarray([3.0, 9.0, 7.0]), 2)
    >>> values.tolist(), indices.tolist()
    ([9.0, 7.0], [1, 2])
    """
    check_flag("topk", "largest", largest)
    check_flag("topk", "sorted", sorted)
    del sorted
    value, place = _axis_of("topk", x, axis)
    count = as_integer("topk", "k", k)
    extent = value.shape[place]
    if not 0 <= count <= extent:
        raise ArgumentError("topk", f"k={count} of {extent} elements along axis {place}")
    rows = Rows(value, place)
    order = row_order(rows.matrix, largest, count)
    order = views.sliced(order, (0, 0), (order.shape[0], count), (1, 1))
    first = (take_along_axis(rows.matrix, order, axis=1, mode="clip"), order)
    return TopK(*(rows.restored(each) for each in first))


def searchsorted(
    x: Any, values: Any, /, side: str = "left", sorter: Any = None
) -> Any:  # fmt: skip
    """Where to insert values into a sorted vector so that it stays sorted, as int64.

    Args:
        x: a tensor of one axis in ascending order, or in any order together with `sorter`.
        values: a tensor or scalar of any shape; dtypes promote.
        side: "left" for the place before elements equal to the value, "right" behind them.
        sorter: a tensor of the indices that sort `x`, as `argsort` gives them.

    Raises:
        ShapeError: if `x` is not a vector, or `sorter` does not fit it.
        ArgumentError: for another `side`.
        DTypeError: for ndarrays and lists.
        IndexOutOfBoundsError: for an index of `sorter` that does not exist.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([1.0, 2.0, 2.0, 3.0])
    >>> tw.searchsorted(x, tw.asarray([2.0, 5.0])).tolist()
    [1, 4]
    >>> tw.searchsorted(x, 2.0, side="right").item()
    3
    """
    if not isinstance(side, str) or side not in ("left", "right"):
        raise ArgumentError("searchsorted", f'side must be "left" or "right", got {side!r}')
    known, wanted = promote("searchsorted", (x, values))
    if sorter is not None:
        if getattr(sorter, "shape", None) != known.shape:
            raise ShapeError(
                "searchsorted", f"the sorter of a tensor of shape {known.shape} has its shape"
            )
        known = take(known, sorter)
    return apply(SEARCH_SORTED, known, wanted, side=side)
