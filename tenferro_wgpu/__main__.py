"""`python -m tenferro_wgpu`: lists this machine's devices and restores a photograph.

The command line alone: what it prints, and its exit codes (0, or 2 with one line on stderr for
what a person can put right). The demonstration is in `tenferro_wgpu.demo`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tenferro_wgpu as tw

if TYPE_CHECKING:
    from .demo.restoration import Observation, Restoration

#: What the demonstration imports, and the requirement of the extra `demo` that brings it.
DEMO_REQUIREMENTS = {"tqdm": "tqdm>=4.66", "PIL": "pillow>=10.1", "matplotlib": "matplotlib>=3.8"}
#: Endings of the file that is written; a name without one gets the first.
OUTPUT_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


class UsageError(Exception):
    """Something the person can put right; the message is one line."""


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The options, checked as far as they can be without starting anything."""
    parser = argparse.ArgumentParser(
        prog="python -m tenferro_wgpu",
        description="Lists the devices found here and restores a blurred photograph on the best.",
    )
    parser.add_argument("--devices", action="store_true", help="list the devices and stop")
    parser.add_argument("--image", type=Path, metavar="FILE", help="your own picture")
    parser.add_argument(
        "--backend", choices=("webgpu", "cuda", "cpu"), help="default: the best one here"
    )
    parser.add_argument("--steps", type=int, default=120, help="steps of descent (default: 120)")
    parser.add_argument(
        "--size", type=int, default=256, help="longest side, larger is scaled down (default: 256)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("tenferro_restoration.png"),
        metavar="FILE",
        help="the picture to write, PNG, JPEG or WebP by its ending "
        "(default: tenferro_restoration.png)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and no more")
    options = parser.parse_args(arguments)
    if options.steps < 1:
        parser.error("--steps must be at least 1")
    if options.size < 1:
        parser.error("--size must be at least 1")
    try:
        options.output = output_file(options.output)
    except UsageError as error:
        parser.error(f"--output: {error}")
    return options


def output_file(path: Path) -> Path:
    """`path` with the ending of a picture; raises UsageError where none could be written."""
    if path.is_dir():
        raise UsageError(f"a folder, not a file: {path}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"no such folder: {path.absolute().parent}")
    if not path.suffix:
        return path.with_name(path.name + OUTPUT_SUFFIXES[0])
    if path.suffix.lower() not in OUTPUT_SUFFIXES:
        raise UsageError(f"{path.name} must end in {', '.join(OUTPUT_SUFFIXES)}")
    return path


def install_line() -> str | None:
    """The command that brings what the demonstration lacks here, or None if nothing is missing."""
    missing = [need for module, need in DEMO_REQUIREMENTS.items() if find_spec(module) is None]
    if not missing:
        return None
    quoted = " ".join(f'"{need}"' for need in missing)
    return f"{sys.executable} -m pip install {quoted}"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Does what the options ask for, printing as it goes unless `--json`; returns the report."""
    from .demo import report

    try:
        devices = tw.devices()
    except tw.TenferroError as error:
        raise UsageError(str(error)) from error
    asked = report.Asked.by(options.backend, os.environ.get("TENFERRO_BACKEND"))
    if asked is not None and not options.devices and not report.is_here(asked, devices):
        # The error says so, with the reason: no list before it.
        try:
            tw.EagerRuntime(options.backend).close()
        except tw.TenferroError as error:
            raise UsageError(str(error)) from error
    if asked is None and report.runs_on_cpu(devices):
        # The list says so already; by name it is not logged once more.
        options.backend = "cpu"
    result: dict[str, Any] = {"devices": report.devices_as_data(devices)}
    if not options.json:
        print(report.devices_as_text(devices, asked), flush=True)
    if options.devices:
        return result
    missing = install_line()
    if missing is not None:
        result["install"] = missing
        if not options.json:
            print(f"\nThe demonstration needs packages that are not here. Install them with:\n"
                  f"  {missing}")  # fmt: skip
        return result
    result.update(restore_photograph(options))
    return result


def restore_on_both(
    options: argparse.Namespace, observation: Observation
) -> tuple[str, Restoration, Restoration | None]:
    """Restores on the device asked for and, unless that is NumPy, once more on NumPy."""
    from .demo import report
    from .demo.restoration import restore

    with tw.EagerRuntime(options.backend) as runtime:
        device = report.device_line(runtime)
        if not options.json:
            print(f"\nRestoring a photograph on {device}", flush=True)
        with report.progress_bar(options.steps, shown=not options.json) as advance:
            restored = restore(runtime, observation, options.steps, advance)
        if runtime.device.backend == "cpu":
            return device, restored, None
    if not options.json:
        print("The same steps on the CPU with NumPy", flush=True)
    with (
        tw.EagerRuntime("cpu") as runtime,
        report.progress_bar(options.steps, shown=not options.json) as advance,
    ):
        return device, restored, restore(runtime, observation, options.steps, advance)


def restore_photograph(options: argparse.Namespace) -> dict[str, Any]:
    """Runs the demonstration; returns its part of the report."""
    from .demo import report
    from .demo.picture import PictureError, full_size, load_picture, sample_picture, save_panels
    from .demo.restoration import observe, psnr

    file = options.image or sample_picture()
    try:
        original = load_picture(file, options.size)
    except PictureError as error:
        raise UsageError(str(error)) from None
    observation = observe(original)
    try:
        device, restored, reference = restore_on_both(options, observation)
    except tw.TenferroError as error:
        raise UsageError(str(error)) from error
    outcome = report.outcome(
        device,
        restored,
        reference,
        psnr_blurred=psnr(observation.picture, original),
        psnr_restored=psnr(restored.picture, original),
        file_size=full_size(file),
        output=options.output.absolute(),
    )
    panels = [
        ("original", original),
        (f"blurred, with noise\n{outcome['psnr_blurred']:.2f} dB", observation.picture),
        (f"restored\n{outcome['psnr_restored']:.2f} dB", restored.picture),
    ]
    try:
        save_panels(panels, options.output)
    except OSError as error:
        raise UsageError(f"cannot write {options.output}: {error.strerror or error}") from None
    if not options.json:
        print(report.outcome_as_text(outcome))
    return outcome


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = parse_arguments(arguments)
    try:
        result = run(options)
    except UsageError as error:
        print(f"tenferro_wgpu: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ntenferro_wgpu: stopped", file=sys.stderr)
        return 130
    if options.json:
        print(json.dumps(result, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
