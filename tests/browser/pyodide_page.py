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
const [wheel, suspendable] = A;
if (!suspendable) { delete WebAssembly.Suspending; delete WebAssembly.promising; }
const { loadPyodide } = await import('/pyodide/pyodide.mjs');
const python = globalThis.python = await loadPyodide({ indexURL: '/pyodide/' });
await python.loadPackage(['numpy', 'jinja2']);
const extractDir = python.runPython('import site; site.getsitepackages()[0]');
for (const [path, format] of [[wheel, 'wheel'], ['programs.zip', 'zip']]) {
  const bytes = await (await fetch('/files/' + path)).arrayBuffer();
  python.unpackArchive(bytes, format, { extractDir });
}
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
    """A tab whose Python has our wheel and the tests' programs; `page(code)` runs code in it.

    The code may `await`; its last value is returned, and travels as JSON.  A Python exception
    raises `PageError` with its traceback.
    """

    def __init__(
        self, browser: webdriver.Chrome, address: str, wheel: Path, *, suspendable: bool
    ) -> None:
        browser.switch_to.new_window("tab")
        self._browser = browser
        self._tab = browser.current_window_handle
        browser.get(address)
        run_javascript(browser, _LOAD, wheel.name, suspendable)

    def __call__(self, code: str) -> Any:
        self._browser.switch_to.window(self._tab)
        return json.loads(run_javascript(self._browser, _RUN, code))
