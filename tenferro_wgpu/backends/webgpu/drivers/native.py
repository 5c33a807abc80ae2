"""The native drivers' front door: adapters of wgpu-py, and what both drivers share.

Called by device.py (see ``protocol.DriverModule``).  ``native_public`` holds the driver on
wgpu-py's public API, ``native_fast`` the one with direct C calls; :func:`open_driver` picks.
``wgpu`` is imported on first use, never with the package.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tenferro_wgpu.backends.webgpu.drivers.native_types import parse_types
from tenferro_wgpu.backends.webgpu.drivers.protocol import (
    WANTED_FEATURES,
    Access,
    AdapterInfo,
    BatchRejectedError,
    Command,
    Driver,
    Limits,
)
from tenferro_wgpu.errors import (
    DeviceLostError,
    DeviceOutOfMemoryError,
    NoAdapterError,
    ShaderError,
)

#: wgpu's name of a feature where it differs from WebGPU's.
WGPU_NAMES = {"subgroups": "subgroup"}
SMALLEST_STAGING = 256


def list_adapters() -> list[tuple[AdapterInfo, Any]]:
    """Every adapter wgpu-py finds, with wgpu-py's own object.

    Raises ``NoAdapterError`` when wgpu-py or its native library is missing.
    """
    try:
        import wgpu

        _quiet_mesa()
        with _without_garbage_collection():
            _parse_types()
        _leave_out_opengl()
        adapters = wgpu.gpu.enumerate_adapters_sync()
    except (ImportError, OSError, RuntimeError) as error:
        raise NoAdapterError("webgpu", str(error), "install wgpu (pip install wgpu)") from error
    return [(describe_adapter(adapter), adapter) for adapter in adapters]


def _quiet_mesa() -> None:
    """Keep Mesa's device-select layer from complaining where there is no desktop session.

    The layer orders devices for window systems, which compute does not need; without
    XDG_RUNTIME_DIR it writes errors to stderr.
    """
    if "XDG_RUNTIME_DIR" not in os.environ:
        os.environ.setdefault("NODEVICE_SELECT", "1")


def _leave_out_opengl() -> None:
    """Do not load OpenGL drivers: they cannot run our kernels, and starting them takes time.

    The choice must come before wgpu makes its instance; where another library was first, or
    wgpu-py has no such setting, adapters of OpenGL are listed and ranked last.
    """
    try:
        from wgpu.backends.wgpu_native.extras import set_instance_extras

        set_instance_extras(backends=("Vulkan", "Metal", "DX12"))
    except (ImportError, RuntimeError):
        return


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Do not look for garbage in the block.

    Parsing wgpu's header makes objects by the ten thousand, and looking through them again and
    again takes an eighth of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _parse_types() -> None:
    """Parse the C types of wgpu-py that are about to be used, all at once."""
    try:
        from wgpu.backends.wgpu_native import ffi
    except (ImportError, AttributeError):
        return
    parse_types(ffi)


def describe_adapter(adapter: Any) -> AdapterInfo:
    """What wgpu-py says about one of its adapters, as our record."""
    info = adapter.info
    return AdapterInfo(
        name=str(info.get("device", "")),
        adapter_type=str(info.get("adapter_type", "Unknown")),
        backend_type=str(info.get("backend_type", "Unknown")),
        vendor=str(info.get("vendor", "")),
        driver=str(info.get("description", "")),
    )


def adapter_features(adapter: Any) -> frozenset[str]:
    """The wanted features an adapter offers, by WebGPU's names."""
    offered = set(adapter.features)
    return frozenset(
        name for name in WANTED_FEATURES if name in offered or WGPU_NAMES.get(name) in offered
    )


def adapter_limits(adapter: Any, features: frozenset[str]) -> Limits:
    """The limits of an adapter that our kernels plan with."""
    found = adapter.limits
    return Limits(
        max_buffer_size=found["max-buffer-size"] & ~15,
        max_storage_buffer_binding_size=found["max-storage-buffer-binding-size"] & ~15,
        max_storage_buffers_per_shader_stage=found["max-storage-buffers-per-shader-stage"],
        max_compute_workgroups_per_dimension=found["max-compute-workgroups-per-dimension"],
        max_compute_invocations_per_workgroup=found["max-compute-invocations-per-workgroup"],
        max_compute_workgroup_storage_size=found["max-compute-workgroup-storage-size"],
        min_uniform_buffer_offset_alignment=found["min-uniform-buffer-offset-alignment"],
        max_immediate_size=found["max-immediate-size"] if "immediates" in features else 0,
    )


