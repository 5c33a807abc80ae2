"""Gather and scatter-add at indices that live on the device.

Windows of extents `slice_sizes` start at ``indices[..., j]`` on axis ``axes[j]`` and at 0 on the
other axes. With mode "raise" the kernels report bad indices to the queue; nothing waits for it.
Scatter-add sorts its entries by target row and adds each row's updates in their own order (many
of them block by block), so that collisions are exact and deterministic for every dtype, with or
without atomics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tenferro_wgpu.backends.webgpu.commands import Pipeline
from tenferro_wgpu.backends.webgpu.dialects import Dialect
from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    WORKGROUP,
    Launcher,
    accesses,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.sorting import sort_pairs
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts, words
from tenferro_wgpu.errors import DTypeError, UnsupportedOperationError
from tenferro_wgpu.layout import Layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

MODES = ("raise", "clip", "wrap", "fill")
#: The most entries of a scatter that one invocation adds one by one, in NumPy's order.
LONGEST_ROW = 4096
_INDEX_DTYPES = ("int32", "uint32", "int64")


def _checked_indices(launcher: Launcher, indices: Tensor, mode: str, name: str) -> Tensor:
    """Contiguous indices, of a dtype and a mode that the templates know."""
    if mode not in MODES:
        raise UnsupportedOperationError(
            name, backend="webgpu", hint=f"mode={mode!r}; choose {', '.join(MODES)}"
        )
    if indices.dtype.name not in _INDEX_DTYPES:
        raise DTypeError(name, f"indices are one of {', '.join(_INDEX_DTYPES)}", (indices.dtype,))
    return launcher.contiguous(indices, name)


def window_axes(
    layout: Layout, axes: Sequence[int], slice_sizes: Sequence[int]
) -> tuple[tuple[int, int, int], ...]:
    """Axes along which a window is longer than 1, as (number, extent, stride).

    The number is that of the indexed axis, or -1 for an axis without an index. Neighbours
    without an index merge where they are one run of memory.
    """
    found: list[tuple[int, int, int]] = []
    for axis, extent in enumerate(slice_sizes):
        if extent == 1:
            continue
        number = axes.index(axis) if axis in axes else -1
        stride = layout.strides[axis]
        if number < 0 and found and found[-1][0] < 0 and found[-1][2] == extent * stride:
            found[-1] = (-1, found[-1][1] * extent, stride)
        else:
            found.append((number, extent, stride))
    return tuple(found)


@kernel("gather")
def launch_gather(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Windows of an operand, shape batch + slice_sizes."""
    x, indices = operands
    axes, mode = tuple(params["axes"]), params["mode"]
    slice_sizes = tuple(params["slice_sizes"])
    indices = _checked_indices(launcher, indices, mode, name)
    result = launcher.empty(outputs[0], name)
    if result.size == 0:
        return (result,)
    key = (
        name, x.layout, x.dtype.num, indices.dtype.num, axes, slice_sizes, mode, result.shape,
    )  # fmt: skip
    found = launcher.plan(key)
    if found is None:
        check_counts(name, result.size, *[x.shape[axis] for axis in axes])
        found = _prepare_gather(
            launcher, x, launcher.dialect(indices.dtype), axes, slice_sizes, mode, result.size
        )
        launcher.plans.store(key, found)
    pipeline, block, groups = found
    buffers = (launcher.buffer(x), launcher.buffer(indices), result.handle)
    if mode == "raise":
        launcher.queue.dispatch_checked(
            pipeline, buffers, block, groups, name, (result.handle,),
            axes=axes, sizes=[x.shape[axis] for axis in axes],
        )  # fmt: skip
    else:
        launcher.queue.dispatch(pipeline, buffers, block, groups, name, (result.handle,))
    return (result,)


def _prepare_gather(
    launcher: Launcher,
    x: Tensor,
    index_dialect: Dialect,
    axes: tuple[int, ...],
    slice_sizes: Sequence[int],
    mode: str,
    results: int,
) -> tuple[Pipeline, bytes, tuple[int, int, int]]:
    """Pipeline, params (word 3 left 0 for the record of a check) and workgroups of a gather."""
    bits = launcher.bits_dialect(x.dtype)
    window = window_axes(x.layout, axes, slice_sizes)
    numbers = tuple(number for number, _, _ in window)
    block = [0, results, prod(slice_sizes), 0, x.layout.offset, *_fill_bits(launcher, x.dtype)]
    for axis in axes:
        extent = x.shape[axis]
        block += [max(extent, 1), extent - slice_sizes[axis], x.layout.strides[axis]]
    for _, extent, stride in window:
        block += [extent, stride]
    pipeline = launcher.pipeline(
        "indexing/gather",
        (bits.name, index_dialect.name, mode, len(axes), numbers),
        {
            "T": bits,
            "I": index_dialect,
            "mode": mode,
            "indexed": len(axes),
            "window_axes": numbers,
        },
        bindings=accesses(2, 2 if mode == "raise" else 1),
        params_words=len(block),
    )
    return pipeline, words(block), launcher.groups(workgroup_count(results, WORKGROUP))


