"""New tensors from shapes, ranges and host data.

`device=` is a runtime or the device of one; without it the current runtime is used.  Constant
tensors are one scalar with strides of 0: they take no memory until a kernel needs them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import as_dtype, bool_, default_complex, int64
from ..errors import DTypeError, ShapeError
from .calling import cast_to, is_scalar, lift
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
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def _runtime(device: Any) -> Any:
    # Imported at the call: the eager layer is built on this one.
    from ..eager.runtime import current_runtime

    return current_runtime(device)


def _filled(op: str, shape: Any, value: Any, dtype: Any, device: Any) -> Any:
    runtime = _runtime(device)
    target = runtime.default_dtype if dtype is None else as_dtype(dtype, op)
    _check_fill(op, value, target)
    return runtime.constant(value, target, as_shape(op, shape))


def _check_fill(op: str, value: Any, dtype: np.dtype[Any]) -> None:
    """Raise unless `dtype` can hold a scalar: no device may wrap or clamp it silently."""
    if not is_scalar(value):
        raise DTypeError(op, f"the fill value must be a scalar, got {value!r}")
    if isinstance(value, (complex, np.complexfloating)) and dtype.kind not in "cb":
        raise DTypeError(op, f"{value} does not fit {dtype}; take its real part first", (dtype,))
    if dtype.kind not in "iu":
        return
    number: Any = value
    if number != number:
        raise ValueError(f"{op}: NaN does not fit {dtype}")
    limits = np.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise OverflowError(f"{op}: {value} is out of range for {dtype}")


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of zeros, in the default float unless `dtype` is given.

    >>> import tenferro_wgpu as tw
    >>> tw.zeros((2, 2)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    return _filled("zeros", shape, 0, dtype, device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of ones, in the default float unless `dtype` is given.

    >>> import tenferro_wgpu as tw
    >>> tw.ones(3, dtype=tw.int32).tolist()
    [1, 1, 1]
    """
    return _filled("ones", shape, 1, dtype, device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of unspecified values; they are zeros, as tensors cannot be written to.

    >>> import tenferro_wgpu as tw
    >>> tw.empty((2, 3)).shape
    (2, 3)
    """
    return _filled("empty", shape, 0, dtype, device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor filled with a scalar, or with a tensor of shape ().

    Without `dtype`, Python numbers take the default dtype of their kind.

    >>> import tenferro_wgpu as tw
    >>> tw.full((3,), 7).tolist()
    [7, 7, 7]
    """
    if isinstance(fill_value, Value):
        value = fill_value if dtype is None else cast_to(fill_value, as_dtype(dtype, "full"))
        if value.shape != ():
            raise ShapeError(
                "full", f"the fill value needs shape (), got {value.shape}", (value.shape,)
            )
        return broadcast_to(value, as_shape("full", shape))
    runtime = _runtime(device)
    target = _scalar_dtype("full", fill_value, runtime) if dtype is None else dtype
    return _filled("full", shape, fill_value, target, runtime)


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


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Any:  # fmt: skip
    """Evenly spaced numbers from `start` (0 if only one bound is given) up to before `stop`.

    int64 for integers, else the default float, unless `dtype` is given.  Values are NumPy's.

    Raises:
        ValueError: if `step` is 0.

    >>> import tenferro_wgpu as tw
    >>> tw.arange(2, 8, 2).tolist()
    [2, 4, 6]
    """
    runtime = _runtime(device)
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step must not be 0")
    bounds = (start, stop, step)
    if dtype is None:
        whole = all(isinstance(one, (int, np.integer)) for one in bounds)
        target = int64 if whole else runtime.default_dtype
    else:
        target = as_dtype(dtype, "arange")
    return runtime.array(np.arange(start, stop, step, dtype=target))


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None,
    endpoint: bool = True,
) -> Any:  # fmt: skip
    """`num` evenly spaced numbers from `start` to `stop`, which is included with `endpoint`.

    The default float (or complex) unless `dtype` is given.  Values are NumPy's.

    >>> import tenferro_wgpu as tw
    >>> tw.linspace(0.0, 1.0, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    runtime = _runtime(device)
    if num < 0:
        raise ValueError(f"linspace: num must not be negative, got {num}")
    if dtype is not None:
        target = as_dtype(dtype, "linspace")
    elif isinstance(start, complex) or isinstance(stop, complex):
        target = default_complex(runtime.default_dtype)
    else:
        target = runtime.default_dtype
    return runtime.array(np.linspace(start, stop, num, endpoint=endpoint, dtype=target))


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None,
    device: Any = None,
) -> Any:  # fmt: skip
    """A matrix with ones on diagonal `k` and zeros elsewhere.

    >>> import tenferro_wgpu as tw
    >>> tw.eye(2, 3, k=1).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    runtime = _runtime(device)
    target = runtime.default_dtype if dtype is None else as_dtype(dtype, "eye")
    rows, columns = as_shape("eye", (n_rows, n_rows if n_cols is None else n_cols))
    return runtime.array(np.eye(rows, columns, k, dtype=target))


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Any:  # fmt: skip
    """An untracked tensor from host data; a tensor is returned as it is, in `dtype` if given.

    ndarrays keep their dtype; Python numbers and nested lists take the default dtypes.  Host
    data is copied unless ``copy=False``, which needs a read-only array.

    >>> import tenferro_wgpu as tw
    >>> tw.asarray([[1, 2], [3, 4]]).dtype
    dtype('int64')
    """
    if isinstance(obj, Value) and device is None:
        return obj if dtype is None else cast_to(obj, as_dtype(dtype, "asarray"))
    return _runtime(device).asarray(obj, dtype=dtype, copy=copy)


