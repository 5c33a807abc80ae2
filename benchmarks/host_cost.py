"""What one queued operation costs the host: CPU time of this thread, counters, and the floor.

Candidates are interleaved, round by round, in one process: machines drift by a factor of two
between runs, so only ratios inside one run mean anything.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.backends.webgpu.backend import WebGpuBackend

from .dispatch_floor import DispatchFloor
from .table import aligned, leave_out

__all__ = ["Row", "as_text", "run"]

#: Elements per tensor: small, so that the host's work is all there is.
SIZE = 64
#: Measured first and thrown away: pipelines, pools and caches fill.
WARM_UP_ROUNDS = 3
#: What we aim for on a GPU, in multiples of the floor.
TARGETS = {"untracked": 1.5, "tracked": 2.5, "backward node": 3.0}
#: Marks the rows of a runtime that dispatches every operation by itself.
UNFUSED = ", fusion off"

LEGEND = """\
floor    a bare loop that records the same dispatches through wgpu-py's C functions: the least
         that an eager operation can cost in Python
x floor  the median as a multiple of the floor's; backends that are not WebGPU have none
target   the most that x floor should be on a GPU
fusion   off: every operation is a dispatch of its own, as in the floor; else several share one"""
SOFTWARE_NOTE = """\
This adapter is software: its threads take the processor and its caches from Python, so that
x floor is no measure of a GPU."""


@dataclass(frozen=True)
class Candidate:
    """One thing to measure: `prepare` outside the clock, `run` inside, `settle` outside again."""

    device: str
    kind: str
    operations: int
    prepare: Callable[[], Any]
    run: Callable[[Any], Any]
    settle: Callable[[], None]
    counters: Callable[[], dict[str, float]]
    software: bool


@dataclass(frozen=True)
class Row:
    """Cost per operation in microseconds of thread CPU time, and counters per operation."""

    device: str
    kind: str
    median_us: float
    fastest_us: float
    per_operation: dict[str, float]
    #: Whether the device is a WebGPU adapter that is no hardware.
    software: bool
    ratio_to_floor: float | None = None
    target: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the target is met; empty where there is none."""
        if self.target is None or self.ratio_to_floor is None:
            return ""
        return "pass" if self.ratio_to_floor <= self.target else "miss"


def floor_candidate(operations: int) -> Candidate | None:
    """The bare dispatch loop on the adapter that the WebGPU backend takes."""
    from tenferro_wgpu.backends.webgpu.device import adapters, choose_adapter

    try:
        info, raw = choose_adapter(adapters(), os.environ.get("TENFERRO_ADAPTER"))
        floor = DispatchFloor(raw)
    except (tw.errors.NoAdapterError, RuntimeError) as error:
        print(f"no floor: {error}", file=sys.stderr)
        return None
    x = floor.tensor(np.full(SIZE, 2.0))
    one = floor.tensor(np.ones(SIZE))
    if not np.array_equal(floor.read(x * one), np.full(SIZE, 2.0, np.float32)):
        raise RuntimeError("the dispatch floor computes wrong values")

    def run(start: Any) -> Any:
        y = start
        for _ in range(operations):
            y = y * one
        floor.flush()
        return y

    return Candidate(
        info.name, "floor", operations, lambda: x, run, floor.wait,
        lambda: {
            "dispatches": floor.dispatches,
            "submits": floor.submits,
            "buffers": floor.buffers_made,
        },
        info.is_cpu,
    )  # fmt: skip


def runtime_candidates(
    runtime: tw.EagerRuntime, operations: int, suffix: str = ""
) -> list[Candidate]:
    """Untracked and tracked products, and the nodes of their reverse sweep."""
    ones = np.ones(SIZE, np.float32)
    one = runtime.constant_from(ones)
    constant = runtime.constant_from(ones)
    variable = runtime.variable_from(ones)
    on_webgpu = runtime.device.backend == "webgpu"
    software = on_webgpu and runtime.backend.capabilities().device_type == "CPU"

    def chain(start: Any) -> Any:
        y = start
        for _ in range(operations):
            y = y * one
        runtime.flush()
        return y

    def sweep(loss: Any) -> None:
        loss.backward()
        runtime.flush()

    def loss() -> Any:
        made = chain(variable).sum()
        runtime.synchronize()
        return made

    def settle() -> None:
        runtime.synchronize()
        runtime.clear_grads()

    def candidate(kind: str, prepare: Callable[[], Any], run: Callable[[Any], Any]) -> Candidate:
        return Candidate(
            f"{runtime.device.name} ({runtime.device.backend})", kind + suffix, operations,
            prepare, run, settle, lambda: _counters(runtime.stats()["backend"]), software,
        )  # fmt: skip

    return [
        candidate("untracked", lambda: constant, chain),
        candidate("tracked", lambda: variable, chain),
        candidate("backward node", loss, sweep),
    ]


