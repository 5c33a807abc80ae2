"""A tab of Chromium that runs Python with our wheel in it, and what to do where none can run."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest
from chromium import run_javascript
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


def missing(what: str) -> NoReturn:
    """Skip on a person's machine; fail in CI on Linux, where everything is installed."""
    if os.environ.get("CI") and sys.platform == "linux":
        pytest.fail(f"{what}; CI must have it")
    pytest.skip(f"BROWSER TESTS DID NOT RUN: {what}")


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
