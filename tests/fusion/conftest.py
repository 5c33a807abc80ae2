"""The runtime of the fusion tests, on each software adapter."""

from __future__ import annotations

import pytest
from conftest import ADAPTERS, SOFTWARE, leave_out

import tenferro_wgpu as tw
from tenferro_wgpu.errors import NoAdapterError


@pytest.fixture(params=SOFTWARE)
def fused(request):
    """A runtime that compiles every fused kernel at once, held to browser limits on SwiftShader."""
    limits = "browser" if request.param == "swiftshader" else None
    try:
        backend = tw.WebGpuBackend(adapter=ADAPTERS[request.param], limits=limits, fusion=True)
    except NoAdapterError as error:
        leave_out(str(error))
    backend.fuser.patience = 0
    with tw.EagerRuntime(backend) as runtime, runtime.as_default():
        yield runtime
