"""The native driver on the public API of wgpu-py: Vulkan, Metal and D3D12.

Opened by native.open_driver.  ``native_fast`` derives from :class:`NativeDriver` and replaces its
hot calls; this module is the reference, and the fall-back when wgpu-py's private names change.

An invalid submit aborts the process inside wgpu-native, so this driver never calls ``destroy()``
on anything and submits only command buffers whose ``finish()`` succeeded: finish also reports a
lost device.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tenferro_wgpu.backends.webgpu.drivers.native import (
    SMALLEST_STAGING,
    WGPU_NAMES,
    NativePipeline,
    UniformArena,
    describe_adapter,
    module_error,
    staging_size,
    storage_entries,
    translate_error,
    uniform_entries,
)
from tenferro_wgpu.backends.webgpu.drivers.native_compiling import PipelineCompiler
from tenferro_wgpu.backends.webgpu.drivers.protocol import (
    Access,
    Batch,
    Command,
    Limits,
    ParamsSpace,
    ReadRequest,
)
from tenferro_wgpu.errors import DeviceLostError, NoAdapterError

#: Browsers allow 64 bytes of immediates; larger blocks go to a uniform buffer everywhere.
MAX_IMMEDIATE_BYTES = 64
#: Staging buffers kept for reuse, in bytes all together.
STAGING_RETAINED_BYTES = 64 << 20


class NativeDriver:
    """A device opened through wgpu-py, used through its public API only."""

    def __init__(self, adapter: Any, features: frozenset[str], limits: Limits) -> None:
        import wgpu

        self.wgpu: Any = wgpu
        self.info = describe_adapter(adapter)
        self.features = features
        self.limits = limits
        names = [WGPU_NAMES.get(name, name) for name in sorted(features)]
        try:
            # Without required limits wgpu-py asks for everything the adapter has.
            self._device: Any = adapter.request_device_sync(required_features=names)
        except RuntimeError as error:
            raise NoAdapterError("webgpu", f"{self.info.name}: {error}") from error
        self._queue: Any = self._device.queue
        self.lock = threading.RLock()
        usage = wgpu.BufferUsage
        self._storage_usage = int(usage.STORAGE | usage.COPY_SRC | usage.COPY_DST)
        self._staging_usage = int(usage.MAP_READ | usage.COPY_DST)
        self._uniform_usage = int(usage.UNIFORM | usage.COPY_DST)
        self._layouts: dict[tuple[Access, ...], Any] = {}
        self._pipeline_layouts: dict[tuple[tuple[Access, ...], int, bool], Any] = {}
        self._uniform_layout: Any = None
        self._uniforms = UniformArena(
            self._create_uniform_buffer, max(16, limits.min_uniform_buffer_offset_alignment)
        )
        self._staging: dict[int, list[Any]] = {}
        self._staging_bytes = 0
        self._witness: Any = None
        self._compiler = PipelineCompiler()
        self._closed = False

    def _create_uniform_buffer(self, size: int) -> Any:
        return self._device.create_buffer(size=size, usage=self._uniform_usage)

    def _check_open(self, call: str) -> None:
        if self._closed:
            raise DeviceLostError(call, "the device is closed")

    @contextlib.contextmanager
    def _guard(self, call: str, nbytes: int = 0) -> Iterator[None]:
        """Run wgpu-py calls of ``call``; its exceptions leave as ours."""
        self._check_open(call)
        try:
            yield
        except self.wgpu.GPUError as error:
            raise translate_error(error, call, nbytes) from error

    def params_space(self, params_size: int) -> ParamsSpace:
        """See ``Driver.params_space``."""
        fits = params_size <= min(self.limits.max_immediate_size, MAX_IMMEDIATE_BYTES)
        return "immediate" if fits else "uniform"

    # ----- creation

    def create_buffer(self, size: int) -> Any:
        """See ``Driver.create_buffer``."""
        with self._guard("create_buffer", size):
            return self._device.create_buffer(size=size, usage=self._storage_usage)

    def release_buffer(self, raw: Any) -> None:
        """See ``Driver.release_buffer``; the last reference going away is the release."""
        del raw

    def create_pipeline(
        self,
        wgsl: str,
        bindings: tuple[Access, ...],
        params_space: ParamsSpace,
        params_size: int,
        label: str,
        requires: tuple[str, ...] = (),
    ) -> NativePipeline:
        """See ``Driver.create_pipeline``."""
        self._check_open("create_pipeline")
        # naga knows `enable f16;` and refuses `enable subgroups;`, which it does not need.
        code = "enable f16;\n" + wgsl if "shader-f16" in requires else wgsl
        uniform_size = params_size if params_space == "uniform" else 0
        immediate_size = params_size - uniform_size
        with self.lock:
            try:
                module = self._device.create_shader_module(label=label, code=code)
                layout = self._pipeline_layout(bindings, immediate_size, uniform_size > 0)
            except self.wgpu.GPUError as error:
                raise module_error(error, label, code) from error
            stage = {"module": module, "entry_point": "main"}
            create = self._device.create_compute_pipeline
            return self._compiler.start(
                create, uniform_size, label=label, layout=layout, compute=stage
            )

    def _pipeline_layout(
        self, bindings: tuple[Access, ...], immediate_size: int, uniform: bool
    ) -> Any:
        key = (bindings, immediate_size, uniform)
        layout = self._pipeline_layouts.get(key)
        if layout is None:
            groups = [self._bind_group_layout(bindings)]
            if uniform:
                groups.append(self._uniform_group_layout())
            layout = self._device.create_pipeline_layout(
                bind_group_layouts=groups, immediate_size=immediate_size
            )
            self._pipeline_layouts[key] = layout
        return layout

    def _bind_group_layout(self, bindings: tuple[Access, ...]) -> Any:
        layout = self._layouts.get(bindings)
        if layout is None:
            entries = storage_entries(bindings, self.wgpu.ShaderStage.COMPUTE)
            layout = self._device.create_bind_group_layout(entries=entries)
            self._layouts[bindings] = layout
        return layout

    def _uniform_group_layout(self) -> Any:
        if self._uniform_layout is None:
            entries = uniform_entries(self.wgpu.ShaderStage.COMPUTE)
            self._uniform_layout = self._device.create_bind_group_layout(entries=entries)
        return self._uniform_layout

    def create_bind_group(
        self, bindings: tuple[Access, ...], buffers: Sequence[tuple[Any, int, int]]
    ) -> Any:
        """See ``Driver.create_bind_group``."""
        with self._guard("create_bind_group"), self.lock:
            return self._device.create_bind_group(
                layout=self._bind_group_layout(bindings),
                entries=[
                    {"binding": index, "resource": {"buffer": raw, "offset": offset, "size": size}}
                    for index, (raw, offset, size) in enumerate(buffers)
                ],
            )

    def _uniform_group(self, size: int) -> Any:
        group = self._uniforms.groups.get(size)
        if group is None:
            resource = {"buffer": self._uniforms.buffer, "offset": 0, "size": size}
            group = self._uniforms.groups[size] = self._device.create_bind_group(
                layout=self._uniform_group_layout(), entries=[{"binding": 0, "resource": resource}]
            )
        return group

    # ----- submission

    def write_buffer(self, raw: Any, offset: int, data: memoryview) -> None:
        """See ``Driver.write_buffer``."""
        with self._guard("write_buffer", data.nbytes):
            self._queue.write_buffer(raw, offset, data)

    def submit(self, commands: Sequence[Command]) -> None:
        """See ``Driver.submit``."""
        with self._guard("submit"), self.lock:
            self._submit(commands, ())

    def _submit(self, commands: Sequence[Command], copies: Sequence[tuple[Any, ...]]) -> None:
        had_commands = bool(commands)
        buffers = [self._encode(commands, copies)]
        if had_commands and not commands:  # a signal handler was faster
            buffers = [self._encode((), copies)]
        if commands.__class__ is Batch:
            commands.sent = True
        self._queue.submit(buffers)

    def _encode(self, commands: Sequence[Command], copies: Sequence[tuple[Any, ...]]) -> Any:
        """A finished command buffer: the commands in one pass, then copies into staging."""
        self._compiler.finish(commands)
        encoder = self._device.create_command_encoder()
        if commands:
            offsets = self._write_uniforms(commands)
            compute_pass = encoder.begin_compute_pass()
            for index, command in enumerate(commands):
                self._encode_command(compute_pass, command, offsets[index] if offsets else 0)
            compute_pass.end()
        for copy in copies:
            encoder.copy_buffer_to_buffer(*copy)
        return encoder.finish()

    def _write_uniforms(self, commands: Sequence[Command]) -> list[int]:
        if not any(command[0].uniform_size for command in commands):
            return []
        block, offsets = self._uniforms.pack(commands)
        self._queue.write_buffer(self._uniforms.buffer, 0, block)
        return offsets

    def _encode_command(self, compute_pass: Any, command: Command, uniform_offset: int) -> None:
        pipeline, group, params, workgroups, _, _, _ = command
        compute_pass.set_pipeline(pipeline.raw)
        compute_pass.set_bind_group(0, group)
        if pipeline.uniform_size:
            block = self._uniform_group(pipeline.uniform_size)
            compute_pass.set_bind_group(1, block, [uniform_offset])
        elif params:
            compute_pass.set_immediates(0, params, 0, len(params))
        compute_pass.dispatch_workgroups(*workgroups)

    # ----- reading

    def begin_read(self, commands: Sequence[Command], requests: Sequence[ReadRequest]) -> Any:
        """See ``Driver.begin_read``."""
        with self._guard("read_buffer"), self.lock:
            stagings = [self._take_staging(request.nbytes) for request in requests]
            copies = [
                (request.buffer, request.offset, staging, 0, request.nbytes)
                for request, staging in zip(requests, stagings, strict=True)
            ]
            self._submit(commands, copies)
            return [
                (staging, staging.map_async("READ", 0, request.nbytes), request.nbytes)
                for request, staging in zip(requests, stagings, strict=True)
            ]

    def finish_read(self, token: Any) -> list[np.ndarray]:
        """See ``Driver.finish_read``."""
        arrays = []
        for staging, promise, nbytes in token:
            # wgpu-py's wait never ends when the device is lost already.
            self._check_alive("read_buffer")
            try:
                promise.sync_wait()
            except RuntimeError as error:
                raise DeviceLostError("read_buffer", str(error)) from error
            arrays.append(self._copy_out(staging, nbytes))
        return arrays

    async def finish_read_async(self, token: Any) -> list[np.ndarray]:
        """See ``Driver.finish_read_async``."""
        arrays = []
        for staging, promise, nbytes in token:
            self._check_alive("read_buffer")
            try:
                await promise
            except RuntimeError as error:
                raise DeviceLostError("read_buffer", str(error)) from error
            arrays.append(self._copy_out(staging, nbytes))
        return arrays

    def _check_alive(self, call: str) -> None:
        """Raise ``DeviceLostError`` if the device is lost; a small write is how one finds out."""
        with self._guard(call):
            if self._witness is None:
                self._witness = self._device.create_buffer(size=16, usage=self._storage_usage)
            self._queue.write_buffer(self._witness, 0, bytes(4))

    def _copy_out(self, staging: Any, nbytes: int) -> np.ndarray:
        array = np.empty(nbytes, np.uint8)
        array[:] = np.frombuffer(staging.read_mapped(0, nbytes, copy=False), np.uint8)
        staging.unmap()
        self._return_staging(staging, staging.size)
        return array

    def _take_staging(self, nbytes: int) -> Any:
        size = staging_size(nbytes)
        free = self._staging.get(size)
        if free:
            self._staging_bytes -= size
            return free.pop()
        return self._create_staging(size)

    def _create_staging(self, size: int) -> Any:
        return self._device.create_buffer(size=size, usage=self._staging_usage)

    def _return_staging(self, staging: Any, size: int) -> None:
        with self.lock:
            if self._staging_bytes + size <= STAGING_RETAINED_BYTES and not self._closed:
                self._staging_bytes += size
                self._staging.setdefault(size, []).append(staging)

    # ----- timing, waiting, closing

    def submit_timed(self, commands: Sequence[Command]) -> Any:
        """See ``Driver.submit_timed``."""
        if "timestamp-query" not in self.features or not commands:
            self.submit(commands)
            return None
        usage = self.wgpu.BufferUsage
        count = 2 * len(commands)
        with self._guard("submit_timed"), self.lock:
            self._compiler.finish(commands)
            queries = self._device.create_query_set(type="timestamp", count=count)
            resolved = self._device.create_buffer(
                size=8 * count, usage=usage.QUERY_RESOLVE | usage.COPY_SRC
            )
            offsets = self._write_uniforms(commands)
            encoder = self._device.create_command_encoder()
            for index, command in enumerate(commands):
                compute_pass = encoder.begin_compute_pass(
                    timestamp_writes={
                        "query_set": queries,
                        "beginning_of_pass_write_index": 2 * index,
                        "end_of_pass_write_index": 2 * index + 1,
                    }
                )
                self._encode_public(compute_pass, command, offsets[index] if offsets else 0)
                compute_pass.end()
            encoder.resolve_query_set(queries, 0, count, resolved, 0)
            buffers = [encoder.finish()]
            if not commands:  # a signal handler was faster
                return None
            if commands.__class__ is Batch:
                commands.sent = True
            self._queue.submit(buffers)
            return self.begin_read((), [ReadRequest(self._raw(resolved), 0, 8 * count)])

    def _raw(self, buffer: Any) -> Any:
        """A buffer of wgpu-py as this driver's reads take it."""
        return buffer

    def finish_timed(self, token: Any) -> list[int]:
        """See ``Driver.finish_timed``."""
        if token is None:
            self.wait()
            return []
        (stamps,) = self.finish_read(token)
        # wgpu-native's timestamps count nanoseconds on the adapters measured (period 1).
        return [int(end) - int(begin) for begin, end in stamps.view(np.uint64).reshape(-1, 2)]

    def _encode_public(self, compute_pass: Any, command: Command, uniform_offset: int) -> None:
        self._encode_command(compute_pass, command, uniform_offset)

    def take_late_errors(self) -> list[str]:
        """See ``Driver.take_late_errors``; natively every rejection is raised by its own call."""
        return []

    def wait(self) -> None:
        """See ``Driver.wait``: a read of a few bytes, since wgpu-py 0.32 has no public wait."""
        self.finish_read(self._begin_wait())

    async def wait_async(self) -> None:
        """See ``Driver.wait_async``."""
        await self.finish_read_async(self._begin_wait())

    def _begin_wait(self) -> Any:
        with self.lock:
            source = self.create_buffer(SMALLEST_STAGING)
            return self.begin_read((), [ReadRequest(source, 0, 4)])

    def close(self) -> None:
        """See ``Driver.close``."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
            self._compiler.finish()
            self._staging.clear()
            self._uniforms.groups.clear()
            self._uniforms.buffer = None
            self._uniforms.size = 0
            self._layouts.clear()
            self._pipeline_layouts.clear()
            self._uniform_layout = None