def _fill_bits(launcher: Launcher, dtype: Any) -> tuple[int, int]:
    """Bits of what "fill" gathers from outside: NaN where the dtype has one, else 0."""
    handle = launcher.backend.scalar(float("nan") if dtype.kind == "f" else 0, dtype).handle
    return handle.low, handle.high


@kernel("scatter_add")
def launch_scatter_add(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """`x` plus the windows of `updates` (shape batch + slice_sizes) at their places."""
    x, indices, updates = operands
    axes, mode = tuple(params["axes"]), params["mode"]
    indices = _checked_indices(launcher, indices, mode, name)
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
    keys = _target_rows(launcher, name, x.shape, indices, axes, slice_sizes, mode, entries)
    keys = sort_pairs(launcher, keys, entries, name)
    result = launcher.empty(outputs[0], name)
    target = launcher.contiguous(x, name)
    T = launcher.dialect(x.dtype)
    segments = target_segments(x.shape, axes, slice_sizes)
    columns = prod(slice_sizes[axis] for axis in inner_axes)
    length = block_length(entries)
    sums: tuple[Any, ...] = ()
    if length:
        sums = (_block_sums(launcher, name, rows, keys, entries // length, columns, length),)
    block = [0, result.size, entries, columns, length]
    for _, extent, extent_of_window in segments:
        block += [extent, extent_of_window]
    kinds = tuple(kind for kind, _, _ in segments)
    pipeline = launcher.pipeline(
        "indexing/scatter_sum",
        (T.name, kinds, length > 0),
        {"T": T, "segments": kinds, "blocked": length > 0},
        bindings=accesses(3 + len(sums), 1),
        params_words=len(block),
    )
    groups = launcher.groups(workgroup_count(result.size, WORKGROUP))
    buffers = (target.handle, rows.handle, keys, *sums, result.handle)
    launcher.queue.dispatch(pipeline, buffers, words(block), groups, name, (result.handle,))
    return (result,)


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
    launcher: Launcher, name: str, rows: Tensor, keys: Any, blocks: int, columns: int, length: int
) -> Any:
    """Queue the sums of whole blocks of sorted entries, shape (blocks, columns)."""
    T = launcher.dialect(rows.dtype)
    block = (0, blocks * columns, length, columns)
    sums = launcher.empty_buffer(launcher.nbytes(blocks * columns, rows.dtype), name)
    pipeline = launcher.pipeline(
        "indexing/scatter_blocks",
        (T.name,),
        {"T": T},
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
) -> Any:
    """Queue the kernel that pairs each entry with its row (in C order of the indexed axes)."""
    keys = launcher.empty_buffer(8 * entries, name)
    window = prod(slice_sizes[axis] for axis in axes)
    block = [0, entries, window, 0]
    for axis in axes:
        weight = prod(shape[other] for other in axes if other > axis)
        extent = shape[axis]
        block += [extent, extent - slice_sizes[axis], weight, slice_sizes[axis]]
    index_dialect = launcher.dialect(indices.dtype)
    pipeline = launcher.pipeline(
        "indexing/scatter_keys",
        (index_dialect.name, mode, len(axes)),
        {"I": index_dialect, "mode": mode, "indexed": len(axes)},
        bindings=accesses(1, 2 if mode == "raise" else 1),
        params_words=len(block),
    )
    buffers = (launcher.buffer(indices), keys)
    groups = launcher.groups(workgroup_count(entries, WORKGROUP))
    if mode == "raise":
        launcher.queue.dispatch_checked(
            pipeline, buffers, words(block), groups, name, (keys,),
            axes=axes, sizes=[shape[axis] for axis in axes],
        )  # fmt: skip
    else:
        launcher.queue.dispatch(pipeline, buffers, words(block), groups, name, (keys,))
    return keys
