"""One short call of every public function, for the page that says what runs where.

`CALLS` maps a function to a program of its tensors: `x`, a (3, 4) matrix, `y`, another, `i`, a row
of small integers, and `m`, a matrix of bools.  Aliases stand once, under the first name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tenferro_wgpu as tw

Program = Callable[[Any], Any]

#: Public functions that compute nothing on a device, or only call another one.
NO_TENSORS = {
    "__array_namespace_info__", "broadcast_shapes", "can_cast", "can_wait", "current_runtime",
    "default_runtime", "device_get", "device_get_async", "devices", "finfo", "from_dlpack",
    "getitem_async", "iinfo", "init_async", "isdtype", "jvp", "nonzero_async", "result_type",
    "set_default_runtime", "tune", "unique_async", "warmup",
    "intersect1d_async", "setdiff1d_async", "setxor1d_async", "union1d_async",
}  # fmt: skip

ONE = (
    "negative", "abs", "sign", "square", "reciprocal", "sqrt", "rsqrt", "cbrt", "exp", "exp2",
    "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sigmoid", "erf", "erfc", "lgamma",
    "digamma", "floor", "ceil", "round", "trunc", "isnan", "isinf", "isfinite", "signbit",
    "angle", "conj", "real", "imag", "positive", "deg2rad", "rad2deg", "nan_to_num",
    "bitwise_count", "bitwise_not", "logical_not",
    "sum", "prod", "max", "min", "mean", "var", "std", "any",
    "all", "argmax", "argmin", "count_nonzero", "sum_of_squares", "logsumexp", "norm", "nansum",
    "nanmean", "nanmax", "nanmin", "nanmedian", "average", "cov", "diff", "softmax",
    "log_softmax", "relu", "softplus", "silu", "gelu", "sort", "argsort", "median", "unique",
    "unique_all", "unique_counts", "unique_inverse", "unique_values", "nonzero", "argwhere",
    "flatnonzero", "ravel", "flatten", "matrix_transpose", "fliplr", "flipud", "flip", "rot90",
    "diagonal", "diag", "embed_diagonal", "tril", "triu", "trace", "atleast_1d", "atleast_2d",
    "atleast_3d", "empty_like", "zeros_like", "ones_like", "gradient", "trapezoid", "sinc",
    "unwrap", "ptp", "corrcoef", "nanvar", "nanstd",
)  # fmt: skip
TWO = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "pow",
    "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "logaddexp", "copysign",
    "nextafter", "complex", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift", "isclose", "allclose", "array_equal", "divmod",
    "outer", "kron", "vecdot", "inner", "broadcast_arrays", "isin", "heaviside", "gcd", "lcm",
    "intersect1d", "setdiff1d", "setxor1d", "union1d",
)  # fmt: skip


SCANS = (
    "cumulative_sum", "cumulative_prod", "cumsum", "cumprod", "cummax", "cummin",
    "cumulative_logsumexp",
)  # fmt: skip


def _one(name: str) -> Program:
    return lambda c: getattr(tw, name)(c.x)


def _along_rows(name: str) -> Program:
    return lambda c: getattr(tw, name)(c.x, axis=1)


def _two(name: str) -> Program:
    return lambda c: getattr(tw, name)(c.x, c.y)


CALLS: dict[str, Program] = {
    **{name: _one(name) for name in ONE},
    **{name: _two(name) for name in TWO},
    **{name: _along_rows(name) for name in SCANS},
    "clip": lambda c: tw.clip(c.x, c.y[0], c.y[1]),
    "where": lambda c: tw.where(c.m, c.x, c.y),
    "select": lambda c: tw.select(c.m, c.x, c.y),
    "compare": lambda c: tw.compare(c.x, c.y, "Eq"),
    "astype": lambda c: tw.astype(c.x, tw.float32),
    "polygamma": lambda c: tw.polygamma(1, c.x),
    "reduce_sum": lambda c: tw.reduce_sum(c.x, (0,)),
    "reduce_prod": lambda c: tw.reduce_prod(c.x, (0,)),
    "reduce_max": lambda c: tw.reduce_max(c.x, (0,)),
    "reduce_min": lambda c: tw.reduce_min(c.x, (0,)),
    "quantile": lambda c: tw.quantile(c.x, 0.3),
    "percentile": lambda c: tw.percentile(c.x, 30),
    "nanquantile": lambda c: tw.nanquantile(c.x, 0.3),
    "nanpercentile": lambda c: tw.nanpercentile(c.x, 30),
    "partition": lambda c: tw.partition(c.x, 1),
    "argpartition": lambda c: tw.argpartition(c.x, 1),
    "lexsort": lambda c: tw.lexsort((c.x, c.y)),
    "delete": lambda c: tw.delete(c.x, [0, -1], axis=1),
    "insert": lambda c: tw.insert(c.x, [0, 2], c.y[:, :2], axis=1),
    "histogram2d": lambda c: tw.histogram2d(c.x[0], c.y[0], 3, ((0, 2), (0, 2))),
    "histogramdd": lambda c: tw.histogramdd(c.x[:, :2], 3, ((0, 2), (0, 2))),
    "polyval": lambda c: tw.polyval(c.y[0], c.x),
    "topk": lambda c: tw.topk(c.x, 2),
    "searchsorted": lambda c: tw.searchsorted(tw.sort(c.x[0]), c.y),
    "digitize": lambda c: tw.digitize(c.x, tw.sort(c.y[0])),
    "bincount": lambda c: tw.bincount(c.i, weights=c.x[0]),
    "histogram": lambda c: tw.histogram(c.x, bins=3, range=(0, 2)),
    "masked_softmax": lambda c: tw.masked_softmax(c.x, c.m),
    "masked_log_softmax": lambda c: tw.masked_log_softmax(c.x, c.m),
    "layer_norm": lambda c: tw.layer_norm(c.x),
    "rms_norm": lambda c: tw.rms_norm(c.x),
    "vector_norm": lambda c: tw.vector_norm(c.x, ord=1),
    "reshape": lambda c: tw.reshape(c.x, (4, 3), order="F"),
    "permute_dims": lambda c: tw.permute_dims(c.x, (1, 0)),
    "transpose": lambda c: tw.transpose(c.x) + c.y.T,
    "swapaxes": lambda c: tw.swapaxes(c.x, 0, 1),
    "moveaxis": lambda c: tw.moveaxis(c.x, 0, 1),
    "expand_dims": lambda c: tw.expand_dims(c.x, axis=0),
    "squeeze": lambda c: tw.squeeze(c.x[:1], axis=0),
    "broadcast_to": lambda c: tw.broadcast_to(c.x, (2, 3, 4)),
    "broadcast_in_dim": lambda c: tw.broadcast_in_dim(c.x, (3, 2, 4), (0, 2)),
    "roll": lambda c: tw.roll(c.x, 2, axis=1),
    "repeat": lambda c: tw.repeat(c.x, 2, axis=0),
    "tile": lambda c: tw.tile(c.x, (2, 1)),
    "split": lambda c: tw.split(c.x, 2, axis=1),
    "array_split": lambda c: tw.array_split(c.x, 3, axis=1),
    "unstack": lambda c: tw.unstack(c.x),
    "concatenate": lambda c: tw.concatenate([c.x, c.y]),
    "concat": lambda c: tw.concat([c.x, c.y]),
    "stack": lambda c: tw.stack([c.x, c.y]),
    "hstack": lambda c: tw.hstack([c.x, c.y]),
    "vstack": lambda c: tw.vstack([c.x, c.y]),
    "dstack": lambda c: tw.dstack([c.x, c.y]),
    "column_stack": lambda c: tw.column_stack([c.x, c.y]),
    "pad": lambda c: tw.pad(c.x, 1, "reflect"),
    "getitem": lambda c: tw.getitem(c.x, (slice(None, None, -2), [0, 2])),
    "take": lambda c: tw.take(c.x, c.i, axis=1),
    "take_along_axis": lambda c: tw.take_along_axis(c.x, tw.stack([c.i] * 3), axis=1),
    "put_along_axis": lambda c: tw.put_along_axis(c.x, tw.stack([c.i] * 3), c.y, axis=1),
    "gather": lambda c: tw.gather(c.x, [[1], [0]], axes=(0,), slice_sizes=(1, 4)),
    "scatter": lambda c: tw.scatter(c.x, [[1], [0]], tw.stack([c.y[:1]] * 2), axes=(0,)),
    "scatter_add": lambda c: tw.scatter_add(c.x, c.i[:3], c.y),
    "scatter_add_slices": lambda c: tw.scatter_add_slices(
        c.x, [[1], [0]], tw.stack([c.y[:1]] * 2), axes=(0,)
    ),
    "slice": lambda c: tw.slice(c.x, (0, 1), (2, 4), (1, 2)),
    "dynamic_slice": lambda c: tw.dynamic_slice(c.x, (1, 1), (2, 2)),
    "dynamic_update_slice": lambda c: tw.dynamic_update_slice(c.x, c.y[:2, :2], (1, 1)),
    "matmul": lambda c: tw.matmul(c.x, c.y.T),
    "dot": lambda c: tw.dot(c.x, c.y.T),
    "dot_general": lambda c: tw.dot_general(c.x, c.y, (((1,), (1,)), ((), ()))),
    "tensordot": lambda c: tw.tensordot(c.x, c.y, axes=((0,), (0,))),
    "cross": lambda c: tw.cross(c.x[:, :3], c.y[:, :3]),
    "convolve": lambda c: tw.convolve(c.x[0], c.y[1]),
    "correlate": lambda c: tw.correlate(c.x[0], c.y[1]),
    "conv": lambda c: tw.conv(c.x[None], c.y[:2, None, :2].repeat(3, axis=1)),
    "conv_transpose": lambda c: tw.conv_transpose(c.x[None], c.y[:, None, :2].repeat(2, axis=1)),
    "interp": lambda c: tw.interp(tw.real(c.x), tw.cumulative_sum(tw.abs(c.y[0]) + 1), c.y[1]),
    "zeros": lambda c: tw.zeros(3, dtype=c.x.dtype),
    "ones": lambda c: tw.ones(3, dtype=c.x.dtype),
    "full": lambda c: tw.full(3, 1, dtype=c.x.dtype),
    "full_like": lambda c: tw.full_like(c.x, 1),
    "empty": lambda c: tw.empty(3, dtype=c.x.dtype) * c.x.dtype.type(0),
    "eye": lambda c: tw.eye(3, 4, k=1, dtype=c.x.dtype),
    "tri": lambda c: tw.tri(3, dtype=c.x.dtype),
    "arange": lambda c: tw.arange(5, dtype=c.x.dtype),
    "linspace": lambda c: tw.linspace(0, 1, 5, dtype=c.x.dtype),
    "logspace": lambda c: tw.logspace(0, 1, 5, dtype=c.x.dtype),
    "geomspace": lambda c: tw.geomspace(1, 8, 4, dtype=c.x.dtype),
    "meshgrid": lambda c: tw.meshgrid(c.x[0], c.y[:, 0]),
    "indices": lambda c: tw.indices((2, 2), dtype=c.x.dtype),
    "asarray": lambda c: tw.asarray([0, 1], dtype=c.x.dtype),
    "from_flat": lambda c: tw.from_flat([0, 1, 1, 0], (2, 2), order="F").astype(c.x.dtype),
}
