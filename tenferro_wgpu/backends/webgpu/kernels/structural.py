"""Concatenation and padding: every input is placed into its region of one output.

Inputs are placed by one dispatch each, so that any number of them works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenferro_wgpu.backends.webgpu.kernels.elementwise import MAX_RANK, launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.launch import WORKGROUP, Launcher, workgroup_count
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.strides import coalesce, words
from tenferro_wgpu.errors import UnsupportedOperationError
from tenferro_wgpu.layout import Layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor


def place(launcher: Launcher, source: Tensor, destination: Tensor, name: str) -> None:
    """Queue the copy of `source` into the elements that `destination`'s layout shows.

    Both have the same shape and dtype; no two elements of the destination may coincide.
    """
    if source.size == 0:
        return
    bits = launcher.bits_dialect(source.dtype)
    extents, (source_strides, strides) = coalesce(
        source.shape, (source.layout.strides, destination.layout.strides)
    )
    if len(extents) > MAX_RANK:
        raise UnsupportedOperationError(
            name, backend="webgpu", hint=f"{len(extents)} separate axes; reshape to fewer"
        )
    rank = len(extents)
    pipeline = launcher.pipeline(
        "structural/place",
        (bits.name, rank),
        {"T": bits, "rank": rank},
        bindings=("read", "read_write"),
        params_words=4 + 3 * rank,
    )
    params = words(
        (
            0, source.size, source.layout.offset, destination.layout.offset,
            *extents, *source_strides, *strides,
        )
    )  # fmt: skip
    launcher.queue.dispatch(
        pipeline,
        (launcher.buffer(source), destination.handle),
        params,
        launcher.groups(workgroup_count(source.size, WORKGROUP)),
        name,
        (destination.handle,),
    )


@kernel("concatenate")
def launch_concatenate(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Join operands along `params["axis"]`."""
    axis = params["axis"]
    result = launcher.empty(outputs[0], name)
    start = 0
    for operand in operands:
        extent = operand.shape[axis]
        region = _region(result.layout, axis, start, start + extent)
        place(launcher, operand, result.with_layout(region), name)
        start += extent
    return (result,)


def _region(layout: Layout, axis: int, start: int, stop: int) -> Layout:
    """The part of a layout between two positions of one axis."""
    starts = [start if other == axis else 0 for other in range(layout.ndim)]
    stops = [stop if other == axis else extent for other, extent in enumerate(layout.shape)]
    return layout.slice(starts, stops, [1] * layout.ndim)


@kernel("pad")
def launch_pad(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Pad with a rank-0 fill value before, after and between elements; negative pads crop."""
    operand, fill = operands
    (spec,) = outputs
    background = fill.with_layout(fill.layout.broadcast_in_dim(spec.shape, ()))
    (result,) = launch_elementwise(launcher, "copy", (background,), {}, outputs)
    if operand.size == 0 or result.size == 0:
        return (result,)
    kept, region = padded_regions(operand.layout, result.layout, params["low"], params["interior"])
    place(launcher, operand.with_layout(kept), result.with_layout(region), name)
    return (result,)


def padded_regions(
    source: Layout, result: Layout, low: Sequence[int], interior: Sequence[int]
) -> tuple[Layout, Layout]:
    """The elements of a source that survive padding, and where they land in the result.

    Element i of an axis lands at low + i * (interior + 1); those outside the result are cropped.
    """
    first, last = [], []
    for axis in range(source.ndim):
        step = interior[axis] + 1
        begin = max(0, -(low[axis] // step))
        end = min(source.shape[axis], -((low[axis] - result.shape[axis]) // step))
        first.append(begin)
        last.append(max(begin, end))
    ones = [1] * source.ndim
    kept = source.slice(first, last, ones)
    offset = result.offset
    strides = []
    for axis in range(source.ndim):
        step = interior[axis] + 1
        offset += (low[axis] + first[axis] * step) * result.strides[axis]
        strides.append(step * result.strides[axis])
    return kept, Layout(kept.shape, tuple(strides), offset)
