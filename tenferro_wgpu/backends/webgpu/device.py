"""Adapters and devices: which GPU, with which features and limits, opened once per process.

Called by backend.py and selection code (``adapters``, ``open_device``) and by queue.py (the
shared pipeline cache).  Kernels read ``device.limits``, ``device.features``, ``device.native`` and
``device.is_cpu``.  A device knows nothing of tensors, buffers or command lists: those belong to
the queues, of which each runtime has its own.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any, Literal, cast

from tenferro_wgpu.backends.webgpu.cache import GenerationalCache
from tenferro_wgpu.backends.webgpu.commands import Pipeline, PipelineSource
from tenferro_wgpu.backends.webgpu.drivers.protocol import (
    Access,
    AdapterInfo,
    Driver,
    DriverModule,
    Limits,
)
from tenferro_wgpu.backends.webgpu.shaders import render_module, required_features
from tenferro_wgpu.backends.webgpu.wgsl_log import record_module
from tenferro_wgpu.errors import (
    ArgumentError,
    DTypeError,
    EnvironmentVariableError,
    NoAdapterError,
    RuntimeClosedError,
    TenferroError,
    UnsupportedOperationError,
)

LimitsMode = Literal["native", "browser"]
PowerPreference = Literal["high-performance", "low-power"]

#: What a device held to browser limits may use: nothing that a plain WebGPU device lacks.
_BROWSER_FEATURES = frozenset({"timestamp-query", "mappable-primary-buffers"})
_PIPELINE_LIMIT = 2048
_POWER_ORDER = {
    "high-performance": ("DiscreteGPU", "IntegratedGPU", "Unknown", "CPU"),
    "low-power": ("IntegratedGPU", "DiscreteGPU", "Unknown", "CPU"),
}


class Device:
    """One open device, shared by the queues of every runtime on its adapter."""

    def __init__(self, driver: Driver, limits_mode: LimitsMode) -> None:
        self.driver = driver
        self.info: AdapterInfo = driver.info
        self.limits: Limits = driver.limits
        self.features: frozenset[str] = driver.features
        self.limits_mode = limits_mode
        self.is_cpu: bool = driver.info.is_cpu
        #: Set to the error once the device is lost; queues check it before they submit.
        self.lost: Exception | None = None
        self.pipelines_built = 0
        self.pipelines = GenerationalCache(_PIPELINE_LIMIT)
        self._lock = threading.RLock()
        self._layout_ids: dict[tuple[Access, ...], int] = {}
        self._next_layout_id = itertools.count(1)
        self._computes: dict[str, bool] = {}
        _all_devices.add(self)

    @property
    def name(self) -> str:
        """The adapter's name."""
        return self.info.name

    def computes(self, name: str) -> bool:
        """Whether this device runs the native dialect `name` exactly, found by a probe (once)."""
        found = self._computes.get(name)
        if found is None:
            with self._lock:
                found = self._computes.get(name)
                if found is None:
                    from tenferro_wgpu.backends.webgpu.probe import is_exact

                    found = self._computes[name] = is_exact(self.driver, name)
        return found

    @property
    def native(self) -> frozenset[str]:
        """Dialects that this device computes natively and exactly; asks all the probes."""
        from tenferro_wgpu.backends.webgpu.probe import PROBES

        return frozenset(name for name in PROBES if self.computes(name))

    def pipeline(self, key: Hashable, build: Callable[[], PipelineSource]) -> Pipeline:
        """The pipeline of ``key``, compiled from ``build()`` the first time.

        Raises ``ShaderError`` when the device refuses the module, and
        ``UnsupportedOperationError`` when the source asks for more than the device's limits.
        """
        found: Pipeline | None = self.pipelines.young.get(key)
        if found is not None:
            return found
        with self._lock:
            found = self.pipelines.find(key)
            if found is None:
                found = self._compile(build())
                self.pipelines.store(key, found)
        return found

    def retained_wgsl(self) -> int:
        """Characters of WGSL that the cached pipelines keep, for errors and profiles."""
        with self._lock:
            return sum(len(pipeline.wgsl) for pipeline in self.pipelines.values())

    def _compile(self, source: PipelineSource) -> Pipeline:
        self._check_source(source)
        size = source.params_size
        space = self.driver.params_space(size)
        requires = source.requires
        if source.template is None:
            wgsl = source.wgsl.replace("{params}", _params_declaration(space))
        else:
            wgsl = render_module(
                source.template,
                params_words=source.params_words,
                params_space=space,
                **source.context,
            )
            requires += required_features(wgsl)
        raw = self.driver.create_pipeline(
            wgsl, source.bindings, space, size, source.label, requires
        )
        if self.limits_mode == "browser":
            record_module(wgsl)
        self.pipelines_built += 1
        layout_id = self._layout_ids.get(source.bindings)
        if layout_id is None:
            layout_id = self._layout_ids[source.bindings] = next(self._next_layout_id)
        return Pipeline(raw, source.bindings, layout_id, space, size, source.label, wgsl)

    def _check_source(self, source: PipelineSource) -> None:
        limits = self.limits
        asked = (
            (len(source.bindings), limits.max_storage_buffers_per_shader_stage, "storage buffers"),
            (
                source.workgroup_size,
                limits.max_compute_invocations_per_workgroup,
                "invocations per workgroup",
            ),
        )
        for wanted, limit, name in asked:
            if wanted > limit:
                raise UnsupportedOperationError(
                    source.label, backend="webgpu", hint=f"{wanted} {name}; the limit is {limit}"
                )
        missing = [name for name in source.requires if name not in self.features]
        if missing:
            raise UnsupportedOperationError(
                source.label, backend="webgpu", hint=f"the device lacks {', '.join(missing)}"
            )

    def settle(self) -> None:
        """Wait for submitted work where it runs in threads of this process.

        At exit a software renderer's threads would otherwise still compute while the process
        tears down the data they use, which ends in a segmentation fault now and then.
        """
        if self.is_cpu and self.lost is None:
            # A device that fails now has nothing more to tell anybody.
            with contextlib.suppress(TenferroError):
                self.driver.wait()

    def close(self) -> None:
        """Release the device; every queue on it must be closed before.  Idempotent."""
        with self._lock:
            self.pipelines.clear()
            self.driver.close()
            for key in [key for key, device in _devices.items() if device is self]:
                del _devices[key]

    def __repr__(self) -> str:
        return f"<Device {self.name!r} {self.info.backend_type} {self.limits_mode}>"


