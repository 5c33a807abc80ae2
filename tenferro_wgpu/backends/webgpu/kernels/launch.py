"""What every kernel family needs to launch: dialects, buffers, outputs, plans.

One `Launcher` belongs to one backend object. Kernel modules use it and the queue behind it; it
knows tensors and dialects, and nothing of what any kernel computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from struct import pack_into
from typing import TYPE_CHECKING, Any

import numpy as np

from tenferro_wgpu.backends.webgpu.cache import GenerationalCache
from tenferro_wgpu.backends.webgpu.commands import Pipeline, PipelineSource, fold_workgroups
from tenferro_wgpu.backends.webgpu.dialects import (
    Dialect,
    dialect,
    dialect_for,
    native_names,
)
from tenferro_wgpu.backends.webgpu.drivers.protocol import Access
from tenferro_wgpu.backends.webgpu.kernels.strides import words
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.errors import TensorTooLargeError
from tenferro_wgpu.layout import contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

if TYPE_CHECKING:
    from tenferro_wgpu.backends.protocol import Backend
    from tenferro_wgpu.backends.webgpu.queue import Queue

#: Invocations per workgroup of kernels without workgroup memory.
WORKGROUP = 64
#: The most iterations of an invocation's longest loop.  llvmpipe ends every loop of an invocation
#: after 65,535 iterations in all, without a word; this leaves room for nested and shorter loops.
#: Plans keep to it on every adapter: a browser does not tell which one it has.
LONGEST_LOOP = 32768
#: The dialect that moves elements of so many words.
BITS_DIALECTS = {1: "u32", 2: "i64s", 4: "c128s"}
PLAN_LIMIT = 4096
CONSTANT_LIMIT = 512


class Constant:
    """Handle of a scalar that the device has not seen: its storage bits as u32 words.

    There are as many as ``Dialect.constant_words`` says: two, or four of complex128.
    """

    __slots__ = ("words",)

    def __init__(self, *words: int) -> None:
        self.words = words

    def __repr__(self) -> str:
        return f"Constant({', '.join(f'0x{word:08x}' for word in self.words)})"


class Launcher:
    """The queue, the dialects of the device's dtypes, and the caches of plans and constants."""

    def __init__(self, queue: Queue, backend: Backend) -> None:
        self.queue = queue
        self.backend = backend
        self.limits = queue.device.limits
        self.is_cpu = queue.device.is_cpu
        self.plans = GenerationalCache(PLAN_LIMIT)
        #: Hot callers look here first.
        self.young_plans = self.plans.young
        self._constants = GenerationalCache(CONSTANT_LIMIT)
        self._dialects: dict[np.dtype[Any], Dialect] = {}
        self._stored: dict[np.dtype[Any], Dialect] = {}

    def dialect(self, dtype: np.dtype[Any], operation: str = "storage") -> Dialect:
        """The dialect that carries `dtype` on this device.

        Raises UnsupportedOperationError, naming `operation`, where there is none.
        """
        found = self._dialects.get(dtype)
        if found is None:
            # Which dialects are native is asked of the device, by a probe: not before one is used.
            computes = self.queue.device.computes
            native = frozenset(name for name in native_names(dtype) if computes(name))
            found = self._dialects[dtype] = dialect_for(dtype, native, operation)
        return found

    def stored(self, dtype: np.dtype[Any], operation: str = "storage") -> Dialect:
        """The software dialect of `dtype`: all of its dialects store the same bits.

        For what only moves elements, so that no probe has to run for it; raises as `dialect`.
        """
        found = self._stored.get(dtype)
        if found is None:
            found = self._stored[dtype] = dialect_for(dtype, frozenset(), operation)
        return found

    def bits_dialect(self, dtype: np.dtype[Any]) -> Dialect:
        """The integer dialect whose load and store move elements of `dtype` bit by bit."""
        return dialect(BITS_DIALECTS[self.stored(dtype).words])

    def nbytes(self, size: int, dtype: np.dtype[Any]) -> int:
        """Bytes of `size` elements as stored on the device."""
        return size * 4 * self.stored(dtype).words

    def empty(self, spec: ShapeDtype, operation: str) -> Tensor:
        """A fresh contiguous output; raises TensorTooLargeError beyond the binding limit."""
        layout = contiguous_layout(spec.shape)
        buffer = self.empty_buffer(self.nbytes(layout.size, spec.dtype), operation)
        return Tensor(spec.dtype, layout, buffer, self.backend)

    def empty_buffer(self, nbytes: int, operation: str) -> Buffer:
        """A buffer for a dispatch to write, checked against the binding limit."""
        self.check_bindable(nbytes, operation)
        return self.queue.allocate(nbytes, operation)

    def check_bindable(self, nbytes: int, operation: str) -> None:
        """Raise TensorTooLargeError for more bytes than a kernel can bind."""
        limit = self.limits.max_storage_buffer_binding_size
        if nbytes > limit:
            raise TensorTooLargeError(operation, nbytes, limit, "storage binding limit")

    def buffer(self, tensor: Tensor) -> Buffer:
        """The device buffer of a tensor; a constant gets a small one, kept for the next use."""
        handle = tensor.handle
        if isinstance(handle, Buffer):
            return handle
        key = handle.words
        found: Buffer | None = self._constants.find(key)
        if found is None:
            found = self.queue.upload(np.array(key, np.uint32), "constant")
            self._constants.store(key, found)
        return found

    def contiguous(self, tensor: Tensor, operation: str) -> Tensor:
        """The tensor itself, or a copy of it with its elements in C order from offset 0."""
        layout = tensor.layout
        if layout.is_contiguous and layout.offset == 0 and isinstance(tensor.handle, Buffer):
            return tensor
        from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise

        spec = ShapeDtype(tensor.shape, tensor.dtype)
        return launch_elementwise(self, "copy", (tensor,), {}, (spec,))[0]

    def groups(self, count: int) -> tuple[int, int, int]:
        """Workgroup counts for `count` workgroups, folded into three dimensions."""
        return fold_workgroups(count, self.limits.max_compute_workgroups_per_dimension)

    def pipeline(
        self,
        template: str,
        structure: tuple[Any, ...],
        context: Mapping[str, Any],
        *,
        bindings: tuple[Access, ...],
        params_words: int,
        workgroup_size: int = WORKGROUP,
    ) -> Pipeline:
        """The pipeline of a template, compiled once per process for each `structure`.

        `structure` must tell apart whatever `context` does.
        """

        def build() -> PipelineSource:
            return PipelineSource(
                template,
                {**context, "workgroup_size": workgroup_size},
                bindings,
                params_words,
                workgroup_size,
                f"{template} {structure}",
            )

        return self.queue.pipeline((template, structure), build)

    def plan(self, key: Any) -> Any:
        """The plan stored under `key`, or None."""
        return self.young_plans.get(key) or self.plans.find(key)

    def clear_caches(self) -> None:
        """Forget plans and the buffers of constants."""
        self.plans.clear()
        self._constants.clear()

    def stats(self) -> dict[str, Any]:
        """Entries and limits of the caches."""
        return {"plans": self.plans.stats(), "constants": self._constants.stats()}


