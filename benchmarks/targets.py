"""The targets of this library's speed, each beside its reference, all measured in one run.

Ratios of one run are what counts: machines drift.  A row without its reference (a peer that is
not installed, say) has no verdict.  `rows_of_cells` and the `judge_` functions only compare;
`run` measures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import candidates, first_use
from .candidates import OURS, UNFUSED, Adapter
from .measure import Cell, Measurement, Pace
from .report import busy_note, machine, milliseconds
from .table import aligned
from .workloads import Workload, catalogue, float64_workloads

__all__ = ["Row", "as_text", "rows_of_cells", "run"]

PEER = "best peer"
#: By row: the workload, the reference, and the most that ours may be as a multiple of it.
LIMITS = [
    ("P1", "exp(sin(x))*x+1, 1M", PEER, 0.6),
    ("P1", "exp(sin(x))*x+1, 1M", "NumPy", 1.5),
    ("P2", "sum of rows, 2048x2048", PEER, 0.8),
    ("P2", "sum of columns, 2048x2048", PEER, 0.8),
    ("P2", "sum of all, 2048x2048", PEER, 0.8),
    ("P3", "matmul 256x256 @ 256x256", PEER, 0.6),
    ("P3", "matmul 512x512 @ 512x512", PEER, 0.6),
    ("P3", "matmul 1024x1024 @ 1024x1024", PEER, 0.6),
    ("P3", "matmul 64x64x64 @ 64x64x64", PEER, 0.6),
    ("P3", "matmul 1x4096 @ 4096x4096", PEER, 0.6),
    ("P5", "training step, MLP 784-256-128-10, batch 128", PEER, 0.6),
    ("P10", "8 x tanh(t*a+b), 1M", "NumPy", 2.0),
    ("P10", "8 x tanh(t*a+b), 1M, and backward", "NumPy", 2.0),
]
#: The most kernels of a step: forward, and forward with backward.
KERNELS = [
    ("P10", "8 x tanh(t*a+b), 1k", 2),
    ("P10", "8 x tanh(t*a+b), 1M", 2),
    ("P10", "8 x tanh(t*a+b), 1k, and backward", 4),
    ("P10", "8 x tanh(t*a+b), 1M, and backward", 4),
]
ADDS = "100 dependent adds of 1024"
#: 3 us per operation where the floor F is 4 us.
ADDS_PER_FLOOR = 0.75
GRADIENT = "grad_sum_matmul 2x2"
GRADIENT_LIMIT = 1.7
#: float64 as a multiple of float32, by how it is computed: element-wise and sums; products.
FLOAT64 = {"native": (2.0, 2.0), "software": (3.0, 10.0), "software, SwiftShader": (8.0, 80.0)}
FIRST_SECONDS = 0.7
IMPORT_MS = 150.0


@dataclass(frozen=True)
class Row:
    """One target: ours, the reference, what ours may be, and whether it is met (None: unknown)."""

    key: str
    what: str
    ours: str
    reference: str
    ratio: float | None
    target: str
    met: bool | None


def ratio_row(
    key: str, what: str, ours: str, reference: str, ratio: float | None, limit: float
) -> Row:
    """A row whose target is the most that a ratio may be."""
    met = None if ratio is None else ratio <= limit
    return Row(key, what, ours, reference, ratio, f"<= {limit:g} x", met)


def amount_row(key: str, what: str, amount: float, unit: str, limit: float) -> Row:
    """A row whose target is an amount."""
    return Row(
        key, what, f"{amount:.4g} {unit}".strip(), "", None, f"<= {limit:.3g} {unit}".strip(),
        amount <= limit,
    )  # fmt: skip


def rows_of_cells(cells: Iterable[Cell]) -> list[Row]:
    """The rows that compare workloads with peers, with NumPy or with a number of kernels."""
    timed = [cell for cell in cells if cell.times_ms]
    rows = []
    for key, workload, reference, limit in LIMITS:
        ours, other = _pair(timed, workload, reference)
        if ours is None:
            continue
        ratio = None if other is None else ours.median_ms / other.median_ms
        rows.append(
            ratio_row(key, f"{workload} ({ours.place})", _ms(ours), _ms(other), ratio, limit)
        )
    for key, workload, most in KERNELS:
        for cell in timed:
            if (cell.workload, cell.candidate) == (workload, OURS) and cell.counters:
                what = f"kernels of {workload} ({cell.place})"
                rows.append(amount_row(key, what, cell.counters["dispatches"], "", most))
    by_name = {(cell.workload, cell.candidate, cell.place): cell for cell in timed}
    if ours := by_name.get((GRADIENT, OURS, "cpu")):
        torch = by_name.get((GRADIENT, "PyTorch (CPU)", "cpu"))
        ratio = None if torch is None else ours.median_ms / torch.median_ms
        rows.append(
            ratio_row("P9", f"{GRADIENT} (cpu)", _ms(ours), _ms(torch), ratio, GRADIENT_LIMIT)
        )
    return rows


def _pair(cells: Sequence[Cell], workload: str, reference: str) -> tuple[Cell | None, Cell | None]:
    """Ours and its reference: the peer that comes off best against ours on its own adapter."""
    here = [cell for cell in cells if cell.workload == workload]
    ours = {c.place: c for c in here if c.candidate == OURS and c.place != "cpu"}
    if not ours:
        return None, None
    if reference != PEER:
        other = next((cell for cell in here if cell.candidate == reference), None)
        return next(iter(ours.values())), other
    others = [cell for cell in here if cell.place in ours and cell.candidate not in (OURS, UNFUSED)]
    if not others:
        return next(iter(ours.values())), None
    best = max(others, key=lambda cell: ours[cell.place].median_ms / cell.median_ms)
    return ours[best.place], best


def _ms(cell: Cell | None) -> str:
    if cell is None:
        return "not measured"
    name = "" if cell.candidate.startswith(OURS) else f" ({cell.candidate})"
    return f"{milliseconds(cell.median_ms)} ms{name}"


def judge_host_cost(rows: Sequence[dict[str, Any]]) -> tuple[list[Row], float | None]:
    """P6 from the rows of `host_cost`, and the floor in microseconds."""
    floor = next((row["median_us"] for row in rows if row["kind"] == "floor"), None)
    found = []
    for row in rows:
        if row["target"] is not None:
            found.append(
                ratio_row(
                    "P6", f"host cost of an operation, {row['kind']}",
                    f"{row['median_us']:.2f} us", f"{floor:.2f} us (the floor F)",
                    row["ratio_to_floor"], row["target"],
                )
            )  # fmt: skip
    return found, floor


def judge_transfers(rows: Sequence[dict[str, Any]]) -> list[Row]:
    """P7 and P8 from the rows of `transfers`: a scalar's latency, and wgpu-py's own calls."""
    found = []
    for row in rows:
        limit, times = row["target"], row["median_us"]
        if limit is None:
            continue
        if row["direction"] == "scalar":
            what = "read a scalar after a queued operation"
            found.append(amount_row("P7", what, times["ours"], "us", limit))
            continue
        what = f"{row['direction']} {row['nbytes'] >> 20} MiB, times as fast"
        reference, ratio = "not measured", None
        if "wgpu-py" in times:
            reference = f"{times['wgpu-py'] / 1e3:.1f} ms (wgpu-py)"
            ratio = times["wgpu-py"] / times["ours"]
        met = None if ratio is None else ratio >= limit
        ours = f"{times['ours'] / 1e3:.1f} ms"
        found.append(Row("P8", what, ours, reference, ratio, f">= {limit:g} x", met))
    return found


def judge_adds(cells: Iterable[Cell], floor: float | None) -> list[Row]:
    """P4: with fusion, as a multiple of the floor; without, P6 has it."""
    rows = []
    for cell in cells:
        if cell.workload == ADDS and cell.candidate == OURS and cell.place != "cpu":
            if not cell.times_ms:
                continue
            us = cell.median_ms * 10
            ratio = None if floor is None else us / floor
            reference = "not measured" if floor is None else f"{floor:.2f} us (the floor F)"
            what = f"{ADDS}, each ({cell.place})"
            rows.append(ratio_row("P4", what, f"{us:.2f} us", reference, ratio, ADDS_PER_FLOOR))
    return rows


def judge_float64(kind: str, place: str, cells: Iterable[Cell]) -> list[Row]:
    """P12 on one adapter, where float64 is computed as `kind` says."""
    by_name = {cell.workload: cell for cell in cells if cell.times_ms}
    rows = []
    for double, single in float64_workloads():
        ours, other = by_name.get(double.name), by_name.get(single.name)
        if ours is None or other is None:
            continue
        limit = FLOAT64[kind][double.kind == "matmul"]
        reference = f"{milliseconds(other.median_ms)} ms (float32)"
        what = f"{double.name}, {kind} ({place})"
        ratio = ours.median_ms / other.median_ms
        rows.append(ratio_row("P12", what, _ms(ours), reference, ratio, limit))
    return rows


def run(options: argparse.Namespace) -> list[Row]:
    """Measure everything that is available and compare it."""
    places = candidates.adapters(options.drivers)
    first = places[0]
    pace = Pace(options.rounds)
    chosen = [*candidates.references(), *candidates.ours([first])]
    chosen += candidates.peers(options.peers, [first])
    cells: list[Cell] = []
    rows: list[Row] = []
    with Measurement(chosen, pace) as measurement:
        for (name, place), reason in measurement.left_out.items():
            print(f"left out: {name} ({place}): {reason}", file=sys.stderr)
        for workload in _needed():
            cells += measurement.measure(workload)
    # Peers that the first adapter does not serve are compared on the next one.
    refused = {name for name, place in measurement.left_out if place == first.name}
    for place in places[1:]:
        others = [each for each in candidates.peers(options.peers, [place]) if each.name in refused]
        others = [each for each in others if not each.missing]
        if others:
            cells += _elsewhere([*candidates.ours([place]), *others], pace)
            break
    found, floor = judge_host_cost(_part("host-cost", first, options.rounds).get("rows", []))
    rows += rows_of_cells(cells)
    rows += judge_adds(cells, floor) + found
    rows += judge_transfers(_part("transfers", first, options.rounds).get("transfers", []))
    rows += _float64(places, pace)
    rows += _first_use(first)
    for line in busy_note(machine()):
        print(line, file=sys.stderr)
    return sorted(rows, key=lambda row: int(row.key[1:]))


def _needed() -> list[Workload]:
    names = {name for _, name, *_ in (*LIMITS, *KERNELS)} | {ADDS, GRADIENT}
    return [workload for workload in catalogue() if workload.name in names]


def _elsewhere(chosen: Sequence[candidates.Candidate], pace: Pace) -> list[Cell]:
    """Peers, and ours beside them, on another adapter than the first."""
    compared = {name for _, name, reference, _ in LIMITS if reference == PEER}
    cells: list[Cell] = []
    on_adapter = [each for each in chosen if not each.on_cpu]
    with Measurement([*candidates.references(), *on_adapter], pace) as measurement:
        for workload in _needed():
            if workload.name in compared:
                cells += measurement.measure(workload, on_adapter)
    return cells


def _part(part: str, place: Adapter, rounds: int) -> dict[str, Any]:
    """One part of `run`, from a process that finds this adapter alone."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.json"
        command = [
            sys.executable, "-m", "benchmarks", "run", "--only", part, "--backends", "webgpu",
            "--rounds", str(rounds), "--json", str(file),
        ]  # fmt: skip
        done = subprocess.run(
            command, cwd=candidates.ROOT, env={**os.environ, **place.environment},
            stdout=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        if done.returncode or not file.exists():
            return {}
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found


def _float64(places: Sequence[Adapter], pace: Pace) -> list[Row]:
    """On every adapter as it is, and in software too where an adapter has it natively."""
    rows = []
    for place in places:
        as_it_is = next(each for each in candidates.ours([place]) if not each.on_cpu)
        held = candidates.Candidate(
            f"{OURS}, browser limits",
            place.name,
            as_it_is.command,
            {**as_it_is.environment, "TENFERRO_LIMITS": "browser"},
        )
        chosen = [*candidates.references(), as_it_is, held]
        with Measurement(chosen, pace) as measurement:
            measured = measurement.workers[1:]
            if measured and measured[0].details["float64"] == "software":
                measured = measured[:1]
            for worker in measured:
                kind = worker.details["float64"]
                if kind == "software" and "SwiftShader" in worker.device:
                    kind = "software, SwiftShader"
                cells = [
                    cell
                    for pair in float64_workloads()
                    for workload in pair
                    for cell in measurement.measure(workload, [worker.candidate])
                ]
                rows += judge_float64(kind, place.name, cells)
    return rows


def _first_use(place: Adapter) -> list[Row]:
    rows = [
        amount_row("P14", "import after NumPy's", first_use.import_milliseconds(), "ms", IMPORT_MS)
    ]
    try:
        first = first_use.first_result(place.environment)
    except subprocess.CalledProcessError as error:
        print(f"no first result ({place.name}): {error}", file=sys.stderr)
        return rows
    what = f"first result of a new process ({place.name})"
    rows.append(amount_row("P13", what, first.median, "s", FIRST_SECONDS))
    rows.append(
        amount_row("P13", "pipelines for a second size", first.pipelines_of_a_second_size, "", 0)
    )
    return rows


def as_text(rows: Sequence[Row]) -> str:
    """The rows as a table, and how many are met."""
    lines = [["row", "what", "ours", "reference", "ratio", "target", "met"]]
    for row in rows:
        verdict = "" if row.met is None else ("yes" if row.met else "NO")
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        lines.append([row.key, row.what, row.ours, row.reference, ratio, row.target, verdict])
    judged = [row.met for row in rows if row.met is not None]
    return f"{aligned(lines, 4)}\n{sum(judged)} of {len(judged)} met"
