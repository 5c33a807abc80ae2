"""Sorting (key, position) pairs on the device: what scatter uses to bring collisions together.

A merge sort without workgroup memory or barriers, which software adapters execute slowly. The
order is total (positions differ), so the result does not depend on the device's timing.
"""

from __future__ import annotations

from tenferro_wgpu.backends.webgpu.kernels.launch import WORKGROUP, Launcher, workgroup_count
from tenferro_wgpu.backends.webgpu.kernels.strides import words
from tenferro_wgpu.backends.webgpu.memory import Buffer

#: Pairs of a block that one pass sorts by counting.
BLOCK = 32


def sort_runs(count: int) -> list[int]:
    """Length of the sorted runs before each pass over `count` pairs; 1 stands for none yet."""
    runs = [1]
    run = BLOCK
    while run < count:
        runs.append(run)
        run *= 2
    return runs


def sort_pairs(launcher: Launcher, buffer: Buffer, count: int, name: str) -> Buffer:
    """Queue the sort of a buffer of `count` pairs of u32; returns the buffer with the result."""
    groups = launcher.groups(workgroup_count(count, WORKGROUP))
    for run in sort_runs(count):
        structure = "block" if run == 1 else "merge"
        pipeline = launcher.pipeline(
            "indexing/merge_pairs",
            (structure,),
            {"pass": structure, "block": BLOCK},
            bindings=("read", "read_write"),
            params_words=3,
        )
        result = launcher.empty_buffer(8 * count, name)
        launcher.queue.dispatch(
            pipeline, (buffer, result), words((0, count, run)), groups, name, (result,)
        )
        buffer = result
    return buffer
