"""The driver of a web page: Python in Pyodide, WebGPU through JavaScript.

Called by: device.py, in a browser only (it imports `js`).  Implements `Driver` with browser.js
beside it; only these two files know `navigator.gpu`.

WebGPU validates in another process and answers later.  So nothing here waits but `finish_read`
and `wait`: what the browser objected to meanwhile is raised there (shaders, memory) or handed to
`take_late_errors` (refused batches).  The synchronous waits need JavaScript Promise Integration;
where a page lacks it they raise `SyncUnavailableError` and the async forms work unchanged.
"""

from __future__ import annotations

import json
from array import array
from collections import deque
from collections.abc import Awaitable, Sequence
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np
from pyodide.code import run_js
from pyodide.ffi import JsException, can_run_sync, create_once_callable, run_sync, to_js

from ....errors import (
    DeviceLostError,
    DeviceOutOfMemoryError,
    NoAdapterError,
    ShaderError,
    SyncUnavailableError,
    TenferroError,
    UnsupportedOperationError,
)
from .protocol import (
    WANTED_FEATURES,
    Access,
    AdapterInfo,
    BatchRejectedError,
    Command,
    Limits,
    ParamsSpace,
    ReadRequest,
)

__all__ = ["BrowserDriver", "open_browser_device", "open_browser_device_sync"]

T = TypeVar("T")

#: The `enable` line that a browser wants for a feature a module uses.
ENABLE = {"shader-f16": "enable f16;", "subgroups": "enable subgroups;"}

#: The fields of `Limits` by their WebGPU names.
LIMIT_NAMES = {
    "max_buffer_size": "maxBufferSize",
    "max_storage_buffer_binding_size": "maxStorageBufferBindingSize",
    "max_storage_buffers_per_shader_stage": "maxStorageBuffersPerShaderStage",
    "max_compute_workgroups_per_dimension": "maxComputeWorkgroupsPerDimension",
    "max_compute_invocations_per_workgroup": "maxComputeInvocationsPerWorkgroup",
    "max_compute_workgroup_storage_size": "maxComputeWorkgroupStorageSize",
    "min_uniform_buffer_offset_alignment": "minUniformBufferOffsetAlignment",
}

#: Devices that are open, by whether they are held to the default limits.
_open_devices: dict[bool, BrowserDriver] = {}


async def open_browser_device(*, default_limits: bool = False) -> BrowserDriver:
    """Return the page's device, opening it on the first call and again after it was lost.

    `default_limits` asks for no more than WebGPU guarantees and for no feature; otherwise the
    device has the adapter's buffer sizes and the features of `WANTED_FEATURES` it offers.

    Raises:
        NoAdapterError: the page has no WebGPU or no adapter.
    """
    device = _open_devices.get(default_limits)
    if device is not None and not device.is_lost:
        return device
    helper = run_js(files(__package__).joinpath("browser.js").read_text(encoding="utf-8"))
    wanted = () if default_limits else sorted(ENABLE.keys() & WANTED_FEATURES)
    try:
        opened = await helper.open("high-performance", to_js(wanted), not default_limits)
    except JsException as error:
        raise NoAdapterError("webgpu", str(error)) from error
    if not hasattr(opened, "device"):
        raise NoAdapterError(
            "webgpu", opened.reason, "WebGPU needs https or localhost and a recent browser"
        )
    device = BrowserDriver(opened.device)
    _open_devices[default_limits] = device
    return device


def open_browser_device_sync(*, default_limits: bool = False) -> BrowserDriver:
    """Return the page's device without `await`: the open one, or a new one where Python can wait.

    Raises:
        SyncUnavailableError: no device is open yet and this page cannot wait for one.
        NoAdapterError: the page has no WebGPU or no adapter.
    """
    device = _open_devices.get(default_limits)
    if device is not None and not device.is_lost:
        return device
    return _wait_for(
        open_browser_device(default_limits=default_limits),
        "open a WebGPU device",
        "await tenferro_wgpu.init_async()",
    )


def _wait_for(awaitable: Awaitable[T], op: str, async_form: str) -> T:
    if not can_run_sync():
        close = getattr(awaitable, "close", None)
        if close is not None:  # a coroutine that is never awaited would warn
            close()
        raise SyncUnavailableError(op, async_form)
    result: T = run_sync(awaitable)
    return result


