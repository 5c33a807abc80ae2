"""Host data, concrete tensors and other libraries' arrays on their way into a runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.protocol import SharesHostMemory
from ..dtypes import as_dtype, default_complex, int64
from ..errors import (
    ArgumentError,
    ContextMismatchError,
    DTypeError,
    RangeError,
    RuntimeClosedError,
)
from ..layout import contiguous_layout
from ..ops.calling import CAST, SCALARS
from ..ops.joining import holds_tensor
from ..ops.value import Value
from ..tensor import Tensor, tensor_spec

if TYPE_CHECKING:
    from .runtime import EagerRuntime

__all__ = ["host_array", "import_array"]

_ELEMENTS = "its elements must be numbers or bools"


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
        raise ArgumentError(op, f"copy=False needs an ndarray of the wanted dtype, got {type(a)}")
    if copy is False and array.flags.writeable:
        raise ArgumentError(
            op,
            "copy=False needs a read-only array, since tensors are immutable; "
            "set array.flags.writeable = False or let it copy",
        )
    with runtime._lock:  # waits for a session of another thread
        backend = runtime._open(op)
        if copy is False and _never_changes(array) and isinstance(backend, SharesHostMemory):
            return backend.adopt(array)
        return backend.upload(array)


def _never_changes(array: np.ndarray[Any, Any]) -> bool:
    """Whether no array that shares this memory can be written to (and it is in C order)."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return array.flags.c_contiguous and (owner is None or isinstance(owner, bytes))


def _convert(runtime: EagerRuntime, tensor: Tensor, target: np.dtype[Any] | None) -> Tensor:
    if target is None or target is tensor.dtype:
        return tensor
    spec = tensor_spec(target, contiguous_layout(tensor.shape))
    return runtime._execute(CAST, (tensor,), {"dtype": target}, (spec,))[0]


def host_array(
    op: str, a: Any, target: np.dtype[Any] | None, default_float: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """A NumPy array of a supported dtype from arrays, nested lists, scalars or DLPack.

    ndarrays and buffers keep their dtype; Python numbers take the default dtypes.
    """
    if isinstance(a, (np.ndarray, np.generic)) or hasattr(a, "__array__"):
        array = np.asarray(a)
    elif hasattr(a, "__dlpack__"):
        array = np.from_dlpack(a)
    else:
        if isinstance(a, (list, tuple)) and holds_tensor(a):
            raise DTypeError(op, "a list of tensors is not an array; use asarray or stack")
        try:
            array = np.asarray(a)
        except ValueError as error:
            raise ArgumentError(op, f"the nested lists have ragged lengths: {error}") from None
        if target is None and array.dtype.kind != "O" and not _has_dtype(a):
            target = _default_for(op, a, array, default_float)
    if array.dtype.kind == "O" and all(isinstance(item, int) for item in array.flat):
        # Integers past 64 bits reach NumPy as objects.
        worst = max(array.flat, key=abs, default=0)
        if not -(2**63) <= worst < 2**63:
            raise RangeError(op, worst, int64 if target is None else target)
    if array.dtype.kind not in "biufc":
        raise DTypeError(
            op, f"cannot make a tensor of {type(a).__name__} with dtype {array.dtype}; {_ELEMENTS}"
        )
    if target is None:
        target = as_dtype(array.dtype, op)
    elif array.dtype.kind == "c" and target.kind not in "bc":
        raise DTypeError(op, f"complex values do not fit {target}; take .real first", (target,))
    if target.kind in "iu" and not isinstance(a, np.ndarray):
        _check_range(op, array, target)
    with np.errstate(all="ignore"):
        return array.astype(target, copy=False)


def _has_dtype(a: Any) -> bool:
    """Whether `a` says the type of its elements: it has the buffer protocol."""
    if isinstance(a, (list, tuple, *SCALARS)):
        return False
    try:
        memoryview(a)
    except TypeError:
        return False
    return True


def _check_range(op: str, array: np.ndarray[Any, Any], target: np.dtype[Any]) -> None:
    """Python numbers must fit the integer dtype: nothing wraps around silently."""
    if array.size == 0:
        return
    limits = np.iinfo(target)
    low, high = array.min().item(), array.max().item()  # NaN compares false with both
    if not (low >= limits.min and high <= limits.max):
        raise RangeError(op, low if low < limits.min else high, target)


def _default_for(
    op: str, a: Any, array: np.ndarray[Any, Any], default_float: np.dtype[Any]
) -> np.dtype[Any]:
    if array.size == 0 and not isinstance(a, SCALARS):
        return default_float
    if array.dtype.kind == "f":
        return default_float
    if array.dtype.kind == "c":
        return default_complex(default_float)
    if array.dtype.kind not in "biu":
        raise DTypeError(op, f"cannot make a tensor of {type(a).__name__}; {_ELEMENTS}")
    return array.dtype if array.dtype.kind == "b" else int64
