"""The driver of a web page: which adapter and devices the browser offers, opened once.

Called by: device.py, in a browser only (it imports `pyodide`).  Offers what `DriverModule` asks
for; browser_driver.py has the device itself.  Finding an adapter and opening a device are promises
in JavaScript: `initialize` awaits both, and everything afterwards is synchronous in every browser.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from pyodide.code import run_js
from pyodide.ffi import JsException, to_js

from ....errors import NoAdapterError
from .browser_driver import ENABLE, BrowserDriver, wait_for
from .protocol import WANTED_FEATURES, AdapterInfo, Limits

__all__ = [
    "BrowserAdapter",
    "BrowserDriver",
    "adapter_features",
    "adapter_limits",
    "describe_adapter",
    "initialize",
    "list_adapters",
    "open_driver",
]

INITIALIZE = "await tenferro_wgpu.init_async()"

#: WebGPU promises these to every page, so no request for them can fail.
DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class BrowserAdapter:
    """What the page's adapter said about itself; browsers show one adapter at a time."""

    info: AdapterInfo
    features: frozenset[str]
    limits: Limits


_adapter: BrowserAdapter | None = None
_open_drivers: dict[tuple[frozenset[str], Limits], BrowserDriver] = {}


async def initialize(*, default_limits: bool = False) -> BrowserAdapter:
    """Find the page's adapter and open its device, so that later calls need not wait.

    `default_limits` opens the device that `TENFERRO_LIMITS=browser` uses.  Calling it again does
    nothing.  Raises ``NoAdapterError``.
    """
    adapter = await _find_adapter()
    if default_limits:
        await _open(frozenset(), DEFAULT_LIMITS)
    else:
        await _open(adapter.features, adapter.limits)
    return adapter


def list_adapters() -> list[tuple[AdapterInfo, Any]]:
    """The page's adapter.  Before `initialize` this waits, or raises `SyncUnavailableError`."""
    if _adapter is not None:
        return [(_adapter.info, _adapter)]
    adapter = wait_for(_find_adapter(), "find a WebGPU adapter", INITIALIZE)
    return [(adapter.info, adapter)]


def describe_adapter(adapter: BrowserAdapter) -> AdapterInfo:
    """The record of an adapter from `list_adapters`."""
    return adapter.info


def adapter_features(adapter: BrowserAdapter) -> frozenset[str]:
    """The features this driver asks for where the adapter offers them."""
    return adapter.features


def adapter_limits(adapter: BrowserAdapter, features: frozenset[str]) -> Limits:
    """WebGPU's default limits with the buffer sizes of the adapter."""
    return adapter.limits


def open_driver(adapter: BrowserAdapter, features: frozenset[str], limits: Limits) -> BrowserDriver:
    """The open device with these features and limits; waits for a new one where Python can.

    Raises ``SyncUnavailableError`` or ``NoAdapterError``.
    """
    driver = _open_drivers.get((features, limits))
    if driver is not None and not driver.is_lost:
        return driver
    return wait_for(_open(features, limits), "open a WebGPU device", INITIALIZE)


@cache
def _browser() -> Any:
    """The functions of browser.js."""
    return run_js(files(__package__).joinpath("browser.js").read_text(encoding="utf-8"))


async def _find_adapter() -> BrowserAdapter:
    global _adapter
    if _adapter is None:
        try:
            found = json.loads(await _browser().findAdapter())
        except JsException as error:
            raise NoAdapterError(
                "webgpu", str(error), "WebGPU needs https or localhost and a recent browser"
            ) from error
        offered = found["limits"]
        _adapter = BrowserAdapter(
            _adapter_info(found),
            frozenset(found["features"]) & WANTED_FEATURES & frozenset(ENABLE),
            replace(
                DEFAULT_LIMITS,
                max_buffer_size=offered["maxBufferSize"] & ~15,
                max_storage_buffer_binding_size=offered["maxStorageBufferBindingSize"] & ~15,
            ),
        )
    return _adapter


async def _open(features: frozenset[str], limits: Limits) -> BrowserDriver:
    adapter = await _find_adapter()
    driver = _open_drivers.get((features, limits))
    if driver is None or driver.is_lost:
        try:
            device = await _browser().openDevice(
                to_js(sorted(features)),
                limits.max_buffer_size,
                limits.max_storage_buffer_binding_size,
            )
        except JsException as error:
            raise NoAdapterError("webgpu", str(error)) from error
        driver = BrowserDriver(device, adapter.info, features, limits)
        _open_drivers[features, limits] = driver
    return driver


def _adapter_info(found: dict[str, Any]) -> AdapterInfo:
    """Browsers hide most of what they know; only a software adapter is told apart."""
    name = found["description"] or f"{found['vendor']} {found['architecture']}".strip()
    return AdapterInfo(
        name=name or "WebGPU adapter",
        adapter_type="CPU" if found["fallback"] else "Unknown",
        backend_type="WebGPU",
        vendor=found["vendor"],
    )