class _Numbered:
    """An object of browser.js by its number; dropping it queues the number for forgetting."""

    __slots__ = ("_dropped", "label", "number")

    def __init__(self, number: int, dropped: deque[int], label: str = "") -> None:
        self.number = number
        self.label = label
        self._dropped = dropped

    def __del__(self) -> None:
        # May run at any moment, so it only notes the number.
        self._dropped.append(self.number)


class _Read:
    """A read under way: the promise of its mapped bytes and the sizes to cut them into."""

    __slots__ = ("promise", "sizes")

    def __init__(self, promise: Any, sizes: list[int]) -> None:
        self.promise = promise
        self.sizes = sizes


class BrowserDriver:
    """The page's WebGPU device; see `Driver` for what each method promises."""

    def __init__(self, device: Any) -> None:
        found = json.loads(device.describe())
        self.info = _adapter_info(found)
        self.features = frozenset(found["features"]) & WANTED_FEATURES & ENABLE.keys()
        self.limits = Limits(**{ours: found["limits"][name] for ours, name in LIMIT_NAMES.items()})
        self._device = device
        self._lost = ""
        self._closed = False
        self._dropped_groups: deque[int] = deque()
        self._dropped_pipelines: deque[int] = deque()
        self._released: list[int] = []
        self._sources: dict[int, tuple[str, str]] = {}  # pipeline number: label and WGSL
        self._refused: dict[int, ShaderError] = {}
        self._late: list[str] = []
        device.whenLost(create_once_callable(self._mark_lost))

    @property
    def is_lost(self) -> bool:
        """Whether the device is gone: lost, or closed by us."""
        return bool(self._lost) or self._closed

    def params_space(self, params_size: int) -> ParamsSpace:
        """Uniform always: immediates are not in every browser that has WebGPU."""
        return "uniform"

    def create_buffer(self, size: int) -> int:
        self._check_alive("create_buffer")
        self._destroy_released()
        number: int = self._device.createBuffer(size)
        return number

    def release_buffer(self, raw: int) -> None:
        self._released.append(raw)

    def create_pipeline(
        self,
        wgsl: str,
        bindings: tuple[Access, ...],
        params_space: ParamsSpace,
        params_size: int,
        label: str,
        requires: tuple[str, ...] = (),
    ) -> _Numbered:
        """Start compiling; a module the browser refuses raises `ShaderError` at the next wait."""
        self._check_alive(label)
        prelude = "".join(f"{ENABLE[feature]}\n" for feature in requires)
        number = self._device.createPipeline(
            prelude + wgsl, ",".join(bindings), params_size > 0, label
        )
        self._sources[number] = (label, prelude + wgsl)
        return _Numbered(number, self._dropped_pipelines, label)

    def create_bind_group(
        self, bindings: tuple[Access, ...], buffers: Sequence[tuple[Any, int, int]]
    ) -> _Numbered:
        self._check_alive("create_bind_group")
        ranges = to_js([value for binding in buffers for value in binding])
        number = self._device.createBindGroup(",".join(bindings), ranges)
        return _Numbered(number, self._dropped_groups)

    def write_buffer(self, raw: int, offset: int, data: memoryview) -> None:
        self._check_alive("write_buffer")
        self._device.writeBuffer(raw, offset, data)

    def submit(self, commands: Sequence[Command]) -> None:
        self._check_alive("submit")
        if commands:
            words, params = self._pack(commands)
            try:
                self._device.submit(words, params)
            except JsException as error:
                raise BatchRejectedError(str(error)) from error
        self._tidy()

    def begin_read(self, commands: Sequence[Command], requests: Sequence[ReadRequest]) -> _Read:
        self._check_alive("read")
        words, params = self._pack(commands)
        ranges = [value for one in requests for value in (one.buffer, one.offset, one.nbytes)]
        try:
            promise = self._device.beginRead(words, params, to_js(ranges))
        except JsException as error:
            raise BatchRejectedError(str(error)) from error
        self._tidy()
        return _Read(promise, [one.nbytes for one in requests])

    def finish_read(self, token: _Read) -> list[np.ndarray[Any, Any]]:
        return _wait_for(self.finish_read_async(token), "read", "await tensor.numpy_async()")

    async def finish_read_async(self, token: _Read) -> list[np.ndarray[Any, Any]]:
        try:
            number = await token.promise
        except JsException as error:
            self._check_alive("read")
            raise DeviceLostError("read", str(error)) from error
        try:
            self._collect_problems("read")
            arrays = [np.empty(size, np.uint8) for size in token.sizes]
            offset = 0
            # Number 0: there is nothing mapped, because of a problem that the queue asks for next.
            for one in arrays if number else ():
                self._device.copyRead(number, offset, one)
                offset += one.nbytes
            return arrays
        finally:
            if number:
                self._device.endRead(number)

    def submit_timed(self, commands: Sequence[Command]) -> list[int]:
        """Refused: browsers round GPU timestamps to 0.1 ms, longer than most kernels take."""
        raise UnsupportedOperationError(
            "submit_timed", backend="webgpu", hint="profile GPU kernels on the desktop"
        )

    def take_late_errors(self) -> list[str]:
        messages, self._late = self._late, []
        return messages

    def wait(self) -> None:
        _wait_for(self.wait_async(), "synchronize", "await runtime.synchronize_async()")

    async def wait_async(self) -> None:
        self._check_alive("synchronize")
        self._tidy()
        try:
            await self._device.finish()
        except JsException as error:
            self._check_alive("synchronize")
            raise DeviceLostError("synchronize", str(error)) from error
        self._collect_problems("synchronize")

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._device.destroy()

    def _mark_lost(self, reason: str) -> None:
        self._lost = reason or "unknown"

    def _check_alive(self, op: str) -> None:
        if self._closed:
            raise DeviceLostError(op, "closed")
        if self._lost:
            raise DeviceLostError(op, self._lost)

    def _pack(self, commands: Sequence[Command]) -> tuple[Any, Any]:
        """The commands as one typed array of numbers and one of params, as browser.js wants."""
        words = array("I")
        blocks = []
        for command in commands:
            pipeline, group, params, workgroups = command[:4]
            if self._refused and pipeline.number in self._refused:
                raise BatchRejectedError(str(self._refused[pipeline.number]))
            words.extend((pipeline.number, group.number, *workgroups, len(params)))
            blocks.append(params)
        return to_js(words), to_js(b"".join(blocks))

    def _tidy(self) -> None:
        """Drop what Python no longer holds, now that the commands naming it are submitted."""
        self._destroy_released()
        if not self._dropped_groups and not self._dropped_pipelines:
            return
        groups = _drain(self._dropped_groups)
        pipelines = _drain(self._dropped_pipelines)
        for number in pipelines:
            self._refused.pop(number, None)
            self._sources.pop(number, None)
        self._device.forget(to_js(groups), to_js(pipelines))

    def _destroy_released(self) -> None:
        if self._released:
            released, self._released = self._released, []
            self._device.destroyBuffers(to_js(released))

    def _collect_problems(self, op: str) -> None:
        """Raise what the browser found out since the last wait, or keep it for the queue.

        A refused shader or allocation makes every batch that uses it fail too: those messages
        say nothing new and are dropped.
        """
        self._check_alive(op)
        text = self._device.takeProblems()
        if not text:
            return
        error: TenferroError | None = None
        messages = []
        for problem in json.loads(text):
            if problem["kind"] == "shader":
                label, wgsl = self._sources.get(problem["number"], ("shader", ""))
                line = problem["line"] or None
                refused = ShaderError(label, problem["message"], wgsl=wgsl, line=line)
                self._refused[problem["number"]] = refused
                error = error or refused
            elif problem["kind"] == "memory":
                error = error or DeviceOutOfMemoryError(op, problem["size"], problem["message"])
            else:
                label = problem.get("label") or problem["kind"]
                messages.append(f"{label}: {problem['message']}")
        if error is not None:
            raise error
        self._late.extend(messages)


def _drain(numbers: deque[int]) -> list[int]:
    drained = []
    while numbers:
        drained.append(numbers.popleft())
    return drained


def _adapter_info(found: dict[str, Any]) -> AdapterInfo:
    """Browsers hide most of what they know; only a software adapter is told apart."""
    name = found["description"] or f"{found['vendor']} {found['architecture']}".strip()
    return AdapterInfo(
        name=name or "WebGPU adapter",
        adapter_type="CPU" if found["fallback"] else "Unknown",
        backend_type="WebGPU",
        vendor=found["vendor"],
    )
