"""Convolutions with few outputs per group, against the CPU, on every software adapter."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.backends.webgpu.kernels.windows import run_length

#: Shape, kernel, options: rows of all lengths, steps, gaps, zeros before and behind, crops.
CASES = [
    ((2, 3, 7, 16), (3, 1, 3, 3), {"groups": 3, "padding": 1}),
    ((1, 4, 6, 33), (8, 1, 2, 5), {"groups": 4, "padding": ((1, 0), (2, 3))}),
    ((1, 2, 9, 40), (2, 1, 3, 3), {"groups": 2, "strides": (2, 3), "padding": 2}),
    ((1, 2, 12, 25), (2, 1, 3, 3), {"groups": 2, "kernel_dilation": (2, 2), "padding": "SAME"}),
    ((2, 6, 8, 5), (6, 2, 3, 1), {"groups": 3}),
    ((1, 2, 8, 20), (2, 1, 2, 2), {"groups": 2, "padding": ((-1, 2), (1, -3))}),
    ((1, 2, 5, 9), (2, 1, 2, 2), {"groups": 2, "input_dilation": (2, 1)}),
    ((3, 2, 50), (2, 1, 7), {"groups": 2, "padding": 3}),
    ((1, 1, 30), (3, 1, 4), {"strides": 2, "padding": ((4, 9),)}),
    ((1, 2, 4, 5, 18), (2, 1, 2, 3, 2), {"groups": 2, "padding": 1}),
    ((1, 1, 3, 1), (1, 1, 3, 1), {}),
]


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "complex64", "float64", "int64"])
def test_values_are_those_of_the_cpu(rt, dtype):
    rng = np.random.default_rng(6)
    cpu = tw.EagerRuntime("cpu")
    for shape, kernel, options in CASES:
        x = (8 * rng.uniform(-1, 1, shape)).round().astype(dtype)
        w = (8 * rng.uniform(-1, 1, kernel)).round().astype(dtype)
        if dtype == "complex64":
            x, w = x + np.complex64(1j) * x[..., ::-1], w * np.complex64(1 - 2j)
        expected = tw.conv(cpu.constant_from(x), cpu.constant_from(w), **options).numpy()
        found = tw.conv(rt.constant_from(x), rt.constant_from(w), **options)
        # Small integers: every sum is exact.
        np.testing.assert_array_equal(found.numpy(), expected, err_msg=f"{shape} {options}")
    turned = tw.flip(rt.constant_from(x.real.astype("float32")), axis=-2)
    flipped = np.ascontiguousarray(x.real[..., ::-1, :]).astype("float32")
    w = np.ones((1, 1, 2, 1), np.float32)
    expected = tw.conv(cpu.constant_from(flipped), cpu.constant_from(w)).numpy()
    np.testing.assert_array_equal(tw.conv(turned, rt.constant_from(w)).numpy(), expected)


def test_runs_waste_little():
    assert [run_length(places, 1) for places in (1, 2, 3, 7, 28, 112)] == [1, 2, 4, 8, 16, 16]
    assert max(run_length(places, 2) for places in range(1, 200)) == 4
