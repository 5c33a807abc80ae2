"""The host cost benchmark runs and counts right; what it times is never asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tenferro_wgpu as tw

ROOT = Path(__file__).parents[2]


def rows(tmp_path: Path, backends: str) -> list[dict[str, Any]]:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "benchmarks", "--backends", backends]
    command += ["--operations", "128", "--rounds", "2", "--json", str(report)]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    assert "median us" in result.stdout
    found: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["rows"]
    return found


def test_cpu(tmp_path: Path) -> None:
    found = rows(tmp_path, "cpu")
    assert [row["kind"] for row in found] == ["untracked", "tracked", "backward node"]
    assert all(row["median_us"] > 0 for row in found)
    # The reverse sweep may add a few operations for the seed and the sum, never one per node.
    assert found[0]["per_operation"]["executed"] == 1
    assert found[1]["per_operation"]["executed"] == 1
    assert 1 <= found[2]["per_operation"]["executed"] < 1.1


def test_webgpu_beside_its_floor(tmp_path: Path) -> None:
    try:
        tw.EagerRuntime("webgpu").close()
    except tw.errors.NoAdapterError as error:
        pytest.skip(str(error))
    found = rows(tmp_path, "webgpu")
    by_kind = {row["kind"]: row["per_operation"] for row in found}
    assert by_kind["floor"]["dispatches"] == 1
    assert by_kind["floor"]["submits"] == 2 / 128
    assert by_kind["untracked"]["dispatches"] <= 1
    assert by_kind["tracked"]["dispatches"] <= 1
    assert by_kind["backward node"]["dispatches"] < 1.1
    # Warm: nothing is compiled any more and buffers come from the pool.
    for kind in ("untracked", "tracked", "backward node"):
        assert by_kind[kind]["pipelines"] == 0
        assert by_kind[kind]["buffers"] < 0.1