def workgroup_count(invocations: int, workgroup_size: int = WORKGROUP) -> int:
    """Workgroups that hold this many invocations."""
    return -(-invocations // workgroup_size)


def dispatch_items(
    launcher: Launcher,
    template: str,
    structure: tuple[Any, ...],
    context: Mapping[str, Any],
    reads: tuple[Buffer, ...],
    writes: tuple[Buffer, ...],
    params: Sequence[int],
    items: int,
    name: str,
) -> None:
    """Queue a kernel with one invocation per item, for the operation `name`."""
    pipeline = launcher.pipeline(
        template,
        structure,
        context,
        bindings=accesses(len(reads), len(writes)),
        params_words=len(params),
    )
    groups = launcher.groups(workgroup_count(items))
    launcher.queue.dispatch(pipeline, (*reads, *writes), words(params), groups, name, writes)


def accesses(reads: int, writes: int) -> tuple[Access, ...]:
    """Bindings of a kernel that reads some buffers and then writes some."""
    read: Access = "read"
    written: Access = "read_write"
    return (read,) * reads + (written,) * writes


def with_constants(
    params: bytes, constants: Sequence[tuple[int, int]], handles: Sequence[Constant]
) -> bytes:
    """A params block with the bits of constants at their places.

    Args:
        params: the block with zeros there.
        constants: (position among `handles`, byte offset in the block) of each.
        handles: of all operands; those at other positions do not matter.
    """
    block = bytearray(params)
    for position, offset in constants:
        constant = handles[position]
        pack_into(f"<{len(constant.words)}I", block, offset, *constant.words)
    return bytes(block)
