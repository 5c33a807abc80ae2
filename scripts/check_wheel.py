"""Builds the wheel and uses it from a fresh environment outside the repository.

Checks that the shaders are inside, that a bare install prints the devices and the pip line,
and that the demo runs, on the CPU and on WebGPU where this machine has an adapter.
Run it with the Python of an environment that has the extra `test`.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path) -> str:
    """Runs a command away from the repository and returns what it printed; ends us if it fails."""
    # A PYTHONPATH that names the checkout would hide what the wheel lacks.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        sys.exit(f"check_wheel: exit code {done.returncode} from {' '.join(map(str, command))}")
    return done.stdout


def expect(condition: bool, what: str) -> None:
    if not condition:
        sys.exit(f"check_wheel: {what}")
    print(f"check_wheel: ok: {what}", flush=True)


def build_wheel(folder: Path) -> Path:
    run(
        sys.executable,
        *("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, REPOSITORY),
        cwd=folder,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    return binaries / ("python.exe" if os.name == "nt" else "python")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        shaders = [path for path in names if path.startswith("tenferro_wgpu/shaders/")]
        sources = [path.name for path in (REPOSITORY / "shaders").rglob("*") if path.is_file()]
        expect(len(shaders) == len(sources), f"the wheel holds all {len(sources)} shader files")
        expect("tenferro_wgpu/py.typed" in names, "the wheel holds py.typed")
        expect(not any(path.startswith("tests") for path in names), "the wheel holds no tests")

        python = make_environment(folder / "environment")
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, wheel, cwd=folder)
        bare = run(python, "-m", "tenferro_wgpu", cwd=folder)
        expect("pip install" in bare, "without the extra, the devices and the pip line are printed")
        devices = json.loads(run(python, "-m", "tenferro_wgpu", "--json", "--devices", cwd=folder))
        backends = {device["backend"] for device in devices["devices"] if device["available"]}
        expect("cpu" in backends, f"the devices found are {sorted(backends)}")

        run(*pip, f"{wheel}[demo]", cwd=folder)
        for backend in sorted(backends & {"cpu", "webgpu"}):
            picture = folder / f"{backend}.png"
            options = ("--backend", backend, "--steps", "30", "--output", picture, "--json")
            report = json.loads(run(python, "-m", "tenferro_wgpu", *options, cwd=folder))
            expect(picture.stat().st_size > 10_000, f"{backend}: a picture was written")
            gain = report["psnr_restored"] - report["psnr_blurred"]
            expect(gain > 3, f"{backend}: the restoration gains {gain:.1f} dB")


if __name__ == "__main__":
    main()
