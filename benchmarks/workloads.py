"""Whole workloads on every device against the same program in plain NumPy, in one run.

Wall time until the device is done; the data is there already.  Devices and NumPy take turns,
round by round: machines drift, so only ratios inside one run mean anything.  Each result is
compared with NumPy's before anything is timed.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .network import numpy_step, our_step
from .table import aligned, leave_out

__all__ = ["Timing", "as_text", "run"]

#: A round repeats a workload until it is about this long: clocks and wake-ups then do not count.
ROUND_SECONDS = 0.02
#: Devices far slower than the rest shall not make the benchmark last: at most this for one cell.
CELL_SECONDS = 2.0
#: How far float32 results may be from NumPy's: sums and products are added in another order.
TOLERANCE = 1e-3

Step = Callable[[], Any]


@dataclass(frozen=True)
class Workload:
    """One program: `numpy` makes its step in plain NumPy, `ours` the same on a runtime."""

    name: str
    numpy: Callable[[], Step]
    ours: Callable[[tw.EagerRuntime], Step]


@dataclass(frozen=True)
class Timing:
    """Wall milliseconds of one workload on one device and, in the same run, in NumPy."""

    device: str
    workload: str
    median_ms: float
    fastest_ms: float
    numpy_median_ms: float
    numpy_fastest_ms: float

    @property
    def ratio(self) -> float:
        """The device's median as a multiple of NumPy's."""
        return self.median_ms / self.numpy_median_ms

    @property
    def ratio_at_best(self) -> float:
        """The device's fastest round as a multiple of NumPy's."""
        return self.fastest_ms / self.numpy_fastest_ms


def of_arrays(name: str, function: Callable[..., Any], *arrays: np.ndarray[Any, Any]) -> Workload:
    """A workload that is one function of arrays or tensors; it gets the namespace first."""

    def ours(runtime: tw.EagerRuntime) -> Step:
        tensors = [runtime.constant_from(array) for array in arrays]
        return lambda: function(tw, *tensors)

    return Workload(name, lambda: lambda: function(np, *arrays), ours)


def make_workloads() -> list[Workload]:
    """The programs: element-wise, sums along each axis, matrix products, a training step."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray[Any, Any]:
        return rng.standard_normal(shape, dtype=np.float32)

    def product(extent: int) -> Workload:
        pair = normal(extent, extent), normal(extent, extent)
        return of_arrays(f"matmul {extent}", lambda xp, x, y: xp.matmul(x, y), *pair)

    line, square = normal(1_000_000), normal(2048, 2048) + np.float32(1)
    return [
        of_arrays("exp(sin(x))*x+1, 1e6", lambda xp, x: xp.exp(xp.sin(x)) * x + 1, line),
        of_arrays("sum of rows, 2048^2", lambda xp, x: xp.sum(x, axis=1), square),
        of_arrays("sum of columns, 2048^2", lambda xp, x: xp.sum(x, axis=0), square),
        of_arrays("sum of all, 2048^2", lambda xp, x: xp.sum(x), square),
        product(256),
        product(512),
        Workload("MLP training step", numpy_step, our_step),
    ]


def runtimes(names: list[str]) -> Iterator[tuple[str, tw.EagerRuntime]]:
    """A name and a runtime for every WebGPU adapter and every other backend with a device."""
    for name in names:
        try:
            if name == "webgpu":
                from tenferro_wgpu.backends.webgpu.device import adapters

                for info, raw in adapters():
                    if info.backend_type != "OpenGL":
                        kind = "webgpu, software" if info.is_cpu else "webgpu"
                        yield (
                            f"{info.name} ({kind})",
                            tw.EagerRuntime(tw.WebGpuBackend(adapter=raw)),
                        )
            else:
                runtime = tw.EagerRuntime(name)
                yield f"{runtime.device.name} ({name})", runtime
        except tw.errors.NoAdapterError as error:
            leave_out(str(error))


def check(workload: Workload, ours: Step, reference: Step) -> None:
    """Raise RuntimeError unless two steps end where NumPy's two steps do."""
    ours(), reference()
    got, want = ours().numpy(), np.asarray(reference())
    if not np.allclose(got, want, rtol=TOLERANCE, atol=TOLERANCE * np.abs(want).max()):
        raise RuntimeError(f"{workload.name}: the result differs from NumPy's")


def run(names: list[str], rounds: int) -> list[Timing]:
    """Time every workload on every device of these backends."""
    timings = []
    with ExitStack() as stack:
        devices = [(name, stack.enter_context(each)) for name, each in runtimes(names)]
        for workload in make_workloads():
            steps: list[tuple[Step, Callable[[], None]]] = [(workload.numpy(), lambda: None)]
            for _, runtime in devices:
                ours = workload.ours(runtime)
                check(workload, ours, workload.numpy())
                steps.append((ours, runtime.synchronize))
            reference, *others = interleaved(steps, rounds)
            timings += [
                Timing(name, workload.name, *times, *reference)
                for (name, _), times in zip(devices, others, strict=True)
            ]
    return timings


def interleaved(
    steps: list[tuple[Step, Callable[[], None]]], rounds: int
) -> list[tuple[float, float]]:
    """Median and least milliseconds per step of each candidate, in rounds that all share."""
    once = [timed(step, wait, 1) for step, wait in steps]
    repeats = [max(1, min(200, round(ROUND_SECONDS / seconds))) for seconds in once]
    times: list[list[float]] = [[] for _ in steps]
    for _ in range(rounds):
        for index, (step, wait) in enumerate(steps):
            if len(times[index]) < 3 or sum(times[index]) * repeats[index] < CELL_SECONDS:
                times[index].append(timed(step, wait, repeats[index]) / repeats[index])
    return [(statistics.median(each) * 1e3, min(each) * 1e3) for each in times]


def timed(step: Step, wait: Callable[[], None], repeats: int) -> float:
    """Seconds of `repeats` steps, from an idle device to an idle device."""
    wait()
    begun = time.perf_counter()
    for _ in range(repeats):
        step()
    wait()
    return time.perf_counter() - begun


def as_text(timings: list[Timing]) -> str:
    """The timings as a table with a legend."""
    header = ["device", "workload", "ms", "at best", "NumPy ms", "at best", "x NumPy", "at best"]
    lines = [header]
    for each in sorted(timings, key=lambda each: each.device):
        times = (each.median_ms, each.fastest_ms, each.numpy_median_ms, each.numpy_fastest_ms)
        ratios = (each.ratio, each.ratio_at_best)
        lines.append(
            [each.device, each.workload]
            + [f"{time:.3f}" for time in times]
            + [f"{ratio:.2f}" for ratio in ratios]
        )
    return "\n".join(
        [
            "Whole workloads in float32, wall time until the device is done, interleaved rounds",
            aligned(lines, 2),
            "ms       median of the rounds; at best: the fastest round",
            "x NumPy  the time as a multiple of plain NumPy's in this run: below 1 is faster",
            "MLP      784-256-128-10, batch 128: loss, gradients and update",
            *busy_note(),
        ]
    )


def busy_note() -> list[str]:
    """A warning where other programs keep the processors busy: NumPy's products suffer most."""
    if not hasattr(os, "getloadavg"):
        return []
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    # This program itself counts for about one.
    if load < processors + 0.5:
        return []
    return [
        f"This machine is busy (load {load:.1f} on {processors} processors): the threads of "
        "NumPy's matrix\nproducts then wait for one another; compare the columns at best.",
    ]
