"""Padding in all of NumPy's modes that repeat elements or constants, over the primitive `pad`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..dtypes import int64
from ..errors import DTypeError, ShapeError
from . import indexing, joining, structural
from .calling import as_integer, check_choice, is_scalar, lift, normalize_axis, promote
from .creation import on_host
from .value import Value, apply
from .views import part

__all__ = ["pad"]

#: Modes that repeat elements of the tensor.
REPEATING = ("edge", "reflect", "symmetric", "wrap")
#: Pieces of one axis up to which views are joined; beyond, elements are gathered one by one.
MOST_PIECES = 16


def pad(
    x: Any, /, pad_width: Any, mode: str = "constant", *, constant_values: Any = False,
    interior: Any = 0,
) -> Any:  # fmt: skip
    """Put elements around a tensor, and optionally constants between its elements.

    `pad_width` is NumPy's: one integer, a pair (before, after), a pair for every axis, or a dict
    from axis to either; negative amounts crop.  `mode` is NumPy's "constant", "edge" (repeats the
    last element), "reflect" (mirrors about it), "symmetric" (mirrors behind it), "wrap"
    (continues at the other end) or "empty" (constants).

    Of "constant" alone: `constant_values` is a scalar or a tensor of shape () that promotes with
    `x`, or pairs of scalars as in NumPy, before and after each axis; False, the default, is the 0
    of every dtype.  `interior` is the number of constants between neighbours, one integer or one
    for every axis, as in StableHLO.

    Raises:
        ShapeError: if the widths do not fit the tensor, or the result would be negative.
        ArgumentError: for another mode.
        DTypeError: for widths that are no integers.

    >>> import tenferro_wgpu as tw
    >>> tw.pad(tw.asarray([1.0, 2.0]), (1, 2), constant_values=9.0).tolist()
    [9.0, 1.0, 2.0, 9.0, 9.0]
    >>> tw.pad(tw.asarray([1.0, 2.0, 3.0]), (-1, 0), interior=1).tolist()
    [0.0, 2.0, 0.0, 3.0]
    >>> tw.pad(tw.asarray([1, 2, 3]), 2, "reflect").tolist()
    [3, 2, 1, 2, 3, 2, 1]
    """
    check_choice("pad", "mode", mode, ("constant", "empty", *REPEATING))
    if mode in REPEATING:
        value = lift("pad", x)
        if interior or constant_values is not False:
            raise ShapeError("pad", f"interior and constant_values do not go with mode {mode!r}")
        for axis, (before, after) in enumerate(_pad_pairs(pad_width, value.ndim)):
            value = _repeated(value, axis, before, after, mode)
        return value
    if isinstance(constant_values, (tuple, list, dict)):
        return _by_axes(lift("pad", x), pad_width, constant_values, interior)
    value, fill = promote("pad", (x, constant_values))
    pairs = _pad_pairs(pad_width, value.ndim)
    between = interior if isinstance(interior, (tuple, list)) else (interior,) * value.ndim
    if len(between) != value.ndim:
        raise ShapeError("pad", f"interior {interior!r} does not fit shape {value.shape}")
    low = tuple(before for before, _ in pairs)
    high = tuple(after for _, after in pairs)
    gaps = tuple(_width(amount) for amount in between)
    if not (any(low) or any(high) or any(gaps)):
        return value
    return apply(joining.PAD, value, fill, low=low, high=high, interior=gaps)


def _by_axes(value: Value, pad_width: Any, constant_values: Any, interior: Any) -> Any:
    """Constants of their own before and after each axis; a later axis fills the corners."""
    if interior:
        raise ShapeError("pad", "interior goes with one constant alone")
    widths = _pad_pairs(pad_width, value.ndim)
    fills = _pairs(constant_values, value.ndim, _scalar, False)
    for axis, (amounts, pair) in enumerate(zip(widths, fills, strict=True)):
        for side in (0, 1):
            sides: list[Any] = [(0, 0)] * value.ndim
            sides[axis] = (amounts[0], 0) if side == 0 else (0, amounts[1])
            value = pad(value, sides, constant_values=pair[side])
    return value


def _repeated(x: Value, axis: int, before: int, after: int, mode: str) -> Any:
    """One axis continued by its own elements; negative amounts crop."""
    extent = x.shape[axis]
    kept = x
    if before < 0 or after < 0:
        start, stop = max(-before, 0), extent - max(-after, 0)
        if start > stop:
            raise ShapeError("pad", f"({before}, {after}) crops more than {x.shape}", (x.shape,))
        kept = part(x, axis, start, stop)
        before, after, extent = max(before, 0), max(after, 0), stop - start
    if not (before or after):
        return kept
    if not extent:
        raise ShapeError("pad", f"axis {axis} has no elements to repeat", (x.shape,))
    # The modes are NumPy's by definition: it says which elements go where.
    places = on_host(
        "pad", before + extent + after, int64,
        lambda: np.pad(np.arange(extent), (before, after), mode=mode),  # type: ignore[call-overload]
    )  # fmt: skip
    pieces = list(_runs(places))
    if len(pieces) > MOST_PIECES:
        return indexing.take(kept, places, axis=axis)
    return joining.concatenate([_piece(kept, axis, *run) for run in pieces], axis=axis)


def _runs(places: np.ndarray[Any, Any]) -> Iterator[tuple[int, int, int]]:
    """(first, count, step) of runs of equal steps 1, -1 or 0 that make up `places`."""
    position = 0
    while position < len(places):
        first = int(places[position])
        step = int(places[position + 1]) - first if position + 1 < len(places) else 1
        if step not in (-1, 0, 1):
            step = 1
        stop = position + 1
        while stop < len(places) and places[stop] - places[stop - 1] == step:
            stop += 1
        yield first, stop - position, step
        position = stop


def _piece(x: Value, axis: int, first: int, count: int, step: int) -> Any:
    if step == 0:
        one = part(x, axis, first, first + 1)
        return structural.broadcast_to(one, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
    if step == 1:
        return part(x, axis, first, first + count)
    return structural.flip(part(x, axis, first - count + 1, first + 1), axis)


def _pad_pairs(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    return _pairs(pad_width, ndim, _width, 0)


def _pairs(given: Any, ndim: int, read: Any, nothing: Any) -> list[tuple[Any, Any]]:
    """NumPy's ways to say something before and after every axis."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, dict):
        pairs = [(nothing, nothing)] * ndim
        for axis, amount in given.items():
            pairs[normalize_axis("pad", axis, ndim)] = _pair(amount, read)
        return pairs
    if isinstance(given, (tuple, list)) and len(given) == ndim == 0:
        return []  # a pair for every axis of a tensor without axes
    if not isinstance(given, (tuple, list)) or not any(
        isinstance(entry, (tuple, list)) for entry in given
    ):
        return [_pair(given, read)] * ndim
    if len(given) == 1:
        return [_pair(given[0], read)] * ndim
    if len(given) != ndim:
        raise ShapeError("pad", f"{len(given)} pairs for a tensor of {ndim} axes")
    return [_pair(entry, read) for entry in given]


def _pair(amount: Any, read: Any) -> tuple[Any, Any]:
    if not isinstance(amount, (tuple, list)):
        return (read(amount), read(amount))
    if len(amount) not in (1, 2):
        raise ShapeError("pad", f"expected one number or (before, after), got {amount!r}")
    return (read(amount[0]), read(amount[-1]))


def _scalar(value: Any) -> Any:
    if not is_scalar(value):
        raise DTypeError("pad", f"constants of single axes are scalars, got {value!r}")
    return value


def _width(amount: Any) -> int:
    return as_integer("pad", "a width", amount)
