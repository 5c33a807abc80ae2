"""New tensors from shapes, ranges and host data.

`device=` is a runtime or the device of one; without it the current runtime is used.  Constant
tensors are one scalar with strides of 0: they take no memory until a kernel needs them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..dtypes import as_dtype, bool_, default_complex, int64
from ..errors import (
    ArgumentError,
    ContextMismatchError,
    DeviceOutOfMemoryError,
    DTypeError,
    RangeError,
    ShapeError,
    TensorTooLargeError,
)
from . import joining
from .calling import (
    as_any_integer,
    cast_to,
    check_scalar,
    interpreter_of,
    is_scalar,
    lift,
)
from .structural import broadcast_to, reshape
from .value import Value, constant_like
from .views import as_shape

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_flat",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


#: One or several ndarrays.
Made = TypeVar("Made")


def _filled(op: str, shape: Any, value: Any, dtype: Any, device: Any) -> Any:
    runtime = interpreter_of("device", device)
    target = runtime.default_dtype if dtype is None else as_dtype(dtype, op)
    check_scalar(op, value, target)
    return runtime.constant(value, target, as_shape(op, shape))


def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """A tensor of zeros, in the default float unless `dtype` is given.

    Raises:
        DTypeError: for a shape that is not of integers, or an unknown dtype.
        ShapeError: for a negative extent.

    >>> import tenferro_wgpu as tw
    >>> tw.zeros((2, 2)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return _filled("zeros", shape, 0, dtype, device)


def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """A tensor of ones, in the default float unless `dtype` is given.

    Raises:
        DTypeError: for a shape that is not of integers, or an unknown dtype.
        ShapeError: for a negative extent.

    >>> import tenferro_wgpu as tw
    >>> tw.ones(3, dtype=tw.int32).tolist()
    [1, 1, 1]
    """
    return _filled("ones", shape, 1, dtype, device)


def empty(shape: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """A tensor of unspecified values; they are zeros, as tensors cannot be written to.

    Raises:
        DTypeError: for a shape that is not of integers, or an unknown dtype.
        ShapeError: for a negative extent.

    >>> import tenferro_wgpu as tw
    >>> tw.empty((2, 3)).shape
    (2, 3)
    """
    return _filled("empty", shape, 0, dtype, device)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """A tensor filled with a scalar, or with a tensor of shape () of the same runtime.

    Without `dtype`, Python numbers take the default dtype of their kind.

    Raises:
        ArgumentError, RangeError: for a value that `dtype` cannot hold.
        DTypeError: for a value that is no scalar, or complex in a real dtype.
        ShapeError: for a negative extent, or a tensor of another shape than ().
        ContextMismatchError: for a tensor of another runtime than `device`.

    >>> import tenferro_wgpu as tw
    >>> tw.full((3,), 7).tolist()
    [7, 7, 7]
    """
    if isinstance(fill_value, Value):
        if device is not None:
            _check_runtime("full", fill_value, device)
        value = fill_value if dtype is None else cast_to(fill_value, as_dtype(dtype, "full"))
        if value.shape != ():
            raise ShapeError(
                "full", f"the fill value needs shape (), got {value.shape}", (value.shape,)
            )
        return broadcast_to(value, as_shape("full", shape))
    runtime = interpreter_of("device", device)
    target = _scalar_dtype("full", fill_value, runtime) if dtype is None else dtype
    return _filled("full", shape, fill_value, target, runtime)


def _check_runtime(op: str, value: Value, device: Any) -> None:
    wanted = interpreter_of("device", device).id
    found = getattr(value.interpreter, "id", wanted)  # a transform is at home everywhere
    if found != wanted:
        raise ContextMismatchError(op, wanted, found)


def _scalar_dtype(op: str, scalar: Any, runtime: Any) -> np.dtype[Any]:
    if isinstance(scalar, np.generic):
        return as_dtype(scalar.dtype, op)
    if isinstance(scalar, bool):
        return bool_
    if isinstance(scalar, int):
        return int64
    default: np.dtype[Any] = runtime.default_dtype
    if isinstance(scalar, float):
        return default
    if isinstance(scalar, complex):
        return default_complex(default)
    raise DTypeError(op, f"expected a scalar, got {type(scalar).__name__}")


def on_host(op: str, count: int, dtype: np.dtype[Any], make: Callable[[], Made]) -> Made:
    """What `make` makes, of `count` elements; raises a documented error if memory lacks."""
    nbytes = count * dtype.itemsize
    if nbytes > sys.maxsize:
        raise TensorTooLargeError(op, nbytes, sys.maxsize, "address space")
    try:
        with np.errstate(all="ignore"):
            return make()
    except MemoryError as error:
        raise DeviceOutOfMemoryError(op, nbytes, "on the host") from error


def in_floats(bound: Any) -> Any:
    """A Python integer beyond 64 bits, of which NumPy makes objects, as a float."""
    return float(bound) if isinstance(bound, int) and abs(bound) >= 2**63 else bound


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:  # fmt: skip
    """Evenly spaced numbers from `start` (0 if only one bound is given) up to before `stop`.

    int64 for integers, else the default float, unless `dtype` is given.  Values are NumPy's.

    Raises:
        ArgumentError: if `step` is 0, or a bound is not finite.
        DTypeError: for bounds that are no real numbers.
        RangeError: for numbers that `dtype` cannot hold.
        DeviceOutOfMemoryError, TensorTooLargeError: if no memory holds so many.

    >>> import tenferro_wgpu as tw
    >>> tw.arange(2, 8, 2).tolist()
    [2, 4, 6]
    """
    runtime = interpreter_of("device", device)
    if stop is None:
        start, stop = 0, start
    bounds = (start, stop, step)
    count = _range_length(*bounds)
    if dtype is None:
        whole = all(isinstance(one, (int, np.integer)) for one in bounds)
        target = int64 if whole else runtime.default_dtype
    else:
        target = as_dtype(dtype, "arange")
    try:
        array = on_host("arange", count, target, lambda: np.arange(start, stop, step, dtype=target))
    except (OverflowError, ValueError):
        raise RangeError("arange", f"the range {bounds}", target) from None
    except TypeError as error:  # NumPy has no ranges of bools beyond two
        raise DTypeError("arange", str(error), (target,)) from None
    return runtime.array(array)


def _range_length(start: Any, stop: Any, step: Any) -> int:
    for bound in (start, stop, step):
        if not is_scalar(bound) or isinstance(bound, (complex, np.complexfloating)):
            raise DTypeError("arange", f"bounds and step are real numbers, got {bound!r}")
    if step == 0:
        raise ArgumentError("arange", "step must not be 0")
    try:
        return max(0, int(math.ceil((stop - start) / step)))
    except (OverflowError, ValueError):
        raise ArgumentError(
            "arange", f"from {start} to {stop} by {step} is no finite number of steps"
        ) from None


def is_whole(number: Any) -> bool:
    """Whether a scalar is an integer, not a float that equals one."""
    return isinstance(number, (int, np.integer))


def eye(
    n_rows: int, n_cols: int | None = None, /, k: int = 0, *, dtype: Any = None,
    device: Any = None,
) -> Any:  # fmt: skip
    """A matrix with ones on diagonal `k` and zeros elsewhere.

    Raises:
        DTypeError: for sizes or a `k` that are no integers.
        ShapeError: for a negative size.
        DeviceOutOfMemoryError, TensorTooLargeError: if no memory holds so many.

    >>> import tenferro_wgpu as tw
    >>> tw.eye(2, 3, k=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    runtime = interpreter_of("device", device)
    target = runtime.default_dtype if dtype is None else as_dtype(dtype, "eye")
    rows, columns = as_shape("eye", (n_rows, n_rows if n_cols is None else n_cols))
    # A diagonal outside the matrix is as empty as the first one outside.
    diagonal = max(-rows, min(as_any_integer("eye", "k", k), columns))
    array = on_host(
        "eye", rows * columns, target, lambda: np.eye(rows, columns, diagonal, dtype=target)
    )
    return runtime.array(array)


def asarray(
    obj: Any, /, dtype: Any = None, *, device: Any = None, copy: bool | None = None
) -> Any:  # fmt: skip
    """An untracked tensor from host data; a tensor is returned as it is, in `dtype` if given.

    ndarrays and buffers keep their dtype; Python numbers and nested lists take the default
    dtypes.  Host data is copied unless ``copy=False``, which needs a read-only array.  Nested
    lists that hold tensors are stacked where these are.

    Raises:
        DTypeError: for data that is no array of numbers.
        ArgumentError, ShapeError: for lists of ragged lengths, and for what ``copy=False`` cannot
            take.
        ContextMismatchError: for a tensor of another runtime than `device`.

    >>> import tenferro_wgpu as tw
    >>> tw.asarray([[1, 2], [3, 4]]).dtype
    dtype('int64')
    """
    if isinstance(obj, (list, tuple)) and joining.holds_tensor(obj):
        if copy is False:
            raise ArgumentError("asarray", "copy=False does not go with a list of tensors")
        obj = joining.stack_nested("asarray", obj)
    if isinstance(obj, Value) and device is None:
        return obj if dtype is None else cast_to(obj, as_dtype(dtype, "asarray"))
    return interpreter_of("device", device).asarray(obj, dtype=dtype, copy=copy)


def from_flat(
    values: Any, /, shape: Any, order: str = "C", *, dtype: Any = None, device: Any = None
) -> Any:  # fmt: skip
    """A tensor of `shape` from its elements in a row: row-major "C" or column-major "F".

    Raises:
        ShapeError: if the number of elements is not that of the shape.
        DTypeError: for data that is no array of numbers.
        ArgumentError: for another `order`.

    >>> import tenferro_wgpu as tw
    >>> tw.from_flat([1.0, 2.0, 3.0, 4.0], (2, 2), order="F").tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return reshape(asarray(values, dtype=dtype, device=device), shape, order)


def _like(op: str, x: Any, value: Any, dtype: Any, device: Any) -> Any:
    model = lift(op, x)
    target = model.dtype if dtype is None else as_dtype(dtype, op)
    if device is None:
        check_scalar(op, value, target)
        return constant_like(model, value, dtype=target)
    return _filled(op, model.shape, value, target, device)


def zeros_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Any:
    """Zeros of the shape, dtype and runtime of `x`, without derivative.

    Raises:
        DTypeError: if `x` is no tensor, or for an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.zeros_like(tw.asarray([1, 2])).tolist()
    [0, 0]
    """
    return _like("zeros_like", x, 0, dtype, device)


def ones_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Any:
    """Ones of the shape, dtype and runtime of `x`, without derivative.

    Raises:
        DTypeError: if `x` is no tensor, or for an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.ones_like(tw.asarray([1.5, 2.0])).tolist()
    [1.0, 1.0]
    """
    return _like("ones_like", x, 1, dtype, device)


def empty_like(x: Any, /, dtype: Any = None, *, device: Any = None) -> Any:
    """Unspecified values (zeros) of the shape, dtype and runtime of `x`.

    Raises:
        DTypeError: if `x` is no tensor, or for an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.empty_like(tw.asarray([1.5, 2.0])).shape
    (2,)
    """
    return _like("empty_like", x, 0, dtype, device)


def full_like(x: Any, /, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Any:
    """A scalar repeated to the shape, in the dtype and runtime of `x`.

    Raises:
        ArgumentError, RangeError: for a value that the dtype cannot hold.
        DTypeError: for a value that is no scalar, or complex in a real dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.full_like(tw.asarray([1.5, 2.0]), 3.0).tolist()
    [3.0, 3.0]
    """
    if isinstance(fill_value, Value):
        model = lift("full_like", x)
        target = model.dtype if dtype is None else dtype
        return full(model.shape, fill_value, dtype=target, device=device)
    return _like("full_like", x, fill_value, dtype, device)
