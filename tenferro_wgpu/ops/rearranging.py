"""Functions that repeat, shift, turn and split one tensor: programs over views and joins.

Composites, as `structural` and `joining` are their parts: they have neither kernels nor rules.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from ..dtypes import int64
from ..errors import ArgumentError, AxisError, DTypeError, ShapeError
from . import choice, indexing, joining, structural, views
from .calling import as_integer, cast_to, lift, normalize_axes, normalize_axis
from .creation import on_host
from .ordering import searchsorted
from .reading import Reading, run
from .reduction import min as smallest
from .scanning_rules import running_sum
from .value import Value, apply
from .views import part

__all__ = [
    "array_split",
    "fliplr",
    "flipud",
    "repeat",
    "roll",
    "rot90",
    "split",
    "tile",
]

Shape = tuple[int, ...]

#: Every section is a tensor of its own; far more of them are a mistake.
MOST_SECTIONS = 1 << 20

# -- along one axis -----------------------------------------------------------------------------


def integers(op: str, name: str, values: Any) -> Shape:
    """A tuple of Python integers from one or several; raises DTypeError."""
    several = values if isinstance(values, (tuple, list, np.ndarray, range)) else (values,)
    try:
        return tuple(operator.index(value) for value in several)
    except TypeError:
        raise DTypeError(op, f"{name} are integers, got {values!r}") from None


def roll(x: Any, /, shift: Any, axis: Any = None) -> Any:
    """Move elements along axes by `shift` places; those that leave one end enter at the other.

    Without `axis` the flattened tensor is rolled.  Several axes take as many shifts, or one for
    all; an axis may be named more than once.

    Raises:
        AxisError: if an axis does not exist.
        ShapeError: if the numbers of shifts and axes do not fit.
        DTypeError: for shifts or axes that are no integers.

    >>> import tenferro_wgpu as tw
    >>> tw.roll(tw.asarray([1, 2, 3, 4]), 1).tolist()
    [4, 1, 2, 3]
    """
    value = lift("roll", x)
    shifts = integers("roll", "shifts", shift)
    if axis is None:
        flat = structural.ravel(value)
        return views.reshaped(_rolled(flat, sum(shifts), 0), value.shape)
    axes = integers("roll", "axes", axis)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    elif len(axes) == 1:
        axes = axes * len(shifts)
    if len(shifts) != len(axes):
        raise ShapeError("roll", f"{len(shifts)} shifts for {len(axes)} axes")
    for one, place in zip(shifts, axes, strict=True):
        value = _rolled(value, one, normalize_axis("roll", place, value.ndim))
    return value


def _rolled(x: Value, shift: int, axis: int) -> Any:
    extent = x.shape[axis]
    place = shift % extent if extent else 0
    if not place:
        return x
    parts = (part(x, axis, extent - place, extent), part(x, axis, 0, extent - place))
    return apply(joining.CONCATENATE, *parts, axis=axis)


def repeat(x: Any, repeats: Any, /, axis: int | None = None) -> Any:
    """Repeat every element in place, along an axis or of the flattened tensor.

    `repeats` is one count or a count for each element of the axis.  Of counts in a tensor the
    sum is read from the device, as the shape of the result depends on it.

    Raises:
        ShapeError: if the number of counts is not that of the axis.
        ArgumentError: for a negative count.
        AxisError: if the axis does not exist.
        DTypeError: for counts that are no integers.
        SyncUnavailableError: for counts in a tensor where nothing can wait.

    >>> import tenferro_wgpu as tw
    >>> tw.repeat(tw.asarray([1, 2, 3]), 2).tolist()
    [1, 1, 2, 2, 3, 3]
    >>> tw.repeat(tw.asarray([[1, 2], [3, 4]]), [2, 1], axis=0).tolist()
    [[1, 2], [1, 2], [3, 4]]
    """
    value = lift("repeat", x)
    if axis is None:
        value, axis = structural.ravel(value), 0
    place = normalize_axis("repeat", axis, value.ndim)
    if isinstance(repeats, Value):
        return run(_repeated_by(value, repeats, place), "repeat", "repeat(x, [counts, ...])")
    flat = repeats.reshape(-1) if isinstance(repeats, np.ndarray) else repeats
    counts = integers("repeat", "counts", flat)
    if any(count < 0 for count in counts):
        raise ArgumentError("repeat", f"counts must not be negative, got {repeats!r}")
    extent = value.shape[place]
    if len(counts) == 1:
        spread = (*value.shape[: place + 1], counts[0], *value.shape[place + 1 :])
        kept = (*range(place + 1), *range(place + 2, len(spread)))
        repeated = apply(views.BROADCAST_IN_DIM, value, shape=spread, axes=kept)
        shape = (*value.shape[:place], extent * counts[0], *value.shape[place + 1 :])
        return views.reshaped(repeated, shape)
    _check_counts(len(counts), value, place)
    places = on_host("repeat", sum(counts), int64, lambda: np.repeat(np.arange(extent), counts))
    return indexing.take(value, places, axis=place)


def _check_counts(count: int, x: Value, axis: int) -> None:
    if count != x.shape[axis]:
        raise ShapeError(
            "repeat", f"{count} counts for {x.shape[axis]} elements of axis {axis}", (x.shape,)
        )


def _repeated_by(x: Value, repeats: Value, axis: int) -> Reading[Any]:
    """Elements repeated by counts on the device: each place of the result searches its element."""
    if repeats.dtype.kind not in "iu":
        raise DTypeError("repeat", f"counts are integers, got {repeats.dtype}", (repeats.dtype,))
    if repeats.size != 1:
        _check_counts(repeats.size, x, axis)
    extent = x.shape[axis]
    if not extent:
        return x
    given = views.reshaped(cast_to(repeats, int64), (repeats.size,))
    counts = structural.broadcast_to(given, (extent,))
    ends = running_sum(counts, 0)
    total = views.reshaped(part(ends, 0, extent - 1, extent), ())
    length = yield choice.where(choice.less(smallest(counts), 0), -1, total)
    if length < 0:
        raise ArgumentError("repeat", "counts must not be negative, got a tensor with one")
    numbers = x.interpreter.array(on_host("repeat", length, int64, lambda: np.arange(length)))
    places = searchsorted(ends, numbers, side="right")
    return indexing.take(x, places, axis=axis, mode="clip")


def tile(x: Any, repetitions: Any, /) -> Any:
    """Lay copies of a tensor side by side, `repetitions` of them along each axis.

    Fewer repetitions than axes count from the last axis; more of them add axes in front.

    Raises:
        ShapeError: for a negative number.
        DTypeError: for repetitions that are no integers.

    >>> import tenferro_wgpu as tw
    >>> tw.tile(tw.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    value = lift("tile", x)
    counts = integers("tile", "repetitions", repetitions)
    if any(count < 0 for count in counts):
        raise ShapeError("tile", f"negative repetitions: {repetitions!r}")
    added = max(len(counts) - value.ndim, 0)
    value = views.reshaped(value, (1,) * added + value.shape)
    counts = (1,) * (value.ndim - len(counts)) + counts
    for axis, count in enumerate(counts):  # one axis after the other: few axes in every kernel
        if count != 1:
            spread = (*value.shape[:axis], count, *value.shape[axis:])
            kept = (*range(axis), *range(axis + 1, len(spread)))
            copies = apply(views.BROADCAST_IN_DIM, value, shape=spread, axes=kept)
            shape = (*value.shape[:axis], count * value.shape[axis], *value.shape[axis + 1 :])
            value = views.reshaped(copies, shape)
    return value


def split(x: Any, indices_or_sections: Any, /, axis: int = 0) -> list[Any]:
    """Cut a tensor along an axis into views: into equal sections, or at the given indices.

    Raises:
        ShapeError: if the axis does not divide into so many sections.
        AxisError: if the axis does not exist.
        DTypeError: for indices that are no integers.

    >>> import tenferro_wgpu as tw
    >>> [part.tolist() for part in tw.split(tw.arange(4), 2)]
    [[0, 1], [2, 3]]
    >>> [part.tolist() for part in tw.split(tw.arange(4), [1, 3])]
    [[0], [1, 2], [3]]
    """
    value = lift("split", x)
    place = normalize_axis("split", axis, value.ndim)
    extent = value.shape[place]
    if not isinstance(indices_or_sections, (tuple, list, np.ndarray)):
        sections = as_integer("split", "a number of sections", indices_or_sections)
        if sections < 1 or extent % sections:
            raise ShapeError(
                "split",
                f"{extent} elements do not divide into {sections} equal sections; "
                "array_split makes unequal ones",
                (value.shape,),
            )
    return _split("split", value, indices_or_sections, place)


def array_split(x: Any, indices_or_sections: Any, /, axis: int = 0) -> list[Any]:
    """Cut a tensor along an axis into views: like `split`, but sections may be unequal.

    The first sections are longer by one where the extent does not divide.

    Raises:
        ShapeError: for less than one section.
        AxisError: if the axis does not exist.
        DTypeError: for indices that are no integers.

    >>> import tenferro_wgpu as tw
    >>> [part.tolist() for part in tw.array_split(tw.arange(5), 3)]
    [[0, 1], [2, 3], [4]]
    """
    value = lift("array_split", x)
    place = normalize_axis("array_split", axis, value.ndim)
    return _split("array_split", value, indices_or_sections, place)


def _split(op: str, x: Value, indices_or_sections: Any, axis: int) -> list[Any]:
    extent = x.shape[axis]
    if isinstance(indices_or_sections, (tuple, list, np.ndarray)):
        places = integers(op, "indices", indices_or_sections)
        # As Python's slices: negative indices count from the end, others stop at the end.
        bounds = [slice(place, None).indices(extent)[0] for place in places]
    else:
        sections = as_integer(op, "a number of sections", indices_or_sections)
        if not 1 <= sections <= MOST_SECTIONS:
            raise ShapeError(
                op, f"at least one and at most {MOST_SECTIONS} sections are made, got {sections}"
            )
        short, longer = divmod(extent, sections)
        bounds = [number * short + min(number, longer) for number in range(1, sections)]
    pairs = itertools.pairwise([0, *bounds, extent])
    return [part(x, axis, start, max(start, stop)) for start, stop in pairs]


# -- turning ------------------------------------------------------------------------------------


def rot90(x: Any, /, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Turn the plane of two axes `k` times by 90 degrees, from the first towards the second.

    A view.

    Raises:
        AxisError: if an axis does not exist, or there are not two different ones.
        DTypeError: for a `k` or axes that are no integers.

    >>> import tenferro_wgpu as tw
    >>> tw.rot90(tw.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    value = lift("rot90", x)
    turns = as_integer("rot90", "k", k)
    pair = integers("rot90", "axes", axes)
    if len(pair) != 2:
        raise AxisError("rot90", f"two axes span a plane, got {axes!r}", axis=axes, ndim=value.ndim)
    normalize_axes("rot90", pair, value.ndim)
    first, second = pair
    turns %= 4
    if turns == 0:
        return value
    if turns == 2:
        return structural.flip(value, pair)
    if turns == 1:
        return structural.swapaxes(structural.flip(value, second), first, second)
    return structural.flip(structural.swapaxes(value, first, second), second)


def flipud(x: Any, /) -> Any:
    """Reverse the first axis; a view.

    Raises:
        AxisError: for a tensor of shape ().

    >>> import tenferro_wgpu as tw
    >>> tw.flipud(tw.asarray([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    return structural.flip(x, 0)


def fliplr(x: Any, /) -> Any:
    """Reverse the second axis; a view.

    Raises:
        AxisError: for a tensor of fewer than two axes.

    >>> import tenferro_wgpu as tw
    >>> tw.fliplr(tw.asarray([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    return structural.flip(x, 1)
