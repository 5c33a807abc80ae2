"""Coordinates of grids, and ranges spaced by a factor: creation beyond `creation`'s."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import as_dtype, default_complex, int64
from ..errors import ArgumentError, DTypeError, ShapeError
from . import structural, views
from .calling import (
    as_integer,
    check_choice,
    check_flag,
    check_scalar,
    interpreter_of,
    is_scalar,
    lift,
)
from .creation import in_floats, is_whole, on_host
from .value import Value

__all__ = ["from_dlpack", "geomspace", "indices", "linspace", "logspace", "meshgrid"]


def meshgrid(*arrays: Any, indexing: str = "xy", sparse: bool = False) -> tuple[Any, ...]:
    """Coordinates of a grid from those of its axes; views.

    With ``indexing="ij"`` axis i of every result is that of ``arrays[i]``; with "xy" the first
    two are exchanged, as pictures have them.  `sparse` leaves axes that do not vary at extent 1.

    Raises:
        ShapeError: for a tensor of more than one axis.
        ArgumentError: for another `indexing`.
        DTypeError: for anything but tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> [grid.tolist() for grid in tw.meshgrid(tw.arange(3), tw.arange(2))]
    [[[0, 1, 2], [0, 1, 2]], [[0, 0, 0], [1, 1, 1]]]
    """
    check_flag("meshgrid", "sparse", sparse)
    check_choice("meshgrid", "indexing", indexing, ("xy", "ij"))
    anchor = next((each for each in arrays if isinstance(each, Value)), None)
    axes = [lift("meshgrid", each, anchor) for each in arrays]
    for axis in axes:
        if axis.ndim > 1:
            raise ShapeError("meshgrid", f"one axis is needed, got shape {axis.shape}")
    places = list(range(len(axes)))
    if indexing == "xy" and len(axes) > 1:
        places[:2] = [1, 0]
    shape = [0] * len(axes)
    for place, axis in zip(places, axes, strict=True):
        shape[place] = axis.size
    grids = []
    for place, axis in zip(places, axes, strict=True):
        own = [1] * len(axes)
        own[place] = axis.size
        grid = views.reshaped(axis, tuple(own))
        grids.append(grid if sparse else structural.broadcast_to(grid, tuple(shape)))
    return tuple(grids)


def indices(
    dimensions: Any, dtype: Any = int64, sparse: bool = False, *, device: Any = None
) -> Any:
    """The index of every place of a grid: shape ``(len(dimensions), *dimensions)``.

    With `sparse` a tuple of tensors that broadcast to the grid, one for each axis.

    Raises:
        DTypeError: for extents that are no integers, or an unknown dtype.
        ShapeError: for a negative extent.
        DeviceOutOfMemoryError, TensorTooLargeError: if no memory holds so many.

    >>> import tenferro_wgpu as tw
    >>> tw.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    check_flag("indices", "sparse", sparse)
    runtime = interpreter_of("device", device)
    shape = views.as_shape("indices", dimensions)
    target = as_dtype(dtype, "indices")
    if sparse:
        lines = on_host(
            "indices", sum(shape), target, lambda: [np.arange(n, dtype=target) for n in shape]
        )
        return meshgrid(*map(runtime.array, lines), indexing="ij", sparse=True)
    count = len(shape) * int(np.prod(shape, dtype=object))
    return runtime.array(on_host("indices", count, target, lambda: np.indices(shape, dtype=target)))


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None,
    endpoint: bool = True, retstep: bool = False,
) -> Any:  # fmt: skip
    """`num` evenly spaced numbers from `start` to `stop`, which is included with `endpoint`.

    With `retstep` a pair of them and the distance between two, a Python number.

    The default float (or complex) unless `dtype` is given.  Values are NumPy's, but whole bounds of
    an integer dtype are exact however large they are.

    Raises:
        ArgumentError: if `num` is negative, or for NaN in an integer dtype.
        DTypeError: for bounds that are no scalars, or a `num` that is no integer.
        RangeError: for bounds that `dtype` cannot hold.
        DeviceOutOfMemoryError, TensorTooLargeError: if no memory holds so many.

    >>> import tenferro_wgpu as tw
    >>> tw.linspace(0.0, 1.0, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    check_flag("linspace", "endpoint", endpoint)
    check_flag("linspace", "retstep", retstep)
    runtime = interpreter_of("device", device)
    count = as_integer("linspace", "num", num)
    if count < 0:
        raise ArgumentError("linspace", f"num must not be negative, got {num}")
    if dtype is not None:
        target = as_dtype(dtype, "linspace")
    elif any(isinstance(bound, (complex, np.complexfloating)) for bound in (start, stop)):
        target = default_complex(runtime.default_dtype)
    else:
        target = runtime.default_dtype
    for bound in (start, stop):
        check_scalar("linspace", bound, target)
    array = on_host(
        "linspace", count, target,
        lambda: np.linspace(
            in_floats(start), in_floats(stop), count, endpoint=endpoint, dtype=target
        ),
    )  # fmt: skip
    if target.kind in "iu" and count:
        # NumPy computes in float64, which cannot hold them all.
        if is_whole(start):
            array[0] = start
        if is_whole(stop) and endpoint and count > 1:
            array[-1] = stop
    if not retstep:
        return runtime.array(array)
    gaps = count - 1 if endpoint else count
    step = (stop - start) / gaps if gaps > 0 else float("nan")
    return runtime.array(array), step.item() if isinstance(step, np.generic) else step


def logspace(
    start: Any, stop: Any, /, num: int, *, base: float = 10.0, dtype: Any = None,
    device: Any = None, endpoint: bool = True,
) -> Any:  # fmt: skip
    """`num` numbers from ``base**start`` to ``base**stop``, evenly spaced in the exponent.

    The default float (or complex) unless `dtype` is given.  Values are NumPy's.

    Raises:
        ArgumentError: if `num` is negative.
        DTypeError: for bounds that are no scalars, or a `num` that is no integer.
        DeviceOutOfMemoryError, TensorTooLargeError: if no memory holds so many.

    >>> import tenferro_wgpu as tw
    >>> tw.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    check_flag("logspace", "endpoint", endpoint)
    if not is_scalar(base):
        raise DTypeError("logspace", f"the base is a number, got {base!r}")
    return _spaced(
        "logspace", start, stop, num, dtype, device,
        lambda count: np.logspace(
            in_floats(start), in_floats(stop), count, endpoint=endpoint, base=in_floats(base)
        ),
    )  # fmt: skip


def geomspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None,
    endpoint: bool = True,
) -> Any:  # fmt: skip
    """`num` numbers from `start` to `stop`, each the same multiple of the one before.

    The default float (or complex) unless `dtype` is given.  Values are NumPy's.

    Raises:
        ArgumentError: if `num` is negative, or a bound is 0.
        DTypeError: for bounds that are no scalars, or a `num` that is no integer.
        DeviceOutOfMemoryError, TensorTooLargeError: if no memory holds so many.

    >>> import tenferro_wgpu as tw
    >>> tw.geomspace(1, 8, 4).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    check_flag("geomspace", "endpoint", endpoint)
    for bound in (start, stop):
        check_scalar("geomspace", bound, as_dtype("complex128"))
        if bound == 0:
            raise ArgumentError("geomspace", "no multiple leads from or to 0")
    return _spaced(
        "geomspace", start, stop, num, dtype, device,
        lambda count: np.geomspace(in_floats(start), in_floats(stop), count, endpoint=endpoint),
    )  # fmt: skip


def _spaced(
    op: str, start: Any, stop: Any, num: Any, dtype: Any, device: Any, make: Any
) -> Any:  # fmt: skip
    runtime = interpreter_of("device", device)
    count = as_integer(op, "num", num)
    if count < 0:
        raise ArgumentError(op, f"num must not be negative, got {num}")
    for bound in (start, stop):
        check_scalar(op, bound, as_dtype("complex128"))
    if dtype is not None:
        target = as_dtype(dtype, op)
    elif any(isinstance(bound, (complex, np.complexfloating)) for bound in (start, stop)):
        target = default_complex(runtime.default_dtype)
    else:
        target = runtime.default_dtype
    made = on_host(op, count, as_dtype("complex128"), lambda: make(count))
    if made.dtype.kind == "c" and target.kind not in "bc":
        raise DTypeError(op, f"complex numbers do not fit {target}", (target,))
    with np.errstate(all="ignore"):
        return runtime.array(made.astype(target))


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An untracked tensor from another library's array, through DLPack on the host.

    Its values are copied, or with ``copy=False`` shared where the array is read-only and lies
    where the runtime computes.

    Raises:
        DTypeError: for an object without ``__dlpack__``, or of a dtype that tensors lack.
        ArgumentError: if ``copy=False`` cannot be kept.

    >>> import numpy as np
    >>> import tenferro_wgpu as tw
    >>> tw.from_dlpack(np.arange(3.0)).tolist()
    [0.0, 1.0, 2.0]
    """
    if not hasattr(x, "__dlpack__"):
        raise DTypeError("from_dlpack", f"{type(x).__name__} has no __dlpack__")
    own: Any = getattr(x, "runtime", None) if isinstance(x, Value) else None
    runtime = own if device is None and own is not None else interpreter_of("device", device)
    if own is runtime:
        return x.detach() if copy is not True else runtime.constant_from(x, copy=True)
    if own is not None and copy is False:
        raise ArgumentError("from_dlpack", "copy=False cannot be kept between two runtimes")
    return runtime.constant_from(np.from_dlpack(x), copy=copy)
