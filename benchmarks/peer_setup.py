"""Installs the other libraries, each in an environment of its own, in one folder.

Everything is optional: what cannot be installed is named, and the benchmarks leave it out.
The versions are those that the workers in `peers/` were written against.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

__all__ = ["NODE_PACKAGES", "PYTHON_PACKAGES", "run"]

NUMPY = "numpy>=2"
#: By environment; "torch" serves the CPU and, through torchvulkan, Vulkan.
PYTHON_PACKAGES = {
    "torch": ["torch==2.13.0", "torchvulkan==0.2.1", NUMPY],
    "jax": ["jax==0.10.2", NUMPY],
    "tinygrad": ["tinygrad==0.14.0", "dawn-python==0.3.0", NUMPY],
    "computeml": ["computeml==0.4.4", NUMPY],
    "ferrotensor": ["ferrotensor==0.3.0", NUMPY],
}
#: Dawn for node, and what runs on it.
NODE_PACKAGES = [
    "webgpu@0.6.2",
    "@jax-js/jax@0.1.25",
    "@tensorflow/tfjs@4.22.0",
    "@tensorflow/tfjs-backend-webgpu@4.22.0",
]


def run(folder: Path) -> int:
    """Install what is missing or of another version; returns 0 even where something failed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, packages in PYTHON_PACKAGES.items():
        _install(folder / name, packages, _install_python)
    _install(folder / "node", NODE_PACKAGES, _install_node)
    return 0


def _install(where: Path, packages: list[str], install: Callable[[Path, list[str]], None]) -> None:
    """Install unless the stamp in the folder says that these packages are there."""
    stamp = where / "installed.txt"
    wanted = "\n".join(packages) + "\n"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    print(f"{where.name}: {', '.join(packages)}", file=sys.stderr, flush=True)
    try:
        install(where, packages)
        stamp.write_text(wanted, encoding="utf-8")
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{where.name}: not installed: {error}", file=sys.stderr)


def _install_python(where: Path, packages: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(where)], check=True)
    python = where / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
    if where.name == "tinygrad":
        _link_dawn(where)


def _link_dawn(where: Path) -> None:
    """tinygrad looks for Dawn by a name that the package with the library does not use."""
    for library in where.glob("lib/python*/site-packages/pydawn/lib/libwebgpu_dawn_x86_64.so"):
        link = where / "dawn" / "libwebgpu_dawn.so"
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(library)


def _install_node(where: Path, packages: list[str]) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise OSError("npm is not installed")
    where.mkdir(exist_ok=True)
    (where / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    subprocess.run([npm, "install", "--silent", *packages], cwd=where, check=True)
