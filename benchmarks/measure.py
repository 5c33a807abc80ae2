"""Rounds in which all candidates take turns, after each result was compared with NumPy's."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .candidates import Candidate
from .worker import UnsupportedProgram, Worker, WorkerFailed
from .workloads import Workload

__all__ = ["Cell", "Measurement", "Pace"]

#: What every result is compared with.
REFERENCE = "NumPy"
#: Compiling, and two steps.
PREPARE_SECONDS = 60.0
#: A round, for candidates that are far slower than the rest.
RUN_SECONDS = 60.0


@dataclass(frozen=True)
class Pace:
    """How long to measure: machines drift, so many short rounds beat few long ones.

    Attributes:
        rounds: at most that many for each cell.
        round_seconds: a round repeats a program until it is about this long.
        cell_seconds: a cell is done after that many seconds, and at least two rounds.
    """

    rounds: int = 11
    round_seconds: float = 0.02
    cell_seconds: float = 0.3


@dataclass(frozen=True)
class Cell:
    """One workload on one candidate: milliseconds of a step, or the reason why there are none."""

    workload: str
    candidate: str
    place: str
    times_ms: list[float] = field(default_factory=list)
    repeats: int = 0
    counters: dict[str, float] = field(default_factory=dict)
    reason: str = ""

    @property
    def median_ms(self) -> float:
        """The middle of the rounds."""
        return statistics.median(self.times_ms)

    @property
    def quartiles_ms(self) -> tuple[float, float]:
        """Between which half of the rounds are."""
        if len(self.times_ms) < 2:
            return self.times_ms[0], self.times_ms[0]
        low, _, high = statistics.quantiles(self.times_ms, n=4, method="inclusive")
        return low, high

    @property
    def fastest_ms(self) -> float:
        """The best round."""
        return min(self.times_ms)

    def as_json(self) -> dict[str, Any]:
        """The cell as plain data, its medians included."""
        data = asdict(self)
        if self.times_ms:
            low, high = self.quartiles_ms
            data |= {"median_ms": self.median_ms, "quartiles_ms": [low, high]}
        return data


class Measurement:
    """Workers of all candidates, kept running from workload to workload.

    A context manager: it ends the workers' processes.  `left_out` says who is not there and why.
    """

    def __init__(self, candidates: Iterable[Candidate], pace: Pace) -> None:
        self._pace = pace
        self._folder = tempfile.TemporaryDirectory()
        self.left_out: dict[tuple[str, str], str] = {}
        self.workers: list[Worker] = []
        for candidate in candidates:
            worker = Worker(candidate)
            try:
                worker.start()
            except WorkerFailed as error:
                worker.close()
                self.left_out[candidate.name, candidate.place] = str(error)
                continue
            self.workers.append(worker)

    def __enter__(self) -> Measurement:
        return self

    def __exit__(self, *exception: object) -> None:
        for worker in self.workers:
            worker.close()
        self._folder.cleanup()

    def measure(self, workload: Workload, only: Sequence[Candidate] | None = None) -> list[Cell]:
        """Cells of every candidate that can be in this workload's places.

        Args:
            only: the candidates to measure, or None for all; NumPy's result is needed anyway.
        """
        inputs = self._write(workload)
        reference = self._reference(workload, inputs)
        ready: list[Worker] = []
        cells: dict[Worker, Cell] = {}
        for worker in self.workers:
            candidate = worker.candidate
            place = "cpu" if candidate.on_cpu else "webgpu"
            if place not in workload.places or (only is not None and candidate not in only):
                continue
            try:
                # NumPy has just made the reference.
                if candidate.name != REFERENCE:
                    self._prepare(worker, workload, inputs, reference)
                ready.append(worker)
            except WorkerFailed as error:
                cells[worker] = _failed(workload, candidate, error)
        cells |= self._rounds(workload, ready)
        for worker in ready:
            if worker.alive:
                self._quietly(worker, do="release")
        return [cells[worker] for worker in self.workers if worker in cells]

    def prepare(self, worker: Worker, workload: Workload) -> None:
        """Build a program in one worker, compared with NumPy's; raises WorkerFailed."""
        inputs = self._write(workload)
        self._prepare(worker, workload, inputs, self._reference(workload, inputs))

    def _write(self, workload: Workload) -> list[dict[str, Any]]:
        inputs = []
        for index, array in enumerate(workload.arrays()):
            file = Path(self._folder.name) / f"input-{index}"
            np.ascontiguousarray(array).tofile(file)
            inputs.append(
                {"file": str(file), "shape": list(array.shape), "dtype": array.dtype.name}
            )
        return inputs

    def _reference(self, workload: Workload, inputs: Any) -> np.ndarray[Any, Any]:
        numpy = next(worker for worker in self.workers if worker.candidate.name == REFERENCE)
        return self._prepare(numpy, workload, inputs, None)

    def _prepare(
        self, worker: Worker, workload: Workload, inputs: Any, reference: Any
    ) -> np.ndarray[Any, Any]:
        """Build the program in a worker and compare its result; raises WorkerFailed."""
        if not worker.alive:
            # It died in an earlier workload, which need not concern this one.
            worker.close()
            worker.start()
        output = Path(self._folder.name) / "output"
        output.unlink(missing_ok=True)
        worker.ask(
            PREPARE_SECONDS,
            do="prepare",
            kind=workload.kind,
            parameters=dict(workload.parameters),
            inputs=inputs,
            output=str(output),
        )
        result = np.fromfile(output, dtype=np.float64)
        if reference is None:
            return result
        if result.shape != reference.shape:
            raise WorkerFailed(f"wrong result: {result.size} numbers for {reference.size}")
        largest = max(float(np.abs(reference).max()), 1e-30)
        error = float(np.abs(result - reference).max()) / largest
        # Not "error > tolerance": a NaN must not pass.
        if not error <= workload.tolerance:
            raise WorkerFailed(f"wrong result: it differs by {error:.2g} of the largest number")
        return result

    def _rounds(self, workload: Workload, workers: list[Worker]) -> dict[Worker, Cell]:
        pace = self._pace
        times: dict[Worker, list[float]] = {worker: [] for worker in workers}
        counters: dict[Worker, dict[str, float]] = {}
        repeats: dict[Worker, int] = {}
        failures: dict[Worker, WorkerFailed] = {}

        def run(worker: Worker, count: int) -> float | None:
            try:
                reply = worker.ask(RUN_SECONDS, do="run", repeats=count)
            except WorkerFailed as error:
                failures[worker] = error
                return None
            counters[worker] = reply.get("counters", {})
            return float(reply["seconds"])

        for worker in workers:
            # The first may still compile; a slow one is not asked twice.
            seconds = run(worker, 1)
            if seconds is not None and seconds < pace.cell_seconds:
                seconds = run(worker, 1)
            if seconds is not None:
                wanted = pace.round_seconds / max(seconds, 1e-7)
                repeats[worker] = max(1, min(1000, round(wanted)))
        for number in range(pace.rounds):
            # Each round begins with another candidate, so that nobody always follows the same one.
            first = number % len(workers)
            for worker in (*workers[first:], *workers[:first]):
                spent = sum(times[worker]) * repeats.get(worker, 0)
                enough = spent > pace.cell_seconds and len(times[worker]) >= 2
                if worker in failures or enough:
                    continue
                seconds = run(worker, repeats[worker])
                if seconds is not None:
                    times[worker].append(seconds / repeats[worker])
        cells = {}
        for worker in workers:
            candidate = worker.candidate
            if worker in failures:
                cells[worker] = _failed(workload, candidate, failures[worker])
            else:
                cells[worker] = Cell(
                    workload.name,
                    candidate.name,
                    candidate.place,
                    [seconds * 1e3 for seconds in times[worker]],
                    repeats[worker],
                    counters[worker],
                )
        return cells

    def _quietly(self, worker: Worker, **request: Any) -> None:
        try:
            worker.ask(RUN_SECONDS, **request)
        except WorkerFailed as error:
            print(f"{worker.candidate.name}: {error}", file=sys.stderr)


def _failed(workload: Workload, candidate: Candidate, error: WorkerFailed) -> Cell:
    label = "" if isinstance(error, UnsupportedProgram) else "failed: "
    return Cell(workload.name, candidate.name, candidate.place, reason=label + str(error))
