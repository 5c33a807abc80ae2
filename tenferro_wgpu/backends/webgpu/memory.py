"""The pool of device buffers behind one queue.

Called by queue.py with the queue's lock held; kernels only see :class:`Buffer` handles.  The pool
decides which device buffer (slot) backs an allocation.  It must not know pipelines, commands or
tensors; it learns from the queue only when a batch was submitted.

Dropping the last reference to a handle appends its slot to a deque and does nothing else, since
that may happen in any thread, under any lock, or inside the garbage collector.  The next
allocation drains the deque.  A slot that the open batch names may serve a later dispatch at once,
because dispatches run in order, but a host write only after the submit, because writes run first.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

from tenferro_wgpu.backends.webgpu.drivers.protocol import Driver
from tenferro_wgpu.errors import DeviceOutOfMemoryError, TensorTooLargeError

_buffer_ids = itertools.count(1)

#: Bytes of freed buffers kept for reuse unless the caller sets another limit.
DEFAULT_POOL_LIMIT = 1 << 30
#: Sizes asked for that are remembered; a program with more starts over.
_SHELF_LIMIT = 4096


def size_class(nbytes: int) -> int:
    """The buffer size that serves ``nbytes``: few enough classes that freed buffers fit again.

    256-byte steps to 4 KiB, powers of two to 64 KiB, 64 KiB steps above.

    >>> [size_class(n) for n in (0, 1, 257, 4097, 70_000)]
    [256, 256, 512, 8192, 131072]
    """
    if nbytes <= 4096:
        return max(256, (nbytes + 255) & ~255)
    if nbytes <= 65536:
        return 1 << (nbytes - 1).bit_length()
    return (nbytes + 65535) & ~65535


class DeviceFullError(DeviceOutOfMemoryError):
    """No memory now; perhaps some once submitted work is done.  The queue waits and retries."""


class Slot:
    """One device buffer.  Belongs to at most one live handle at a time."""

    __slots__ = ("batch", "give_back", "group_keys", "holder", "raw", "size")

    def __init__(self, raw: Any, size: int, give_back: Callable[[Slot], None]) -> None:
        #: The driver's buffer; None once released.
        self.raw = raw
        self.size = size
        self.give_back = give_back
        #: Id of the handle it belongs to; 0 in the pool.
        self.holder = 0
        #: Number of the batch that was open when it was returned.
        self.batch = -1
        #: Keys of the cached bind groups that name it.
        self.group_keys: set[tuple[Any, ...]] = set()


class Buffer:
    """A handle on device memory: what tensors hold.

    ``size`` is the number of bytes asked for (the device buffer may be larger), ``id`` is never
    reused in the process.  Dropping the last reference returns the memory to the pool.
    """

    __slots__ = ("size", "slot")

    def __init__(self, size: int, slot: Slot) -> None:
        self.size = size
        self.slot = slot

    @property
    def id(self) -> int:
        """The number of this allocation, unique in the process."""
        return self.slot.holder

    def __del__(self) -> None:
        try:
            slot = self.slot
        except AttributeError:
            return  # an exception of a signal handler came before the slot was set
        slot.give_back(slot)

    def __repr__(self) -> str:
        return f"<Buffer {self.id}: {self.size} bytes>"


class _Shelf(deque[Slot]):
    """Free slots of one size class, oldest at the left."""

    size: int


class BufferPool:
    """Allocates, reuses and limits the device buffers of one queue."""

    def __init__(
        self,
        driver: Driver,
        forget_groups: Callable[[Slot], None],
        *,
        pool_limit: int = DEFAULT_POOL_LIMIT,
        memory_limit: int | None = None,
    ) -> None:
        self._driver = driver
        self._forget_groups = forget_groups
        self._freed: deque[Slot] = deque()
        self.give_back = self._freed.append
        #: Free slots by size class, and the same shelves by number of bytes asked for.
        self._free: dict[int, _Shelf] = {}
        self._shelves: dict[int, _Shelf] = {}
        self._slots: set[Slot] = set()
        #: Trimmed slots that the open batch may still name.
        self._doomed: list[Slot] = []
        #: Number of the open batch.
        self.batch = 0
        self.pool_limit = pool_limit
        self.memory_limit = memory_limit
        #: Bytes handed out and taken back since the beginning; their difference is alive.
        self.allocated_bytes = 0
        self.returned_bytes = 0
        self._held_bytes = 0
        self._peak_live_bytes = 0
        self._created = 0
        self._returned = 0
        #: Called with a handle's id when its slot comes back; set while failed handles exist.
        self.on_returned: Callable[[int], None] | None = None

    def allocate(self, nbytes: int, operation: str = "allocate") -> Buffer:
        """A buffer for a dispatch to write.  Its content is undefined.

        Raises ``TensorTooLargeError`` or ``DeviceOutOfMemoryError``, both naming ``operation``.
        """
        shelf = self._shelves.get(nbytes)
        if shelf:
            slot = shelf.pop()
        else:
            # Straight from a handle that just died, when it fits: the common case in a chain.
            freed = self._freed
            if shelf is not None and freed and self.on_returned is None:
                slot = freed.pop()
                if slot.size == shelf.size and slot.raw is not None:
                    self.returned_bytes += slot.size
                    self._returned += 1
                else:
                    freed.append(slot)
                    slot = self._find(nbytes, operation)
            else:
                slot = self._find(nbytes, operation)
        self.allocated_bytes += slot.size
        slot.holder = next(_buffer_ids)
        return Buffer(nbytes, slot)

    def allocate_for_write(self, nbytes: int, operation: str = "upload") -> Buffer:
        """A buffer for the host to write: never one that the open batch names."""
        self._drain()
        shelf = self._shelf(nbytes, operation)
        # The oldest is at the left; if that one is in the open batch, all are.
        if shelf and shelf[0].batch < self.batch:
            slot = shelf.popleft()
        else:
            slot = self._create(shelf.size, operation)
        self.allocated_bytes += slot.size
        slot.holder = next(_buffer_ids)
        return Buffer(nbytes, slot)

    def _find(self, nbytes: int, operation: str) -> Slot:
        """A slot when the shelf is empty: one freed since the last look, or a new one."""
        shelf = self._shelf(nbytes, operation)
        self._drain()
        return shelf.pop() if shelf else self._create(shelf.size, operation)

    def _shelf(self, nbytes: int, operation: str) -> _Shelf:
        shelf = self._shelves.get(nbytes)
        if shelf is None:
            size = self._class_of(nbytes, operation)
            shelf = self._free.get(size)
            if shelf is None:
                shelf = self._free[size] = _Shelf()
                shelf.size = size
            if len(self._shelves) >= _SHELF_LIMIT:
                self._shelves.clear()
            self._shelves[nbytes] = shelf
        return shelf

    def _class_of(self, nbytes: int, operation: str) -> int:
        limit = self._driver.limits.max_buffer_size
        if nbytes > limit:
            raise TensorTooLargeError(operation, nbytes, limit, "maximum buffer size")
        size = min(size_class(nbytes), limit)
        bindable = self._driver.limits.max_storage_buffer_binding_size
        return bindable if nbytes <= bindable < size else size

    def _create(self, size: int, operation: str) -> Slot:
        if self.memory_limit is not None:
            self._make_room(size, operation)
        try:
            raw = self._driver.create_buffer(size)
        except DeviceOutOfMemoryError as error:
            self.trim()
            raise DeviceFullError(operation, size, "the device is full") from error
        self._created += 1
        self._held_bytes += size
        slot = Slot(raw, size, self.give_back)
        self._slots.add(slot)
        return slot

    def _make_room(self, size: int, operation: str) -> None:
        limit = self.memory_limit
        if limit is None or self._held_bytes + size <= limit:
            return
        self.trim(max(0, limit - size - self.live_bytes))
        if self._held_bytes + size > limit:
            live = self.live_bytes
            raise DeviceOutOfMemoryError(
                operation, size, f"the memory limit is {limit:,} bytes and {live:,} are in use"
            )

    @property
    def live_bytes(self) -> int:
        """Bytes of the slots that handles held at the last look at the freed ones."""
        return self.allocated_bytes - self.returned_bytes

    @property
    def pooled_bytes(self) -> int:
        """Bytes kept for reuse."""
        return self._held_bytes - self.live_bytes

    def _drain(self) -> None:
        """Shelve the slots whose handles died since the last look."""
        # Between two looks live bytes only grow, so their peak is seen here.
        live = self.allocated_bytes - self.returned_bytes
        if live > self._peak_live_bytes:
            self._peak_live_bytes = live
        freed, free, batch, on_returned = self._freed, self._free, self.batch, self.on_returned
        while freed:
            slot = freed.popleft()
            if slot.raw is None:
                continue
            if on_returned is not None:
                on_returned(slot.holder)
            slot.holder = 0
            slot.batch = batch
            self.returned_bytes += slot.size
            self._returned += 1
            free[slot.size].append(slot)
        if self.pooled_bytes > self.pool_limit:
            self._trim_to(self.pool_limit)

    def trim(self, keep_bytes: int = 0) -> None:
        """Release pooled buffers, least recently freed first, until ``keep_bytes`` remain."""
        self._drain()
        self._trim_to(keep_bytes)

    def _trim_to(self, keep_bytes: int) -> None:
        while self.pooled_bytes > keep_bytes:
            oldest = min((slots for slots in self._free.values() if slots), key=_age)
            self._release(oldest.popleft())

    def _release(self, slot: Slot) -> None:
        self._held_bytes -= slot.size
        self._forget_groups(slot)
        self._slots.discard(slot)
        if slot.batch < self.batch:
            raw, slot.raw = slot.raw, None
            self._driver.release_buffer(raw)
        else:
            self._doomed.append(slot)

    def next_batch(self) -> None:
        """The open batch was submitted (or dropped): what it named may be released now."""
        self.batch += 1
        while self._doomed:
            slot = self._doomed.pop()
            raw, slot.raw = slot.raw, None
            self._driver.release_buffer(raw)

    def close(self) -> None:
        """Release every buffer, live ones too: their handles stay valid objects without memory."""
        self.next_batch()
        for slot in self._slots:
            raw, slot.raw = slot.raw, None
            self._driver.release_buffer(raw)
        self._slots.clear()
        self._free.clear()
        self._shelves.clear()
        self._freed.clear()
        self._held_bytes = 0
        self.returned_bytes = self.allocated_bytes

    def stats(self) -> dict[str, int]:
        """Bytes and counts: live, pooled, peak, buffers made, buffers reused."""
        self._drain()
        live = len(self._slots) - sum(map(len, self._free.values()))
        return {
            "live_bytes": self.live_bytes,
            "pooled_bytes": self.pooled_bytes,
            "peak_live_bytes": self._peak_live_bytes,
            "pool_limit": self.pool_limit,
            "buffers": len(self._slots),
            "allocations": self._created,
            "reuses": self._returned + live - self._created,
        }


def _age(slots: _Shelf) -> int:
    return slots[0].batch
