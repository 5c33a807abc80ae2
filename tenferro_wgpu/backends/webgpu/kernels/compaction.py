"""Choosing elements by a mask, and counting: what is before each element, and how often it is.

The counts are a scan over segments, work proportional to the elements; nothing here waits for the
device: how many elements were chosen is a param by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher, dispatch_items
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.sorting import sum_before
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts
from tenferro_wgpu.tensor import ShapeDtype, Tensor


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
    numbers = result.size
    check_counts(name, numbers)
    source = launcher.buffer(launcher.contiguous(mask, name))
    dispatch_items(
        launcher, "ordering/flags", (), {}, (source,), (result.handle,), (0, numbers), numbers, name
    )
    sum_before(launcher, result.handle, numbers, name)
    return (result,)


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
        elements = before.size - 1
        dispatch_items(
            launcher, "ordering/nonzero", (len(shape),), {"axes": len(shape)},
            (launcher.buffer(before),), (result.handle,),
            (0, elements, params["count"], *shape), elements, name,
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
        elements = (before.size - 1) * columns
        dispatch_items(
            launcher, "ordering/compress", (name, bits.name), {"pass": name, "T": bits},
            (launcher.buffer(rows), launcher.buffer(before)), (result.handle,),
            (0, elements, columns, chosen), elements, name,
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
