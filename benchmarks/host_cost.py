"""What one queued operation costs the host: CPU time of this thread, counters, and the floor.

Candidates are interleaved, round by round, in one process: machines drift by a factor of two
between runs, so only ratios inside one run mean anything.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .dispatch_floor import DispatchFloor

#: Elements per tensor: small, so that the host's work is all there is.
SIZE = 64
#: Measured first and thrown away: pipelines, pools and caches fill.
WARM_UP_ROUNDS = 3
#: What we aim for on a GPU, in multiples of the floor.
TARGETS = {"untracked": 1.5, "tracked": 2.5, "backward node": 3.0}


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


@dataclass(frozen=True)
class Row:
    """Cost per operation in microseconds of thread CPU time, and counters per operation."""

    device: str
    kind: str
    median_us: float
    fastest_us: float
    per_operation: dict[str, float]
    ratio_to_floor: float | None = None


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
    )  # fmt: skip


def runtime_candidates(runtime: tw.EagerRuntime, operations: int) -> list[Candidate]:
    """Untracked and tracked products, and the nodes of their reverse sweep."""
    ones = np.ones(SIZE, np.float32)
    one = runtime.constant_from(ones)
    constant = runtime.constant_from(ones)
    variable = runtime.variable_from(ones)

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
            f"{runtime.device.name} ({runtime.device.backend})", kind, operations, prepare, run,
            settle, lambda: _counters(runtime.stats()["backend"]),
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
    rows = []
    for candidate, spent_us, counters in zip(candidates, times, counted, strict=True):
        total = candidate.operations * rounds
        rows.append(
            Row(
                candidate.device,
                candidate.kind,
                statistics.median(spent_us),
                min(spent_us),
                {name: value / total for name, value in counters.items()},
            )
        )
    floor = next((row.median_us for row in rows if row.kind == "floor"), None)
    if floor is None:
        return rows
    return [Row(**{**asdict(row), "ratio_to_floor": row.median_us / floor}) for row in rows]


def as_table(rows: list[Row]) -> str:
    """The rows, aligned, with the counters that any of them has."""
    names = list(dict.fromkeys(name for row in rows for name in row.per_operation))
    header = ["device", "operation", "median us", "fastest us", "x floor", "target"]
    header += [f"{name}/op" for name in names]
    lines = [header]
    for row in rows:
        ratio = "" if row.ratio_to_floor is None else f"{row.ratio_to_floor:.2f}"
        target = "" if "dispatches" not in row.per_operation else TARGETS.get(row.kind, "")
        counters = [
            f"{row.per_operation[name]:.3f}" if name in row.per_operation else "" for name in names
        ]
        lines.append(
            [row.device, row.kind, f"{row.median_us:.2f}", f"{row.fastest_us:.2f}", ratio]
            + [str(target), *counters]
        )
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def available_runtimes(names: list[str]) -> list[tw.EagerRuntime]:
    """A runtime per backend that has a device here."""
    runtimes = []
    for name in names:
        try:
            runtimes.append(tw.EagerRuntime(name))
        except tw.errors.NoAdapterError as error:
            print(f"left out: {error}", file=sys.stderr)
    return runtimes


def main(arguments: list[str] | None = None) -> None:
    """Print the table; write it as JSON where asked."""
    parser = argparse.ArgumentParser(prog="benchmarks.host_cost", description=__doc__)
    parser.add_argument("--backends", default="webgpu,cuda,cpu", help="comma-separated names")
    parser.add_argument("--operations", type=int, default=512, help="operations per round")
    parser.add_argument("--rounds", type=int, default=15, help="rounds that count")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args(arguments)
    names = options.backends.split(",")
    runtimes = available_runtimes(names)
    candidates = [
        candidate
        for runtime in runtimes
        for candidate in runtime_candidates(runtime, options.operations)
    ]
    floor = floor_candidate(options.operations) if "webgpu" in names else None
    if floor is not None:
        candidates.insert(0, floor)
    rows = measure(candidates, options.rounds)
    print(f"host CPU time per queued operation on {SIZE} float32 elements, interleaved")
    print(as_table(rows))
    if options.json is not None:
        report = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "operations": options.operations,
            "rounds": options.rounds,
            "rows": [asdict(row) for row in rows],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    for runtime in runtimes:
        runtime.close()


if __name__ == "__main__":
    main()
