"""Adapters, device choice, the two native drivers side by side, and the probe of native f64."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from driver_support import (
    ADD,
    LAVAPIPE,
    SWIFTSHADER,
    VARIANTS,
    add_params,
    open_variant,
    params_block,
    run_python,
)

from tenferro_wgpu.backends.webgpu import device as devices
from tenferro_wgpu.backends.webgpu import probe
from tenferro_wgpu.backends.webgpu.drivers import native, native_fast, native_public, native_reads
from tenferro_wgpu.backends.webgpu.drivers.native import shader_error, staging_size
from tenferro_wgpu.backends.webgpu.drivers.protocol import (
    AdapterInfo,
    BatchRejectedError,
    Limits,
    ReadRequest,
)
from tenferro_wgpu.backends.webgpu.probe import PROBES
from tenferro_wgpu.backends.webgpu.queue import Queue
from tenferro_wgpu.errors import (
    DeviceLostError,
    EnvironmentVariableError,
    NoAdapterError,
    ShaderError,
    TenferroError,
)

BINDINGS = ("read", "read", "read_write")


@pytest.fixture(params=VARIANTS, ids=" ".join)
def device(request):
    return open_variant(*request.param)


def _raw_add(driver, count=64, vectors=1):
    """Buffers, pipeline and group of an addition through the bare driver."""
    size = 16 * vectors
    space = driver.params_space(size)
    declaration = devices._params_declaration(space)
    wgsl = params_block(vectors).replace("{params}", declaration) + ADD
    pipeline = driver.create_pipeline(wgsl, BINDINGS, space, size, "add")
    raws = [driver.create_buffer(4 * count) for _ in range(3)]
    for raw in raws[:2]:
        driver.write_buffer(raw, 0, memoryview(np.full(count, 1.5, np.float32)).cast("B"))
    group = driver.create_bind_group(BINDINGS, [(raw, 0, 4 * count) for raw in raws])
    params = add_params(count).ljust(size, b"\0")
    return raws, (pipeline, group, params, (1, 1, 1), "add", (), ())


@pytest.mark.parametrize("vectors", [1, 5])
def test_submit_then_read(device, vectors):
    driver = device.driver
    raws, command = _raw_add(driver, vectors=vectors)
    driver.submit([command])
    driver.wait()
    (found,) = driver.finish_read(driver.begin_read((), [ReadRequest(raws[2], 0, 256)]))
    assert np.array_equal(found.view(np.float32), np.full(64, 3))


def test_one_submission_runs_commands_and_reads_several_buffers(device):
    driver = device.driver
    raws, command = _raw_add(driver)
    token = driver.begin_read([command], [ReadRequest(raws[2], 8, 16), ReadRequest(raws[0], 0, 4)])
    first, second = driver.finish_read(token)
    assert np.array_equal(first.view(np.float32), [3, 3, 3, 3])
    assert np.array_equal(second.view(np.float32), [1.5])


@pytest.mark.parametrize("sizes", [(4, 8, 4), (2 << 20, 4), (4, 5 << 20, 12, 3 << 20, 4)])
def test_many_requests_are_one_stream_of_pieces(device, sizes):
    driver = device.driver
    rng = np.random.default_rng(5)
    wanted, requests = [], []
    for size in sizes:
        content = rng.integers(0, 256, size + 4, np.uint8)
        raw = driver.create_buffer(size + 4 + 15 & ~15)
        driver.write_buffer(raw, 0, content.data)
        requests.append(ReadRequest(raw, 4, size))
        wanted.append(content[4:])
    for finish in (driver.finish_read, lambda token: asyncio.run(driver.finish_read_async(token))):
        found = finish(driver.begin_read((), requests))
        assert [len(each) for each in found] == list(sizes)
        assert all(np.array_equal(*pair) for pair in zip(found, wanted, strict=True))
        assert all(each.flags.writeable for each in found)


def test_new_buffers_are_zero(device):
    driver = device.driver
    raw = driver.create_buffer(4096)
    (found,) = driver.finish_read(driver.begin_read((), [ReadRequest(raw, 0, 4096)]))
    assert not found.any()


def test_a_bad_command_is_a_rejection_and_the_driver_goes_on(device):
    driver = device.driver
    raws, command = _raw_add(driver)
    bad = (*command[:3], (1 << 20, 1, 1), *command[4:])
    with pytest.raises(BatchRejectedError):
        driver.submit([command, bad])
    with pytest.raises(BatchRejectedError):
        driver.begin_read([bad], [ReadRequest(raws[2], 0, 4)])
    (found,) = driver.finish_read(driver.begin_read([command], [ReadRequest(raws[2], 0, 4)]))
    assert found.view(np.float32)[0] == 3


def test_timed_submission_gives_one_duration_each(device):
    driver = device.driver
    if "timestamp-query" not in driver.features:
        pytest.skip("no timestamps on this adapter")
    raws, command = _raw_add(driver, vectors=5)
    durations = driver.finish_timed(driver.submit_timed([command, command]))
    assert len(durations) == 2
    assert all(0 <= duration < 10**10 for duration in durations)
    (found,) = driver.finish_read(driver.begin_read((), [ReadRequest(raws[2], 0, 4)]))
    assert found.view(np.float32)[0] == 3


def test_shader_errors_carry_text_and_line(device):
    with pytest.raises(ShaderError) as caught:
        device.driver.create_pipeline(
            "fn f() {}\n\nfn main( {}", (), "immediate", 0, "broken kernel"
        )
    assert caught.value.line == 3
    assert caught.value.label == "broken kernel"
    assert "fn main( {}" in caught.value.wgsl


def test_a_pipeline_refused_in_the_background_rejects_what_uses_it(device):
    driver = device.driver
    raws, command = _raw_add(driver)
    wgsl = "@compute @workgroup_size(64) fn other() {}"
    refused = driver.create_pipeline(wgsl, BINDINGS, "immediate", 0, "no main")
    bad = (refused, command[1], b"", (1, 1, 1), "no main", (), ())
    for _ in range(2):
        with pytest.raises(BatchRejectedError, match="main"):
            driver.submit([command, bad])
    with pytest.raises(BatchRejectedError, match="main"):
        driver.submit_timed([bad])
    (found,) = driver.finish_read(driver.begin_read([command], [ReadRequest(raws[2], 0, 4)]))
    assert found.view(np.float32)[0] == 3


def test_pipelines_compile_side_by_side_and_only_submissions_wait(device):
    driver = device.driver
    raws, command = _raw_add(driver)
    space, size = driver.params_space(16), 16
    declaration = devices._params_declaration(space)
    commands = []
    for factor in range(2, 12):
        wgsl = params_block(1).replace("{params}", declaration) + ADD
        wgsl = wgsl.replace("x[id.x] + y", f"{factor}.0 * x[id.x] + y")
        pipeline = driver.create_pipeline(wgsl, BINDINGS, space, size, f"times {factor}")
        group = driver.create_bind_group(BINDINGS, [(raw, 0, 256) for raw in raws])
        commands.append((pipeline, group, add_params(64), (1, 1, 1), "add", (), ()))
        token = driver.begin_read(commands[-1:], [ReadRequest(raws[2], 0, 4)])
        assert not driver._compiler.under_way
        (found,) = driver.finish_read(token)
        assert found.view(np.float32)[0] == 1.5 * factor + 1.5
    started = [driver.create_pipeline(wgsl, BINDINGS, space, size, "again") for _ in range(20)]
    assert len(driver._compiler.under_way) == 20
    driver.submit([command])
    assert not driver._compiler.under_way
    assert all(pipeline.raw is not None for pipeline in started)


def test_half_precision_gets_its_enable_line(device):
    if "shader-f16" not in device.features:
        pytest.skip("no f16 on this adapter")
    wgsl = (
        "@group(0) @binding(0) var<storage, read_write> z: array<f16>;\n"
        "@compute @workgroup_size(1) fn main() { z[0] = f16(1.5); z[1] = f16(2.0); }"
    )
    driver = device.driver
    pipeline = driver.create_pipeline(
        wgsl, ("read_write",), "immediate", 0, "half", ("shader-f16",)
    )
    raw = driver.create_buffer(16)
    group = driver.create_bind_group(("read_write",), [(raw, 0, 16)])
    command = (pipeline, group, b"", (1, 1, 1), "half", (), ())
    (found,) = driver.finish_read(driver.begin_read([command], [ReadRequest(raw, 0, 4)]))
    assert np.array_equal(found.view(np.float16), [1.5, 2.0])


def test_params_go_to_immediates_only_where_browsers_allow_them(device):
    assert device.driver.params_space(64) == "immediate"
    assert device.driver.params_space(80) == "uniform"
    assert open_variant(LAVAPIPE, "browser limits").driver.params_space(16) == "uniform"


def test_both_drivers_are_what_they_say():
    assert native_fast.available()
    assert type(open_variant(LAVAPIPE, "fast").driver) is native_fast.FastNativeDriver
    assert type(open_variant(LAVAPIPE, "public").driver) is not native_fast.FastNativeDriver
    assert type(devices.open_device(LAVAPIPE).driver) is native_fast.FastNativeDriver


def test_without_private_names_the_public_driver_opens(monkeypatch):
    monkeypatch.setattr(native_fast, "FUNCTIONS", (*native_fast.FUNCTIONS, "wgpuNoSuchCall"))
    assert not native_fast.available()
    _, raw = next(entry for entry in devices.adapters() if LAVAPIPE in entry[0].name)
    driver = native.open_driver(raw, frozenset(), Limits())
    assert type(driver) is native_public.NativeDriver
    raws, command = _raw_add(driver)
    (found,) = driver.finish_read(driver.begin_read([command], [ReadRequest(raws[2], 0, 4)]))
    assert found.view(np.float32)[0] == 3
    driver.close()


@pytest.mark.parametrize("adapter", [LAVAPIPE, SWIFTSHADER])
def test_a_mapping_that_never_comes_is_given_up(adapter, monkeypatch):
    monkeypatch.setattr(native_reads, "_LOST_AFTER_POLLS", 250)
    driver = open_variant(adapter, "fast").driver
    raws, _ = _raw_add(driver)
    for finish in (driver.finish_read, lambda token: asyncio.run(driver.finish_read_async(token))):
        token = driver.begin_read((), [ReadRequest(raws[0], 0, 256)])
        token.pieces[0].staging.key = -1  # another key than the callback reports
        with pytest.raises(DeviceLostError, match="no longer answers"):
            finish(token)
    token = driver.begin_read((), [ReadRequest(raws[0], 0, 256)])
    (found,) = asyncio.run(driver.finish_read_async(token))
    assert np.array_equal(found.view(np.float32), np.full(64, 1.5))


def test_native_types_are_probed():
    assert open_variant(LAVAPIPE, "fast").native == {"f64n", "f16n", "i64n", "u64n"}
    assert open_variant(LAVAPIPE, "public").native == {"f64n", "f16n", "i64n", "u64n"}
    assert open_variant(SWIFTSHADER, "fast").native == frozenset()
    assert open_variant(LAVAPIPE, "browser limits").native == frozenset()


@pytest.mark.parametrize(
    ("name", "result"),
    [
        (name, number)
        for name in ("f64n", "f16n", "u64n")
        for number in range(len(PROBES[name].results))
    ],
)
def test_the_probe_refuses_one_wrong_bit(monkeypatch, name, result):
    right = PROBES[name]

    def wrong(x, y):
        expected = right.expected(x, y)
        row = int(np.flatnonzero(np.isfinite(expected[:, result]))[-1])
        words = np.dtype(f"u{expected.itemsize}").type
        expected.view(words)[row, result] ^= words(1)
        return expected

    monkeypatch.setitem(PROBES, name, replace(right, expected=wrong))
    assert not probe.is_exact(open_variant(LAVAPIPE, "fast").driver, name)


def test_probe_cases_reach_subnormal_results_of_every_operation():
    x, y = probe.probe_cases()
    expected = probe.expected_results(x, y)
    tiny = np.finfo(np.float64).tiny
    subnormal = (np.abs(expected) < tiny) & (expected != 0)
    assert subnormal[:, :4].sum(axis=0).min() >= 5
    assert np.isinf(expected[:, :4]).any(axis=0).all()


def test_one_device_per_adapter_and_limits():
    native = devices.open_device(LAVAPIPE)
    assert devices.open_device(LAVAPIPE) is native
    browser = devices.open_device(LAVAPIPE, limits="browser")
    assert browser is not native
    assert browser.limits.max_storage_buffers_per_shader_stage == 8
    assert browser.limits.max_storage_buffer_binding_size == 128 << 20
    assert browser.limits.max_compute_invocations_per_workgroup == 256
    assert browser.limits.max_compute_workgroup_storage_size == 16384
    assert browser.limits.max_immediate_size == 0
    assert not browser.features & {"shader-f64", "shader-f16", "shader-int64", "immediates"}
    _, raw = next(entry for entry in devices.adapters() if LAVAPIPE in entry[0].name)
    assert devices.open_device(raw) is native


def test_a_lost_device_is_replaced():
    device = devices.Device(open_variant(LAVAPIPE, "public").driver, "native")
    key = (device.info, "native")
    saved = devices._devices.get(key)
    devices._devices[key] = device
    device.lost = RuntimeError("gone")
    try:
        assert devices.open_device(LAVAPIPE) is not device
    finally:
        devices._devices.pop(key).close()
        if saved is not None:
            devices._devices[key] = saved


def test_adapter_choice_is_by_power_then_by_name():
    software = (AdapterInfo("Soft", "CPU", "Vulkan"), 1)
    integrated = (AdapterInfo("Small", "IntegratedGPU", "Vulkan"), 2)
    discrete = (AdapterInfo("Big One", "DiscreteGPU", "Vulkan"), 3)
    old = (AdapterInfo("Big One", "DiscreteGPU", "OpenGL"), 4)
    found = [old, software, integrated, discrete]
    fast = devices.sort_adapters(found, "high-performance")
    assert [raw for _, raw in fast] == [3, 2, 1, 4]
    assert [raw for _, raw in devices.sort_adapters(found, "low-power")] == [2, 3, 1, 4]
    assert devices.choose_adapter(fast, None)[1] == 3
    assert devices.choose_adapter(fast, "soft")[1] == 1
    with pytest.raises(NoAdapterError, match="Big One"):
        devices.choose_adapter(fast, "missing")
    with pytest.raises(NoAdapterError, match="driver"):
        devices.choose_adapter([], None)
    with pytest.raises(ValueError, match="power_preference"):
        devices.sort_adapters(found, "loud")


@pytest.mark.parametrize(
    ("name", "value"),
    [("limits", "brwser"), ("limits", ""), ("power_preference", "fast"), ("adapter", 5)],
)
def test_other_choices_are_refused(name, value):
    with pytest.raises(TenferroError, match=name):
        devices.open_device(**{name: value})


def test_environment_picks_the_adapter_and_the_limits(monkeypatch):
    open_variant(SWIFTSHADER, "fast")
    monkeypatch.setenv("TENFERRO_ADAPTER", "swift")
    monkeypatch.setenv("TENFERRO_LIMITS", "browser")
    device = devices.open_device()
    assert SWIFTSHADER in device.name
    assert device.limits_mode == "browser"
    monkeypatch.setenv("TENFERRO_ADAPTER", "no such adapter")
    with pytest.raises(EnvironmentVariableError, match=r"TENFERRO_ADAPTER.*SwiftShader"):
        devices.open_device()
    monkeypatch.setenv("TENFERRO_LIMITS", "small")
    with pytest.raises(EnvironmentVariableError, match=r"TENFERRO_LIMITS.*browser, native"):
        devices.open_device()


def test_browser_limits_are_ours_even_where_the_adapter_allows_more():
    queue = Queue(devices.open_device(LAVAPIPE, limits="browser"))
    assert queue.device.limits.max_buffer_size == Limits().max_buffer_size
    queue.close()


def test_staging_sizes_and_shader_error_lines():
    assert [staging_size(n) for n in (1, 256, 257, 1 << 20)] == [256, 256, 512, 1 << 20]
    assert shader_error("k", "oops at wgsl:12:3 here", "").line == 12
    assert shader_error("k", "no position", "").line is None


def test_importing_the_backend_imports_no_wgpu():
    done = run_python(
        "import sys\n"
        "from tenferro_wgpu.backends.webgpu import device, queue\n"
        "from tenferro_wgpu.backends.webgpu.drivers import native, native_fast, native_public\n"
        "assert 'wgpu' not in sys.modules\n"
    )
    assert done.returncode == 0, done.stderr


def test_without_wgpu_the_error_says_what_to_install():
    done = run_python(
        "import sys\n"
        "sys.modules['wgpu'] = None\n"
        "from tenferro_wgpu.backends.webgpu.device import open_device\n"
        "from tenferro_wgpu.errors import NoAdapterError\n"
        "try:\n    open_device()\n"
        "except NoAdapterError as error:\n    print(error)\n"
    )
    assert done.returncode == 0, done.stderr
    assert "pip install wgpu" in done.stdout


def test_without_a_vulkan_driver_no_adapter_is_found():
    done = run_python(
        "from tenferro_wgpu.backends.webgpu.device import adapters, open_device\n"
        "from tenferro_wgpu.errors import NoAdapterError\n"
        "found = [info for info, _ in adapters() if info.backend_type == 'Vulkan']\n"
        "assert found == [], found\n",
        VK_DRIVER_FILES="/nonexistent.json",
    )
    assert done.returncode == 0, done.stderr
