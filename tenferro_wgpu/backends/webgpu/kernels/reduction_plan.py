"""Plans of reductions: work items, dispatches, and how each operand is addressed.

Pure functions that reduction.py and argmax.py call before they compile or launch anything. The
split into work items depends on the index space and on the order in which memory is walked, and
not on how many operands there are: a fused reduction adds in the order of an unfused one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, TypeAlias

from tenferro_wgpu.backends.webgpu.kernels.launch import LONGEST_LOOP, workgroup_count
from tenferro_wgpu.backends.webgpu.kernels.strides import coalesce
from tenferro_wgpu.layout import Layout

Pack: TypeAlias = Literal["none", "inner", "outer"]
LeafKind: TypeAlias = Literal["constant", "plain", "packed", "splat", "strided", "scattered"]

#: Where neighbouring invocations read neighbouring elements: many items of few elements, so that
#: a workgroup stays within few pages of memory.
COLUMN_ITEMS = 32768
SHORTEST_COLUMN = 64
#: The same on a software adapter, where fewer and longer items are faster.
COLUMN_ITEMS_CPU = 8192
SHORTEST_COLUMN_CPU = 128
#: Fewest items that a dispatch keeps when they take several neighbouring loads each.
FEWEST_WIDE_ITEMS = 256
#: Items of one invocation each on a software adapter, and their fewest elements.
ROW_ITEMS = 2048
SHORTEST_ROW = 256
#: Items of one workgroup each elsewhere, and the fewest elements of one lane.
ROW_WORKGROUPS = 1024
SHORTEST_LANE = 16


@dataclass(frozen=True)
class ReductionStep:
    """One dispatch; outputs, count and chunk are in units of loads (4 elements if packed).

    Attributes:
        outputs: results.
        count: loads that each result needs.
        splits: work items that share a result.
        chunk: the most loads of a work item.
        lanes: invocations of a work item.
        pack: whether a load takes four neighbours along the reduced axes ("inner"), of four
            results ("outer") or a single element.
        vectors: loads side by side that a work item makes; more than one only if "outer".
    """

    outputs: int
    count: int
    splits: int
    chunk: int
    lanes: int
    pack: Pack
    vectors: int = 1

    @property
    def items(self) -> int:
        """Work items of the dispatch."""
        return self.outputs // self.vectors * self.splits

    @property
    def workgroups(self) -> int:
        """Workgroups of the dispatch, not yet folded."""
        return workgroup_count(self.items) if self.lanes == 1 else self.items

    @property
    def results(self) -> int:
        """Values that the dispatch stores."""
        return self.outputs * self.splits * (4 if self.pack == "outer" else 1)


def memory_order(
    layouts: Sequence[Layout | None], shape: tuple[int, ...]
) -> tuple[tuple[int, ...], frozenset[int]]:
    """The axes from the slowest to the fastest, and those to walk backwards.

    They are those of the operand that has most elements of its own: C order, forwards, unless
    all of the operands that cover `shape` lie in memory otherwise.
    """
    forwards: frozenset[int] = frozenset()
    leading: Layout | None = None
    for layout in layouts:
        if layout is not None and all(
            stride or extent == 1 for stride, extent in zip(layout.strides, shape, strict=True)
        ):
            if layout.is_contiguous:
                return tuple(range(len(shape))), forwards
            leading = leading or layout
    if leading is None:
        return tuple(range(len(shape))), forwards
    strides = leading.strides
    order = sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))
    return tuple(order), frozenset(axis for axis in order if strides[axis] < 0)


def plan_reduction(
    shape: tuple[int, ...],
    axes: Sequence[int],
    order: Sequence[int] | None = None,
    *,
    is_cpu: bool,
    packable: bool,
) -> tuple[ReductionStep, ...]:
    """Plan a reduction with at least one output and one element per output.

    Args:
        shape: of the index space.
        axes: ascending axes to reduce.
        order: the axes from the slowest to the fastest in memory; C order by default.
        is_cpu: whether the device is a software renderer, where one invocation per output is
            fastest; elsewhere neighbouring invocations should read neighbouring elements.
        packable: whether four elements may be combined side by side (one word each).

    Returns:
        The dispatches in order; each further one reduces the [splits, outputs] results of the
        one before.
    """
    reduced = frozenset(axes)
    walked = [axis for axis in order or range(len(shape)) if shape[axis] > 1]
    outputs = prod(extent for axis, extent in enumerate(shape) if axis not in reduced)
    count = prod(shape[axis] for axis in axes)
    columns = bool(walked) and walked[-1] not in reduced
    pack: Pack = "none"
    if packable and _fastest_run(shape, reduced, walked) % 4 == 0:
        pack = "outer" if columns else "inner"
        outputs = outputs // 4 if columns else outputs
        count = count if columns else count // 4
    step = divided(outputs, count, pack, columns=columns, is_cpu=is_cpu)
    if step.splits == 1:
        return (step,)
    partials = (step.splits, step.results // step.splits)
    return (step, *plan_reduction(partials, (0,), is_cpu=is_cpu, packable=packable))


def _fastest_run(shape: tuple[int, ...], reduced: frozenset[int], walked: Sequence[int]) -> int:
    """Elements that follow one another in memory and in the order of the results, if 1 at all."""
    if not walked:
        return 1
    run = 1
    if walked[-1] in reduced:
        for axis in reversed(walked):
            if axis not in reduced:
                break
            run *= shape[axis]
        return run
    kept = [axis for axis, extent in enumerate(shape) if axis not in reduced and extent > 1]
    for axis, in_result in zip(reversed(walked), reversed(kept), strict=False):
        if axis != in_result:
            break
        run *= shape[axis]
    return run


def divided(outputs: int, count: int, pack: Pack, *, columns: bool, is_cpu: bool) -> ReductionStep:
    """The first dispatch, with lanes and splits chosen for the device.

    `columns`: neighbouring results lie nearer to each other in memory than the elements of one.
    """
    lanes, wanted, shortest = 1, ROW_ITEMS, SHORTEST_ROW
    if columns and is_cpu:
        wanted, shortest = COLUMN_ITEMS_CPU, SHORTEST_COLUMN_CPU
    elif columns:
        wanted, shortest = COLUMN_ITEMS, SHORTEST_COLUMN
    elif not is_cpu and count >= 128:
        lanes = 256 if count >= 1024 else 64
        wanted, shortest = ROW_WORKGROUPS, SHORTEST_LANE * lanes
    splits = min(-(-wanted // outputs), count // shortest)
    splits = max(splits, -(-count // (LONGEST_LOOP * lanes)), 1)
    chunk = -(-count // splits)
    return ReductionStep(outputs, count, -(-count // chunk), chunk, lanes, pack)


@dataclass(frozen=True)
class Addressing:
    """How the operands of one dispatch are found from (result, position among its elements).

    Attributes:
        step: the dispatch, widened where that is possible.
        outer_rank, inner_rank: axes of the results and of the reduced elements, merged.
        scattered: whether the four elements of a load have coordinates of their own.
        kinds: of each operand, those of the epilogue last.
        invariant: whether each operand is the same for all elements of a result.
        words: the params block, constants left 0.
        operand_words: where the params of each operand begin.
    """

    step: ReductionStep
    outer_rank: int
    inner_rank: int
    scattered: bool
    kinds: tuple[LeafKind, ...]
    invariant: tuple[bool, ...]
    words: tuple[int, ...]
    operand_words: tuple[int, ...]


def plan_addressing(
    step: ReductionStep,
    shape: tuple[int, ...],
    axes: Sequence[int],
    layouts: Sequence[Layout | None],
    epilogue_layouts: Sequence[Layout | None] = (),
    order: Sequence[int] | None = None,
    backwards: frozenset[int] = frozenset(),
    vectors: int = 1,
    wide_leaves: frozenset[int] = frozenset(),
    constant_words: Sequence[int] = (),
) -> Addressing:
    """Address the operands of a dispatch.

    Args:
        step: the dispatch.
        shape, axes, order: as for `plan_reduction`.
        layouts: of the elements' operands, all of `shape`; None for constants.
        epilogue_layouts: of the results' operands, all of `shape` without `axes`.
        backwards: axes to walk from their end.
        vectors: how many neighbouring loads of results an item may take at once.
        wide_leaves: positions of the operands whose elements are of two words or more, so that
            no load holds four of them.
        constant_words: params words of each operand if it is a constant; 2 by default.
    """
    order = order or range(len(shape))
    inner_axes = [axis for axis in order if axis in axes]
    outer_axes = [axis for axis in range(len(shape)) if axis not in axes]
    outer, inner, offsets = [], [], []
    for layout in layouts:
        if layout is None:
            continue
        strides, offset = list(layout.strides), layout.offset
        for axis in inner_axes:
            if axis in backwards:
                offset += (shape[axis] - 1) * strides[axis]
                strides[axis] = -strides[axis]
        outer.append([strides[axis] for axis in outer_axes])
        inner.append([strides[axis] for axis in inner_axes])
        offsets.append(offset)
    for layout in epilogue_layouts:
        if layout is not None:
            outer.append(list(layout.strides))
            inner.append([0] * len(inner_axes))
            offsets.append(layout.offset)
    outer_extents, outer_strides = coalesce([shape[axis] for axis in outer_axes], outer)
    inner_extents, inner_strides = coalesce([shape[axis] for axis in inner_axes], inner)
    packed = {"none": (), "inner": inner_extents, "outer": outer_extents}[step.pack]
    scattered = bool(packed) and packed[-1] % 4 != 0
    are_many = step.outputs // vectors * step.splits >= FEWEST_WIDE_ITEMS
    if step.pack == "outer" and packed[-1] % (4 * vectors) == 0 and are_many:
        step = replace(step, vectors=vectors)
    width = 4 * step.vectors
    if packed and not scattered:
        shorter = (*packed[:-1], packed[-1] // width)
        if step.pack == "inner":
            inner_extents = shorter
        else:
            outer_extents = shorter
    outputs = step.outputs // step.vectors
    params = [0, step.items, outputs, step.chunk, step.count, *outer_extents, *inner_extents]
    if len(inner_extents) > 1:
        advance = step.lanes * (4 if scattered and step.pack == "inner" else 1)
        params += _digits(advance, inner_extents)
    kinds: list[LeafKind] = []
    invariant, operand_words = [], []
    remaining = iter(zip(offsets, outer_strides, inner_strides, strict=True))
    for position, layout in enumerate((*layouts, *epilogue_layouts)):
        operand_words.append(len(params))
        if layout is None:
            kinds.append("constant")
            invariant.append(True)
            params += [0] * (constant_words[position] if constant_words else 2)
            continue
        offset, own_outer, own_inner = next(remaining)
        invariant.append(not any(own_inner))
        kind, own_words = _leaf(
            step.pack, width, scattered, position in wide_leaves, offset, own_outer, own_inner
        )
        kinds.append(kind)
        params += own_words
    return Addressing(
        step, len(outer_extents), len(inner_extents), scattered, tuple(kinds), tuple(invariant),
        tuple(params), tuple(operand_words),
    )  # fmt: skip


def _leaf(
    pack: Pack,
    width: int,
    scattered: bool,
    is_wide: bool,
    offset: int,
    outer: tuple[int, ...],
    inner: tuple[int, ...],
) -> tuple[LeafKind, list[int]]:
    """Kind and params of one operand: offset, outer strides, inner strides, and for "strided"
    the stride between the `width` elements that an item takes at once."""
    plain = [offset, *outer, *inner]
    if pack == "none":
        return "plain", plain
    own, others = (inner, outer) if pack == "inner" else (outer, inner)
    if scattered:
        return ("splat" if not any(own) else "scattered"), plain
    last = own[-1]
    if last == 0:
        return "splat", plain
    wide = [*own[:-1], width * last]
    strides = [*outer, *wide] if pack == "inner" else [*wide, *inner]
    if (
        last == 1
        and not is_wide
        and all(stride % 4 == 0 for stride in (offset, *own[:-1], *others))
    ):
        return "packed", [offset // 4, *[stride // 4 for stride in strides]]
    return "strided", [offset, *strides, last]


def _digits(number: int, extents: Sequence[int]) -> list[int]:
    """A number of steps along merged axes, as coordinates."""
    digits = []
    for extent in reversed(extents):
        digits.append(number % extent)
        number //= extent
    return digits[::-1]
