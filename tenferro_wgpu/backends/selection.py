"""Which backend a runtime gets, and what was found on this machine.

Called by the eager runtime (`make_backend`) and by users (`devices`, `init_async`, `can_wait`).
Neither wgpu nor CuPy is imported until a GPU is looked for.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..dtypes import SUPPORTED
from ..errors import (
    ArgumentError,
    DTypeError,
    EnvironmentVariableError,
    NoAdapterError,
    TenferroError,
)
from .memory_limit import checked_memory_limit
from .numpy_backend import CpuBackend
from .protocol import Backend

__all__ = ["FoundDevice", "can_wait", "devices", "init_async", "make_backend"]

CHOICES = ("webgpu", "cuda", "cpu")

_logger = logging.getLogger("tenferro_wgpu")
_fallback_lock = threading.Lock()
_fallback_logged = False
#: Why the page has no WebGPU, found by `init_async`; asking again would need to wait.
_page_without_webgpu: NoAdapterError | None = None


@dataclass(frozen=True)
class FoundDevice:
    """One device of this machine, or a backend without one and the reason.

    `name` is empty where nothing was found.  `chosen` marks what ``EagerRuntime()`` would take
    now; for every other entry `reason` says why not.  `dtypes` maps dtype names to "native" or
    "software".
    """

    backend: str
    name: str = ""
    type: str = ""
    driver: str = ""
    chosen: bool = False
    reason: str = ""
    features: tuple[str, ...] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)


def make_backend(
    backend: str | Backend | None = None, *, memory_limit: int | None = None
) -> Backend:
    """The backend that `backend` asks for.

    Args:
        backend: an instance (returned as it is), "webgpu", "cuda", "cpu", or None: the value of
            ``TENFERRO_BACKEND``, else WebGPU if there is a real GPU adapter (or
            ``TENFERRO_ADAPTER`` names one of any kind), else CUDA, else the CPU.
        memory_limit: bytes of device memory the backend may hold.  The CPU has no such limit:
            asked for by name it refuses one, chosen for want of a GPU it logs a warning.

    Raises:
        NoAdapterError: the named backend has no device here.
        EnvironmentVariableError: ``TENFERRO_BACKEND`` or ``TENFERRO_ADAPTER`` is not understood.
        ArgumentError, DTypeError: another `backend` or `memory_limit` than these.
    """
    memory_limit = checked_memory_limit(memory_limit)
    if backend is None:
        backend = _backend_of_environment()
        if backend is None or backend == "cpu":
            chosen = _best_backend(memory_limit) if backend is None else CpuBackend()
            if memory_limit is not None and isinstance(chosen, CpuBackend):
                _logger.warning("memory_limit=%d does not bind the CPU", memory_limit)
            return chosen
    if not isinstance(backend, str):
        if not isinstance(backend, Backend):
            raise DTypeError(
                "backend",
                f"{type(backend).__name__} is not a Backend; "
                f"pass None, one of {', '.join(CHOICES)}, or an object with its methods",
            )
        if memory_limit is not None:
            raise ArgumentError(
                "memory_limit", "a backend instance takes its own limit when it is made"
            )
        return backend
    if backend == "webgpu":
        return _webgpu_backend(None, memory_limit)
    if backend == "cuda":
        return _cuda_backend(memory_limit)
    if backend == "cpu":
        if memory_limit is not None:
            raise ArgumentError("memory_limit", "the cpu backend has none; leave it out")
        return CpuBackend()
    raise ArgumentError("backend", f"{backend!r} is not known; choose {', '.join(CHOICES)}")


def devices() -> list[FoundDevice]:
    """Everything found on this machine; ``chosen`` marks what ``EagerRuntime()`` would take.

    Lists WebGPU adapters, CUDA devices and the CPU; a backend without a device has one entry
    with the reason.  Opens no device.

    Raises EnvironmentVariableError for a bad ``TENFERRO_BACKEND`` or ``TENFERRO_ADAPTER``.
    """
    wanted = _backend_of_environment()
    webgpu, chosen_adapter = _webgpu_found(wanted)
    cuda = _cuda_found()
    cpu = [FoundDevice("cpu", **_cpu_facts())]
    if wanted is not None:
        because = f"TENFERRO_BACKEND={wanted}"
    else:
        first = (("webgpu", chosen_adapter is not None), ("cuda", bool(cuda[0].name)))
        wanted = next((name for name, usable in first if usable), "cpu")
        because = f"{wanted} is preferred here"
    chosen = {"webgpu": chosen_adapter, "cuda": 0, "cpu": 0}[wanted]
    found = []
    for group in (webgpu, cuda, cpu):
        for position, device in enumerate(group):
            if device.backend != wanted:
                found.append(replace(device, reason=device.reason or because))
            elif position == chosen and device.name:
                found.append(replace(device, chosen=True, reason=""))
            else:
                found.append(replace(device, reason=device.reason or "another device comes first"))
    return found


async def init_async() -> None:
    """Obtain the page's WebGPU adapter and device; afterwards every constructor is synchronous.

    Needed in browsers only, once, before the first runtime; elsewhere it does nothing.  A page
    without WebGPU is not an error: runtimes then use the CPU.
    """
    global _page_without_webgpu
    if not _in_browser():
        return
    browser = importlib.import_module(f"{__package__}.webgpu.drivers.browser")
    device = importlib.import_module(f"{__package__}.webgpu.device")
    try:
        await browser.initialize(default_limits=device.limits_mode() == "browser")
    except NoAdapterError as error:
        _page_without_webgpu = error


def can_wait() -> bool:
    """Whether synchronous reads work here: always, but in browsers without JSPI."""
    if not _in_browser():
        return True
    return bool(importlib.import_module("pyodide.ffi").can_run_sync())


def _in_browser() -> bool:
    return sys.platform == "emscripten"


# -- choosing -----------------------------------------------------------------------------------


def _backend_of_environment() -> str | None:
    value = os.environ.get("TENFERRO_BACKEND", "")
    if not value:
        return None
    if value not in CHOICES:
        raise EnvironmentVariableError("TENFERRO_BACKEND", value, CHOICES)
    return value


def _best_backend(memory_limit: int | None) -> Backend:
    reasons = []
    try:
        adapter = _preferred_adapter(_webgpu_adapters())
        if adapter is not None:
            return _webgpu_backend(adapter[1], memory_limit)
        reasons.append("webgpu: only software adapters were found")
    except NoAdapterError as error:
        reasons.append(str(error))
    try:
        return _cuda_backend(memory_limit)
    except NoAdapterError as error:
        reasons.append(str(error))
    _log_fallback(reasons)
    return CpuBackend()


def _log_fallback(reasons: list[str]) -> None:
    global _fallback_logged
    with _fallback_lock:
        if _fallback_logged:
            return
        _fallback_logged = True
    _logger.warning("no GPU is used, computing on the CPU with NumPy (%s)", "; ".join(reasons))


def _preferred_adapter(found: list[tuple[Any, Any]]) -> tuple[Any, Any] | None:
    """The adapter an unnamed choice takes: the one of TENFERRO_ADAPTER, else a real GPU."""
    name = os.environ.get("TENFERRO_ADAPTER", "")
    if name:
        if not found:
            return None
        device = importlib.import_module(f"{__package__}.webgpu.device")
        chosen: tuple[Any, Any] = device.choose_adapter(found, name, "TENFERRO_ADAPTER")
        return chosen
    for entry in found:
        # OpenGL adapters lack storage buffers that kernels need on many drivers.
        if not entry[0].is_cpu and entry[0].backend_type != "OpenGL":
            return entry
    return None


def _webgpu_adapters() -> list[tuple[Any, Any]]:
    if _page_without_webgpu is not None:
        raise _page_without_webgpu
    device = importlib.import_module(f"{__package__}.webgpu.device")
    found: list[tuple[Any, Any]] = device.adapters()
    return found


def _webgpu_backend(adapter: Any, memory_limit: int | None) -> Backend:
    if _page_without_webgpu is not None:
        raise _page_without_webgpu
    module = importlib.import_module(f"{__package__}.webgpu.backend")
    options: dict[str, Any] = {} if adapter is None else {"adapter": adapter}
    if memory_limit is not None:
        options["memory_limit"] = memory_limit
    backend: Backend = module.WebGpuBackend(**options)
    return backend


def _cuda_backend(memory_limit: int | None) -> Backend:
    from .cupy_backend import CudaBackend

    return CudaBackend(memory_limit=memory_limit)


# -- reporting ----------------------------------------------------------------------------------


def _webgpu_found(wanted: str | None) -> tuple[list[FoundDevice], int | None]:
    """Every WebGPU adapter, and the position of the one a runtime would take, if any."""
    try:
        adapters = _webgpu_adapters()
        preferred = _preferred_adapter(adapters)
    except EnvironmentVariableError:
        raise
    except TenferroError as error:
        return [FoundDevice("webgpu", reason=str(error))], None
    if not adapters:
        return [FoundDevice("webgpu", reason="no adapter was found")], None
    if preferred is None and wanted == "webgpu":
        # By name a software adapter will do.
        preferred = adapters[0]
    device, dialects, probe = (
        importlib.import_module(f"{__package__}.webgpu.{name}")
        for name in ("device", "dialects", "probe")
    )
    module = device.driver_module()
    found = []
    chosen = None
    for position, (info, raw) in enumerate(adapters):
        if preferred is not None and raw is preferred[1]:
            chosen = position
        features = module.adapter_features(raw)
        found.append(
            FoundDevice(
                "webgpu",
                info.name,
                info.adapter_type,
                f"{info.backend_type} {info.driver}".strip(),
                reason=_why_not_first(info),
                features=tuple(sorted(features)),
                limits=asdict(module.adapter_limits(raw, features)),
                # A probe at device creation may still prefer software.
                dtypes=dialects.dtype_support(probe.possible_dialects(features)),
            )
        )
    return found, chosen


def _why_not_first(info: Any) -> str:
    """Why an adapter is never taken without being named."""
    if info.is_cpu:
        return "a software adapter is used only by name"
    return "an OpenGL adapter is used only by name" if info.backend_type == "OpenGL" else ""


def _cuda_found() -> list[FoundDevice]:
    from .cupy_backend import cuda_devices

    try:
        found = cuda_devices()
    except NoAdapterError as error:
        return [FoundDevice("cuda", reason=str(error))]
    native = {dtype.name: "native" for dtype in SUPPORTED}
    return [
        FoundDevice("cuda", name, "DiscreteGPU", driver, dtypes=native) for name, driver in found
    ]


def _cpu_facts() -> dict[str, Any]:
    backend = CpuBackend()
    facts = backend.capabilities()
    backend.close()
    return {
        "name": facts.device_name,
        "type": facts.device_type,
        "driver": facts.driver,
        "dtypes": facts.dtypes,
    }
