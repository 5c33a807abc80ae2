"""Backends for the kernel tests: each software adapter, SwiftShader held to browser limits.

And queues: on both software adapters, through each native driver, and under browser limits.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import ADAPTERS, SOFTWARE, leave_out
from driver_support import BROWSER, VARIANTS, open_variant
from kernel_support import Kernels

from tenferro_wgpu.backends.webgpu.queue import Queue

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


@pytest.fixture(params=[*VARIANTS, BROWSER], ids=" ".join)
def queue(request: pytest.FixtureRequest) -> Iterator[Queue]:
    """A queue of the test's own on a device that all tests of a variant share."""
    queue = Queue(open_variant(*request.param))
    yield queue
    queue.close()
