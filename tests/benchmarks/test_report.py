"""The forms that a run takes: text, the README's table, a block in a document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.candidates import OURS
from benchmarks.page import BEGIN, END, full_table, rewrite_block, short_table
from benchmarks.report import as_text, milliseconds

REPOSITORY = Path(__file__).parents[2]


def cell(candidate: str, place: str, ms: float, reason: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {
        "workload": "sum", "candidate": candidate, "place": place, "reason": reason
    }  # fmt: skip
    return made if reason else made | {"median_ms": ms, "quartiles_ms": [ms * 0.9, ms * 1.1]}


@pytest.fixture
def report() -> dict[str, Any]:
    names = [("NumPy", "cpu"), (OURS, "cpu"), (OURS, "gpu"), ("peer", "gpu"), ("mute", "gpu")]
    return {
        "date": "2026-01-02",
        "machine": {"processor": "P", "processors": 2, "python": "3.11", "load": 9.0},
        "candidates": [
            {
                "name": name,
                "place": place,
                "version": "7",
                "device": f"device {place}",
                "driver": "D 1",
            }
            for name, place in names
        ],
        "left_out": [{"name": "absent", "place": "gpu", "reason": "not installed"}],
        "cells": [
            cell("NumPy", "cpu", 1.0),
            cell(OURS, "cpu", 2.0),
            cell(OURS, "gpu", 3.0),
            cell("peer", "gpu", 4.0),
            cell("mute", "gpu", 0.0, "no program"),
        ],
    }


def test_text_has_a_table_per_place_and_the_reasons(report: dict[str, Any]) -> None:
    text = as_text(report)
    assert "3.00 ±10%" in text
    assert "On the adapter device gpu, D 1 (gpu)" in text
    assert "left out: absent (gpu): not installed" in text
    assert "no result: mute (gpu): no program: sum" in text
    assert "busy" in text


def test_the_fastest_on_the_adapter_is_bold(report: dict[str, Any]) -> None:
    lines = short_table(report).splitlines()
    assert f"| workload | {OURS} | peer | mute | NumPy | {OURS} on NumPy |" in lines
    assert "| sum | **3.00** | 4.00 | - | 1.00 | 2.00 |" in lines
    assert "2026-01-02" in lines[0] and "P, 2 processors" in lines[0]
    assert lines[-1] == "Versions: NumPy 7, peer 7, mute 7."


def test_the_readme_has_the_larger_workloads_alone(report: dict[str, Any]) -> None:
    report["cells"].append({**cell(OURS, "gpu", 5.0), "workload": "grad_sum_add 2x2"})
    assert "grad_sum_add" in full_table(report)
    assert "grad_sum_add" not in short_table(report)


@pytest.mark.parametrize(
    ("value", "text"), [(0.00123, "0.00123"), (0.0456, "0.0456"), (1.0, "1.00"), (812.3, "812")]
)
def test_times_have_three_digits(value: float, text: str) -> None:
    assert milliseconds(value) == text


def test_a_block_is_rewritten_and_nothing_else(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    for text in ("new", "newer"):
        rewrite_block(document, text)
    assert document.read_text(encoding="utf-8") == f"before\n{BEGIN}\n\nnewer\n\n{END}\nafter\n"
    document.write_text("nothing", encoding="utf-8")
    with pytest.raises(ValueError, match="no block"):
        rewrite_block(document, "text")


@pytest.mark.parametrize("document", ["README.md", "docs/benchmarks.md"])
def test_the_documents_have_the_block(document: str) -> None:
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    assert text.index(BEGIN) < text.index(END)
