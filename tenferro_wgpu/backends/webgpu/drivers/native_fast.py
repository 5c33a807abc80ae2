"""The native driver's hot calls as direct C calls under wgpu-py.

Called by native.open_driver when :func:`available` says that wgpu-py still has the private names
used here; otherwise native_public.NativeDriver serves through the public API.  Same interface, same
errors; 2 to 10 times less host time per call, because wgpu-py wraps every C call in error capture
and builds its structs field by field.

Two doors lead to the C library: ``libf`` raises errors as exceptions and costs about a
microsecond; ``lib`` does not look.  Creation, finish and queue writes go through ``libf``.
Commands inside a pass go through ``lib``: their errors surface only at finish anyway.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tenferro_wgpu.backends.webgpu.drivers.native import translate_error
from tenferro_wgpu.backends.webgpu.drivers.native_calls import (
    FUNCTIONS,
    command_encoder,
    map_callback,
)
from tenferro_wgpu.backends.webgpu.drivers.native_reads import FastReads, Staging
from tenferro_wgpu.backends.webgpu.drivers.protocol import Access, Batch, Command, Limits

#: Large uploads go in pieces: the staging copy then stays in the CPU's cache, and the device
#: copies one piece while the host copies another.  Measured against whole transfers of 64 MB: 5
#: times faster.
WRITE_PIECE_BYTES = 1 << 20


def available() -> bool:
    """Whether this wgpu-py has every private name the fast driver uses."""
    try:
        from wgpu.backends.wgpu_native import ffi, lib
        from wgpu.backends.wgpu_native._api import libf
    except (ImportError, AttributeError, OSError):
        return False
    return hasattr(ffi, "gc") and all(
        hasattr(lib, name) and hasattr(libf, name) for name in FUNCTIONS
    )


class FastNativeDriver(FastReads):
    """``NativeDriver`` with buffers, bind groups, submission and reads on the C functions.

    Its raw buffers and bind groups are cffi pointers that release themselves when dropped; a
    command in flight keeps its own references inside wgpu-native.
    """

    def __init__(self, adapter: Any, features: frozenset[str], limits: Limits) -> None:
        super().__init__(adapter, features, limits)
        from wgpu.backends.wgpu_native import ffi, lib
        from wgpu.backends.wgpu_native._api import libf

        self._ffi = ffi
        self._lib = lib
        self._libf = libf
        self._device_handle = self._device._internal
        self._queue_handle = self._queue._internal
        #: Counts the uses of the descriptors below: a signal handler may use them in between.
        self._turn = 0
        self._buffer_descriptor = ffi.new("WGPUBufferDescriptor *")
        entries = ffi.new("WGPUBindGroupEntry[]", limits.max_storage_buffers_per_shader_stage + 1)
        for index in range(len(entries)):
            entries[index].binding = index
        self._entries = entries
        self._entry_list = [entries[index] for index in range(len(entries))]
        self._group_descriptor = ffi.new("WGPUBindGroupDescriptor *")
        self._group_descriptor.entries = entries
        self._command_buffers = ffi.new("WGPUCommandBuffer[1]")
        self._dynamic_offset = ffi.new("uint32_t[1]")
        self._map_results = {}
        self._interruptions = []
        self._map_callback = map_callback(ffi, self._map_results, self._interruptions)
        self._staging_keys = itertools.count(1)
        self._witness = self.create_buffer(16)
        self._encode_raw = command_encoder(lib, ffi)

    # ----- creation

    def create_buffer(self, size: int) -> Any:
        """See ``Driver.create_buffer``."""
        return self._create_raw_buffer(size, self._storage_usage, "create_buffer")

    def _create_raw_buffer(self, size: int, usage: int, call: str) -> Any:
        self._check_open(call)
        descriptor = self._buffer_descriptor
        with self.lock:
            while True:
                turn = self._turn = self._turn + 1
                descriptor.size = size
                descriptor.usage = usage
                try:
                    raw = self._libf.wgpuDeviceCreateBuffer(self._device_handle, descriptor)
                except self.wgpu.GPUError as error:
                    raise translate_error(error, call, size) from error
                raw = self._ffi.gc(raw, self._lib.wgpuBufferRelease)
                if self._turn == turn:
                    return raw

    def _create_uniform_buffer(self, size: int) -> Any:
        return self._create_raw_buffer(size, self._uniform_usage, "submit")

    def create_bind_group(
        self, bindings: tuple[Access, ...], buffers: Sequence[tuple[Any, int, int]]
    ) -> Any:
        """See ``Driver.create_bind_group``."""
        with self.lock:
            return self._create_group(self._bind_group_layout(bindings)._internal, buffers)

    def _create_group(self, layout: Any, buffers: Sequence[tuple[Any, int, int]]) -> Any:
        self._check_open("create_bind_group")
        descriptor = self._group_descriptor
        while True:
            turn = self._turn = self._turn + 1
            for entry, (raw, offset, size) in zip(self._entry_list, buffers, strict=False):
                entry.buffer = raw
                entry.offset = offset
                entry.size = size
            descriptor.layout = layout
            descriptor.entryCount = len(buffers)
            try:
                raw = self._libf.wgpuDeviceCreateBindGroup(self._device_handle, descriptor)
            except self.wgpu.GPUError as error:
                raise translate_error(error, "create_bind_group") from error
            raw = self._ffi.gc(raw, self._lib.wgpuBindGroupRelease)
            if self._turn == turn:
                return raw

    def _uniform_group(self, size: int) -> Any:
        group = self._uniforms.groups.get(size)
        if group is None:
            layout = self._uniform_group_layout()._internal
            group = self._create_group(layout, [(self._uniforms.buffer, 0, size)])
            self._uniforms.groups[size] = group
        return group

    # ----- submission

    def write_buffer(self, raw: Any, offset: int, data: memoryview) -> None:
        """See ``Driver.write_buffer``."""
        with self._guard("write_buffer", data.nbytes):
            if data.nbytes <= WRITE_PIECE_BYTES:
                self._write(raw, offset, data)
                return
            for begin in range(0, data.nbytes, WRITE_PIECE_BYTES):
                self._write(raw, offset + begin, data[begin : begin + WRITE_PIECE_BYTES])
                # An empty submission sends the piece on its way and frees its staging memory.
                self.submit(())

    def _write(self, raw: Any, offset: int, data: memoryview | bytearray) -> None:
        source = self._ffi.from_buffer(data)
        self._libf.wgpuQueueWriteBuffer(self._queue_handle, raw, offset, source, len(data))

    def _write_uniforms(self, commands: Sequence[Command]) -> list[int]:
        for command in commands:
            if command[0].uniform_size:
                block, offsets = self._uniforms.pack(commands)
                self._write(self._uniforms.buffer, 0, block)
                return offsets
        return []

    def submit(self, commands: Sequence[Command]) -> None:
        """See ``Driver.submit``."""
        with self.lock:
            self._submit(commands, ())

    def _submit(self, commands: Sequence[Command], copies: Sequence[tuple[Any, ...]]) -> None:
        while not self._try_submit(commands, copies):
            pass  # a signal handler submitted the commands meanwhile: the copies remain

    def _try_submit(self, commands: Sequence[Command], copies: Sequence[tuple[Any, ...]]) -> bool:
        self._check_open("submit")
        if commands:
            self._compiler.finish(commands)
        had_commands = bool(commands)
        lib, null = self._lib, self._ffi.NULL
        encoder = lib.wgpuDeviceCreateCommandEncoder(self._device_handle, null)
        try:
            if commands:
                offsets = self._write_uniforms(commands)
                if offsets:
                    self._encode_with_uniforms(encoder, commands, offsets)
                else:
                    self._encode_raw(encoder, commands)
            for copy in copies:
                lib.wgpuCommandEncoderCopyBufferToBuffer(encoder, *copy)
            # finish raises for invalid commands and for a lost device: submit never gets either.
            buffer = self._libf.wgpuCommandEncoderFinish(encoder, null)
        except self.wgpu.GPUError as error:
            raise translate_error(error, "submit") from error
        finally:
            lib.wgpuCommandEncoderRelease(encoder)
        # No signal handler runs between here and the submission: nothing is called.
        self._command_buffers[0] = buffer
        if had_commands and not commands:
            lib.wgpuCommandBufferRelease(buffer)
            return False
        if commands.__class__ is Batch:
            commands.sent = True
        lib.wgpuQueueSubmit(self._queue_handle, 1, self._command_buffers)
        lib.wgpuCommandBufferRelease(buffer)
        if self._interruptions:
            raise self._interruptions.pop()
        return True

    def _encode_with_uniforms(
        self, encoder: Any, commands: Sequence[Command], offsets: Sequence[int]
    ) -> None:
        """The general loop, for batches that hold at least one uniform pipeline."""
        lib, null, dynamic = self._lib, self._ffi.NULL, self._dynamic_offset
        compute_pass = lib.wgpuCommandEncoderBeginComputePass(encoder, null)
        try:
            # A signal handler that submits meanwhile takes the commands away: then there are fewer.
            for offset, (pipeline, group, params, (x, y, z), _, _, _) in zip(
                offsets, commands, strict=False
            ):
                lib.wgpuComputePassEncoderSetPipeline(compute_pass, pipeline.internal)
                lib.wgpuComputePassEncoderSetBindGroup(compute_pass, 0, group, 0, null)
                if pipeline.uniform_size:
                    dynamic[0] = offset
                    block = self._uniform_group(pipeline.uniform_size)
                    lib.wgpuComputePassEncoderSetBindGroup(compute_pass, 1, block, 1, dynamic)
                elif params:
                    lib.wgpuComputePassEncoderSetImmediates(compute_pass, 0, params, len(params))
                lib.wgpuComputePassEncoderDispatchWorkgroups(compute_pass, x, y, z)
        finally:
            lib.wgpuComputePassEncoderEnd(compute_pass)
            lib.wgpuComputePassEncoderRelease(compute_pass)

    def _encode_public(self, compute_pass: Any, command: Command, uniform_offset: int) -> None:
        """Encode into a wgpu-py pass (timed submission), whose objects are not ours."""
        lib, null = self._lib, self._ffi.NULL
        pipeline, group, params, (x, y, z), _, _, _ = command
        handle = compute_pass._internal
        lib.wgpuComputePassEncoderSetPipeline(handle, pipeline.internal)
        lib.wgpuComputePassEncoderSetBindGroup(handle, 0, group, 0, null)
        if pipeline.uniform_size:
            self._dynamic_offset[0] = uniform_offset
            block = self._uniform_group(pipeline.uniform_size)
            lib.wgpuComputePassEncoderSetBindGroup(handle, 1, block, 1, self._dynamic_offset)
        elif params:
            lib.wgpuComputePassEncoderSetImmediates(handle, 0, params, len(params))
        lib.wgpuComputePassEncoderDispatchWorkgroups(handle, x, y, z)

    def _raw(self, buffer: Any) -> Any:
        return buffer._internal

    # ----- reading

    def _create_staging(self, size: int) -> Any:
        ffi = self._ffi
        key = next(self._staging_keys)
        info = ffi.new("WGPUBufferMapCallbackInfo *")
        info.mode = self._lib.WGPUCallbackMode_AllowSpontaneous
        info.callback = self._map_callback
        info.userdata1 = ffi.cast("void *", key)
        raw = self._create_raw_buffer(size, self._staging_usage, "read_buffer")
        return Staging(raw, size, key, info[0])
