"""Who is measured: how each library's worker is started, on which adapter, and why it may lack.

Peers live in environments of their own under one folder, made by `peer_setup`; nothing of them
enters this project's environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Adapter", "Candidate", "adapters", "default_folder", "ours", "peers", "references"]

ROOT = Path(__file__).resolve().parents[1]
WORKERS = Path(__file__).resolve().parent / "peers"
OURS = "tenferro_wgpu"
UNFUSED = "tenferro_wgpu, not fused"


@dataclass(frozen=True)
class Adapter:
    """A graphics driver: the environment that lets every library find this one alone."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """One library in one place: "cpu" or the name of an adapter."""

    name: str
    place: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Why it cannot be started; empty where it can.
    missing: str = ""

    @property
    def on_cpu(self) -> bool:
        """Whether it works on the processor by its own choice, not through a driver."""
        return self.place == "cpu"

    @property
    def is_ours(self) -> bool:
        """Whether it is this library, in whichever mode."""
        return self.name.startswith(OURS)


def default_folder() -> Path:
    """Where peers are installed unless said otherwise."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tenferro_wgpu" / "benchmarks"


def adapters(drivers: str | None = None) -> list[Adapter]:
    """One adapter per Vulkan driver file.

    Args:
        drivers: paths joined by os.pathsep, or None for what ``VK_DRIVER_FILES`` says.  Where
            neither names one, the one adapter is what each library takes by itself.
    """
    named = drivers or os.environ.get("VK_DRIVER_FILES", "")
    files = [file for file in named.split(os.pathsep) if file]
    if not files:
        return [Adapter("default")]
    found = []
    for file in files:
        # The older variable is the one that some loaders read.
        environment = {"VK_DRIVER_FILES": file, "VK_ICD_FILENAMES": file}
        found.append(Adapter(Path(file).name.split(".")[0].removesuffix("_icd"), environment))
    return found


def _python(script: str, *options: str, interpreter: str = sys.executable) -> tuple[str, ...]:
    return (interpreter, str(WORKERS / script), *options)


def ours(places: Sequence[Adapter], unfused: bool = False) -> list[Candidate]:
    """This library on its CPU backend and on every adapter, by the same worker protocol."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    environment = {"PYTHONPATH": path}
    found = [
        Candidate(OURS, "cpu", _python("ours_worker.py", "--backend", "cpu"), environment),
    ]
    for place in places:
        on_adapter = {**environment, **place.environment}
        command = _python("ours_worker.py", "--backend", "webgpu")
        found.append(Candidate(OURS, place.name, command, on_adapter))
        if unfused:
            found.append(
                Candidate(UNFUSED, place.name, command, {**on_adapter, "TENFERRO_FUSION": "0"})
            )
    return found


def references() -> list[Candidate]:
    """NumPy, from this interpreter: what every result is compared with."""
    return [Candidate("NumPy", "cpu", _python("numpy_worker.py"))]


def _interpreter(folder: Path, name: str) -> tuple[str, str]:
    """A peer's Python, and why there is none."""
    scripts = "Scripts/python.exe" if os.name == "nt" else "bin/python"
    python = folder / name / scripts
    return str(python), "" if python.exists() else "not installed"


def peers(folder: Path, places: Sequence[Adapter]) -> list[Candidate]:
    """Every peer that there is a worker for, installed or not."""
    found = []
    torch, no_torch = _interpreter(folder, "torch")
    jax, no_jax = _interpreter(folder, "jax")
    found.append(
        Candidate(
            "PyTorch (CPU)", "cpu", _python("torch_worker.py", interpreter=torch), {}, no_torch
        )
    )
    found.append(
        Candidate("JAX (CPU, jit)", "cpu", _python("jax_worker.py", interpreter=jax), {}, no_jax)
    )
    packages = folder / "node"
    no_node = "" if (packages / "node_modules").is_dir() else "not installed"
    tinygrad, no_tinygrad = _interpreter(folder, "tinygrad")
    dawn = str(folder / "tinygrad" / "dawn")
    library_path = os.pathsep.join(
        part for part in (dawn, os.environ.get("LD_LIBRARY_PATH", "")) if part
    )
    for place in places:
        environment = place.environment

        def python(
            name: str, key: str, *options: str, place: Adapter = place, **extra: str
        ) -> Candidate:
            interpreter, missing = _interpreter(folder, key)
            command = _python(f"{key}_worker.py", *options, interpreter=interpreter)
            return Candidate(name, place.name, command, {**place.environment, **extra}, missing)

        found.append(python("torchvulkan", "torch", "--device", "vulkan"))
        found.append(
            Candidate(
                "tinygrad (WEBGPU, jit)",
                place.name,
                _python("tinygrad_worker.py", interpreter=tinygrad),
                {**environment, "DEV": "WEBGPU", "LD_LIBRARY_PATH": library_path},
                no_tinygrad,
            )
        )
        found.append(python("computeml (captured)", "computeml"))
        found.append(python("ferrotensor", "ferrotensor"))
        for name, script in (
            ("jax-js (jit)", "jax_js_worker.mjs"),
            ("TensorFlow.js", "tensorflow_js_worker.mjs"),
        ):
            command = ("node", str(WORKERS / script), str(packages))
            found.append(Candidate(name, place.name, command, environment, no_node))
    return found
