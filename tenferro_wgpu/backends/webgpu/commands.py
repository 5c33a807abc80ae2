"""The plain data between kernels and the queue: pipelines, their sources, workgroup counts.

Kernel modules make :class:`PipelineSource` and call :func:`fold_workgroups`; queue.py and
device.py make :class:`Pipeline`.  Nothing here talks to a device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenferro_wgpu.backends.webgpu.drivers.protocol import Access, ParamsSpace


@dataclass(frozen=True)
class PipelineSource:
    """What a pipeline is made from, before the driver says where its parameters live.

    ``template`` is a path under the shaders folder and ``context`` what it is rendered with.
    With ``template`` None, ``wgsl`` is the module itself (probes and tests): literal text that
    may contain ``{params}``, replaced by the address space ("immediate" form or bound uniform).
    ``bindings`` says how each ``@group(0)`` buffer is accessed, ``params_words`` how many 32-bit
    words of parameters the module declares (rounded up to vec4s; word 0 is the runtime zero).
    ``workgroup_size`` is the number of invocations, checked against the device's limit.
    """

    template: str | None
    context: Mapping[str, Any]
    bindings: tuple[Access, ...]
    params_words: int
    workgroup_size: int
    label: str
    requires: tuple[str, ...] = ()
    wgsl: str = field(default="", repr=False)

    @property
    def params_size(self) -> int:
        """Bytes of the parameter block: whole vec4s; 0 when literal WGSL declares none."""
        if self.template is None and self.params_words == 0:
            return 0
        return 16 * max(1, -(-self.params_words // 4))


class Pipeline:
    """A compiled pipeline.  Made by ``Queue.pipeline``; kernels only pass it to ``dispatch``."""

    __slots__ = ("bindings", "label", "layout_id", "params_size", "params_space", "raw", "wgsl")

    def __init__(
        self,
        raw: Any,
        bindings: tuple[Access, ...],
        layout_id: int,
        params_space: ParamsSpace,
        params_size: int,
        label: str,
        wgsl: str,
    ) -> None:
        #: The driver's object.
        self.raw = raw
        self.bindings = bindings
        #: Equal for pipelines whose bind groups are interchangeable.
        self.layout_id = layout_id
        self.params_space = params_space
        self.params_size = params_size
        self.label = label
        self.wgsl = wgsl

    def padded(self, params: bytes, operation: str) -> bytes:
        """A parameter block of the size that the module declares; ValueError if it is longer."""
        if len(params) > self.params_size:
            raise ValueError(
                f"{operation}: {len(params)} bytes of params; {self.label} takes {self.params_size}"
            )
        return params.ljust(self.params_size, b"\0")

    def __repr__(self) -> str:
        return f"<Pipeline {self.label!r} {'/'.join(self.bindings)} {self.params_space}>"


def fold_workgroups(count: int, limit: int) -> tuple[int, int, int]:
    """Spread ``count`` workgroups over three dimensions of at most ``limit`` each.

    The product is at least ``count`` and the surplus small (less than one row, or one row per
    layer), so a kernel computes its linear index ``group.x + group.y * num_workgroups.x +
    group.z * num_workgroups.x * num_workgroups.y`` and returns past the end.

    >>> fold_workgroups(10, 65535)
    (10, 1, 1)
    >>> fold_workgroups(65536, 65535)
    (32768, 2, 1)
    """
    if count <= limit:
        return count, 1, 1
    rows = -(-count // limit)
    if rows <= limit:
        return -(-count // rows), rows, 1
    layers = -(-count // (limit * limit))
    if layers > limit:
        raise ValueError(f"{count} workgroups exceed {limit} cubed")
    per_layer = -(-count // layers)
    rows = -(-per_layer // limit)
    return -(-per_layer // rows), rows, layers
