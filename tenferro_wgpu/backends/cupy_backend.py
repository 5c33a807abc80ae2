"""The CUDA backend: the shared array kernels on CuPy, and what only CuPy has.

The only file that imports CuPy, on first use.  Streams, the memory pool and events live here.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..caching import CacheLimits, LruCache
from ..errors import DTypeError, NoAdapterError
from ..layout import Layout
from ..tensor import ShapeDtype, Tensor
from . import array_indexing_kernels as indexing
from .array_backend import ArrayBackend
from .array_kernels import BoundKernel, bind_kernels
from .cupy_elementwise_kernels import KERNELS as ELEMENTWISE
from .memory_limit import checked_memory_limit

__all__ = ["CudaBackend", "cuda_devices"]

INSTALL = "install cupy-cuda12x or cupy-cuda13x to match the NVIDIA driver"

#: Programs use few distinct constants; each costs a kernel launch to make.
_SCALAR_CACHE = CacheLimits(max_entries=256)
#: Pause between looks at an event while other coroutines run.
_POLL_SECONDS = 0.0005

#: Integer types CuPy cannot scatter into -> a type with the same sums modulo their width.
_SCATTER_INTEGERS = {
    "int8": np.int32,
    "int16": np.int32,
    "uint8": np.uint32,
    "uint16": np.uint32,
    "int64": np.uint64,
}


def cuda_devices() -> list[tuple[str, str]]:
    """Name and driver of every CUDA device; raises NoAdapterError with the reason for none."""
    cupy = _import_cupy()
    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
        driver = f"CUDA {_version(runtime.driverGetVersion())}, CuPy {cupy.__version__}"
        names = [runtime.getDeviceProperties(index)["name"].decode() for index in range(count)]
    except RuntimeError as error:
        raise NoAdapterError("cuda", str(error), "an NVIDIA GPU and its driver are needed") from (
            error
        )
    if not names:
        raise NoAdapterError("cuda", "no CUDA device was found")
    return [(name, driver) for name in names]


class CudaBackend(ArrayBackend):
    """Executes primitives with CuPy on one NVIDIA GPU, on a stream and a memory pool of its own.

    Sums of duplicate indices in ``scatter_add`` run in any order here (CUDA atomics), so
    floating-point results may differ in the last bits between runs.

    Args:
        device: number of the CUDA device.
        memory_limit: bytes the memory pool may hold; None is all of the device.

    Raises:
        NoAdapterError: CuPy is not installed, or there is no such device.
        ArgumentError, DTypeError: an argument is none of these.
    """

    name = "cuda"

    def __init__(self, device: int = 0, *, memory_limit: int | None = None) -> None:
        if not isinstance(device, (int, np.integer)):
            raise DTypeError("CudaBackend", f"device is the number of a device, got {device!r}")
        memory_limit = checked_memory_limit(memory_limit)
        found = cuda_devices()
        if not 0 <= device < len(found):
            raise NoAdapterError("cuda", f"there is no device {device}", f"found {len(found)}")
        self._cupy = _import_cupy()
        super().__init__(bind_kernels(self._cupy, _OVERRIDES))
        self.device_name, self._driver_name = found[device]
        self._device = self._cupy.cuda.Device(device)
        self._scalars = LruCache(_SCALAR_CACHE)
        with self._device:
            self._stream = self._cupy.cuda.Stream(non_blocking=True)
            self._pool = self._cupy.cuda.MemoryPool()
            if memory_limit is not None:
                self._pool.set_limit(size=memory_limit)

    def scalar(self, value: Any, dtype: np.dtype[Any]) -> Tensor:
        """A rank-0 constant, uploaded once and kept among the most recently used."""
        self._check_open("scalar")
        with np.errstate(all="ignore"):
            host = np.array(value, dtype)
        key = (dtype.char, host.tobytes())
        owner = self._scalars.get(key)
        if owner is None:
            owner = self._from_host(host)
            self._scalars.put(key, owner, owner.nbytes)
        return self._wrap(owner, dtype)

    def synchronize(self) -> None:
        """Wait for everything queued before the call."""
        super().synchronize()
        with self._device:
            self._recorded_event().synchronize()

    async def synchronize_async(self) -> None:
        """Wait for everything queued before the call, letting other coroutines run."""
        import asyncio  # costs a third of the package's import, and only this needs it

        super().synchronize()
        with self._device:
            event = self._recorded_event()
        while not event.done:
            await asyncio.sleep(_POLL_SECONDS)

    async def download_async(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """The values as the caller's own array; the wait lets other coroutines run."""
        await self.synchronize_async()
        return self.download(tensor)

    def stats(self) -> dict[str, Any]:
        """Counters, the memory pool and the cache of constants."""
        return {
            **super().stats(),
            "pool": {
                "used_bytes": self._pool.used_bytes(),
                "total_bytes": self._pool.total_bytes(),
            },
            "scalars": self._scalars.stats(),
        }

    def clear_caches(self) -> None:
        """Drop cached constants and give unused pool memory back to the device."""
        super().clear_caches()
        self._drop_cached_memory()

    def close(self) -> None:
        """Stop accepting work and free what no tensor holds."""
        if not self._closed:
            super().close()
            self._drop_cached_memory()

    def _drop_cached_memory(self) -> None:
        self._scalars.clear()
        with self._device:
            self._pool.free_all_blocks()

    def _recorded_event(self) -> Any:
        event = self._cupy.cuda.Event(disable_timing=True)
        event.record(self._stream)
        return event

    def _activate(self) -> ExitStack:
        """Make this backend's device, stream and pool current in this thread."""
        stack = ExitStack()
        stack.enter_context(self._device)
        stack.enter_context(self._stream)
        stack.enter_context(self._cupy.cuda.using_allocator(self._pool.malloc))
        return stack

    def _strided_view(self, owner: Any, dtype: np.dtype[Any], layout: Layout) -> Any:
        itemsize = dtype.itemsize
        if layout.size == 0:
            return owner.reshape(-1)[:0].reshape(layout.shape)
        return self._cupy.ndarray(
            layout.shape,
            dtype,
            memptr=owner.data + layout.offset * itemsize,
            strides=tuple([stride * itemsize for stride in layout.strides]),
        )

    def _call(
        self, kernel: BoundKernel, out: ShapeDtype, arrays: list[Any], params: Mapping[str, Any]
    ) -> Any:
        with self._activate():
            return kernel(out, arrays, params)

    def _from_host(self, array: np.ndarray[Any, Any]) -> Any:
        with self._activate():
            return self._cupy.array(array, order="C")

    def _to_host(self, array: Any) -> np.ndarray[Any, Any]:
        with self._activate():
            host: np.ndarray[Any, Any] = self._cupy.asnumpy(array, stream=self._stream, order="C")
            return host

    def _device_type(self) -> str:
        return "DiscreteGPU"

    def _driver(self) -> str:
        return self._driver_name


