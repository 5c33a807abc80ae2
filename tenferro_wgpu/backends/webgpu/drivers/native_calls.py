"""What the fast native driver binds of C once: names, the encoding loop and the map callback.

Used by native_fast only.  Closures rather than methods: the encoder is the hottest loop of the
library and wants its functions in local variables, and the callback must not refer to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tenferro_wgpu.backends.webgpu.drivers.protocol import Command

#: The C functions that the fast driver calls.
FUNCTIONS = (
    "wgpuDeviceCreateBuffer",
    "wgpuDeviceCreateBindGroup",
    "wgpuDeviceCreateCommandEncoder",
    "wgpuCommandEncoderBeginComputePass",
    "wgpuCommandEncoderCopyBufferToBuffer",
    "wgpuCommandEncoderFinish",
    "wgpuCommandEncoderRelease",
    "wgpuCommandBufferRelease",
    "wgpuComputePassEncoderSetPipeline",
    "wgpuComputePassEncoderSetBindGroup",
    "wgpuComputePassEncoderSetImmediates",
    "wgpuComputePassEncoderDispatchWorkgroups",
    "wgpuComputePassEncoderEnd",
    "wgpuComputePassEncoderRelease",
    "wgpuQueueWriteBuffer",
    "wgpuQueueSubmit",
    "wgpuBufferMapAsync",
    "wgpuBufferGetConstMappedRange",
    "wgpuBufferUnmap",
    "wgpuBufferRelease",
    "wgpuBindGroupRelease",
    "wgpuDevicePoll",
)


def map_callback(ffi: Any, results: dict[int, int], interruptions: list[BaseException]) -> Any:
    """The one C callback for all mappings; it must not refer to the driver, or neither dies.

    A signal that arrives while C code runs is handled where Python code runs next, and that is
    here: what its handler raises, a KeyboardInterrupt say, cannot pass through C.  It goes to
    ``interruptions``, to be raised by whoever called into C.
    """

    def on_error(kind: Any, error: BaseException, traceback: Any) -> None:
        interruptions.append(error)
        if traceback is not None:
            arguments = traceback.tb_frame.f_locals
            results[int(ffi.cast("intptr_t", arguments["key"]))] = arguments["status"]

    def on_mapped(status: int, message: Any, key: Any, unused: Any) -> None:
        results[int(ffi.cast("intptr_t", key))] = status

    signature = "void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)"
    return ffi.callback(signature, on_mapped, onerror=on_error)


def command_encoder(lib: Any, ffi: Any) -> Callable[[Any, Sequence[Command]], None]:
    """The hottest loop of the library: commands with immediates into one compute pass.

    The C functions are bound to locals, and repeated pipelines and parameters are not set again.
    """
    null = ffi.NULL
    begin_pass = lib.wgpuCommandEncoderBeginComputePass
    set_pipeline = lib.wgpuComputePassEncoderSetPipeline
    set_group = lib.wgpuComputePassEncoderSetBindGroup
    set_immediates = lib.wgpuComputePassEncoderSetImmediates
    dispatch = lib.wgpuComputePassEncoderDispatchWorkgroups
    end_pass = lib.wgpuComputePassEncoderEnd
    release_pass = lib.wgpuComputePassEncoderRelease

    def encode(encoder: Any, commands: Sequence[Command]) -> None:
        compute_pass = begin_pass(encoder, null)
        last_pipeline = last_params = None
        for pipeline, group, params, (x, y, z), _, _, _ in commands:
            if pipeline is not last_pipeline:
                set_pipeline(compute_pass, pipeline.internal)
                last_pipeline = pipeline
                last_params = None
            set_group(compute_pass, 0, group, 0, null)
            if params and params is not last_params:
                set_immediates(compute_pass, 0, params, len(params))
                last_params = params
            dispatch(compute_pass, x, y, z)
        end_pass(compute_pass)
        release_pass(compute_pass)

    return encode
