"""Every example runs as a user would run it, and checks its own result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ADAPTERS

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_example(script, adapter):
    chosen = {"TENFERRO_BACKEND": {"numpy": "cpu", "cupy": "cuda"}.get(adapter, "webgpu")}
    if ADAPTERS[adapter]:
        chosen["TENFERRO_ADAPTER"] = ADAPTERS[adapter]
    done = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | chosen,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
