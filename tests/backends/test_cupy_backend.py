"""The CUDA backend's own wiring, on a stand-in for CuPy that computes with NumPy.

What CuPy itself computes is tested where a CUDA device is (the `cupy` adapter of the test run);
here streams, pool, events, caches and errors are checked without one.
"""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tenferro_wgpu.backends import cupy_backend
from tenferro_wgpu.backends.cupy_backend import CudaBackend, cuda_devices
from tenferro_wgpu.backends.protocol import Backend
from tenferro_wgpu.errors import (
    DeviceOutOfMemoryError,
    NoAdapterError,
    RuntimeClosedError,
)
from tenferro_wgpu.tensor import ShapeDtype


class StandIn:
    """NumPy's namespace with CuPy's `cuda` module, recording what the backend does with it."""

    __version__ = "14.0"

    def __init__(self, devices: int = 1) -> None:
        self.current: list[str] = []
        self.events: list[str] = []
        self.limit: int | None = None
        self.freed = 0
        self.pending_polls = 2
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(
                getDeviceCount=lambda: devices,
                driverGetVersion=lambda: 12040,
                getDeviceProperties=lambda index: {"name": b"Stand-in GPU %d" % index},
            ),
            Device=lambda index: self._scope(f"device {index}"),
            Stream=lambda *, non_blocking: self._scope("stream"),
            MemoryPool=lambda: SimpleNamespace(
                malloc=object(),
                set_limit=self._set_limit,
                used_bytes=lambda: 10,
                total_bytes=lambda: 20,
                free_all_blocks=self._free,
            ),
            Event=lambda *, disable_timing: self._event(),
            using_allocator=lambda allocator: self._scope("pool"),
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def asnumpy(self, array: np.ndarray, *, stream: Any, order: str) -> np.ndarray:
        assert self.current == ["device 0", "stream", "pool"]
        return np.array(array, order=order)

    def array(self, array: np.ndarray, order: str) -> np.ndarray:
        assert self.current == ["device 0", "stream", "pool"]
        return np.array(array, order=order)

    def _scope(self, name: str) -> Any:
        stand_in = self

        class Scope(contextlib.AbstractContextManager):
            def __enter__(self) -> None:
                stand_in.current.append(name)

            def __exit__(self, *exception: object) -> None:
                assert stand_in.current.pop() == name

        return Scope()

    def _event(self) -> Any:
        stand_in = self

        class Event:
            def record(self, stream: Any) -> None:
                stand_in.events.append("record")

            def synchronize(self) -> None:
                stand_in.events.append("synchronize")

            @property
            def done(self) -> bool:
                stand_in.pending_polls -= 1
                return stand_in.pending_polls < 0

        return Event()

    def _set_limit(self, *, size: int) -> None:
        self.limit = size

    def _free(self) -> None:
        self.freed += 1


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    found = StandIn()
    monkeypatch.setattr(cupy_backend, "_import_cupy", lambda: found)
    return found


def execute(backend: CudaBackend, name: str, *operands: Any, shape: Any, **params: Any) -> Any:
    out = (ShapeDtype(shape, operands[0].dtype),)
    return backend.execute(SimpleNamespace(name=name), operands, params, out)[0]


def test_devices(stand_in: StandIn) -> None:
    assert cuda_devices() == [("Stand-in GPU 0", "CUDA 12.4, CuPy 14.0")]
    with pytest.raises(NoAdapterError, match="no device 3"):
        CudaBackend(3)


def test_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy_backend, "_import_cupy", lambda: StandIn(devices=0))
    with pytest.raises(NoAdapterError, match="no CUDA device"):
        CudaBackend()


def test_old_driver(stand_in: StandIn) -> None:
    def fail() -> int:
        raise RuntimeError("cudaErrorInsufficientDriver")

    stand_in.cuda.runtime.getDeviceCount = fail
    with pytest.raises(NoAdapterError, match="InsufficientDriver.*NVIDIA GPU"):
        CudaBackend()


def test_work_runs_on_own_device_stream_and_pool(stand_in: StandIn) -> None:
    backend = CudaBackend(memory_limit=1 << 20)
    assert isinstance(backend, Backend)
    assert stand_in.limit == 1 << 20
    x = backend.upload(np.arange(3.0))
    seen: list[list[str]] = []
    backend._kernels["neg"] = lambda out, arrays, params: (
        seen.append(list(stand_in.current)) or -arrays[0]
    )
    result = execute(backend, "neg", x, shape=(3,))
    assert seen == [["device 0", "stream", "pool"]]
    assert stand_in.current == []
    np.testing.assert_array_equal(backend.download(result), [0, -1, -2])
    assert backend.stats()["pool"] == {"used_bytes": 10, "total_bytes": 20}
    assert backend.capabilities().driver == "CUDA 12.4, CuPy 14.0"


def test_context_is_left_when_a_kernel_fails(stand_in: StandIn) -> None:
    backend = CudaBackend()

    def exhausted(out: Any, arrays: Any, params: Any) -> Any:
        raise MemoryError("out of memory")

    backend._kernels["neg"] = exhausted
    with pytest.raises(DeviceOutOfMemoryError, match="24 bytes"):
        execute(backend, "neg", backend.upload(np.arange(3.0)), shape=(3,))
    assert stand_in.current == []


def test_synchronize_waits_for_an_event(stand_in: StandIn) -> None:
    backend = CudaBackend()
    backend.synchronize()
    assert stand_in.events == ["record", "synchronize"]
    asyncio.run(backend.synchronize_async())
    assert stand_in.events == ["record", "synchronize", "record"]
    assert stand_in.pending_polls < 0
    x = backend.upload(np.arange(3.0))
    np.testing.assert_array_equal(asyncio.run(backend.download_async(x)), np.arange(3.0))


def test_scalars_are_uploaded_once(stand_in: StandIn) -> None:
    backend = CudaBackend()
    first = backend.scalar(0.1, np.dtype(np.float32))
    assert backend.scalar(0.1, np.dtype(np.float32)).handle is first.handle
    assert backend.scalar(0.1, np.dtype(np.float64)).handle is not first.handle
    assert backend.scalar(0.0, first.dtype).handle is not backend.scalar(-0.0, first.dtype).handle
    backend.clear_caches()
    assert stand_in.freed == 1
    assert backend.scalar(0.1, np.dtype(np.float32)).handle is not first.handle


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.uint64, np.float32])
def test_scatter_add_keeps_its_dtype(stand_in: StandIn, dtype: Any) -> None:
    """CUDA has no atomics for some integers; sums modulo their width must not change."""
    backend = CudaBackend()
    x = backend.upload(np.array([100, 3], dtype))
    indices = backend.upload(np.zeros((3, 1), np.int64))
    updates = backend.upload(np.full((3, 1), 20, dtype))
    result = execute(
        backend, "scatter_add", x, indices, updates, shape=(2,), axes=(0,), mode="raise"
    )
    expected = np.array([160, 3]).astype(dtype)
    assert result.dtype == dtype
    np.testing.assert_array_equal(backend.download(result), expected)


def test_close(stand_in: StandIn) -> None:
    backend = CudaBackend()
    x = backend.upload(np.arange(3.0))
    backend.close()
    backend.close()
    assert stand_in.freed == 1
    for call in (lambda: execute(backend, "neg", x, shape=(3,)), backend.synchronize):
        with pytest.raises(RuntimeClosedError):
            call()
