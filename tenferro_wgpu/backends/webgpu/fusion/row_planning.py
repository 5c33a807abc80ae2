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
from tenferro_wgpu.backends.webgpu.expressions import Expression
from tenferro_wgpu.backends.webgpu.fusion.programs import Leaf, Operation, Program
from tenferro_wgpu.backends.webgpu.fusion.selection import as_expression, name_of, needed_operations
from tenferro_wgpu.backends.webgpu.kernels.elementwise import MapLaunch
from tenferro_wgpu.backends.webgpu.kernels.launch import LONGEST_LOOP
from tenferro_wgpu.backends.webgpu.kernels.reduction import BLOCK, COMBINERS
from tenferro_wgpu.backends.webgpu.kernels.reduction_plan import divided
from tenferro_wgpu.backends.webgpu.kernels.strides import MAX_COUNT, coalesce
from tenferro_wgpu.layout import Layout

#: What an operand of an expression is: an operand from outside, a row, or an element that an
#: earlier pass left in an output; and its number among them.
Reference: TypeAlias = "tuple[Literal['leaf', 'row', 'held'], int]"
#: How an operand lies along a row: constant; one value per row; one element, four elements in one
#: load, or four loads.
WalkKind: TypeAlias = Literal["constant", "row", "plain", "packed", "apart"]

#: Fewest rows on a software adapter, where an invocation takes a row of its own.
FEWEST_ROWS_CPU = 64
#: Invocations per workgroup there: workgroups are what it spreads over threads.
ROWS_PER_WORKGROUP_CPU = 16
#: An element of this cost is read back from its own output, or from another's.
WORTH_READING = 4
WORTH_HOLDING = 4
#: Bytes of workgroup memory that WebGPU promises.
MOST_WORKGROUP_BYTES = 16384


@dataclass(frozen=True)
class Pass:
    """One walk along the row, and what is done with the rows it makes.

    Attributes:
        elements: computed for each element; its outputs are what is combined or stored.
        operands: where the operands of `elements` come from.
        reductions: (combiner, dialect, position among the outputs of `elements`).
        stores: (number of the output buffer, position among the outputs of `elements`).
        rows: operations on rows behind the pass; all their results are outputs.
        row_operands: where the operands of `rows` come from.
    """

    elements: Expression
    operands: tuple[Reference, ...]
    reductions: tuple[tuple[str, str, int], ...]
    stores: tuple[tuple[int, int], ...]
    rows: Expression
    row_operands: tuple[Reference, ...]


@dataclass(frozen=True)
class RowStructure:
    """All that the pipeline of a row kernel depends on.

    Rows are numbered pass by pass: what reductions give, then what operations on rows give.

    Attributes:
        leaves: (kind, dialect) of each operand from outside.
        passes: in order.
        outputs: (dialect, number of the row it holds or None for elements) of each output.
        width: elements per load.
        lanes: invocations of a row.
        workgroup_size: invocations of a workgroup, which is one row if lanes > 1.
    """

    leaves: tuple[tuple[WalkKind, str], ...]
    passes: tuple[Pass, ...]
    outputs: tuple[tuple[str, int | None], ...]
    width: int
    lanes: int
    workgroup_size: int


def shared_arrays(passes: Iterable[Pass]) -> list[tuple[str, int]]:
    """The arrays that the lanes of a row share: (dialect, position among a pass's reductions)."""
    found = {
        (name, number) for each in passes for number, (_, name, _) in enumerate(each.reductions)
    }
    return sorted(found)


