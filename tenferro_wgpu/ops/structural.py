"""Functions that rearrange elements without computing: views of the same buffer where possible."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

from ..errors import AxisError, DTypeError, ShapeError
from . import views
from .calling import as_axes, broadcast_shapes, check_choice, lift, normalize_axes, normalize_axis
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


def reshape(x: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """Give a tensor another shape with the same elements.

    One extent may be -1 and is inferred.  With ``order="F"`` the first axis runs fastest, both
    when reading and when placing.  A view where strides allow, else a copy; `copy` is accepted
    for the Array API and changes nothing, as tensors are immutable.

    Raises:
        ShapeError: if the numbers of elements differ.
        ArgumentError: for another `order`.
        DTypeError: for a shape that is not of integers.

    >>> import tenferro_wgpu as tw
    >>> tw.reshape(tw.asarray([1.0, 2.0, 3.0, 4.0]), (2, -1)).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    >>> tw.reshape(tw.asarray([1.0, 2.0, 3.0, 4.0]), (2, 2), order="F").tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    del copy
    value = lift("reshape", x)
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        wanted = [operator.index(extent) for extent in extents]
    except TypeError:
        raise DTypeError("reshape", f"a shape consists of integers, got {shape!r}") from None
    unknown = [axis for axis, extent in enumerate(wanted) if extent == -1]
    if unknown:
        known = prod(views.as_shape("reshape", [n for n in wanted if n != -1]))
        if len(unknown) > 1 or known == 0 or value.size % known:
            raise ShapeError(
                "reshape",
                f"cannot infer -1 in {tuple(wanted)} from shape {value.shape}",
                (value.shape,),
            )
        wanted[unknown[0]] = value.size // known
    target = views.as_shape("reshape", wanted)
    check_choice("reshape", "order", order, ("C", "F"))
    if order == "C":
        return views.reshaped(value, target)
    return _reversed_axes(views.reshaped(_reversed_axes(value), target[::-1]))


def _reversed_axes(x: Value) -> Any:
    return views.permuted(x, tuple(range(x.ndim))[::-1])


