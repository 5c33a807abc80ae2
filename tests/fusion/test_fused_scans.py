"""Scans compute what waits for them as they read it, and change no bit by that."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SOFTWARE
from fusion.test_fusion import dispatches, kernels_of
from fusion.test_random_programs import runtime, same_bits

import tenferro_wgpu as tw

LONG = 5000


def line(runtime, dtype="float32", shape=(LONG,)):
    values = np.random.default_rng(2).uniform(-1, 1, shape)
    if np.dtype(dtype).kind in "iu":
        values = 100 * np.abs(values)
    return runtime.constant_from(values.astype(dtype))


@pytest.mark.parametrize("scan", ["cumsum", "cumprod", "cummax", "cummin", "cumulative_logsumexp"])
@pytest.mark.parametrize("shape", [(40,), (LONG,)])
def test_a_scan_takes_what_is_before(fused, scan, shape):
    x = line(fused, shape=shape)
    function = getattr(tw, scan)
    alone = kernels_of(fused, lambda: function(x))
    assert kernels_of(fused, lambda: function(tw.sin(x) * x + 0.5)) == alone
    assert alone == 1 if shape == (40,) else alone > 1


def test_nothing_is_stored_before_it(fused):
    x = line(fused)
    tw.cumsum(x * x + 1.0).numpy()
    tw.cumsum(x * x + 1.0).numpy()
    y = tw.cumsum(x * x + 1.0)
    counters = fused.backend.stats()["fusion"]
    y.numpy()
    after = fused.backend.stats()["fusion"]
    assert after["fused"] - counters["fused"] == 3
    assert after["kernels"] - counters["kernels"] == 1


def test_what_is_cast_spread_or_sliced_is_taken_too(fused):
    half = line(fused, "float16", (6, 30))
    assert kernels_of(fused, lambda: tw.cumsum(half, axis=1)) == 2  # and the cast back
    x = line(fused, shape=(6, 30))
    rows = line(fused, shape=(30,))
    assert kernels_of(fused, lambda: tw.cumsum(x.T[::2] * rows[:6] + 1.0, axis=0)) == 1
    assert kernels_of(fused, lambda: tw.cumsum(x - x.max(axis=1, keepdims=True), axis=1)) == 2
    assert kernels_of(fused, lambda: tw.cumsum(tw.cumsum(x * 2.0, axis=1) * x, axis=0)) == 2


def test_what_loops_or_is_dear_is_stored_first(fused):
    x = line(fused, shape=(40,))
    assert kernels_of(fused, lambda: tw.cumsum(tw.lgamma(x + 3.0))) == 2
    sines = "tw.sin(x) * tw.cos(x) * tw.exp(x) * tw.tanh(x) + tw.log1p(x * x)"
    assert kernels_of(fused, lambda: tw.cumsum(eval(sines, {"tw": tw, "x": x}))) == 2


def test_elements_that_are_held_are_stored_once(fused):
    x = line(fused, shape=(40,))

    def both():
        y = tw.exp(x) + 1.0
        z = tw.cumsum(y)
        z.numpy()
        return y

    assert kernels_of(fused, both) == 2


def test_gradients_of_scans_are_scans_of_products(fused):
    x = fused.variable_from(np.linspace(0.5, 1.5, 40, dtype=np.float32))

    def step():
        (tw.cumsum(x * x) * x).sum().backward()
        found = x.grad
        fused.clear_grads()
        return found

    for _ in range(2):
        step().numpy()
    before = dispatches(fused)
    found = step().numpy()
    # Forward nobody wants; the cotangents, their scan, what is added up.
    assert dispatches(fused) - before <= 4
    a = np.linspace(0.5, 1.5, 40)
    expected = 2 * a * np.cumsum(a[::-1])[::-1] + np.cumsum(a * a)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def programs(x, y):
    """Results of scans of functions, along either axis and from either end."""
    yield tw.cumsum(x * y, axis=1)
    yield tw.cumsum(x * y + x, axis=0)
    yield tw.cummax(x - y, axis=1) * 2
    if x.dtype.kind != "c":
        yield tw.cummin(tw.maximum(x, y) - x, axis=0)
    yield tw.flip(tw.cumsum(tw.flip(x * x, axis=1), axis=1), axis=1)
    yield tw.cumprod(x * 0 + y, axis=1)
    yield tw.cumsum(x.T * 2, axis=0)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int32", "int64", "complex64"])
@pytest.mark.parametrize("adapter", SOFTWARE)
def test_bits_are_those_of_one_by_one(adapter, dtype):
    with runtime(adapter, True) as fused, runtime(adapter, False) as plain:
        results = []
        for each in (fused, plain):
            with each.as_default():
                x, y = line(each, dtype, (3, 700)), line(each, dtype, (1, 700))
                if dtype == "complex64":
                    found = [tw.cumsum(x * y, axis=1), tw.cumprod(x + y, axis=0)]
                else:
                    found = list(programs(x, y))
                results.append([one.numpy() for one in found])
        for one, other in zip(*results, strict=True):
            assert same_bits(one, other)
