"""Primitives that only change a tensor's layout, and the helpers that apply them.

The `view` of such a primitive is a function from layout to layout, so it never reaches a backend
(a reshape that strides cannot express is copied first by the interpreter).  The public functions
built on these primitives are in `structural`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

from ..errors import AxisError, DTypeError, ShapeError
from ..layout import Layout
from ..tensor import ShapeDtype
from . import joining, reduction_rules
from .primitive import Primitive
from .value import Value, apply

Shape = tuple[int, ...]


def _transpose_shape(x: ShapeDtype, *, permutation: Shape) -> ShapeDtype:
    return ShapeDtype(tuple(x.shape[axis] for axis in permutation), x.dtype)


def inverse_permutation(permutation: Sequence[int]) -> Shape:
    """The permutation that undoes `permutation`."""
    inverse = [0] * len(permutation)
    for position, axis in enumerate(permutation):
        inverse[axis] = position
    return tuple(inverse)


TRANSPOSE: Primitive = Primitive(
    "transpose", ("x",), _transpose_shape,
    vjp=lambda g, *, permutation: permuted(g, inverse_permutation(permutation)),
    jvp=lambda t, *, permutation: permuted(t, permutation),
    view=lambda layout, *, permutation: layout.transpose(permutation),
)  # fmt: skip


def _reshape_shape(x: ShapeDtype, *, shape: Shape) -> ShapeDtype:
    if prod(x.shape) != prod(shape):
        raise ShapeError(
            "reshape",
            f"{prod(x.shape)} elements of shape {x.shape} do not fill shape {shape}",
            (x.shape, shape),
        )
    return ShapeDtype(shape, x.dtype)


RESHAPE: Primitive = Primitive(
    "reshape", ("x",), _reshape_shape,
    vjp=lambda g, x_like: reshaped(g, x_like.shape),
    jvp=lambda t, *, shape: reshaped(t, shape),
    view=lambda layout, *, shape: layout.reshape(shape),
)  # fmt: skip


def _broadcast_in_dim_shape(x: ShapeDtype, *, shape: Shape, axes: Shape) -> ShapeDtype:
    if len(axes) != len(x.shape) or any(a >= b for a, b in zip(axes, axes[1:], strict=False)):
        raise AxisError(
            "broadcast_in_dim",
            f"axes {axes} must name, in ascending order, one axis of the result for each of the "
            f"{len(x.shape)} axes of the tensor",
            axis=axes,
            ndim=len(shape),
        )
    for axis, extent in zip(axes, x.shape, strict=True):
        if not 0 <= axis < len(shape) or extent not in (1, shape[axis]):
            raise ShapeError(
                "broadcast_in_dim",
                f"shape {x.shape} does not broadcast along axes {axes} of {shape}",
                (x.shape, shape),
            )
    return ShapeDtype(shape, x.dtype)


def _unbroadcast(g: Value, x: ShapeDtype, shape: Shape, axes: Shape) -> Any:
    repeated = set(range(len(shape))) - set(axes)
    repeated.update(
        axis for axis, extent in zip(axes, x.shape, strict=True) if extent != shape[axis]
    )
    return reshaped(reduction_rules.summed(g, tuple(sorted(repeated))), x.shape)


BROADCAST_IN_DIM: Primitive = Primitive(
    "broadcast_in_dim", ("x",), _broadcast_in_dim_shape,
    vjp=lambda g, x_like, *, shape, axes: _unbroadcast(g, x_like, shape, axes),
    jvp=lambda t, *, shape, axes: apply(BROADCAST_IN_DIM, t, shape=shape, axes=axes),
    view=lambda layout, *, shape, axes: layout.broadcast_in_dim(shape, axes),
)  # fmt: skip


#: A tensor as a constant: what is computed from it has no derivative with respect to it.
STOP_GRADIENT: Primitive = Primitive(
    "stop_gradient", ("x",), lambda x: ShapeDtype(x.shape, x.dtype), view=lambda layout: layout
)


def detached(x: Value) -> Any:
    """`x` without a derivative, for shifts and the like that cancel in the result."""
    return apply(STOP_GRADIENT, x)


def _slice_shape(x: ShapeDtype, *, starts: Shape, stops: Shape, steps: Shape) -> ShapeDtype:
    shape = []
    for extent, start, stop, step in zip(x.shape, starts, stops, steps, strict=True):
        if not (0 <= start <= stop <= extent and step > 0):
            raise ShapeError(
                "slice",
                f"starts {starts}, stops {stops}, steps {steps} do not select from shape "
                f"{x.shape}; 0 <= start <= stop <= extent and steps above 0 are needed",
                (x.shape,),
            )
        shape.append(-(-(stop - start) // step))
    return ShapeDtype(tuple(shape), x.dtype)


def _slice_vjp(g: Value, x: ShapeDtype, starts: Shape, steps: Shape) -> Any:
    """Each element back to its place; true zeros between and around."""
    low, high = [], []
    for extent, count, start, step in zip(x.shape, g.shape, starts, steps, strict=True):
        before = start if count else extent
        low.append(before)
        high.append(extent - before - (1 + (count - 1) * step if count else 0))
    return joining.zero_padded(g, tuple(low), tuple(high), tuple(step - 1 for step in steps))


SLICE: Primitive = Primitive(
    "slice", ("x",), _slice_shape,
    vjp=lambda g, x_like, *, starts, steps: _slice_vjp(g, x_like, starts, steps),
    jvp=lambda t, *, starts, stops, steps: sliced(t, starts, stops, steps),
    view=lambda layout, *, starts, stops, steps: layout.slice(starts, stops, steps),
)  # fmt: skip


def _flip_shape(x: ShapeDtype, *, axes: Shape) -> ShapeDtype:
    return ShapeDtype(x.shape, x.dtype)


def _flip_view(layout: Layout, *, axes: Shape) -> Layout:
    return layout.flip(axes)


FLIP: Primitive = Primitive(
    "flip", ("x",), _flip_shape,
    vjp=lambda g, *, axes: apply(FLIP, g, axes=axes),
    jvp=lambda t, *, axes: apply(FLIP, t, axes=axes),
    view=_flip_view,
)  # fmt: skip


def permuted(x: Value, permutation: Shape) -> Any:
    """Axes in another order; `x` itself if the order is the same."""
    if permutation == tuple(range(len(permutation))):
        return x
    return apply(TRANSPOSE, x, permutation=permutation)


def reshaped(x: Value, shape: Shape) -> Any:
    """Another shape of as many elements; `x` itself if it is the same."""
    return x if x.shape == shape else apply(RESHAPE, x, shape=shape)


def sliced(x: Value, starts: Shape, stops: Shape, steps: Shape) -> Any:
    """Positive-step slices of every axis; `x` itself if nothing is cut."""
    if stops == x.shape and not any(starts) and all(step == 1 for step in steps):
        return x
    return apply(SLICE, x, starts=starts, stops=stops, steps=steps)


def part(x: Value, axis: int, start: int, stop: int) -> Any:
    """The elements from `start` to before `stop` of one axis, a view."""
    starts, stops = [0] * x.ndim, list(x.shape)
    starts[axis], stops[axis] = start, stop
    return sliced(x, tuple(starts), tuple(stops), (1,) * x.ndim)


def picked(x: Value, axis: int, index: int) -> Any:
    """The elements at one place of an axis, without that axis: a view."""
    others = (*x.shape[:axis], *x.shape[axis + 1 :])
    return reshaped(part(x, axis, index, index + 1), others)


def as_matrix(x: Value, rows: Shape, columns: Shape) -> Any:
    """Some axes as the rows of a matrix, all others as its columns, in the order given."""
    extents = tuple(prod(x.shape[axis] for axis in axes) for axes in (rows, columns))
    return reshaped(permuted(x, rows + columns), extents)


def other_axes(x: Value, *axes: int) -> Shape:
    """The axes of a tensor that are not among `axes`, in order."""
    return tuple(axis for axis in range(x.ndim) if axis not in axes)


def as_shape(op: str, shape: Any) -> Shape:
    """A tuple of extents from an integer or a sequence; raises DTypeError or ShapeError."""
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        found = tuple(operator.index(extent) for extent in items)
    except TypeError:
        raise DTypeError(op, f"a shape consists of integers, got {shape!r}") from None
    if any(extent < 0 for extent in found):
        raise ShapeError(op, f"negative extents in shape {found}", (found,))
    return found
