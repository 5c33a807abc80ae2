"""NumPy functions called on our tensors: each maps to the function of the same meaning here.

``np.exp(x)`` stays on the device and on the tape.  A function without a counterpart raises
TypeError naming ``x.numpy()``; ndarrays never mix in silently.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError
from . import (
    binning,
    bits,
    calculus,
    calling,
    choice,
    closeness,
    contraction,
    covariance,
    creation,
    curves,
    data_types,
    diagonals,
    divisors,
    editing,
    elementwise,
    exponential,
    finding,
    floats,
    grids,
    histograms,
    hyperbolic,
    indexing,
    joining,
    membership,
    norms,
    ordering,
    padding,
    partitions,
    powers,
    products,
    quantiles,
    rearranging,
    reduction,
    rounding,
    scanning,
    sets,
    signals,
    spread,
    stacking,
    statistics,
    structural,
    trigonometry,
    truth,
    uniqueness,
)
from .numpy_counterparts import Counterpart, Several, no_counterpart
from .value import Value

__all__ = ["NumpyProtocols"]

#: NumPy's universal functions under their own names, where ours has another or takes options.
_RENAMED: dict[str, Callable[..., Any]] = {
    "absolute": elementwise.abs,
    "arccos": trigonometry.acos,
    "arccosh": hyperbolic.acosh,
    "arcsin": trigonometry.asin,
    "arcsinh": hyperbolic.asinh,
    "arctan": trigonometry.atan,
    "arctan2": trigonometry.atan2,
    "arctanh": hyperbolic.atanh,
    "conjugate": elementwise.conj,
    "degrees": trigonometry.rad2deg,
    "invert": bits.bitwise_not,
    "left_shift": bits.bitwise_left_shift,
    "matmul": contraction.matmul,
    "heaviside": curves.heaviside,
    "power": powers.pow,
    "radians": trigonometry.deg2rad,
    "right_shift": bits.bitwise_right_shift,
    "rint": rounding.round,
    "vecdot": contraction.vecdot,
}
#: What universal functions reduce and accumulate to, along the first axis if none is named.
_METHODS: dict[tuple[str, str], Callable[..., Any]] = {
    ("add", "reduce"): reduction.sum,
    ("multiply", "reduce"): reduction.prod,
    ("maximum", "reduce"): reduction.max,
    ("minimum", "reduce"): reduction.min,
    ("logical_and", "reduce"): truth.all,
    ("logical_or", "reduce"): truth.any,
    ("logaddexp", "reduce"): norms.logsumexp,
    ("add", "accumulate"): scanning.cumsum,
    ("multiply", "accumulate"): scanning.cumprod,
    ("maximum", "accumulate"): scanning.cummax,
    ("minimum", "accumulate"): scanning.cummin,
}
_MODULES = (
    bits, choice, divisors, elementwise, exponential, floats, hyperbolic, powers, rounding,
    trigonometry,
)  # fmt: skip
UFUNCS: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(module, name)
        for module in _MODULES
        for name in module.__all__
        if isinstance(getattr(np, name, None), np.ufunc) and getattr(np, name).__name__ == name
    },
    **_RENAMED,
}


_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def _where(condition: Any, x: Any = np._NoValue, y: Any = np._NoValue) -> Any:
    # With a condition alone NumPy's `where` is another function.
    if x is y is np._NoValue:
        return finding.nonzero(condition)
    if x is np._NoValue or y is np._NoValue:
        raise ArgumentError("where", "x and y are given both, or neither")
    return choice.where(condition, x, y)


def _last_diagonal(x: Any, offset: int = 0) -> Any:
    return diagonals.diagonal(x, offset, axis1=-2, axis2=-1)


def _last_trace(x: Any, offset: int = 0, dtype: Any = None) -> Any:
    return diagonals.trace(x, offset, axis1=-2, axis2=-1, dtype=dtype)


_REDUCTION = "a axis dtype out keepdims initial where"
_EXTREMUM = "a axis out keepdims initial where"
_JOINING = "arrays axis out dtype casting"
_CLOSE = "rtol atol equal_nan"
_LIKE = "dtype order subok shape"


def _size(a: Any, axis: int | None = None) -> int:
    return int(a.size if axis is None else a.shape[calling.normalize_axis("size", axis, a.ndim)])


#: What NumPy asks about arrays without touching their elements.
_QUESTIONS: dict[str, Counterpart] = {
    "can_cast": Counterpart(data_types.can_cast, 2, "from_ to casting"),
    "iscomplexobj": Counterpart(lambda x: x.dtype.kind == "c", 1, "x"),
    "isrealobj": Counterpart(lambda x: x.dtype.kind != "c", 1, "x"),
    "ndim": Counterpart(lambda a: a.ndim, 1, "a"),
    "result_type": Several(data_types.result_type, 1, "arrays_and_dtypes"),
    "shape": Counterpart(lambda a: a.shape, 1, "a"),
    "size": Counterpart(_size, 1, "a axis"),
}

FUNCTIONS: dict[str, Counterpart] = {
    **_QUESTIONS,
    "all": Counterpart(truth.all, 1, "a axis out keepdims where"),
    "allclose": Counterpart(closeness.allclose, 2, f"a b {_CLOSE}"),
    "amax": Counterpart(reduction.max, 1, _EXTREMUM),
    "amin": Counterpart(reduction.min, 1, _EXTREMUM),
    "argsort": Counterpart(ordering.argsort, 1, "a axis kind order stable"),
    "any": Counterpart(truth.any, 1, "a axis out keepdims where"),
    "argmax": Counterpart(reduction.argmax, 1, "a axis out keepdims"),
    "argmin": Counterpart(reduction.argmin, 1, "a axis out keepdims"),
    "array_split": Counterpart(rearranging.array_split, 2, "ary indices_or_sections axis"),
    "angle": Counterpart(trigonometry.angle, 1, "z deg"),
    "around": Counterpart(rounding.round, 1, "a decimals out"),
    "array_equal": Counterpart(closeness.array_equal, 2, "a1 a2 equal_nan"),
    "argwhere": Counterpart(finding.argwhere, 1, "a"),
    "atleast_1d": Several(stacking.atleast_1d, 1, "arys"),
    "atleast_2d": Several(stacking.atleast_2d, 1, "arys"),
    "atleast_3d": Several(stacking.atleast_3d, 1, "arys"),
    "broadcast_arrays": Several(stacking.broadcast_arrays, 1, "args subok"),
    "meshgrid": Several(grids.meshgrid, 1, "xi copy sparse indexing"),
    "astype": Counterpart(data_types.astype, 2, "x dtype copy"),
    "average": Counterpart(statistics.average, 1, "a axis weights returned keepdims"),
    "broadcast_to": Counterpart(structural.broadcast_to, 2, "array shape subok"),
    "clip": Counterpart(choice.clip, 1, "a a_min=min a_max=max out min max"),
    "column_stack": Counterpart(stacking.column_stack, 1, "tup"),
    "concatenate": Counterpart(joining.concatenate, 1, _JOINING),
    "count_nonzero": Counterpart(truth.count_nonzero, 1, "a axis keepdims"),
    "cov": Counterpart(covariance.cov, 1, "m y rowvar bias ddof fweights aweights dtype"),
    "convolve": Counterpart(signals.convolve, 2, "a v mode"),
    "correlate": Counterpart(signals.correlate, 2, "a v mode"),
    "cross": Counterpart(products.cross, 2, "a b axisa axisb axisc axis"),
    "diag": Counterpart(diagonals.diag, 1, "v k"),
    "diagonal": Counterpart(diagonals.diagonal, 1, "a offset axis1 axis2"),
    "cumprod": Counterpart(scanning.cumprod, 1, "a axis dtype out"),
    "cumsum": Counterpart(scanning.cumsum, 1, "a axis dtype out"),
    "cumulative_prod": Counterpart(scanning.cumulative_prod, 1, "x axis dtype out include_initial"),
    "cumulative_sum": Counterpart(scanning.cumulative_sum, 1, "x axis dtype out include_initial"),
    "diff": Counterpart(statistics.diff, 1, "a n axis prepend append"),
    "dot": Counterpart(products.dot, 2, "a b out"),
    "dstack": Counterpart(stacking.dstack, 1, "tup"),
    "expand_dims": Counterpart(structural.expand_dims, 2, "a axis"),
    "flatnonzero": Counterpart(finding.flatnonzero, 1, "a"),
    "flip": Counterpart(structural.flip, 1, "m axis"),
    "fliplr": Counterpart(rearranging.fliplr, 1, "m"),
    "flipud": Counterpart(rearranging.flipud, 1, "m"),
    "fix": Counterpart(rounding.trunc, 1, "x out"),
    "full_like": Counterpart(creation.full_like, 2, f"a fill_value {_LIKE}"),
    "hstack": Counterpart(stacking.hstack, 1, "tup dtype casting"),
    "imag": Counterpart(elementwise.imag, 1, "val"),
    "isclose": Counterpart(closeness.isclose, 2, f"a b {_CLOSE}"),
    "inner": Counterpart(products.inner, 2, "a b"),
    "interp": Counterpart(signals.interp, 3, "x xp fp left right period"),
    "isin": Counterpart(membership.isin, 2, "element test_elements assume_unique invert kind"),
    "kron": Counterpart(products.kron, 2, "a b"),
    "matrix_transpose": Counterpart(structural.matrix_transpose, 1, "x"),
    "max": Counterpart(reduction.max, 1, _EXTREMUM),
    "mean": Counterpart(reduction.mean, 1, "a axis dtype out keepdims where"),
    "min": Counterpart(reduction.min, 1, _EXTREMUM),
    "moveaxis": Counterpart(structural.moveaxis, 3, "a source destination"),
    "nanmax": Counterpart(statistics.nanmax, 1, _EXTREMUM),
    "nanmean": Counterpart(statistics.nanmean, 1, "a axis dtype out keepdims where"),
    "nanmin": Counterpart(statistics.nanmin, 1, _EXTREMUM),
    "nansum": Counterpart(statistics.nansum, 1, _REDUCTION),
    "nan_to_num": Counterpart(floats.nan_to_num, 1, "x copy nan posinf neginf"),
    "nonzero": Counterpart(finding.nonzero, 1, "a"),
    "ones_like": Counterpart(creation.ones_like, 1, f"a {_LIKE}"),
    "outer": Counterpart(products.outer, 2, "a b out"),
    "pad": Counterpart(padding.pad, 2, "array pad_width mode constant_values"),
    "prod": Counterpart(reduction.prod, 1, _REDUCTION),
    "ravel": Counterpart(structural.ravel, 1, "a order"),
    "real": Counterpart(elementwise.real, 1, "val"),
    "repeat": Counterpart(rearranging.repeat, 2, "a repeats axis"),
    "reshape": Counterpart(structural.reshape, 2, "a shape order copy"),
    "roll": Counterpart(rearranging.roll, 2, "a shift axis"),
    "rot90": Counterpart(rearranging.rot90, 1, "m k axes"),
    "split": Counterpart(rearranging.split, 2, "ary indices_or_sections axis"),
    "searchsorted": Counterpart(ordering.searchsorted, 2, "a v side sorter"),
    "sort": Counterpart(ordering.sort, 1, "a axis kind order stable"),
    "round": Counterpart(rounding.round, 1, "a decimals out"),
    "squeeze": Counterpart(structural.squeeze, 1, "a axis"),
    "stack": Counterpart(joining.stack, 1, _JOINING),
    "std": Counterpart(statistics.std, 1, "a axis dtype out ddof keepdims where mean correction"),
    "sum": Counterpart(reduction.sum, 1, _REDUCTION),
    "swapaxes": Counterpart(structural.swapaxes, 3, "a axis1 axis2"),
    "take": Counterpart(indexing.take, 2, "a indices axis out mode"),
    "take_along_axis": Counterpart(indexing.take_along_axis, 2, "arr indices axis"),
    "tensordot": Counterpart(contraction.tensordot, 2, "a b axes"),
    "tile": Counterpart(rearranging.tile, 2, "A reps"),
    "trace": Counterpart(diagonals.trace, 1, "a offset axis1 axis2 dtype out"),
    "transpose": Counterpart(structural.transpose, 1, "a axes"),
    "tril": Counterpart(diagonals.tril, 1, "m k"),
    "triu": Counterpart(diagonals.triu, 1, "m k"),
    "var": Counterpart(statistics.var, 1, "a axis dtype out ddof keepdims where mean correction"),
    "vstack": Counterpart(stacking.vstack, 1, "tup dtype casting"),
    "where": Counterpart(_where, 1, "condition x y"),
    "bincount": Counterpart(histograms.bincount, 1, "x weights minlength"),
    "digitize": Counterpart(histograms.digitize, 2, "x bins right"),
    "histogram": Counterpart(histograms.histogram, 1, "a bins range density weights"),
    "median": Counterpart(quantiles.median, 1, "a axis out overwrite_input keepdims"),
    "nanmedian": Counterpart(quantiles.nanmedian, 1, "a axis out overwrite_input keepdims"),
    "percentile": Counterpart(
        quantiles.percentile, 2, "a q axis out overwrite_input method keepdims"
    ),
    "quantile": Counterpart(quantiles.quantile, 2, "a q axis out overwrite_input method keepdims"),
    "unique": Counterpart(
        uniqueness.unique, 1, "ar return_index return_inverse return_counts axis equal_nan sorted"
    ),
    "unique_all": Counterpart(uniqueness.unique_all, 1, "x"),
    "unique_counts": Counterpart(uniqueness.unique_counts, 1, "x"),
    "unique_inverse": Counterpart(uniqueness.unique_inverse, 1, "x"),
    "unique_values": Counterpart(uniqueness.unique_values, 1, "x"),
    "unstack": Counterpart(joining.unstack, 1, "x axis"),
    "corrcoef": Counterpart(covariance.corrcoef, 1, "x y rowvar dtype"),
    "gradient": Several(calculus.gradient, 1, "f varargs axis edge_order"),
    "nanpercentile": Counterpart(
        quantiles.nanpercentile, 2, "a q axis out overwrite_input method keepdims"
    ),
    "nanquantile": Counterpart(
        quantiles.nanquantile, 2, "a q axis out overwrite_input method keepdims"
    ),
    "nanstd": Counterpart(spread.nanstd, 1, "a axis dtype out ddof keepdims where mean correction"),
    "nanvar": Counterpart(spread.nanvar, 1, "a axis dtype out ddof keepdims where mean correction"),
    "polyval": Counterpart(curves.polyval, 2, "p x"),
    "ptp": Counterpart(spread.ptp, 1, "a axis out keepdims"),
    "sinc": Counterpart(curves.sinc, 1, "x"),
    "trapezoid": Counterpart(calculus.trapezoid, 1, "y x dx axis"),
    "unwrap": Counterpart(curves.unwrap, 1, "p discont axis period"),
    "argpartition": Counterpart(partitions.argpartition, 2, "a kth axis kind order"),
    "delete": Counterpart(editing.delete, 2, "arr obj axis"),
    "histogram2d": Counterpart(binning.histogram2d, 2, "x y bins range density weights"),
    "histogramdd": Counterpart(binning.histogramdd, 1, "sample bins range density weights"),
    "insert": Counterpart(editing.insert, 3, "arr obj values axis"),
    "intersect1d": Counterpart(sets.intersect1d, 2, "ar1 ar2 assume_unique return_indices"),
    "lexsort": Counterpart(partitions.lexsort, 1, "keys axis"),
    "partition": Counterpart(partitions.partition, 2, "a kth axis kind order"),
    "setdiff1d": Counterpart(sets.setdiff1d, 2, "ar1 ar2 assume_unique"),
    "setxor1d": Counterpart(sets.setxor1d, 2, "ar1 ar2 assume_unique"),
    "union1d": Counterpart(sets.union1d, 2, "ar1 ar2"),
    "zeros_like": Counterpart(creation.zeros_like, 1, f"a {_LIKE}"),
    "empty_like": Counterpart(creation.empty_like, 1, "prototype dtype order subok shape"),
    "copy": Counterpart(lambda a: a, 1, "a order subok"),
    # Of numpy.linalg what has no factorization in it.
    "linalg.cross": Counterpart(products.cross, 2, "x1 x2 axis"),
    "linalg.diagonal": Counterpart(_last_diagonal, 1, "x offset"),
    "linalg.matmul": Counterpart(contraction.matmul, 2, "x1 x2"),
    "linalg.matrix_transpose": Counterpart(structural.matrix_transpose, 1, "x"),
    "linalg.norm": Counterpart(norms.norm, 1, "x ord axis keepdims"),
    "linalg.outer": Counterpart(products.outer, 2, "x1 x2"),
    "linalg.tensordot": Counterpart(contraction.tensordot, 2, "x1 x2 axes"),
    "linalg.trace": Counterpart(_last_trace, 1, "x offset dtype"),
    "linalg.vecdot": Counterpart(contraction.vecdot, 2, "x1 x2 axis"),
    "linalg.vector_norm": Counterpart(norms.vector_norm, 1, "x axis keepdims ord"),
}


class NumpyProtocols:
    """`__array_ufunc__` and `__array_function__` of every user tensor."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        if name in _COMPARISONS:
            # NumPy makes an array of a scalar on the left of a comparison before it asks here.
            inputs = tuple(x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in inputs)
        if any(isinstance(x, np.ndarray) for x in inputs):
            raise DTypeError(
                name,
                "an ndarray does not mix with tensors by itself; "
                "put it on the device with runtime.constant_from(...) first",
            )
        if method != "__call__":
            return _call_method(name, method, inputs, options)
        function = UFUNCS.get(name)
        known = inspect.signature(function).parameters if options and function else ()
        if function is None or any(key not in known for key in options):
            raise no_counterpart(name, options)
        return function(*inputs, **options)

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        inside = func.__module__.removeprefix("numpy").removeprefix("._core.multiarray")
        name = f"{inside}.{func.__name__}".lstrip(".")
        counterpart = FUNCTIONS.get(name)
        if counterpart is None:
            raise no_counterpart(name, ())
        return counterpart(name, args, kwargs)


def _call_method(name: str, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """`reduce`, `accumulate` or `outer` of a universal function."""
    given = {key: value for key, value in options.items() if value is not np._NoValue}
    function = UFUNCS.get(name)
    if method == "outer" and not given and function is not None and len(inputs) == 2:
        anchor = next(x for x in inputs if isinstance(x, Value))
        first, second = (calling.lift(f"{name}.outer", x, anchor) for x in inputs)
        places = tuple(range(first.ndim, first.ndim + second.ndim))
        return function(structural.expand_dims(first, places) if places else first, second)
    function = _METHODS.get((name, method))
    known = () if function is None else inspect.signature(function).parameters
    if function is None or any(key not in known for key in given):
        raise no_counterpart(f"{name}.{method}", given)
    return function(*inputs, **{"axis": 0, **given})
