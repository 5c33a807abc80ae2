"""The WebGPU backend: primitives by name become queued kernels on one device.

The library calls it through the Backend protocol. It moves tensors in and out, keeps scalars as
constants until a kernel needs them in memory, and looks launch functions up in the registry. It
knows nothing of gradients, of drivers, or of what any kernel computes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from tenferro_wgpu.backends.protocol import Capabilities
from tenferro_wgpu.backends.webgpu.device import LimitsMode, PowerPreference, open_device
from tenferro_wgpu.backends.webgpu.dialects import dtype_support
from tenferro_wgpu.backends.webgpu.fusion.fuser import Fuser, Pending
from tenferro_wgpu.backends.webgpu.kernels import registered_kernels
from tenferro_wgpu.backends.webgpu.kernels.launch import Constant, Launcher
from tenferro_wgpu.backends.webgpu.observation import Observation
from tenferro_wgpu.backends.webgpu.queue import Queue
from tenferro_wgpu.backends.webgpu.reading import Reading
from tenferro_wgpu.backends.webgpu.shaders import MODULES
from tenferro_wgpu.backends.webgpu.tuning import Tuning
from tenferro_wgpu.dtypes import as_dtype
from tenferro_wgpu.environment import FUSION, switch
from tenferro_wgpu.errors import (
    DeviceOutOfMemoryError,
    RuntimeClosedError,
    TensorTooLargeError,
    UnsupportedOperationError,
)
from tenferro_wgpu.layout import contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

if TYPE_CHECKING:
    from tenferro_wgpu.ops.primitive import Primitive

__all__ = ["WebGpuBackend"]


class WebGpuBackend(Observation, Reading, Tuning):
    """Runs primitives on a WebGPU adapter.

    Args:
        adapter: None for the best adapter, a part of an adapter's name, or an adapter object.
        power_preference: "high-performance" or "low-power", which adapter is best.
        memory_limit: the most bytes of device memory to hold, or None.
        limits: "native", "browser" (hold the device to WebGPU's default limits) or None for
            what ``TENFERRO_LIMITS`` says.
        fusion: whether element-wise operations wait for one another to share a kernel; None
            for what ``TENFERRO_FUSION`` says.

    Raises:
        NoAdapterError: there is no such adapter.
        ArgumentError, DTypeError: an argument is none of these.
    """

    name = "webgpu"

    def __init__(
        self,
        adapter: Any = None,
        power_preference: PowerPreference | None = None,
        memory_limit: int | None = None,
        limits: LimitsMode | None = None,
        fusion: bool | None = None,
    ) -> None:
        self.device = open_device(adapter, power_preference or "high-performance", limits)
        self.device_name = self.device.name
        self.queue = Queue(self.device, memory_limit=memory_limit)
        self._launcher = Launcher(self.queue, self)
        #: Defers element-wise work; None where fusion is off.
        self.fuser: Fuser | None = None
        self._kernels = registered_kernels()
        if switch(FUSION, default=True) if fusion is None else fusion:
            self.fuser = Fuser(self._launcher)
            self._kernels = self.fuser.kernels(self._kernels)
        self._closed = False

    def execute(
        self,
        primitive: Primitive,
        operands: tuple[Tensor, ...],
        params: Mapping[str, Any],
        outputs: tuple[ShapeDtype, ...],
    ) -> tuple[Tensor, ...]:
        """Queue one primitive; see `Backend.execute`."""
        name = primitive.name
        launch = self._kernels.get(name)
        if launch is None:
            raise self._no_kernel(name, operands)
        return launch(self._launcher, name, operands, params, outputs)

    def _no_kernel(self, name: str, operands: tuple[Tensor, ...]) -> Exception:
        if self._closed:
            return RuntimeClosedError(name)
        return UnsupportedOperationError(
            name,
            dtype=operands[0].dtype if operands else None,
            backend=self.name,
            hint="run it on the cpu backend",
        )

    # ----- data in and out

    def upload(self, array: np.ndarray[Any, Any]) -> Tensor:
        """Copy a host array to the device; raises UnsupportedOperationError for its dtype."""
        self._check_open("upload")
        dtype = as_dtype(array.dtype, "upload")
        stored = self._launcher.stored(dtype, "upload").to_storage(array)
        limit = self.device.limits.max_storage_buffer_binding_size
        if stored.nbytes > limit:
            raise TensorTooLargeError("upload", stored.nbytes, limit, "storage binding limit")
        buffer = self.queue.upload(stored)
        return Tensor(dtype, contiguous_layout(array.shape), buffer, self)

    def scalar(self, value: Any, dtype: np.dtype[Any]) -> Tensor:
        """A rank-0 constant that travels in params; no buffer is made unless a kernel asks.

        Raises OverflowError for a Python integer that `dtype` cannot hold.
        """
        self._check_open("scalar")
        carrier = self._launcher.stored(dtype, "scalar")
        with np.errstate(all="ignore"):  # an overflow to infinity is a value, not a warning
            # Python integers are converted with a check, everything else as astype does.
            found = np.array(value, dtype) if type(value) is int else np.asarray(value)
            bits = carrier.to_storage(found.astype(dtype)).tobytes()
        words = np.frombuffer(bits.ljust(8, b"\0"), np.uint32)
        return Tensor(dtype, contiguous_layout(()), Constant(*words.tolist()), self)

    def download(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """Wait for a tensor and return its values as a fresh C-order array."""
        self._check_open("download")
        if type(tensor.handle) is Constant:
            return self._constant_array(tensor)
        tensor = self._readable(tensor)
        return self._host_array(tensor, self.queue.read(*self._byte_range(tensor)))

    async def download_async(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """`download` without blocking the event loop."""
        self._check_open("download")
        if type(tensor.handle) is Constant:
            return self._constant_array(tensor)
        tensor = self._readable(tensor)
        return self._host_array(tensor, await self.queue.read_async(*self._byte_range(tensor)))

    def _readable(self, tensor: Tensor) -> Tensor:
        """The tensor, or a copy of it, as one run of elements in a buffer."""
        if isinstance(tensor.handle, Pending):
            self._resolve(tensor)
        if tensor.layout.is_contiguous:
            return tensor
        return self._launcher.contiguous(tensor, "download")

    def _resolve(self, tensor: Tensor) -> None:
        assert self.fuser is not None, "only the fuser makes pending handles"
        self.fuser.resolve(tensor)

    def _byte_range(self, tensor: Tensor) -> tuple[Any, int, int]:
        """Buffer, byte offset and byte count of a readable tensor."""
        item = self._launcher.nbytes(1, tensor.dtype)
        offset = tensor.layout.offset if tensor.size else 0
        return tensor.handle, offset * item, tensor.size * item

    def _host_array(self, tensor: Tensor, raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return self._launcher.stored(tensor.dtype).from_storage(raw).reshape(tensor.shape)

    def _constant_array(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        bits = np.array(tensor.handle.words, np.uint32)
        value = self._launcher.stored(tensor.dtype).from_storage(bits)[0]
        if tensor.nbytes > sys.maxsize:
            raise TensorTooLargeError("download", tensor.nbytes, sys.maxsize, "address space")
        try:
            return np.full(tensor.shape, value, tensor.dtype)
        except MemoryError as error:
            raise DeviceOutOfMemoryError("download", tensor.nbytes, "on the host") from error

    # ----- waiting

    def synchronize(self) -> None:
        """Return when everything queued has finished; raise late faults."""
        self._check_open("synchronize")
        self._run_deferred()
        self.queue.synchronize()

    async def synchronize_async(self) -> None:
        """`synchronize` without blocking the event loop."""
        self._check_open("synchronize")
        self._run_deferred()
        await self.queue.synchronize_async()

    def flush(self) -> None:
        """Submit queued work without waiting."""
        self._check_open("flush")
        self._run_deferred()
        self.queue.flush()

    def _run_deferred(self) -> None:
        if self.fuser is not None:
            self.fuser.run_all()

    # ----- house-keeping

    def capabilities(self) -> Capabilities:
        """What this backend can do on its device."""
        self._check_open("capabilities")
        info = self.device.info
        return Capabilities(
            backend=self.name,
            device_name=self.device_name,
            device_type=info.adapter_type,
            driver=f"{info.backend_type} {info.driver}".strip(),
            dtypes=dtype_support(self.device.native),
            operations=frozenset(self._kernels),
            features=tuple(sorted(self.device.features)),
            limits=asdict(self.device.limits),
            is_software=self.device.is_cpu,
        )

    def stats(self) -> dict[str, Any]:
        """Counters of the queue, its memory and every cache, as one tree."""
        fusion = {} if self.fuser is None else {"fusion": self.fuser.stats()}
        return {**fusion, **self.queue.stats(), **self._launcher.stats()}

    def clear_caches(self) -> None:
        """Drop plans, constants, pooled memory, bind groups, compiled pipelines and their text.

        The pipelines are the device's, their text the process's: others compile theirs anew.
        """
        self._check_open("clear_caches")
        if self.fuser is not None:
            self.fuser.clear_caches()
        self._launcher.clear_caches()
        self.queue.clear_caches()
        MODULES.clear()

    def close(self) -> None:
        """Free everything; later calls raise RuntimeClosedError. Idempotent."""
        self._closed = True
        self._kernels = {}
        if self.fuser is not None:
            self.fuser.close()
        self._launcher.clear_caches()
        self.queue.close()

    def _check_open(self, operation: str) -> None:
        if self._closed:
            raise RuntimeClosedError(operation)

    def __repr__(self) -> str:
        return f"WebGpuBackend({self.device_name!r})"
