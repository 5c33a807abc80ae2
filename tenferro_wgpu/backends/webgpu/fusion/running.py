"""When waiting groups run, and what becomes of their results: the half of the fuser that computes.

`Runner` is the base of fuser.Fuser; nobody else makes one.  It knows groups and plans, not how
operations are recorded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakMethod, ref

from tenferro_wgpu.backends.webgpu.fusion.groups import Group, Pending, Product
from tenferro_wgpu.backends.webgpu.fusion.kernels import compile_stage, run_operation, run_stages
from tenferro_wgpu.backends.webgpu.fusion.planning import Map, Plan, make_plan
from tenferro_wgpu.backends.webgpu.fusion.products import (
    LAUNCHES,
    Epilogue,
    make_epilogue,
    run_epilogue,
)
from tenferro_wgpu.backends.webgpu.fusion.programs import Program
from tenferro_wgpu.backends.webgpu.fusion.row_planning import Rows
from tenferro_wgpu.backends.webgpu.fusion.sightings import Sightings
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher
from tenferro_wgpu.backends.webgpu.kernels.registry import Kernel
from tenferro_wgpu.backends.webgpu.recovery import fresh
from tenferro_wgpu.errors import (
    DeviceLostError,
    DeviceOutOfMemoryError,
    RuntimeClosedError,
    ShaderError,
    TenferroError,
    UnsupportedOperationError,
)
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: Recorded structures kept; with more, recording starts a new tree.
MOST_PROGRAMS = 16384
#: A structure seen this often runs operation by operation: most are never seen again.
SIGHTINGS_BEFORE_COMPILING = 1
#: Sets of wanted results of one program whose plans are kept.
MOST_PLANS = 32


class Runner(Sightings):
    """Runs the groups of one backend, each once, when somebody needs a result or room."""

    def __init__(self, launcher: Launcher) -> None:
        super().__init__(SIGHTINGS_BEFORE_COMPILING)
        self._launcher = launcher
        self._queue = launcher.queue
        #: The queue's own: a handler may record while its thread holds that one, and two locks
        #: taken in either order would block two threads for ever.
        self._lock = launcher.queue.lock
        #: Waiting groups by shape, oldest first.
        self._open: dict[tuple[int, ...], Group] = {}
        #: Waiting products, oldest first.
        self._products: deque[ref[Product]] = deque()
        self._roots: dict[tuple[int, ...], Program] = {}
        self._programs = 0
        self._most_buffers = launcher.limits.max_storage_buffers_per_shader_stage
        self._recorded = self._fused = self._kernels = self._dropped = 0
        self._refused = 0
        self._queue.call_in_forked_child(WeakMethod(self._renew_lock))

    def _renew_lock(self) -> None:
        """In a forked child the queue has another lock: the parent's threads may hold the first."""
        self._lock = self._queue.lock

    def resolve(self, tensor: Tensor) -> None:
        """Give a tensor whose handle is pending the buffer it stands for.

        Raises the error that kept it from being computed, or what computing raises.
        """
        pending = tensor.handle
        if not isinstance(pending, Pending):
            return  # another thread was faster
        if type(pending.source) is Group or type(pending.source) is Product:
            with self._lock:
                source = pending.source
                if type(source) is Group:
                    self._run_for(source, pending)
                elif type(source) is Product:
                    self._run_product(source)
        if isinstance(pending.source, TenferroError):
            raise fresh(pending.source)
        tensor.handle = pending.source

    def resolving(self, kernel: Kernel) -> Kernel:
        """A launch function that gets buffers where its operands are pending."""

        def launch(
            launcher: Launcher,
            name: str,
            operands: tuple[Tensor, ...],
            params: Mapping[str, Any],
            outputs: tuple[ShapeDtype, ...],
        ) -> tuple[Tensor, ...]:
            for operand in operands:
                if isinstance(operand.handle, Pending):
                    self.resolve(operand)
            try:
                return kernel(launcher, name, operands, params, outputs)
            except DeviceOutOfMemoryError:
                if not self.let_go():
                    raise
            return kernel(launcher, name, operands, params, outputs)

        return launch

    def run_all(self) -> None:
        """Queue the kernels of everything that waits.

        Raises DeviceOutOfMemoryError after the rest was queued; what did not fit waits for its
        readers.
        """
        if not (self._open or self._products):
            return
        full: DeviceOutOfMemoryError | None = None
        with self._lock:
            while self._open or self._products:
                try:
                    group = next(iter(list(self._open.values())), None)
                    if group is not None:
                        self._run(group)
                    else:
                        self._run_oldest_product()
                except DeviceOutOfMemoryError as error:
                    full = full or error
        if full is not None:
            raise full

    def let_go(self) -> bool:
        """Free the operands that waiting work keeps alive; whether there was any."""
        with self._lock:
            waited = bool(self._open or self._products)
            with suppress(DeviceOutOfMemoryError):
                self.run_all()
            return waited

    def _run_oldest_product(self) -> None:
        try:
            product = self._products.popleft()()
        except IndexError:
            return  # a handler ran it just now
        if product is not None and product.result is None and product.is_held():
            self._run_product(product)

    def _run_product(self, product: Product) -> None:
        """Queue a product by itself, once; an error it has is raised where it is used."""
        operands = product.operands
        if product.result is not None:
            return
        if self._queue.closed:
            raise RuntimeClosedError("deferred operations")
        try:
            (result,) = LAUNCHES[product.name][0](
                self._launcher, product.name, operands, product.params, (product.spec,)
            )
        except (DeviceOutOfMemoryError, DeviceLostError, RuntimeClosedError):
            raise
        except TenferroError as error:
            product.finish(error)
        else:
            product.finish(result.handle)

    def _run_for(self, group: Group, pending: Pending) -> None:
        """Run a group; where not all of it fits into memory, what one result needs."""
        try:
            self._run(group)
        except DeviceOutOfMemoryError:
            if type(pending.source) is not Group or len(group.wanted()) < 2:
                raise
            self._compute_wanted(group, group.leaves, [pending])

    def _run(self, group: Group) -> None:
        """Queue the kernels of a group, once; nothing where nobody wants a result."""
        if group.done:
            return
        group.closed = True
        program = group.program
        if self._open.get(program.shape) is group:
            self._open.pop(program.shape, None)  # a handler may have run it just now
        if self._queue.closed:
            raise RuntimeClosedError("deferred operations")
        leaves = group.leaves
        wanted = group.wanted()
        if wanted:
            self._compute_wanted(group, leaves, wanted)
        self._count(group, len(wanted))

    def _compute_wanted(self, group: Group, leaves: list[Any], wanted: list[Pending]) -> None:
        """Compute some results of a group and hand them out."""
        program = group.program
        outputs = tuple([pending.slot for pending in wanted])
        plan = program.plans.get(outputs)
        if plan is None:
            if len(program.plans) >= MOST_PLANS:
                program.plans.clear()
            plan = program.plans[outputs] = make_plan(
                program, outputs, self._most_buffers, self._launcher.is_cpu
            )
        values: dict[int, Any] = dict(zip(plan.leaves, leaves, strict=False))
        products = [slot for slot in values if type(values[slot]) is Product]
        if products:
            errors = self._compute_after(products, plan, values)
        else:
            errors = self._compute(plan, values)
        for pending in wanted:
            pending.source = errors.get(pending.slot) or values[pending.slot]

    def _compute_after(
        self, products: list[int], plan: Plan, values: dict[int, Any]
    ) -> dict[int, TenferroError]:
        """`_compute` where some operands are products that may not have run yet."""
        waiting = []
        errors: dict[int, TenferroError] = {}
        for slot in products:
            if slot in plan.used and not self._take_result(slot, values, errors):
                waiting.append(slot)
        if len(waiting) == 1 and not errors and self._with_epilogue(waiting[0], plan, values):
            return {}
        for slot in waiting:
            product: Product = values[slot]
            self._run_product(product)
            self._take_result(slot, values, errors)
        if errors:
            return self._compute_each(plan, values, errors)
        return self._compute(plan, values)

    def _take_result(
        self, slot: int, values: dict[int, Any], errors: dict[int, TenferroError]
    ) -> bool:
        """Put the result of a product in its place; whether it has one."""
        result = values[slot].result
        if isinstance(result, TenferroError):
            errors[slot] = result
        elif result is not None:
            values[slot] = result
        return result is not None

    def _with_epilogue(self, slot: int, plan: Plan, values: dict[int, Any]) -> bool:
        """Compute a plan in the kernel of one of its operands, if there is such a kernel."""
        product: Product = values[slot]
        operands = product.operands
        if product.users > 1 or product.result is not None:
            return False  # another group needs it stored, or it was computed meanwhile
        keeps = product.is_held()
        key = (slot, keeps)
        if key not in plan.epilogues:
            plan.epilogues[key] = make_epilogue(self._launcher, plan, slot, keeps)
        epilogue: Epilogue | None = plan.epilogues[key]
        if epilogue is None:
            return False
        if not (epilogue.ready or self._is_worth_compiling(epilogue.structure)):
            return False
        try:
            run_epilogue(self._launcher, plan, epilogue, product, operands, values)
        except UnsupportedOperationError:
            plan.epilogues[key] = None
            return False
        except (DeviceOutOfMemoryError, DeviceLostError, RuntimeClosedError):
            raise
        except TenferroError:
            return False  # a failed operand: one by one they show what depends on it
        epilogue.ready = True
        if keeps:
            product.finish(values[slot])
        self._fused += len(plan.operations)
        self._kernels += 1
        self._earn()
        return True

    def _count(self, group: Group, wanted: int) -> None:
        if group.done:
            return  # a handler ran it meanwhile
        self._recorded += group.program.length
        self._dropped += group.program.length - wanted
        group.finish()

    def _compute(self, plan: Plan, values: dict[int, Any]) -> dict[int, TenferroError]:
        """Queue the kernels of a plan; returns the errors of results that have none."""
        if plan.stages and (plan.ready or self._compiled(plan)):
            try:
                run_stages(self._launcher, plan, values)
                self._fused += len(plan.operations)
                self._kernels += len(plan.stages)
                self._earn()
                return {}
            except (UnsupportedOperationError, ShaderError):
                plan.stages = []  # too many axes together, say: one by one from now on
                self._refused += 1
                values = self._only_operands(plan, values)
            except (DeviceOutOfMemoryError, DeviceLostError, RuntimeClosedError):
                raise
            except TenferroError:
                # A failed operand.  One by one they show which results depend on it.
                values = self._only_operands(plan, values)
        return self._compute_each(plan, values)

    def _only_operands(self, plan: Plan, values: dict[int, Any]) -> dict[int, Any]:
        """The same dictionary without results."""
        operands = {slot: values[slot] for slot in plan.leaves if slot in values}
        values.clear()
        values.update(operands)
        return values

    def _compute_each(
        self, plan: Plan, values: dict[int, Any], errors: dict[int, TenferroError] | None = None
    ) -> dict[int, TenferroError]:
        """Run operation by operation; `errors` are those of the operands."""
        errors = {} if errors is None else errors
        for operation, released in zip(plan.operations, plan.released, strict=True):
            spoilt = [errors[slot] for slot in operation.arguments if slot in errors]
            if spoilt:
                errors[operation.slot] = spoilt[0]
                continue
            try:
                run_operation(self._launcher, plan, operation, values)
            except (DeviceOutOfMemoryError, DeviceLostError, RuntimeClosedError):
                raise
            except TenferroError as error:
                errors[operation.slot] = error
            for slot in released:
                values.pop(slot, None)
        self._kernels += len(plan.operations)
        return errors

    def _compiled(self, plan: Plan) -> bool:
        """Whether the kernels of a plan are compiled, or worth compiling now."""
        pipelines = self._queue.device.pipelines
        worth = True
        for stage in plan.stages if len(plan.operations) > 1 else ():
            known = isinstance(stage, (Map, Rows)) and pipelines.find(stage.pipeline_key)
            if not known and not self._is_worth_compiling(stage.structure):
                worth = False
        if worth:
            try:
                for stage in plan.stages:
                    compile_stage(self._launcher, stage)
            except (UnsupportedOperationError, ShaderError):
                plan.stages = []
                self._refused += 1
                return False
            plan.ready = True
        return worth

    def _drop_unwanted(self) -> None:
        """Forget waiting groups of which nobody holds a result."""
        for shape, group in list(self._open.items()):
            if not group.wanted():
                self._open.pop(shape, None)
                self._count(group, 0)

    # ----- house-keeping

    def stats(self) -> dict[str, Any]:
        """Counters: operations recorded, run in fused kernels, never stored; kernels; programs."""
        with self._lock:
            self._drop_unwanted()
            return {
                "recorded": self._recorded,
                "fused": self._fused,
                "kernels": self._kernels,
                "dropped": self._dropped,
                "refused": self._refused,
                "waiting": sum(group.program.length for group in self._open.values()),
                "programs": self._programs,
                "max_programs": MOST_PROGRAMS,
            }

    def clear_caches(self) -> None:
        """Forget every recorded structure; what waits is queued first."""
        with self._lock:
            self.run_all()
            self._roots.clear()
            self._programs = 0
            self._sightings.clear()

    def close(self) -> None:
        """Drop what waits: its handles raise RuntimeClosedError when used."""
        with self._lock:
            for group in self._open.values():
                group.closed = True
            self._open.clear()
            self._products.clear()
            self._roots.clear()
