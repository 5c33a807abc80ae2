"""Host data, concrete tensors and other libraries' arrays on their way into a runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.protocol import AdoptsHostMemory
from ..dtypes import as_dtype, default_complex, int64
from ..errors import ContextMismatchError, DTypeError, RuntimeClosedError
from ..ops.calling import CAST, SCALARS
from ..ops.value import Value
from ..tensor import ShapeDtype, Tensor

if TYPE_CHECKING:
    from .runtime import EagerRuntime

__all__ = ["host_array", "import_array"]


def import_array(runtime: EagerRuntime, op: str, a: Any, dtype: Any, copy: bool | None) -> Tensor:
    """The concrete tensor for anything `variable_from` and `constant_from` take."""
    if runtime.closed:
        raise RuntimeClosedError(op, "the runtime is closed; make a new EagerRuntime")
    target = None if dtype is None else as_dtype(dtype, op)
    if isinstance(a, Value):
        if a.interpreter is not runtime:
            other = getattr(a.interpreter, "id", None)
            if other is None:
                raise DTypeError(op, "a tensor inside a transform cannot become a leaf")
            raise ContextMismatchError(op, runtime.id, other)
        tensor: Tensor = a.tensor  # type: ignore[attr-defined]
        return _convert(runtime, tensor, target)
    if isinstance(a, Tensor):
        if a.backend is not runtime.backend:
            raise ContextMismatchError(op, runtime.id, a.backend)
        return _convert(runtime, a, target)
    array = host_array(op, a, target, runtime.default_dtype)
    if copy is False and array is not a:
        raise ValueError(f"{op}: copy=False needs an ndarray of the wanted dtype, got {type(a)}")
    if copy is False and array.flags.writeable:
        raise ValueError(
            f"{op}: copy=False needs a read-only array, since tensors are immutable; "
            "set array.flags.writeable = False or let it copy"
        )
    backend = runtime.backend
    if copy is False and array.flags.c_contiguous and isinstance(backend, AdoptsHostMemory):
        return backend.adopt(array)
    return runtime.backend.upload(array)


def _convert(runtime: EagerRuntime, tensor: Tensor, target: np.dtype[Any] | None) -> Tensor:
    if target is None or target is tensor.dtype:
        return tensor
    aval = ShapeDtype(tensor.shape, target)
    return runtime._execute(CAST, [tensor], {"dtype": target}, (aval,))[0]


def host_array(
    op: str, a: Any, target: np.dtype[Any] | None, default_float: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """A NumPy array of a supported dtype from arrays, nested lists, scalars or DLPack.

    ndarrays keep their dtype; Python numbers take the default dtypes.
    """
    if isinstance(a, (np.ndarray, np.generic)) or hasattr(a, "__array__"):
        array = np.asarray(a)
    elif hasattr(a, "__dlpack__"):
        array = np.from_dlpack(a)
    else:
        if isinstance(a, (list, tuple)) and _holds_tensor(a):
            raise DTypeError(op, "a list of tensors is not an array; use stack(...)")
        try:
            array = np.asarray(a)
        except ValueError as error:
            raise ValueError(f"{op}: the nested lists have ragged lengths: {error}") from None
        if target is None:
            default = _default_for(op, a, array, default_float)
            array = array.astype(default, copy=False)
    if array.dtype.kind not in "biufc":
        raise DTypeError(op, f"cannot make a tensor of {type(a).__name__} with dtype {array.dtype}")
    if target is None:
        target = as_dtype(array.dtype, op)
    return array.astype(target, copy=False)


def _default_for(
    op: str, a: Any, array: np.ndarray[Any, Any], default_float: np.dtype[Any]
) -> np.dtype[Any]:
    if array.size == 0 and not isinstance(a, SCALARS):
        return default_float
    if array.dtype.kind == "f":
        return default_float
    if array.dtype.kind == "c":
        return default_complex(default_float)
    if (
        isinstance(a, int)
        and array.dtype.kind == "O"
        or (array.dtype.kind == "u" and array.max() > np.iinfo(int64).max)
    ):
        raise OverflowError(f"{op}: an integer is out of range for int64; pass a dtype")
    if array.dtype.kind not in "biu":
        raise DTypeError(op, f"cannot make a tensor of {type(a).__name__}")
    return array.dtype if array.dtype.kind == "b" else int64


def _holds_tensor(nested: Any) -> bool:
    return any(
        isinstance(item, Value) or (isinstance(item, (list, tuple)) and _holds_tensor(item))
        for item in nested
    )
