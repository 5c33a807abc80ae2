"""The structure of recorded work, as a tree that every recording walks down.

A `Program` says which operations were recorded over which layouts, but not over which buffers:
two training steps walk the same path and end at the same object, where their plans are kept.
So a structure is never hashed as a whole; an operation costs one look-up of what it adds.
Only fuser.py makes programs; planning.py reads them.  No buffer and no device is known here.

Values come in two kinds: *elements*, one per element of the program's shape, and *rows*, one
per element of what is left when `axes` are reduced.  Rows come from reductions and from
element-wise operations on rows, and may be spread over the reduced axes to make elements again.
A scan makes elements of elements, but not each of one: it needs a kernel of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from tenferro_wgpu.backends.webgpu.dialects import Dialect
from tenferro_wgpu.backends.webgpu.expressions import (
    LOOPING_COMPLEX,
    LOOPING_FLOATS,
    LOOPING_INTEGERS,
    LOOPING_WIDE_FLOATS,
    TRANSCENDENTAL,
)
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import TensorSpec, tensor_spec

#: What an operand is to a program: the number of an earlier value, the spec of a buffer that is
#: new to the program, or the dtype of a new constant.
Token: TypeAlias = "int | TensorSpec | np.dtype[Any]"
#: What an operation makes and from what: elements, elements of whole lines, rows of elements, or
#: rows of rows.
Kind: TypeAlias = Literal["element", "scan", "reduction", "row"]


@dataclass(frozen=True)
class Along:
    """The axis of a scan, and whether it begins at the end."""

    axis: int
    reverse: bool


#: Cost of a step in a kernel, by dialect: plain arithmetic, division and roots, transcendental
#: functions.  Software arithmetic is inlined at each use and takes long to compile.
_COSTS = {
    "f32": (1, 1, 4),
    "f16s": (2, 3, 6),
    "f16n": (1, 1, 6),
    "f64n": (2, 2, 16),
    "f64s": (4, 16, 48),
    "i64s": (2, 12, 12),
    "u64s": (2, 8, 8),
    "c64": (2, 6, 24),
    "c128n": (4, 12, 64),
    "c128s": (16, 64, 128),
}
_PLAIN_COSTS = (1, 1, 1)
_ROOTS = frozenset({"div", "sqrt", "rsqrt"})
#: A program of this cost is not extended: more saves little, and compiling takes longer.
MOST_COST = 128


@dataclass(frozen=True)
class Leaf:
    """An operand from outside: value `slot`, a buffer with a `spec` or (None) a constant."""

    slot: int
    spec: TensorSpec | None
    dialect: str

    @property
    def layout(self) -> Layout | None:
        """How a buffer is walked."""
        return None if self.spec is None else self.spec.layout


@dataclass(frozen=True)
class Operation:
    """One recorded operation: value `slot` is `name` of the values `arguments`.

    `taken` are the dialects of its arguments, `dialect` is that of its result; `along` is what a
    scan goes along.
    """

    slot: int
    name: str
    arguments: tuple[int, ...]
    taken: tuple[str, ...]
    dialect: str
    kind: Kind
    along: Along | None = None

    @property
    def makes_rows(self) -> bool:
        """Whether its result is rows."""
        return self.kind in ("reduction", "row")

    @property
    def is_barrier(self) -> bool:
        """Whether it needs a kernel of its own, which makes its result known to later ones."""
        return self.kind in ("reduction", "scan")

    @property
    def cost(self) -> int:
        """What the step adds to a kernel, in units of one float32 addition."""
        plain, root, transcendental = _COSTS.get(self.taken[-1], _PLAIN_COSTS)
        if self.name in TRANSCENDENTAL:
            return transcendental
        is_modulus = self.name in ("abs", "sign") and self.taken[-1].startswith("c")
        return root if self.name in _ROOTS or is_modulus else plain

    @property
    def loops(self) -> bool:
        """Whether the step itself is a loop, which no loop of a kernel may hold."""
        taken = self.taken[-1]
        by_kind = {"i": LOOPING_INTEGERS, "u": LOOPING_INTEGERS, "c": LOOPING_COMPLEX}
        floats = LOOPING_WIDE_FLOATS if taken.startswith("f64") else LOOPING_FLOATS
        return self.name in by_kind.get(taken[0], floats)


class Program:
    """A sequence of operations over one index space; the path from the root is the sequence.

    Attributes:
        shape: the index space of elements.
        axes: what reductions of the program reduce; None before the first.
        row_shape: the index space of rows, and row_layout how they are spread over `shape`.
        spec: dtype and layout of the last result, as its tensors have them.
        operation: the last one, and leaves the operands that came with it.
        count: values so far, operands and results alike.
        leaf_count: operands so far; buffer_count: those of them that are buffers.
        length: operations so far; cost: the sum of their costs.
        is_full: whether it is more than one kernel should do, so that it must not be recorded.
        children: longer programs by what the operation adds.
        plans: how to run it, by the numbers of the values that are wanted.
    """

    __slots__ = (
        "axes",
        "buffer_count",
        "children",
        "cost",
        "count",
        "is_full",
        "leaf_count",
        "leaves",
        "length",
        "operation",
        "parent",
        "plans",
        "row_layout",
        "row_shape",
        "shape",
        "spec",
    )

    def __init__(self, shape: tuple[int, ...], parent: Program | None = None) -> None:
        self.shape = shape
        self.parent = parent
        self.axes: tuple[int, ...] | None = None if parent is None else parent.axes
        self.row_shape: tuple[int, ...] = () if parent is None else parent.row_shape
        self.row_layout: Layout | None = None if parent is None else parent.row_layout
        self.children: dict[tuple[Any, ...], Program] = {}
        self.plans: dict[tuple[int, ...], Any] = {}
        self.operation: Operation | None = None
        self.spec: TensorSpec = tensor_spec(np.dtype(np.float32), contiguous_layout(shape))
        self.leaves: tuple[Leaf, ...] = ()
        self.count = self.leaf_count = self.buffer_count = self.length = self.cost = 0
        self.is_full = False

    def extended(
        self,
        name: str,
        tokens: Sequence[Token],
        operands: Sequence[Dialect],
        result: Dialect,
        spec: TensorSpec,
        kind: Kind,
        axes: tuple[int, ...] | None = None,
        along: Along | None = None,
    ) -> Program:
        """The program with one operation more; the caller stores it among `children`."""
        longer = Program(self.shape, self)
        slot = self.count
        leaves, arguments = [], []
        for token, dialect in zip(tokens, operands, strict=True):
            if isinstance(token, int):
                arguments.append(token)
                continue
            spec_of = token if isinstance(token, TensorSpec) else None
            leaves.append(Leaf(slot, spec_of, dialect.name))
            arguments.append(slot)
            slot += 1
        taken = tuple([each.name for each in operands])
        operation = Operation(slot, name, tuple(arguments), taken, result.name, kind, along)
        longer.operation = operation
        longer.spec = spec
        longer.leaves = tuple(leaves)
        longer.count = slot + 1
        longer.leaf_count = self.leaf_count + len(leaves)
        longer.buffer_count = self.buffer_count + sum(leaf.spec is not None for leaf in leaves)
        longer.length = self.length + 1
        longer.cost = self.cost + operation.cost
        if kind == "reduction" and self.axes is None:
            assert axes is not None, "a reduction has axes"
            longer.axes = axes
            kept = [axis for axis in range(len(self.shape)) if axis not in axes]
            longer.row_shape = tuple([self.shape[axis] for axis in kept])
            rows = contiguous_layout(longer.row_shape)
            longer.row_layout = rows.broadcast_in_dim(self.shape, kept)
        return longer

    def path(self) -> Iterator[Program]:
        """The programs from the first operation to this one."""
        found = []
        program: Program | None = self
        while program is not None and program.operation is not None:
            found.append(program)
            program = program.parent
        return reversed(found)

    def listing(self) -> tuple[dict[int, Leaf], list[Operation]]:
        """Operands by number, in the order of recording, and operations in order."""
        leaves: dict[int, Leaf] = {}
        operations: list[Operation] = []
        for program in self.path():
            leaves.update({leaf.slot: leaf for leaf in program.leaves})
            assert program.operation is not None
            operations.append(program.operation)
        return leaves, operations
