"""The runtime: scoping, sessions, caches, statistics, imports and exports, profiling."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.caching import CacheLimits


def test_identity_is_never_reused():
    seen = set()
    for _ in range(20):
        with tw.EagerRuntime("cpu") as rt:
            assert rt.id not in seen
            seen.add(rt.id)


def test_scoped_default_is_per_thread(cpu):
    with tw.EagerRuntime("cpu") as inner:
        assert tw.current_runtime() is inner
        found = []
        thread = threading.Thread(target=lambda: found.append(tw.current_runtime()))
        thread.start()
        thread.join()
        assert found[0] is not inner
        with cpu.as_default(), inner.as_default():
            assert tw.current_runtime() is inner
    assert inner.closed


def test_session_is_reentrant_and_released_on_errors(rt):
    with rt.session(), rt.session() as backend:
        assert backend is rt.backend
        assert (rt.constant_from([1.0]) + 1.0).tolist() == [2.0]
    with pytest.raises(KeyError), rt.session():
        raise KeyError("inside")
    done = []
    thread = threading.Thread(target=lambda: done.append((rt.constant_from([1.0]) * 3.0).tolist()))
    thread.start()
    thread.join(timeout=30)
    assert done == [[3.0]]


def test_callback_that_calls_back_in(rt):
    assert rt.with_backend(lambda _: rt.with_backend(lambda _: (rt.constant_from(1.0) + 1).item()))


def test_imports(rt):
    array = np.arange(6.0).reshape(2, 3)
    x = rt.constant_from(array)
    array[:] = 0
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert x.dtype == np.float64
    assert rt.constant_from([1.0]).dtype == np.float32
    assert rt.constant_from([1]).dtype == np.int64
    assert rt.constant_from([True]).dtype == np.bool_
    assert rt.constant_from(x).tensor is x.tensor
    frozen = np.ones(3)
    with pytest.raises(ValueError, match="read-only"):
        rt.constant_from(frozen, copy=False)
    frozen.flags.writeable = False
    assert rt.constant_from(frozen, copy=False).tolist() == [1.0, 1.0, 1.0]
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert rt.constant_from(fortran).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert rt.constant_from(fortran[:, ::-1]).tolist() == [[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]]


def test_exports(rt):
    x = rt.constant_from(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert x.numpy(order="F").flags.f_contiguous
    own = x.numpy()
    own[0, 0] = 9
    assert x.numpy()[0, 0] == 0
    assert not x.numpy(copy=False).flags.writeable
    assert np.asarray(x).dtype == np.float32
    assert float(x[0, 1]) == 1.0 and int(x[1, 2]) == 5 and bool(x[0, 1])
    assert [row.tolist() for row in x] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert 5 in x and 5.5 not in x and x[0, 0] in x and "5" not in x
    np.testing.assert_array_equal(np.from_dlpack(x), x.numpy())
    with pytest.raises(BufferError, match="detach"):
        np.from_dlpack(rt.variable_from([1.0]))
    assert range(5)[rt.constant_from(np.int32(3))] == 3


def test_copies_and_pickles(rt):
    x = rt.variable_from([1.0, 2.0])
    assert copy.copy(x) is x
    assert copy.deepcopy(x).requires_grad and not copy.deepcopy(x * 1.0).requires_grad
    again = pickle.loads(pickle.dumps(x))
    assert again.requires_grad and again.tolist() == [1.0, 2.0]
    assert not pickle.loads(pickle.dumps(x * 1.0)).requires_grad


def test_numpy_functions_stay_on_the_tape(rt):
    x = rt.variable_from([1.0, 2.0])
    y = np.sum(np.exp(x) * np.float32(2))
    assert y.requires_grad
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([1.0, 2.0]), rtol=1e-6)
    with pytest.raises(TypeError, match="numpy"):
        np.linalg.svd(x)
    with pytest.raises(TypeError, match="numpy"):
        np.float_power(x, 0.5)


def test_hash_is_identity_and_equality_elementwise(rt):
    x = rt.constant_from([1.0, 2.0])
    assert {x: 1}[x] == 1
    assert (x == x).tolist() == [True, True]
    assert (x != x).tolist() == [False, False]
    assert (x == "text") is False


def test_representation_reads_only_what_it_shows(rt):
    assert "0.5" in repr(rt.constant_from([0.5]))
    assert "requires_grad" in repr(rt.variable_from([0.5]))
    big = rt.constant_from(np.arange(200 * 300).reshape(200, 300))
    text = repr(big)
    assert "..." in text and "59999" in text and "(200, 300)" in text


def test_repr_of_runtime_never_blocks(rt):
    assert rt.backend.name in repr(rt)
    ready, release = threading.Event(), threading.Event()

    def hold():
        with rt.session():
            ready.set()
            release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait(30)
    assert "<locked>" in repr(rt)
    release.set()
    thread.join()


def test_profile_counts(rt):
    x = rt.constant_from(np.ones(8, np.float32))
    with rt.profile() as measured:
        y = x
        for _ in range(5):
            y = y + x
    assert measured.operations["add"].calls == 5
    assert "add: calls=5" in repr(measured)


def test_profile_tells_device_time(rt, adapter):
    x = rt.constant_from(np.ones(100_000, np.float32))
    with rt.profile() as measured:
        _ = tw.exp(x) * 2.0
    assert measured.operations["exp"].calls == 1
    # A fused kernel bears the names of its operations: "exp+mul".
    (row,) = [
        row
        for name, row in measured.operations.items()
        if "exp" in name.split("+") and (row.kernels or "+" not in name)
    ][-1:]
    if adapter in ("numpy", "cupy"):
        assert row.kernels == 0 and row.device_seconds is None
    else:
        assert row.kernels == 1
        assert row.device_seconds is None or 0 < row.device_seconds < 10
    assert (x + 1.0)[0].item() == 2.0


def test_cache_limits(fresh_rt, adapter):
    for name, limits in fresh_rt.cache_limits().items():
        assert getattr(fresh_rt.cache_stats(), name).entries <= limits.max_entries
    with fresh_rt.extension_caches() as caches:
        for i in range(10):
            caches.put(("example.cache.v1", "plans", i), i, nbytes=100)
    fresh_rt.set_cache_limits("extensions", max_entries=4)
    stats = fresh_rt.cache_stats().extensions
    assert (stats.entries, stats.evictions, stats.retained_bytes) == (4, 6, 400)
    fresh_rt.set_cache_limits("extensions", max_retained_bytes=250)
    assert fresh_rt.cache_stats().extensions.entries == 2
    with pytest.raises(ValueError, match="extensions"):
        fresh_rt.set_cache_limits("unknown", max_entries=1)
    if adapter in ("numpy", "cupy"):
        return
    x = fresh_rt.constant_from(np.ones(50_000, np.float32))
    del x
    assert fresh_rt.cache_stats().buffers.retained_bytes > 0
    fresh_rt.set_cache_limits("buffers", max_retained_bytes=0)
    fresh_rt.synchronize()
    assert fresh_rt.cache_stats().buffers.retained_bytes == 0
    fresh_rt.set_cache_limits("bind_groups", max_entries=8)
    y = fresh_rt.constant_from([1.0, 2.0])
    for _ in range(50):
        y = y + 1.0
    assert y.tolist() == [51.0, 52.0]
    assert fresh_rt.cache_stats().bind_groups.entries <= 8


def test_rendered_modules_are_a_cache_like_any_other(fresh_rt, adapter):
    if adapter in ("numpy", "cupy"):
        assert "modules" not in fresh_rt.cache_limits()
        return
    usual = fresh_rt.cache_limits()["modules"].max_entries
    x = fresh_rt.constant_from([[1.0, 4.0]])

    def compute():
        fresh_rt.backend.queue.clear_caches()
        assert (x.sum(), tw.max(x), tw.argmax(x)) == (5.0, 4.0, 1)

    fresh_rt.clear_caches()
    assert fresh_rt.cache_stats().modules.entries == 0
    compute()
    first = fresh_rt.cache_stats().modules
    assert first.entries >= 3 and first.retained_bytes > 1000
    compute()
    second = fresh_rt.cache_stats().modules
    assert second.hits >= first.hits + 3 and second.misses == first.misses
    try:
        fresh_rt.set_cache_limits("modules", max_entries=1)
        lowered = fresh_rt.cache_stats().modules
        assert (lowered.entries, lowered.evictions) == (1, second.evictions + second.entries - 1)
        assert lowered.retained_bytes < second.retained_bytes
        fresh_rt.set_cache_limits("modules", max_retained_bytes=0)
        assert fresh_rt.cache_stats().modules.entries == 0
        compute()
    finally:
        fresh_rt.backend.set_cache_limits("modules", CacheLimits(usual))


def test_profile_environment():
    program = (
        "import tenferro_wgpu as tw\n"
        "rt = tw.EagerRuntime('cpu')\n"
        "x = rt.constant_from([1.0])\n"
        "for _ in range(5): x = x + 1.0\n"
    )
    environment = os.environ | {
        "TENFERRO_PROFILE_EAGER_OP_AGG": "1",
        "TENFERRO_PROFILE_EAGER_OP_PRINT_EVERY": "3",
    }
    text = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stderr
    assert text.count("=== tenferro eager op profile ===") == 2
    assert "nary_op.total: calls=3 total=" in text
    assert "nary_op.total: calls=2 total=" in text


def test_check_nans_names_the_operation(rt):
    x = rt.constant_from([-1.0])
    with rt.check_nans():
        _ = x * 2.0
        with pytest.raises(FloatingPointError, match="sqrt"):
            tw.sqrt(x)


def test_import_is_light():
    program = (
        "import sys, time, numpy\n"
        "start = time.perf_counter()\n"
        "import tenferro_wgpu\n"
        "assert 'wgpu' not in sys.modules and 'jinja2' not in sys.modules\n"
        "assert 'cupy' not in sys.modules\n"
        "print(time.perf_counter() - start)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_no_noise_at_exit(adapter):
    if adapter in ("numpy", "cupy"):
        pytest.skip("nothing is queued on arrays")
    from conftest import ADAPTERS

    program = (
        "import tenferro_wgpu as tw\n"
        f"rt = tw.EagerRuntime(tw.WebGpuBackend(adapter={ADAPTERS[adapter]!r}))\n"
        "x = rt.variable_from([1.0])\n"
        "y = (x + 1.0).sum()\n"
        "y.backward()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "", done.stderr


def test_constants_keep_their_sign_and_kind(fresh_rt):
    x = fresh_rt.constant_from(np.ones(3, np.float32))
    for _ in range(2):  # the second time from the cache
        assert np.signbit((x * 0.0).numpy()).tolist() == [False] * 3
        assert np.signbit((x * -0.0).numpy()).tolist() == [True] * 3
        assert np.isnan((x * float("nan")).numpy()).all()
        assert (x + 1).tolist() == (x + 1.0).tolist() == [2.0] * 3
        assert (1 - x).tolist() == [0.0] * 3
    stats = fresh_rt.cache_stats().constants
    assert stats.entries == stats.misses == 4  # 0.0, -0.0, 1 and 1.0
    fresh_rt.set_cache_limits("constants", max_entries=2)
    for scalar in range(5):
        assert (x * scalar).tolist() == [scalar] * 3
    assert fresh_rt.cache_stats().constants.entries <= 2
    fresh_rt.clear_caches()
    assert fresh_rt.cache_stats().constants.entries == 0


def test_signatures_are_inferred_once_and_bounded(fresh_rt):
    x = fresh_rt.constant_from(np.ones(3, np.float32))
    for _ in range(5):
        _ = x + x
    assert fresh_rt.cache_stats().signatures.misses == 1
    fresh_rt.set_cache_limits("signatures", max_entries=3)
    for extent in range(2, 9):
        y = fresh_rt.constant_from(np.ones(extent, np.float32))
        assert (y + y).tolist() == [2.0] * extent
        with pytest.raises(tw.errors.ShapeError):
            _ = y + fresh_rt.constant_from(np.ones(extent + 1, np.float32))
    assert fresh_rt.cache_stats().signatures.entries <= 3
    fresh_rt.clear_caches()
    assert fresh_rt.cache_stats().signatures.entries == 0


def test_views_of_every_layout_come_back_the_same(fresh_rt):
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = fresh_rt.constant_from(base)
    for _ in range(2):  # inferred, then found
        moved = x.transpose(2, 0, 1)
        assert np.array_equal(moved.numpy(), base.transpose(2, 0, 1))
        assert np.array_equal(moved.reshape(4, 6).numpy(), base.transpose(2, 0, 1).reshape(4, 6))
        assert np.array_equal((moved + x[0, 0, :2, None]).numpy(),
                              base.transpose(2, 0, 1) + base[0, 0, :2, None])  # fmt: skip
        assert np.array_equal((x[:, 1] * x[:, 1]).numpy(), base[:, 1] ** 2)
        assert np.array_equal((x[:, 2] * x[:, 2]).numpy(), base[:, 2] ** 2)
