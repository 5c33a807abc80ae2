"""What the reductions of this package share: operands, dtypes, kept axes, masks.

Called by `reduction`, `statistics` and `activation`; nothing here is public.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import as_dtype, bool_, float16, float32, int32, int64, real_dtype, uint64
from ..errors import DTypeError, ShapeError
from . import choice, views
from . import elementwise as arithmetic
from .calling import broadcast_shapes, cast_to, lift, to_inexact
from .primitive import Primitive
from .reduction_rules import Shape
from .table import ORDERED
from .value import Value, apply, constant_like


def reduced(primitive: Primitive, x: Value, axes: Shape, keepdims: bool = False) -> Any:
    """A reduction over ascending non-negative axes; `x` itself over none."""
    out = apply(primitive, x, axes=axes) if axes else x
    return with_kept_axes(out, x.shape, axes) if keepdims else out


def with_kept_axes(out: Value, shape: Shape, axes: Shape) -> Any:
    """A result of reducing `axes` of `shape` with extents of 1 in their place."""
    return views.reshaped(
        out, tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    )


def count_along(x: Value, axes: Shape) -> int:
    """Elements of `x` that one result of a reduction over `axes` is made of."""
    return math.prod(x.shape[axis] for axis in axes)


#: What is summed in another dtype, as in NumPy: of bools it counts how many are true.
_WIDER = {float16: float32, bool_: int32}


def widened(x: Value) -> Value:
    """The operand in the dtype its sums are computed in; they are cast back at the end."""
    return cast_to(x, _WIDER.get(x.dtype, x.dtype))


def inexact(op: str, x: Any, dtype: Any = None) -> tuple[Value, np.dtype[Any]]:
    """The operand as it is computed with, and the dtype of the result."""
    value = lift(op, x)
    value = to_inexact(value) if dtype is None else cast_to(value, as_dtype(dtype, op))
    return widened(value), value.dtype


def as_real(result: np.dtype[Any], out: Any) -> Any:
    """`out` in the real dtype that belongs to `result`."""
    return cast_to(out, real_dtype(result))


def accumulated(op: str, x: Any, dtype: Any) -> Value:
    """The operand in the dtype of its sum or product (NumPy's widening of integers)."""
    value = lift(op, x)
    if dtype is not None:
        return cast_to(value, as_dtype(dtype, op))
    kind = value.dtype.kind
    if kind in "bi":
        return cast_to(value, int64)
    return cast_to(value, uint64) if kind == "u" else value


def ordered(op: str, x: Any) -> Value:
    """A tensor whose elements have an order; raises DTypeError for complex ones."""
    value = lift(op, x)
    if value.dtype.kind not in ORDERED:
        raise DTypeError(
            op,
            f"{value.dtype} numbers have no order; take .real or abs(...) first",
            (value.dtype,),
        )
    return value


def squared_modulus(x: Value) -> Any:
    """x * x of a real tensor; the real number |x|**2 of a complex one."""
    if x.dtype.kind != "c":
        return arithmetic.multiply(x, x)
    real, imaginary = arithmetic.real(x), arithmetic.imag(x)
    return arithmetic.add(
        arithmetic.multiply(real, real), arithmetic.multiply(imaginary, imaginary)
    )


def chosen(op: str, x: Value, where: Any, otherwise: Any) -> Any:
    """`x` where a mask holds, elsewhere the scalar `otherwise`; `x` itself without a mask."""
    if where is None:
        return x
    mask = lift(op, where, x) if not isinstance(where, bool) else where
    if isinstance(mask, Value):
        if mask.dtype is not bool_:
            raise DTypeError(op, f"where is a bool tensor, got {mask.dtype}", (mask.dtype,))
        if broadcast_shapes(op, mask.shape, x.shape) != x.shape:
            raise ShapeError(
                op, f"where of shape {mask.shape} does not broadcast to {x.shape}", (mask.shape,)
            )
    return choice.where(mask, x, constant_like(x, otherwise, shape=()))
