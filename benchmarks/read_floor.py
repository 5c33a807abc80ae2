"""The least that reading one scalar after a queued operation can cost: bare wgpu-native calls.

One dispatch, a copy into a mapped buffer, one submission and a wait, with everything made before:
no tensors, no pools, no checks, no errors.  `transfers` compares with it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ReadFloor"]

_SHADER = """
@group(0) @binding(0) var<storage, read_write> out: array<f32>;
@compute @workgroup_size(1)
fn main() { out[0] = out[0] + 1.0; }
"""
_BYTES = 4


class ReadFloor:
    """Adds 1 to a number on the device and reads it.

    Args:
        device: a wgpu-py device.

    Raises RuntimeError where wgpu-py hides the C functions.
    """

    def __init__(self, device: Any) -> None:
        import wgpu

        try:
            from wgpu.backends.wgpu_native import ffi, lib
        except ImportError as error:
            raise RuntimeError(f"this wgpu-py hides its C functions: {error}") from error
        self._lib, self._ffi = lib, ffi
        self._device = device
        usage = wgpu.BufferUsage
        module = device.create_shader_module(code=_SHADER)
        self._pipeline = device.create_compute_pipeline(
            layout="auto", compute={"module": module, "entry_point": "main"}
        )
        self.number = device.create_buffer(
            size=256, usage=usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        )
        self._staging = device.create_buffer(size=256, usage=usage.MAP_READ | usage.COPY_DST)
        self._group = device.create_bind_group(
            layout=self._pipeline.get_bind_group_layout(0),
            entries=[{"binding": 0, "resource": {"buffer": self.number, "offset": 0, "size": 16}}],
        )
        self._mapped: list[int] = []
        self._callback = ffi.callback(
            "void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)",
            lambda status, message, first, second: self._mapped.append(status),
        )
        info = ffi.new("WGPUBufferMapCallbackInfo *")
        info.mode = lib.WGPUCallbackMode_AllowSpontaneous
        info.callback = self._callback
        self._callback_info = info[0]
        self._commands = ffi.new("WGPUCommandBuffer[1]")

    def read(self) -> float:
        """Dispatch, copy, submit, map, poll, take the value, unmap."""
        lib, null = self._lib, self._ffi.NULL
        handle, staging = self._device._internal, self._staging._internal
        encoder = lib.wgpuDeviceCreateCommandEncoder(handle, null)
        compute_pass = lib.wgpuCommandEncoderBeginComputePass(encoder, null)
        lib.wgpuComputePassEncoderSetPipeline(compute_pass, self._pipeline._internal)
        lib.wgpuComputePassEncoderSetBindGroup(compute_pass, 0, self._group._internal, 0, null)
        lib.wgpuComputePassEncoderDispatchWorkgroups(compute_pass, 1, 1, 1)
        lib.wgpuComputePassEncoderEnd(compute_pass)
        lib.wgpuComputePassEncoderRelease(compute_pass)
        lib.wgpuCommandEncoderCopyBufferToBuffer(
            encoder, self.number._internal, 0, staging, 0, _BYTES
        )
        self._commands[0] = lib.wgpuCommandEncoderFinish(encoder, null)
        lib.wgpuCommandEncoderRelease(encoder)
        lib.wgpuQueueSubmit(self._device.queue._internal, 1, self._commands)
        lib.wgpuCommandBufferRelease(self._commands[0])
        lib.wgpuBufferMapAsync(staging, 1, 0, _BYTES, self._callback_info)
        while not self._mapped:
            lib.wgpuDevicePoll(handle, False, null)
        self._mapped.clear()
        address = lib.wgpuBufferGetConstMappedRange(staging, 0, _BYTES)
        value: float = self._ffi.cast("float *", address)[0]
        lib.wgpuBufferUnmap(staging)
        return value

    def dispatch(self) -> None:
        """The same dispatch through wgpu-py's public API, submitted."""
        encoder = self._device.create_command_encoder()
        compute_pass = encoder.begin_compute_pass()
        compute_pass.set_pipeline(self._pipeline)
        compute_pass.set_bind_group(0, self._group)
        compute_pass.dispatch_workgroups(1)
        compute_pass.end()
        self._device.queue.submit([encoder.finish()])
