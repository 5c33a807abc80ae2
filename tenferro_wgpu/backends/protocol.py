"""The contract between the library and a backend.

The interpreters call nothing but this Protocol.  A backend knows primitives by name and
concrete tensors by layout and handle; it knows nothing of gradients, runtimes or user tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ..caching import CacheLimits, CacheStats

if TYPE_CHECKING:
    from ..ops.primitive import Primitive
    from ..tensor import ShapeDtype, Tensor
    from .tuning_report import TuningReport

__all__ = [
    "Backend",
    "CanBeLost",
    "Capabilities",
    "DownloadsTogether",
    "HasCaches",
    "SharesHostMemory",
    "TimesKernels",
    "TunesKernels",
]


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do on the device it holds.

    `dtypes` maps a dtype name to "native" or "software"; a dtype that is absent is unsupported.
    `operations` are the names of the primitives with a kernel.
    """

    backend: str
    device_name: str
    device_type: str
    driver: str
    dtypes: Mapping[str, str]
    operations: frozenset[str]
    features: tuple[str, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    is_software: bool = False


@runtime_checkable
class Backend(Protocol):
    """Executes primitives on one device, in the order they are queued.

    Every method may be called from any thread; calls of one thread take effect in order.
    Methods raise the exceptions of ``tenferro_wgpu.errors``; after ``close()`` every method
    but ``close`` raises ``RuntimeClosedError``.
    """

    #: "cpu", "cuda", "webgpu" or a third party's name.
    name: str
    #: The device as a person would name it.
    device_name: str

    def execute(
        self,
        primitive: Primitive,
        operands: tuple[Tensor, ...],
        params: Mapping[str, Any],
        outputs: tuple[ShapeDtype, ...],
    ) -> tuple[Tensor, ...]:
        """Queue one primitive and return its outputs, C-contiguous, without waiting.

        Operands may have any strides, 0 and negative included.  Element-wise operands have the
        output's shape.  View primitives never arrive here.  Raises UnsupportedOperationError
        for a primitive or dtype without a kernel.
        """
        ...

    def upload(self, array: np.ndarray[Any, Any]) -> Tensor:
        """Copy a host array to the device (C order)."""
        ...

    def scalar(self, value: Any, dtype: np.dtype[Any]) -> Tensor:
        """A rank-0 constant; cheap, need not reach the device until a kernel asks for it."""
        ...

    def download(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """Wait for `tensor` alone and return its values as a fresh C-order array."""
        ...

    async def download_async(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """Like `download`, without blocking the event loop."""
        ...

    def synchronize(self) -> None:
        """Return when everything queued before the call has finished; raise late faults."""
        ...

    async def synchronize_async(self) -> None:
        """Like `synchronize`, without blocking the event loop."""
        ...

    def flush(self) -> None:
        """Hand queued work to the device without waiting."""
        ...

    def capabilities(self) -> Capabilities:
        """What this backend can do on its device."""
        ...

    def stats(self) -> dict[str, Any]:
        """Counters and cache statistics as one nested dict; reading it never waits."""
        ...

    def clear_caches(self) -> None:
        """Drop everything that can be made again: pipelines, pooled buffers, bind groups."""
        ...

    def close(self) -> None:
        """Free everything; calling it again does nothing."""
        ...


@runtime_checkable
class SharesHostMemory(Protocol):
    """Optional: a backend whose tensors lie in host memory."""

    def adopt(self, array: np.ndarray[Any, Any]) -> Tensor:
        """A tensor over a read-only, C-contiguous host array, without a copy."""
        ...

    def host_view(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """A read-only array over the tensor's own memory."""
        ...


@runtime_checkable
class DownloadsTogether(Protocol):
    """Optional: a backend that reads several tensors with one wait."""

    def download_many(self, tensors: Sequence[Tensor]) -> list[np.ndarray[Any, Any]]:
        """`download` of each tensor, in order."""
        ...

    async def download_many_async(self, tensors: Sequence[Tensor]) -> list[np.ndarray[Any, Any]]:
        """Like `download_many`, without blocking the event loop."""
        ...


@runtime_checkable
class HasCaches(Protocol):
    """Optional: a backend with bounded caches of its own."""

    def cache_stats(self) -> dict[str, CacheStats]:
        """Statistics by cache name."""
        ...

    def cache_limits(self) -> dict[str, CacheLimits]:
        """The bounds in force, by cache name."""
        ...

    def set_cache_limits(self, name: str, limits: CacheLimits) -> None:
        """Bound one cache; lowering a bound evicts at once.  Raises KeyError for other names."""
        ...


@runtime_checkable
class TimesKernels(Protocol):
    """Optional: a backend that can tell the device time of each kernel."""

    def timed_kernels(
        self, record: Callable[[str, int | None], None]
    ) -> AbstractContextManager[None]:
        """Call `record` with operation and device nanoseconds (or None) of each kernel."""
        ...


@runtime_checkable
class TunesKernels(Protocol):
    """Optional: a backend that can search for its fastest kernels."""

    def tune(
        self,
        sizes: Sequence[tuple[int, int, int]] | None,
        dtypes: Sequence[np.dtype[Any]],
        seconds: float,
    ) -> TuningReport:
        """Time ways to compute products of these (M, N, K), or of common ones, and use the best."""
        ...


@runtime_checkable
class CanBeLost(Protocol):
    """Optional: a backend whose device can go away while it is in use."""

    @property
    def lost(self) -> bool:
        """Whether the device is gone for good."""
        ...
