"""Fixtures: one Chromium for the session, and pages in it that run our wheel in Pyodide."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import find_browser, open_chromium, serve
from pyodide_distribution import DistributionError, pyodide_distribution
from pyodide_page import REPOSITORY, Page, missing
from selenium import webdriver

#: Fixtures that all tests of a worker share.
PAGES = {"browser", "pyodide_server"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the pages in one worker: each further one would start a browser and a Pyodide."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if PAGES & set(getattr(item, "fixturenames", ())):
                item.add_marker(pytest.mark.xdist_group("browser"))


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
def pyodide_server(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with Pyodide, our wheel, and the programs that pages run."""
    try:
        distribution = pyodide_distribution()
    except DistributionError as error:
        missing(f"Pyodide could not be set up: {error}")
    files = tmp_path_factory.mktemp("files")
    shutil.copy(wheel, files)
    tests = REPOSITORY / "tests"
    with zipfile.ZipFile(files / "programs.zip", "w") as programs:
        for file in [tests / "user_script.py", *sorted((tests / "cases").glob("*.py"))]:
            programs.write(file, file.relative_to(tests))
    with serve({"pyodide": distribution, "files": files}) as address:
        yield address


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