def _counters(stats: dict[str, Any]) -> dict[str, float]:
    """The counters a backend has, by one set of names."""
    found: dict[str, float] = {}
    if "executed" in stats:
        found["executed"] = stats["executed"]["total"]
    if "queue" in stats:
        found["dispatches"] = stats["queue"]["dispatches"]
        found["submits"] = stats["queue"]["submits"]
    if "memory" in stats:
        found["buffers"] = stats["memory"]["allocations"]
    if "bind_groups" in stats:
        found["bind groups"] = stats["bind_groups"]["built"]
    if "pipelines" in stats:
        found["pipelines"] = stats["pipelines"]["built"]
    return found


def measure(candidates: list[Candidate], rounds: int) -> list[Row]:
    """Interleaved rounds of every candidate, without garbage collection inside the clock."""
    times: list[list[float]] = [[] for _ in candidates]
    counted: list[dict[str, float]] = [{} for _ in candidates]
    for round_number in range(WARM_UP_ROUNDS + rounds):
        for index, candidate in enumerate(candidates):
            start = candidate.prepare()
            before = candidate.counters()
            gc.collect()
            gc.disable()
            try:
                begun = time.thread_time()
                result = candidate.run(start)
                spent = time.thread_time() - begun
            finally:
                gc.enable()
            after = candidate.counters()
            del result, start
            candidate.settle()
            if round_number >= WARM_UP_ROUNDS:
                times[index].append(spent / candidate.operations * 1e6)
                for name, value in after.items():
                    counted[index][name] = (
                        counted[index].get(name, 0.0) + value - before.get(name, 0.0)
                    )
    medians = [statistics.median(spent_us) for spent_us in times]
    floor = next(
        (us for us, each in zip(medians, candidates, strict=True) if each.kind == "floor"), None
    )
    rows = []
    for candidate, median, spent_us, counters in zip(
        candidates, medians, times, counted, strict=True
    ):
        total = candidate.operations * rounds
        compared = floor is not None and "dispatches" in counters
        rows.append(
            Row(
                candidate.device,
                candidate.kind,
                median,
                min(spent_us),
                {name: value / total for name, value in counters.items()},
                candidate.software,
                median / floor if floor is not None and compared else None,
                TARGETS.get(candidate.kind.removesuffix(UNFUSED)) if compared else None,
            )
        )
    return rows


def as_text(rows: list[Row]) -> str:
    """The rows as a table with a legend, and what a software adapter means for it."""
    names = list(dict.fromkeys(name for row in rows for name in row.per_operation))
    header = ["device", "operation", "median us", "fastest us", "x floor", "target", "result"]
    lines = [header + [f"{name}/op" for name in names]]
    for row in rows:
        lines.append(
            [row.device, row.kind, f"{row.median_us:.2f}", f"{row.fastest_us:.2f}"]
            + ["" if row.ratio_to_floor is None else f"{row.ratio_to_floor:.2f}"]
            + ["" if row.target is None else f"{row.target:.1f}", row.verdict]
            + [
                f"{row.per_operation[name]:.3f}" if name in row.per_operation else ""
                for name in names
            ]
        )
    title = f"Host CPU time per queued operation on {SIZE} float32 elements, interleaved rounds"
    parts = [title, aligned(lines, 2)]
    if any(row.ratio_to_floor is not None for row in rows):
        parts.append(LEGEND)
        if any(row.software for row in rows):
            parts.append(SOFTWARE_NOTE)
    return "\n".join(parts)


def available_runtimes(names: list[str]) -> list[tw.EagerRuntime]:
    """A runtime per backend that has a device here."""
    runtimes = []
    for name in names:
        try:
            runtimes.append(tw.EagerRuntime(name))
        except tw.errors.NoAdapterError as error:
            leave_out(str(error))
    return runtimes


def run(names: list[str], operations: int, rounds: int) -> list[Row]:
    """Measure the backends that have a device here, and the floor where WebGPU is one of them."""
    runtimes = available_runtimes(names)
    candidates = []
    for runtime in list(runtimes):
        candidates += runtime_candidates(runtime, operations)
        if runtime.device.backend == "webgpu":
            unfused = tw.EagerRuntime(WebGpuBackend(fusion=False))
            runtimes.append(unfused)
            candidates += runtime_candidates(unfused, operations, UNFUSED)
    floor = floor_candidate(operations) if "webgpu" in names else None
    if floor is not None:
        candidates.insert(0, floor)
    rows = measure(candidates, rounds)
    for runtime in runtimes:
        runtime.close()
    return rows
