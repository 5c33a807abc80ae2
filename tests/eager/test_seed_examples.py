"""The thirty examples of the seed's documentation, as doctests on every backend."""

from __future__ import annotations

import doctest
from pathlib import Path

from conftest import ADAPTERS

EXAMPLES = Path(__file__).parents[2] / "docs" / "seed_examples.md"


def test_seed_examples(rt, adapter, monkeypatch):
    backend = {"numpy": "cpu", "cupy": "cuda"}.get(adapter, "webgpu")
    monkeypatch.setenv("TENFERRO_BACKEND", backend)
    if ADAPTERS[adapter]:
        monkeypatch.setenv("TENFERRO_ADAPTER", ADAPTERS[adapter])
    if adapter == "swiftshader":
        monkeypatch.setenv("TENFERRO_LIMITS", "browser")
    result = doctest.testfile(str(EXAMPLES), module_relative=False)
    assert result.attempted > 60
    assert result.failed == 0
