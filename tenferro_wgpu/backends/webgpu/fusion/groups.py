"""What waits to be computed: handles of results, and the groups they will be computed with.

Plain data of fuser.py and running.py, who hold its lock while they change anything.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

from tenferro_wgpu.backends.webgpu.fusion.programs import Program
from tenferro_wgpu.errors import TenferroError
from tenferro_wgpu.layout import Layout, contiguous_layout


class Pending:
    """Handle of a result that is not computed yet, or was a moment ago."""

    __slots__ = ("__weakref__", "buffer", "error", "group", "is_row", "slot")

    def __init__(self, group: Group, slot: int, is_row: bool) -> None:
        #: Where it waits; None once the group has run.
        self.group: Group | None = group
        self.slot = slot
        #: Whether it holds rows (see programs.py) and not elements of the group's shape.
        self.is_row = is_row
        #: Its memory, once computed.
        self.buffer: Any = None
        #: Why it could not be computed; raised on use.
        self.error: TenferroError | None = None


class Group:
    """Recorded operations of one shape, with the buffers they read.

    `program` is written last when something is recorded: what lies in the lists beyond its
    counts was left by an interrupted recording and does not exist.
    """

    __slots__ = ("closed", "done", "layout", "leaves", "program", "results", "slots")

    def __init__(self, root: Program) -> None:
        self.program = root
        self.layout = contiguous_layout(root.shape)
        #: The operands' handles, in the order of the program's leaves.
        self.leaves: list[Any] = []
        #: Weak references to the results' handles, one per operation.
        self.results: list[ref[Pending]] = []
        #: Layout and number of each buffer among the leaves, by id; `leaves` keeps it alive.
        self.slots: dict[int, tuple[Layout, int]] = {}
        #: No more is recorded.
        self.closed = False
        #: It has run.
        self.done = False

    def wanted(self) -> list[Pending]:
        """The results that somebody still holds."""
        found = [reference() for reference in self.results[: self.program.length]]
        return [pending for pending in found if pending is not None]

    def ended_without(self, pending: Pending) -> bool:
        """Whether the group runs no more, and a result of it was not computed."""
        return self.closed and pending.group is not None

    def finish(self) -> None:
        """Let go of everything."""
        self.closed = self.done = True
        self.leaves = []
        self.results = []
        self.slots = {}
