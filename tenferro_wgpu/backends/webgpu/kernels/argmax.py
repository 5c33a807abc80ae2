"""Argmax and argmin over one axis: the first extremum, or the first NaN, as an int64 position.

`plan_argmax` decides, purely, how many work items share an output; a further dispatch compares
their winners. Called by the backend through the registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from tenferro_wgpu.backends.webgpu.dialects import Dialect
from tenferro_wgpu.backends.webgpu.kernels.launch import WORKGROUP, Launcher, accesses
from tenferro_wgpu.backends.webgpu.kernels.reduction import value_dialect
from tenferro_wgpu.backends.webgpu.kernels.reduction_plan import ReductionStep, divided
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts, coalesce, words
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.errors import ShapeError
from tenferro_wgpu.layout import Layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor


def plan_argmax(layout: Layout, axis: int, *, is_cpu: bool) -> tuple[ReductionStep, ...]:
    """Plan the argmax of a non-empty tensor; each further step compares the winners before it."""
    across = [
        abs(stride)
        for other, (extent, stride) in enumerate(zip(layout.shape, layout.strides, strict=True))
        if other != axis and extent > 1
    ]
    columns = bool(across) and min(across) <= abs(layout.strides[axis])
    outputs = prod(layout.shape) // layout.shape[axis]
    steps = [divided(outputs, layout.shape[axis], "none", columns=columns, is_cpu=is_cpu)]
    while steps[-1].splits > 1:
        winners = steps[-1].splits
        steps.append(divided(outputs, winners, "none", columns=columns, is_cpu=is_cpu))
    return tuple(steps)


@dataclass(frozen=True)
class _Launch:
    """One prepared dispatch."""

    pipeline: Any
    params: bytes
    workgroups: tuple[int, int, int]
    results: int


def _prepare(
    launcher: Launcher,
    name: str,
    step: ReductionStep,
    T: Dialect,
    layout: Layout,
    axis: int,
    place: str,
) -> _Launch:
    """Compile a step that is "first", "only", "middle" or "last" of its plan."""
    kept = [other for other in range(layout.ndim) if other != axis]
    extents, (strides,) = coalesce(
        [layout.shape[other] for other in kept], [[layout.strides[other] for other in kept]]
    )
    structure = {
        "lanes": step.lanes,
        "outer_rank": len(extents),
        "candidates": place in ("middle", "last"),
        "final": place in ("only", "last"),
        "least": name == "argmin",
    }
    block = words(
        (
            0, step.items, step.outputs, step.chunk, step.count, layout.offset,
            *extents, *strides, layout.strides[axis],
        )
    )  # fmt: skip
    pipeline = launcher.pipeline(
        "reduction/argmax",
        (T.name, *structure.items()),
        {"T": T, **structure},
        bindings=accesses(2 if structure["candidates"] else 1, 1),
        params_words=len(block) // 4,
        workgroup_size=WORKGROUP if step.lanes == 1 else step.lanes,
    )
    return _Launch(pipeline, block, launcher.groups(step.workgroups), step.results)


@kernel("argmax", "argmin")
def launch_argmax(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Position of the first extremum (or first NaN) along `params["axis"]`, as int64."""
    (operand,) = operands
    (spec,) = outputs
    axis = params["axis"]
    extent = operand.shape[axis]
    if extent == 0:
        raise ShapeError(name, f"no element along axis {axis} of shape {operand.shape}")
    result = launcher.empty(spec, name)
    if result.size == 0:
        return (result,)
    key = (name, operand.layout, axis, operand.dtype.num)
    launches = launcher.plan(key)
    if launches is None:
        check_counts(name, result.size, extent)
        T = value_dialect(launcher, operand.dtype, name)
        steps = plan_argmax(operand.layout, axis, is_cpu=launcher.is_cpu)
        places = ["only"] if len(steps) == 1 else ["first", *["middle"] * (len(steps) - 2), "last"]
        launches = [
            _prepare(launcher, name, step, T, operand.layout, axis, place)
            for step, place in zip(steps, places, strict=True)
        ]
        launcher.plans.store(key, launches)
    source = launcher.buffer(operand)
    found: tuple[Buffer, ...] = ()
    for launch in launches:
        final = launch is launches[-1]
        buffer = result.handle if final else launcher.empty_buffer(launch.results * 4, name)
        bindings = (source, *found, buffer)
        launcher.queue.dispatch(
            launch.pipeline, bindings, launch.params, launch.workgroups, name, (buffer,)
        )
        found = (buffer,)
    return (result,)
