"""One WebGPU device of a web page, driven from Python in Pyodide.

Called by: browser.py, which opens it, and by queue.py through `Driver`.  browser.js is the other
half; only these three files know `navigator.gpu`.

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
from typing import Any, TypeVar

import numpy as np
from pyodide.ffi import JsException, can_run_sync, create_once_callable, run_sync, to_js

from ....errors import (
    DeviceLostError,
    DeviceOutOfMemoryError,
    ShaderError,
    SyncUnavailableError,
    TenferroError,
)
from .protocol import (
    Access,
    AdapterInfo,
    Batch,
    BatchRejectedError,
    Command,
    Limits,
    ParamsSpace,
    ReadRequest,
)

__all__ = ["ENABLE", "BrowserDriver", "wait_for"]

T = TypeVar("T")

#: Bytes that share a staging buffer; a larger request has one of its own.
STAGING_BYTES = 64 << 20

#: The `enable` line that a browser wants for a feature a module uses.
ENABLE = {"shader-f16": "enable f16;", "subgroups": "enable subgroups;"}


def wait_for(awaitable: Awaitable[T], op: str, async_form: str) -> T:
    """Wait for a promise or coroutine from synchronous code.

    Raises ``SyncUnavailableError``, naming `async_form`, where Python cannot be suspended.
    """
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
    """Part of a read under way: the promise of its mapped bytes and the sizes to cut them into."""

    __slots__ = ("promise", "sizes")

    def __init__(self, promise: Any, sizes: list[int]) -> None:
        self.promise = promise
        self.sizes = sizes


class BrowserDriver:
    """The page's WebGPU device; see `Driver` for what each method promises."""

    def __init__(
        self, device: Any, info: AdapterInfo, features: frozenset[str], limits: Limits
    ) -> None:
        self.info = info
        self.features = features
        self.limits = limits
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
            if commands.__class__ is Batch:
                commands.sent = True
            try:
                self._device.submit(words, params)
            except JsException as error:
                raise BatchRejectedError(str(error)) from error
        self._tidy()

    def begin_read(
        self, commands: Sequence[Command], requests: Sequence[ReadRequest]
    ) -> list[_Read]:
        """Small requests share a staging buffer; all parts are under way at once."""
        self._check_alive("read")
        parts: list[_Read] = []
        for group in _groups(requests):
            parts.append(self._begin_part(() if parts else commands, group))
        self._tidy()
        return parts

    def _begin_part(self, commands: Sequence[Command], requests: Sequence[ReadRequest]) -> _Read:
        words, params = self._pack(commands)
        if commands.__class__ is Batch:
            commands.sent = True
        ranges = [value for one in requests for value in (one.buffer, one.offset, one.nbytes)]
        try:
            promise = self._device.beginRead(words, params, to_js(ranges))
        except JsException as error:
            raise BatchRejectedError(str(error)) from error
        return _Read(promise, [one.nbytes for one in requests])

    def finish_read(self, token: list[_Read]) -> list[np.ndarray[Any, Any]]:
        return wait_for(self.finish_read_async(token), "read", "await tensor.numpy_async()")

    async def finish_read_async(self, token: list[_Read]) -> list[np.ndarray[Any, Any]]:
        arrays = []
        for part in token:
            arrays += await self._finish_part(part)
        return arrays

    async def _finish_part(self, part: _Read) -> list[np.ndarray[Any, Any]]:
        try:
            number = await part.promise
        except JsException as error:
            self._check_alive("read")
            raise DeviceLostError("read", str(error)) from error
        try:
            self._collect_problems("read")
            arrays = [np.empty(size, np.uint8) for size in part.sizes]
            offset = 0
            for one in arrays if number else ():
                self._device.copyRead(number, offset, one)
                offset += one.nbytes
            if not number and not self._late:
                self._late.append("read: the browser could not map the bytes")
            return arrays
        finally:
            if number:
                self._device.endRead(number)

    def submit_timed(self, commands: Sequence[Command]) -> None:
        """Submits without timing: browsers round GPU timestamps to 0.1 ms, so most would be 0."""
        self.submit(commands)

    def finish_timed(self, token: None) -> list[int]:
        return []

    def take_late_errors(self) -> list[str]:
        messages, self._late = self._late, []
        return messages

    def wait(self) -> None:
        wait_for(self.wait_async(), "synchronize", "await runtime.synchronize_async()")

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


def _groups(requests: Sequence[ReadRequest]) -> list[list[ReadRequest]]:
    """The requests in order, as many together as one staging buffer takes."""
    groups: list[list[ReadRequest]] = []
    room = -1
    for request in requests:
        room -= request.nbytes
        if room < 0:
            groups.append([])
            room = STAGING_BYTES - request.nbytes
        groups[-1].append(request)
    return groups


def _drain(numbers: deque[int]) -> list[int]:
    drained = []
    while numbers:
        drained.append(numbers.popleft())
    return drained
