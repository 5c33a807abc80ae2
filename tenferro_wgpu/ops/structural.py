"""Operations that rearrange elements without computing: views of the layout, and their functions.

Every primitive here but none of its rules touches data: the `view` of a primitive is a function
from layout to layout, so these operations never reach a backend (a reshape that strides cannot
express is copied first by the interpreter).  Joining and padding live in `joining`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from math import prod
from typing import Any

from ..errors import AxisError, DTypeError, ShapeError
from ..layout import Layout
from ..tensor import ShapeDtype
from . import joining, reduction
from .calling import broadcast_shapes, lift, normalize_axes, normalize_axis
from .primitive import Primitive
from .value import Value, apply

__all__ = [
    "broadcast_in_dim",
    "broadcast_to",
    "expand_dims",
    "flatten",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "transpose",
]

Shape = tuple[int, ...]

# -- primitives ---------------------------------------------------------------------------------


def _transpose_shape(x: ShapeDtype, *, permutation: Shape) -> ShapeDtype:
    return ShapeDtype(tuple(x.shape[axis] for axis in permutation), x.dtype)


def inverse_permutation(permutation: Sequence[int]) -> Shape:
    """The permutation that undoes `permutation`."""
    inverse = [0] * len(permutation)
    for position, axis in enumerate(permutation):
        inverse[axis] = position
    return tuple(inverse)


TRANSPOSE = Primitive(
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


RESHAPE = Primitive(
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
    return reshaped(reduction.summed(g, tuple(sorted(repeated))), x.shape)


BROADCAST_IN_DIM = Primitive(
    "broadcast_in_dim", ("x",), _broadcast_in_dim_shape,
    vjp=lambda g, x_like, *, shape, axes: _unbroadcast(g, x_like, shape, axes),
    jvp=lambda t, *, shape, axes: apply(BROADCAST_IN_DIM, t, shape=shape, axes=axes),
    view=lambda layout, *, shape, axes: layout.broadcast_in_dim(shape, axes),
)  # fmt: skip


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


SLICE = Primitive(
    "slice", ("x",), _slice_shape,
    vjp=lambda g, x_like, *, starts, steps: _slice_vjp(g, x_like, starts, steps),
    jvp=lambda t, *, starts, stops, steps: sliced(t, starts, stops, steps),
    view=lambda layout, *, starts, stops, steps: layout.slice(starts, stops, steps),
)  # fmt: skip


def _flip_shape(x: ShapeDtype, *, axes: Shape) -> ShapeDtype:
    return ShapeDtype(x.shape, x.dtype)


def _flip_view(layout: Layout, *, axes: Shape) -> Layout:
    return layout.flip(axes)


FLIP = Primitive(
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


# -- public functions ---------------------------------------------------------------------------


def reshape(x: Any, /, shape: Any, order: str = "C") -> Any:
    """Give a tensor another shape with the same elements.

    One extent may be -1 and is inferred.  With ``order="F"`` the first axis runs fastest, both
    when reading and when placing.  A view where strides allow, else a copy.

    Raises:
        ShapeError: if the numbers of elements differ, or for another `order`.

    >>> import tenferro_wgpu as tw
    >>> tw.reshape(tw.asarray([1.0, 2.0, 3.0, 4.0]), (2, -1)).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> tw.reshape(tw.asarray([1.0, 2.0, 3.0, 4.0]), (2, 2), order="F").tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    value = lift("reshape", x)
    wanted = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    unknown = [axis for axis, extent in enumerate(wanted) if extent == -1]
    if unknown:
        known = prod(as_shape("reshape", [n for n in wanted if n != -1]))
        if len(unknown) > 1 or known == 0 or value.size % known:
            raise ShapeError(
                "reshape",
                f"cannot infer -1 in {tuple(wanted)} from shape {value.shape}",
                (value.shape,),
            )
        wanted[unknown[0]] = value.size // known
    target = as_shape("reshape", wanted)
    if order == "C":
        return reshaped(value, target)
    if order != "F":
        raise ShapeError("reshape", f'order must be "C" or "F", got {order!r}')
    return _reversed_axes(reshaped(_reversed_axes(value), target[::-1]))


def _reversed_axes(x: Value) -> Any:
    return permuted(x, tuple(range(x.ndim))[::-1])


