"""The class of an adapter that tiles depend on, and how many lanes its subgroups have.

Kernels ask once per device. WebGPU gives bounds for the size of a subgroup, not the size that a
kernel will have, so a software renderer is asked by running a kernel. On GPUs no kernel depends on
it. Knows drivers and devices, and nothing of kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tenferro_wgpu.backends.webgpu.drivers.protocol import (
    BatchRejectedError,
    Command,
    ReadRequest,
)
from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import Adapter, AdapterKind
from tenferro_wgpu.errors import DeviceLostError, TenferroError

if TYPE_CHECKING:
    from tenferro_wgpu.backends.webgpu.device import Device

__all__ = ["adapter_of", "subgroup_lanes"]

_KINDS: dict[str, AdapterKind] = {"CPU": "cpu", "IntegratedGPU": "integrated"}
_WGSL = """
@group(0) @binding(0) var<storage, read_write> lanes: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(subgroup_size) size: u32) {
  if (lane == 0u) { lanes[0] = size; }
}
"""


def adapter_of(device: Device) -> Adapter:
    """The class of a device: software renderer, integrated (also unknown ones) or discrete.

    Browsers do not say; they count as integrated, whose tiles suit every GPU.
    """
    kind = _KINDS.get(device.info.adapter_type, "integrated")
    if device.is_cpu:
        return Adapter("cpu", subgroup_lanes(device))
    return Adapter("discrete" if device.info.adapter_type == "DiscreteGPU" else kind)


def subgroup_lanes(device: Device) -> int:
    """Lanes of a subgroup on this device; 0 where it has no subgroups or refuses to say."""
    if "subgroups" not in device.features:
        return 0
    driver = device.driver
    try:
        pipeline = driver.create_pipeline(
            _WGSL, ("read_write",), driver.params_space(0), 0, "subgroup size", ("subgroups",)
        )
        raw = driver.create_buffer(16)
        group = driver.create_bind_group(("read_write",), [(raw, 0, 16)])
        command: Command = (pipeline, group, b"", (1, 1, 1), "subgroup size", (), ())
        (found,) = driver.finish_read(driver.begin_read([command], [ReadRequest(raw, 0, 16)]))
        driver.release_buffer(raw)
    except DeviceLostError:
        raise
    except (TenferroError, BatchRejectedError):
        return 0
    return int(found.view(np.uint32)[0])
