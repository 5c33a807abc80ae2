"""What programs may cost, in counts: kernels, submissions, bytes, allocations; never in time.

The bounds are upper bounds: a change that needs fewer lowers them here.  A program that repeats
must not compile, allocate or record more the longer it runs; that its host time does not grow
either is looked at once, with a factor of two to spare.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

import numpy as np
import pytest
from conftest import SOFTWARE, make_runtime, shared_runtime

import tenferro_wgpu as tw

RATE = np.float32(0.05)


@pytest.fixture(params=SOFTWARE)
def gpu(request):
    """A runtime of the test's own on each WebGPU adapter."""
    shared_runtime(request.param)
    with make_runtime(request.param) as runtime:
        yield runtime


def counters(rt: tw.EagerRuntime) -> dict[str, int]:
    """The counters of a WebGPU runtime, flat."""
    stats = rt.stats()["backend"]
    return {
        "dispatches": stats["queue"]["dispatches"],
        "submits": stats["queue"]["submits"],
        "bytes_up": stats["queue"]["bytes_up"],
        "bytes_down": stats["queue"]["bytes_down"],
        "pipelines": stats["pipelines"]["built"],
        "bind_groups": stats["bind_groups"]["built"],
        "allocations": stats["memory"]["allocations"],
        "live_bytes": stats["memory"]["live_bytes"],
        "pooled_bytes": stats["memory"]["pooled_bytes"],
        "grad_slots": rt.stats()["grad_slots"],
        "saved_bytes": rt.stats()["saved_bytes"],
    }


def spent(rt: tw.EagerRuntime, program: Callable[[], object], warm_up: int = 4) -> dict[str, int]:
    """What one run of a program counts once it has run before."""
    for _ in range(warm_up):
        program()
    before = counters(rt)
    program()
    after = counters(rt)
    return {name: after[name] - before[name] for name in after}


def network(rt: tw.EagerRuntime, layers: tuple[int, ...], batch: int) -> Callable[[], float]:
    """One step of gradient descent on a small classifier; returns the loss."""
    rng = np.random.default_rng(1)
    inputs = rt.constant_from(rng.standard_normal((batch, layers[0]), np.float32))
    labels = rng.integers(layers[-1], size=batch)
    targets = rt.constant_from(np.eye(layers[-1], dtype=np.float32)[labels])
    parameters = []
    for width, following in zip(layers, layers[1:], strict=False):
        weights = rng.standard_normal((width, following), np.float32) / np.float32(width**0.5)
        parameters += [rt.variable_from(weights), rt.variable_from(np.zeros(following, np.float32))]

    def step() -> float:
        flowing = inputs
        for layer in range(0, len(parameters), 2):
            sums = flowing @ parameters[layer] + parameters[layer + 1]
            flowing = sums if layer + 2 == len(parameters) else tw.maximum(sums, 0)
        shifted = flowing - flowing.detach().max(axis=1, keepdims=True)
        totals = tw.exp(shifted).sum(axis=1, keepdims=True)
        loss = ((tw.log(totals) - shifted) * targets).sum() / batch
        loss.backward()
        with tw.no_grad():
            for position, parameter in enumerate(parameters):
                parameters[position] = (parameter - RATE * parameter.grad).requires_grad_()
        return loss.item()

    return step


def test_a_hundred_steps_of_a_network_compile_what_three_do(gpu):
    full = "llvmpipe" in gpu.device.name  # SwiftShader would take minutes
    step = network(gpu, (784, 256, 128, 10), 128) if full else network(gpu, (20, 12, 8, 4), 8)
    losses = [step() for _ in range(3)]
    before = counters(gpu)
    losses += [step() for _ in range(97)]
    after = counters(gpu)
    assert after["pipelines"] == before["pipelines"]
    assert losses[-1] < losses[0] / 2
    assert after["bytes_down"] - before["bytes_down"] == 97 * 4
    assert after["bytes_up"] == before["bytes_up"]


def test_ten_thousand_steps_cost_what_the_first_did(gpu):
    """Counters of each thousand steps are equal; neither memory nor caches nor objects grow."""
    rng = np.random.default_rng(2)
    x = gpu.constant_from(rng.standard_normal((8, 4), np.float32))
    y = gpu.constant_from(rng.standard_normal(8, np.float32))
    w = gpu.variable_from(np.zeros(4, np.float32))

    def step(w):
        difference = (x * w).sum(axis=1) - y
        (difference * difference).sum().backward()
        with tw.no_grad():
            return (w - np.float32(0.001) * w.grad).requires_grad_()

    gc.collect()
    seen, spent_us = [], []
    for _ in range(10):
        times = []
        for _ in range(1000):
            begun = time.thread_time_ns()
            w = step(w)
            times.append(time.thread_time_ns() - begun)
        gpu.synchronize()
        gc.collect()
        spent_us.append(statistics.median(times) / 1e3)
        stats = gpu.stats()["backend"]
        seen.append(
            {
                **counters(gpu),
                "groups kept": stats["bind_groups"]["entries"],
                "pipelines kept": stats["pipelines"]["entries"],
                "plans kept": stats["plans"]["entries"],
                "objects": len(gc.get_objects()),
            }
        )
    per_thousand = [
        {name: late[name] - early[name] for name in late}
        for early, late in zip(seen[1:], seen[2:], strict=False)
    ]
    # Which pooled buffers meet in a kernel depends on when batches end; in the first thousands of
    # steps a few combinations are still new.
    for name in ("bind_groups", "groups kept"):
        assert sum(counts[name] for counts in per_thousand) < 60
        assert [counts[name] for counts in per_thousand[-2:]] == [0, 0]
    for name in ("pipelines", "allocations", "live_bytes", "pooled_bytes", "grad_slots",
                 "saved_bytes", "pipelines kept", "plans kept", "bytes_up",
                 "bytes_down"):  # fmt: skip
        assert [counts[name] for counts in per_thousand] == [0] * len(per_thousand), name
    assert len({counts["dispatches"] for counts in per_thousand}) == 1
    # One object kept per step would be nine thousand; dead weak references go in batches.
    assert max(counts["objects"] for counts in seen) - seen[0]["objects"] < 3000
    # Host time of the thread alone, and with much room: it must not grow with the steps taken.
    assert min(spent_us[-3:]) < 2 * min(spent_us[1:4])
    assert np.isfinite(w.numpy()).all()


