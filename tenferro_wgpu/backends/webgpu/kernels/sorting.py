"""Sorting (key, position) pairs on the device: what scatter uses to bring collisions together.

The order is total (positions differ), so the result does not depend on the device's timing.
"""

from __future__ import annotations

from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher
from tenferro_wgpu.backends.webgpu.kernels.strides import words
from tenferro_wgpu.backends.webgpu.memory import Buffer

#: Invocations per workgroup; each block of twice as many pairs is sorted in workgroup memory.
SORT_WORKGROUP = 256
BLOCK = 2 * SORT_WORKGROUP


def padded_pairs(count: int) -> int:
    """Pairs to allocate for `count`: a power of two of at least one block."""
    return max(BLOCK, 1 << (count - 1).bit_length())


def sort_passes(pairs: int) -> list[tuple[str, int, int]]:
    """The dispatches that sort `pairs` (a result of `padded_pairs`): (pass, run, distance)."""
    passes = [("block", BLOCK, 0)]
    run = 2 * BLOCK
    while run <= pairs:
        distance = run // 2
        while distance >= BLOCK:
            passes.append(("global", run, distance))
            distance //= 2
        passes.append(("local", run, 0))
        run *= 2
    return passes


def sort_pairs(launcher: Launcher, buffer: Buffer, pairs: int, name: str) -> Buffer:
    """Queue the sort of a buffer of `pairs` pairs of u32; returns the buffer with the result."""
    groups = launcher.groups(pairs // BLOCK)
    for kind, run, distance in sort_passes(pairs):
        pipeline = launcher.pipeline(
            "indexing/sort_pairs",
            (kind,),
            {"pass": kind},
            bindings=("read_write",),
            params_words=4,
            workgroup_size=SORT_WORKGROUP,
        )
        params = words((0, run, distance, pairs))
        launcher.queue.dispatch(pipeline, (buffer,), params, groups, name, (buffer,))
    return buffer
