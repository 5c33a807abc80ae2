"""The device object that tensors report and creation functions accept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runtime import EagerRuntime

__all__ = ["Device"]


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
