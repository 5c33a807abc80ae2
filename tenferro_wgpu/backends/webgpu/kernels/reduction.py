"""Reductions: sums, products, maxima and minima over any axes, and argmax over one.

`plan_reduction` decides, purely, how many work items share an output and how many dispatches it
takes; the launch functions carry the plan out. A reduction may walk its axes in any order and
direction, so the plan first brings them into the order they have in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, TypeAlias

from tenferro_wgpu.backends.webgpu.dialects import Dialect, dialect
from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    LONGEST_LOOP,
    WORKGROUP,
    Launcher,
    accesses,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts, coalesce, words
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.errors import DTypeError, ShapeError
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

Pack: TypeAlias = Literal["none", "inner", "outer"]

#: Elements (or loads) added in sequence before their sum joins the compensated total.
BLOCK = 32
#: Where neighbouring invocations read neighbouring elements: many items of few elements, so that
#: a workgroup stays within few pages of memory.
COLUMN_ITEMS = 32768
SHORTEST_COLUMN = 64
#: Items of one invocation each on a software adapter, and their fewest elements.
ROW_ITEMS = 2048
SHORTEST_ROW = 256
#: Items of one workgroup each elsewhere, and the fewest elements of one lane.
ROW_WORKGROUPS = 1024
SHORTEST_LANE = 16


@dataclass(frozen=True)
class ReductionStep:
    """One dispatch: extents, strides, counts and offset are in units of loads (4 if packed)."""

    outer_extents: tuple[int, ...]
    outer_strides: tuple[int, ...]
    inner_extents: tuple[int, ...]
    inner_strides: tuple[int, ...]
    offset: int
    outputs: int
    count: int
    splits: int
    chunk: int
    lanes: int
    pack: Pack

    @property
    def items(self) -> int:
        """Work items of the dispatch."""
        return self.outputs * self.splits

    @property
    def workgroups(self) -> int:
        """Workgroups of the dispatch, not yet folded."""
        return workgroup_count(self.items) if self.lanes == 1 else self.items

    @property
    def params(self) -> bytes:
        """The params block."""
        return words(
            (
                0, self.items, self.outputs, self.chunk, self.count, self.offset,
                *self.outer_extents, *self.outer_strides,
                *self.inner_extents, *self.inner_strides,
            )
        )  # fmt: skip


def plan_reduction(
    layout: Layout, axes: Sequence[int], *, is_cpu: bool, packable: bool
) -> tuple[ReductionStep, ...]:
    """Plan the reduction of a non-empty tensor over at least one element per output.

    Args:
        layout: of the operand.
        axes: ascending axes to reduce.
        is_cpu: whether the device is a software renderer, where one invocation per output is
            fastest; elsewhere neighbouring invocations should read neighbouring elements.
        packable: whether four elements may be loaded at once (one word each).

    Returns:
        The dispatches in order; each further one reduces the [splits, outputs] results of the
        one before.
    """
    step = _whole(layout, axes)
    if packable:
        step = _packed(step)
    step = _divided(step, is_cpu)
    if step.splits == 1:
        return (step,)
    outputs = step.outputs * (4 if step.pack == "outer" else 1)
    partials = contiguous_layout((step.splits, outputs))
    return (step, *plan_reduction(partials, (0,), is_cpu=is_cpu, packable=packable))


def _whole(layout: Layout, axes: Sequence[int]) -> ReductionStep:
    """The reduction as one item per output, its axes merged."""
    reduced = frozenset(axes)
    kept = [axis for axis in range(layout.ndim) if axis not in reduced]
    offset = layout.offset
    inner = []
    for axis in axes:
        extent, stride = layout.shape[axis], layout.strides[axis]
        if stride < 0:
            offset += (extent - 1) * stride
            stride = -stride
        inner.append((stride, extent))
    inner.sort(reverse=True)
    outer_extents, (outer_strides,) = coalesce(
        [layout.shape[axis] for axis in kept], [[layout.strides[axis] for axis in kept]]
    )
    inner_extents, (inner_strides,) = coalesce(
        [extent for _, extent in inner], [[stride for stride, _ in inner]]
    )
    count = prod(inner_extents)
    return ReductionStep(
        outer_extents, outer_strides, inner_extents, inner_strides, offset,
        outputs=prod(outer_extents), count=count, splits=1, chunk=count, lanes=1, pack="none",
    )  # fmt: skip


def _packed(step: ReductionStep) -> ReductionStep:
    """The same step with four elements per load, where memory order and alignment allow."""
    for pack, extents, own, others in (
        ("inner", step.inner_extents, step.inner_strides, step.outer_strides),
        ("outer", step.outer_extents, step.outer_strides, step.inner_strides),
    ):
        if not own or own[-1] != 1 or extents[-1] % 4:
            continue
        if any(stride % 4 for stride in (step.offset, *own[:-1], *others)):
            continue
        shorter = (*extents[:-1], extents[-1] // 4)
        quarters = (*(stride // 4 for stride in own[:-1]), 1)
        rest = tuple(stride // 4 for stride in others)
        if pack == "inner":
            return replace(
                step, inner_extents=shorter, inner_strides=quarters, outer_strides=rest,
                offset=step.offset // 4, count=step.count // 4, chunk=step.count // 4, pack="inner",
            )  # fmt: skip
        return replace(
            step, outer_extents=shorter, outer_strides=quarters, inner_strides=rest,
            offset=step.offset // 4, outputs=step.outputs // 4, pack="outer",
        )  # fmt: skip
    return step


def _divided(step: ReductionStep, is_cpu: bool) -> ReductionStep:
    """The step with lanes and splits chosen for the device."""
    across = min((abs(stride) for stride in step.outer_strides), default=1 << 62)
    lanes, wanted, shortest = 1, ROW_ITEMS, SHORTEST_ROW
    if across <= min(map(abs, step.inner_strides), default=0):
        wanted, shortest = COLUMN_ITEMS, SHORTEST_COLUMN
    elif not is_cpu and step.count >= 128:
        lanes = 256 if step.count >= 1024 else 64
        wanted, shortest = ROW_WORKGROUPS, SHORTEST_LANE * lanes
    splits = min(-(-wanted // step.outputs), step.count // shortest)
    splits = max(splits, -(-step.count // (LONGEST_LOOP * lanes)))
    if splits <= 1:
        return replace(step, lanes=lanes)
    chunk = -(-step.count // splits)
    return replace(step, lanes=lanes, splits=-(-step.count // chunk), chunk=chunk)


_COMBINERS = {
    "reduce_sum": "sum",
    "reduce_prod": "prod",
    "reduce_max": "max",
    "reduce_min": "min",
}
_IDENTITIES = {"reduce_sum": 0, "reduce_prod": 1}


def _value_dialect(launcher: Launcher, dtype: Any, name: str) -> Dialect:
    """Dialect a reduction computes in: the order of bool is that of its stored 0 and 1."""
    if dtype.kind != "b":
        return launcher.dialect(dtype)
    if name in _IDENTITIES:
        raise DTypeError(name, "takes no bool; cast it to an integer first", (dtype,))
    return dialect("u32")


@kernel(*_COMBINERS)
def launch_reduction(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Reduce one operand over `params["axes"]`."""
    (operand,) = operands
    (spec,) = outputs
    axes = tuple(params["axes"])
    if not axes:
        return launch_elementwise(launcher, "copy", operands, {}, outputs)
    result = contiguous_layout(spec.shape)
    if operand.size == 0 and result.size:
        if name not in _IDENTITIES:
            raise ShapeError(name, f"no element to reduce in shape {operand.shape}")
        constant = launcher.backend.scalar(_IDENTITIES[name], spec.dtype)
        filled = constant.with_layout(constant.layout.broadcast_in_dim(spec.shape, ()))
        return launch_elementwise(launcher, "copy", (filled,), {}, outputs)
    if result.size == 0:
        return (launcher.empty(spec, name),)
    T = _value_dialect(launcher, operand.dtype, name)
    combiner = _COMBINERS[name]
    compensated = combiner == "sum" and spec.dtype.kind == "f"
    key = (name, operand.layout, axes, operand.dtype.num)
    launches = launcher.plan(key)
    if launches is None:
        check_counts(name, result.size, prod(operand.shape[axis] for axis in axes))
        steps = plan_reduction(operand.layout, axes, is_cpu=launcher.is_cpu, packable=T.words == 1)
        launches = [
            _prepare(launcher, "reduction/reduce", step, T, combiner=combiner,
                     compensated=compensated, block=BLOCK)
            for step in steps
        ]  # fmt: skip
        launcher.plans.store(key, launches)
    source = launcher.buffer(operand)
    for launch in launches:
        buffer = launcher.empty_buffer(launch.results * 4 * T.words, name)
        launcher.queue.dispatch(
            launch.pipeline, (source, buffer), launch.params, launch.workgroups, name, (buffer,)
        )
        source = buffer
    return (Tensor(spec.dtype, result, source, launcher.backend),)


