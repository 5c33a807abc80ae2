"""Training leaves memory flat, makes no new pipelines and stays near the sum of its parts."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import numpy as np
import pytest

import tenferro_wgpu as tw


class Mlp:
    """Two layers and a squared error, with the shapes kept for the memory bound."""

    def __init__(self, rt, batch=8, inputs=6, hidden=10, outputs=3, seed=0):
        rng = np.random.default_rng(seed)

        def normal(*shape):
            return rng.standard_normal(shape).astype(np.float32)

        self.rt = rt
        self.x = rt.constant_from(normal(batch, inputs))
        self.t = rt.constant_from(normal(batch, outputs))
        self.parameters = [
            rt.variable_from(normal(inputs, hidden) / 3),
            rt.variable_from(np.zeros(hidden, np.float32)),
            rt.variable_from(normal(hidden, outputs) / 3),
        ]

    def step(self, rate=0.01):
        w1, b1, w2 = self.parameters
        hidden = tw.tanh(self.x @ w1 + b1)
        error = hidden @ w2 - self.t
        loss = tw.mean(error * error)
        loss.backward()
        with tw.no_grad():
            self.parameters = [self.rt.variable_from(p - rate * p.grad) for p in self.parameters]
        return loss


def _resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _memory(rt):
    return rt.stats()["backend"]["memory"]


@pytest.mark.parametrize("steps", [int(os.environ.get("TENFERRO_TEST_STEPS", "10000"))])
def test_training_leaves_memory_flat(fresh_rt, adapter, steps):
    if adapter == "swiftshader":
        steps //= 10  # the same host code on a slower device
    if adapter in ("numpy", "cupy"):
        steps //= 5
    model = Mlp(fresh_rt)
    for _ in range(300):
        model.step()
    fresh_rt.synchronize()
    gc.collect()
    before = _resident_bytes()
    pool_before = _memory(fresh_rt) if adapter not in ("numpy", "cupy") else None
    for step in range(steps):
        loss = model.step()
        if step % 100 == 0:
            loss.item()
    fresh_rt.synchronize()
    gc.collect()
    assert _resident_bytes() - before < 24e6
    if pool_before is not None:
        after = _memory(fresh_rt)
        assert after["live_bytes"] <= pool_before["live_bytes"] + 4096
        assert after["pooled_bytes"] <= pool_before["pooled_bytes"] * 1.5 + 65536
    assert fresh_rt.stats()["grad_slots"] <= 10


def _gpu_only(adapter):
    if adapter in ("numpy", "cupy"):
        pytest.skip("pipelines and the buffer pool belong to WebGPU")


def test_learning_rates_make_no_new_pipelines(fresh_rt, adapter):
    _gpu_only(adapter)
    model = Mlp(fresh_rt)
    # Nothing reads the loss, so a step ends with work that runs in the next: what the second
    # sees for the first time is compiled by the third.
    for rate in (0.1, 0.2, 0.3):
        model.step(rate)
    fresh_rt.synchronize()
    built = fresh_rt.stats()["backend"]["pipelines"]["built"]
    for rate in np.linspace(0.001, 0.02, 1000):
        model.step(float(rate))
    fresh_rt.synchronize()
    assert fresh_rt.stats()["backend"]["pipelines"]["built"] == built


def test_new_sizes_make_no_new_pipelines(fresh_rt, adapter):
    _gpu_only(adapter)

    def run(n):
        x = fresh_rt.variable_from(np.ones((n, n + 1), np.float32))
        tw.exp(x.T * 2.0 + 1.0).sum().backward()
        tw.sum(x, axis=0).numpy()

    # Two sizes of each remainder by 4: vector loads need divisible rows, and a chain gets a
    # kernel of its own when it comes back.
    for n in range(32, 40):
        run(n)
    built = fresh_rt.stats()["backend"]["pipelines"]["built"]
    for n in range(40, 60):
        run(n)
    assert fresh_rt.stats()["backend"]["pipelines"]["built"] == built


def test_peak_memory_of_a_step_is_near_the_sum_of_its_parts(fresh_rt, adapter):
    _gpu_only(adapter)
    rt, batch, widths = fresh_rt, 64, (256, 256, 256, 256, 256, 64)
    rng = np.random.default_rng(0)

    def normal(*shape):
        return (rng.standard_normal(shape) / 16).astype(np.float32)

    inputs, targets = (
        rt.constant_from(normal(batch, widths[0])),
        rt.constant_from(normal(batch, 64)),
    )
    weights = [rt.variable_from(normal(m, n)) for m, n in zip(widths, widths[1:], strict=False)]

    def step():
        layer = inputs
        for weight in weights[:-1]:
            layer = tw.tanh(layer @ weight)
        error = layer @ weights[-1] - targets
        tw.mean(error * error).backward()
        with tw.no_grad():
            for i, weight in enumerate(weights):
                weights[i] -= 0.01 * weight.grad

    for _ in range(2):
        step()
    allocations = _memory(rt)["allocations"]
    for _ in range(4):
        step()
    rt.synchronize()
    parameters = sum(m * n for m, n in zip(widths, widths[1:], strict=False))
    data = batch * (widths[0] + widths[-1])
    residuals = batch * sum(widths[1:])  # each tanh's result, and the error for its square
    live_grads = parameters + batch * (widths[-2] + widths[-1])  # variables, last layer, error
    budget = 4 * (parameters + data + residuals + live_grads + parameters)
    memory = _memory(rt)
    assert memory["peak_live_bytes"] <= 1.15 * budget, memory["peak_live_bytes"] / budget
    assert memory["allocations"] == allocations, "allocations go on after the second step"