def from_flat(
    values: Any, /, shape: Any, order: str = "C", *, dtype: Any = None, device: Any = None
) -> Any:  # fmt: skip
    """A tensor of `shape` from its elements in a row: row-major "C" or column-major "F".

    >>> import tenferro_wgpu as tw
    >>> tw.from_flat([1.0, 2.0, 3.0, 4.0], (2, 2), order="F").tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return reshape(asarray(values, dtype=dtype, device=device), shape, order)


def _like(op: str, x: Any, value: Any, dtype: Any, device: Any) -> Any:
    model = lift(op, x)
    target = model.dtype if dtype is None else as_dtype(dtype, op)
    if device is None:
        _check_fill(op, value, target)
        return constant_like(model, value, dtype=target)
    return _filled(op, model.shape, value, target, device)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros of the shape, dtype and runtime of `x`, without derivative.

    >>> import tenferro_wgpu as tw
    >>> tw.zeros_like(tw.asarray([1, 2])).tolist()
    [0, 0]
    """
    return _like("zeros_like", x, 0, dtype, device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones of the shape, dtype and runtime of `x`, without derivative.

    >>> import tenferro_wgpu as tw
    >>> tw.ones_like(tw.asarray([1.5, 2.0])).tolist()
    [1.0, 1.0]
    """
    return _like("ones_like", x, 1, dtype, device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Unspecified values (zeros) of the shape, dtype and runtime of `x`.

    >>> import tenferro_wgpu as tw
    >>> tw.empty_like(tw.asarray([1.5, 2.0])).shape
    (2,)
    """
    return _like("empty_like", x, 0, dtype, device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A scalar repeated to the shape, in the dtype and runtime of `x`.

    >>> import tenferro_wgpu as tw
    >>> tw.full_like(tw.asarray([1.5, 2.0]), 3.0).tolist()
    [3.0, 3.0]
    """
    if isinstance(fill_value, Value):
        model = lift("full_like", x)
        target = model.dtype if dtype is None else dtype
        return full(model.shape, fill_value, dtype=target, device=device)
    return _like("full_like", x, fill_value, dtype, device)
