"""Gather at indices that live on the device, and replace a window; scattering.py scatters.

Windows of extents `slice_sizes` start at ``indices[..., j]`` on axis ``axes[j]`` and at 0 on the
other axes. With mode "raise" the kernels report bad indices to the queue; nothing waits for it.
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
    dispatch_items,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts, words
from tenferro_wgpu.errors import DTypeError, UnsupportedOperationError
from tenferro_wgpu.layout import Layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

MODES = ("raise", "clip", "wrap", "fill")
_INDEX_DTYPES = ("int32", "uint32", "int64")


def checked_indices(launcher: Launcher, indices: Tensor, mode: str, name: str) -> Tensor:
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
    indices = checked_indices(launcher, indices, mode, name)
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
            launcher, x, launcher.stored(indices.dtype), axes, slice_sizes, mode, result.size
        )
        launcher.plans.store(key, found)
    pipeline, block, groups = found
    buffers = (launcher.buffer(x), launcher.buffer(indices), result.handle)
    if mode == "raise":
        launcher.queue.dispatch_checked(
            pipeline, buffers, block, groups, name, (result.handle,),
            axes=axes, sizes=[x.shape[axis] for axis in axes], caller=params.get("caller", name),
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
    strides = [x.layout.strides[axis] for axis in axes]
    offset, elements = x.layout.offset, prod(slice_sizes)
    load = bits.storage
    fill = launcher.backend.scalar(float("nan") if x.dtype.kind in "fc" else 0, x.dtype).handle
    fill_words: tuple[int, ...] = tuple(range(5, 5 + len(fill.words)))
    if bits.words < 4 and is_quads(bits.words, offset, strides, window):
        load, fill_words = "vec4<u32>", (5, 5, 5, 5) if bits.words == 1 else (5, 6, 5, 6)
        per_load = 4 // bits.words
        offset, elements, results = offset // per_load, elements // per_load, results // per_load
        strides = [stride // per_load for stride in strides]
        number, extent, _ = window[-1]
        others = [(each, size, stride // per_load) for each, size, stride in window[:-1]]
        window = (*others, (number, extent // per_load, 1))
    numbers = tuple(number for number, _, _ in window)
    block = [0, results, elements, 0, offset, *fill.words]
    for axis, stride in zip(axes, strides, strict=True):
        extent = x.shape[axis]
        block += [max(extent, 1), extent - slice_sizes[axis], stride]
    for _, extent, stride in window:
        block += [extent, stride]
    pipeline = launcher.pipeline(
        "indexing/gather",
        (bits.name, load, index_dialect.name, mode, len(axes), numbers),
        {
            "T": bits,
            "I": index_dialect,
            "load": load,
            "fill_words": fill_words,
            "first_axis_word": 5 + len(fill.words),
            "mode": mode,
            "indexed": len(axes),
            "window_axes": numbers,
        },
        bindings=accesses(2, 2 if mode == "raise" else 1),
        params_words=len(block),
    )
    return pipeline, words(block), launcher.groups(workgroup_count(results, WORKGROUP))


def is_quads(
    words_each: int, offset: int, strides: Sequence[int], window: Sequence[tuple[int, int, int]]
) -> bool:
    """Whether windows are whole runs of four words, each at a multiple of four words."""
    if not window or window[-1][0] >= 0 or window[-1][2] != 1:
        return False
    per_load = 4 // words_each
    others = [stride for _, _, stride in window[:-1]]
    return not any(n % per_load for n in (window[-1][1], offset, *strides, *others))


@kernel("dynamic_update_slice")
def launch_update_slice(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """A tensor with the window at clamped int64 starts replaced."""
    x, update, starts = (launcher.contiguous(operand, name) for operand in operands)
    if update.size == 0 or x.ndim == 0:
        return launch_elementwise(launcher, "copy", (update if x.ndim == 0 else x,), {}, outputs)
    result = launcher.empty(outputs[0], name)
    check_counts(name, result.size)
    bits = launcher.bits_dialect(x.dtype)
    extents = [n for pair in zip(x.shape, update.shape, strict=True) for n in pair]
    dispatch_items(
        launcher, "indexing/update_slice", (x.ndim, bits.name), {"axes": x.ndim, "T": bits},
        (launcher.buffer(x), launcher.buffer(update), launcher.buffer(starts)), (result.handle,),
        (0, result.size, *extents), result.size, name,
    )  # fmt: skip
    return (result,)
