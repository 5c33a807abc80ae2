"""Running one primitive on an array backend, and the arrays it is run on."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

from tenferro_wgpu.backends.numpy_backend import CpuBackend
from tenferro_wgpu.layout import Layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e30, 1e-40]


def run(
    backend: CpuBackend,
    name: str,
    *operands: Any,
    shape: tuple[int, ...],
    dtype: Any,
    **params: Any,
) -> np.ndarray:
    """Execute one primitive on host arrays or tensors and check what the protocol promises."""
    tensors = tuple(x if isinstance(x, Tensor) else backend.upload(np.asarray(x)) for x in operands)
    out = ShapeDtype(shape, np.dtype(dtype))
    if name == "cast":
        params["dtype"] = out.dtype
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (result,) = backend.execute(SimpleNamespace(name=name), tensors, params, (out,))
    assert result.shape == shape
    assert result.dtype == dtype
    assert result.layout.is_contiguous
    assert isinstance(result.handle, np.ndarray)
    assert result.handle.flags.c_contiguous
    assert all(not np.shares_memory(result.handle, x.handle) for x in tensors)
    return backend.download(result)


def values(dtype: np.dtype, shape: tuple[int, ...] = (4, 3), seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    real = rng.normal(size=shape)
    if dtype.kind == "c":
        return (real + 1j * rng.normal(size=shape)).astype(dtype)
    return real.astype(dtype)


def strided_views(backend: CpuBackend, array: np.ndarray) -> list[tuple[Tensor, np.ndarray]]:
    """Views of one buffer, each with the host array it must equal."""
    tensor = backend.upload(array)
    layout = tensor.layout
    rows, columns = array.shape
    return [
        (tensor, array),
        (tensor.with_layout(layout.transpose((1, 0))), array.T),
        (tensor.with_layout(layout.flip((0, 1))), array[::-1, ::-1]),
        (
            tensor.with_layout(layout.slice((1, 0), (rows, columns), (2, 2))),
            array[1:rows:2, 0:columns:2],
        ),
        (
            tensor.with_layout(Layout((5, columns), (0, 1), columns)),
            np.broadcast_to(array[1], (5, columns)),
        ),
    ]
