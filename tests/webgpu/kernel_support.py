"""Runs single primitives on a WebGPU backend, on operands of any layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro_wgpu.backends.webgpu.backend import WebGpuBackend
from tenferro_wgpu.tensor import ShapeDtype, Tensor


@dataclass(frozen=True)
class Named:
    """What a backend looks at of a primitive."""

    name: str


class Kernels:
    """One backend, with uploads, views and downloads around each call."""

    def __init__(self, backend: WebGpuBackend) -> None:
        self.backend = backend

    def tensor(self, value: Any) -> Tensor:
        """A tensor as it is, or an array uploaded."""
        return value if isinstance(value, Tensor) else self.backend.upload(np.asarray(value))

    def run(self, name: str, *operands: Any, shape: Any, dtype: Any, **params: Any) -> np.ndarray:
        """Execute one primitive and read its result."""
        return self.backend.download(
            self.queue(name, *operands, shape=shape, dtype=dtype, **params)
        )

    def queue(self, name: str, *operands: Any, shape: Any, dtype: Any, **params: Any) -> Tensor:
        """Execute one primitive without reading its result."""
        tensors = tuple(self.tensor(operand) for operand in operands)
        spec = ShapeDtype(tuple(shape), np.dtype(dtype))
        return self.backend.execute(Named(name), tensors, params, (spec,))[0]

    def constant(self, value: Any, dtype: Any, shape: tuple[int, ...] = ()) -> Tensor:
        """A scalar that never reached the device, broadcast to a shape."""
        scalar = self.backend.scalar(value, np.dtype(dtype))
        return scalar.with_layout(scalar.layout.broadcast_in_dim(shape, ()))

    def pipelines(self) -> int:
        """Pipelines compiled so far."""
        return self.backend.stats()["pipelines"]["built"]


def strided(kernels: Kernels, base: np.ndarray, layout: str) -> tuple[Tensor, np.ndarray]:
    """A view of an uploaded array, and the same view in NumPy.

    layout: "contiguous", "transposed", "flipped", "stepped" (every other element from the second)
    or "broadcast" (the first row repeated).
    """
    tensor = kernels.tensor(base)
    found = tensor.layout
    axes = tuple(range(base.ndim))
    if layout == "transposed":
        found, base = found.transpose(axes[::-1]), base.transpose()
    elif layout == "flipped":
        found, base = found.flip(axes), np.flip(base)
    elif layout == "stepped":
        starts = [min(1, extent) for extent in base.shape]
        found = found.slice(starts, base.shape, [2] * base.ndim)
        base = base[tuple(slice(start, None, 2) for start in starts)]
    elif layout == "broadcast":
        shape = base.shape
        row = found.slice([0] * base.ndim, [1, *shape[1:]], [1] * base.ndim)
        found, base = row.broadcast_in_dim(shape, axes), np.broadcast_to(base[:1], shape)
    return tensor.with_layout(found), base


LAYOUTS = ("contiguous", "transposed", "flipped", "stepped", "broadcast")


def sample(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Small values of a dtype: exact sums and products in every integer type."""
    random = np.random.default_rng(seed)
    if dtype.startswith("float"):
        return random.standard_normal(shape).astype(dtype)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    low = 0 if dtype.startswith("u") else -9
    return random.integers(low, 10, shape).astype(dtype)
