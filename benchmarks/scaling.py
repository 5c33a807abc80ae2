"""Time against size and against op count: fitted slopes, and places where a step might hide.

Time should grow with the work and with nothing else: not jump where a dispatch has more than
65,535 workgroups or where a cache is full, and not creep up over 10,000 training steps.
"""

from __future__ import annotations

import argparse
import datetime
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from . import candidates
from .candidates import OURS, UNFUSED
from .measure import Measurement, Pace
from .report import machine, milliseconds
from .table import aligned
from .worker import Worker
from .workloads import Workload, normal, pair, training_step

__all__ = ["Check", "Series", "as_page", "as_text", "fit", "run"]

#: What an adapter that grants no more has of workgroups along one dimension, and how many elements
#: that many groups of 64 invocations hold, one each or four each.
GROUPS = 65_535
BOUNDARIES = {"scalars": GROUPS * 64, "vectors of four": GROUPS * 64 * 4}
#: Sizes just below and just above a boundary differ by this part of it.
BESIDE = 1 / 64
#: A step is a growth beyond the work's own; software adapters are noisy below this.
TOLERATED = 1.6
STEPS, BLOCK = 10_000, 500
#: Points whose time is less than this multiple of the least are overhead, not work.
ABOVE_OVERHEAD = 4.0


@dataclass(frozen=True)
class Series:
    """Times over sizes, and ms = least + factor * size**slope through those above overhead."""

    name: str
    unit: str
    expected: float
    device: str
    sizes: list[int]
    ms: list[float]
    slope: float = math.nan
    factor: float = math.nan
    fitted_sizes: list[int] = field(default_factory=list)
    #: The largest factor by which a fitted point is off its line.
    deviation: float = math.nan


@dataclass(frozen=True)
class Check:
    """Whether time grows more than the work at one place: a factor of 1 is no step."""

    what: str
    factor: float
    tolerated: float = TOLERATED

    @property
    def passed(self) -> bool:
        """Whether there is no step."""
        return self.factor <= self.tolerated


def fit(sizes: Sequence[int], ms: Sequence[float]) -> tuple[float, float, list[int], float]:
    """Slope, factor, the sizes that count, and the largest deviation, on log axes.

    The least time is what a call costs at any size: it is taken off, and times near it are not
    looked at.

    >>> slope, factor, fitted, deviation = fit([1, 10, 100, 1000], [5.0, 6.0, 105.0, 1005.0])
    >>> round(slope, 6), round(factor, 6), fitted, round(deviation, 6)
    (1.0, 1.0, [100, 1000], 1.0)
    """
    overhead = min(ms)
    above = [index for index, time in enumerate(ms) if time >= ABOVE_OVERHEAD * overhead]
    if len(above) < 2:
        above = [len(sizes) - 2, len(sizes) - 1]
    logs = np.log([sizes[index] for index in above])
    times = np.log([max(ms[index] - overhead, 1e-9) for index in above])
    slope, offset = np.polyfit(logs, times, 1)
    deviation = float(np.exp(np.abs(times - (slope * logs + offset)).max()))
    return float(slope), float(np.exp(offset)), [sizes[index] for index in above], deviation


def _beside(boundary: int) -> tuple[int, int]:
    """Sizes just below and just above, in multiples of a vector of four."""
    margin = int(boundary * BESIDE) // 4 * 4
    return boundary // 4 * 4 - margin, boundary // 4 * 4 + margin


def element_sizes() -> list[int]:
    """From a thousand to 33 million, with a pair of sizes around each boundary."""
    powers = [1 << power for power in range(10, 26, 2)] + [1 << 25]
    return sorted({*powers, *(size for each in BOUNDARIES.values() for size in _beside(each))})


