"""What the CPU and CUDA backends have in common: tensors that are arrays of one namespace.

Subclassed by `numpy_backend` and `cupy_backend`.  A handle is the array that owns the memory;
a tensor's own strided view of it is built once and kept in ``tensor.native_view``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..dtypes import SUPPORTED, as_dtype
from ..errors import (
    DeviceOutOfMemoryError,
    RuntimeClosedError,
    TensorTooLargeError,
    UnsupportedOperationError,
)
from ..layout import Layout, contiguous_layout
from ..tensor import ShapeDtype, Tensor, contiguous_spec
from .array_kernels import BoundKernel
from .protocol import Capabilities

if TYPE_CHECKING:
    from ..ops.primitive import Primitive

__all__ = ["ArrayBackend"]


class ArrayBackend:
    """Executes primitives by the bound kernels of an array namespace.

    Subclasses say how a strided view is made, how kernels are called and how arrays cross to
    and from the host.
    """

    name = "array"
    device_name = ""

    def __init__(self, kernels: Mapping[str, BoundKernel]) -> None:
        self._kernels = dict(kernels)
        self._operations = frozenset(kernels)
        self._closed = False
        self._executed: dict[str, int] = {}
        self._uploads = 0
        self._uploaded_bytes = 0
        self._downloads = 0
        self._downloaded_bytes = 0

    # -- what a subclass provides ---------------------------------------------------------------

    def _strided_view(self, owner: Any, dtype: np.dtype[Any], layout: Layout) -> Any:
        """The array of `layout` over the memory of `owner`; no copy."""
        raise NotImplementedError

    def _call(
        self, kernel: BoundKernel, out: ShapeDtype, arrays: list[Any], params: Mapping[str, Any]
    ) -> Any:
        """Run one kernel on this backend's device, without warnings."""
        raise NotImplementedError

    def _from_host(self, array: np.ndarray[Any, Any]) -> Any:
        """A fresh C-order array of the namespace with the host array's elements."""
        raise NotImplementedError

    def _to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """A fresh C-order host array with the elements of `array`."""
        raise NotImplementedError

    # -- the protocol ---------------------------------------------------------------------------

    def execute(
        self,
        primitive: Primitive,
        operands: tuple[Tensor, ...],
        params: Mapping[str, Any],
        outputs: tuple[ShapeDtype, ...],
    ) -> tuple[Tensor, ...]:
        """Run one primitive; see `Backend.execute`."""
        name = primitive.name
        kernel = self._kernels.get(name)
        if kernel is None:
            self._refuse(name, operands)
        arrays = []
        out = outputs[0]
        try:
            for operand in operands:
                view = operand.native_view
                arrays.append(self.as_array(operand) if view is None else view)
            result = self._call(kernel, out, arrays, params)
        except (MemoryError, ValueError) as error:
            sizes = [prod(out.shape) * out.dtype.itemsize, *(x.nbytes for x in operands)]
            refused = _about_memory(name, max(sizes), error)
            if refused is None:
                raise
            raise refused from error
        self._executed[name] = self._executed.get(name, 0) + 1
        spec = contiguous_spec(out)
        tensor = Tensor(spec.dtype, spec.layout, result, self, None, spec)
        tensor.native_view = result
        return (tensor,)

    def upload(self, array: np.ndarray[Any, Any]) -> Tensor:
        """Copy a host array; see `Backend.upload`."""
        self._check_open("upload")
        dtype = as_dtype(array.dtype, "upload")
        try:
            owner = self._from_host(np.asarray(array, dtype))
        except MemoryError as error:
            raise DeviceOutOfMemoryError("upload", array.nbytes, str(error)) from error
        self._uploads += 1
        self._uploaded_bytes += owner.nbytes
        return self._wrap(owner, dtype)

    def scalar(self, value: Any, dtype: np.dtype[Any]) -> Tensor:
        """A rank-0 constant; see `Backend.scalar`."""
        raise NotImplementedError

    def download(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """The values as the caller's own array; see `Backend.download`."""
        self._check_open("download")
        try:
            array = self._to_host(self.as_array(tensor))
        except (MemoryError, ValueError) as error:
            refused = _about_memory("download", tensor.nbytes, error)
            if refused is None:
                raise
            raise refused from error
        self._downloads += 1
        self._downloaded_bytes += array.nbytes
        return array

    async def download_async(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """The values as the caller's own array; see `Backend.download_async`."""
        return self.download(tensor)

    def synchronize(self) -> None:
        """Return when everything queued has finished."""
        self._check_open("synchronize")

    async def synchronize_async(self) -> None:
        """Return when everything queued has finished."""
        self.synchronize()

    def flush(self) -> None:
        """Nothing is held back here: work starts as it is queued."""
        self._check_open("flush")

    def capabilities(self) -> Capabilities:
        """What this backend can do; every dtype of the library is native here."""
        self._check_open("capabilities")
        return Capabilities(
            backend=self.name,
            device_name=self.device_name,
            device_type=self._device_type(),
            driver=self._driver(),
            dtypes={dtype.name: "native" for dtype in SUPPORTED},
            operations=self._operations,
        )

    def stats(self) -> dict[str, Any]:
        """Counters of this backend; approximate while several threads use it at once."""
        executed = dict(self._executed)
        return {
            "executed": {"total": sum(executed.values()), "by_primitive": executed},
            "transfers": {
                "uploads": self._uploads,
                "uploaded_bytes": self._uploaded_bytes,
                "downloads": self._downloads,
                "downloaded_bytes": self._downloaded_bytes,
            },
        }

    def clear_caches(self) -> None:
        """Drop what can be made again."""
        self._check_open("clear_caches")

    def close(self) -> None:
        """Stop accepting work; calling it again does nothing."""
        self._closed = True
        # Every later execute then takes the one path that already handles a missing kernel.
        self._kernels.clear()

    # -- shared by subclasses and kernels of extensions -----------------------------------------

    def as_array(self, tensor: Tensor) -> Any:
        """The namespace's array that shows exactly `tensor`, sharing its memory."""
        view = tensor.native_view
        if view is None:
            view = self._strided_view(tensor.handle, tensor.dtype, tensor.layout)
            tensor.native_view = view
        return view

    def _wrap(self, owner: Any, dtype: np.dtype[Any]) -> Tensor:
        tensor = Tensor(dtype, contiguous_layout(owner.shape), owner, self)
        tensor.native_view = owner
        return tensor

    def _check_open(self, op: str) -> None:
        if self._closed:
            raise RuntimeClosedError(op)

    def _refuse(self, op: str, operands: tuple[Tensor, ...]) -> NoReturn:
        self._check_open(op)
        dtype = operands[0].dtype if operands else None
        raise UnsupportedOperationError(op, dtype=dtype, backend=self.name)

    def _device_type(self) -> str:
        raise NotImplementedError

    def _driver(self) -> str:
        raise NotImplementedError


def _about_memory(op: str, nbytes: int, error: Exception) -> Exception | None:
    """The error for `nbytes` that could not be held, or None if `error` is about something else."""
    if nbytes > sys.maxsize:
        # NumPy says this with a ValueError of its own.
        return TensorTooLargeError(op, nbytes, sys.maxsize, "address space")
    if isinstance(error, MemoryError):
        return DeviceOutOfMemoryError(op, nbytes, str(error))
    return None
