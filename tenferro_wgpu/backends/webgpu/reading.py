"""Reading several tensors of the WebGPU backend with one submission and one wait.

A part of `WebGpuBackend`, behind `DownloadsTogether`.  It knows tensors and the queue; how one
tensor's bytes become an array is the backend's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tenferro_wgpu.backends.webgpu.kernels.launch import Constant
from tenferro_wgpu.tensor import Tensor

if TYPE_CHECKING:
    from tenferro_wgpu.backends.webgpu.queue import Queue

__all__ = ["Reading"]


class Reading:
    """The methods of `DownloadsTogether`, from what a `WebGpuBackend` has."""

    queue: Queue

    def download_many(self, tensors: Sequence[Tensor]) -> list[np.ndarray[Any, Any]]:
        """Wait for tensors and return the values of each as a fresh C-order array."""
        found = self._prepared(tensors)
        ranges = [self._byte_range(tensor) for tensor in found if tensor is not None]
        return self._arrays(tensors, found, self.queue.read_many(ranges) if ranges else [])

    async def download_many_async(self, tensors: Sequence[Tensor]) -> list[np.ndarray[Any, Any]]:
        """`download_many` without blocking the event loop."""
        found = self._prepared(tensors)
        ranges = [self._byte_range(tensor) for tensor in found if tensor is not None]
        raws = await self.queue.read_many_async(ranges) if ranges else []
        return self._arrays(tensors, found, raws)

    def _prepared(self, tensors: Sequence[Tensor]) -> list[Tensor | None]:
        """Each tensor as one run of elements in a buffer; None for those the host knows."""
        self._check_open("download")
        # Computed for all of them before the one submission that the reads wait for.
        return [
            None if type(tensor.handle) is Constant else self._readable(tensor)
            for tensor in tensors
        ]

    def _arrays(
        self, tensors: Sequence[Tensor], found: Sequence[Tensor | None], raws: Sequence[np.ndarray]
    ) -> list[np.ndarray[Any, Any]]:
        taken = iter(raws)
        return [
            self._constant_array(tensor) if run is None else self._host_array(run, next(taken))
            for tensor, run in zip(tensors, found, strict=True)
        ]

    if TYPE_CHECKING:  # of WebGpuBackend

        def _check_open(self, operation: str) -> None: ...
        def _readable(self, tensor: Tensor) -> Tensor: ...
        def _byte_range(self, tensor: Tensor) -> tuple[Any, int, int]: ...
        def _host_array(self, tensor: Tensor, raw: np.ndarray) -> np.ndarray: ...
        def _constant_array(self, tensor: Tensor) -> np.ndarray: ...
