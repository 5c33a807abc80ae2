"""Runs plans: as fused kernels, or operation by operation with the kernels everybody shares.

Called by running.py with the queue's buffers by value number.  Knows nothing of who wants what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tenferro_wgpu.backends.webgpu.dialects import dialect
from tenferro_wgpu.backends.webgpu.fusion.planning import Map, Plan, Reduction, ReductionRun, Stage
from tenferro_wgpu.backends.webgpu.fusion.programs import Operation
from tenferro_wgpu.backends.webgpu.fusion.row_kernels import prepare_rows
from tenferro_wgpu.backends.webgpu.fusion.row_planning import Rows
from tenferro_wgpu.backends.webgpu.fusion.scans import Scan, run_scan
from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise, prepare_map
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher, with_constants
from tenferro_wgpu.backends.webgpu.kernels.reduction import (
    launch_fused_reduction,
    launch_reduction,
)
from tenferro_wgpu.backends.webgpu.kernels.registry import Kernel
from tenferro_wgpu.backends.webgpu.kernels.scanning import launch_scan
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: The values of a running plan: buffers and constants by number.
Values = dict[int, Any]


def run_stages(launcher: Launcher, plan: Plan, values: Values) -> None:
    """Dispatch the kernels of a ready plan; `values` holds its operands and takes the results."""
    for stage in plan.stages:
        if isinstance(stage, Reduction):
            _run_reduction(launcher, plan, stage, values)
        elif isinstance(stage, Scan):
            _run_scan(launcher, plan, stage, values)
        else:
            _run_one(launcher, stage, values)


def compile_stage(launcher: Launcher, stage: Stage) -> None:
    """Compile a kernel, or find it compiled; reductions and scans are by their first run."""
    if isinstance(stage, Map):
        stage.launch = prepare_map(launcher, stage.expression, stage.layouts, stage.shape)
    elif isinstance(stage, Rows):
        stage.launch = prepare_rows(launcher, stage)


def _run_one(launcher: Launcher, stage: Map | Rows, values: Values) -> None:
    """Run a stage that is one dispatch."""
    launch = stage.launch
    assert launch is not None and launch.pipeline is not None, "compiled, over some element"
    queue, name = launcher.queue, stage.name
    handles = [values[slot] for slot in stage.sources]
    params = launch.params
    if launch.constants:
        params = with_constants(params, launch.constants, handles)
    bindings = [handles[position] for position in launch.bound]
    if len(launch.output_bytes) == 1:
        (nbytes,) = launch.output_bytes
        values[stage.outputs[0]] = queue.compute(
            launch.pipeline, bindings, nbytes, params, launch.workgroups, name
        )
        return
    results = [queue.allocate(nbytes, name) for nbytes in launch.output_bytes]
    bindings += results
    queue.dispatch(launch.pipeline, bindings, params, launch.workgroups, name, results)
    values.update(zip(stage.outputs, results, strict=True))


def _run_reduction(launcher: Launcher, plan: Plan, stage: Reduction, values: Values) -> None:
    program = plan.program
    assert program.axes is not None
    run = stage.run
    if run is None:
        run = stage.run = _prepare_reduction(launcher, plan, stage)
    leaves = fill(run.leaves, stage.sources, values)
    constants = fill(run.constants, stage.constants, values)
    try:
        result = launch_fused_reduction(
            launcher,
            stage.name,
            stage.prologue,
            leaves,
            program.shape,
            program.axes,
            run.spec,
            epilogue=stage.epilogue,
            epilogue_leaves=constants,
            key=run,
        )
    finally:
        drain(leaves)
        drain(constants)
    values[stage.output] = result.handle


def _run_scan(launcher: Launcher, plan: Plan, stage: Scan, values: Values) -> None:
    if stage.leaves is None:
        scalar = contiguous_layout(())
        layouts = [layout or scalar for layout in stage.layouts]
        stage.leaves = leaf_tensors(launcher, stage.elements.operands, layouts)
    leaves = fill(stage.leaves, stage.sources, values)
    try:
        result = run_scan(launcher, stage, leaves, plan.program.shape)
    finally:
        drain(leaves)
    values[stage.output] = result.handle


def _prepare_reduction(launcher: Launcher, plan: Plan, stage: Reduction) -> ReductionRun:
    scalar = contiguous_layout(())
    layouts = [layout or scalar for layout in stage.layouts]
    leaves = leaf_tensors(launcher, stage.prologue.operands, layouts)
    after = () if stage.epilogue is None else stage.epilogue.operands[1:]
    constants = leaf_tensors(launcher, after, [scalar] * len(after))
    spec = ShapeDtype(plan.program.row_shape, dialect(stage.dialect).dtype)
    return ReductionRun(leaves, constants, spec)


def leaf_tensors(
    launcher: Launcher, dialects: Sequence[str], layouts: Sequence[Layout]
) -> tuple[Tensor, ...]:
    """Tensors without memory, for the operands of a stage that runs again and again."""
    return tuple(
        [
            Tensor(dialect(name).dtype, layout, None, launcher.backend)
            for name, layout in zip(dialects, layouts, strict=True)
        ]
    )


def fill(tensors: tuple[Tensor, ...], slots: Sequence[int], values: Values) -> tuple[Tensor, ...]:
    """The tensors of a stage with the memory of this run; with the fuser's lock held."""
    if tensors and tensors[0].handle is not None:
        # In use: a handler runs the stage that it interrupted.
        tensors = tuple([Tensor(x.dtype, x.layout, None, x.backend) for x in tensors])
    for tensor, slot in zip(tensors, slots, strict=True):
        tensor.handle = values[slot]
    return tensors


def drain(tensors: Sequence[Tensor]) -> None:
    """Let go of the memory again."""
    for tensor in tensors:
        tensor.handle = None


def run_operation(launcher: Launcher, plan: Plan, operation: Operation, values: Values) -> None:
    """Run one operation of a plan by itself; `values` takes its result."""
    program = plan.program
    shape = program.row_shape if operation.kind == "row" else program.shape
    operands = []
    for slot, taken in zip(operation.arguments, operation.taken, strict=True):
        layout: Layout | None = contiguous_layout(shape)
        if slot in plan.leaves:
            layout = plan.leaves[slot].layout or contiguous_layout(()).broadcast_in_dim(shape, ())
        elif not operation.makes_rows and slot in plan.rows:
            layout = program.row_layout
        assert layout is not None
        operands.append(Tensor(dialect(taken).dtype, layout, values[slot], launcher.backend))
    dtype = dialect(operation.dialect).dtype
    launch: Kernel
    params: dict[str, Any]
    if operation.kind == "reduction":
        launch, params, shape = launch_reduction, {"axes": program.axes}, program.row_shape
    elif operation.along is not None:
        launch, params = launch_scan, asdict(operation.along)
    else:
        launch, params = launch_elementwise, {}
    (result,) = launch(
        launcher, operation.name, tuple(operands), params, (ShapeDtype(shape, dtype),)
    )
    values[operation.slot] = result.handle