_ADD = indexing.SCATTER_KERNELS["scatter_add"]


def _scatter_add(
    xp: Any, out: ShapeDtype, x: Any, indices: Any, updates: Any, **params: Any
) -> Any:
    """The shared kernel, in a dtype that CUDA has atomics for."""
    wide = _SCATTER_INTEGERS.get(out.dtype.name)
    if wide is None:
        return _ADD(xp, out, x, indices, updates, **params)
    dtype = np.dtype(wide)
    wide_out = ShapeDtype(out.shape, dtype)
    sums = _ADD(xp, wide_out, x.astype(dtype), indices, updates.astype(dtype), **params)
    return sums.astype(out.dtype)


#: CUDA has no atomics for some of these, and none that keep an order.
_OVERRIDES = {
    **ELEMENTWISE,
    "scatter_add": _scatter_add,
    **{
        name: indexing.without_atomics(name)
        for name in ("scatter_set", "scatter_mul", "scatter_min", "scatter_max")
    },
}


def _import_cupy() -> Any:
    if importlib.util.find_spec("cupy") is None:
        raise NoAdapterError("cuda", "CuPy is not installed", INSTALL)
    try:
        return importlib.import_module("cupy")
    except (ImportError, OSError) as error:
        raise NoAdapterError("cuda", f"CuPy cannot be imported: {error}", INSTALL) from error


def _version(number: int) -> str:
    """CUDA packs a version as 1000 * major + 10 * minor."""
    return f"{number // 1000}.{number % 1000 // 10}"
