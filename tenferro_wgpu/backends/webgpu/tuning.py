"""Measured choices of kernels, kept between processes: when they are used, and their file.

One JSON file per adapter in the user's cache folder. It names the adapter, its driver and the
version of the library; a file of another one, or one that does not parse, is as good as none. A
file that cannot be written is not an error. `Tuning` is the part of `WebGpuBackend` behind
`tw.tune()`; contraction_search.py measures. Nothing here knows how a tile is computed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tenferro_wgpu import environment
from tenferro_wgpu.backends.tuning_report import TuningReport
from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import Size, Tile

if TYPE_CHECKING:
    from tenferro_wgpu.backends.webgpu.device import Device
    from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher

__all__ = ["Tuning", "cache_folder", "is_on", "load", "path_of", "store"]

Choices = Mapping[tuple[str, str], Tile]

#: Of the file; another one is not read.
FORMAT = 1
#: Longer files are not ours.
MOST_BYTES = 1 << 20


class Tuning:
    """The search for the fastest matrix kernels, on request."""

    _launcher: Launcher

    def tune(
        self,
        sizes: Sequence[tuple[int, int, int]] | None,
        dtypes: Sequence[np.dtype[Any]],
        seconds: float,
    ) -> TuningReport:
        """Time ways to cut products of these (M, N, K), or of common ones; see `tw.tune`."""
        from tenferro_wgpu.backends.webgpu.kernels.contraction import arithmetic_dialect
        from tenferro_wgpu.backends.webgpu.kernels.contraction_search import COMMON_SIZES, tune

        wanted = COMMON_SIZES if sizes is None else [Size(1, *size) for size in sizes]
        launcher = self._launcher
        dialects = [arithmetic_dialect(launcher.dialect(dtype, "tune")) for dtype in dtypes]
        return tune(launcher, wanted, dialects, seconds)


def is_on(device: Device) -> bool:
    """Whether measured choices are used without being asked for, and large products searched.

    ``TENFERRO_TUNING`` says so; unset, GPUs are tuned, software renderers and browsers not: a
    renderer compiles each candidate for tenths of a second, and a page has no files.
    """
    if sys.platform == "emscripten":
        return False
    return environment.switch(environment.TUNING, default=not device.is_cpu)


def cache_folder() -> Path | None:
    """The user's cache folder for this library, which need not exist; None without a home."""
    if sys.platform == "win32":
        root = os.environ.get("LOCALAPPDATA", "")
    else:
        root = os.environ.get("XDG_CACHE_HOME", "")
    if root and Path(root).is_absolute():
        return Path(root) / "tenferro_wgpu"
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "tenferro_wgpu"
    return home / ".cache" / "tenferro_wgpu"


def identity(device: Device) -> dict[str, Any]:
    """What choices depend on: they are measured anew where any of it differs."""
    from tenferro_wgpu import __version__

    info = device.info
    return {
        "adapter": info.name,
        "vendor": info.vendor,
        "backend": info.backend_type,
        "driver": info.driver,
        "limits": device.limits_mode,
        "library": __version__,
    }


def path_of(device: Device) -> Path | None:
    """The file of a device; None where there is no folder for it."""
    folder = None if sys.platform == "emscripten" else cache_folder()
    if folder is None:
        return None
    text = json.dumps(identity(device), sort_keys=True)
    return folder / f"tuning-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def load(device: Device) -> dict[tuple[str, str], Tile]:
    """The choices kept for a device, by dialect and bucket of sizes; empty without a valid file."""
    path = path_of(device)
    if path is None:
        return {}
    try:
        if path.stat().st_size > MOST_BYTES:
            return {}
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT or content["identity"] != identity(device):
            return {}
        return {
            (str(entry["dialect"]), str(entry["bucket"])): _tile(entry["tile"])
            for entry in content["choices"]
        }
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}


def _tile(fields: Mapping[str, Any]) -> Tile:
    """A tile from a file; raises where a field is missing, unknown or no small number."""
    tile = Tile(**fields)
    for name, value in asdict(tile).items():
        if name != "scheme" and not (type(value) is int and 1 <= value <= 64):
            raise ValueError(name)
    return tile


def store(device: Device, choices: Choices) -> Path | None:
    """Keep choices for later processes; the file's path, or None where it cannot be written.

    Written beside the old file and moved over it: a reader finds the one or the other whole.
    """
    path = path_of(device)
    if path is None:
        return None
    content = {
        "format": FORMAT,
        "identity": identity(device),
        "choices": [
            {"dialect": dialect, "bucket": bucket, "tile": asdict(tile)}
            for (dialect, bucket), tile in sorted(choices.items())
        ],
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=path.stem, suffix=".new", delete=False
        ) as file:
            json.dump(content, file, indent=1)
        try:
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            return None
    except OSError:
        return None
    return path
