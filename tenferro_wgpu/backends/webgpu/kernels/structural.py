"""Concatenation and padding: every input is placed into its region of one output.

Inputs are placed by one dispatch each, so that any number of them works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher
from tenferro_wgpu.backends.webgpu.kernels.movement import prepare_movement
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.layout import Layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor


def place(launcher: Launcher, source: Tensor, destination: Tensor, name: str) -> None:
    """Queue the copy of `source` into the elements that `destination`'s layout shows.

    Both have the same shape and dtype; no two elements of the destination may coincide.
    """
    if source.size == 0:
        return
    bits = launcher.bits_dialect(source.dtype)
    key = ("place", bits.name, source.layout, destination.layout)
    found = launcher.plan(key)
    if found is None:
        found = prepare_movement(launcher, bits, source.layout, destination.layout, name)
        launcher.plans.store(key, found)
    pipeline, params, groups = found
    buffers = (launcher.buffer(source), destination.handle)
    launcher.queue.dispatch(pipeline, buffers, params, groups, name, buffers[1:])


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
    key = ("pad", operand.layout, spec.shape, tuple(params["low"]), tuple(params["interior"]))
    found = launcher.plan(key)
    if found is None:
        found = padded_regions(operand.layout, result.layout, params["low"], params["interior"])
        launcher.plans.store(key, found)
    kept, region = found
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
