"""Scatter at indices that live on the device: add, multiply, take the extremum, or replace.

Where the order of the entries does not matter, atomics combine them (scatter_atomics.py). Else
they are sorted by the row of the target that they belong to, and each row's updates are taken in
their own order (many of them block by block), so that collisions are exact and deterministic for
every dtype; where entries replace, the last one stays. The kernel that finds the rows reports bad
indices to the queue, as gather's does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.indexing import checked_indices
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    WORKGROUP,
    Launcher,
    accesses,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.scatter_atomics import (
    atomic_form,
    combine_by_atomics,
    last_entries,
)
from tenferro_wgpu.backends.webgpu.kernels.sorting import sort_pairs
from tenferro_wgpu.backends.webgpu.kernels.strides import words
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: The most entries of a scatter that one invocation takes one by one, in NumPy's order.
LONGEST_ROW = 4096


#: Primitive -> T's function that combines two elements, and its neutral element.
COMBINATIONS = {
    "scatter_add": ("add", "zero"),
    "scatter_mul": ("mul", "one"),
    "scatter_min": ("minimum", "highest"),
    "scatter_max": ("maximum", "lowest"),
    "scatter_set": ("", ""),
}


@kernel(*COMBINATIONS)
def launch_scatter(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """`x` combined with the windows of `updates` (shape batch + slice_sizes) at their places."""
    x, indices, updates = operands
    axes, mode = tuple(params["axes"]), params["mode"]
    indices = checked_indices(launcher, indices, mode, name)
    batch_ndim = indices.ndim - 1
    slice_sizes = updates.shape[batch_ndim:]
    if x.size == 0 or updates.size == 0:
        return launch_elementwise(launcher, "copy", (x,), {}, outputs)
    inner_axes = [axis for axis in range(x.ndim) if axis not in axes]
    order = (
        *range(batch_ndim),
        *(batch_ndim + axis for axis in axes),
        *(batch_ndim + axis for axis in inner_axes),
    )
    rows = launcher.contiguous(updates.with_layout(updates.layout.transpose(order)), name)
    window = prod(slice_sizes[axis] for axis in axes)
    entries = prod(indices.shape[:-1]) * window
    caller = params.get("caller", name)
    keys = _target_rows(launcher, name, x.shape, indices, axes, slice_sizes, mode, entries, caller)
    row_count = prod(x.shape[axis] for axis in axes)
    target = launcher.contiguous(x, name)
    combine = COMBINATIONS[name][0]
    T = launcher.dialect(x.dtype) if combine else launcher.bits_dialect(x.dtype)
    segments = target_segments(x.shape, axes, slice_sizes)
    columns = prod(slice_sizes[axis] for axis in inner_axes)
    form = atomic_form(name, T)
    if form is not None:
        counts = (entries, columns, row_count)
        return (combine_by_atomics(launcher, name, form, x, rows.handle, keys, counts, segments),)
    result = launcher.empty(outputs[0], name)
    width = 4 if T.words == 1 and are_quads(segments) else 1
    if width == 4:
        kind, extent, window_extent = segments[-1]
        segments = (*segments[:-1], (kind, extent // 4, window_extent // 4))
        columns //= 4
    length = block_length(entries) if combine else 0
    found: tuple[Buffer, ...]
    if combine:
        keys = sort_pairs(launcher, keys, entries, row_count, name)
        found = (keys, _row_bounds(launcher, name, keys, row_count, entries))
    else:
        found = (last_entries(launcher, name, keys, entries, row_count),)
    if length:
        blocks = entries // length
        found = (
            *found, _block_sums(launcher, name, rows, keys, blocks, columns, length, width)
        )  # fmt: skip
    block = [0, result.size // width, columns, length]
    for _, extent, extent_of_window in segments:
        block += [extent, extent_of_window]
    kinds = tuple(kind for kind, _, _ in segments)
    pipeline = launcher.pipeline(
        "indexing/scatter_combine",
        (T.name, combine, kinds, length > 0, width),
        {
            "T": T,
            "combine": combine,
            "segments": kinds,
            "blocked": length > 0,
            "width": width,
        },
        bindings=accesses(2 + len(found), 1),
        params_words=len(block),
    )
    groups = launcher.groups(workgroup_count(result.size // width, WORKGROUP))
    buffers = (target.handle, rows.handle, *found, result.handle)
    launcher.queue.dispatch(pipeline, buffers, words(block), groups, name, (result.handle,))
    return (result,)


def are_quads(segments: Sequence[tuple[str, int, int]]) -> bool:
    """Whether the rows of a scatter's target are whole runs of four elements."""
    kind, extent, window = segments[-1] if segments else ("row", 1, 1)
    return kind == "inner" and window == extent and extent % 4 == 0


