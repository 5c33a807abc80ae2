"""What the WebGPU backend asks of a driver, and the plain data that crosses the seam.

Called by: device.py, queue.py, memory.py.  Implemented by: drivers/native.py (wgpu-py, public
API), drivers/native_fast.py (wgpu-py, direct C calls), drivers/browser.py (JavaScript).
A driver knows buffers, pipelines, bind groups and submissions.  It must not know tensors, dtypes,
pools, caches of bind groups, or which operation a dispatch belongs to.

``Any`` marks the driver's own objects (raw buffers, pipelines, bind groups): callers keep them
alive, hand them back, and never look inside.  Dropping the last reference to one releases it,
except for buffers in the browser, which :meth:`Driver.release_buffer` destroys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

Access: TypeAlias = Literal["read", "read_write"]
ParamsSpace: TypeAlias = Literal["immediate", "uniform"]

#: One recorded dispatch.  A plain tuple, because the queue makes one per operation and building
#: anything richer costs more than recording it.  Fields, in order:
#: 0 raw pipeline (from ``create_pipeline``), 1 raw bind group (from ``create_bind_group``),
#: 2 params (bytes, already padded to the pipeline's ``params_size``; may be empty),
#: 3 workgroups (x, y, z), 4 operation name, 5 slot key, 6 outputs (slot, id, slot, id, ...).
#: Drivers use fields 0 to 3; 4 to 6 belong to the queue.
Command: TypeAlias = tuple[
    Any, Any, bytes, tuple[int, int, int], str, tuple[Any, ...], tuple[Any, ...]
]


class Batch(list[Command]):
    """Commands on their way to the device.

    A signal handler or a finalizer may use the queue in the middle of a submission, and needs
    what was recorded before it on the device first.  Until ``sent`` is true it empties the list
    and submits the commands itself.  A driver therefore sets ``sent`` with no call of Python
    between that and the submission, and submits nothing of a list that was emptied meanwhile.
    """

    __slots__ = ("sent",)

    def __init__(self, sent: bool = False) -> None:
        super().__init__()
        self.sent = sent


#: Features a device asks for when the adapter has them, by their WebGPU (or wgpu) names.  An
#: allow-list: asking for everything fails on drivers with experimental features.
WANTED_FEATURES = frozenset(
    {
        "immediates",
        "mappable-primary-buffers",
        "shader-f16",
        "shader-f64",
        "shader-int64",
        "subgroups",
        "timestamp-query",
    }
)


@dataclass(frozen=True)
class AdapterInfo:
    """Which piece of hardware or software executes the shaders.

    ``adapter_type`` is "DiscreteGPU", "IntegratedGPU", "CPU" or "Unknown"; ``backend_type`` is
    "Vulkan", "Metal", "D3D12", "OpenGL" or "WebGPU" (a browser).
    """

    name: str
    adapter_type: str
    backend_type: str
    vendor: str = ""
    driver: str = ""

    @property
    def is_cpu(self) -> bool:
        """Whether the adapter is a software renderer."""
        return self.adapter_type == "CPU"


@dataclass(frozen=True)
class Limits:
    """The device limits that kernels plan with.  The defaults are WebGPU's guaranteed minimum."""

    max_buffer_size: int = 256 << 20
    max_storage_buffer_binding_size: int = 128 << 20
    max_storage_buffers_per_shader_stage: int = 8
    max_compute_workgroups_per_dimension: int = 65535
    max_compute_invocations_per_workgroup: int = 256
    max_compute_workgroup_storage_size: int = 16 << 10
    min_uniform_buffer_offset_alignment: int = 256
    #: Bytes of ``var<immediate>`` a pipeline may use; 0 where immediates are missing.
    max_immediate_size: int = 0


class ReadRequest(NamedTuple):
    """Bytes to copy back: ``offset`` and ``nbytes`` are multiples of 4 inside the raw buffer."""

    buffer: Any
    offset: int
    nbytes: int


class BatchRejectedError(Exception):
    """``submit`` or ``begin_read`` refused its commands; nothing of the batch was submitted.

    The queue answers by submitting halves until it knows which command is to blame.  A driver
    that learns of a rejection only later (the browser) reports it through ``take_late_errors``.
    """


class DriverModule(Protocol):
    """The functions a driver module offers to device.py."""

    def list_adapters(self) -> list[tuple[AdapterInfo, Any]]:
        """Every adapter, with the driver's own object.  Raises ``NoAdapterError`` when the
        platform has no WebGPU, ``SyncUnavailableError`` when finding out would need to wait."""

    def describe_adapter(self, adapter: Any) -> AdapterInfo:
        """The record of one of the driver's own adapter objects."""

    def adapter_features(self, adapter: Any) -> frozenset[str]:
        """Which of ``WANTED_FEATURES`` the adapter offers."""

    def adapter_limits(self, adapter: Any, features: frozenset[str]) -> Limits:
        """The adapter's limits; ``max_immediate_size`` is 0 unless "immediates" is a feature."""

    def open_driver(self, adapter: Any, features: frozenset[str], limits: Limits) -> Driver:
        """Open a device that has ``features`` and keeps at least ``limits``."""


