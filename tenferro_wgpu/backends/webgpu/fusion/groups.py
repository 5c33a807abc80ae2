"""What waits to be computed: handles of results, and the groups they will be computed with.

Plain data of fuser.py and running.py, who hold its lock while they change anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import ref

from tenferro_wgpu.backends.webgpu.fusion.programs import Program
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.errors import TenferroError
from tenferro_wgpu.layout import contiguous_layout
from tenferro_wgpu.tensor import Tensor, TensorSpec


class Pending:
    """Handle of a result that is not computed yet, or was a moment ago."""

    __slots__ = ("__weakref__", "slot", "source")

    def __init__(self, source: Group | Product, slot: int) -> None:
        #: What it waits for; then its memory, or why it could not be computed.
        self.source: Group | Product | Buffer | TenferroError = source
        self.slot = slot


class PendingRows(Pending):
    """A pending result that holds rows (see programs.py), not elements of the group's shape."""

    __slots__ = ()


class Group:
    """Recorded operations of one shape, with the buffers they read.

    Running it may be interrupted by a handler that runs it too.  Both then compute the same, so
    who runs it takes the lists first and leaves the attributes alone until the end.

    `program` is written last when something is recorded, so that who runs the group in the
    middle of a recording finds it whole.
    """

    __slots__ = (
        "closed",
        "done",
        "held_bytes",
        "layout",
        "leaves",
        "program",
        "results",
        "slots",
    )

    def __init__(self, root: Program) -> None:
        self.program = root
        self.layout = contiguous_layout(root.shape)
        #: The operands' handles, in the order of the program's leaves.
        self.leaves: list[Any] = []
        #: Weak references to the results' handles, one per operation.
        self.results: list[ref[Pending]] = []
        #: Spec and number of each buffer among the leaves, by id; `leaves` keeps it alive.
        self.slots: dict[int, tuple[TensorSpec, int]] = {}
        #: Bytes of the buffers among the leaves.
        self.held_bytes = 0
        #: No more is recorded.
        self.closed = False
        #: It has run.
        self.done = False

    def undo(self) -> None:
        """Forget what an interrupted recording left behind."""
        del self.results[self.program.length :]
        del self.leaves[self.program.leaf_count :]

    def wanted(self) -> list[Pending]:
        """The results that somebody still holds and that are not computed yet."""
        found = [reference() for reference in self.results[: self.program.length]]
        return [each for each in found if each is not None and each.source is self]

    def finish(self) -> None:
        """Let go of everything."""
        self.closed = self.done = True
        for leaf in self.leaves[: self.program.leaf_count]:
            if type(leaf) is Product:
                leaf.users -= 1
        self.leaves = []
        self.results = []
        self.slots = {}


class Product:
    """A product that waits: an operand of groups, or wanted for itself."""

    __slots__ = ("__weakref__", "name", "operands", "params", "pending", "result", "spec", "users")

    def __init__(
        self, name: str, operands: tuple[Tensor, ...], params: Mapping[str, Any], spec: TensorSpec
    ) -> None:
        self.name = name
        self.operands = operands
        self.params = params
        self.spec = spec
        #: The handle of its result, while somebody holds it.
        self.pending: ref[Pending] | None = None
        #: How many groups read it.
        self.users = 0
        #: Its memory or its error, once it has run.
        self.result: Buffer | TenferroError | None = None

    def is_held(self) -> bool:
        """Whether somebody holds its result."""
        return self.pending is not None and self.pending() is not None

    def finish(self, result: Buffer | TenferroError) -> None:
        """Hand the result out, and let go of the operands."""
        self.result = result
        self.operands = ()
        pending = None if self.pending is None else self.pending()
        if pending is not None:
            pending.source = result
