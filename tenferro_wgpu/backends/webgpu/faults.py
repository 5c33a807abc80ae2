"""The fault flag: how a kernel that checks indices reports a bad one without anybody waiting.

Owned by queue.py.  A kernel that finds an index out of bounds writes the id of its operation, the
index and the axis into a small buffer.  The queue reads that buffer together with the next read or
synchronize, and only if some dispatch since the last look could have written it: programs that
index nothing pay nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tenferro_wgpu.backends.webgpu.drivers.protocol import ReadRequest
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.errors import IndexOutOfBoundsError

if TYPE_CHECKING:
    from tenferro_wgpu.backends.webgpu.queue import Queue

FLAG_BYTES = 16
#: Checks remembered between two looks; beyond it only the oldest lose their name.
_REMEMBERED = 4096


class FaultFlag:
    """The flag buffer of one queue and what its ids mean."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._buffer: Buffer | None = None
        self._looks_due = 0
        self._noted: dict[int, tuple[str, tuple[int, ...], tuple[int, ...]]] = {}
        self._next_id = 1

    def buffer(self) -> Buffer:
        """The flag buffer, made on first use."""
        if self._buffer is None:
            self._buffer = self._queue.upload(np.zeros(FLAG_BYTES, np.uint8), "fault flag")
        return self._buffer

    def note(self, operation: str, axes: tuple[int, ...], sizes: tuple[int, ...]) -> int:
        """Remember an operation that may raise the flag; returns its id (never 0)."""
        identity = self._next_id
        self._next_id = identity % 0xFFFF_FFFF + 1
        if len(self._noted) >= _REMEMBERED:
            del self._noted[next(iter(self._noted))]
        self._noted[identity] = (operation, axes, sizes)
        # Two, because another thread may look between this note and its dispatch.
        self._looks_due = 2
        return identity

    def read_request(self) -> ReadRequest | None:
        """What to read with the next read, or None when no dispatch could have raised the flag."""
        if not self._looks_due or self._buffer is None:
            return None
        self._looks_due -= 1
        return ReadRequest(self._buffer.slot.raw, 0, FLAG_BYTES)

    def check(self, array: np.ndarray) -> None:
        """Lower the flag and raise what it says, given the bytes just read."""
        words = array.view(np.uint32)
        identity = int(words[0])
        if identity == 0:
            return
        operation, axes, sizes = self._noted.get(identity, ("indexing", (), ()))
        self._queue.lower_fault_flag()
        position = int(words[2])
        raise IndexOutOfBoundsError(
            operation,
            index=int(words[1:2].view(np.int32)[0]),
            axis=axes[position] if position < len(axes) else None,
            size=sizes[position] if position < len(sizes) else None,
        )

    def close(self) -> None:
        """Forget the buffer; the pool releases it."""
        self._buffer = None
        self._noted.clear()
