"""Backends for the kernel tests: each software adapter, SwiftShader held to browser limits."""

from __future__ import annotations

import pytest
from conftest import ADAPTERS, SOFTWARE, leave_out
from kernel_support import Kernels

_kernels: dict[str, Kernels] = {}


@pytest.fixture(params=[ADAPTERS[name] for name in SOFTWARE])
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels of each software adapter."""
    from tenferro_wgpu.backends.webgpu.backend import WebGpuBackend
    from tenferro_wgpu.errors import NoAdapterError

    name = request.param
    if name not in _kernels:
        limits = "browser" if name == "SwiftShader" else None
        try:
            _kernels[name] = Kernels(WebGpuBackend(adapter=name, limits=limits))
        except NoAdapterError as error:
            leave_out(str(error))
    return _kernels[name]