@dataclass(frozen=True)
class _Launch:
    """One prepared dispatch of a reduction."""

    pipeline: Any
    params: bytes
    workgroups: tuple[int, int, int]
    results: int


def _prepare(
    launcher: Launcher, template: str, step: ReductionStep, T: Dialect, **options: Any
) -> _Launch:
    structure: dict[str, Any] = {
        "lanes": step.lanes,
        "outer_rank": len(step.outer_extents),
        "inner_rank": len(step.inner_extents),
        **options,
    }
    if template == "reduction/reduce":
        structure["pack"] = step.pack
    reads = 2 if options.get("candidates") else 1
    pipeline = launcher.pipeline(
        template,
        (T.name, *structure.items()),
        {"T": T, **structure},
        bindings=accesses(reads, 1),
        params_words=len(step.params) // 4,
        workgroup_size=WORKGROUP if step.lanes == 1 else step.lanes,
    )
    results = step.items * (4 if step.pack == "outer" else 1)
    return _Launch(pipeline, step.params, launcher.groups(step.workgroups), results)


@kernel("argmax")
def launch_argmax(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Position of the first maximum (or first NaN) along `params["axis"]`, as int64."""
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
        T = _value_dialect(launcher, operand.dtype, name)
        steps = plan_argmax(operand.layout, axis, is_cpu=launcher.is_cpu)
        launches = [
            _prepare(
                launcher, "reduction/argmax", step, T,
                candidates=position > 0, final=position == len(steps) - 1,
            )
            for position, step in enumerate(steps)
        ]  # fmt: skip
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


def plan_argmax(layout: Layout, axis: int, *, is_cpu: bool) -> tuple[ReductionStep, ...]:
    """Plan the argmax of a non-empty tensor; each further step compares the winners before it."""
    kept = [other for other in range(layout.ndim) if other != axis]
    outer_extents, (outer_strides,) = coalesce(
        [layout.shape[other] for other in kept], [[layout.strides[other] for other in kept]]
    )
    extent = layout.shape[axis]
    whole = ReductionStep(
        outer_extents, outer_strides, (), (layout.strides[axis],), layout.offset,
        outputs=prod(outer_extents), count=extent, splits=1, chunk=extent, lanes=1, pack="none",
    )  # fmt: skip
    steps = [_divided(whole, is_cpu)]
    while steps[-1].splits > 1:
        winners = steps[-1].splits
        steps.append(_divided(replace(whole, count=winners, chunk=winners), is_cpu))
    return tuple(steps)