class Driver(Protocol):
    """One open device.  Shared by every queue on the same adapter; safe to call from any thread.

    Every method may raise ``DeviceLostError`` once the device is gone, and must raise it rather
    than hand an invalid object to the implementation below.
    """

    info: AdapterInfo
    #: Names out of ``WANTED_FEATURES`` that the device really has.
    features: frozenset[str]
    limits: Limits

    def params_space(self, params_size: int) -> ParamsSpace:
        """Where a pipeline with ``params_size`` bytes of parameters keeps them.

        "immediate" when the device has immediates and the block is at most 64 bytes (the limit of
        browsers), else "uniform": ``@group(1) @binding(0)`` with a dynamic offset, which the
        driver fills from the commands, one write per submit.
        """

    def create_buffer(self, size: int) -> Any:
        """A zeroed buffer of ``size`` bytes, usage STORAGE | COPY_SRC | COPY_DST.

        ``size`` is a positive multiple of 16 within ``limits.max_buffer_size``.  Raises
        ``DeviceOutOfMemoryError`` when the device has no room.
        """

    def release_buffer(self, raw: Any) -> None:
        """Give a buffer back.  Native: drop it.  Browser: ``destroy()`` it once the last
        submission that used it has been submitted.  Never called for a buffer that an unsubmitted
        command names."""

    def create_pipeline(
        self,
        wgsl: str,
        bindings: tuple[Access, ...],
        params_space: ParamsSpace,
        params_size: int,
        label: str,
        requires: tuple[str, ...] = (),
    ) -> Any:
        """Compile ``fn main`` of a module whose storage buffers are ``@group(0) @binding(i)``.

        ``bindings`` says per binding whether it is read-only; ``params_size`` is 0 or a multiple
        of 16.  ``requires`` names features the module uses ("shader-f16", "subgroups"): the
        driver prepends the ``enable`` lines its compiler wants.  Pipelines with equal ``bindings``
        use one bind group layout, so that their bind groups are interchangeable.  Raises
        ``ShaderError`` with the WGSL and line when the module is refused.  The rest of the
        compilation may go on in the background: if that fails, submissions that use the pipeline
        are rejected.
        """

    def create_bind_group(
        self, bindings: tuple[Access, ...], buffers: Sequence[tuple[Any, int, int]]
    ) -> Any:
        """Bind ``buffers`` ((raw, offset, size) each) in the layout that ``bindings`` describes.

        The queue has checked sizes, alignment, limits and aliasing.
        """

    def write_buffer(self, raw: Any, offset: int, data: memoryview) -> None:
        """Copy host bytes into a buffer before any command that is submitted later.

        ``offset`` and the size of ``data`` (a flat byte view) are multiples of 4.
        """

    def submit(self, commands: Sequence[Command]) -> None:
        """Encode the commands in order into one compute pass and submit it; does not wait.

        Commands in a ``Batch`` go as that says, here and in ``begin_read`` and ``submit_timed``.
        Raises ``BatchRejectedError`` when the implementation refuses the batch.
        """

    def begin_read(self, commands: Sequence[Command], requests: Sequence[ReadRequest]) -> Any:
        """Submit ``commands`` and, in the same submission, copies of ``requests`` (at least one)
        into staging buffers.  Does not wait; returns a token for ``finish_read``.  Raises as
        ``submit``.

        Many or large requests may be copied piece by piece until they are finished: the caller
        keeps the buffers alive, and their content does not change, until then.
        """

    def finish_read(self, token: Any) -> list[np.ndarray]:
        """Wait for a read and return one fresh uint8 array per request.

        May run in several threads at once.  Raises ``SyncUnavailableError`` where the platform
        cannot block.  A token must be finished (or awaited) exactly once.
        """

    async def finish_read_async(self, token: Any) -> list[np.ndarray]:
        """``finish_read`` for platforms that cannot block."""

    def submit_timed(self, commands: Sequence[Command]) -> Any:
        """Submit each command in a pass of its own; does not wait.  Raises as ``submit``."""

    def finish_timed(self, token: Any) -> list[int]:
        """Wait for what ``submit_timed`` submitted; the GPU nanoseconds of each command.

        The list is empty without the feature "timestamp-query".
        """

    def take_late_errors(self) -> list[str]:
        """Messages of errors that arrived after their call returned; each is returned once."""

    def wait(self) -> None:
        """Block until everything submitted has finished."""

    async def wait_async(self) -> None:
        """Wait without blocking until everything submitted has finished."""

    def close(self) -> None:
        """Release the device and everything the driver holds.  Idempotent, never blocks for long.
        Later calls raise ``DeviceLostError``."""
