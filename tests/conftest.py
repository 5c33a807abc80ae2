"""Adapters of the test run: every `rt` test runs on NumPy, lavapipe and SwiftShader alike.

Both software Vulkan drivers are loaded into one process.  SwiftShader stands for browsers and
Metal: its device is held to WebGPU's default limits.  ``TENFERRO_TEST_ADAPTERS`` selects some
("numpy,lavapipe"); a missing adapter fails in CI (where ``CI`` is set) and skips loudly elsewhere.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

LAVAPIPE = sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))
SWIFTSHADER = [
    path for path in (Path("/usr/lib/chromium/vk_swiftshader_icd.json"),) if path.exists()
]
if "VK_DRIVER_FILES" not in os.environ and (LAVAPIPE or SWIFTSHADER):
    os.environ["VK_DRIVER_FILES"] = os.pathsep.join(map(str, LAVAPIPE[:1] + SWIFTSHADER[:1]))
# Tiny arrays: running lavapipe inline saves a thread-pool wake-up of 18 us per dispatch.
os.environ.setdefault("LP_NUM_THREADS", "0")

# Without one, window-system libraries under the Vulkan loader write to stderr.
os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())

#: "default" is the system's own adapter (Metal, DX12): only where it is asked for by name.
ADAPTERS = {
    "numpy": "",
    "lavapipe": "llvmpipe",
    "swiftshader": "SwiftShader",
    "cupy": "",
    "default": "",
}
SELECTED = os.environ.get("TENFERRO_TEST_ADAPTERS", "numpy,lavapipe,swiftshader,cupy").split(",")


def _has_cuda_device() -> bool:
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:
        # CuPy raises errors of its own where the CUDA libraries or the driver are missing.
        return False


#: Whether the run leaves CuPy out: one line at the top says so, instead of thousands of skips.
NO_CUDA = "cupy" in SELECTED and not _has_cuda_device()
if NO_CUDA:
    SELECTED.remove("cupy")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """The adapters of this run, and what it leaves out."""
    lines = [f"adapters: {', '.join(name for name in ADAPTERS if name in SELECTED)}"]
    if NO_CUDA:
        lines.append("adapters: NO CUDA DEVICE HERE: nothing is run on CuPy")
    return lines


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Last comes the test that compiles the modules of all others.

    Other workers are then at tests that make none: those of the documents, just before it.
    """
    order = {"test_documents.py": 1, "test_wgsl_in_chromium.py": 2}
    items.sort(key=lambda item: order.get(item.path.name, 0))


def make_runtime(adapter: str):
    """A runtime on the named adapter; raises NoAdapterError where it is missing."""
    import tenferro_wgpu as tw

    if adapter == "numpy":
        return tw.EagerRuntime("cpu")
    if adapter == "cupy":
        return tw.EagerRuntime("cuda")
    limits = "browser" if adapter == "swiftshader" else None
    return tw.EagerRuntime(tw.WebGpuBackend(adapter=ADAPTERS[adapter], limits=limits))


_runtimes: dict[str, object] = {}
_missing: dict[str, Exception] = {}


#: The software WebGPU adapters of this run.
SOFTWARE = [name for name in ("lavapipe", "swiftshader") if name in SELECTED]


def leave_out(message: str) -> NoReturn:
    """A test whose adapter is missing: it fails in CI and is skipped with a warning elsewhere."""
    if os.environ.get("CI"):
        pytest.fail(message)
    warnings.warn(message, stacklevel=2)
    pytest.skip(message)


def shared_runtime(adapter: str):
    """The runtime all tests of one adapter share; skips (or fails in CI) where it is missing."""
    from tenferro_wgpu.errors import NoAdapterError

    runtime = _runtimes.get(adapter)
    if runtime is not None and not runtime.closed:
        return runtime
    if adapter not in _missing:
        try:
            _runtimes[adapter] = make_runtime(adapter)
            return _runtimes[adapter]
        except NoAdapterError as error:
            _missing[adapter] = error
    message = f"adapter {adapter} is missing: {_missing[adapter]}"
    if adapter == "cupy":
        pytest.skip(message)
    leave_out(message)


@pytest.fixture(params=[name for name in ADAPTERS if name in SELECTED])
def adapter(request: pytest.FixtureRequest) -> str:
    """Name of an adapter; the test runs once for each."""
    return request.param


@pytest.fixture
def rt(adapter: str) -> Iterator[object]:
    """The shared runtime of each adapter, current for the test, its gradients cleared after."""
    runtime = shared_runtime(adapter)
    with runtime.as_default():
        yield runtime
    if not runtime.closed:
        runtime.clear_grads()


@pytest.fixture
def fresh_rt(adapter: str) -> Iterator[object]:
    """A runtime of the test's own on each adapter, closed after it."""
    shared_runtime(adapter)
    runtime = make_runtime(adapter)
    with runtime.as_default():
        yield runtime
    runtime.close()


@pytest.fixture
def cpu() -> Iterator[object]:
    """The shared NumPy runtime, current for the test."""
    runtime = shared_runtime("numpy")
    with runtime.as_default():
        yield runtime


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says how many recorded derivatives were replayed: tests count them as properties."""
    counts: Counter[str] = Counter()
    for report in terminalreporter.getreports("passed"):
        for name, value in getattr(report, "user_properties", ()):
            if name == "derivative records":
                counts[value[0]] += value[1]
    if counts:
        shown = "; ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
        terminalreporter.write_line(f"derivative records replayed: {shown}")
