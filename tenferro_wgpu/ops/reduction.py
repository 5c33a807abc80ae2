"""Reductions over any set of axes, with derivative rules that survive zeros and ties."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import as_dtype, float16, float32, int64, uint64
from ..errors import DTypeError, ShapeError
from ..tensor import ShapeDtype
from . import choice, joining, views
from . import elementwise as arithmetic
from .calling import as_axes, cast_to, lift, normalize_axes, normalize_axis, to_inexact
from .primitive import Primitive
from .table import ORDERED
from .value import Value, apply, constant_like

__all__ = [
    "argmax",
    "max",
    "mean",
    "min",
    "prod",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "sum",
]

Shape = tuple[int, ...]

# -- shapes -------------------------------------------------------------------------------------


def _drop(x: ShapeDtype, axes: Shape) -> Shape:
    return tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)


def _reduced_shape(x: ShapeDtype, *, axes: Shape) -> ShapeDtype:
    return ShapeDtype(_drop(x, axes), x.dtype)


def _extremum_shape(name: str) -> Callable[..., ShapeDtype]:
    def shape_rule(x: ShapeDtype, *, axes: Shape) -> ShapeDtype:
        shape = _drop(x, axes)
        if 0 in x.shape and 0 not in shape:
            raise ShapeError(
                name, f"no element to choose along axes {axes} of shape {x.shape}", (x.shape,)
            )
        return ShapeDtype(shape, x.dtype)

    return shape_rule


def _argmax_shape(x: ShapeDtype, *, axis: int) -> ShapeDtype:
    shape = _drop(x, (axis,))
    if x.shape[axis] == 0 and 0 not in shape:
        raise ShapeError(
            "argmax", f"no element to choose along axis {axis} of shape {x.shape}", (x.shape,)
        )
    return ShapeDtype(shape, int64)


# -- rules --------------------------------------------------------------------------------------


def _spread(g: Value, shape: Shape, axes: Shape) -> Any:
    """A reduced tensor repeated along the axes that were reduced."""
    kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
    return apply(views.BROADCAST_IN_DIM, g, shape=shape, axes=kept)


def _winners(x: Value, out: Value, axes: Shape) -> tuple[Any, Any]:
    """Where the extremum stands, and how often (at least 1, so that NaN divides nothing)."""
    wins = choice.equal(x, _spread(out, x.shape, axes))
    count = summed(choice.where(wins, constant_like(x, 1), constant_like(x, 0)), axes)
    return wins, choice.maximum(count, 1)


def _extremum_vjp(g: Value, x: Value, out: Value, axes: Shape) -> Any:
    wins, count = _winners(x, out, axes)
    share = _spread(arithmetic.divide(g, count), x.shape, axes)
    return choice.where(wins, share, constant_like(x, 0))


def _extremum_jvp(t: Value, x: Value, out: Value, axes: Shape) -> Any:
    wins, count = _winners(x, out, axes)
    return arithmetic.divide(summed(choice.where(wins, t, constant_like(t, 0)), axes), count)


def _running_products(x: Value) -> Any:
    """Products of all elements before each one along the last axis, by doubling."""

    def shifted(y: Value, distance: int) -> Any:
        one = constant_like(y, 1, shape=())
        rest = (0,) * (y.ndim - 1)
        return apply(
            joining.PAD, y, one,
            low=(*rest, distance), high=(*rest, -distance), interior=(*rest, 0),
        )  # fmt: skip

    running = shifted(x, 1)
    distance = 1
    while distance < x.shape[-1]:
        running = arithmetic.multiply(running, shifted(running, distance))
        distance *= 2
    return running


def _products_of_others(x: Value, axes: Shape) -> Any:
    """For each element the product of all others along `axes`: right with any zeros.

    A program of pads and products, so its own derivatives are right with zeros too.
    """
    kept = tuple(axis for axis in range(x.ndim) if axis not in axes)
    permutation = kept + axes
    moved = views.permuted(x, permutation)
    extents = tuple(x.shape[axis] for axis in kept)
    rows = views.reshaped(moved, (*extents, math.prod(x.shape[axis] for axis in axes)))
    if rows.shape[-1] <= 1:
        return constant_like(x, 1)
    last = (rows.ndim - 1,)
    before = _running_products(rows)
    behind = _running_products(apply(views.FLIP, rows, axes=last))
    others = arithmetic.multiply(before, apply(views.FLIP, behind, axes=last))
    return views.permuted(
        views.reshaped(others, moved.shape), views.inverse_permutation(permutation)
    )


def _prod_vjp(g: Value, x: Value, axes: Shape) -> Any:
    slope = arithmetic.conj(_products_of_others(x, axes))
    return arithmetic.multiply(_spread(g, x.shape, axes), slope)


def _prod_jvp(t: Value, x: Value, axes: Shape) -> Any:
    return summed(arithmetic.multiply(t, _products_of_others(x, axes)), axes)


# -- primitives ---------------------------------------------------------------------------------

REDUCE_SUM: Primitive = Primitive(
    "reduce_sum", ("x",), _reduced_shape,
    vjp=lambda g, x_like, *, axes: _spread(g, x_like.shape, axes),
    jvp=lambda t, *, axes: summed(t, axes),
)  # fmt: skip
REDUCE_PROD: Primitive = Primitive(
    "reduce_prod", ("x",), _reduced_shape,
    vjp=lambda g, x, *, axes: _prod_vjp(g, x, axes),
    jvp=lambda t, x, *, axes: _prod_jvp(t, x, axes),
)  # fmt: skip
REDUCE_MAX: Primitive = Primitive(
    "reduce_max", ("x",), _extremum_shape("max"),
    vjp=lambda g, x, out, *, axes: _extremum_vjp(g, x, out, axes),
    jvp=lambda t, x, out, *, axes: _extremum_jvp(t, x, out, axes),
)  # fmt: skip
REDUCE_MIN: Primitive = Primitive(
    "reduce_min", ("x",), _extremum_shape("min"),
    vjp=lambda g, x, out, *, axes: _extremum_vjp(g, x, out, axes),
    jvp=lambda t, x, out, *, axes: _extremum_jvp(t, x, out, axes),
)  # fmt: skip
ARGMAX: Primitive = Primitive("argmax", ("x",), _argmax_shape)


def summed(x: Value, axes: Shape) -> Any:
    """Sum over ascending non-negative axes; `x` itself over none."""
    return apply(REDUCE_SUM, x, axes=axes) if axes else x


# -- public functions ---------------------------------------------------------------------------


def _reduce(primitive: Primitive, x: Value, axes: Shape, keepdims: bool) -> Any:
    out = apply(primitive, x, axes=axes) if axes else x
    return _kept(out, x.shape, axes) if keepdims else out


def _kept(out: Value, shape: Shape, axes: Shape) -> Any:
    return views.reshaped(
        out, tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    )


def _accumulated(op: str, x: Any, dtype: Any) -> Value:
    """The operand in the dtype its sum or product is accumulated in (NumPy's widening)."""
    value = lift(op, x)
    if dtype is not None:
        return cast_to(value, as_dtype(dtype, op))
    kind = value.dtype.kind
    if kind in "bi":
        return cast_to(value, int64)
    return cast_to(value, uint64) if kind == "u" else value


def _ordered(op: str, x: Any) -> Value:
    value = lift(op, x)
    if value.dtype.kind not in ORDERED:
        raise DTypeError(
            op,
            f"{value.dtype} numbers have no order; take .real or abs(...) first",
            (value.dtype,),
        )
    return value


def sum(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """Sum over the given axes; without `axis`, over all.

    `axis` is None, an integer or a tuple; an empty tuple sums over nothing.  Bools and integers
    are accumulated in int64 or uint64, floats in their own dtype, or all in `dtype`.  The sum
    of nothing is 0.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.sum(tw.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [4.0, 6.0]
    """
    value = _accumulated("sum", x, dtype)
    return _reduce(REDUCE_SUM, value, normalize_axes("sum", axis, value.ndim), keepdims)


def prod(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """Product over the given axes; without `axis`, over all.

    Dtypes as in `sum`; the product of nothing is 1.  Derivatives are right where elements are 0.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.prod(tw.asarray([2.0, 3.0, 4.0])).item()
    24.0
    """
    value = _accumulated("prod", x, dtype)
    return _reduce(REDUCE_PROD, value, normalize_axes("prod", axis, value.ndim), keepdims)


def max(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Largest element along the given axes; NaN if there is one.

    Equal largest elements share the derivative in equal parts.

    Raises:
        ShapeError: if there is no element to choose from.
        DTypeError: for complex tensors.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.max(tw.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=1).tolist()
    [5.0, 4.0]
    """
    value = _ordered("max", x)
    return _reduce(REDUCE_MAX, value, normalize_axes("max", axis, value.ndim), keepdims)


def min(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Smallest element along the given axes; NaN if there is one.

    Equal smallest elements share the derivative in equal parts.

    Raises:
        ShapeError: if there is no element to choose from.
        DTypeError: for complex tensors.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.min(tw.asarray([[1.0, 5.0], [3.0, 4.0]]), axis=1).tolist()
    [1.0, 3.0]
    """
    value = _ordered("min", x)
    return _reduce(REDUCE_MIN, value, normalize_axes("min", axis, value.ndim), keepdims)


def mean(x: Any, /, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    """Arithmetic mean over the given axes; without `axis`, over all.

    Integers give the default float, or everything `dtype`.  float16 is accumulated in float32.
    The mean of nothing is NaN.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: for an axis that is no integer, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.mean(tw.asarray([1.0, 2.0, 6.0])).item()
    3.0
    """
    value = lift("mean", x)
    value = to_inexact(value) if dtype is None else cast_to(value, as_dtype(dtype, "mean"))
    result = value.dtype
    if result is float16:
        value = cast_to(value, float32)
    axes = normalize_axes("mean", axis, value.ndim)
    count = math.prod(value.shape[axis] for axis in axes)
    total = _reduce(REDUCE_SUM, value, axes, keepdims)
    return cast_to(arithmetic.divide(total, float(count)), result)


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """Index of the first largest element along an axis, as int64; of the first NaN if any.

    Without `axis`, the index into the flattened tensor.

    Raises:
        ShapeError: if there is no element to choose from.
        DTypeError: for complex tensors, and for an axis that is no integer.
        AxisError: if the axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> tw.argmax(tw.asarray([1.0, 5.0, 5.0])).item()
    1
    """
    value = _ordered("argmax", x)
    if axis is None:
        flat = views.reshaped(value, (value.size,))
        out = apply(ARGMAX, flat, axis=0)
        return _kept(out, value.shape, tuple(range(value.ndim))) if keepdims else out
    place = normalize_axis("argmax", axis, value.ndim)
    out = apply(ARGMAX, value, axis=place)
    return _kept(out, value.shape, (place,)) if keepdims else out


def reduce_sum(x: Any, /, axes: Sequence[int]) -> Any:
    """Sum over `axes`, in the Rust project's spelling; no axes leave the tensor as it is.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: if `axes` is no list of integers.

    >>> import tenferro_wgpu as tw
    >>> tw.reduce_sum(tw.asarray([[1.0, 2.0], [3.0, 4.0]]), [0, 1]).item()
    10.0
    """
    return sum(x, axis=as_axes("reduce_sum", axes))


def reduce_prod(x: Any, /, axes: Sequence[int]) -> Any:
    """Product over `axes`; no axes leave the tensor as it is.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: if `axes` is no list of integers.

    >>> import tenferro_wgpu as tw
    >>> tw.reduce_prod(tw.asarray([2.0, 3.0]), [0]).item()
    6.0
    """
    return prod(x, axis=as_axes("reduce_prod", axes))


def reduce_max(x: Any, /, axes: Sequence[int]) -> Any:
    """Largest element over `axes`; no axes leave the tensor as it is.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: if `axes` is no list of integers.
        ShapeError: if there is no element to choose from.

    >>> import tenferro_wgpu as tw
    >>> tw.reduce_max(tw.asarray([2.0, 3.0]), [0]).item()
    3.0
    """
    return max(x, axis=as_axes("reduce_max", axes))


def reduce_min(x: Any, /, axes: Sequence[int]) -> Any:
    """Smallest element over `axes`; no axes leave the tensor as it is.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        DTypeError: if `axes` is no list of integers.
        ShapeError: if there is no element to choose from.

    >>> import tenferro_wgpu as tw
    >>> tw.reduce_min(tw.asarray([2.0, 3.0]), [0]).item()
    2.0
    """
    return min(x, axis=as_axes("reduce_min", axes))
