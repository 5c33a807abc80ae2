"""Parts of a program: what some of its values depend on, and that as an expression.

Called by planning.py and row_planning.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tenferro_wgpu.backends.webgpu.expressions import Expression, Step
from tenferro_wgpu.backends.webgpu.fusion.programs import Operation

#: Names of operations that the name of a kernel lists, in errors and profiles.
MOST_NAMES = 8


def needed_operations(
    operations: Sequence[Operation], outputs: Iterable[int], stored: Iterable[int] = ()
) -> list[Operation]:
    """The operations that `outputs` depend on, in order, where `stored` values are known."""
    wanted = set(outputs)
    known = set(stored)
    needed = []
    for operation in reversed(operations):
        if operation.slot in wanted and operation.slot not in known:
            needed.append(operation)
            wanted.update(operation.arguments)
    needed.reverse()
    return needed


def as_expression(
    operations: Sequence[Operation], outputs: Sequence[int], first: Sequence[tuple[int, str]] = ()
) -> tuple[Expression, tuple[int, ...]]:
    """The expression of some operations, and the numbers of the values that it reads.

    `first` are (number, dialect) of values that shall be its first operands.
    """
    made = {operation.slot for operation in operations}
    sources = dict(first)
    for operation in operations:
        for slot, taken in zip(operation.arguments, operation.taken, strict=True):
            if slot not in made:
                sources.setdefault(slot, taken)
    results = [operation.slot for operation in operations]
    numbers = {slot: number for number, slot in enumerate((*sources, *results))}
    steps = [
        Step(
            operation.name,
            operation.taken[-1],
            tuple([numbers[slot] for slot in operation.arguments]),
            operation.dialect,
        )
        for operation in operations
    ]
    stored = tuple([numbers[slot] for slot in outputs])
    return Expression(tuple(sources.values()), tuple(steps), stored), tuple(sources)


def name_of(operations: Sequence[Operation]) -> str:
    """What a kernel that runs some operations is called."""
    names = [operation.name for operation in operations]
    return "+".join(names[:MOST_NAMES]) + ("+..." if len(names) > MOST_NAMES else "")