#: Name, program on an array of that shape, and the most that one run may count.
WORKLOADS = {
    "chain": ((100_000,), lambda x: tw.exp(tw.sin(x)) * x + 1, {"dispatches": 1}),
    "hundred additions": (
        (1024,), lambda x: _additions(x, 100), {"dispatches": 2, "submits": 2},
    ),
    "sum": ((1000, 1000), lambda x: x.sum(), {"dispatches": 3}),
    "row sums": ((1000, 1000), lambda x: x.sum(axis=1), {"dispatches": 1}),
    "column sums": ((1000, 1000), lambda x: x.sum(axis=0), {"dispatches": 2}),
    "product": ((128, 128), lambda x: x @ x, {"dispatches": 1}),
    "transposed product": ((128, 64), lambda x: x.T @ x, {"dispatches": 1}),
    "convolution, bias and activation": (
        (9, 16), lambda x: tw.maximum(tw.conv(x[None, None], _kernel(x)) + x[0, 0], 0),
        {"dispatches": 1},
    ),
    "padded convolution": (
        (9, 16), lambda x: tw.conv(x[None, None], _kernel(x), padding=1), {"dispatches": 3},
    ),
    "mean and deviation": (
        (200, 300), lambda x: (((x - x.mean(axis=1, keepdims=True)) ** 2).mean(axis=1)) ** 0.5,
        {"dispatches": 2},
    ),
}  # fmt: skip


def _kernel(x: tw.EagerTensor) -> tw.EagerTensor:
    return x[0, :9].reshape(1, 1, 3, 3)


def _additions(x: tw.EagerTensor, count: int) -> tw.EagerTensor:
    y = x
    for _ in range(count):
        y = y + x
    return y


@pytest.mark.parametrize("name", WORKLOADS)
def test_workloads_stay_within_their_bounds(gpu, name):
    shape, program, most = WORKLOADS[name]
    x = gpu.constant_from(np.full(shape, 0.5, np.float32))
    result = program(x)
    counted = spent(gpu, lambda: program(x).numpy())
    for counter, bound in {"submits": 1, **most}.items():
        assert counted[counter] <= bound, (counter, counted)
    assert counted["bytes_down"] == result.size * 4
    for counter in ("bytes_up", "pipelines", "bind_groups", "allocations", "live_bytes"):
        assert counted[counter] == 0, (counter, counted)


def test_a_training_step_stays_within_its_bounds(gpu):
    counted = spent(gpu, network(gpu, (20, 12, 8, 4), 8))
    assert counted["dispatches"] <= 32
    assert counted["submits"] <= 2
    assert (counted["bytes_up"], counted["bytes_down"]) == (0, 4)
    for counter in ("pipelines", "allocations", "live_bytes", "grad_slots", "saved_bytes"):
        assert counted[counter] == 0, (counter, counted)


@pytest.mark.parametrize(
    "program",
    [lambda x: x + x, lambda x: tw.exp(x) * 2, lambda x: x.sum(axis=0), lambda x: x.T + 1],
    ids=["add", "exp", "sum", "transposed"],
)
def test_another_size_compiles_nothing(gpu, program):
    for _ in range(3):  # kernels of several operations come when a structure does again
        program(gpu.constant_from(np.ones((64, 32), np.float32))).numpy()
    before = counters(gpu)["pipelines"]
    for shape in ((60, 48), (128, 16), (68, 100)):
        program(gpu.constant_from(np.ones(shape, np.float32))).numpy()
    assert counters(gpu)["pipelines"] == before


def test_learning_rates_compile_nothing(gpu):
    x = gpu.constant_from(np.ones(64, np.float32))
    for rate in (0.5, 0.25, 0.125):
        (x - rate * x).numpy()
    before = counters(gpu)["pipelines"]
    for step in range(1000):
        x = x - (1e-6 * (step + 1)) * x
    x.numpy()
    assert counters(gpu)["pipelines"] - before <= 2  # and what joins several steps
