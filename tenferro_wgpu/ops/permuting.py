"""Primitives that find an order and that move elements by one, with their rules.

Orders are of rows: a matrix of indices, each row a permutation of its columns.  The public
functions in `ordering` bring any axis into that shape.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import int64
from ..errors import ShapeError
from ..tensor import ShapeDtype
from .primitive import Primitive
from .value import Value, apply

__all__ = ["ARGSORT", "PERMUTE", "SEARCH_SORTED", "SORT", "UNPERMUTE"]


def _argsort_shape(x: ShapeDtype, *, descending: bool, first: int | None) -> ShapeDtype:
    return ShapeDtype(x.shape, int64)


def _sort_shape(
    x: ShapeDtype, *, descending: bool, places: tuple[int, ...] | None
) -> ShapeDtype:  # fmt: skip
    return ShapeDtype(x.shape, x.dtype)


def _permuted_shape(x: ShapeDtype, order: ShapeDtype) -> ShapeDtype:
    if x.shape != order.shape or len(x.shape) != 2:
        raise ShapeError(
            "permute",
            f"rows of shape {x.shape} need an order of the same shape, got {order.shape}",
            (x.shape, order.shape),
        )
    return ShapeDtype(x.shape, x.dtype)


def _searched_shape(x: ShapeDtype, values: ShapeDtype, *, side: str) -> ShapeDtype:
    if len(x.shape) != 1:
        raise ShapeError(
            "searchsorted", f"the sorted tensor has one axis, got shape {x.shape}", (x.shape,)
        )
    return ShapeDtype(values.shape, int64)


#: Of each row of a matrix, the indices that sort it.  Equal elements keep their order; NaN
#: counts as the largest number, -0 and 0 as equal, complex numbers compare as NumPy's do.  With
#: `first`, only so many columns are asked for.
ARGSORT: Primitive = Primitive("argsort", ("x",), _argsort_shape)

#: Where elements would have to be inserted into a sorted vector: before those that are equal to
#: them (side "left") or behind (side "right").
SEARCH_SORTED: Primitive = Primitive("searchsorted", ("x", "values"), _searched_shape)


def permuted_rows(x: Value, order: Value) -> Any:
    """``out[i, j] = x[i, order[i, j]]``."""
    return apply(PERMUTE, x, order)


def unpermuted_rows(x: Value, order: Value) -> Any:
    """``out[i, order[i, j]] = x[i, j]``."""
    return apply(UNPERMUTE, x, order)


PERMUTE: Primitive = Primitive(
    "permute", ("x", "order"), _permuted_shape,
    vjp=(lambda g, order: unpermuted_rows(g, order), None),
    jvp=(lambda t, order: permuted_rows(t, order), None),
)  # fmt: skip
UNPERMUTE: Primitive = Primitive(
    "unpermute", ("x", "order"), _permuted_shape,
    vjp=(lambda g, order: permuted_rows(g, order), None),
    jvp=(lambda t, order: unpermuted_rows(t, order), None),
)  # fmt: skip

#: Each row of a matrix in the order of `ARGSORT`.  With `places`, only the elements at these
#: columns are asked for.  The derivative finds the order anew; where one is likely, `ordering`
#: moves elements by an order that it keeps.
SORT: Primitive = Primitive(
    "sort", ("x",), _sort_shape,
    vjp=lambda g, x, *, descending: unpermuted_rows(g, _order(x, descending)),
    jvp=lambda t, x, *, descending: permuted_rows(t, _order(x, descending)),
)  # fmt: skip


def _order(x: Value, descending: bool) -> Any:
    return apply(ARGSORT, x, descending=descending, first=None)
