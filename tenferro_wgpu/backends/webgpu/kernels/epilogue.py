"""A kernel that evaluates an expression of each element it makes, prepared, and its dispatch.

Matrix products and sliding convolutions prepare such kernels; what they compute stays with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenferro_wgpu.backends.webgpu.commands import Pipeline
from tenferro_wgpu.backends.webgpu.dialects import Dialect
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher, with_constants
from tenferro_wgpu.layout import contiguous_layout
from tenferro_wgpu.tensor import Tensor

__all__ = ["PreparedEpilogue", "run_epilogue"]


@dataclass(frozen=True)
class PreparedEpilogue:
    """Everything of a dispatch but its buffers, and the dialects of its outputs.

    `bound` are the positions of leaves that are buffers; `constants` pairs (position, byte offset
    of its bits in the params) of the others.
    """

    pipeline: Pipeline
    params: bytes
    workgroups: tuple[int, int, int]
    bound: tuple[int, ...]
    constants: tuple[tuple[int, int], ...]
    output_bytes: tuple[int, ...]
    dialects: tuple[Dialect, ...]


def run_epilogue(
    launcher: Launcher,
    op: str,
    prepared: PreparedEpilogue,
    operands: tuple[Tensor, Tensor],
    leaves: Sequence[Tensor],
    shape: tuple[int, ...],
) -> tuple[Tensor, ...]:
    """Queue it for the operation `op`: one contiguous tensor of `shape` for each output."""
    queue, params = launcher.queue, prepared.params
    if prepared.constants:
        params = with_constants(params, prepared.constants, [leaf.handle for leaf in leaves])
    results = [queue.allocate(nbytes, op) for nbytes in prepared.output_bytes]
    buffers = [launcher.buffer(operand) for operand in operands]
    buffers += [leaves[position].handle for position in prepared.bound]
    queue.dispatch(
        prepared.pipeline, (*buffers, *results), params, prepared.workgroups, op, results
    )
    layout = contiguous_layout(shape)
    return tuple(
        Tensor(own.dtype, layout, buffer, launcher.backend)
        for own, buffer in zip(prepared.dialects, results, strict=True)
    )