def _params_declaration(space: str) -> str:
    if space == "immediate":
        return "var<immediate> params: Params;"
    return "@group(1) @binding(0) var<uniform> params: Params;"


# ----- choosing an adapter


def driver_module() -> DriverModule:
    """The driver of this platform: the browser's in Pyodide, wgpu-py's elsewhere."""
    if sys.platform == "emscripten":
        from tenferro_wgpu.backends.webgpu.drivers import browser

        return cast(DriverModule, browser)
    from tenferro_wgpu.backends.webgpu.drivers import native

    return cast(DriverModule, native)


def adapters() -> list[tuple[AdapterInfo, Any]]:
    """Every adapter of this machine, best first (real GPUs before software renderers).

    Each comes with the driver's own object, which ``open_device`` accepts.  Raises
    ``NoAdapterError`` when no WebGPU implementation is installed.
    """
    return sort_adapters(driver_module().list_adapters(), "high-performance")


def sort_adapters(
    found: Iterable[tuple[AdapterInfo, Any]], power_preference: PowerPreference
) -> list[tuple[AdapterInfo, Any]]:
    """Order adapters by how well they suit; OpenGL ones last, they are the least capable."""
    order = _POWER_ORDER.get(power_preference)
    if order is None:
        raise ArgumentError(
            "power_preference",
            f"{power_preference!r} is not known; choose {' or '.join(_POWER_ORDER)}",
        )

    def rank(entry: tuple[AdapterInfo, Any]) -> tuple[bool, int]:
        kind = entry[0].adapter_type
        return entry[0].backend_type == "OpenGL", order.index(kind) if kind in order else 2

    return sorted(found, key=rank)


def choose_adapter(
    found: list[tuple[AdapterInfo, Any]], wanted: str | None, variable: str = ""
) -> tuple[AdapterInfo, Any]:
    """The first adapter whose name contains ``wanted`` (any case), or the first of all.

    ``variable`` names the environment variable that ``wanted`` came from, for the error.
    """
    if not found:
        raise NoAdapterError(
            "webgpu", "no adapter was found", "install a Vulkan, Metal or D3D12 driver"
        )
    if not wanted:
        return found[0]
    for entry in found:
        if wanted.lower() in entry[0].name.lower():
            return entry
    names = [info.name for info, _ in found]
    if variable:
        raise EnvironmentVariableError(variable, wanted, names)
    raise NoAdapterError("webgpu", f"no adapter is named {wanted!r}", f"found {', '.join(names)}")


