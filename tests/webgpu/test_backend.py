"""The WebGPU backend as a whole: capabilities, transfers, statistics, caches, closing."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from kernel_support import Kernels

from tenferro_wgpu.backends.protocol import Backend
from tenferro_wgpu.backends.webgpu.backend import WebGpuBackend
from tenferro_wgpu.backends.webgpu.dialects import dialect_for, dtype_support
from tenferro_wgpu.backends.webgpu.probe import possible_dialects
from tenferro_wgpu.caching import CacheLimits
from tenferro_wgpu.errors import (
    ArgumentError,
    DTypeError,
    RuntimeClosedError,
    TensorTooLargeError,
    UnsupportedOperationError,
)


def test_it_is_a_backend(kernels):
    assert isinstance(kernels.backend, Backend)
    assert kernels.backend.name == "webgpu" and kernels.backend.device_name


def test_capabilities_tell_native_from_software(kernels):
    found = kernels.backend.capabilities()
    assert found.is_software and found.device_type == "CPU"
    assert found.dtypes["float32"] == found.dtypes["int8"] == "native"
    for name, dtype in (("f64n", "float64"), ("i64n", "int64"), ("u64n", "uint64")):
        native = name in kernels.backend.device.native
        assert found.dtypes[dtype] == ("native" if native else "software")
    possible = possible_dialects(kernels.backend.device.features)
    if possible == kernels.backend.device.native:
        assert found.dtypes == dtype_support(possible)
    for name in ("add", "reduce_sum", "dot_general", "gather", "scatter_add", "pad", "argmax"):
        assert name in found.operations
    assert found.limits["max_storage_buffer_binding_size"] > 0


def test_uploads_copy_and_keep_shape(kernels):
    x = np.arange(6, dtype="i8").reshape(2, 3)[:, ::-1]
    kept = x.copy()
    tensor = kernels.backend.upload(x)
    x += 1
    np.testing.assert_array_equal(kernels.backend.download(tensor), kept)
    np.testing.assert_array_equal(asyncio.run(kernels.backend.download_async(tensor)), kept)


def test_refused_uploads(kernels):
    with pytest.raises(DTypeError, match="datetime64"):
        kernels.backend.upload(np.zeros(3, "datetime64[s]"))
    limit = kernels.backend.device.limits.max_storage_buffer_binding_size
    if limit <= 128 << 20:
        with pytest.raises(TensorTooLargeError):
            kernels.backend.upload(np.broadcast_to(np.float32(0), (limit // 4 + 1,)))


def test_a_missing_dtype_names_the_operation_and_a_way_out():
    with pytest.raises(UnsupportedOperationError, match=r"upload on .*astype.*sum.dtype=int64"):
        dialect_for(np.dtype("datetime64[s]"), frozenset(), "upload")


def test_constants_reach_memory_once(kernels):
    x, row = np.ones((4, 4), "f4"), (1, 4)
    kernels.run("concatenate", x, kernels.constant(3, "f4", row), shape=(5, 4), dtype="f4", axis=0)
    before = kernels.backend.stats()["constants"]["misses"]
    kernels.run("concatenate", x, kernels.constant(3, "f4", row), shape=(5, 4), dtype="f4", axis=0)
    assert kernels.backend.stats()["constants"]["misses"] == before


def test_caches_can_be_dropped_at_any_time(kernels):
    x = kernels.tensor(np.arange(5, dtype="f4"))
    pending = kernels.queue("neg", x, shape=(5,), dtype="f4")
    kernels.backend.clear_caches()
    assert kernels.backend.stats()["plans"]["entries"] == 0
    doubled = kernels.run("add", pending, pending, shape=(5,), dtype="f4")
    np.testing.assert_array_equal(doubled, -2 * np.arange(5, dtype="f4"))


def test_plan_cache_is_bounded(kernels):
    plans = kernels.backend._launcher.plans
    limit = plans.limit
    plans.limit = 16
    try:
        for size in range(1, 60):
            kernels.queue("argmax", np.ones((size, 2), "f4"), shape=(size,), dtype="i8", axis=1)
        assert len(plans) <= 16 and plans.evictions > 0
    finally:
        plans.limit = limit


def test_hits_and_misses_are_those_of_one_backend(kernels):
    limits = kernels.backend.device.limits_mode
    kernels.run("neg", np.ones(3, "f4"), shape=(3,), dtype="f4")
    second = Kernels(WebGpuBackend(adapter=kernels.backend.device_name, limits=limits))
    x = second.tensor(np.ones(3, "f4"))
    for _ in range(4):
        second.run("neg", x, shape=(3,), dtype="f4")
    found = second.backend.cache_stats()
    second.backend.close()
    assert (found["pipelines"].hits, found["pipelines"].misses) == (4, 0)
    assert 0 < found["bind_groups"].misses < 4
    assert found["bind_groups"].hits + found["bind_groups"].misses == 4
    texts = [pipeline.wgsl for pipeline in kernels.backend.device.pipelines.values()]
    assert found["pipelines"].retained_bytes == sum(map(len, texts)) > 0


def test_bounds_that_a_cache_does_not_have_are_refused(kernels):
    backend = kernels.backend
    before = backend.cache_limits()
    for name, limits in (
        ("pipelines", CacheLimits(8, 1000)),
        ("bind_groups", CacheLimits(8, 1000)),
        ("buffers", CacheLimits(8, 1000)),
    ):
        with pytest.raises(ArgumentError, match=name):
            backend.set_cache_limits(name, limits)
    assert backend.cache_limits() == before
    for name, limits in before.items():
        backend.set_cache_limits(name, limits)
    assert backend.cache_limits() == before


def test_everything_but_close_fails_after_close(kernels):
    limits = kernels.backend.device.limits_mode
    backend = WebGpuBackend(adapter=kernels.backend.device_name, limits=limits)
    own = Kernels(backend)
    x = own.tensor(np.ones(3, "f4"))
    backend.close()
    backend.close()
    with pytest.raises(RuntimeClosedError, match="neg"):
        own.queue("neg", x, shape=(3,), dtype="f4")
    for call in (
        lambda: backend.upload(np.ones(3, "f4")),
        lambda: backend.scalar(1, np.dtype("f4")),
        lambda: backend.download(x),
        backend.synchronize,
        backend.flush,
        backend.clear_caches,
        backend.capabilities,
    ):
        with pytest.raises(RuntimeClosedError):
            call()


@pytest.mark.filterwarnings("error")
def test_scalars_overflow_to_infinity_without_a_warning_and_integers_never_wrap(kernels):
    def value(number, dtype):
        return kernels.backend.download(kernels.backend.scalar(number, np.dtype(dtype)))

    assert value(1e39, "f4") == np.inf and value(-(2**200), "f4") == -np.inf
    assert value(2**31 - 1, "i4") == 2**31 - 1 and value(2**32 - 1, "u4") == 2**32 - 1
    assert value(-(2**63), "i8") == -(2**63) and value(2**53 + 1, "f8") == 2**53
    for number, dtype in [(2**40, "i4"), (-1, "u4"), (2**63, "i8"), (2**2000, "f4")]:
        with pytest.raises(OverflowError):
            value(number, dtype)
