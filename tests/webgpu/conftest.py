"""Backends for the kernel tests: each software adapter, SwiftShader held to browser limits."""

from __future__ import annotations

import pytest
from kernel_support import Kernels

_kernels: dict[str, Kernels] = {}


@pytest.fixture(params=["llvmpipe", "SwiftShader"])
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels of each adapter; skips where the adapter is missing."""
    from tenferro_wgpu.backends.webgpu.backend import WebGpuBackend
    from tenferro_wgpu.errors import NoAdapterError

    name = request.param
    if name not in _kernels:
        limits = "browser" if name == "SwiftShader" else None
        try:
            _kernels[name] = Kernels(WebGpuBackend(adapter=name, limits=limits))
        except NoAdapterError as error:
            pytest.skip(str(error))
    return _kernels[name]