def _row_bounds(launcher: Launcher, name: str, keys: Buffer, rows: int, entries: int) -> Buffer:
    """Queue the search for where each row's entries begin among the sorted ones."""
    bounds = launcher.empty_buffer(4 * (rows + 1), name)
    pipeline = launcher.pipeline(
        "indexing/scatter_bounds", (), {}, bindings=accesses(1, 1), params_words=3
    )
    groups = launcher.groups(workgroup_count(rows + 1, WORKGROUP))
    params = words((0, rows + 1, entries))
    launcher.queue.dispatch(pipeline, (keys, bounds), params, groups, name, (bounds,))
    return bounds


def block_length(entries: int) -> int:
    """Entries of a block, all of which one row may have, or 0 where no blocks are needed.

    One invocation adds a block; another adds less than two blocks and all the sums of blocks.
    The root of half the entries makes the latter fewest.
    """
    if entries <= LONGEST_ROW:
        return 0
    length = 1
    while 2 * length * length < entries:
        length *= 2
    return length


def _block_sums(
    launcher: Launcher,
    name: str,
    rows: Tensor,
    keys: Buffer,
    blocks: int,
    columns: int,
    length: int,
    width: int,
) -> Buffer:
    """Queue what whole blocks of sorted entries make, shape (blocks, columns * width)."""
    combine, start = COMBINATIONS[name]
    T = launcher.dialect(rows.dtype)
    block = (0, blocks * columns, length, columns)
    sums = launcher.empty_buffer(launcher.nbytes(blocks * columns * width, rows.dtype), name)
    pipeline = launcher.pipeline(
        "indexing/scatter_blocks",
        (T.name, combine, width),
        {
            "T": T,
            "combine": combine,
            "start": start,
            "width": width,
        },
        bindings=accesses(2, 1),
        params_words=len(block),
    )
    groups = launcher.groups(workgroup_count(blocks * columns, WORKGROUP))
    buffers = (rows.handle, keys, sums)
    launcher.queue.dispatch(pipeline, buffers, words(block), groups, name, (sums,))
    return sums


def target_segments(
    shape: Sequence[int], axes: Sequence[int], slice_sizes: Sequence[int]
) -> tuple[tuple[str, int, int], ...]:
    """Axes of a scatter's target as ("row" or "inner", extent, window), neighbours merged."""
    segments: list[tuple[str, int, int]] = []
    for axis, extent in enumerate(shape):
        window = slice_sizes[axis]
        kind = "row" if axis in axes else "inner"
        last = segments[-1] if segments else None
        if last is not None and last[0] == kind and (kind == "row" or window == extent):
            segments[-1] = (kind, last[1] * extent, last[2] * window)
        else:
            segments.append((kind, extent, window))
    return tuple(segments)


def _target_rows(
    launcher: Launcher,
    name: str,
    shape: Sequence[int],
    indices: Tensor,
    axes: tuple[int, ...],
    slice_sizes: Sequence[int],
    mode: str,
    entries: int,
    caller: str,
) -> Buffer:
    """Queue the kernel that pairs each entry with its row (in C order of the indexed axes)."""
    keys = launcher.empty_buffer(8 * entries, name)
    window = prod(slice_sizes[axis] for axis in axes)
    block = [0, entries, window, 0]
    for axis in axes:
        weight = prod(shape[other] for other in axes if other > axis)
        extent = shape[axis]
        block += [extent, extent - slice_sizes[axis], weight, slice_sizes[axis]]
    index_dialect = launcher.stored(indices.dtype)
    pipeline = launcher.pipeline(
        "indexing/scatter_keys",
        (index_dialect.name, mode, len(axes), window == 1),
        {"I": index_dialect, "mode": mode, "indexed": len(axes), "single": window == 1},
        bindings=accesses(1, 2 if mode == "raise" else 1),
        params_words=len(block),
    )
    buffers = (launcher.buffer(indices), keys)
    groups = launcher.groups(workgroup_count(entries, WORKGROUP))
    if mode == "raise":
        launcher.queue.dispatch_checked(
            pipeline, buffers, words(block), groups, name, (keys,),
            axes=axes, sizes=[shape[axis] for axis in axes], caller=caller,
        )  # fmt: skip
    else:
        launcher.queue.dispatch(pipeline, buffers, words(block), groups, name, (keys,))
    return keys
