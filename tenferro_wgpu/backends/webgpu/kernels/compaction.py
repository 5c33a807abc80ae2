"""Choosing elements by a mask, and counting: what is before each element, and how often it is.

The counts are a scan over segments, work proportional to the elements; nothing here waits for the
device: how many elements were chosen is a param by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher, dispatch_items
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.sorting import scan_segment, sum_before
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: Elements of a mask that one invocation counts.
SHORTEST_BLOCK = 64
LONGEST_BLOCK = 512


@kernel("count_before")
def launch_count_before(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """How many elements of a vector of bools are true before each one, and in all."""
    (mask,) = operands
    result = launcher.empty(outputs[0], name)
    count = mask.size
    check_counts(name, count + 1)
    if count == 0:
        none = launcher.backend.scalar(0, result.dtype)
        one = none.with_layout(none.layout.broadcast_in_dim(result.shape, ()))
        return launch_elementwise(launcher, "copy", (one,), {}, outputs)
    source = launcher.buffer(launcher.contiguous(mask, name))
    width = 4 if count % 4 == 0 else 1
    length = block_length(count)
    blocks = -(-count // length)
    counts = launcher.empty_buffer(4 * blocks, name)
    block = (0, count, length)
    dispatch_items(
        launcher, "ordering/count_before", ("blocks", width), {"pass": "blocks", "width": width},
        (source,), (counts,), block, blocks, name,
    )  # fmt: skip
    sum_before(launcher, counts, blocks, name)
    dispatch_items(
        launcher, "ordering/count_before", ("within", width), {"pass": "within", "width": width},
        (source, counts), (result.handle,), block, blocks, name,
    )  # fmt: skip
    return (result,)


def block_length(count: int) -> int:
    """Elements of a mask that one invocation counts: a multiple of four.

    The root of their number, so that few passes do, but no more than keep a GPU busy.
    """
    return min(max(SHORTEST_BLOCK, scan_segment(count) // 4), LONGEST_BLOCK)


@kernel("nonzero")
def launch_nonzero(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Coordinates of the true elements, from their counts."""
    before = launcher.contiguous(operands[0], name)
    result = launcher.empty(outputs[0], name)
    shape = tuple(params["shape"])
    if result.size:
        items, width = before.size - 1, 1
        reads: tuple[Buffer, ...] = (launcher.buffer(before),)
        if items % 4 == 0:
            items, width, reads = items // 4, 4, reads * 2
        dispatch_items(
            launcher, "ordering/nonzero", (len(shape), width),
            {"axes": len(shape), "width": width}, reads, (result.handle,),
            (0, items, params["count"], *shape), items, name,
        )  # fmt: skip
    return (result,)


@kernel("compress", "expand")
def launch_compress(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Chosen rows of a matrix together, or back in their places."""
    rows, before = (launcher.contiguous(operand, name) for operand in operands)
    result = launcher.empty(outputs[0], name)
    if result.size:
        bits = launcher.bits_dialect(rows.dtype)
        columns = result.shape[1]
        chosen = result.shape[0] if name == "compress" else rows.shape[0]
        elements, structure = (before.size - 1) * columns, name
        reads: tuple[Buffer, ...] = (launcher.buffer(rows), launcher.buffer(before))
        if name == "compress" and columns == 1 and elements % 4 == 0 and bits.words == 1:
            elements, structure, reads = elements // 4, "quads", (*reads, reads[1])
        dispatch_items(
            launcher, "ordering/compress", (structure, bits.name), {"pass": structure, "T": bits},
            reads, (result.handle,), (0, elements, columns, chosen), elements, name,
        )  # fmt: skip
    return (result,)


@kernel("count_places")
def launch_count_places(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """How often each number from 0 up occurs in an int64 vector."""
    numbers = launcher.contiguous(operands[0], name)
    result = launcher.empty(outputs[0], name)
    places = result.size
    if places:
        check_counts(name, numbers.size, places)
        none = launcher.backend.scalar(0, np.dtype(np.uint32))
        zeros = none.with_layout(none.layout.broadcast_in_dim((places,), ()))
        counts = launcher.contiguous(zeros, name).handle
        for structure, reads, writes, items in (
            ("count", (launcher.buffer(numbers),), (counts,), numbers.size),
            ("widen", (counts,), (result.handle,), places),
        ):
            if items:
                dispatch_items(
                    launcher, "indexing/count_places", (structure,), {"pass": structure},
                    reads, writes, (0, items, places), items, name,
                )  # fmt: skip
    return (result,)
