"""Every workload gives NumPy's result on every backend here, in as few kernels as it should."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.candidates import OURS, UNFUSED, adapters, ours, references
from benchmarks.measure import Measurement, Pace
from benchmarks.workloads import Workload, catalogue, float64_workloads, training_step

TINY = [
    *catalogue("tiny"),
    *(workload for pair in float64_workloads("tiny") for workload in pair),
]


@pytest.fixture(scope="module")
def measurement() -> Iterator[Measurement]:
    candidates = [*references(), *ours(adapters(), unfused=True)]
    with Measurement(candidates, Pace(rounds=1, round_seconds=0.0)) as made:
        # An adapter may lack; the CPU backend never does.
        assert not [place for name, place in made.left_out if place == "cpu"]
        yield made


@pytest.mark.parametrize("workload", TINY, ids=lambda workload: workload.name)
def test_a_workload_agrees_with_numpy_and_takes_few_kernels(
    measurement: Measurement, workload: Workload
) -> None:
    cells = measurement.measure(workload)
    assert {cell.candidate for cell in cells} >= {"NumPy", OURS}
    for cell in cells:
        # A result that differs is a reason too.
        assert not cell.reason, f"{cell.candidate} ({cell.place}): {cell.reason}"
        if not cell.counters or cell.candidate == UNFUSED:
            continue
        for counter, most in workload.most.items():
            assert cell.counters[counter] <= most, counter
        # Warm: nothing is compiled and what a step needs comes from the pool.
        assert cell.counters["pipelines"] == 0
        assert cell.counters["allocations"] == 0
        # The data is there, and at most a number is read.
        assert cell.counters["bytes up"] == 0
        assert cell.counters["bytes down"] <= 8


def test_a_hundred_training_steps_compile_and_allocate_what_two_do(
    measurement: Measurement,
) -> None:
    for worker in measurement.workers:
        if not worker.candidate.is_ours or worker.candidate.on_cpu:
            continue
        # Two steps, whose loss is compared with NumPy's.
        measurement.prepare(worker, training_step(8, (16, 32, 8)))
        counters = worker.ask(60.0, do="run", repeats=98)["counters"]
        assert counters["pipelines"] == 0
        # Two sets of parameters are there at first, and then take turns.
        assert counters["allocations"] * 98 <= 40
        again = worker.ask(60.0, do="run", repeats=98)["counters"]
        assert (again["pipelines"], again["allocations"]) == (0, 0)


def test_both_scales_have_the_same_programs() -> None:
    full = {(each.kind, *each.parameters.values()) for each in catalogue("full")}
    tiny = {(each.kind, *each.parameters.values()) for each in catalogue("tiny")}
    assert full == tiny


@pytest.mark.parametrize("scale", ["full", "tiny"])
def test_names_are_unique(scale: str) -> None:
    names = [each.name for each in catalogue(scale)]
    assert len(set(names)) == len(names)
