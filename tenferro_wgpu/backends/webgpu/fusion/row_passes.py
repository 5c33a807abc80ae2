"""Which operations of a program each pass along a row computes, combines and stores.

Called by row_planning.py; row_kernels.py reads the passes.  Pure functions of structures, which
know neither shapes nor buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tenferro_wgpu.backends.webgpu.expressions import Expression
from tenferro_wgpu.backends.webgpu.fusion.programs import Leaf, Operation
from tenferro_wgpu.backends.webgpu.fusion.selection import as_expression, needed_operations
from tenferro_wgpu.backends.webgpu.kernels.reduction import COMBINERS, adds_groups

#: What an operand of an expression is: an operand from outside, a row, or an element that an
#: earlier pass left in an output; and its number among them.
Reference: TypeAlias = "tuple[Literal['leaf', 'row', 'held'], int]"
#: An element of this cost is read back from its own output.
WORTH_READING = 4


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


def adds_some_groups(each: Pass) -> bool:
    """Whether a pass has sums that the reduction kernels add in groups."""
    return any(adds_groups(combiner, name) for combiner, name, _ in each.reductions)


def shared_arrays(passes: Iterable[Pass]) -> list[tuple[str, int]]:
    """The arrays that the lanes of a row share: (dialect, position among a pass's reductions)."""
    found = {
        (name, number) for each in passes for number, (_, name, _) in enumerate(each.reductions)
    }
    return sorted(found)


class Passes:
    """Assigns the operations of a program to passes."""

    def __init__(
        self, operations: Sequence[Operation], outputs: tuple[int, ...], worth_holding: int
    ) -> None:
        self._worth_holding = worth_holding
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
        if cost < self._worth_holding or slot in self._outputs:
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
