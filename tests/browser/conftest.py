"""Fixtures: one Chromium for the session, and pages in it that run our wheel in Pyodide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import find_browser, open_chromium, run_javascript, serve
from pyodide_distribution import DistributionError, pyodide_distribution
from selenium import webdriver

REPOSITORY = Path(__file__).resolve().parents[2]

_LOAD = """
const suspendable = A[2];
if (!suspendable) { delete WebAssembly.Suspending; delete WebAssembly.promising; }
const { loadPyodide } = await import('/pyodide/pyodide.mjs');
const python = globalThis.python = await loadPyodide({ indexURL: '/pyodide/' });
await python.loadPackage(['numpy', 'jinja2']);
const wheel = await (await fetch('/wheel/' + A[0])).arrayBuffer();
const extractDir = python.runPython('import site; site.getsitepackages()[0]');
python.unpackArchive(wheel, 'wheel', { extractDir });
python.FS.writeFile('/home/pyodide/user_script.py', A[1]);
python.runPython('import importlib; importlib.invalidate_caches()');
"""

_RUN = """
python.globals.set('_source', A[0]);
return await python.runPythonAsync(`
import json as _json
from pyodide.code import eval_code_async as _run
_json.dumps(await _run(_source, {'__name__': '__main__'}))
`);
"""


def missing(what: str) -> None:
    """Skip on a person's machine; fail where CI promises that everything is installed."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}; CI must have it")
    pytest.skip(f"BROWSER TESTS DID NOT RUN: {what}")


@pytest.fixture(scope="session")
def browser() -> Iterator[webdriver.Chrome]:
    """Headless Chromium with a fresh profile, for the session."""
    if find_browser() is None:
        missing("chromium or chromedriver is not installed (Debian: chromium-driver)")
    with open_chromium() as driver:
        yield driver


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our wheel, built from this checkout (or the one that `TENFERRO_TEST_WHEEL` names)."""
    given = os.environ.get("TENFERRO_TEST_WHEEL")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=REPOSITORY,
        check=True,
        timeout=120,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def pyodide_server(wheel: Path) -> Iterator[str]:
    """The address of a server with Pyodide under /pyodide and our wheel under /wheel."""
    try:
        distribution = pyodide_distribution()
    except DistributionError as error:
        missing(f"Pyodide could not be set up: {error}")
    with serve({"pyodide": distribution, "wheel": wheel.parent}) as address:
        yield address


class Page:
    """A tab whose Python has our wheel; `page(code)` runs code and returns its last value.

    The code may `await`; the value travels as JSON.  A Python exception raises `PageError`
    with its traceback.
    """

    def __init__(
        self, browser: webdriver.Chrome, address: str, wheel: Path, *, suspendable: bool
    ) -> None:
        browser.switch_to.new_window("tab")
        self._browser = browser
        self._tab = browser.current_window_handle
        browser.get(address)
        script = (REPOSITORY / "tests" / "user_script.py").read_text()
        run_javascript(browser, _LOAD, wheel.name, script, suspendable)

    def __call__(self, code: str) -> Any:
        self._browser.switch_to.window(self._tab)
        return json.loads(run_javascript(self._browser, _RUN, code))


@pytest.fixture(scope="session")
def py(browser: webdriver.Chrome, pyodide_server: str, wheel: Path) -> Callable[[str], Any]:
    """Python in a page that can wait synchronously."""
    return Page(browser, pyodide_server, wheel, suspendable=True)


@pytest.fixture(scope="session")
def py_async_only(
    browser: webdriver.Chrome, pyodide_server: str, wheel: Path
) -> Callable[[str], Any]:
    """Python in a page without JavaScript Promise Integration: only `await` waits."""
    return Page(browser, pyodide_server, wheel, suspendable=False)
