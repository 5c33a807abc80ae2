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
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro_wgpu.backends.webgpu.drivers.native import translate_error
from tenferro_wgpu.backends.webgpu.drivers.native_calls import (
    FUNCTIONS,
    command_encoder,
    map_callback,
)
from tenferro_wgpu.backends.webgpu.drivers.native_public import NativeDriver
from tenferro_wgpu.backends.webgpu.drivers.protocol import (
    Access,
    Batch,
    Command,
    Limits,
    ReadRequest,
)
from tenferro_wgpu.errors import DeviceLostError

_MAP_READ = 1
#: Large transfers go in pieces: the staging copy then stays in the CPU's cache, and the device
#: copies one piece while the host copies another.  Measured against whole transfers of 64 MB:
#: uploads 5 times faster, reads 1.7 times.
WRITE_PIECE_BYTES = 1 << 20
READ_PIECE_BYTES = 2 << 20
#: Polls of about a microsecond each before the wait blocks: a small result arrives sooner than a
#: sleeping thread wakes up (a third off the latency of a scalar).
_SPINNING_POLLS = 100
#: Polls without progress before a mapping is given up: those that blocked until the device was
#: idle, or found it idle.
_LOST_AFTER_POLLS = 10_000


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


class _Staging:
    """A mappable buffer, the slot its map callback reports to, and the bytes asked for."""

    __slots__ = ("callback_info", "key", "raw", "size")

    def __init__(self, raw: Any, size: int, key: int, callback_info: Any) -> None:
        self.raw = raw
        self.size = size
        self.key = key
        self.callback_info = callback_info


class _PendingRead:
    """A read under way: the pieces being copied, and how much of the request has begun."""

    __slots__ = ("begun", "pieces", "request")

    def __init__(self, request: ReadRequest) -> None:
        self.request = request
        self.pieces: deque[tuple[_Staging, int]] = deque()
        self.begun = 0


class FastNativeDriver(NativeDriver):
    """``NativeDriver`` with buffers, bind groups, submission and reads on the C functions.

    Its raw buffers and bind groups are cffi pointers that release themselves when dropped; a
    command in flight keeps its own references inside wgpu-native.
    """

    def __init__(self, adapter: Any, features: frozenset[str], limits: Limits) -> None:
        super().__init__(adapter, features, limits)
        from wgpu.backends.wgpu_native import ffi, lib
        from wgpu.backends.wgpu_native._api import libf

        self._ffi: Any = ffi
        self._lib: Any = lib
        self._libf: Any = libf
        self._device_handle: Any = self._device._internal
        self._queue_handle: Any = self._queue._internal
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
        self._map_results: dict[int, int] = {}
        #: What signal handlers raised inside the callback.
        self._interruptions: list[BaseException] = []
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
            for source, offset, staging, nbytes in copies:
                lib.wgpuCommandEncoderCopyBufferToBuffer(
                    encoder, source, offset, staging, 0, nbytes
                )
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
            for offset, (pipeline, group, params, (x, y, z), _, _, _) in zip(
                offsets, commands, strict=True
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
        return _Staging(raw, size, key, info)

    def begin_read(self, commands: Sequence[Command], requests: Sequence[ReadRequest]) -> Any:
        """See ``Driver.begin_read``; only the first piece of a large read is copied here."""
        with self.lock:
            pending = [_PendingRead(request) for request in requests]
            copies = [self._next_copy(read) for read in pending]
            self._submit(commands, copies)
            for read in pending:
                self._map(*read.pieces[0])
            return pending

    def _next_copy(self, read: _PendingRead) -> tuple[Any, int, Any, int]:
        """Take a staging buffer for the next piece of a read, and say what to copy into it."""
        request, begin = read.request, read.begun
        nbytes = min(READ_PIECE_BYTES, request.nbytes - begin)
        staging = self._take_staging(nbytes)
        read.begun = begin + nbytes
        read.pieces.append((staging, nbytes))
        return request.buffer, request.offset + begin, staging.raw, nbytes

    def _map(self, staging: _Staging, nbytes: int) -> None:
        self._lib.wgpuBufferMapAsync(staging.raw, _MAP_READ, 0, nbytes, staging.callback_info[0])

    def finish_read(self, token: Any) -> list[np.ndarray]:
        """See ``Driver.finish_read``: polls in the calling thread, which is the fastest wait."""
        return [self._collect(read) for read in token]

    async def finish_read_async(self, token: Any) -> list[np.ndarray]:
        """See ``Driver.finish_read_async``; lets the event loop run between polls."""
        import asyncio

        for read in token:
            polls = idle = 0
            while read.pieces[0][0].key not in self._map_results:
                # A mapping arrives with the poll that finds its submission finished.
                idle += self._poll(False)
                polls += 1
                if idle > _LOST_AFTER_POLLS:
                    raise DeviceLostError("read_buffer", "the device no longer answers")
                await asyncio.sleep(0 if polls < 100 else 0.001)
        return self.finish_read(token)

    def _collect(self, read: _PendingRead) -> np.ndarray:
        """Copy the pieces out while the device copies the next one into staging."""
        array = np.empty(read.request.nbytes, np.uint8)
        done = 0
        while read.pieces:
            if read.begun < read.request.nbytes:
                with self.lock:
                    self._submit((), [self._next_copy(read)])
                    self._map(*read.pieces[-1])
            staging, nbytes = read.pieces.popleft()
            self._copy_piece(staging, array[done : done + nbytes])
            done += nbytes
        return array

    def _copy_piece(self, staging: _Staging, target: np.ndarray) -> None:
        results, lib = self._map_results, self._lib
        polls = 0
        while staging.key not in results:
            self._poll(polls >= _SPINNING_POLLS)
            polls += 1
            if polls > _LOST_AFTER_POLLS:
                raise DeviceLostError("read_buffer", "the device no longer answers")
        status = results.pop(staging.key)
        if status != lib.WGPUMapAsyncStatus_Success:
            raise DeviceLostError("read_buffer", f"mapping failed with status {status}")
        self._check_alive("read_buffer")
        address = lib.wgpuBufferGetConstMappedRange(staging.raw, 0, target.nbytes)
        target[:] = np.frombuffer(self._ffi.buffer(address, target.nbytes), np.uint8)
        lib.wgpuBufferUnmap(staging.raw)
        self._return_staging(staging, staging.size)

    def _check_alive(self, call: str) -> None:
        """Raise if the device is lost, before a call that would abort the process if it were.

        An empty write is the cheapest question that wgpu-native answers (a microsecond).
        """
        with self._guard(call):
            self._libf.wgpuQueueWriteBuffer(self._queue_handle, self._witness, 0, b"", 0)

    def _poll(self, block: bool) -> bool:
        """Deliver what has finished; whether nothing submitted is left."""
        self._check_open("wait")
        is_idle = bool(self._lib.wgpuDevicePoll(self._device_handle, block, self._ffi.NULL))
        if self._interruptions:
            raise self._interruptions.pop()
        return is_idle

    def wait(self) -> None:
        """See ``Driver.wait``."""
        self._poll(True)
