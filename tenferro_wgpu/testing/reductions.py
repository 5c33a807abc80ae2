"""Reductions, statistics and scans with their NumPy references: rows beside those of operations.

Used by the tests; it knows public functions only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .operations import Case
from .values import ALL, COMPLEX, EVERY, FLOATS, NUMBERS

__all__ = ["QUANTIFIERS", "SCANS", "STATISTICS"]

Array = np.ndarray[Any, Any]
INEXACT = (*FLOATS, *COMPLEX)


def _in_default_float(reference: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function of integers in the library's default float, rounded once."""

    def run(x: Array, **options: Any) -> Array:
        if x.dtype.kind in "biu":
            return np.asarray(reference(x.astype(np.float64), **options)).astype(np.float32)
        return np.asarray(reference(x, **options))

    return run


def _log_sum_exp(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return np.asarray(np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims)))


def _sum_of_squares(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    if x.dtype.kind in "bi":
        x = x.astype(np.int64)
    elif x.dtype.kind == "u":
        x = x.astype(np.uint64)
    return np.asarray(np.sum((x * np.conj(x)).real, axis=axis, keepdims=keepdims))


def _accumulated(function: np.ufunc) -> Callable[..., Any]:
    def run(x: Array, axis: int | None = None) -> Array:
        return np.asarray(function.accumulate(x.ravel() if axis is None else x, axis=axis or 0))

    return run


def _norm(order: float) -> Callable[..., Any]:
    def run(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        axes = tuple(range(x.ndim)) if axis is None else axis
        return np.asarray(np.linalg.vector_norm(x, axis=axes, keepdims=keepdims, ord=order))

    return run


def _our_norm(order: float) -> Callable[..., Any]:
    def vector_norm(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return tw.vector_norm(x, axis=axis, keepdims=keepdims, ord=order)

    return vector_norm


def _sample_variance(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return tw.var(x, axis=axis, keepdims=keepdims, correction=0.5)


#: Whether elements are 0, how many and where: every dtype, the same bits.
QUANTIFIERS = {
    "any": Case(tw.any, np.any, EVERY),
    "all": Case(tw.all, np.all, EVERY),
    "count_nonzero": Case(tw.count_nonzero, np.count_nonzero, EVERY),
}

#: Functions of floats and, in the default float, of integers; of values of one sign.
STATISTICS = {
    "var": Case(tw.var, _in_default_float(np.var), (*INEXACT, "int32", "uint8"), ulps=24),
    "var, corrected": Case(
        _sample_variance,
        lambda x, **options: np.var(x, ddof=0.5, **options),
        FLOATS,
        ulps=24,
    ),
    "std": Case(tw.std, _in_default_float(np.std), (*INEXACT, "bool"), ulps=24),
    "sum_of_squares": Case(tw.sum_of_squares, _sum_of_squares, EVERY, ulps=16),
    "logsumexp": Case(tw.logsumexp, _in_default_float(_log_sum_exp), (*FLOATS, "int8"), ulps=16),
    "nansum": Case(tw.nansum, np.nansum, (*INEXACT, "int32", "uint16"), ulps=16),
    "nanmean": Case(tw.nanmean, _in_default_float(np.nanmean), (*INEXACT, "int32"), ulps=16),
    "nanmax": Case(tw.nanmax, np.nanmax, (*FLOATS, "uint8"), any_zero=True),
    "nanmin": Case(tw.nanmin, np.nanmin, (*FLOATS, "int64"), any_zero=True),
    "nanvar": Case(tw.nanvar, _in_default_float(np.nanvar), (*INEXACT, "int32"), ulps=24),
    "nanstd": Case(tw.nanstd, _in_default_float(np.nanstd), (*FLOATS, "uint8"), ulps=24),
    "ptp": Case(tw.ptp, np.ptp, NUMBERS, any_zero=True),
    "average": Case(tw.average, _in_default_float(np.average), (*INEXACT, "int32"), ulps=16),
    **{
        f"vector_norm, ord {order}": Case(
            _our_norm(order), _in_default_float(_norm(order)), INEXACT, ulps=24
        )
        for order in (2, 0, 1, np.inf, -np.inf, 3.5, -2)
    },
}

#: Running combinations along one axis.
SCANS = {
    "cumsum": Case(tw.cumsum, np.cumsum, EVERY, ulps=8),
    "cumprod": Case(tw.cumprod, np.cumprod, EVERY, ulps=300),
    "cummax": Case(tw.cummax, _accumulated(np.maximum), ALL, any_zero=True),
    "cummin": Case(tw.cummin, _accumulated(np.minimum), ALL, any_zero=True),
}
