"""docs/coverage.md is of this tree: every function is there, and runs everywhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts"))

import coverage_page  # noqa: E402
from cases.coverage_calls import CALLS, NO_TENSORS  # noqa: E402
from cases.coverage_reasons import reason  # noqa: E402

import tenferro_wgpu as tw  # noqa: E402

TEXT = coverage_page.PAGE.read_text(encoding="utf-8")


def test_every_public_function_has_a_call() -> None:
    assert {name for name in coverage_page.functions() if name not in CALLS} == set()
    assert {name for name in (*CALLS, *NO_TENSORS) if not hasattr(tw, name)} == set()


def test_the_page_has_every_function_under_all_its_names() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", TEXT, re.MULTILINE)
    listed = [tuple(re.findall(r"`(\w+)`", row)) for row in rows]
    assert listed == [tuple(names) for names in coverage_page.functions().values()]


def test_every_cell_runs_everywhere_or_says_why_not() -> None:
    notes = dict(re.findall(r"^- (\w+): (.*)$", TEXT, re.MULTILINE))
    assert not [why for why in notes.values() if re.match("lavapipe|swiftshader", why)]
    cells = []
    for row in re.findall(r"^\| `.*?` \|(.*)\|$", TEXT, re.MULTILINE):
        cells += [cell.strip() for cell in row.split("|")[: len(coverage_page.DTYPES)]]
    assert {cell for cell in cells if cell != coverage_page.RUNS} == set(notes)
    assert cells.count(coverage_page.RUNS) > 3100


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex64"])
def test_every_refusal_has_a_reason(cpu: Any, dtype: str) -> None:
    for name in coverage_page.functions():
        try:
            coverage_page.evaluate(cpu, name, dtype)
        except tw.errors.DTypeError:
            assert reason(name, dtype)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_calls_agree_with_the_page(rt: Any, cpu: Any, dtype: str) -> None:
    """A sample of the calls, so that the page's own program is known to run."""
    for name in sorted(CALLS)[::9]:
        try:
            expected = coverage_page.evaluate(cpu, name, dtype)
        except tw.errors.DTypeError:
            continue
        assert coverage_page.agree(coverage_page.evaluate(rt, name, dtype), expected), name
