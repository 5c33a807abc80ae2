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

from collections.abc import Callable, Mapping
from contextlib import suppress
from math import prod
from typing import Any
from weakref import ref

from tenferro_wgpu.backends.webgpu.fusion.groups import Pending
from tenferro_wgpu.backends.webgpu.fusion.products import LAUNCHES, make_product
from tenferro_wgpu.backends.webgpu.fusion.programs import Along
from tenferro_wgpu.backends.webgpu.fusion.recording import MOST_HELD_BYTES, Recorder
from tenferro_wgpu.backends.webgpu.kernels.contraction import launch_contraction
from tenferro_wgpu.backends.webgpu.kernels.convolution import convolving, launch_convolution
from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.launch import Constant, Launcher
from tenferro_wgpu.backends.webgpu.kernels.reduction import launch_reduction
from tenferro_wgpu.backends.webgpu.kernels.registry import Kernel
from tenferro_wgpu.backends.webgpu.kernels.scanning import launch_scan
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts
from tenferro_wgpu.errors import DeviceOutOfMemoryError
from tenferro_wgpu.tensor import ShapeDtype, Tensor, contiguous_spec

__all__ = ["Fuser", "Pending"]

#: Products that may wait at a time.
MOST_PRODUCTS = 8


class Fuser(Recorder):
    """Records, groups and runs the deferred operations of one backend."""

    def __init__(self, launcher: Launcher) -> None:
        super().__init__(launcher)
        #: Whether this thread is recording; true on entry only inside a finalizer or handler.
        self._recording = False
        self._products_at_once = {
            name: self.resolving(launch) for name, (launch, _) in LAUNCHES.items()
        }
        self._map_at_once = self.resolving(launch_elementwise)
        self._reduce_at_once = self.resolving(launch_reduction)
        self._scan_at_once = self.resolving(launch_scan)

    def kernels(self, table: Mapping[str, Kernel]) -> dict[str, Kernel]:
        """Launch functions by primitive name that defer what can wait, and resolve operands."""
        deferred = {
            launch_elementwise: self.defer,
            launch_reduction: self.defer_reduction,
            launch_scan: self.defer_scan,
            launch_contraction: self.defer_product,
            launch_convolution: self.resolving(
                convolving(self.defer_product, self.defer_product, self.defer)
            ),
        }
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
        shape = outputs[0].shape
        # `with`, which no handler can interrupt between taking the lock and the block.
        with self._lock:
            if not (self._recording or self._queue.needs_care or 0 in shape):
                try:
                    self._recording = True
                    made = None
                    while made is None:
                        group = self._open.get(shape) or self._begin(shape)
                        made = self._record(group, name, operands, outputs[0])
                    return (made,)
                except BaseException:
                    self._undo()
                    raise
                finally:
                    self._recording = False
        return self._map_at_once(launcher, name, operands, params, outputs)

    def defer_reduction(
        self,
        launcher: Launcher,
        name: str,
        operands: tuple[Tensor, ...],
        params: Mapping[str, Any],
        outputs: tuple[ShapeDtype, ...],
    ) -> tuple[Tensor, ...]:
        """Record one reduction, or run it at once where it cannot be part of a group."""
        axes = tuple(params["axes"])
        made = self._try_recording(self._record_reduction, name, operands[0], axes, outputs[0])
        if made is None:
            return self._reduce_at_once(launcher, name, operands, params, outputs)
        return (made,)

    def defer_scan(
        self,
        launcher: Launcher,
        name: str,
        operands: tuple[Tensor, ...],
        params: Mapping[str, Any],
        outputs: tuple[ShapeDtype, ...],
    ) -> tuple[Tensor, ...]:
        """Record a scan of what waits, or run it at once where nothing would be saved."""
        along = Along(params["axis"], bool(params.get("reverse", False)))
        made = self._try_recording(self._record_scan, name, operands, along, outputs[0])
        if made is None:
            return self._scan_at_once(launcher, name, operands, params, outputs)
        return (made,)

    def _try_recording(
        self, record: Callable[..., Tensor | None], *arguments: Any
    ) -> Tensor | None:
        """What `record` makes, with the lock held; None where nothing may be recorded."""
        with self._lock:
            if self._recording or self._queue.needs_care:
                return None
            try:
                self._recording = True
                return record(*arguments)
            except BaseException:
                self._undo()
                raise
            finally:
                self._recording = False

    def defer_product(
        self,
        launcher: Launcher,
        name: str,
        operands: tuple[Tensor, ...],
        params: Mapping[str, Any],
        outputs: tuple[ShapeDtype, ...],
    ) -> tuple[Tensor, ...]:
        """Let a product, of matrices or with windows, wait for the element-wise work behind it."""
        spec = contiguous_spec(outputs[0])
        size = spec.layout.size
        for operand in operands:
            if isinstance(operand.handle, Pending):
                self.resolve(operand)
        waits = size > 0 and operands[0].size > 0 and spec.dtype.kind != "b"
        waits = waits and not any(type(operand.handle) is Constant for operand in operands)
        if not waits or self._recording or self._queue.needs_care:
            return self._products_at_once[name](launcher, name, operands, params, outputs)
        launcher.check_bindable(launcher.nbytes(size, spec.dtype), name)
        if name == "dot_general":
            x = operands[0]
            check_counts(name, size, prod([x.shape[axis] for axis in params["contracting"][0]]))
        product, pending = make_product(name, operands, params, spec)
        held = sum([operand.handle.slot.size for operand in operands])
        most = 0 if held > MOST_HELD_BYTES // MOST_PRODUCTS else MOST_PRODUCTS
        with self._lock:
            self._products.append(ref(product))
            while len(self._products) > most:
                with suppress(DeviceOutOfMemoryError):  # its readers will try again
                    self._run_oldest_product()
        return (Tensor(spec.dtype, spec.layout, pending, launcher.backend, None, spec),)
