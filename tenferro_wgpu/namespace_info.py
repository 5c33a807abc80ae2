"""`__array_namespace_info__`: what the Array API lets a program ask of the namespace.

A device is that of one runtime, so answers are about the current runtime.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import SUPPORTED, default_complex, float16, int64
from .eager.device import Device
from .eager.runtime import current_runtime
from .layout import MOST_AXES
from .ops.data_types import isdtype

__all__ = ["NamespaceInfo", "namespace_info"]


class NamespaceInfo:
    """The Array API's inspection functions.

    >>> import tenferro_wgpu as tw
    >>> info = tw.__array_namespace_info__()
    >>> info.default_dtypes()["indexing"]
    dtype('int64')
    """

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """What the namespace as a whole supports."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": MOST_AXES,
        }

    def default_device(self) -> Device:
        """The device of the current runtime."""
        return current_runtime().device

    def devices(self) -> tuple[Device, ...]:
        """The devices that have a runtime to compute with: that of the current one.

        What else this machine has is `tenferro_wgpu.devices()`; a runtime on it makes it a device
        here, inside its ``with`` block.
        """
        return (current_runtime().device,)

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes that Python numbers and indices take."""
        default = current_runtime(device).default_dtype
        return {
            "real floating": default,
            "complex floating": default_complex(default),
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype[Any]]:
        """The standard's dtypes by name, all or those of a kind as in `isdtype`.

        Every device has all of them, and float16, which the standard does not know.
        """
        current_runtime(device)  # raises for an unknown device
        return {
            dtype.name: dtype
            for dtype in SUPPORTED
            if dtype is not float16 and (kind is None or isdtype(dtype, kind))
        }


def namespace_info() -> NamespaceInfo:
    """What can be asked of the namespace: capabilities, devices and dtypes."""
    return NamespaceInfo()