def ravel(x: Any, /, order: str = "C") -> Any:
    """All elements along one axis; a view where strides allow.

    >>> import tenferro_wgpu as tw
    >>> tw.ravel(tw.asarray([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return reshape(x, (-1,) if lift("ravel", x).size else (0,), order)


def flatten(x: Any, /, order: str = "C") -> Any:
    """All elements along one axis: the same as `ravel`, as tensors never change.

    >>> import tenferro_wgpu as tw
    >>> tw.flatten(tw.asarray([[1.0], [2.0]])).tolist()
    [1.0, 2.0]
    """
    return ravel(x, order)


def transpose(x: Any, /, axes: Any = None) -> Any:
    """Permute the axes of a tensor; without `axes`, reverse them.  Always a view.

    Raises:
        AxisError: if `axes` is not a permutation of the tensor's axes.

    >>> import tenferro_wgpu as tw
    >>> tw.transpose(tw.asarray([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    value = lift("transpose", x)
    if axes is None:
        return _reversed_axes(value)
    permutation = tuple(normalize_axis("transpose", axis, value.ndim) for axis in axes)
    if sorted(permutation) != list(range(value.ndim)):
        raise AxisError(
            "transpose",
            f"axes {axes!r} is not a permutation of the {value.ndim} axes",
            axis=axes,
            ndim=value.ndim,
        )
    return permuted(value, permutation)


def permute_dims(x: Any, /, axes: Any) -> Any:
    """Permute the axes of a tensor: the Array API's name of `transpose`.

    >>> import tenferro_wgpu as tw
    >>> tw.permute_dims(tw.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return transpose(x, axes)


def matrix_transpose(x: Any, /) -> Any:
    """Exchange the last two axes of a tensor of at least two axes.

    >>> import tenferro_wgpu as tw
    >>> tw.matrix_transpose(tw.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    value = lift("matrix_transpose", x)
    if value.ndim < 2:
        raise ShapeError(
            "matrix_transpose",
            f"at least two axes are needed, got shape {value.shape}",
            (value.shape,),
        )
    return swapaxes(value, -2, -1)


def swapaxes(x: Any, /, axis1: int, axis2: int) -> Any:
    """Exchange two axes of a tensor.

    >>> import tenferro_wgpu as tw
    >>> tw.swapaxes(tw.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    value = lift("swapaxes", x)
    first = normalize_axis("swapaxes", axis1, value.ndim)
    second = normalize_axis("swapaxes", axis2, value.ndim)
    permutation = list(range(value.ndim))
    permutation[first], permutation[second] = second, first
    return permuted(value, tuple(permutation))


def moveaxis(x: Any, /, source: Any, destination: Any) -> Any:
    """Move axes to other positions; the remaining axes keep their order.

    >>> import tenferro_wgpu as tw
    >>> tw.moveaxis(tw.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    value = lift("moveaxis", x)
    sources = source if isinstance(source, (tuple, list)) else (source,)
    targets = destination if isinstance(destination, (tuple, list)) else (destination,)
    if len(sources) != len(targets):
        raise AxisError(
            "moveaxis",
            f"{len(sources)} source axes need as many destinations, got {len(targets)}",
            ndim=value.ndim,
        )
    normalize_axes("moveaxis", tuple(sources), value.ndim)
    normalize_axes("moveaxis", tuple(targets), value.ndim)
    moved = {
        normalize_axis("moveaxis", target, value.ndim): normalize_axis("moveaxis", axis, value.ndim)
        for axis, target in zip(sources, targets, strict=True)
    }
    taken = set(moved.values())
    rest = iter(axis for axis in range(value.ndim) if axis not in taken)
    return permuted(
        value,
        tuple(moved[axis] if axis in moved else next(rest) for axis in range(value.ndim)),
    )


def broadcast_in_dim(x: Any, /, shape: Any, axes: Any) -> Any:
    """Place axis i of a tensor at axis ``axes[i]`` of `shape`, repeating along the rest.

    `axes` ascend.  A view: nothing is copied.

    >>> import tenferro_wgpu as tw
    >>> tw.broadcast_in_dim(tw.asarray([1.0, 2.0]), (2, 3), (0,)).tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    value = lift("broadcast_in_dim", x)
    target = as_shape("broadcast_in_dim", shape)
    places = tuple(normalize_axis("broadcast_in_dim", axis, len(target)) for axis in axes)
    return apply(BROADCAST_IN_DIM, value, shape=target, axes=places)


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """Repeat a tensor to `shape` by NumPy's broadcasting.  A view: nothing is copied.

    Raises:
        ShapeError: if the shape does not broadcast to `shape`.

    >>> import tenferro_wgpu as tw
    >>> tw.broadcast_to(tw.asarray([1.0, 2.0]), (2, 2)).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    value = lift("broadcast_to", x)
    target = as_shape("broadcast_to", shape)
    if value.shape == target:
        return value
    added = len(target) - value.ndim
    if added < 0 or broadcast_shapes("broadcast_to", value.shape, target) != target:
        raise ShapeError(
            "broadcast_to",
            f"shape {value.shape} does not broadcast to {target}",
            (value.shape, target),
        )
    axes = tuple(range(added, len(target)))
    return apply(BROADCAST_IN_DIM, value, shape=target, axes=axes)


def expand_dims(x: Any, /, axis: Any = 0) -> Any:
    """Insert axes of extent 1 at the given positions of the result.

    >>> import tenferro_wgpu as tw
    >>> tw.expand_dims(tw.ones((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    value = lift("expand_dims", x)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    new_axes = normalize_axes("expand_dims", axis, value.ndim + count)
    extents = iter(value.shape)
    return reshaped(
        value,
        tuple(1 if place in new_axes else next(extents) for place in range(value.ndim + count)),
    )


def squeeze(x: Any, /, axis: Any = None) -> Any:
    """Drop the given axes, which must have extent 1; without `axis`, every such axis.

    >>> import tenferro_wgpu as tw
    >>> tw.squeeze(tw.ones((1, 3, 1))).shape
    (3,)
    """
    value = lift("squeeze", x)
    if axis is None:
        return reshaped(value, tuple(extent for extent in value.shape if extent != 1))
    axes = normalize_axes("squeeze", axis, value.ndim)
    for place in axes:
        if value.shape[place] != 1:
            raise ShapeError(
                "squeeze",
                f"axis {place} of shape {value.shape} has extent {value.shape[place]}, not 1",
                (value.shape,),
            )
    return reshaped(value, tuple(n for place, n in enumerate(value.shape) if place not in axes))


def flip(x: Any, /, axis: Any = None) -> Any:
    """Reverse the elements along the given axes; without `axis`, along all.  A view.

    >>> import tenferro_wgpu as tw
    >>> tw.flip(tw.asarray([1.0, 2.0, 3.0])).tolist()
    [3.0, 2.0, 1.0]
    """
    value = lift("flip", x)
    axes = normalize_axes("flip", axis, value.ndim)
    return apply(FLIP, value, axes=axes) if axes else value