def limits_mode() -> LimitsMode:
    """What ``TENFERRO_LIMITS`` asks for; unset means everything the adapter has."""
    value = os.environ.get("TENFERRO_LIMITS", "") or "native"
    if value == "browser":
        return "browser"
    if value != "native":
        raise EnvironmentVariableError("TENFERRO_LIMITS", value, ("browser", "native"))
    return "native"


def open_device(
    adapter: Any = None,
    power_preference: PowerPreference = "high-performance",
    limits: LimitsMode | None = None,
) -> Device:
    """The open device of an adapter, shared with every other caller in the process.

    ``adapter`` is None (``TENFERRO_ADAPTER``, else the best one), part of a name, or an object
    from ``adapters()``.  ``limits`` is "native", "browser" (hold the device to WebGPU's default
    limits and features) or None (``TENFERRO_LIMITS``).  Raises ``NoAdapterError``,
    ``EnvironmentVariableError``, ``ArgumentError`` or ``DTypeError`` for another ``limits``,
    ``power_preference`` or ``adapter``, or ``RuntimeClosedError`` in a forked child.
    """
    if _forked:
        raise RuntimeClosedError("open_device", FORKED)
    if limits is None:
        mode = limits_mode()
    elif limits in ("native", "browser"):
        mode = limits
    else:
        raise ArgumentError("limits", f"{limits!r} is not known; choose native, browser or None")
    module = driver_module()
    found = sort_adapters(module.list_adapters(), power_preference)
    if adapter is None or isinstance(adapter, str):
        variable = "" if adapter else "TENFERRO_ADAPTER"
        info, raw = choose_adapter(found, adapter or os.environ.get("TENFERRO_ADAPTER"), variable)
    else:
        try:
            info, raw = module.describe_adapter(adapter), adapter
        except AttributeError:
            raise DTypeError(
                "adapter", f"takes a name, an adapter or None, not {type(adapter).__name__}"
            ) from None
    with _devices_lock:
        device = _devices.get((info, mode))
        if device is None or device.lost is not None:
            features = module.adapter_features(raw)
            if mode == "browser":
                features &= _BROWSER_FEATURES
            best = module.adapter_limits(raw, features)
            device = Device(
                module.open_driver(
                    raw, features, browser_limits(best) if mode == "browser" else best
                ),
                mode,
            )
            _devices[(info, mode)] = device
    return device


def browser_limits(adapter: Limits) -> Limits:
    """WebGPU's default limits, with the adapter's own offset alignment requirement."""
    return replace(
        Limits(),
        min_uniform_buffer_offset_alignment=max(256, adapter.min_uniform_buffer_offset_alignment),
    )


# ----- process-wide state: open devices, fork, exit

FORKED = (
    "GPU devices do not survive fork(); start processes with the 'spawn' method, "
    "or open the runtime after the fork"
)
#: Seconds that the end of the process waits for a thread in the middle of a queue's work.
EXIT_PATIENCE = 5.0
_devices: dict[tuple[AdapterInfo, LimitsMode], Device] = {}
_devices_lock = threading.RLock()
_all_devices: weakref.WeakSet[Device] = weakref.WeakSet()
#: Everything with ``close``, ``hold_for_good`` and ``abandon_after_fork``: queues and their likes.
_open_queues: weakref.WeakSet[Any] = weakref.WeakSet()
_forked = False


def register_queue(queue: Any) -> None:
    """Have a queue closed at interpreter exit and disabled in forked children."""
    _open_queues.add(queue)


@atexit.register
def _close_all_at_exit() -> None:
    """Close everything, and stop daemon threads that still use a queue instead of failing them."""
    if not _forked:
        for queue in list(_open_queues):
            queue.hold_for_good(EXIT_PATIENCE)
    close_all()


def close_all() -> None:
    """Close every queue and device; afterwards new ones may be opened."""
    if _forked:
        return
    for queue in list(_open_queues):
        queue.close()
    for device in list(_all_devices):
        device.settle()
        device.close()


def _after_fork_in_child() -> None:
    """Disable what the parent opened: its threads are gone and its locks may be held forever."""
    global _forked, _devices_lock
    if not _all_devices:
        return
    _forked = True
    _devices_lock = threading.RLock()
    for queue in list(_open_queues):
        queue.abandon_after_fork(FORKED)
    # Releasing the parent's objects waits for threads that the child does not have, even while
    # the interpreter shuts down: a reference that nobody drops keeps them from being released.
    for abandoned in (*_open_queues, *_all_devices):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(abandoned))
    _devices.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
