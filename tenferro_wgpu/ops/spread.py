"""How far elements spread: from least to largest, and without NaN.

Composites over the reductions of `statistics`, so every derivative follows from theirs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DTypeError
from . import choice, reduction, statistics, views
from . import elementwise as arithmetic
from .calling import check_flag, normalize_axes
from .floats import isnan
from .norms import root
from .reduction_operands import as_real, inexact, ordered, reduced, squared_modulus
from .reduction_rules import REDUCE_SUM
from .value import constant_like

__all__ = ["nanstd", "nanvar", "ptp"]


def ptp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """The largest element less the smallest one over the given axes; NaN if there is one.

    Integers wrap around, as in NumPy.

    Raises:
        ShapeError: if there is no element to choose from.
        DTypeError: for bools and complex tensors.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.ptp(tw.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=1).tolist()
    [4.0, 1.0]
    """
    check_flag("ptp", "keepdims", keepdims)
    value = ordered("ptp", x)
    if value.dtype.kind == "b":
        raise DTypeError("ptp", "bools have no difference; convert with astype(...) first")
    axes = normalize_axes("ptp", axis, value.ndim)
    high = reduction.max(value, axis=axes, keepdims=keepdims)
    return arithmetic.subtract(high, reduction.min(value, axis=axes, keepdims=keepdims))


def _variance(
    op: str, x: Any, axis: Any, correction: Any, ddof: Any, dtype: Any, keepdims: bool
) -> tuple[Any, np.dtype[Any]]:
    """The variance in the dtype it is computed in, and the dtype of the result."""
    lost = statistics.as_correction(op, correction, ddof)
    value, result = inexact(op, x, dtype)
    axes = normalize_axes(op, axis, value.ndim)
    missing = isnan(value)
    nothing = constant_like(value, 0, shape=())
    known = choice.where(missing, nothing, value)
    ones = arithmetic.real(choice.where(missing, nothing, constant_like(value, 1)))
    count = reduced(REDUCE_SUM, ones, axes, keepdims=True)
    centre = arithmetic.divide(reduced(REDUCE_SUM, known, axes, keepdims=True), count)
    centred = choice.where(missing, nothing, arithmetic.subtract(known, centre))
    total = reduced(REDUCE_SUM, squared_modulus(centred), axes, keepdims)
    left = arithmetic.subtract(views.reshaped(count, total.shape), lost)
    enough = choice.greater(left, 0)
    divisor = choice.where(enough, left, constant_like(left, 1, shape=()))
    nan = constant_like(total, np.nan, shape=())
    return choice.where(enough, arithmetic.divide(total, divisor), nan), result


def nanvar(
    x: Any,
    /,
    axis: Any = None,
    *,
    correction: float | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    ddof: float | None = None,
) -> Any:
    """Variance over the given axes of what is not NaN; arguments as in `var`.

    NaN where no more than `correction` elements are left.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        ArgumentError: for both `correction` and `ddof`.
        DTypeError: for an axis or a correction that is no number, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.nanvar(tw.asarray([1.0, float("nan"), 5.0])).item()
    4.0
    """
    check_flag("nanvar", "keepdims", keepdims)
    out, result = _variance("nanvar", x, axis, correction, ddof, dtype, keepdims)
    return as_real(result, out)


def nanstd(
    x: Any,
    /,
    axis: Any = None,
    *,
    correction: float | None = None,
    keepdims: bool = False,
    dtype: Any = None,
    ddof: float | None = None,
) -> Any:
    """Standard deviation over the given axes of what is not NaN: the root of `nanvar`.

    The derivative where all elements are equal is 0.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        ArgumentError: for both `correction` and `ddof`.
        DTypeError: for an axis or a correction that is no number, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.nanstd(tw.asarray([1.0, float("nan"), 5.0])).item()
    2.0
    """
    check_flag("nanstd", "keepdims", keepdims)
    out, result = _variance("nanstd", x, axis, correction, ddof, dtype, keepdims)
    return as_real(result, root(out))
