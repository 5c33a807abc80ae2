"""Windows between bounds, at starts that may live on the device, and elements put along an axis.

`dynamic_slice` and its inverse clamp their starts so that the window is inside, as StableHLO does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import int64
from ..errors import ArgumentError, DTypeError, IndexOutOfBoundsError, ShapeError
from ..naming import called
from ..tensor import ShapeDtype
from . import joining, structural, views
from .calling import as_integer, cast_to, lift, normalize_axis, promote
from .gathering import GATHER
from .indexing import (
    check_mode,
    coordinates,
    device_indices,
    ordered_axes,
    prepared_indices,
    start_indices,
)
from .primitive import Primitive
from .rearranging import integers
from .scattering import REFUSED_KINDS, SCATTERS, scatter_of
from .value import Value, apply, constant_like

__all__ = ["dynamic_slice", "dynamic_update_slice", "put_along_axis", "scatter", "slice"]

Shape = tuple[int, ...]


def _updated_shape(x: ShapeDtype, update: ShapeDtype, starts: ShapeDtype) -> ShapeDtype:
    fits = len(x.shape) == len(update.shape) and starts.shape == (len(x.shape),)
    if not fits or any(n > m for n, m in zip(update.shape, x.shape, strict=True)):
        raise ShapeError(
            "dynamic_update_slice",
            f"an update of shape {update.shape} at {starts.shape} starts does not fit into "
            f"shape {x.shape}",
            (x.shape, update.shape, starts.shape),
        )
    return ShapeDtype(x.shape, x.dtype)


def _window(x: Value, starts: Value, sizes: Shape) -> Any:
    return apply(GATHER, x, starts, axes=tuple(range(x.ndim)), slice_sizes=sizes, mode="clip")


def _updated(x: Value, update: Value, starts: Value) -> Any:
    return apply(DYNAMIC_UPDATE_SLICE, x, update, starts)


def _without(g: Value, update: ShapeDtype, starts: Value) -> Any:
    return _updated(g, constant_like(g, 0, shape=update.shape), starts)


DYNAMIC_UPDATE_SLICE: Primitive = Primitive(
    "dynamic_update_slice", ("x", "update", "starts"), _updated_shape,
    vjp=(
        lambda g, update_like, starts: _without(g, update_like, starts),
        lambda g, update_like, starts: _window(g, starts, update_like.shape),
        None,
    ),
    jvp=(
        lambda t, update_like, starts: _without(t, update_like, starts),
        lambda t, x_like, starts: _updated(constant_like(t, 0, shape=x_like.shape), t, starts),
        None,
    ),
)  # fmt: skip


def _starts(op: str, x: Value, starts: Any) -> Value | tuple[int, ...]:
    """Starts as integers where all are known on the host, else as an int64 vector."""
    if isinstance(starts, Value):
        if starts.dtype.kind not in "iu" or starts.ndim > 1:
            raise DTypeError(op, f"starts are integers, got {starts.dtype} of {starts.shape}")
        if starts.size != x.ndim:
            raise ShapeError(op, f"{starts.size} starts for a tensor of {x.ndim} axes", (x.shape,))
        flat: Value = device_indices(views.reshaped(starts, (starts.size,)), x.shape, "clip")
        return cast_to(flat, int64)
    if isinstance(starts, np.ndarray):
        starts = starts.tolist()
    items = list(starts) if isinstance(starts, (list, tuple)) else [starts]
    if len(items) != x.ndim:
        raise ShapeError(op, f"{len(items)} starts for a tensor of {x.ndim} axes", (x.shape,))
    if not any(isinstance(item, Value) for item in items):
        return tuple(as_integer(op, "a start", item) for item in items)
    found = []
    for item in items:
        if not isinstance(item, Value):
            found.append(constant_like(x, as_integer(op, "a start", item), shape=(), dtype=int64))
        elif item.dtype.kind not in "iu" or item.size != 1:
            raise DTypeError(op, f"a start is an integer, got {item.dtype} of shape {item.shape}")
        else:
            one: Value = device_indices(views.reshaped(item, ()), x.shape, "clip")
            found.append(cast_to(one, int64))
    stacked: Value = joining.stack(found)
    return stacked


def _on_device(x: Value, starts: Value | tuple[int, ...]) -> Value:
    if isinstance(starts, Value):
        return starts
    limit = 2**62  # beyond every axis: clamping there changes nothing
    return x.interpreter.array(np.clip(np.array(starts, object), -limit, limit).astype(np.int64))


def slice(x: Any, start_indices: Any, limit_indices: Any, /, strides: Any = None) -> Any:
    """The elements from `start_indices` to before `limit_indices`, as StableHLO's slice; a view.

    Args:
        x: a tensor of any dtype.
        start_indices, limit_indices: the bounds along each axis, integers within it: negative
            ones do not count from the end, unlike in ``x[...]``.
        strides: the step along each axis, 1 by default.

    Raises:
        ShapeError: for bounds or steps of another number than axes.
        IndexOutOfBoundsError: for bounds outside an axis, or a start beyond its limit.
        ArgumentError: for a step below 1.
        DTypeError: for bounds or steps that are no integers.

    >>> import tenferro_wgpu as tw
    >>> tw.slice(tw.arange(6), [1], [6], [2]).tolist()
    [1, 3, 5]
    """
    value = lift("slice", x)
    starts = integers("slice", "starts", start_indices)
    stops = integers("slice", "limits", limit_indices)
    steps = (1,) * value.ndim if strides is None else integers("slice", "strides", strides)
    for given in (starts, stops, steps):
        if len(given) != value.ndim:
            raise ShapeError(
                "slice", f"{len(given)} numbers for a tensor of {value.ndim} axes", (value.shape,)
            )
    for axis, (start, stop, extent) in enumerate(zip(starts, stops, value.shape, strict=True)):
        if not 0 <= start <= stop <= extent:
            outside = stop if 0 <= start <= extent else start
            raise IndexOutOfBoundsError(called("slice"), index=outside, axis=axis, size=extent)
    if any(step < 1 for step in steps):
        raise ArgumentError("slice", f"strides are at least 1, got {strides!r}")
    return views.sliced(value, starts, stops, steps)


def dynamic_slice(x: Any, start_indices: Any, /, slice_sizes: Any) -> Any:
    """The window of `slice_sizes` that begins at given starts, moved so that it is inside.

    Args:
        x: a tensor of any dtype.
        start_indices: one start for each axis: integers, integer tensors of shape (), or one
            integer tensor.  Tensors are not read.  Negative starts count as 0.
        slice_sizes: the extent of the window along each axis.

    Raises:
        ShapeError: if starts or sizes do not fit the tensor.
        DTypeError: for starts that are no integers.

    >>> import tenferro_wgpu as tw
    >>> x = tw.arange(6)
    >>> tw.dynamic_slice(x, [1], (2,)).tolist()
    [1, 2]
    >>> tw.dynamic_slice(x, tw.asarray([9]), (2,)).tolist()
    [4, 5]
    """
    value = lift("dynamic_slice", x)
    sizes = views.as_shape("dynamic_slice", slice_sizes)
    if len(sizes) != value.ndim or any(n > m for n, m in zip(sizes, value.shape, strict=True)):
        raise ShapeError(
            "dynamic_slice", f"a window of {sizes} does not fit into shape {value.shape}",
            (value.shape, sizes),
        )  # fmt: skip
    starts = _starts("dynamic_slice", value, start_indices)
    if isinstance(starts, Value):
        return _window(value, starts, sizes)
    begins = tuple(
        min(max(start, 0), extent - size)
        for start, extent, size in zip(starts, value.shape, sizes, strict=True)
    )
    ends = tuple(begin + size for begin, size in zip(begins, sizes, strict=True))
    return views.sliced(value, begins, ends, (1,) * value.ndim)


def dynamic_update_slice(x: Any, update: Any, start_indices: Any, /) -> Any:
    """A tensor with `update` in the window that begins at given starts, moved to be inside.

    Args:
        x: a tensor of any dtype.
        update: a tensor of as many axes, none of them longer; dtypes promote.
        start_indices: as in `dynamic_slice`.

    Raises:
        ShapeError: if the update or the starts do not fit the tensor.
        DTypeError: for starts that are no integers.

    >>> import tenferro_wgpu as tw
    >>> tw.dynamic_update_slice(tw.zeros(4), tw.ones(2), [9]).tolist()
    [0.0, 0.0, 1.0, 1.0]
    """
    value, new = promote("dynamic_update_slice", (x, update))
    starts = _starts("dynamic_update_slice", value, start_indices)
    return _updated(value, new, _on_device(value, starts))


def put_along_axis(
    x: Any, indices: Any, values: Any, /, axis: int | None = -1, *, mode: str = "raise"
) -> Any:
    """A tensor with values put where `take_along_axis` would take them from.

    `indices` has as many axes as `x`; along other axes than `axis` its extents are those of `x`
    or 1.  `values` broadcasts to them and takes the dtype of `x`.  Where indices repeat, the
    last value stays.  With ``axis=None`` all is flattened.  `mode` as in `gather`; "fill" drops
    what is out of bounds.  A new tensor: nothing is changed in place, unlike in NumPy.

    Raises:
        IndexOutOfBoundsError: in mode "raise".
        ShapeError: if indices or values do not broadcast.
        DTypeError: for indices that are no integers.
        ArgumentError: for another `mode`.
        AxisError: if the axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> x = tw.zeros((2, 3))
    >>> tw.put_along_axis(x, tw.asarray([[2], [0]]), 5.0, axis=1).tolist()
    [[0.0, 0.0, 5.0], [5.0, 0.0, 0.0]]
    """
    value = lift("put_along_axis", x)
    check_mode("put_along_axis", mode)
    if axis is None:
        shape = value.shape
        flat = views.reshaped(value, (value.size,))
        return views.reshaped(put_along_axis(flat, indices, values, 0, mode=mode), shape)
    place = normalize_axis("put_along_axis", axis, value.ndim)
    found, mode = prepared_indices("put_along_axis", value, indices, place, mode)
    if found.ndim != value.ndim:
        raise ShapeError(
            "put_along_axis",
            f"indices of shape {found.shape} need as many axes as the tensor of {value.shape}",
            (value.shape, found.shape),
        )
    shape = (*value.shape[:place], found.shape[place], *value.shape[place + 1 :])
    found = structural.broadcast_to(found, shape)
    new = cast_to(lift("put_along_axis", values, value), value.dtype)
    new = structural.broadcast_to(new, shape)
    if new.size == 0:
        return value
    starts = joining.stack(coordinates(found, place), axis=found.ndim)
    new = views.reshaped(new, shape + (1,) * value.ndim)
    axes = tuple(range(value.ndim))
    return apply(SCATTERS["set"], value, starts, new, axes=axes, mode=mode, caller="put_along_axis")


def scatter(
    x: Any, indices: Any, updates: Any, /, *, axes: Any, combine: str = "set", mode: str = "raise"
) -> Any:
    """Combine a tensor with slices at given indices, as StableHLO does.

    `indices` has shape ``batch + (len(axes),)`` as in `gather`, and `updates` shape
    ``batch + slice_sizes``.

    `combine` is "set" (of slices that meet the last one stays), "add", "mul" or "multiply", "min"
    or "max" (all of them count, in a fixed order).  `mode` as in `gather`, except that "fill"
    drops what is out of bounds.  Dtypes promote.  Equal extrema share a derivative equally.

    Raises:
        IndexOutOfBoundsError: in mode "raise".
        ShapeError: if indices, updates and tensor do not fit together.
        DTypeError: for indices that are no integers, and for what has no such combination.
        ArgumentError: for another `combine` or `mode`.
        AxisError: if an axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> x, updates = tw.zeros(4), tw.asarray([[1.0, 2.0], [10.0, 20.0]])
    >>> tw.scatter(x, [[0], [1]], updates, axes=(0,)).tolist()
    [1.0, 10.0, 20.0, 0.0]
    """
    if not isinstance(combine, str) or combine not in SCATTERS:
        raise ArgumentError(
            "scatter", f"combine must be one of {', '.join(SCATTERS)}, got {combine!r}"
        )
    value, new = promote("scatter", (x, updates))
    if value.dtype.kind in REFUSED_KINDS.get(combine, ""):
        raise DTypeError("scatter", f"{combine!r} of {value.dtype}", (value.dtype,))
    check_mode("scatter", mode)
    places = ordered_axes("scatter", axes, value.ndim)
    sizes = new.shape[max(new.ndim - value.ndim, 0) :]
    starts, mode = start_indices("scatter", value, indices, places, sizes, mode)
    primitive = scatter_of(combine, value.dtype)
    return apply(primitive, value, starts, new, axes=places, mode=mode, caller="scatter")
