"""What the driver, queue and memory tests share: adapters, devices, literal kernels, subprocesses.

Import this before anything opens a Vulkan instance: it makes both software adapters visible to
the process, so that one run covers lavapipe (f64, f16) and SwiftShader (neither).
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

LAVAPIPE, SWIFTSHADER = "llvmpipe", "SwiftShader"
_MANIFESTS = (
    "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json",
    "/usr/lib/chromium/vk_swiftshader_icd.json",
)
if "VK_DRIVER_FILES" not in os.environ:
    os.environ["VK_DRIVER_FILES"] = ":".join(path for path in _MANIFESTS if Path(path).exists())
os.environ.setdefault("LP_NUM_THREADS", "0")

from tenferro_wgpu.backends.webgpu import device as devices  # noqa: E402
from tenferro_wgpu.backends.webgpu.commands import Pipeline, PipelineSource  # noqa: E402
from tenferro_wgpu.backends.webgpu.drivers import native_fast, native_public  # noqa: E402
from tenferro_wgpu.backends.webgpu.drivers.native import (  # noqa: E402
    adapter_features,
    adapter_limits,
)
from tenferro_wgpu.backends.webgpu.memory import Buffer  # noqa: E402
from tenferro_wgpu.backends.webgpu.queue import Queue  # noqa: E402

DRIVERS = {"fast": native_fast.FastNativeDriver, "public": native_public.NativeDriver}
#: (adapter, driver) pairs that parametrised fixtures go through.
VARIANTS = [(adapter, driver) for adapter in (LAVAPIPE, SWIFTSHADER) for driver in DRIVERS]
BROWSER = (LAVAPIPE, "browser limits")

PARAMS = """struct Params {{ {members} }}
{{params}}
"""
ADD = """
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> z: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < params.p0.y) { z[id.x] = x[id.x] + y[id.x]; }
}
"""


def params_block(vectors: int) -> str:
    """The declaration of a parameter block of so many vec4<u32>."""
    members = ", ".join(f"p{index}: vec4<u32>" for index in range(vectors))
    return PARAMS.format(members=members)


@cache
def open_variant(adapter: str, driver: str) -> devices.Device:
    """A device per adapter and driver class, shared by the tests of this process."""
    found = [entry for entry in devices.adapters() if adapter in entry[0].name]
    if not found:
        pytest.skip(f"no adapter named {adapter} here")
    info, raw = found[0]
    assert info.backend_type == "Vulkan"
    if driver == "browser limits":
        return devices.open_device(adapter, limits="browser")
    features = adapter_features(raw)
    return devices.Device(DRIVERS[driver](raw, features, adapter_limits(raw, features)), "native")


def add_pipeline(queue: Queue, vectors: int = 1) -> Pipeline:
    """z = x + y over the first ``params.p0.y`` elements, with a block of ``vectors`` vec4s."""
    return queue.pipeline(
        ("add for tests", vectors),
        lambda: PipelineSource(
            None,
            {},
            ("read", "read", "read_write"),
            4 * vectors,
            64,
            "add",
            wgsl=params_block(vectors) + ADD,
        ),
    )


def add_params(count: int) -> bytes:
    return np.array([0, count, 0, 0], np.uint32).tobytes()


def add(queue: Queue, x: Buffer, y: Buffer, count: int, operation: str = "add") -> Buffer:
    """Record z = x + y and return z."""
    output = queue.allocate(4 * count, operation)
    queue.dispatch(
        add_pipeline(queue),
        (x, y, output),
        add_params(count),
        (-(-count // 64), 1, 1),
        operation,
        (output,),
    )
    return output


def compute(queue: Queue, x: Buffer, y: Buffer, count: int, operation: str = "add") -> Buffer:
    """`add` by the one call that allocates and records."""
    groups = (-(-count // 64), 1, 1)
    return queue.compute(
        add_pipeline(queue), [x, y], 4 * count, add_params(count), groups, operation
    )


def values(queue: Queue, buffer: Buffer, count: int) -> np.ndarray:
    return queue.read(buffer, 0, 4 * count).view(np.float32)


FLAGGING = """
@group(0) @binding(0) var<storage, read_write> z: array<f32>;
@group(0) @binding(1) var<storage, read_write> fault: array<atomic<u32>>;
@compute @workgroup_size(4)
fn main(@builtin(local_invocation_index) i: u32) {
  z[i] = 1.0;
  if (i == params.p0.z) {
    if (atomicOr(&fault[4u * params.p0.w], 1u) == 0u) {
      atomicStore(&fault[4u * params.p0.w + 1u], bitcast<u32>(-7));
      atomicStore(&fault[4u * params.p0.w + 2u], 1u);
      atomicStore(&fault[4u * params.p0.w + 3u], bitcast<u32>(-1));
    }
  }
}
"""


def check_indices(queue: Queue, operation: str, bad_lane: int) -> Buffer:
    """Four ones from a dispatch whose lane ``bad_lane`` finds a bad index (none from 4 on)."""
    pipeline = queue.pipeline(
        "flagging",
        lambda: PipelineSource(
            None,
            {},
            ("read_write", "read_write"),
            4,
            4,
            "flagging",
            wgsl=params_block(1) + FLAGGING,
        ),
    )
    output = queue.allocate(16)
    params = np.array([0, 0, bad_lane, 0], np.uint32).tobytes()
    queue.dispatch_checked(
        pipeline, (output,), params, (1, 1, 1), operation, (output,), axes=(0, 2), sizes=(10, 5)
    )
    return output


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, where an abort shows as a negative return code."""
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(Path(__file__).parent), *sys.path])
    return subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
