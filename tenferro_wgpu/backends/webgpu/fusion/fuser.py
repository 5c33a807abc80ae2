"""Defers element-wise operations and reductions, to run many in one kernel.

One object per WebGPU backend.  backend.py hands every element-wise primitive and every reduction
to it; it records them in the open group of their shape and returns tensors whose handles are
`Pending`.  Whatever needs the values asks `resolve`, and then kernels compute what is still
wanted of the group: results that nobody holds any more are never stored, and not computed unless
something else needs them.

The first time a structure is seen its operations run one by one, with kernels that every program
shares; only when it comes back are kernels of its own compiled.  Both give the same bits: each
step of a fused kernel is rounded as if it had been stored.

Threads may call everything.  A signal handler or finalizer may record in the middle of a
recording by the same thread; its operations then run at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import ref

from tenferro_wgpu.backends.webgpu.expressions import Expression, Step
from tenferro_wgpu.backends.webgpu.fusion.groups import Group, Pending
from tenferro_wgpu.backends.webgpu.fusion.programs import MOST_COST, Kind, Program, Token
from tenferro_wgpu.backends.webgpu.fusion.running import MOST_PROGRAMS, Runner
from tenferro_wgpu.backends.webgpu.kernels.elementwise import MAX_RANK, launch_elementwise, plan_map
from tenferro_wgpu.backends.webgpu.kernels.launch import Constant, Launcher
from tenferro_wgpu.backends.webgpu.kernels.reduction import launch_reduction
from tenferro_wgpu.backends.webgpu.kernels.registry import Kernel
from tenferro_wgpu.errors import UnsupportedOperationError
from tenferro_wgpu.layout import contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

__all__ = ["Fuser", "Pending"]

#: Groups that may wait at a time; one more sends the oldest off.
MOST_GROUPS = 16
#: Bytes of operands that a waiting group may keep from being freed.
MOST_HELD_BYTES = 256 << 20


class Fuser(Runner):
    """Records, groups and runs the deferred operations of one backend."""

    def __init__(self, launcher: Launcher) -> None:
        super().__init__(launcher)
        self._acquire, self._release = self._lock.acquire, self._lock.release
        #: Whether this thread is recording; true on entry only inside a finalizer or handler.
        self._recording = False
        self._reduce_at_once = self.resolving(launch_reduction)

    def kernels(self, table: Mapping[str, Kernel]) -> dict[str, Kernel]:
        """Launch functions by primitive name that defer what can wait, and resolve operands."""
        deferred = {launch_elementwise: self.defer, launch_reduction: self.defer_reduction}
        return {
            name: deferred.get(kernel) or self.resolving(kernel) for name, kernel in table.items()
        }

    def defer(
        self,
        launcher: Launcher,
        name: str,
        operands: tuple[Tensor, ...],
        params: Mapping[str, Any],
        outputs: tuple[ShapeDtype, ...],
    ) -> tuple[Tensor, ...]:
        """Record one element-wise primitive; raises what running it at once would raise."""
        spec = outputs[0]
        shape = spec.shape
        self._acquire()
        try:
            if self._recording or self._queue.needs_care or 0 in shape:
                for operand in operands:
                    if type(operand.handle) is Pending:
                        self.resolve(operand)
                return launch_elementwise(launcher, name, operands, params, outputs)
            self._recording = True
            try:
                pending = None
                while pending is None:
                    group = self._open.get(shape) or self._begin(shape)
                    pending = self._record(group, name, operands, spec)
            finally:
                self._recording = False
        finally:
            self._release()
        return (Tensor(spec.dtype, contiguous_layout(shape), pending, launcher.backend),)

    def defer_reduction(
        self,
        launcher: Launcher,
        name: str,
        operands: tuple[Tensor, ...],
        params: Mapping[str, Any],
        outputs: tuple[ShapeDtype, ...],
    ) -> tuple[Tensor, ...]:
        """Record one reduction, or run it at once where it cannot be part of a group."""
        spec = outputs[0]
        pending = None
        with self._lock:
            if not (self._recording or self._queue.needs_care):
                self._recording = True
                try:
                    pending = self._record_reduction(name, operands, tuple(params["axes"]), spec)
                finally:
                    self._recording = False
        if pending is None:
            return self._reduce_at_once(launcher, name, operands, params, outputs)
        return (Tensor(spec.dtype, contiguous_layout(spec.shape), pending, launcher.backend),)

    # ----- recording

    def _record(
        self, group: Group, name: str, operands: tuple[Tensor, ...], spec: ShapeDtype
    ) -> Pending | None:
        """Add one element-wise operation to a group; None where the group ended meanwhile."""
        program = group.program
        layout = group.layout
        slots = group.slots
        tokens: list[Token] = []
        leaves: list[Any] = []
        for operand in operands:
            handle = operand.handle
            kind = type(handle)
            if kind is Constant:
                tokens.append(None)
                leaves.append(handle)
                continue
            if kind is Pending:
                if handle.group is group:
                    wanted = program.row_layout if handle.is_row else layout
                    if operand.layout is wanted or operand.layout == wanted:
                        tokens.append(handle.slot)
                        continue
                elif handle.is_row and handle.group is not None:
                    pending = self._record_rows(handle.group, name, operands, spec)
                    if pending is not None:
                        return pending
                self.resolve(operand)  # which may end this very group
                handle = operand.handle
            known = slots.get(id(handle))
            if known is not None and known[0] == operand.layout:
                tokens.append(known[1])
            elif leaves and leaves[-1] is handle and tokens[-1] == operand.layout:
                tokens.append(program.count + len(leaves) - 1)  # x * x
            else:
                tokens.append(operand.layout)
                leaves.append(handle)
        key = (name, operands[-1].dtype, spec.dtype, *tokens)
        longer = program.children.get(key)
        if longer is None:
            longer = self._extend(program, key, name, tokens, operands, spec, "element")
        return self._commit(group, program, longer, leaves, False)

    def _record_rows(
        self, group: Group, name: str, operands: tuple[Tensor, ...], spec: ShapeDtype
    ) -> Pending | None:
        """Add an operation on rows to their group; None where it does not belong there."""
        program = group.program
        rows = contiguous_layout(program.row_shape).size
        if group.closed or contiguous_layout(spec.shape).size != rows:
            return None
        tokens: list[Token] = []
        leaves: list[Any] = []
        for operand in operands:
            handle = operand.handle
            if type(handle) is Constant:
                tokens.append(None)
                leaves.append(handle)
                continue
            at = operand.layout
            if (
                type(handle) is not Pending
                or handle.group is not group
                or not handle.is_row
                or not (at.is_contiguous and at.offset == 0 and at.size == rows)
            ):
                return None
            tokens.append(handle.slot)
        key = ("rows", name, operands[-1].dtype, spec.dtype, *tokens)
        longer = program.children.get(key)
        if longer is None:
            longer = self._extend(program, key, name, tokens, operands, spec, "row")
        return self._commit(group, program, longer, leaves, True)

    def _record_reduction(
        self, name: str, operands: tuple[Tensor, ...], axes: tuple[int, ...], spec: ShapeDtype
    ) -> Pending | None:
        """Add a reduction to the group of its operand; None where it cannot wait."""
        (operand,) = operands
        handle = operand.handle
        if not axes or operand.size == 0 or operand.dtype.kind not in "fiu":
            return None
        token: Token = operand.layout
        leaves: list[Any] = []
        if type(handle) is Pending and handle.buffer is None:
            group = handle.group
            if group is None or handle.is_row or operand.layout != group.layout:
                return None
            token = handle.slot
        elif type(handle) is Constant:
            return None
        else:
            if type(handle) is Pending:
                handle = operand.handle = handle.buffer
            group = self._open.get(operand.shape) or self._begin(operand.shape)
            known = group.slots.get(id(handle))
            if known is not None and known[0] == operand.layout:
                token = known[1]
            else:
                leaves.append(handle)
        program = group.program
        if program.axes is not None and program.axes != axes:
            return None
        key = (name, axes, operand.dtype, spec.dtype, token)
        longer = program.children.get(key)
        if longer is None:
            longer = self._extend(program, key, name, [token], operands, spec, "reduction", axes)
        return self._commit(group, program, longer, leaves, True)

    def _commit(
        self, group: Group, program: Program, longer: Program, leaves: list[Any], is_row: bool
    ) -> Pending | None:
        """Make `longer` the group's program; None where the group ends without it."""
        if longer.is_full and program.length:
            self._run(group)
        if group.closed:
            return None
        pending = Pending(group, longer.count - 1, is_row)
        if leaves:
            group.leaves[program.leaf_count :] = leaves
        group.results[program.length :] = (ref(pending),)
        group.program = longer
        if leaves:
            slots = group.slots
            for leaf in longer.leaves:
                if leaf.layout is not None:
                    slots[id(leaves[leaf.slot - program.count])] = (leaf.layout, leaf.slot)
        # A handler may have run the group between the look at it and the recording.
        return None if group.ended_without(pending) else pending

    def _begin(self, shape: tuple[int, ...]) -> Group:
        """Open a group."""
        if len(self._open) >= MOST_GROUPS:
            self._drop_unwanted()
            while len(self._open) >= MOST_GROUPS:
                self._run(next(iter(self._open.values())))
        root = self._roots.get(shape)
        if root is None:
            if self._programs >= MOST_PROGRAMS:
                self._roots.clear()
                self._programs = 0
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
    ) -> Program:
        """A program met for the first time: check that it can run, as running at once would."""
        launcher = self._launcher
        dialects = [launcher.dialect(operand.dtype) for operand in operands]
        result = launcher.dialect(spec.dtype, name)
        if kind != "reduction":
            names = tuple(each.name for each in dialects)
            step = Step(name, names[-1], tuple(range(len(names))), result.name)
            try:
                Expression(names, (step,), ()).statements()
                layouts = [operand.layout for operand in operands]
                if plan_map(layouts, spec.shape, False).rank > MAX_RANK:
                    raise UnsupportedOperationError(
                        name, backend="webgpu", hint="copy the operands to C order first"
                    )
            except UnsupportedOperationError as error:
                raise UnsupportedOperationError(
                    name, dtype=operands[-1].dtype, backend="webgpu", hint=error.hint
                ) from error
        item = 4 * result.words
        launcher.check_bindable(contiguous_layout(spec.shape).size * item, name)
        longer = program.extended(name, tokens, dialects, result, kind, axes)
        held = max(2, MOST_HELD_BYTES // (contiguous_layout(program.shape).size * item))
        longer.is_full = longer.cost > MOST_COST or longer.buffer_count > min(
            self._most_buffers - 1, held
        )
        program.children[key] = longer
        self._programs += 1
        return longer