def ravel(x: Any, /, order: str = "C") -> Any:
    """All elements along one axis; a view where strides allow.

    Raises:
        ArgumentError: for another `order` than "C" and "F".

    >>> import tenferro_wgpu as tw
    >>> tw.ravel(tw.asarray([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return reshape(x, (-1,) if lift("ravel", x).size else (0,), order)


def flatten(x: Any, /, order: str = "C") -> Any:
    """All elements along one axis: the same as `ravel`, as tensors never change.

    Raises:
        ArgumentError: for another `order` than "C" and "F".

    >>> import tenferro_wgpu as tw
    >>> tw.flatten(tw.asarray([[1.0], [2.0]])).tolist()
    [1.0, 2.0]
    """
    return ravel(x, order)


def transpose(x: Any, /, axes: Any = None) -> Any:
    """Permute the axes of a tensor; without `axes`, reverse them.  Always a view.

    Raises:
        AxisError: if `axes` is not a permutation of the tensor's axes.
        DTypeError: if `axes` is no list of integers.

    >>> import tenferro_wgpu as tw
    >>> tw.transpose(tw.asarray([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    value = lift("transpose", x)
    if axes is None:
        return _reversed_axes(value)
    permutation = tuple(
        normalize_axis("transpose", axis, value.ndim) for axis in as_axes("transpose", axes)
    )
    if sorted(permutation) != list(range(value.ndim)):
        raise AxisError(
            "transpose",
            f"axes {axes!r} is not a permutation of the {value.ndim} axes",
            axis=axes,
            ndim=value.ndim,
        )
    return views.permuted(value, permutation)


def permute_dims(x: Any, /, axes: Any) -> Any:
    """Permute the axes of a tensor: the Array API's name of `transpose`.

    Raises:
        AxisError, DTypeError: as `transpose`.

    >>> import tenferro_wgpu as tw
    >>> tw.permute_dims(tw.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return transpose(x, axes)


def matrix_transpose(x: Any, /) -> Any:
    """Exchange the last two axes of a tensor of at least two axes.

    Raises:
        ShapeError: for fewer axes.

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

    Raises:
        AxisError: if an axis does not exist.
        DTypeError: for an axis that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.swapaxes(tw.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    value = lift("swapaxes", x)
    first = normalize_axis("swapaxes", axis1, value.ndim)
    second = normalize_axis("swapaxes", axis2, value.ndim)
    permutation = list(range(value.ndim))
    permutation[first], permutation[second] = second, first
    return views.permuted(value, tuple(permutation))


def moveaxis(x: Any, /, source: Any, destination: Any) -> Any:
    """Move axes to other positions; the remaining axes keep their order.

    Raises:
        AxisError: if an axis does not exist or is named twice, or the two lists differ in length.
        DTypeError: for an axis that is no integer.

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
    return views.permuted(
        value,
        tuple(moved[axis] if axis in moved else next(rest) for axis in range(value.ndim)),
    )


def broadcast_in_dim(x: Any, /, shape: Any, axes: Any) -> Any:
    """Place axis i of a tensor at axis ``axes[i]`` of `shape`, repeating along the rest.

    `axes` ascend.  A view: nothing is copied.

    Raises:
        AxisError: if `axes` do not ascend, or do not name one axis of `shape` for each of `x`.
        ShapeError: if an extent is neither 1 nor that of its axis.
        DTypeError: if `axes` or `shape` are not of integers.

    >>> import tenferro_wgpu as tw
    >>> tw.broadcast_in_dim(tw.asarray([1.0, 2.0]), (2, 3), (0,)).tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    value = lift("broadcast_in_dim", x)
    target = views.as_shape("broadcast_in_dim", shape)
    places = tuple(
        normalize_axis("broadcast_in_dim", axis, len(target))
        for axis in as_axes("broadcast_in_dim", axes)
    )
    return apply(views.BROADCAST_IN_DIM, value, shape=target, axes=places)


def broadcast_to(x: Any, /, shape: Any) -> Any:
    """Repeat a tensor to `shape` by NumPy's broadcasting.  A view: nothing is copied.

    Raises:
        ShapeError: if the shape does not broadcast to `shape`.
        DTypeError: for a shape that is not of integers.

    >>> import tenferro_wgpu as tw
    >>> tw.broadcast_to(tw.asarray([1.0, 2.0]), (2, 2)).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    value = lift("broadcast_to", x)
    target = views.as_shape("broadcast_to", shape)
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
    return apply(views.BROADCAST_IN_DIM, value, shape=target, axes=axes)


def expand_dims(x: Any, /, axis: Any = 0) -> Any:
    """Insert axes of extent 1 at the given positions of the result.

    Raises:
        AxisError: if the result has no such axis, or one is named twice.
        DTypeError: for an axis that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.expand_dims(tw.ones((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    value = lift("expand_dims", x)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    new_axes = normalize_axes("expand_dims", axis, value.ndim + count)
    extents = iter(value.shape)
    return views.reshaped(
        value,
        tuple(1 if place in new_axes else next(extents) for place in range(value.ndim + count)),
    )


def squeeze(x: Any, /, axis: Any = None) -> Any:
    """Drop the given axes, which must have extent 1; without `axis`, every such axis.

    Raises:
        ShapeError: for an axis of another extent.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.squeeze(tw.ones((1, 3, 1))).shape
    (3,)
    """
    value = lift("squeeze", x)
    if axis is None:
        return views.reshaped(value, tuple(extent for extent in value.shape if extent != 1))
    axes = normalize_axes("squeeze", axis, value.ndim)
    for place in axes:
        if value.shape[place] != 1:
            raise ShapeError(
                "squeeze",
                f"axis {place} of shape {value.shape} has extent {value.shape[place]}, not 1",
                (value.shape,),
            )
    return views.reshaped(
        value, tuple(n for place, n in enumerate(value.shape) if place not in axes)
    )


def flip(x: Any, /, axis: Any = None) -> Any:
    """Reverse the elements along the given axes; without `axis`, along all.  A view.

    Raises:
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.flip(tw.asarray([1.0, 2.0, 3.0])).tolist()
    [3.0, 2.0, 1.0]
    """
    value = lift("flip", x)
    axes = normalize_axes("flip", axis, value.ndim)
    return apply(views.FLIP, value, axes=axes) if axes else value
