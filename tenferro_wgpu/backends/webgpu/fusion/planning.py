"""From the structure of a program to the kernels that compute what is wanted of it.

Called by running.py; kernels.py runs the plans.  Pure functions of structures: no buffer is known.

A program without reductions becomes one map, or several where it binds too many buffers.  With
reductions it is cut at them: a reduction computes the elements it needs as it reads (its
prologue), and what is done with its rows afterwards as it stores (its epilogue); elements behind
a reduction read its rows spread over the reduced axes.  A scan computes the elements it needs as it
reads, too, and stores its result.  Where one kernel can walk along rows and do it all
(row_planning.py), it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tenferro_wgpu.backends.webgpu.dialects import dialect
from tenferro_wgpu.backends.webgpu.expressions import Expression, Step
from tenferro_wgpu.backends.webgpu.fusion.programs import Leaf, Operation, Program
from tenferro_wgpu.backends.webgpu.fusion.row_planning import Rows, plan_rows
from tenferro_wgpu.backends.webgpu.fusion.scans import OWN_BUFFERS, Scan, make_scan
from tenferro_wgpu.backends.webgpu.fusion.selection import (
    as_expression,
    name_of,
    needed_operations,
)
from tenferro_wgpu.backends.webgpu.kernels.elementwise import MAX_RANK, MOVES, MapLaunch, plan_map
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: Elements that cost this much are stored, where they are wanted anyway, before a reduction
#: reads them; cheaper ones are computed again.
WORTH_READING = 4
#: Elements that cost this much are stored even if only kernels want them, and more than one does.
WORTH_STORING = 16

#: Software complex operations of this cost are not copied into a sum that adds eight at once.
DEAR_COMPLEX = 64

#: How a value is found in memory while elements (or rows) are computed; None for constants.
LayoutOf: TypeAlias = Callable[[int], "Layout | None"]


@dataclass
class Map:
    """A kernel over elements or rows: `sources` are the operands of its expression.

    `structure` is what its pipeline depends on, `name` is for errors and profiles.
    """

    shape: tuple[int, ...]
    expression: Expression
    sources: tuple[int, ...]
    layouts: tuple[Layout | None, ...]
    outputs: tuple[int, ...]
    structure: tuple[Any, ...]
    name: str
    launch: MapLaunch | None = None

    @property
    def pipeline_key(self) -> tuple[Any, ...]:
        """The key of its pipeline."""
        return ("elementwise/map", self.structure)


@dataclass(eq=False)
class ReductionRun:
    """What runs of a reduction have in common: operands without memory, and its result.

    It also stands for the reduction as a key, so it equals nothing but itself.
    """

    leaves: tuple[Tensor, ...]
    constants: tuple[Tensor, ...]
    spec: ShapeDtype


@dataclass
class Reduction:
    """A reduction of elements to the rows `output`, with what is done before and after."""

    name: str
    prologue: Expression
    sources: tuple[int, ...]
    layouts: tuple[Layout | None, ...]
    epilogue: Expression | None
    constants: tuple[int, ...]
    output: int
    dialect: str
    structure: tuple[Any, ...]
    run: ReductionRun | None = None


Stage: TypeAlias = "Map | Reduction | Scan | Rows"


@dataclass
class Plan:
    """How a program gives certain of its values.

    Attributes:
        operations: what is needed, in order.
        leaves: every operand of the program by number, in the order of recording.
        released: per operation the numbers of results that nothing uses afterwards.
        rows: the numbers of results that are rows.
        used: the numbers of values that operations read.
        stages: the kernels; none where the operations run one by one.
        ready: whether the kernels are compiled.
        epilogues: the plan as the epilogue of an operand that is a product, by its number and
            whether the product is stored too; None where it is not one.
    """

    program: Program
    outputs: tuple[int, ...]
    operations: list[Operation]
    leaves: dict[int, Leaf]
    released: list[tuple[int, ...]]
    rows: frozenset[int]
    used: frozenset[int]
    stages: list[Stage] = field(default_factory=list)
    ready: bool = False
    epilogues: dict[tuple[int, bool], Any] = field(default_factory=dict)


def make_plan(program: Program, outputs: tuple[int, ...], most_buffers: int, is_cpu: bool) -> Plan:
    """Plan the kernels that compute `outputs` of a program, each with at most `most_buffers`.

    `is_cpu`: for a software adapter.
    """
    leaves, operations = program.listing()
    needed = needed_operations(operations, outputs)
    rows = frozenset([each.slot for each in needed if each.makes_rows])
    used = frozenset([slot for each in needed for slot in each.arguments])
    plan = Plan(program, outputs, needed, leaves, _released(needed, outputs), rows, used)
    # An operation alone is a kernel that everybody shares; moves keep theirs, which moves bits.
    alone = needed[0] if len(needed) == 1 else None
    if alone is None or (alone.kind == "element" and alone.name not in (*MOVES, "select")):
        plan.stages = _Planner(program, leaves, needed, outputs, most_buffers).stages()
        if rows and len(plan.stages) > 1 and not any(each.kind == "scan" for each in needed):
            whole = plan_rows(program, leaves, needed, outputs, most_buffers, is_cpu)
            plan.stages = plan.stages if whole is None else [whole]
    return plan


def _released(operations: Sequence[Operation], outputs: Iterable[int]) -> list[tuple[int, ...]]:
    """Per operation the results that are used last there."""
    kept = set(outputs)
    results = {operation.slot for operation in operations}
    released: list[tuple[int, ...]] = []
    for operation in reversed(operations):
        last = {slot for slot in operation.arguments if slot in results and slot not in kept}
        released.append(tuple(last))
        kept |= last
    released.reverse()
    return released


def make_map(
    shape: tuple[int, ...],
    layout_of: LayoutOf,
    operations: Sequence[Operation],
    outputs: Sequence[int],
) -> Map:
    """One kernel for `operations`; what they do not make themselves is read."""
    expression, sources = as_expression(operations, outputs)
    layouts = tuple([layout_of(slot) for slot in sources])
    dialects = [dialect(name) for name in expression.operands] + list(expression.output_dialects())
    packable = all(each.words == 1 for each in dialects)
    plan = plan_map(layouts, shape, packable, [each.constant_words for each in dialects])
    structure = (expression, plan.kinds, plan.width, plan.rank)
    name = name_of(operations)
    return Map(shape, expression, sources, layouts, tuple(outputs), structure, name)


class _Planner:
    """Cuts one program into kernels; keeps which values are in memory so far."""

    def __init__(
        self,
        program: Program,
        leaves: dict[int, Leaf],
        operations: list[Operation],
        outputs: tuple[int, ...],
        most_buffers: int,
    ) -> None:
        self._program = program
        self._leaves = leaves
        self._operations = operations
        self._outputs = outputs
        self._most_buffers = most_buffers
        self._by_slot = {operation.slot: operation for operation in operations}
        self._stored: set[int] = set()
        self._stages: list[Stage] = []

    def stages(self) -> list[Stage]:
        """The kernels in order."""
        rows = [slot for slot in self._outputs if self._is_row(slot)]
        elements = [slot for slot in self._outputs if not self._is_row(slot)]
        if any(operation.is_barrier for operation in self._operations):
            self._reduce(rows, elements)
        self._add_maps([slot for slot in elements if slot not in self._stored])
        return self._stages

    # ----- elements

    def _is_row(self, slot: int) -> bool:
        operation = self._by_slot.get(slot)
        return operation is not None and operation.makes_rows

    def _layout_of(self, slot: int) -> Layout | None:
        leaf = self._leaves.get(slot)
        if leaf is not None:
            return leaf.layout
        if self._is_row(slot):
            return self._program.row_layout
        return contiguous_layout(self._program.shape)

    def _needed(self, outputs: Iterable[int]) -> list[Operation]:
        return needed_operations(self._operations, outputs, self._stored)

    def _add_maps(self, outputs: Sequence[int]) -> None:
        """Store elements."""
        if outputs:
            self._stages += self._maps(self._needed(outputs), outputs)
            self._stored.update(outputs)

    def _maps(self, operations: Sequence[Operation], outputs: Sequence[int]) -> list[Map]:
        """The kernels for `operations`: halves where one would bind too much."""
        whole = make_map(self._program.shape, self._layout_of, operations, outputs)
        buffers = sum(layout is not None for layout in whole.layouts) + len(outputs)
        rank = whole.structure[3]
        if len(operations) == 1 or (buffers <= self._most_buffers and rank <= MAX_RANK):
            return [whole]
        half = len(operations) // 2
        first, second = operations[:half], operations[half:]
        used = {slot for operation in second for slot in operation.arguments}.union(outputs)
        crossing = [operation.slot for operation in first if operation.slot in used]
        made = {operation.slot for operation in second}
        return [
            *self._maps(first, crossing),
            *self._maps(second, [slot for slot in outputs if slot in made]),
        ]

    # ----- reductions and scans

    def _reduce(self, rows: Sequence[int], elements: Sequence[int]) -> None:
        """Add reductions and scans, level by level: those of a level read from lower ones only."""
        levels: dict[int, int] = {}
        for operation in self._operations:
            level = max((levels.get(slot, 0) for slot in operation.arguments), default=0)
            levels[operation.slot] = level + operation.is_barrier
        kept = self._rows_in_memory(rows)
        for level in range(1, max(levels.values()) + 1):
            reductions = [
                operation
                for operation in self._operations
                if operation.is_barrier and levels[operation.slot] == level
            ]
            self._store_before(reductions, elements)
            ours = {slot for slot in kept if levels[slot] == level}
            for operation in reductions:
                if operation.kind == "reduction":
                    self._add_reduction(operation, ours)
                else:
                    needed = self._needed(operation.arguments)
                    self._stages.append(make_scan(operation, needed, self._layout_of))
                    self._stored.add(operation.slot)
            self._add_row_map([slot for slot in ours if slot not in self._stored])

    def _rows_in_memory(self, rows: Sequence[int]) -> list[int]:
        """Rows that must be stored, in order: wanted ones and those that make elements."""
        used = set(rows)
        for operation in self._operations:
            if not operation.makes_rows:
                used.update(slot for slot in operation.arguments if self._is_row(slot))
        return [operation.slot for operation in self._operations if operation.slot in used]

    def _store_before(self, reductions: Sequence[Operation], wanted: Sequence[int]) -> None:
        """Store the elements that are better read than computed by reductions and scans."""
        reached: set[int] = set()
        stored = []
        for reduction in reductions:
            is_scan = reduction.kind == "scan"
            for argument in reduction.arguments:
                needed = self._needed([argument])
                reached.update(operation.slot for operation in needed)
                users = sum(argument in operation.arguments for operation in self._operations)
                cost = sum(operation.cost for operation in needed)
                buffers = {slot for operation in needed for slot in operation.arguments}
                buffers -= {operation.slot for operation in needed}
                room = self._most_buffers - (OWN_BUFFERS if is_scan else 0)
                too_wide = len(buffers) * len(reduction.arguments) >= room
                is_dear = reduction.taken == ("f64s",) and any(
                    each.taken[-1] == "c128s" and each.cost >= DEAR_COMPLEX for each in needed
                )
                if (
                    # A scan reads every element twice.
                    ((users > 1 or is_scan) and cost >= WORTH_STORING)
                    or too_wide
                    or is_dear
                    or any(each.loops for each in needed)
                ):
                    stored.append(argument)
        for slot in wanted:
            if slot in reached and slot not in stored:
                cost = sum(operation.cost for operation in self._needed([slot]))
                if cost >= WORTH_READING:
                    stored.append(slot)
        made = [operation.slot for operation in self._operations if operation.slot in stored]
        self._add_maps(made)

    def _add_reduction(self, operation: Operation, kept: set[int]) -> None:
        """One reduction; the rows of it alone that must be stored, if one, by its epilogue."""
        own = {operation.slot}
        after = []
        for other in self._operations:
            read = [slot for slot in other.arguments if slot not in self._leaves]
            if other.kind == "row" and own.issuperset(read):
                own.add(other.slot)
                after.append(other)
        shared = {
            slot
            for other in self._operations
            if other.kind == "row" and other.slot not in own
            for slot in other.arguments
            if slot in own
        }
        must = sorted(own & (kept | shared))
        output = must[0] if len(must) == 1 else operation.slot
        epilogue: Expression | None = None
        constants: list[int] = []
        result = operation
        if output != operation.slot:
            steps = needed_operations(after, [output])
            rows = (operation.slot, operation.dialect)
            epilogue, (_, *constants) = as_expression(steps, [output], [rows])
            result = self._by_slot[output]
        (argument,) = operation.arguments
        needed = self._needed([argument])
        if needed:
            prologue, sources = as_expression(needed, [argument])
        else:
            (held,) = operation.taken
            copy = Step("copy", held, (0,), held)
            prologue, sources = Expression((held,), (copy,), (1,)), (argument,)
        layouts = tuple([self._layout_of(slot) for slot in sources])
        structure = (operation.name, prologue, epilogue)
        self._stages.append(
            Reduction(
                operation.name, prologue, sources, layouts, epilogue, tuple(constants),
                output, result.dialect, structure,
            )
        )  # fmt: skip
        self._stored.add(output)

    def _add_row_map(self, outputs: Sequence[int]) -> None:
        """Store rows that are computed from rows."""
        if not outputs:
            return
        outputs = sorted(outputs)
        layout = contiguous_layout(self._program.row_shape)
        self._stages.append(
            make_map(
                self._program.row_shape,
                lambda slot: None if slot in self._leaves else layout,
                self._needed(outputs),
                outputs,
            )
        )
        self._stored.update(outputs)
