"""Reading device memory through direct C calls: the part of the fast native driver that waits.

:class:`FastReads` is a base of native_fast.FastNativeDriver and uses what that sets up; nobody
else calls it.  It knows buffers, submissions and staging memory, nothing of commands.

All requests of a read form one stream of bytes.  It passes through staging buffers in pieces: the
staging copy then stays in the CPU's cache, and the device fills one piece while the host empties
another.  Small requests share a piece, and with it one mapping and one wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro_wgpu.backends.webgpu.drivers.native import translate_error
from tenferro_wgpu.backends.webgpu.drivers.native_public import NativeDriver
from tenferro_wgpu.backends.webgpu.drivers.protocol import Command, ReadRequest
from tenferro_wgpu.errors import DeviceLostError

_MAP_READ = 1
#: Bytes of one piece.  Measured against whole transfers of 64 MB: 1.7 times faster.
READ_PIECE_BYTES = 2 << 20
#: From this size on NumPy copies, which lets other threads run; below, a plain copy is faster.
_NUMPY_COPIES_FROM = 64 << 10
#: Polls of about half a microsecond each before the wait blocks: a small result arrives sooner
#: than a sleeping thread wakes up (a third off the latency of a scalar).
_SPINNING_POLLS = 200
#: Polls without progress before a mapping is given up: those that blocked until the device was
#: idle, or found it idle.
_LOST_AFTER_POLLS = 10_000


class Staging:
    """A mappable buffer, and the key under which its map callback reports."""

    __slots__ = ("callback_info", "key", "raw", "size")

    def __init__(self, raw: Any, size: int, key: int, callback_info: Any) -> None:
        self.raw = raw
        self.size = size
        self.key = key
        self.callback_info = callback_info


class Piece:
    """Bytes on their way through one staging buffer, in order: request, its offset, how many."""

    __slots__ = ("nbytes", "spans", "staging")

    def __init__(self, staging: Staging, nbytes: int, spans: list[tuple[int, int, int]]) -> None:
        self.staging = staging
        self.nbytes = nbytes
        self.spans = spans


class PendingRead:
    """A read under way: the pieces being copied, and where the next one begins."""

    __slots__ = ("offset", "pieces", "request", "requests")

    def __init__(self, requests: Sequence[ReadRequest]) -> None:
        self.requests = requests
        self.pieces: deque[Piece] = deque()
        #: The request and the offset in it from which on nothing was submitted yet.
        self.request = 0
        self.offset = 0

    def next_spans(self) -> list[tuple[int, int, int]]:
        """The parts of requests that make the next piece, in order."""
        requests, spans, room = self.requests, [], READ_PIECE_BYTES
        while room and self.request < len(requests):
            nbytes = min(room, requests[self.request].nbytes - self.offset)
            spans.append((self.request, self.offset, nbytes))
            room -= nbytes
            self.offset += nbytes
            if self.offset == requests[self.request].nbytes:
                self.request += 1
                self.offset = 0
        return spans


class FastReads(NativeDriver):
    """The reading half of the fast native driver."""

    _ffi: Any
    _lib: Any
    _libf: Any
    _device_handle: Any
    _queue_handle: Any
    #: What the map callback reports: a status by the key of a staging buffer.
    _map_results: dict[int, int]
    #: What signal handlers raised inside the callback.
    _interruptions: list[BaseException]

    def begin_read(self, commands: Sequence[Command], requests: Sequence[ReadRequest]) -> Any:
        """See ``Driver.begin_read``; only the first piece of a large read is copied here."""
        read = PendingRead(requests)
        with self.lock:
            self._submit_piece(read, commands)
        return read

    def _submit_piece(self, read: PendingRead, commands: Sequence[Command]) -> None:
        """Submit commands with the copies of the next piece behind them, and map its staging."""
        if len(read.requests) == 1 and read.requests[0].nbytes <= READ_PIECE_BYTES:
            request = read.requests[0]
            nbytes = request.nbytes
            spans = [(0, 0, nbytes)]
            read.request = 1
            staging = self._take_staging(nbytes)
            copies = [(request.buffer, request.offset, staging.raw, 0, nbytes)]
        else:
            spans = read.next_spans()
            nbytes = sum([span[2] for span in spans])
            staging = self._take_staging(nbytes)
            copies = []
            target = 0
            for index, begin, count in spans:
                request = read.requests[index]
                copies.append((request.buffer, request.offset + begin, staging.raw, target, count))
                target += count
        self._submit(commands, copies)
        read.pieces.append(Piece(staging, nbytes, spans))
        self._lib.wgpuBufferMapAsync(staging.raw, _MAP_READ, 0, nbytes, staging.callback_info)

    def finish_read(self, token: PendingRead) -> list[np.ndarray]:
        """See ``Driver.finish_read``: polls in the calling thread, which is the fastest wait."""
        requests, pieces = token.requests, token.pieces
        arrays = [np.empty(request.nbytes, np.uint8) for request in requests]
        while pieces:
            if token.request < len(requests):
                with self.lock:
                    self._submit_piece(token, ())
            self._copy_out_piece(pieces.popleft(), arrays)
        return arrays

    async def finish_read_async(self, token: PendingRead) -> list[np.ndarray]:
        """See ``Driver.finish_read_async``; lets the event loop run between polls."""
        import asyncio

        polls = idle = 0
        # Pieces behind the first are on their way when it arrives, and waited for.
        while token.pieces and token.pieces[0].staging.key not in self._map_results:
            # A mapping arrives with the poll that finds its submission finished.
            idle += self._poll(False)
            polls += 1
            if idle > _LOST_AFTER_POLLS:
                raise DeviceLostError("read_buffer", "the device no longer answers")
            await asyncio.sleep(0 if polls < 100 else 0.001)
        return self.finish_read(token)

    def _copy_out_piece(self, piece: Piece, arrays: Sequence[np.ndarray]) -> None:
        staging, nbytes = piece.staging, piece.nbytes
        self._wait_mapped(staging.key)
        self._check_alive("read_buffer")
        lib, ffi = self._lib, self._ffi
        address = lib.wgpuBufferGetConstMappedRange(staging.raw, 0, nbytes)
        for index, begin, count in piece.spans:
            target = arrays[index]
            if count < _NUMPY_COPIES_FROM:
                ffi.memmove(target[begin : begin + count] if begin else target, address, count)
            else:
                source = np.frombuffer(ffi.buffer(address, count), np.uint8)
                target[begin : begin + count] = source
            address += count
        lib.wgpuBufferUnmap(staging.raw)
        self._return_staging(staging, staging.size)

    def _wait_mapped(self, key: int) -> None:
        """Poll until the mapping of a key is there; raise ``DeviceLostError`` if it failed."""
        results, interruptions = self._map_results, self._interruptions
        poll, device, null = self._lib.wgpuDevicePoll, self._device_handle, self._ffi.NULL
        polls = 0
        while key not in results:
            poll(device, polls >= _SPINNING_POLLS, null)
            if interruptions:
                raise interruptions.pop()
            polls += 1
            if polls > _SPINNING_POLLS:
                self._check_open("wait")
                if polls > _LOST_AFTER_POLLS:
                    raise DeviceLostError("read_buffer", "the device no longer answers")
        status = results.pop(key)
        if status != self._lib.WGPUMapAsyncStatus_Success:
            raise DeviceLostError("read_buffer", f"mapping failed with status {status}")

    def _check_alive(self, call: str) -> None:
        """Raise if the device is lost, before a call that would abort the process if it were.

        An empty write is the cheapest question that wgpu-native answers (a microsecond).
        """
        self._check_open(call)
        try:
            self._libf.wgpuQueueWriteBuffer(self._queue_handle, self._witness, 0, b"", 0)
        except self.wgpu.GPUError as error:
            raise translate_error(error, call) from error

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
