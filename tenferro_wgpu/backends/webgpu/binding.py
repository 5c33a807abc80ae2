"""Checks of a new combination of buffers, and the bookkeeping of cached bind groups.

Called by recorder.py with the queue's lock held.  Knows slots and access kinds, not commands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tenferro_wgpu.backends.webgpu.commands import Pipeline
from tenferro_wgpu.backends.webgpu.memory import Buffer, Slot
from tenferro_wgpu.errors import RuntimeClosedError, TensorTooLargeError


def check_binding(
    pipeline: Pipeline,
    bindings: Sequence[Buffer],
    give_back: Any,
    limit: int,
    operation: str,
) -> tuple[Slot, ...]:
    """The slots of buffers that a dispatch of ``pipeline`` may bind.

    Raises ``ValueError`` for a wrong count and for a buffer both read and written,
    ``RuntimeClosedError`` for a buffer of a closed queue or of one with another ``give_back``,
    ``TensorTooLargeError`` for one beyond ``limit`` bytes.
    """
    slots = tuple([buffer.slot for buffer in bindings])
    accesses = pipeline.bindings
    if len(slots) != len(accesses):
        raise ValueError(
            f"{operation}: {pipeline.label} binds {len(accesses)} buffers, got {len(slots)}"
        )
    for buffer, slot in zip(bindings, slots, strict=True):
        if slot.raw is None or slot.give_back is not give_back:
            raise RuntimeClosedError(operation, "a buffer belongs to another or closed queue")
        if slot.size > limit:
            raise TensorTooLargeError(operation, buffer.size, limit, "storage binding limit")
    written = {slot for slot, access in zip(slots, accesses, strict=True) if access != "read"}
    for slot, access in zip(slots, accesses, strict=True):
        if access == "read" and slot in written:
            raise ValueError(f"{operation}: one buffer is both read and written")
    return slots


def forget_evicted(keys: Iterable[tuple[Any, ...]]) -> None:
    """Tell the slots of evicted bind groups, so that their sets of keys do not grow forever."""
    for key in keys:
        for slot in key[1:]:
            slot.group_keys.discard(key)
