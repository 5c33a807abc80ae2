"""Every WGSL module made under browser limits must be accepted by a browser's own compiler.

`scripts/run_tests.sh` names a folder in which all tests of a run leave their modules; the root
`conftest.py` puts the test that compiles them last.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from chromium import find_browser
from pyodide_page import REPOSITORY, missing
from wgsl_compile import compile_in_chromium, read_modules, worth_a_pipeline

pytestmark = pytest.mark.browser

LOG_FOLDER = "TENFERRO_WGSL_LOG"

#: The case tables make over 2,900 modules; far fewer means that the log has stopped working.
FEWEST_MODULES = 2000


def make_modules(folder: Path) -> str:
    """Run the case tables on SwiftShader, held to browser limits, with the log on.

    Returns pytest's output.  Failing cases are the business of the tests that this runs again.
    """
    environment = {
        **os.environ,
        "TENFERRO_TEST_ADAPTERS": "swiftshader",
        LOG_FOLDER: str(folder),
    }
    finished = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
            *("-k", "swiftshader", "tests/operations"),
        ],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    return finished.stdout[-3000:] + finished.stderr[-1000:]


def test_every_module_compiles_in_chromium(tmp_path):
    if find_browser() is None:
        missing("chromium or chromedriver is not installed (Debian: chromium-driver)")
    given = os.environ.get(LOG_FOLDER)
    folder = Path(given) if given else tmp_path
    output = ""
    modules = read_modules([folder])
    if len(modules) < FEWEST_MODULES:  # this test runs alone, or with few others
        output = make_modules(folder)
        modules = read_modules([folder])
    assert len(modules) >= FEWEST_MODULES, f"only {len(modules)} modules were logged\n{output}"
    found = compile_in_chromium(modules, worth_a_pipeline(modules))
    refused = [f"{name}: {error}" for name, errors in found.items() for error in errors[:3]]
    assert not refused, "\n".join(refused)


def test_a_module_that_browsers_refuse_is_found():
    if find_browser() is None:
        missing("chromium or chromedriver is not installed (Debian: chromium-driver)")
    good = "@compute @workgroup_size(64) fn main() {}"
    early_return = """
        var<workgroup> shared_sum: u32;
        @compute @workgroup_size(64)
        fn main(@builtin(local_invocation_index) index: u32) {
          if (index > 3u) { return; }
          workgroupBarrier();
          shared_sum = index;
        }
    """
    too_wide = "@compute @workgroup_size(512) fn main() {}"
    found = compile_in_chromium({"good": good, "barrier": early_return, "wide": too_wide})
    assert found["good"] == []
    assert "uniform control flow" in found["barrier"][0]
    assert "workgroup_size" in found["wide"][0]


def test_pipelines_cover_every_function_and_interface():
    entry = "@compute @workgroup_size({})\nfn main() {{ {}; }}\n"
    binding = "@group(0) @binding(0) var<storage, read_write> result: array<{}>;\n"
    small, wide = entry.format(64, "tf_a()"), entry.format(256, "tf_a()")
    one, other = "fn tf_a() {\n  return;\n}\n", "fn tf_a() {\n  tf_b();\n}\n"
    modules = {
        "first": one + binding.format("u32") + small,
        "another element and body": one + binding.format("vec2<f32>") + entry.format(64, "1u + 2u"),
        "another function": other + binding.format("u32") + small,
        "another size": one + binding.format("u32") + wide,
        "one more binding": one + binding.format("u32") + binding.format("u32") + small,
    }
    assert worth_a_pipeline(modules) == {*modules} - {"another element and body"}
