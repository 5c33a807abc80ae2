"""Which kernel family implements which primitive.

Family modules register their launch functions here; backend.py looks them up by primitive name.
Nothing here knows what a kernel does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher
    from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: A launch function: (launcher, primitive name, operands, params, output shapes and dtypes)
#: -> output tensors, queued and not waited for.
Kernel: TypeAlias = Callable[
    ["Launcher", str, "tuple[Tensor, ...]", Mapping[str, Any], "tuple[ShapeDtype, ...]"],
    "tuple[Tensor, ...]",
]

_KERNELS: dict[str, Kernel] = {}


def kernel(*names: str) -> Callable[[Kernel], Kernel]:
    """Register the decorated launch function under primitive names.

    Raises:
        ValueError: a name has a kernel already.
    """

    def register(function: Kernel) -> Kernel:
        for name in names:
            if name in _KERNELS:
                raise ValueError(f"{name} has a kernel already")
            _KERNELS[name] = function
        return function

    return register


def registered_kernels() -> dict[str, Kernel]:
    """A copy of the table from primitive names to launch functions."""
    return dict(_KERNELS)
