"""What tensors say about where they live: the device, and the identity of their runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runtime import EagerRuntime

__all__ = ["ContextId", "Device"]


class ContextId(int):
    """Opaque identity of a runtime; never reused in a process."""

    def __repr__(self) -> str:
        return f"ContextId({int(self)})"

    __str__ = __repr__


class Device:
    """The device of one runtime: what ``x.device`` is and ``device=`` takes."""

    __slots__ = ("runtime",)

    def __init__(self, runtime: EagerRuntime) -> None:
        self.runtime = runtime

    @property
    def backend(self) -> str:
        """Name of the backend: "webgpu", "cuda", "cpu" or a third party's."""
        return self.runtime.backend.name

    @property
    def name(self) -> str:
        """Name of the adapter."""
        return self.runtime.backend.device_name

    def __repr__(self) -> str:
        return f"Device({self.backend}: {self.name})"