def open_driver(adapter: Any, features: frozenset[str], limits: Limits) -> Driver:
    """Open a device with the fastest driver this wgpu-py supports."""
    from tenferro_wgpu.backends.webgpu.drivers import native_fast, native_public

    if native_fast.available():
        return native_fast.FastNativeDriver(adapter, features, limits)
    return native_public.NativeDriver(adapter, features, limits)


def translate_error(error: Exception, call: str, nbytes: int = 0) -> Exception:
    """Our exception for one that wgpu-py raised in ``call``; a rejection if nothing fits better."""
    message = str(error)
    if "is lost" in message:
        return DeviceLostError(call, "the driver reports a lost device")
    # wgpu-native reports exhausted memory as a validation error with this text.
    if "Not enough memory left" in message or type(error).__name__ == "GPUOutOfMemoryError":
        return DeviceOutOfMemoryError(call, nbytes, "the driver has no memory left")
    return BatchRejectedError(message)


def staging_size(nbytes: int) -> int:
    """The size class of a staging buffer: powers of two, so that few are kept and most reused."""
    return max(SMALLEST_STAGING, 1 << (nbytes - 1).bit_length())


def storage_entries(bindings: Sequence[Access], stage: int) -> list[dict[str, Any]]:
    """Layout entries of one storage buffer per binding."""
    kinds = {"read": "read-only-storage", "read_write": "storage"}
    return [
        {"binding": index, "visibility": stage, "buffer": {"type": kinds[access]}}
        for index, access in enumerate(bindings)
    ]


def uniform_entries(stage: int) -> list[dict[str, Any]]:
    """Layout entry of one uniform buffer with a dynamic offset."""
    buffer = {"type": "uniform", "has_dynamic_offset": True}
    return [{"binding": 0, "visibility": stage, "buffer": buffer}]


def module_error(error: Exception, label: str, wgsl: str) -> Exception:
    """Our exception for one that wgpu-py raised for a shader module."""
    ours = translate_error(error, "create_pipeline")
    return shader_error(label, str(error), wgsl) if isinstance(ours, BatchRejectedError) else ours


def shader_error(label: str, message: str, wgsl: str) -> ShaderError:
    """A ``ShaderError`` with the line naga names ("wgsl:12:5"), or none."""
    _, found, rest = message.partition("wgsl:")
    digits = rest.split(":")[0] if found else ""
    return ShaderError(label, message, wgsl=wgsl, line=int(digits) if digits.isdigit() else None)


class NativePipeline:
    """A compiled pipeline and how it takes its parameters."""

    __slots__ = ("internal", "raw", "refusal", "uniform_size")

    def __init__(self, raw: Any, internal: Any, uniform_size: int) -> None:
        self.raw = raw
        #: The C handle, where the fast driver needs it.
        self.internal = internal
        #: Bytes of a uniform block, or 0 when the parameters are immediates.
        self.uniform_size = uniform_size
        #: Why there is no ``raw``, once the driver refused to compile it.
        self.refusal: Exception | None = None


class UniformArena:
    """The buffer that holds the uniform parameters of one submission.

    Queue order makes rewriting it safe: a write lands after every earlier submission and before
    the next one, so each submission sees its own bytes and no ring is needed.
    """

    def __init__(self, make_buffer: Callable[[int], Any], alignment: int) -> None:
        self._make_buffer = make_buffer
        self._alignment = alignment
        self.size = 0
        self.buffer: Any = None
        #: Bind groups of the current buffer by block size.
        self.groups: dict[int, Any] = {}

    def pack(self, commands: Sequence[Command]) -> tuple[bytearray, list[int]]:
        """Lay the parameters of the uniform pipelines out; one offset per command."""
        block = bytearray()
        offsets = []
        for pipeline, _, params, _, _, _, _ in commands:
            offsets.append(len(block))
            if pipeline.uniform_size:
                block += params
                block += bytes(-len(block) % self._alignment)
        if len(block) > self.size:
            self.size = max(16 << 10, 1 << (len(block) - 1).bit_length())
            self.buffer = self._make_buffer(self.size)
            self.groups = {}
        return block, offsets