@dataclass
class Rows:
    """The kernel of a whole program: `sources` are its operands, `outputs` what it stores.

    `words` are its params, constants left 0, those of the operands from `first_leaf_word` on.
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

    It does not where other axes than the last ones are reduced, an operand lies otherwise than
    row after row, more buffers are bound than the device allows, or rows are too long or too few
    for one item each.
    """
    axes = program.axes
    if axes is None or not _are_last(program.shape, axes):
        return None
    combined = {each.taken[0] for each in operations if each.kind == "reduction"}
    word_counts = {dialect(name).words for name in combined}
    if len(word_counts) != 1:
        return None
    rows = prod(program.row_shape)
    columns = prod(program.shape[axis] for axis in axes)
    width = 4 if columns % 4 == 0 and word_counts == {1} else 1
    step = divided(
        rows, columns // width, "inner" if width == 4 else "none", columns=False, is_cpu=is_cpu
    )
    if rows * columns > MAX_COUNT:
        return None
    if is_cpu:
        if rows < FEWEST_ROWS_CPU or step.splits > BLOCK:
            return None
    elif step.splits > 1:  # one workgroup a row would leave others idle
        return None
    passes = _Passes(program, operations, outputs)
    walks = len(passes.levels)
    if walks * (step.count // step.lanes + 1) > LONGEST_LOOP:
        return None
    made = passes.made(leaves)
    shared = step.lanes * sum(4 * dialect(name).words for name, _ in shared_arrays(made))
    if step.lanes > 1 and shared > MOST_WORKGROUP_BYTES:
        return None
    kinds: list[tuple[WalkKind, str]] = []
    words = [0, rows, step.count, step.chunk]
    for slot in passes.sources:
        leaf = leaves[slot]
        if leaf.layout is None:
            kinds.append(("constant", leaf.dialect))
            words += [0, 0]
            continue
        found = _walk(leaf.layout, program.shape, axes, width, dialect(leaf.dialect).words)
        if found is None:
            return None
        kind, offset, stride = found
        kinds.append((kind, leaf.dialect))
        words += [offset, stride]
    bound = sum(kind != "constant" for kind, _ in kinds) + len(outputs)
    if bound > most_buffers:
        return None
    by_slot = {operation.slot: operation for operation in operations}
    structure = RowStructure(
        tuple(kinds),
        made,
        tuple([(by_slot[slot].dialect, passes.row_numbers.get(slot)) for slot in outputs]),
        width,
        step.lanes,
        ROWS_PER_WORKGROUP_CPU if is_cpu else max(64, step.lanes),
    )
    return Rows(
        rows, columns, tuple(passes.sources), outputs, structure, tuple(words),
        name_of(operations),
    )  # fmt: skip


def _are_last(shape: tuple[int, ...], axes: Iterable[int]) -> bool:
    """Whether `axes` are the last ones, but for axes of extent 1."""
    walked = [axis for axis, extent in enumerate(shape) if extent > 1]
    reduced = [axis for axis in walked if axis in axes]
    return walked[len(walked) - len(reduced) :] == reduced


def _walk(
    layout: Layout, shape: tuple[int, ...], axes: tuple[int, ...], width: int, words: int
) -> tuple[WalkKind, int, int] | None:
    """How a buffer is read along a row, its offset and its stride between rows; both in loads."""
    strides = []
    for walked in ([axis for axis in range(len(shape)) if axis not in axes], axes):
        extents, (found,) = coalesce(
            [shape[axis] for axis in walked], [[layout.strides[axis] for axis in walked]]
        )
        if len(extents) > 1:
            return None
        strides.append(found[0] if found else 0)
    stride, inner = strides
    if inner == 0:
        return "row", layout.offset, stride
    if inner != 1:
        return None
    if width == 1:
        return "plain", layout.offset, stride
    if words == 1 and layout.offset % 4 == 0 and stride % 4 == 0:
        return "packed", layout.offset // 4, stride // 4
    return "apart", layout.offset, stride


class _Passes:
    """Assigns the operations of a program to passes."""

    def __init__(
        self, program: Program, operations: Sequence[Operation], outputs: tuple[int, ...]
    ) -> None:
        self._operations = operations
        self._elements = [each for each in operations if each.kind == "element"]
        self._outputs = outputs
        self._by_slot = {operation.slot: operation for operation in operations}
        #: Reductions before each value, counting along the longest way.
        self._level: dict[int, int] = {}
        for operation in operations:
            below = max((self._level.get(slot, 0) for slot in operation.arguments), default=0)
            self._level[operation.slot] = below + (operation.kind == "reduction")
        wanted = [slot for slot in outputs if self._by_slot[slot].kind == "element"]
        reductions = [each for each in operations if each.kind == "reduction"]
        last = max(self._level[each.slot] for each in reductions)
        stores_behind = any(self._level[slot] == last for slot in wanted)
        #: The levels that get a pass each.
        self.levels = range(last + stores_behind)
        self._reductions = [
            [each for each in reductions if self._level[each.slot] == level + 1]
            for level in self.levels
        ]
        #: Per pass the elements it stores, by the output that takes them.
        self._stores = [
            {slot: slot for slot in wanted if self._level[slot] == level} for level in self.levels
        ]
        #: Per pass the elements that it finds in an output, by number.
        self._held: list[dict[int, int]] = [{} for _ in self.levels]
        for level in self.levels[1:]:
            self._hold(level)
        #: Numbers of operands from outside and of rows, as they were met.
        self.sources: list[int] = []
        self.row_numbers: dict[int, int] = {}

    def _needed(self, level: int) -> list[Operation]:
        targets = [each.arguments[0] for each in self._reductions[level]]
        targets += self._stores[level].values()
        return needed_operations(self._elements, targets, self._held[level])

    def _hold(self, level: int) -> None:
        """Let a pass read what earlier ones computed, where that is cheaper."""
        needed = self._needed(level)
        earlier = {each.slot: below for below in reversed(range(level))
                   for each in self._needed(below)}  # fmt: skip
        fresh = [each for each in needed if each.slot not in earlier]
        used = {slot for each in fresh for slot in each.arguments}
        used.update(each.arguments[0] for each in self._reductions[level])
        for slot in [each.slot for each in needed if each.slot in earlier and each.slot in used]:
            stored = self._held[level].keys()
            cost = sum(each.cost for each in needed_operations(self._elements, [slot], stored))
            output = self._holder(slot, earlier[slot], level, cost)
            if output is not None:
                self._held[level][slot] = output

    def _holder(self, slot: int, first: int, level: int, cost: int) -> int | None:
        """The output that holds an element of pass `first` until pass `level`."""
        for stores in self._stores[:level]:
            for output, held in stores.items():
                if held == slot and cost >= WORTH_READING and self._is_there(output, slot, level):
                    return output
        if cost < WORTH_HOLDING or slot in self._outputs:
            return None
        for output in self._outputs:
            operation = self._by_slot[output]
            if (
                operation.kind == "element"
                and operation.dialect == self._by_slot[slot].dialect
                and self._level[output] >= level
                and all(output not in stores for stores in self._stores[: self._level[output]])
            ):
                self._stores[first][output] = slot
                return output
        return None

    def _is_there(self, output: int, slot: int, level: int) -> bool:
        """Whether an output still holds an element when pass `level` begins."""
        return all(stores.get(output, slot) == slot for stores in self._stores[:level])

    def made(self, leaves: dict[int, Leaf]) -> tuple[Pass, ...]:
        """The passes, once operands and rows are numbered."""
        return tuple([self._pass(level, leaves) for level in self.levels])

    def _pass(self, level: int, leaves: dict[int, Leaf]) -> Pass:
        needed = self._needed(level)
        reductions = self._reductions[level]
        stores = self._stores[level]
        results = {each.arguments[0]: each.taken[0] for each in reductions}
        results.update({slot: self._by_slot[slot].dialect for slot in stores.values()})
        made = {each.slot for each in needed}
        given = [(slot, name) for slot, name in results.items() if slot not in made]
        elements, sources = as_expression(needed, list(results), given)
        operands = self._references(sources, self._held[level], leaves)
        positions = {slot: position for position, slot in enumerate(results)}
        for each in reductions:
            self.row_numbers[each.slot] = len(self.row_numbers)
        after = [
            each for each in self._operations
            if each.kind == "row" and self._level[each.slot] == level + 1
        ]  # fmt: skip
        rows, row_sources = as_expression(after, [each.slot for each in after])
        row_operands = self._references(row_sources, {}, leaves)
        for each in after:
            self.row_numbers[each.slot] = len(self.row_numbers)
        return Pass(
            elements,
            operands,
            tuple(
                [(COMBINERS[each.name], each.taken[0], positions[each.arguments[0]])
                 for each in reductions]
            ),
            tuple([(self._outputs.index(output), positions[slot])
                   for output, slot in stores.items()]),
            rows,
            row_operands,
        )  # fmt: skip

    def _references(
        self, slots: Iterable[int], held: dict[int, int], leaves: dict[int, Leaf]
    ) -> tuple[Reference, ...]:
        references: list[Reference] = []
        for slot in slots:
            if slot in held:
                references.append(("held", self._outputs.index(held[slot])))
            elif slot in leaves:
                if slot not in self.sources:
                    self.sources.append(slot)
                references.append(("leaf", self.sources.index(slot)))
            else:
                references.append(("row", self.row_numbers[slot]))
        return tuple(references)
