"""The benchmarks run and count right; what they time is never asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import leave_out

import tenferro_wgpu as tw
from benchmarks.__main__ import main as command_line
from benchmarks.host_cost import Row, as_text

ROOT = Path(__file__).parents[2]


def benchmarks(tmp_path: Path, *options: str) -> tuple[dict[str, Any], str]:
    """The report of a run, and what it printed."""
    file = tmp_path / "report.json"
    command = [sys.executable, "-m", "benchmarks", *options, "--rounds", "2", "--json", str(file)]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    return json.loads(file.read_text(encoding="utf-8")), result.stdout


def rows(tmp_path: Path, backends: str) -> tuple[list[dict[str, Any]], str]:
    report, printed = benchmarks(
        tmp_path, "--only", "host-cost", "--operations", "128", "--backends", backends
    )
    assert "median us" in printed
    return report["rows"], printed


def test_cpu(tmp_path: Path) -> None:
    found, printed = rows(tmp_path, "cpu")
    assert [row["kind"] for row in found] == ["untracked", "tracked", "backward node"]
    assert all(row["median_us"] > 0 for row in found)
    assert all(row["ratio_to_floor"] is None and row["target"] is None for row in found)
    assert "target   the most" not in printed
    # The reverse sweep may add a few operations for the seed and the sum, never one per node.
    assert found[0]["per_operation"]["executed"] == 1
    assert found[1]["per_operation"]["executed"] == 1
    assert 1 <= found[2]["per_operation"]["executed"] < 1.1


def test_webgpu_beside_its_floor(tmp_path: Path) -> None:
    try:
        tw.EagerRuntime("webgpu").close()
    except tw.errors.NoAdapterError as error:
        leave_out(str(error))
    found, printed = rows(tmp_path, "webgpu")
    assert "x floor  the median" in printed
    assert all(row["ratio_to_floor"] > 0 for row in found)
    assert ("adapter is software" in printed) is any(row["software"] for row in found)
    by_kind = {row["kind"]: row["per_operation"] for row in found}
    assert by_kind["floor"]["dispatches"] == 1
    assert by_kind["floor"]["submits"] == 2 / 128
    assert by_kind["untracked"]["dispatches"] <= 1
    assert by_kind["tracked"]["dispatches"] <= 1
    assert by_kind["backward node"]["dispatches"] < 1.1
    assert by_kind["untracked, fusion off"]["dispatches"] == 1
    assert by_kind["tracked, fusion off"]["dispatches"] == 1
    assert 1 <= by_kind["backward node, fusion off"]["dispatches"] < 1.1
    # Warm: nothing is compiled any more and buffers come from the pool.
    for kind in ("untracked", "tracked", "backward node"):
        for each in (by_kind[kind], by_kind[f"{kind}, fusion off"]):
            assert each["pipelines"] == 0
            assert each["buffers"] < 0.1


@pytest.mark.parametrize(("ratio", "verdict"), [(1.5, "pass"), (1.51, "miss"), (None, "")])
def test_a_row_says_whether_it_meets_its_target(ratio: float | None, verdict: str) -> None:
    row = Row("GPU", "untracked", 3.0, 2.9, {"dispatches": 1.0}, False, ratio, 1.5)
    assert row.verdict == verdict
    assert row.verdict in as_text([row]).splitlines()[2]


def test_whole_workloads_are_timed_beside_numpy(tmp_path: Path) -> None:
    report, printed = benchmarks(tmp_path, "--only", "workloads", "--scale", "tiny")
    assert "training step" in printed
    assert "rows" not in report
    timed = [cell for cell in report["cells"] if cell["candidate"] == "NumPy"]
    assert len(timed) == len({cell["workload"] for cell in report["cells"]})
    for cell in timed:
        low, high = cell["quartiles_ms"]
        assert 0 < low <= cell["median_ms"] <= high


def test_help_names_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line(["--help"])
    assert capsys.readouterr().out.startswith("usage: python -m benchmarks ")