def _series() -> list[tuple[str, str, float, str, list[tuple[int, Workload]]]]:
    """Name, unit, expected slope, candidate and workloads of each series."""
    sizes, extents, counts = element_sizes(), (32, 64, 128, 256, 512, 1024), (1, 4, 16, 64, 256)

    def adds(count: int) -> Workload:
        return Workload(f"{count} adds", "adds", normal(1024), {"count": count}, tolerance=1e-2)

    def gradient(steps: int) -> Workload:
        parameters = {"steps": steps, "a": 0.9, "b": 0.1}
        return Workload(f"{steps} steps", "tanh_chain_grad", normal(1024), parameters)

    def many(count: int) -> Workload:
        return Workload(f"{count} sizes", "many_sizes", normal(count), {"count": count})

    elementwise = [(n, Workload(f"map {n}", "multiply_add", normal(n))) for n in sizes]
    sums = [(n, Workload(f"sum {n}", "total", normal(n, shift=1.0))) for n in sizes]
    products = [(n, Workload(f"matmul {n}", "matmul", pair((n, n), (n, n)))) for n in extents]
    longer = (*counts, 1024, 4096)
    varied = [(n, many(n)) for n in (1024, 3072, 6144)]
    return [
        ("x*x+x", "elements", 1.0, OURS, elementwise),
        ("sum of all", "elements", 1.0, OURS, sums),
        ("matmul n x n", "n", 3.0, OURS, products),
        ("dependent adds", "operations", 1.0, OURS, [(n, adds(n)) for n in longer]),
        ("dependent adds, not fused", "operations", 1.0, UNFUSED, [(n, adds(n)) for n in longer]),
        ("tanh(t*a+b) and backward", "steps", 1.0, OURS, [(n, gradient(n)) for n in counts]),
        ("x+x of so many sizes", "sizes", 1.0, OURS, varied),
    ]  # fmt: skip


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure every series on the first adapter."""
    place = candidates.adapters(options.drivers)[0]
    chosen = [each for each in candidates.ours([place], unfused=True) if not each.on_cpu]
    pace = Pace(min(options.rounds, 9), 0.01, 0.25)
    found: list[Series] = []
    with Measurement([*candidates.references(), *chosen], pace) as measurement:
        workers = {worker.candidate.name: worker for worker in measurement.workers}
        if OURS not in workers:
            raise ValueError(f"no WebGPU adapter: {measurement.left_out}")
        device = workers[OURS].device
        for name, unit, expected, candidate, workloads in _series():
            if candidate not in workers:
                continue
            sizes, times = [], []
            for size, workload in workloads:
                cells = measurement.measure(workload, [workers[candidate].candidate])
                if not cells[0].times_ms:
                    raise ValueError(f"{name}, {size} {unit}: {cells[0].reason}")
                sizes.append(size)
                # Sizes do not take turns as candidates do: the best round is steadier than the
                # middle one when the machine's phases change between sizes.
                times.append(cells[0].fastest_ms)
            made = Series(name, unit, expected, device, sizes, times, *fit(sizes, times))
            found.append(made)
        blocks = training_blocks(workers[OURS], measurement)
    return {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "series": [asdict(each) for each in found],
        "blocks_ms": blocks,
        "checks": [asdict(each) for each in checks(found, blocks)],
    }


def training_blocks(worker: Worker, measurement: Measurement) -> list[float]:
    """Milliseconds of a step of a small network in each block of `BLOCK` steps."""
    step = training_step(8, (16, 32, 8))
    measurement.prepare(worker, step)
    return [
        worker.ask(120.0, do="run", repeats=BLOCK)["seconds"] / BLOCK * 1e3
        for _ in range(STEPS // BLOCK)
    ]


def checks(found: Sequence[Series], blocks: Sequence[float]) -> list[Check]:
    """Steps at the limit of workgroups, at the caches' limits, over many training steps."""
    made = []
    for series in found:
        time = dict(zip(series.sizes, series.ms, strict=True))
        for elements, boundary in BOUNDARIES.items():
            below, above = _beside(boundary)
            if below in time and above in time:
                growth = time[above] / time[below] / (above / below)
                what = f"{series.name}: across {GROUPS:,} workgroups of 64 {elements}"
                made.append(Check(what, growth))
        if series.unit == "sizes":
            for fewer, more in zip(series.sizes, series.sizes[1:], strict=False):
                growth = time[more] / time[fewer] / (more / fewer)
                made.append(Check(f"{series.name}: from {fewer:,} to {more:,}", growth))
    if blocks:
        # The first block compiles and fills the pool.
        early, late = min(blocks[1:5]), min(blocks[-4:])
        made.append(Check(f"training steps: the last {4 * BLOCK:,} of {STEPS:,}", late / early))
    return made


def as_text(found: dict[str, Any]) -> str:
    """The slopes and the checks as tables."""
    lines = [["series", "range", "slope", "expected", "off the line by"]]
    for each in found["series"]:
        lines.append([each["name"], _range(each), *_figures(each)])
    verdicts = [["check", "factor", "tolerated", "step"]]
    for each in found["checks"]:
        check = Check(**each)
        step = "no" if check.passed else "YES"
        verdicts.append([check.what, f"{check.factor:.2f}", f"{check.tolerated:g}", step])
    return f"{aligned(lines, 2)}\n\n{aligned(verdicts, 1)}"


def _range(series: dict[str, Any]) -> str:
    first, last = series["sizes"][0], series["sizes"][-1]
    return f"{first:,} to {last:,} {series['unit']}"


def _figures(series: dict[str, Any]) -> list[str]:
    return [
        f"{series['slope']:.2f}", f"{series['expected']:g}", f"{series['deviation']:.2f} x"
    ]  # fmt: skip


def as_page(found: dict[str, Any]) -> str:
    """The page of the documentation."""
    about, device = found["machine"], found["series"][0]["device"]
    lines = [
        "# How time grows",
        "",
        "Time should grow with the work and with nothing else. `make bench-scaling` writes this",
        "page; the numbers are of one machine and one run, the shapes are the point. Each is the",
        "best of several rounds.",
        "",
        f"Measured on {found['date']}: {device}, {about['processor']}, "
        f"{about['processors']} processors.",
        "",
        "![Time against size and op count on log axes](images/scaling.png)",
        "",
        "The slope is fitted on log axes to what is above the overhead of a call, which is what",
        "the smallest sizes cost: 1 is linear, 3 is the work of a matrix product.",
        "",
        "| series | range | time | slope | of the work | off the line by |",
        "|---|---|---|---:|---:|---:|",
    ]
    for each in found["series"]:
        times = f"{milliseconds(each['ms'][0])} to {milliseconds(each['ms'][-1])} ms"
        cells = [each["name"], _range(each), times, *_figures(each)]
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        "A step would be growth beyond the work's own. A software adapter on a shared machine is",
        f"noisy: factors up to {TOLERATED:g} count as none.",
        "",
        "| place | growth beyond the work | step |",
        "|---|---:|---|",
    ]
    for each in found["checks"]:
        check = Check(**each)
        verdict = "no" if check.passed else "yes"
        lines.append(f"| {check.what} | {check.factor:.2f} x | {verdict} |")
    lines += [
        "",
        "A loop over more than 4,096 sizes finds none of them again: that many layouts, bind",
        "groups and sizes of freed buffers are remembered, and the oldest go first, which in a",
        "cycle are the next to come. Each operation then pays for making them anew.",
    ]
    return "\n".join(lines) + "\n"
