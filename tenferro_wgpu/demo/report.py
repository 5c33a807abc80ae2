"""What the demonstration says: devices, progress and outcome, as text and as data for JSON.

It reads what the public API reports and computes nothing about tensors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.dtypes import SUPPORTED

from .restoration import Restoration

if TYPE_CHECKING:
    from tenferro_wgpu.backends.selection import FoundDevice

__all__ = [
    "Asked",
    "device_line",
    "devices_as_data",
    "devices_as_text",
    "is_here",
    "outcome",
    "outcome_as_text",
    "progress_bar",
    "runs_on_cpu",
]


@dataclass(frozen=True)
class Asked:
    """A backend that the person named, and in which words."""

    backend: str
    words: str

    @classmethod
    def by(cls, option: str | None, variable: str | None) -> Asked | None:
        """What was asked for: the option counts before the environment variable."""
        if option:
            return cls(option, f"--backend {option}")
        return cls(variable, f"TENFERRO_BACKEND={variable}") if variable else None


def is_here(asked: Asked, devices: Sequence[FoundDevice]) -> bool:
    """Whether there is a device of the backend that was asked for."""
    return any(device.name and device.backend == asked.backend for device in devices)


def runs_on_cpu(devices: Sequence[FoundDevice]) -> bool:
    """Whether ``EagerRuntime()`` takes NumPy here."""
    return any(device.chosen and device.backend == "cpu" for device in devices)


def devices_as_data(devices: Sequence[FoundDevice]) -> list[dict[str, Any]]:
    """The devices for JSON; `available` is false for a backend without a device here."""
    return [
        {
            **{field.name: getattr(device, field.name) for field in dataclasses.fields(device)},
            "available": bool(device.name),
            "limits": dict(device.limits),
            "dtypes": dict(device.dtypes),
        }
        for device in devices
    ]


def devices_as_text(devices: Sequence[FoundDevice], asked: Asked | None = None) -> str:
    """The devices as a short list: what each is, what it computes, and why it was passed over."""
    lines = ["Devices found here (* is the one that EagerRuntime() takes):"]
    for device in devices:
        mark = "*" if device.chosen else " "
        if not device.name:
            reason = device.reason.removeprefix(f"{device.backend}: no adapter: ")
            lines.append(f"{mark} {device.backend:<7} none: {reason}")
            continue
        kind = {"DiscreteGPU": "GPU", "IntegratedGPU": "integrated GPU"}.get(
            device.type, device.type
        )
        lines.append(f"{mark} {device.backend:<7} {device.name} ({kind}, {device.driver})")
        names = [dtype.name for dtype in SUPPORTED if dtype.name in device.dtypes]
        software = [name for name in names if device.dtypes[name] == "software"]
        native = [name for name in names if device.dtypes[name] == "native"]
        lines.append(f"{'':10}native {' '.join(native)}")
        if software:
            lines.append(f"{'':10}in software {' '.join(software)}")
        if not device.chosen:
            lines.append(f"{'':10}not chosen: {device.reason}")
    if asked is not None:
        if not is_here(asked, devices):
            lines.append(f"{asked.words} will fail: there is no such device here.")
    elif runs_on_cpu(devices):
        lines.append("No GPU was found: programs run on the CPU with NumPy.")
        if any(device.name and device.backend == "webgpu" for device in devices):
            lines.append("--backend webgpu runs the demonstration on a software adapter.")
    return "\n".join(lines)


def device_line(runtime: tw.EagerRuntime) -> str:
    """The device of a runtime in a few words."""
    return f"{runtime.device.name} ({runtime.device.backend})"


@contextmanager
def progress_bar(steps: int, *, shown: bool) -> Iterator[Callable[[int, float | None], None]]:
    """A progress bar on stderr; yields what `restore` calls after each step."""
    from tqdm import tqdm

    with tqdm(total=steps, unit="step", disable=not shown, dynamic_ncols=True) as bar:

        def advance(done: int, loss: float | None) -> None:
            if loss is not None:
                bar.set_postfix(loss=f"{loss:.4g}", refresh=False)
            bar.update(done - bar.n)

        yield advance


def outcome(
    device: str,
    restored: Restoration,
    reference: Restoration | None,
    *,
    psnr_blurred: float,
    psnr_restored: float,
    file_size: tuple[int, int],
    output: Path,
) -> dict[str, Any]:
    """The numbers of a run; `reference` is the run on NumPy, or None if NumPy was the device.

    `file_size` is the picture's width and height before it was scaled.
    """
    channels, height, width = restored.picture.shape
    # The same program ran on both: what one backend does not count, the other did.
    operations = restored.operations or (reference.operations if reference else 0)
    return {
        "device": device,
        "picture": {"height": height, "width": width, "channels": channels},
        "file": {"height": file_size[1], "width": file_size[0]},
        "steps": restored.steps,
        "loss": restored.loss,
        "psnr_blurred": psnr_blurred,
        "psnr_restored": psnr_restored,
        "first_step_seconds": restored.first_step_seconds,
        "seconds_per_step": restored.seconds_per_step,
        "operations_per_second": _rate(operations, restored.seconds),
        "kernels_per_second": _rate(restored.kernels, restored.seconds),
        "numpy_seconds_per_step": reference.seconds_per_step if reference else None,
        "max_difference_from_numpy": (
            float(np.abs(restored.picture - reference.picture).max()) if reference else None
        ),
        "output": str(output),
    }


def _rate(count: int, seconds: float) -> float | None:
    return count / seconds if count and seconds > 0 else None


def outcome_as_text(result: dict[str, Any]) -> str:
    """The outcome as a few aligned lines."""
    picture = result["picture"]
    colour = "grey" if picture["channels"] == 1 else "colour"
    compiling = "" if result["numpy_seconds_per_step"] is None else ", kernels compiled"
    size, full = (f"{area['width']} x {area['height']}" for area in (picture, result["file"]))
    scaled = "" if size == full else f", scaled down from {full} (--size sets the longest side)"
    lines = [
        ("picture", f"{size} pixels, {colour}{scaled}"),
        ("PSNR", f"{result['psnr_blurred']:.2f} dB blurred, "
                 f"{result['psnr_restored']:.2f} dB restored"),
        ("first step", f"{result['first_step_seconds'] * 1e3:.0f} ms{compiling}"),
        ("each step", f"{result['seconds_per_step'] * 1e3:.2f} ms"),
    ]  # fmt: skip
    if result["operations_per_second"] is not None:
        lines.append(
            ("rate", f"{result['operations_per_second']:,.0f} operations and "
                     f"{result['kernels_per_second'] or 0:,.0f} kernels per second")
        )  # fmt: skip
    if result["numpy_seconds_per_step"] is not None:
        lines.append(
            ("NumPy", f"{result['numpy_seconds_per_step'] * 1e3:.2f} ms each step; values differ "
                      f"by {result['max_difference_from_numpy']:.1e} at most")
        )  # fmt: skip
    lines.append(("saved", result["output"]))
    return "\n".join(f"  {name:<11}{value}" for name, value in lines)
