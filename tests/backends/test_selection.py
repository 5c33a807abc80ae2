"""Which backend is chosen and what is reported, with machines of every kind played by stand-ins."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tenferro_wgpu.backends import cupy_backend, selection
from tenferro_wgpu.backends.numpy_backend import CpuBackend
from tenferro_wgpu.backends.selection import can_wait, devices, init_async, make_backend
from tenferro_wgpu.backends.webgpu import device as webgpu_device
from tenferro_wgpu.backends.webgpu.drivers.protocol import AdapterInfo, Limits
from tenferro_wgpu.errors import (
    ArgumentError,
    DTypeError,
    EnvironmentVariableError,
    NoAdapterError,
)

GPU = AdapterInfo("Big GPU", "DiscreteGPU", "Vulkan", "Maker", "1.0")
IGPU = AdapterInfo("Small GPU", "IntegratedGPU", "Vulkan", "Maker", "1.0")
SOFTWARE = AdapterInfo("Software renderer", "CPU", "Vulkan", "Mesa", "22.3")
OPENGL = AdapterInfo("Big GPU", "DiscreteGPU", "OpenGL", "Maker", "1.0")


class Machine:
    """The adapters and CUDA devices that selection sees, and the backends it opened."""

    def __init__(self) -> None:
        self.adapters: list[AdapterInfo] | NoAdapterError = []
        self.cuda: list[tuple[str, str]] | NoAdapterError = NoAdapterError("cuda", "no CuPy")
        self.opened: list[tuple[str, dict[str, Any]]] = []

    def list_adapters(self) -> list[tuple[AdapterInfo, Any]]:
        if isinstance(self.adapters, NoAdapterError):
            raise self.adapters
        return [(info, info) for info in self.adapters]

    def cuda_devices(self) -> list[tuple[str, str]]:
        if isinstance(self.cuda, NoAdapterError):
            raise self.cuda
        return self.cuda

    def adapter_features(self, adapter: AdapterInfo) -> frozenset[str]:
        if adapter is GPU:
            return frozenset({"shader-f64", "shader-int64"})
        # The native dialect needs 64-bit integers too.
        return frozenset({"shader-f64"}) if adapter is SOFTWARE else frozenset()

    def adapter_limits(self, adapter: AdapterInfo, features: frozenset[str]) -> Limits:
        return Limits()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()

    def opener(name: str) -> Any:
        def make(**options: Any) -> CpuBackend:
            if name == "cuda":
                found.cuda_devices()
            found.opened.append((name, options))
            backend = CpuBackend()
            backend.name = name
            return backend

        return make

    module = f"{selection.__package__}.webgpu.backend"
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(WebGpuBackend=opener("webgpu")))
    monkeypatch.setattr(cupy_backend, "CudaBackend", opener("cuda"))
    monkeypatch.setattr(cupy_backend, "cuda_devices", found.cuda_devices)
    monkeypatch.setattr(webgpu_device, "driver_module", lambda: found)
    monkeypatch.setattr(selection, "_fallback_logged", False)
    monkeypatch.delenv("TENFERRO_BACKEND", raising=False)
    monkeypatch.delenv("TENFERRO_ADAPTER", raising=False)
    return found


def chosen() -> Any:
    """The one device marked as chosen; every other one must say why it is not."""
    found = devices()
    marked = [device for device in found if device.chosen]
    assert len(marked) <= 1
    assert all(device.reason for device in found if not device.chosen)
    assert all(not device.reason for device in marked)
    return marked[0] if marked else None


CUDA = [("NVIDIA", "CUDA 12.4")]
NONE = NoAdapterError("cuda", "no CuPy")
MACHINES = [
    # adapters, CUDA devices, backend, device name
    ([GPU], CUDA, "webgpu", "Big GPU"),
    ([SOFTWARE, IGPU], CUDA, "webgpu", "Small GPU"),
    ([IGPU, GPU], NONE, "webgpu", "Big GPU"),
    ([SOFTWARE], CUDA, "cuda", "NVIDIA"),
    ([SOFTWARE, OPENGL], NONE, "cpu", None),
    ([], CUDA, "cuda", "NVIDIA"),
    ([], NONE, "cpu", None),
    (NoAdapterError("webgpu", "no wgpu"), CUDA, "cuda", "NVIDIA"),
    (NoAdapterError("webgpu", "no wgpu"), NONE, "cpu", None),
]


@pytest.mark.parametrize(("adapters", "cuda", "backend", "name"), MACHINES)
def test_best_available(
    machine: Machine, adapters: Any, cuda: Any, backend: str, name: str | None
) -> None:
    machine.adapters, machine.cuda = adapters, cuda
    made = make_backend()
    assert made.name == backend
    found = chosen()
    assert found.backend == backend
    if name is not None:
        assert found.name == name
    if backend == "webgpu":
        assert machine.opened == [("webgpu", {"adapter": _info(adapters, name)})]


def _info(adapters: list[AdapterInfo], name: str | None) -> AdapterInfo:
    return next(info for info in adapters if info.name == name)


@pytest.mark.parametrize("name", ["webgpu", "cuda", "cpu"])
def test_by_name_and_by_environment(
    machine: Machine, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.adapters, machine.cuda = [SOFTWARE], CUDA
    assert make_backend(name).name == name
    monkeypatch.setenv("TENFERRO_BACKEND", name)
    assert make_backend().name == name
    assert chosen().backend == name
    # An argument outranks the environment.
    assert make_backend("cpu").name == "cpu"


def test_named_backend_without_device_is_an_error(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.adapters = [GPU]
    with pytest.raises(NoAdapterError, match="no CuPy"):
        make_backend("cuda")
    monkeypatch.setenv("TENFERRO_BACKEND", "cuda")
    with pytest.raises(NoAdapterError, match="no CuPy"):
        make_backend()
    assert chosen() is None


def test_bad_values(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'vulkan' is not known; choose webgpu, cuda, cpu"):
        make_backend("vulkan")
    with pytest.raises(TypeError, match="int is not a Backend"):
        make_backend(3)  # type: ignore[arg-type]
    monkeypatch.setenv("TENFERRO_BACKEND", "gpu")
    for call in (make_backend, devices):
        with pytest.raises(EnvironmentVariableError) as caught:
            call()
        assert caught.value.variable == "TENFERRO_BACKEND"
        assert caught.value.choices == ("webgpu", "cuda", "cpu")


def test_adapter_of_environment(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.adapters = [GPU, SOFTWARE]
    monkeypatch.setenv("TENFERRO_ADAPTER", "software")
    assert make_backend().name == "webgpu"
    assert machine.opened == [("webgpu", {"adapter": SOFTWARE})]
    assert chosen().name == "Software renderer"
    monkeypatch.setenv("TENFERRO_ADAPTER", "Voodoo")
    for call in (make_backend, devices):
        with pytest.raises(EnvironmentVariableError, match="Voodoo.*Big GPU"):
            call()


def test_instances_pass_through(machine: Machine) -> None:
    backend = CpuBackend()
    assert make_backend(backend) is backend
    with pytest.raises(ValueError, match="memory_limit"):
        make_backend(backend, memory_limit=1000)


@pytest.mark.parametrize("name", ["webgpu", "cuda"])
def test_memory_limit_reaches_the_device(machine: Machine, name: str) -> None:
    machine.adapters, machine.cuda = [GPU], CUDA
    make_backend(name, memory_limit=1000)
    assert machine.opened[0][1]["memory_limit"] == 1000


@pytest.mark.parametrize(
    ("limit", "error"),
    [("1GB", DTypeError), (1e9, DTypeError), (True, DTypeError)]
    + [(0, ArgumentError), (-1, ArgumentError)],
)
@pytest.mark.parametrize("name", ["webgpu", "cuda", "cpu", None])
def test_other_memory_limits_are_refused(
    machine: Machine, name: str | None, limit: Any, error: type[Exception]
) -> None:
    machine.adapters, machine.cuda = [GPU], CUDA
    with pytest.raises(error, match="memory_limit"):
        make_backend(name, memory_limit=limit)
    assert machine.opened == []


def test_the_cpu_never_ignores_a_memory_limit_silently(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ArgumentError, match="memory_limit"):
        make_backend("cpu", memory_limit=1000)
    for value in ("", "cpu"):
        monkeypatch.setenv("TENFERRO_BACKEND", value)
        caplog.clear()
        assert make_backend(memory_limit=1000).name == "cpu"
        assert "memory_limit=1000" in caplog.text


def test_fallback_is_logged_once_with_reasons(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    machine.adapters = [SOFTWARE]
    with caplog.at_level(logging.WARNING, logger="tenferro_wgpu"):
        make_backend("cpu")
        assert caplog.records == []
        make_backend()
        make_backend()
    assert len(caplog.records) == 1
    message = caplog.records[0].getMessage()
    assert "software adapters" in message and "no CuPy" in message


def test_reports(machine: Machine) -> None:
    machine.adapters, machine.cuda = [SOFTWARE, GPU], CUDA
    found = devices()
    assert [device.backend for device in found] == ["webgpu", "webgpu", "cuda", "cpu"]
    gpu, software, cuda, cpu = found
    assert gpu.chosen and gpu.name == "Big GPU" and gpu.driver == "Vulkan 1.0"
    assert gpu.dtypes["float64"] == "native" and software.dtypes["float64"] == "software"
    assert gpu.dtypes["float32"] == "native" and gpu.dtypes["int64"] == "native"
    assert gpu.limits["max_storage_buffers_per_shader_stage"] == 8
    assert gpu.features == ("shader-f64", "shader-int64")
    assert software.reason == "a software adapter is used only by name"
    assert cuda.reason == cpu.reason == "webgpu is preferred here"
    assert machine.opened == []


def test_real_machine_computes() -> None:
    backend = make_backend("cpu")
    x = np.arange(3.0)
    np.testing.assert_array_equal(backend.download(backend.upload(x)), x)


def test_desktop_can_wait_and_needs_no_initialisation() -> None:
    assert can_wait()
    asyncio.run(init_async())


def test_page_without_webgpu_uses_the_cpu(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def initialize(*, default_limits: bool) -> None:
        raise NoAdapterError("webgpu", "this page has no WebGPU")

    module = f"{selection.__package__}.webgpu.drivers.browser"
    monkeypatch.setitem(sys.modules, module, SimpleNamespace(initialize=initialize))
    monkeypatch.setattr(selection, "_in_browser", lambda: True)
    monkeypatch.setattr(selection, "_page_without_webgpu", None)
    asyncio.run(init_async())
    assert make_backend().name == "cpu"
    with pytest.raises(NoAdapterError, match="this page has no WebGPU"):
        make_backend("webgpu")
    assert "this page has no WebGPU" in devices()[0].reason


def test_nothing_heavy_is_imported() -> None:
    program = (
        "import sys; from tenferro_wgpu.backends.selection import make_backend; "
        "make_backend('cpu'); print([m for m in ('wgpu', 'cupy', 'jinja2') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.strip() == "[]"
