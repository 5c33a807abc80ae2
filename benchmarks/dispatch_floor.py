"""The least a queued operation can cost in Python: a bare dispatch loop on wgpu-py's C functions.

What an eager library cannot do without is here: a tensor object, a shape check, a pooled output,
a cached bind group, parameters, one open compute pass, a submit every 64 dispatches.  Everything
else (dtypes, views, errors, threads, derivatives) is left out.  `host_cost` compares with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BATCH = 64
_WORKGROUP = 64
_PARAMS_BYTES = 16

_SHADER = f"""
struct Params {{ p0: vec4<u32> }}
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@compute @workgroup_size({_WORKGROUP})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  if (id.x < params.p0.y) {{ out[id.x] = x[id.x] * y[id.x]; }}
}}
"""


class FloorBuffer:
    """A device buffer: wgpu-py's object, its C handle and a number for cache keys."""

    __slots__ = ("handle", "number", "raw")

    def __init__(self, raw: Any, number: int) -> None:
        self.raw = raw
        self.handle = raw._internal
        self.number = number


class FloorTensor:
    """A float32 tensor that gives its buffer back to the pool when it dies."""

    __slots__ = ("buffer", "floor", "shape", "size")

    def __init__(
        self, floor: DispatchFloor, buffer: FloorBuffer, shape: tuple[int, ...], size: int
    ) -> None:
        self.floor = floor
        self.buffer = buffer
        self.shape = shape
        self.size = size

    def __del__(self) -> None:
        # Reuse at once is right: the queue runs in order.
        self.floor.pool[self.size].append(self.buffer)

    def __mul__(self, other: FloorTensor) -> FloorTensor:
        return self.floor.multiply(self, other)


class DispatchFloor:
    """Multiplies float32 tensors on one adapter with nothing in the way.

    Args:
        adapter: a wgpu-py adapter with the feature "immediates".

    Raises RuntimeError where the adapter or wgpu-py lacks what the loop needs.
    """

    def __init__(self, adapter: Any) -> None:
        import wgpu

        if "immediates" not in adapter.features:
            raise RuntimeError("the adapter has no immediates")
        try:
            from wgpu.backends.wgpu_native._api import lib
            from wgpu.backends.wgpu_native._ffi import ffi
        except ImportError as error:
            raise RuntimeError(f"this wgpu-py hides its C functions: {error}") from error
        self._lib, self._ffi = lib, ffi
        self._device = adapter.request_device_sync(
            required_features=["immediates"], required_limits={"max-immediate-size": _PARAMS_BYTES}
        )
        self._usage = (
            wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
        )
        kinds = ("read-only-storage", "read-only-storage", "storage")
        self._layout = self._device.create_bind_group_layout(
            entries=[
                {
                    "binding": binding,
                    "visibility": wgpu.ShaderStage.COMPUTE,
                    "buffer": {"type": kind},
                }
                for binding, kind in enumerate(kinds)
            ]
        )
        self._pipeline = self._device.create_compute_pipeline(
            layout=self._device.create_pipeline_layout(
                bind_group_layouts=[self._layout], immediate_size=_PARAMS_BYTES
            ),
            compute={
                "module": self._device.create_shader_module(code=_SHADER),
                "entry_point": "main",
            },
        )
        self.pool: dict[int, list[FloorBuffer]] = {}
        self._groups: dict[tuple[int, int, int], Any] = {}
        self._made = 0
        self.dispatches = 0
        self.submits = 0
        self._pending = 0
        self._encoder: Any = None
        self._pass: Any = None
        self._params = ffi.new("uint32_t[4]")
        self._commands = ffi.new("WGPUCommandBuffer[1]")
        self._multiply_handle = self._pipeline._internal
        self._dispatch_functions = (
            lib.wgpuComputePassEncoderSetBindGroup,
            lib.wgpuComputePassEncoderSetImmediates,
            lib.wgpuComputePassEncoderDispatchWorkgroups,
        )

    @property
    def buffers_made(self) -> int:
        """Device buffers created so far."""
        return self._made

    def tensor(self, array: np.ndarray[Any, Any]) -> FloorTensor:
        """A float32 array on the device."""
        buffer = self._take(array.size)
        self._device.queue.write_buffer(buffer.raw, 0, np.ascontiguousarray(array, np.float32))
        return FloorTensor(self, buffer, array.shape, array.size)

    def multiply(self, x: FloorTensor, y: FloorTensor) -> FloorTensor:
        """Queue one product."""
        if x.shape != y.shape:
            raise ValueError(f"shapes {x.shape} and {y.shape} differ")
        size = x.size
        out = self._take(size)
        left, right = x.buffer, y.buffer
        key = (left.number, right.number, out.number)
        group = self._groups.get(key)
        if group is None:
            group = self._bind(key, (left, right, out))
        compute_pass = self._pass
        if compute_pass is None:
            compute_pass = self._begin()
        set_group, set_immediates, dispatch = self._dispatch_functions
        set_group(compute_pass, 0, group._internal, 0, self._ffi.NULL)
        params = self._params
        params[1] = size
        set_immediates(compute_pass, 0, params, _PARAMS_BYTES)
        dispatch(compute_pass, (size + _WORKGROUP - 1) // _WORKGROUP, 1, 1)
        self._pending += 1
        if self._pending >= BATCH:
            self.flush()
        return FloorTensor(self, out, x.shape, size)

    def flush(self) -> None:
        """Submit what is recorded."""
        if self._pass is None:
            return
        lib = self._lib
        lib.wgpuComputePassEncoderEnd(self._pass)
        lib.wgpuComputePassEncoderRelease(self._pass)
        self._commands[0] = lib.wgpuCommandEncoderFinish(self._encoder, self._ffi.NULL)
        lib.wgpuQueueSubmit(self._device.queue._internal, 1, self._commands)
        lib.wgpuCommandBufferRelease(self._commands[0])
        lib.wgpuCommandEncoderRelease(self._encoder)
        self._encoder = self._pass = None
        self.dispatches += self._pending
        self.submits += 1
        self._pending = 0

    def wait(self) -> None:
        """Return when everything submitted has finished."""
        self._lib.wgpuDevicePoll(self._device._internal, True, self._ffi.NULL)

    def read(self, tensor: FloorTensor) -> np.ndarray[Any, Any]:
        """The values of a tensor."""
        self.flush()
        raw = self._device.queue.read_buffer(tensor.buffer.raw)
        return np.frombuffer(raw, np.float32)[: tensor.size].reshape(tensor.shape).copy()

    def _begin(self) -> Any:
        lib, null = self._lib, self._ffi.NULL
        self._encoder = lib.wgpuDeviceCreateCommandEncoder(self._device._internal, null)
        self._pass = lib.wgpuCommandEncoderBeginComputePass(self._encoder, null)
        # The only pipeline there is: bound once per pass.
        lib.wgpuComputePassEncoderSetPipeline(self._pass, self._multiply_handle)
        return self._pass

    def _take(self, size: int) -> FloorBuffer:
        free = self.pool.setdefault(size, [])
        if free:
            return free.pop()
        self._made += 1
        raw = self._device.create_buffer(size=max(4 * size, 4), usage=self._usage)
        return FloorBuffer(raw, self._made)

    def _bind(self, key: tuple[int, int, int], buffers: tuple[FloorBuffer, ...]) -> Any:
        group = self._device.create_bind_group(
            layout=self._layout,
            entries=[
                {"binding": binding, "resource": {"buffer": buffer.raw}}
                for binding, buffer in enumerate(buffers)
            ],
        )
        self._groups[key] = group
        return group
