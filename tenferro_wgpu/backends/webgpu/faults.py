"""Index checks: how a kernel reports a bad index without anybody waiting, and whom it concerns.

Owned by queue.py and recorder.py, which call everything here with the queue's lock held.  Every
dispatch that checks indices has a record in a small buffer (a page of them); a kernel that finds
an index out of bounds fills its record.  Until somebody looks, every buffer that such a dispatch
wrote is in doubt, and so is whatever was computed from it: doubts travel along the submitted
commands, as sets of records, to the slots that commands write.  Reading a buffer in doubt looks
at the records too, as ``synchronize`` does.  Programs that index nothing pay nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tenferro_wgpu.backends.webgpu.drivers.protocol import Command, ReadRequest
from tenferro_wgpu.backends.webgpu.memory import Buffer, Slot
from tenferro_wgpu.errors import IndexOutOfBoundsError
from tenferro_wgpu.naming import called

#: A record is four words: 1 for bad, the low word of the index (as i64), the position of its axis,
#: the high word.
RECORD_BYTES = 16
RECORDS_PER_PAGE = 1024
#: Word of the params that holds a dispatch's record, in every template that checks indices.
RECORD_WORD = 3
#: Unsettled checks at which the queue waits for the device and looks, where it can wait.
MAX_UNSETTLED = 8192
_FIRST_PRUNING = 4096


class Check(NamedTuple):
    """One dispatch that checks indices; ``number`` is its record, counted over all pages."""

    number: int
    operation: str
    axes: tuple[int, ...]
    sizes: tuple[int, ...]


class Look(NamedTuple):
    """Checks whose records are being read, oldest first, and where each request begins."""

    checks: tuple[Check, ...]
    requests: tuple[ReadRequest, ...]
    #: Page to (position of its request, first record of it).
    windows: dict[int, tuple[int, int]]


class Fault(NamedTuple):
    """A bad index that was found."""

    check: Check
    error: IndexOutOfBoundsError


class IndexChecks:
    """The checks of one queue that nobody looked at yet, and what depends on them."""

    def __init__(self) -> None:
        #: By record number, oldest first.
        self.unsettled: dict[int, Check] = {}
        self._pages: list[Buffer] = []
        self._first_of_page: dict[Slot, int] = {}
        self._free: list[int] = []
        #: For each slot in doubt the buffer id it had then, and its checks as a bit set.
        self._doubts: dict[Slot, tuple[int, int]] = {}
        self._prune_at = _FIRST_PRUNING

    @property
    def is_full(self) -> bool:
        """Whether another page of records is needed before the next check."""
        return not self._free

    def add_page(self, page: Buffer) -> None:
        """Make room for more checks in a buffer of zeros."""
        first = len(self._pages) * RECORDS_PER_PAGE
        self._pages.append(page)
        self._first_of_page[page.slot] = first
        # The lowest first, so that bit sets and reads stay short.
        self._free.extend(range(first + RECORDS_PER_PAGE - 1, first - 1, -1))

    def note(
        self, operation: str, axes: Sequence[int], sizes: Sequence[int]
    ) -> tuple[Check, Buffer, int]:
        """Give a check a record: the check, the record's page, and its number on that page."""
        number = self._free.pop()
        check = self.unsettled[number] = Check(number, called(operation), tuple(axes), tuple(sizes))
        page, record = divmod(number, RECORDS_PER_PAGE)
        return check, self._pages[page], record

    def settle(self, checks: Sequence[Check]) -> None:
        """Forget checks, whose records are zero again, and the doubts they cast."""
        settled = 0
        for check in checks:
            if self.unsettled.get(check.number) is check:
                del self.unsettled[check.number]
                self._free.append(check.number)
                settled |= 1 << check.number
        if not self.unsettled:
            self._doubts.clear()
        elif settled:
            self._doubts = {
                slot: (holder, rest)
                for slot, (holder, bits) in self._doubts.items()
                if (rest := bits & ~settled)
            }

    # ----- doubts

    def follow(self, commands: Sequence[Command]) -> None:
        """Carry doubts from what each command reads to what it writes, in order."""
        doubts, pages = self._doubts, self._first_of_page
        for command in commands:
            key, owners = command[5], command[6]
            first = pages.get(key[-1])
            bits = 0
            if first is not None:
                word = command[2][4 * RECORD_WORD : 4 * RECORD_WORD + 4]
                bits = 1 << first + int.from_bytes(word, "little")
            if doubts:
                for slot, holder in _pairs(owners):
                    if slot in doubts and doubts[slot][0] != holder:
                        # The pool gave the memory to a new owner, and this is what fills it.
                        del doubts[slot]
                for slot in key[1:]:
                    if slot in doubts:
                        bits |= doubts[slot][1]
            if bits:
                for slot, holder in _pairs(owners):
                    doubts[slot] = (holder, bits)
        if len(doubts) > self._prune_at:
            self._doubts = {
                slot: doubt for slot, doubt in doubts.items() if slot.holder == doubt[0]
            }
            self._prune_at = max(_FIRST_PRUNING, 2 * len(self._doubts))

    def forget(self, slot: Slot) -> None:
        """The host is about to fill a slot."""
        self._doubts.pop(slot, None)

    def is_in_doubt(self, buffer: Buffer) -> bool:
        """Whether a buffer may depend on a bad index, as far as commands were followed."""
        doubt = self._doubts.get(buffer.slot)
        return doubt is not None and doubt[0] == buffer.id

    # ----- looking

    def look(self) -> Look:
        """What to read to settle every check there is."""
        ranges: dict[int, tuple[int, int]] = {}
        for number in self.unsettled:
            page, record = divmod(number, RECORDS_PER_PAGE)
            first, last = ranges.get(page, (record, record))
            ranges[page] = (min(first, record), max(last, record))
        requests = tuple(
            ReadRequest(
                self._pages[page].slot.raw, RECORD_BYTES * first, RECORD_BYTES * (last - first + 1)
            )
            for page, (first, last) in ranges.items()
        )
        windows = {page: (i, first) for i, (page, (first, _)) in enumerate(ranges.items())}
        return Look(tuple(self.unsettled.values()), requests, windows)

    def faults(self, look: Look, arrays: Sequence[np.ndarray]) -> list[Fault]:
        """The bad indices among the bytes read for a look, of checks that are still unsettled."""
        tables = [array.view(np.uint32).reshape(-1, 4) for array in arrays]
        if not any(table[:, 0].any() for table in tables):
            return []
        found = []
        for check in look.checks:
            page, record = divmod(check.number, RECORDS_PER_PAGE)
            position, first = look.windows[page]
            words = tables[position][record - first]
            # Another thread may have looked meanwhile, and the record have a new check.
            if words[0] and self.unsettled.get(check.number) is check:
                found.append(Fault(check, _error(check, words)))
        return found

    def spoilt(self, faults: Sequence[Fault]) -> Iterator[tuple[int, IndexOutOfBoundsError]]:
        """Ids of the live buffers that depend on bad indices, each with its first error."""
        for slot, (holder, bits) in self._doubts.items():
            if slot.holder == holder:
                for check, error in faults:
                    if bits >> check.number & 1:
                        yield holder, error
                        break

    def record_of(self, check: Check) -> tuple[Buffer, int]:
        """The page of a check's record and its byte offset."""
        page, record = divmod(check.number, RECORDS_PER_PAGE)
        return self._pages[page], RECORD_BYTES * record

    def close(self) -> None:
        """Forget the pages; the pool releases them."""
        self.unsettled.clear()
        self._pages.clear()
        self._first_of_page.clear()
        self._free.clear()
        self._doubts.clear()


def _error(check: Check, words: np.ndarray) -> IndexOutOfBoundsError:
    position = int(words[2])
    return IndexOutOfBoundsError(
        check.operation,
        index=int(words[1::2].copy().view(np.int64)[0]),
        axis=check.axes[position] if position < len(check.axes) else None,
        size=check.sizes[position] if position < len(check.sizes) else None,
    )


def _pairs(owners: tuple[Slot | int, ...]) -> Iterator[tuple[Slot, int]]:
    flat = iter(owners)
    return zip(flat, flat, strict=True)  # type: ignore[arg-type]
