"""The targets' verdicts, from made-up measurements."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import targets
from benchmarks.candidates import OURS, UNFUSED
from benchmarks.measure import Cell
from benchmarks.workloads import catalogue, float64_workloads

ELEMENTWISE = "exp(sin(x))*x+1, 1M"
CHAIN = "8 x tanh(t*a+b), 1M"


def cell(workload: str, candidate: str, place: str, ms: float, **counters: float) -> Cell:
    return Cell(workload, candidate, place, [ms], 1, dict(counters))


def only(rows: list[targets.Row], key: str) -> targets.Row:
    (found,) = [row for row in rows if row.key == key]
    return found


@pytest.mark.parametrize(("ms", "met"), [(0.6, True), (0.61, False)])
def test_a_row_is_met_up_to_its_limit(ms: float, met: bool) -> None:
    cells = [cell(ELEMENTWISE, OURS, "gpu", ms), cell(ELEMENTWISE, "peer", "gpu", 1.0)]
    against_peer, against_numpy = targets.rows_of_cells(cells)
    assert (against_peer.ratio, against_peer.met) == (ms, met)
    # NumPy was not measured: no verdict.
    assert (against_numpy.reference, against_numpy.met) == ("not measured", None)


def test_the_best_peer_is_the_one_that_beats_ours_most_on_its_own_adapter() -> None:
    cells = [
        cell(ELEMENTWISE, OURS, "first", 2.0),
        cell(ELEMENTWISE, OURS, "second", 10.0),
        cell(ELEMENTWISE, UNFUSED, "first", 0.1),
        cell(ELEMENTWISE, "near", "first", 1.0),
        cell(ELEMENTWISE, "far", "second", 2.0),
        cell(ELEMENTWISE, "PyTorch (CPU)", "cpu", 0.01),
    ]
    row = targets.rows_of_cells(cells)[0]
    assert row.ratio == 5.0
    assert row.reference == "2.00 ms (far)"
    assert "(second)" in row.what


def test_cells_without_times_do_not_count() -> None:
    cells = [
        cell(ELEMENTWISE, OURS, "gpu", 1.0),
        Cell(ELEMENTWISE, "peer", "gpu", reason="failed: wrong result"),
    ]
    assert targets.rows_of_cells(cells)[0].met is None


@pytest.mark.parametrize(("dispatches", "met"), [(2, True), (3, False)])
def test_kernels_are_counted(dispatches: int, met: bool) -> None:
    rows = targets.rows_of_cells([cell(CHAIN, OURS, "gpu", 1.0, dispatches=dispatches)])
    assert [row.met for row in rows if row.what.startswith("kernels")] == [met]


def test_the_gradient_on_the_processor_is_compared_with_pytorch() -> None:
    cells = [
        cell(targets.GRADIENT, OURS, "cpu", 0.17),
        cell(targets.GRADIENT, "PyTorch (CPU)", "cpu", 0.1),
        cell(targets.GRADIENT, "JAX (CPU, jit)", "cpu", 0.001),
    ]
    row = only(targets.rows_of_cells(cells), "P9")
    assert row.ratio == pytest.approx(1.7)
    assert row.reference.endswith("(PyTorch (CPU))")


def test_additions_are_compared_with_the_floor() -> None:
    cells = [cell(targets.ADDS, OURS, "gpu", 0.3)]
    (row,) = targets.judge_adds(cells, 4.0)
    assert row.ratio == pytest.approx(0.75)
    assert targets.judge_adds(cells, None)[0].met is None


def host_cost_row(kind: str, us: float, ratio: float | None, target: float | None) -> Any:
    return {"kind": kind, "median_us": us, "ratio_to_floor": ratio, "target": target}


def test_the_host_cost_has_a_row_per_kind() -> None:
    rows, floor = targets.judge_host_cost(
        [host_cost_row("floor", 4.0, 1.0, None), host_cost_row("tracked", 12.0, 3.0, 2.5)]
    )
    assert floor == 4.0
    assert [(row.key, row.met) for row in rows] == [("P6", False)]
    assert targets.judge_host_cost([]) == ([], None)


def test_transfers_are_faster_by_at_least_the_target() -> None:
    def row(direction: str, ours: float, target: float | None) -> dict[str, Any]:
        times = {"ours": ours, "wgpu-py": 300.0}
        return {"direction": direction, "nbytes": 64 << 20, "median_us": times, "target": target}

    rows = targets.judge_transfers(
        [row("scalar", 61.0, 60.0), row("upload", 100.0, 1.5), row("download", 200.0, 2.5),
         row("100 tensors", 1.0, None)]
    )  # fmt: skip
    assert [(each.key, each.met) for each in rows] == [("P7", False), ("P8", True), ("P8", False)]


def test_float64_has_a_limit_by_how_it_is_computed() -> None:
    cells = []
    for double, single in float64_workloads():
        cells += [cell(double.name, OURS, "gpu", 3.0), cell(single.name, OURS, "gpu", 1.0)]
    assert [row.met for row in targets.judge_float64("native", "gpu", cells)] == [False] * 4
    assert [row.met for row in targets.judge_float64("software", "gpu", cells)] == [True] * 4


def test_the_workloads_of_the_targets_are_in_the_catalogue() -> None:
    names = {each.name for each in catalogue()}
    assert {name for _, name, *_ in (*targets.LIMITS, *targets.KERNELS)} <= names
    assert {targets.ADDS, targets.GRADIENT} <= names


def test_text_counts_what_is_met() -> None:
    rows = targets.rows_of_cells(
        [cell(ELEMENTWISE, OURS, "gpu", 1.0), cell(ELEMENTWISE, "NumPy", "cpu", 1.0)]
    )
    text = targets.as_text(rows)
    assert text.endswith("1 of 1 met")
    assert "not measured" in text
