"""Counts of points in the bins of several axes: the places of `histograms`, combined."""

from __future__ import annotations

from typing import Any

from ..dtypes import int64
from ..errors import DTypeError, ShapeError
from . import choice, views
from . import elementwise as arithmetic
from .calling import cast_to, check_flag, lift, promote, to_inexact
from .histograms import bin_edges, bin_of, counted, weights_of
from .reduction import sum as total
from .value import Value

__all__ = ["histogram2d", "histogramdd"]


def _per_axis(op: str, name: str, given: Any, count: int) -> list[Any]:
    """One argument for each axis, from one for all or one for each."""
    if isinstance(given, (list, tuple)):
        if len(given) != count:
            raise ShapeError(op, f"{len(given)} {name} for {count} axes")
        return list(given)
    return [given] * count


def _histogram(
    op: str, columns: list[Value], bins: list[Any], ranges: list[Any], density: Any, weights: Any
) -> tuple[Any, list[Any]]:
    if density is not None:
        check_flag(op, "density", density)
    if columns[0].dtype.kind == "c":
        raise DTypeError(op, "complex numbers have no order", (columns[0].dtype,))
    added = weights_of(op, columns[0], weights)
    if added is not None and added.dtype.kind == "b":
        added = cast_to(added, int64)
    columns = [to_inexact(column) for column in columns]
    edges, shape = [], []
    combined: Any = None
    inside: Any = None
    for column, wanted, limits in zip(columns, bins, ranges, strict=True):
        found = bin_edges(op, column, wanted, limits)
        place = bin_of(column, found)
        extent = found.shape[0] - 1
        within = choice.logical_and(
            choice.greater_equal(place, 0), choice.less(place, extent)
        )  # fmt: skip
        inside = within if inside is None else choice.logical_and(inside, within)
        combined = (
            place
            if combined is None
            else arithmetic.add(arithmetic.multiply(combined, extent), place)
        )
        edges.append(found)
        shape.append(extent)
    places = choice.where(inside, combined, -1)
    length = 1
    for extent in shape:
        length *= extent
    counts = views.reshaped(counted(places, added, length), tuple(shape))
    if density:
        numbers = counts if counts.dtype.kind == "c" else cast_to(counts, edges[0].dtype)
        counts = arithmetic.divide(numbers, total(numbers))
        for axis, found in enumerate(edges):
            extent = shape[axis]
            widths = arithmetic.subtract(
                views.part(found, 0, 1, extent + 1), views.part(found, 0, 0, extent)
            )
            along = tuple(extent if at == axis else 1 for at in range(len(shape)))
            counts = arithmetic.divide(counts, views.reshaped(widths, along))
    return counts, edges


def histogramdd(
    sample: Any,
    /,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, tuple[Any, ...]]:
    """How many points fall into which bin of several axes.

    Args:
        sample: a matrix with a row per point, or a list of vectors, one per axis.
        bins: the number of equal bins, or a list of numbers or ascending edges, one per axis.
        range: a list of pairs, the lowest and the highest edge of each axis, or None.
        density: whether to give densities, whose integral is 1, instead of counts.
        weights: a vector, one number per point; sums of weights replace counts.

    Bins hold their edges as in `histogram`.  Nothing is read from the device.

    Returns:
        ``(counts, edges)``: int64 (NumPy's are floats), the dtype of the weights or, as densities,
        a float; and the edges of each axis.

    Raises:
        ShapeError: for a sample that is no matrix, or arguments that do not fit its axes.
        ArgumentError: for less than one bin, or a range or a list of edges that does not ascend.
        DTypeError: for complex numbers, ndarrays and lists of anything but tensors.

    >>> import tenferro_wgpu as tw
    >>> points = tw.asarray([[0.0, 0.0], [0.2, 0.9], [1.0, 1.0]])
    >>> tw.histogramdd(points, bins=2)[0].tolist()
    [[1, 1], [0, 1]]
    """
    op = "histogramdd"
    if isinstance(sample, (list, tuple)):
        columns = promote(op, sample) if sample else []
        if not columns or any(one.ndim != 1 or one.shape != columns[0].shape for one in columns):
            shapes = tuple(one.shape for one in columns)
            raise ShapeError(op, f"vectors of one length are needed, got {shapes}", shapes)
    else:
        value = lift(op, sample)
        if value.ndim == 1:
            value = views.reshaped(value, (value.size, 1))
        if value.ndim != 2 or not value.shape[1]:
            raise ShapeError(op, f"a sample is a matrix, got shape {value.shape}", (value.shape,))
        columns = [
            views.reshaped(views.part(value, 1, n, n + 1), (value.shape[0],))
            for n in _numbers(value.shape[1])
        ]
    wanted = _per_axis(op, "bins", bins, len(columns))
    limits = _per_axis(op, "ranges", range, len(columns))
    counts, edges = _histogram(op, columns, wanted, limits, density, weights)
    return counts, tuple(edges)


_numbers = range


def histogram2d(
    x: Any,
    y: Any,
    /,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: Any = None,
) -> tuple[Any, Any, Any]:
    """How many points of a plane fall into which bin.

    Args:
        x, y: vectors of one length, the coordinates of the points.
        bins: the number of bins along both axes, a pair of numbers or of edges, or a vector of
            edges for both.
        range: a pair of pairs: the lowest and the highest edge of each axis.
        density, weights: as in `histogramdd`.

    Returns:
        ``(counts, edges of x, edges of y)``: counts as of `histogramdd`, `x` along rows.

    Raises:
        ShapeError: for coordinates that are no vectors of one length.
        ArgumentError: for less than one bin, or a range or edges that do not ascend.
        DTypeError: for complex numbers, ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> x, y = tw.asarray([0.0, 0.2, 1.0]), tw.asarray([0.0, 0.9, 1.0])
    >>> tw.histogram2d(x, y, bins=2)[0].tolist()
    [[1, 1], [0, 1]]
    """
    op = "histogram2d"
    columns = promote(op, (x, y))
    shapes = tuple(column.shape for column in columns)
    if columns[0].ndim != 1 or shapes[0] != shapes[1]:
        raise ShapeError(op, f"vectors of one length are needed, got {shapes}", shapes)
    # As in NumPy, a sequence that is not of two is the edges of both axes.
    both = isinstance(bins, (list, tuple)) and len(bins) != 2
    wanted = [bins, bins] if both else _per_axis(op, "bins", bins, 2)
    limits = _per_axis(op, "ranges", range, 2)
    counts, edges = _histogram(op, columns, wanted, limits, density, weights)
    return counts, edges[0], edges[1]
