"""The CPU backend beside its kernels: memory, counters, threads, error states and closing."""

from __future__ import annotations

import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from cases.array_backends import run, values

from tenferro_wgpu.backends.numpy_backend import CpuBackend
from tenferro_wgpu.errors import (
    DeviceOutOfMemoryError,
    RuntimeClosedError,
    UnsupportedOperationError,
)
from tenferro_wgpu.layout import Layout
from tenferro_wgpu.tensor import ShapeDtype


@pytest.fixture
def backend() -> CpuBackend:
    return CpuBackend()


def test_unknown_primitive(backend: CpuBackend) -> None:
    with pytest.raises(UnsupportedOperationError, match="frobnicate.*float64.*cpu backend"):
        run(backend, "frobnicate", np.zeros(3), shape=(3,), dtype=np.float64)


def test_impossible_allocation(backend: CpuBackend) -> None:
    one = backend.upload(np.zeros(1))
    huge = one.with_layout(Layout((1 << 30, 1 << 20), (0, 0)))
    with pytest.raises(DeviceOutOfMemoryError) as caught:
        run(backend, "copy", huge, shape=huge.shape, dtype=np.float64)
    assert caught.value.op == "copy"
    assert caught.value.nbytes == 8 << 50
    assert backend.download(one) == 0.0


def test_everything_is_refused_after_close() -> None:
    backend = CpuBackend()
    tensor = backend.upload(np.zeros(3))
    backend.close()
    backend.close()
    calls = [
        lambda: run(backend, "neg", tensor, shape=(3,), dtype=np.float64),
        lambda: backend.upload(np.zeros(3)),
        lambda: backend.scalar(1, np.dtype("f4")),
        lambda: backend.download(tensor),
        backend.synchronize,
        backend.flush,
        backend.capabilities,
        backend.clear_caches,
    ]
    for call in calls:
        with pytest.raises(RuntimeClosedError):
            call()


def test_stats_count_work_and_bytes(backend: CpuBackend) -> None:
    x = np.zeros(10, np.float32)
    run(backend, "neg", x, shape=(10,), dtype=np.float32)
    run(backend, "add", x, x, shape=(10,), dtype=np.float32)
    stats = backend.stats()
    assert stats["executed"] == {"total": 2, "by_primitive": {"neg": 1, "add": 1}}
    assert stats["transfers"] == {
        "uploads": 3, "uploaded_bytes": 120, "downloads": 2, "downloaded_bytes": 80,
    }  # fmt: skip


def test_scalars(backend: CpuBackend) -> None:
    tensor = backend.scalar(2.5, np.dtype(np.float32))
    assert tensor.shape == () and tensor.dtype == np.float32
    spread = tensor.with_layout(tensor.layout.broadcast_in_dim((2, 2), ()))
    np.testing.assert_array_equal(backend.download(spread), np.full((2, 2), 2.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(backend.download(backend.scalar(1e300, np.dtype(np.float32))))


def test_adopt_shares_memory(backend: CpuBackend) -> None:
    x = np.arange(3.0)
    assert np.shares_memory(backend.adopt(x).handle, x)
    with pytest.raises(ValueError, match="contiguous"):
        backend.adopt(np.zeros((3, 2)).T)


def test_callers_error_state_is_untouched(backend: CpuBackend) -> None:
    with np.errstate(divide="raise"):
        found = run(backend, "div", np.ones(1), np.zeros(1), shape=(1,), dtype=np.float64)
        assert np.isinf(found[0])
        with pytest.raises(FloatingPointError):
            np.ones(1) / np.zeros(1)


def test_threads_compute_independently(backend: CpuBackend) -> None:
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            x = values(np.dtype("f8"), (50,), seed)
            for _ in range(50):
                found = run_quiet(backend, "exp", x)
                np.testing.assert_array_equal(found, np.exp(x))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def run_quiet(backend: CpuBackend, name: str, x: np.ndarray) -> np.ndarray:
    """Like `run`, without warning filters (they belong to the whole process)."""
    out = ShapeDtype(x.shape, x.dtype)
    (result,) = backend.execute(SimpleNamespace(name=name), (backend.upload(x),), {}, (out,))
    return backend.download(result)


def test_thread_limit() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        CpuBackend(threads=0)
    backend = CpuBackend(threads=1)
    x = np.eye(3)
    found = run(
        backend, "dot_general", x, x, shape=(3, 3), dtype=x.dtype,
        contracting=((1,), (0,)), batch=((), ()),
    )  # fmt: skip
    np.testing.assert_array_equal(found, x)
    backend.close()
