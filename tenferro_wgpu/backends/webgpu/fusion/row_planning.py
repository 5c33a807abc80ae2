"""Programs with reductions over trailing axes as one kernel: softmax, layer norm and the like.

Called by planning.py; row_kernels.py compiles what it makes.  Pure functions of structures.

An item of the kernel is one row of R x C elements.  It walks its row once per level of
reductions: pass k computes elements that need rows of level k at most, combines them into the
rows of level k + 1 and stores those that are wanted; operations on rows come between passes.  An
element that a later pass needs again is computed again, or read back if it is costly and there is
an output to hold it: its own, or one of the same type that is stored later.

Everything is added in the order of the reduction kernels, so that sums keep their bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, TypeAlias

from tenferro_wgpu.backends.webgpu.dialects import dialect
from tenferro_wgpu.backends.webgpu.fusion.programs import Leaf, Operation, Program
from tenferro_wgpu.backends.webgpu.fusion.row_passes import (
    Pass,
    Passes,
    adds_some_groups,
    shared_arrays,
)
from tenferro_wgpu.backends.webgpu.fusion.selection import name_of
from tenferro_wgpu.backends.webgpu.kernels.elementwise import MapLaunch
from tenferro_wgpu.backends.webgpu.kernels.launch import LONGEST_LOOP, WORKGROUP
from tenferro_wgpu.backends.webgpu.kernels.reduction import BLOCK
from tenferro_wgpu.backends.webgpu.kernels.reduction_plan import Pack, ReductionStep, divided
from tenferro_wgpu.backends.webgpu.kernels.strides import MAX_COUNT, coalesce
from tenferro_wgpu.layout import Layout

#: How an operand lies along a row: constant; one value per row; one element, four elements in one
#: load, or four loads.
WalkKind: TypeAlias = Literal["constant", "row", "plain", "packed", "apart"]

#: Fewest rows on a software adapter, where an invocation takes a row of its own.
FEWEST_ROWS_CPU = 64
#: Invocations per workgroup there: workgroups are what it spreads over threads.
ROWS_PER_WORKGROUP_CPU = 16
#: An element of this cost waits in the output of another, on software adapters (softmax of
#: 2048 x 1024: 5.7 ms instead of 6.2) and elsewhere, where arithmetic is cheaper than memory.
WORTH_HOLDING_CPU = 4
WORTH_HOLDING = 16
#: Software float64 functions of this cost (exp, log, ...) leave a program its several kernels on
#: software adapters: softmax of 512 x 600 takes 80 ms so and 94 in one kernel, measured on
#: SwiftShader.  Cheaper programs are as fast or faster in one (layer norm: 45 ms instead of 49).
DEAR_IN_SOFTWARE = 48
#: Axes of rows that a kernel walks: two of a batch, heads and queries, and one to spare.
MOST_ROW_AXES = 5
#: Bytes of workgroup memory that WebGPU promises.
MOST_WORKGROUP_BYTES = 16384


@dataclass(frozen=True)
class RowStructure:
    """All that the pipeline of a row kernel depends on.

    Rows are numbered pass by pass: what reductions give, then what operations on rows give.

    Attributes:
        leaves: (kind, dialect) of each operand from outside.
        passes: in order.
        outputs: (dialect, number of the row it holds or None for elements) of each output.
        row_rank: axes along which rows are found, merged.
        width: elements per load.
        lanes: invocations of a row.
        is_split: whether the reduction kernels add a row in parts, and those in groups.
        workgroup_size: invocations of a workgroup, which is one row if lanes > 1.
    """

    leaves: tuple[tuple[WalkKind, str], ...]
    passes: tuple[Pass, ...]
    outputs: tuple[tuple[str, int | None], ...]
    row_rank: int
    width: int
    lanes: int
    is_split: bool
    workgroup_size: int

    def leaf_words(self) -> list[int]:
        """Where the params of each operand begin: behind the extents of several axes."""
        word = 4 + (self.row_rank if self.row_rank > 1 else 0)
        found = []
        for kind, name in self.leaves:
            found.append(word)
            word += dialect(name).constant_words if kind == "constant" else 1 + self.row_rank
        return found


@dataclass
class Rows:
    """The kernel of a whole program: `sources` are its operands, `outputs` what it stores.

    `words` are its params, constants left 0.
    """

    rows: int
    columns: int
    sources: tuple[int, ...]
    outputs: tuple[int, ...]
    structure: RowStructure
    words: tuple[int, ...]
    name: str
    launch: MapLaunch | None = None

    @property
    def pipeline_key(self) -> tuple[Any, ...]:
        """The key of its pipeline."""
        return ("reduction/rows", (self.structure,))


def plan_rows(
    program: Program,
    leaves: dict[int, Leaf],
    operations: Sequence[Operation],
    outputs: tuple[int, ...],
    most_buffers: int,
    is_cpu: bool,
) -> Rows | None:
    """One kernel for a program with reductions; None where it does not fit one.

    It does not where other axes than the last ones are reduced, the elements of a row of some
    operand are not neighbours, more buffers are bound than the device allows, rows are too long
    or too few for one item each, or several kernels were measured to be faster.
    """
    axes = program.axes
    combined = {each.taken[0] for each in operations if each.kind == "reduction"}
    word_counts = {dialect(name).words for name in combined}
    if axes is None or len(word_counts) != 1 or not _are_last(program.shape, axes):
        return None
    if any(each.loops for each in operations if each.kind == "element"):
        return None
    if is_cpu and any(
        each.taken[-1] in ("f64s", "c128s") and each.cost >= DEAR_IN_SOFTWARE
        for each in operations
        if each.kind == "element"
    ):
        return None
    rows = prod(program.row_shape)
    columns = prod(program.shape[axis] for axis in axes)
    width = 4 if columns % 4 == 0 and word_counts == {1} else 1
    step = _step(rows, columns, width, is_cpu)
    passes = Passes(operations, outputs, WORTH_HOLDING_CPU if is_cpu else WORTH_HOLDING)
    if step is None or len(passes.levels) * (step.count // step.lanes + 1) > LONGEST_LOOP:
        return None
    made = passes.made(leaves)
    shared = step.lanes * sum(4 * dialect(name).words for name, _ in shared_arrays(made))
    if step.lanes > 1 and shared > MOST_WORKGROUP_BYTES:
        return None
    for each in made:
        if adds_some_groups(each) and any(combiner == "prod" for combiner, _, _ in each.reductions):
            return None  # their blocks differ
    used = [leaves[slot] for slot in passes.sources]
    if sum(leaf.layout is not None for leaf in used) + len(outputs) > most_buffers:
        return None
    found = _operands(used, program.shape, axes, width)
    if found is None:
        return None
    extents, kinds, leaf_words = found
    words = [0, rows, step.count, step.chunk, *(extents if len(extents) > 1 else ()), *leaf_words]
    by_slot = {operation.slot: operation for operation in operations}
    structure = RowStructure(
        kinds,
        made,
        tuple([(by_slot[slot].dialect, passes.row_numbers.get(slot)) for slot in outputs]),
        len(extents),
        width,
        step.lanes,
        step.splits > 1 and any(map(adds_some_groups, made)),
        ROWS_PER_WORKGROUP_CPU if is_cpu else max(WORKGROUP, step.lanes),
    )
    name = name_of(operations)
    return Rows(rows, columns, tuple(passes.sources), outputs, structure, tuple(words), name)


def _step(rows: int, columns: int, width: int, is_cpu: bool) -> ReductionStep | None:
    """How the reduction kernels would walk a row; None where an item should not walk one alone."""
    if rows * columns > MAX_COUNT:
        return None
    pack: Pack = "inner" if width == 4 else "none"
    step = divided(rows, columns // width, pack, columns=False, is_cpu=is_cpu)
    if is_cpu:
        # An item adds the parts that the reduction kernels would, as far as those are one block.
        return step if rows >= FEWEST_ROWS_CPU and step.splits <= BLOCK else None
    return step if step.splits == 1 else None  # else workgroups would be left idle


def _are_last(shape: tuple[int, ...], axes: Iterable[int]) -> bool:
    """Whether `axes` are the last ones, but for axes of extent 1."""
    walked = [axis for axis, extent in enumerate(shape) if extent > 1]
    reduced = [axis for axis in walked if axis in axes]
    return walked[len(walked) - len(reduced) :] == reduced


def _operands(
    leaves: Sequence[Leaf], shape: tuple[int, ...], axes: tuple[int, ...], width: int
) -> tuple[tuple[int, ...], tuple[tuple[WalkKind, str], ...], list[int]] | None:
    """The axes of rows, merged as far as all buffers allow; kinds and params of the operands."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    layouts = [leaf.layout for leaf in leaves if leaf.layout is not None]
    extents, strides = coalesce(
        [shape[axis] for axis in kept],
        [[layout.strides[axis] for axis in kept] for layout in layouts],
    )
    if len(extents) > MOST_ROW_AXES:
        return None
    remaining = iter(strides)
    kinds: list[tuple[WalkKind, str]] = []
    words: list[int] = []
    for leaf in leaves:
        if leaf.layout is None:
            kinds.append(("constant", leaf.dialect))
            words += [0] * dialect(leaf.dialect).constant_words
            continue
        own = next(remaining)
        kind = _kind(leaf.layout, own, shape, axes, width, leaf.dialect)
        if kind is None:
            return None
        kinds.append((kind, leaf.dialect))
        unit = 4 if kind == "packed" else 1
        words += [number // unit for number in (leaf.layout.offset, *own)]
    return extents, tuple(kinds), words


def _kind(
    layout: Layout,
    row_strides: tuple[int, ...],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    width: int,
    name: str,
) -> WalkKind | None:
    """How a buffer is read along a row; None where its elements are not neighbours."""
    extents, (strides,) = coalesce(
        [shape[axis] for axis in axes], [[layout.strides[axis] for axis in axes]]
    )
    if not any(strides):
        return "row"
    if len(extents) > 1 or strides != (1,):
        return None
    if width == 1:
        return "plain"
    aligned = all(stride % 4 == 0 for stride in (layout.offset, *row_strides))
    return "packed" if dialect(name).words == 1 and aligned else "apart"
