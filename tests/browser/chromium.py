"""Headless Chromium with WebGPU and a server on localhost: what every browser test stands on.

On a machine without a GPU Chromium gives out an adapter (its own SwiftShader) only with
`--enable-unsafe-webgpu`. `navigator.gpu` needs a secure origin and Pyodide cannot be loaded from
files, so pages come from localhost.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--enable-unsafe-webgpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)

CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".json": "application/json",
    ".wasm": "application/wasm",
}

EMPTY_PAGE = b"<!doctype html><meta charset=utf-8><title>tenferro_wgpu</title>"

_RUN_ASYNC = """
const done = arguments[arguments.length - 1];
const A = Array.prototype.slice.call(arguments, 0, -1);
(async () => { %s })().then((value) => done({ value }), (error) => done({ error: String(error) }));
"""


class PageError(AssertionError):
    """JavaScript or Python in the page raised; the message is its text."""


def find_browser() -> tuple[str, str] | None:
    """Return the paths of Chromium and of its chromedriver, or None where one is missing."""
    chromium = os.environ.get("TENFERRO_TEST_CHROMIUM")
    # Where both are installed (CI images), chromedriver is the one of Google Chrome.
    for name in ("google-chrome", "chromium", "chromium-browser"):
        chromium = chromium or shutil.which(name)
    driver = os.environ.get("TENFERRO_TEST_CHROMEDRIVER") or shutil.which("chromedriver")
    return (chromium, driver) if chromium and driver else None


@contextlib.contextmanager
def open_chromium(script_timeout: float = 120.0) -> Iterator[webdriver.Chrome]:
    """Start headless Chromium with a fresh profile; quit it and remove the profile at the end.

    Raises:
        FileNotFoundError: Chromium or chromedriver is not installed.
    """
    found = find_browser()
    if found is None:
        raise FileNotFoundError("chromium and chromedriver are needed (Debian: chromium-driver)")
    profile = tempfile.mkdtemp(prefix="tenferro-chromium-")
    options = Options()
    options.binary_location = found[0]
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    try:
        # A driver named by path keeps Selenium from looking for one to download.
        driver = webdriver.Chrome(options=options, service=Service(found[1]))
        try:
            driver.set_script_timeout(script_timeout)
            yield driver
        finally:
            driver.quit()
    finally:
        shutil.rmtree(profile, ignore_errors=True)


def run_javascript(driver: webdriver.Chrome, body: str, *arguments: Any) -> Any:
    """Run the body of an async function in the page; `A` holds the arguments.

    Raises:
        PageError: the function threw.
    """
    answer = driver.execute_async_script(_RUN_ASYNC % body, *arguments)
    if "error" in answer:
        raise PageError(answer["error"])
    return answer.get("value")


@contextlib.contextmanager
def serve(folders: Mapping[str, Path] | None = None) -> Iterator[str]:
    """Serve folders under URL prefixes (`{"pyodide": path}`) on localhost; yields the address.

    `/` is an empty page. Only GET of files that exist is answered.
    """
    roots = {prefix: Path(folder).resolve() for prefix, folder in (folders or {}).items()}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body, suffix = _find(roots, self.path)
            self.send_response(200 if body is not None else 404)
            body = body or b""
            self.send_header("Content-Type", CONTENT_TYPES.get(suffix, "application/octet-stream"))
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Stay silent: a test's output is for its failures."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _find(roots: Mapping[str, Path], url: str) -> tuple[bytes | None, str]:
    path = unquote(urlsplit(url).path).lstrip("/")
    if not path:
        return EMPTY_PAGE, ".html"
    prefix, _, rest = path.partition("/")
    root = roots.get(prefix)
    if root is None:
        return None, ""
    file = (root / rest).resolve()
    if not file.is_relative_to(root) or not file.is_file():
        return None, ""
    return file.read_bytes(), file.suffix
