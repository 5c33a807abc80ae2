"""Medians and quantiles: orders of rows, and what lies between two of their elements.

The methods are those of R. J. Hyndman and Y. Fan, Sample quantiles in statistical packages, The
American Statistician 50 (1996), 361-365, under NumPy's names, and NumPy's four others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import int64
from ..errors import ArgumentError, DTypeError
from . import choice, reduction, structural, views
from . import elementwise as arithmetic
from .calling import cast_to, check_flag, is_scalar, lift, normalize_axes, to_inexact
from .floats import isinf, isnan
from .indexing import take, take_along_axis
from .ordering import sorted_values
from .rounding import floor_divide
from .truth import count_nonzero
from .value import Value, constant_like

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

#: Continuous methods by the two constants of their plotting positions.
_PLOTTING = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
METHODS = (
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", *_PLOTTING,
)  # fmt: skip


def positions(method: str, q: Array, count: int | Array) -> Array:
    """Where quantiles lie among `count` sorted elements, as fractional indices."""
    linear = (count - 1) * q
    below = count * q - 1
    if method == "linear":
        found = linear
    elif method == "lower":
        found = np.floor(linear)
    elif method == "higher":
        found = np.ceil(linear)
    elif method == "midpoint":
        found = (np.floor(linear) + np.ceil(linear)) / 2
    elif method == "nearest":
        found = np.around(linear)
    elif method == "inverted_cdf":
        found = np.ceil(below)
    elif method == "averaged_inverted_cdf":
        found = np.where(below == np.floor(below), below + 0.5, np.ceil(below))
    elif method == "closest_observation":
        # Of two equally close ones that of even rank, which counts from 1.
        low = np.floor(below - 0.5)
        even = (below - 0.5 == low) & (low % 2 == 1)
        found = np.where(even, low, low + 1)
    else:
        alpha, beta = _PLOTTING[method]
        found = count * q + (alpha + q * (1 - alpha - beta)) - 1
    clipped: Array = np.clip(found, 0, np.maximum(count - 1, 0))
    if method == "averaged_inverted_cdf":
        clipped = np.where(found < 0, 0, clipped)
    return clipped


class _Groups:
    """The elements of each group that is reduced, as the rows of a matrix."""

    def __init__(self, op: str, x: Any, axis: Any, keepdims: bool) -> None:
        value = lift(op, x)
        if value.dtype.kind == "c":
            raise DTypeError(op, "complex numbers have no quantiles; take .real or abs(...) first")
        value = to_inexact(value)
        axes = normalize_axes(op, axis, value.ndim)
        others = views.other_axes(value, *axes)
        #: A row per group, in any order, and in order once `sort` has run.
        self.rows: Value = views.as_matrix(value, others, axes)
        #: The shape of one number for each group.
        self.shape: Shape = tuple(value.shape[one] for one in others)
        if keepdims:
            self.shape = tuple(1 if n in axes else one for n, one in enumerate(value.shape))

    def nothing(self, shape: Shape) -> Any:
        """NaN for every group, each of no elements, in a shape whose last axes are the groups.

        Made of the tensor, so that a derivative may be asked for.
        """
        total = views.reshaped(reduction.sum(self.rows, axis=1), self.shape)
        return structural.broadcast_to(arithmetic.add(total, float("nan")), shape)

    def sort(self, *places: int) -> None:
        """Sort the rows; with `places` only these columns, and the last one, must be right."""
        wanted = tuple(sorted({*places, self.rows.shape[1] - 1})) if places else None
        self.rows = sorted_values(self.rows, places=wanted)

    def columns(self, index: Any) -> Any:
        """The elements at given places of the sorted rows."""
        return take(self.rows, index, axis=1)

    def known(self) -> Any:
        """How many elements of each row are not NaN, which is sorted behind all others."""
        is_number = choice.logical_not(isnan(self.rows))
        return cast_to(count_nonzero(is_number, axis=1, keepdims=True), int64)

    def without_nan(self, result: Value) -> Any:
        """A matrix with a row per group, NaN where the group has one."""
        count = self.rows.shape[1]
        last = views.part(self.rows, 1, count - 1, count)
        return choice.where(isnan(last), constant_like(result, float("nan"), shape=()), result)


def _between(low: Value, high: Value, fraction: Any) -> Any:
    """From `low` to `high`, rounded as NumPy's interpolation; equal infinities give that one.

    Equal finite ends are no case of their own: their derivatives are as apart as those of others.
    """
    is_one_infinity = choice.logical_and(choice.equal(low, high), isinf(low))
    step = choice.where(
        is_one_infinity, constant_like(low, 0, shape=()), arithmetic.subtract(high, low)
    )
    rest = arithmetic.subtract(1, fraction)
    near_low = arithmetic.add(low, arithmetic.multiply(step, fraction))
    near_high = arithmetic.subtract(high, arithmetic.multiply(step, rest))
    between = choice.where(choice.less(fraction, 0.5), near_low, near_high)
    return choice.where(choice.equal(fraction, 0), low, between)


def _fractions(op: str, q: Any, scale: float, method: str) -> Array:
    """`q` as numbers between 0 and 1."""
    if not isinstance(method, str) or method not in METHODS:
        raise ArgumentError(op, f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if isinstance(q, Value) or not (is_scalar(q) or isinstance(q, (list, tuple, np.ndarray))):
        given = "a tensor; read it with .numpy()" if isinstance(q, Value) else type(q).__name__
        raise DTypeError(op, f"q is a number, a list or an ndarray of numbers, got {given}")
    try:
        fractions: Array = np.asarray(q, np.float64) / scale
    except (TypeError, ValueError):
        raise DTypeError(op, f"q consists of real numbers, got {q!r}") from None
    if not np.all((fractions >= 0) & (fractions <= 1)):
        raise ArgumentError(op, f"q must lie between 0 and {scale:g}, got {q!r}")
    return fractions


def _quantile(
    op: str, x: Any, q: Any, scale: float, axis: Any, method: str, keepdims: bool
) -> Any:  # fmt: skip
    fractions = _fractions(op, q, scale, method)
    groups = _Groups(op, x, axis, keepdims)
    shape = fractions.shape + groups.shape
    rows, count = groups.rows.shape
    if count == 0 or rows * fractions.size == 0:
        return groups.nothing(shape)
    found = positions(method, fractions.reshape(-1), count)
    low = np.floor(found).astype(np.int64)
    high = np.ceil(found).astype(np.int64)
    groups.sort(*low.tolist(), *high.tolist())
    dtype = groups.rows.dtype
    part = groups.rows.interpreter.array((found - low).astype(dtype).reshape(1, -1))
    result = groups.columns(low)
    if np.any(low != high):
        result = _between(result, groups.columns(high), part)
    result = groups.without_nan(result)
    return views.reshaped(views.permuted(result, (1, 0)), shape)


def quantile(
    x: Any, q: Any, /, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """Quantiles over the given axes; without `axis`, over all.

    Args:
        x: a tensor of bools or integers, which become the default float, or floats.
        q: a number between 0 and 1, or a list or ndarray of numbers, whose shape comes first in
            the result.
        axis: None, an integer or a tuple.
        method: one of NumPy's: "linear", "lower", "higher", "midpoint", "nearest", "hazen",
            "weibull", "median_unbiased", "normal_unbiased", "inverted_cdf",
            "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf".
        keepdims: keep the reduced axes, of extent 1.

    A group with a NaN, or without elements, gives NaN.  The derivative goes to the elements
    between which a quantile lies.

    Raises:
        ArgumentError: for a `q` out of its range, or another method.
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for complex numbers, ndarrays and lists, and for a `q` that is a tensor.

    >>> import tenferro_wgpu as tw
    >>> tw.quantile(tw.asarray([1.0, 2.0, 4.0, 8.0]), [0.5, 1.0]).tolist()
    [3.0, 8.0]
    """
    check_flag("quantile", "keepdims", keepdims)
    return _quantile("quantile", x, q, 1.0, axis, method, keepdims)


def percentile(
    x: Any, q: Any, /, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """Quantiles for `q` between 0 and 100: see `quantile`.

    Raises:
        ArgumentError: for a `q` out of its range, or another method.
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for complex numbers, ndarrays and lists, and for a `q` that is a tensor.

    >>> import tenferro_wgpu as tw
    >>> tw.percentile(tw.asarray([1.0, 2.0, 4.0, 8.0]), 50).item()
    3.0
    """
    check_flag("percentile", "keepdims", keepdims)
    return _quantile("percentile", x, q, 100.0, axis, method, keepdims)


def _mean(low: Value, high: Value) -> Any:
    # Halves first: they are exact, and their sum does not overflow.
    half = arithmetic.multiply(low, 0.5)
    return arithmetic.add(half, arithmetic.multiply(high, 0.5))


def median(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The middle element over the given axes, or the mean of the two middle ones.

    Takes bools and integers, which become the default float, and floats.  A group with a NaN,
    or without elements, gives NaN.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for complex numbers, ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.median(tw.asarray([[1.0, 9.0, 2.0], [8.0, 4.0, 6.0]]), axis=1).tolist()
    [2.0, 6.0]
    """
    check_flag("median", "keepdims", keepdims)
    groups = _Groups("median", x, axis, keepdims)
    rows, count = groups.rows.shape
    if rows * count == 0:
        return groups.nothing(groups.shape)
    groups.sort(count // 2, count // 2 - 1 + count % 2)
    middle = groups.columns([count // 2])
    if count % 2 == 0:
        middle = _mean(groups.columns([count // 2 - 1]), middle)
    return views.reshaped(groups.without_nan(middle), groups.shape)


def nanmedian(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The median over the given axes of all that is not NaN; NaN where nothing else is.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for complex numbers, ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.nanmedian(tw.asarray([1.0, float("nan"), 5.0, 2.0])).item()
    2.0
    """
    check_flag("nanmedian", "keepdims", keepdims)
    groups = _Groups("nanmedian", x, axis, keepdims)
    rows, count = groups.rows.shape
    if rows * count == 0:
        return groups.nothing(groups.shape)
    groups.sort()
    known = groups.known()
    low = floor_divide(choice.maximum(arithmetic.subtract(known, 1), 0), 2)
    middle = _mean(
        take_along_axis(groups.rows, low, axis=1, mode="clip"),
        take_along_axis(groups.rows, floor_divide(known, 2), axis=1, mode="clip"),
    )
    nothing = choice.equal(known, 0)
    middle = choice.where(nothing, constant_like(middle, float("nan"), shape=()), middle)
    return views.reshaped(middle, groups.shape)


def _nanquantile(
    op: str, x: Any, q: Any, scale: float, axis: Any, method: str, keepdims: bool
) -> Any:  # fmt: skip
    fractions = _fractions(op, q, scale, method)
    groups = _Groups(op, x, axis, keepdims)
    shape = fractions.shape + groups.shape
    rows, count = groups.rows.shape
    if count == 0 or rows * fractions.size == 0:
        return groups.nothing(shape)
    groups.sort()
    # Where to look for each possible number of elements, found as `quantile` does; the device
    # chooses the row of its number.
    counts = np.arange(count + 1)[:, None]
    found = positions(method, np.broadcast_to(fractions.reshape(-1), (1, fractions.size)), counts)
    low, high = np.floor(found).astype(np.int64), np.ceil(found).astype(np.int64)
    interpreter, dtype = groups.rows.interpreter, groups.rows.dtype
    known = views.reshaped(groups.known(), (rows,))

    def of_each(table: Array) -> Any:
        return take(interpreter.array(table), known, axis=0, mode="clip")

    def elements(table: Array) -> Any:
        return take_along_axis(groups.rows, of_each(table), axis=1, mode="clip")

    result = elements(low)
    if np.any(low != high):
        result = _between(result, elements(high), of_each((found - low).astype(dtype)))
    nothing = views.reshaped(choice.equal(known, 0), (rows, 1))
    result = choice.where(nothing, constant_like(result, float("nan"), shape=()), result)
    return views.reshaped(views.permuted(result, (1, 0)), shape)


def nanquantile(
    x: Any, q: Any, /, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """Quantiles over the given axes of all that is not NaN: see `quantile`.

    NaN where nothing else is.

    Raises:
        ArgumentError: for a `q` out of its range, or another method.
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for complex numbers, ndarrays and lists, and for a `q` that is a tensor.

    >>> import tenferro_wgpu as tw
    >>> tw.nanquantile(tw.asarray([1.0, float("nan"), 2.0, 8.0]), [0.5, 1.0]).tolist()
    [2.0, 8.0]
    """
    check_flag("nanquantile", "keepdims", keepdims)
    return _nanquantile("nanquantile", x, q, 1.0, axis, method, keepdims)


def nanpercentile(
    x: Any, q: Any, /, axis: Any = None, *, method: str = "linear", keepdims: bool = False
) -> Any:
    """Quantiles for `q` between 0 and 100 of all that is not NaN: see `nanquantile`.

    Raises:
        ArgumentError: for a `q` out of its range, or another method.
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for complex numbers, ndarrays and lists, and for a `q` that is a tensor.

    >>> import tenferro_wgpu as tw
    >>> tw.nanpercentile(tw.asarray([1.0, float("nan"), 2.0, 8.0]), 50).item()
    2.0
    """
    check_flag("nanpercentile", "keepdims", keepdims)
    return _nanquantile("nanpercentile", x, q, 100.0, axis, method, keepdims)
