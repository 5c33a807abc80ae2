"""Fusion changes no bit: random programs with fusion on, compiled at once or later, and off."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ADAPTERS, SOFTWARE, leave_out
from fusion.random_programs import RandomProgram

import tenferro_wgpu as tw
from tenferro_wgpu.errors import NoAdapterError

PROGRAMS = {"lavapipe": 150, "swiftshader": 40}


def runtime(adapter: str, fusion: bool) -> tw.EagerRuntime:
    limits = "browser" if adapter == "swiftshader" else None
    try:
        backend = tw.WebGpuBackend(adapter=ADAPTERS[adapter], limits=limits, fusion=fusion)
    except NoAdapterError as error:
        leave_out(str(error))
    if backend.fuser is not None:
        backend.fuser.patience = 0
    return tw.EagerRuntime(backend)


def same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    """Equal element by element; any NaN equals any NaN, and 0.0 does not equal -0.0."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind == "c":
        return same_bits(x.real.copy(), y.real.copy()) and same_bits(x.imag.copy(), y.imag.copy())
    if x.dtype.kind != "f":
        return bool((x == y).all())
    nan = np.isnan(x)
    bits = f"u{x.dtype.itemsize}"
    return bool((nan == np.isnan(y)).all() and (x.view(bits) == y.view(bits))[~nan].all())


@pytest.mark.parametrize("adapter", SOFTWARE)
def test_random_programs_keep_their_bits(adapter):
    with runtime(adapter, True) as fused, runtime(adapter, False) as plain:
        for seed in range(PROGRAMS[adapter]):
            program = RandomProgram(seed, 4 + seed % 20)
            expected = program.run(plain)
            for position, (x, y) in enumerate(zip(program.run(fused), expected, strict=True)):
                assert same_bits(x, y), f"seed {seed}, result {position}:\n{x}\n{y}"
        counters = fused.backend.stats()["fusion"]
    assert counters["fused"] > 3 * PROGRAMS[adapter]
    assert counters["kernels"] < counters["fused"]
    assert counters["refused"] == 0
