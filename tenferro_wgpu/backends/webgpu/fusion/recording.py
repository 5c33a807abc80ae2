"""Adds operations to groups: element-wise ones, scans, reductions, and what is done with rows.

`Recorder` is the half of the fuser between fuser.py, which says what may wait, and running.py,
which computes.  Its methods are called with the lock held and `_recording` set.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from weakref import ref

from tenferro_wgpu.backends.webgpu.dialects import dialect
from tenferro_wgpu.backends.webgpu.expressions import Expression, Step
from tenferro_wgpu.backends.webgpu.fusion.groups import Group, Pending, PendingRows, Product
from tenferro_wgpu.backends.webgpu.fusion.programs import MOST_COST, Along, Kind, Program, Token
from tenferro_wgpu.backends.webgpu.fusion.running import MOST_PROGRAMS, Runner
from tenferro_wgpu.backends.webgpu.kernels.elementwise import MAX_RANK, plan_map
from tenferro_wgpu.backends.webgpu.kernels.launch import Constant, Launcher
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.errors import DeviceOutOfMemoryError, UnsupportedOperationError
from tenferro_wgpu.layout import contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor, contiguous_spec

#: Groups that may wait at a time; one more sends the oldest off.
MOST_GROUPS = 16
#: Bytes of operands that a waiting group may keep from being freed.
MOST_HELD_BYTES = 256 << 20


class Recorder(Runner):
    """Keeps groups and walks their programs; base of fuser.Fuser."""

    def __init__(self, launcher: Launcher) -> None:
        super().__init__(launcher)
        #: Operations that were found to run, by their dialects: as many as there are of both.
        self._supported: set[tuple[str, tuple[str, ...], str]] = set()

    def _record(
        self,
        group: Group,
        name: str,
        operands: tuple[Tensor, ...],
        output: ShapeDtype,
        along: Along | None = None,
    ) -> Tensor | None:
        """Add an element-wise operation, or a scan `along` an axis, to a group.

        None where the group ended meanwhile.
        """
        program = group.program
        layout = group.layout
        leaves: list[Any] = []
        key: list[Any] = [name]
        for operand in operands:
            handle = operand.handle
            kind = handle.__class__
            if kind is Pending and handle.source is group and operand.layout is layout:
                key.append(handle.slot)
                continue
            if kind is Constant:
                key.append(operand.dtype)
                leaves.append(handle)
                continue
            if kind is not Buffer:
                if handle.source is group:
                    wanted = program.row_layout if kind is PendingRows else layout
                    if operand.layout == wanted:
                        key.append(handle.slot)
                        continue
                elif kind is PendingRows and handle.source.__class__ is Group and along is None:
                    made = self._record_rows(handle.source, name, operands, output)
                    if made is not None:
                        return made
                source = handle.source
                # Not where it was reshaped since: it is computed in its own shape.
                if source.__class__ is Product and operand.layout == layout == source.spec.layout:
                    handle = source
                else:
                    self.resolve(operand)  # which may end this very group
                    handle = operand.handle
            spec = operand.spec
            known = group.slots.get(id(handle))
            if known is not None and known[0] is spec:
                key.append(known[1])
            elif leaves and leaves[-1] is handle and key[-1] is spec:
                key.append(program.count + len(leaves) - 1)  # x * x
            else:
                key.append(spec)
                leaves.append(handle)
        if name == "cast":
            key.append(output.dtype)
        elif along is not None:
            key.append(along)
        path = tuple(key)
        longer = program.children.get(path)
        if longer is None:
            tokens = key[1 : len(operands) + 1]
            of: Kind = "element" if along is None else "scan"
            longer = self._extend(program, path, name, tokens, operands, output, of, None, along)
        if longer.is_full and program.length:
            self._run(group)
        if group.closed:
            return None
        pending = Pending(group, longer.count - 1)
        if leaves:
            return self._commit(group, program, longer, leaves, pending)
        # The same, spelled out for the commonest case.
        group.results.append(ref(pending))
        group.program = longer
        if group.done and pending.source is group:
            return None
        spec = longer.spec
        return Tensor(spec.dtype, spec.layout, pending, self._launcher.backend, None, spec)

    def _record_rows(
        self, group: Group, name: str, operands: tuple[Tensor, ...], output: ShapeDtype
    ) -> Tensor | None:
        """Add an operation on rows to their group; None where it does not belong there."""
        program = group.program
        rows = contiguous_layout(program.row_shape).size
        shape = output.shape
        if group.closed or contiguous_layout(shape).size != rows:
            return None
        tokens: list[Token] = []
        leaves: list[Any] = []
        for operand in operands:
            handle = operand.handle
            if type(handle) is Constant:
                tokens.append(operand.dtype)
                leaves.append(handle)
                continue
            at = operand.layout
            if (
                type(handle) is not PendingRows
                or handle.source is not group
                or not (at.is_contiguous and at.offset == 0 and at.size == rows)
            ):
                return None
            tokens.append(handle.slot)
        path = ("rows", name, output.dtype, shape, *tokens)
        longer = program.children.get(path)
        if longer is None:
            longer = self._extend(program, path, name, tokens, operands, output, "row")
        if longer.is_full:
            self._run(group)
            return None
        pending = PendingRows(group, longer.count - 1)
        return self._commit(group, program, longer, leaves, pending)

    def _record_scan(
        self, name: str, operands: tuple[Tensor, ...], along: Along, output: ShapeDtype
    ) -> Tensor | None:
        """Add a scan to the group of an operand that waits; None where none does."""
        for operand in operands:
            group = operand.handle.source if type(operand.handle) is Pending else None
            if type(group) is Group and operand.layout == group.layout and 0 not in output.shape:
                return self._record(group, name, operands, output, along)
        return None

    def _record_reduction(
        self, name: str, operand: Tensor, axes: tuple[int, ...], output: ShapeDtype
    ) -> Tensor | None:
        """Add a reduction to the group of its operand; None where it cannot wait."""
        handle = operand.handle
        if not axes or operand.size == 0 or operand.dtype.kind not in "fiuc":
            return None
        if isinstance(handle, Pending) and type(handle.source) is not Group:
            self.resolve(operand)
            handle = operand.handle
        token: Token = operand.spec
        leaves: list[Any] = []
        if type(handle) is Buffer:
            group = self._open.get(operand.shape) or self._begin(operand.shape)
            known = group.slots.get(id(handle))
            if known is not None and known[0] is operand.spec:
                token = known[1]
            else:
                leaves.append(handle)
        elif type(handle) is Pending and isinstance(handle.source, Group):
            group = handle.source
            token = handle.slot
            if operand.layout != group.layout:
                return None
        else:
            return None
        program = group.program
        if program.axes is not None and program.axes != axes:
            return None
        path = (name, axes, token)
        longer = program.children.get(path)
        if longer is None:
            longer = self._extend(
                program, path, name, [token], (operand,), output, "reduction", axes
            )
        if longer.is_full and program.length:
            self._run(group)
        if group.closed:
            return None
        pending = PendingRows(group, longer.count - 1)
        return self._commit(group, program, longer, leaves, pending)

    def _commit(
        self, group: Group, program: Program, longer: Program, leaves: list[Any], pending: Pending
    ) -> Tensor | None:
        """Make `longer` the group's program; None where the group ends without it."""
        group.results.append(ref(pending))
        group.leaves += leaves
        group.program = longer
        for leaf in longer.leaves:
            if leaf.spec is not None:
                handle = leaves[leaf.slot - program.count]
                group.slots[id(handle)] = (leaf.spec, leaf.slot)
                if type(handle) is Product:
                    handle.users += 1
                else:
                    group.held_bytes += handle.slot.size
        if group.done and pending.source is group:
            return None  # a handler ran the group between the look at it and the recording
        if group.held_bytes > MOST_HELD_BYTES:
            with suppress(DeviceOutOfMemoryError):
                self._run(group)
        spec = longer.spec
        return Tensor(spec.dtype, spec.layout, pending, self._launcher.backend, None, spec)

    def _undo(self) -> None:
        """Forget what an interrupted recording left in the lists of some group."""
        for group in self._open.values():
            group.undo()

    def _begin(self, shape: tuple[int, ...]) -> Group:
        """Open a group."""
        if len(self._open) >= MOST_GROUPS:
            self._drop_unwanted()
            for group in list(self._open.values())[: len(self._open) - MOST_GROUPS + 1]:
                with suppress(DeviceOutOfMemoryError):  # its readers will try again
                    self._run(group)
        if self._programs >= MOST_PROGRAMS:
            self._roots.clear()
            self._programs = 0
        root = self._roots.get(shape)
        if root is None:
            root = self._roots[shape] = Program(shape)
            self._programs += 1
        group = self._open[shape] = Group(root)
        return group

    def _extend(
        self,
        program: Program,
        key: tuple[Any, ...],
        name: str,
        tokens: list[Token],
        operands: tuple[Tensor, ...],
        spec: ShapeDtype,
        kind: Kind,
        axes: tuple[int, ...] | None = None,
        along: Along | None = None,
    ) -> Program:
        """A program met for the first time: check that it can run, as running at once would."""
        launcher = self._launcher
        dialects = [launcher.dialect(operand.dtype) for operand in operands]
        result = launcher.dialect(spec.dtype, name)
        if kind in ("element", "row"):
            self._check_supported(name, tuple([each.name for each in dialects]), result.name)
            if len(spec.shape) > MAX_RANK:
                layouts = [operand.layout for operand in operands]
                if plan_map(layouts, spec.shape, False).rank > MAX_RANK:
                    raise UnsupportedOperationError(
                        name, backend="webgpu", hint="copy the operands to C order first"
                    )
        item = 4 * result.words
        size = contiguous_layout(spec.shape).size
        launcher.check_bindable(size * item, name)
        if kind == "reduction":
            check_counts(name, size, operands[0].size // size)
        found = contiguous_spec(spec)
        longer = program.extended(name, tokens, dialects, result, found, kind, axes, along)
        longer.is_full = longer.cost > MOST_COST or longer.buffer_count > self._most_buffers - 1
        program.children[key] = longer
        self._programs += 1
        return longer

    def _check_supported(self, name: str, taken: tuple[str, ...], result: str) -> None:
        """Raise UnsupportedOperationError for a function that a dialect lacks."""
        if (name, taken, result) in self._supported:
            return
        step = Step(name, taken[-1], tuple(range(len(taken))), result)
        try:
            Expression(taken, (step,), ()).statements()
        except UnsupportedOperationError as error:
            raise UnsupportedOperationError(
                name, dtype=dialect(taken[-1]).dtype_name, backend="webgpu", hint=error.hint
            ) from error
        self._supported.add((name, taken, result))
