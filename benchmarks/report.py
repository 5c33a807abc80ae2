"""A run as data and as text; what is shown is made from the same data that is written."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .candidates import OURS
from .measure import Cell, Measurement
from .table import aligned

__all__ = [
    "as_json", "as_text", "busy_note", "cells_of", "machine", "milliseconds", "names_in", "places",
    "workloads_of",
]  # fmt: skip

Report = dict[str, Any]


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "processor": _processor(),
        "processors": os.cpu_count(),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line[:10] == "model name")
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def as_json(measurement: Measurement, cells: Iterable[Cell]) -> Report:
    """The run as plain data: date, machine, who took part, and every cell."""
    return {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "candidates": [
            {
                "name": worker.candidate.name,
                "place": worker.candidate.place,
                "version": worker.version,
                "device": worker.device,
                "driver": worker.details.get("driver", ""),
            }
            for worker in measurement.workers
        ],
        "left_out": [
            {"name": name, "place": place, "reason": reason}
            for (name, place), reason in measurement.left_out.items()
        ],
        "cells": [cell.as_json() for cell in cells],
    }


def places(report: Report) -> dict[str, str]:
    """The adapters of a run and the device and driver that ours says each one is."""
    return {
        each["place"]: ", ".join(text for text in (each["device"], each["driver"]) if text)
        for each in report["candidates"]
        if each["place"] != "cpu" and each["name"] == OURS
    }


def names_in(report: Report, place: str) -> list[str]:
    """Who was measured in a place."""
    return [each["name"] for each in report["candidates"] if each["place"] == place]


def cells_of(report: Report) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The cells by workload, candidate and place."""
    return {(each["workload"], each["candidate"], each["place"]): each for each in report["cells"]}


def workloads_of(report: Report) -> list[str]:
    """The workloads' names in their order."""
    return list(dict.fromkeys(each["workload"] for each in report["cells"]))


def milliseconds(value: float) -> str:
    """Three digits that count."""
    return f"{value:.{max(0, 2 - int(np.floor(np.log10(max(value, 1e-4)))))}f}"


def _cell_text(cell: dict[str, Any] | None) -> str:
    """The median and by how much of it the quartiles are apart, halved."""
    if cell is None or "median_ms" not in cell:
        return "-"
    low, high = cell["quartiles_ms"]
    spread = (high - low) / 2 / cell["median_ms"]
    return f"{milliseconds(cell['median_ms'])} ±{spread:.0%}"


def as_text(report: Report) -> str:
    """Tables of medians: one of what works on the processor, one for each adapter."""
    cells = cells_of(report)
    parts = []
    tables = {"cpu": "the processor, by libraries that use it directly", **places(report)}
    for place, device in tables.items():
        names = names_in(report, place)
        if not names:
            continue
        lines = [["workload", *names]]
        for workload in workloads_of(report):
            found = [cells.get((workload, name, place)) for name in names]
            if any(found):
                lines.append([workload, *(_cell_text(cell) for cell in found)])
        title = f"On {device}" if place == "cpu" else f"On the adapter {device} ({place})"
        parts.append(f"{title}: milliseconds, median and half the distance of the quartiles")
        parts.append(aligned(lines, 1) + "\n")
    parts += reasons(report)
    parts += busy_note(report["machine"])
    return "\n".join(parts)


def reasons(report: Report) -> list[str]:
    """Who was left out, and where results are missing, with why."""
    lines = [
        f"left out: {each['name']} ({each['place']}): {each['reason']}"
        for each in report["left_out"]
    ]
    grouped: dict[str, list[str]] = {}
    for cell in report["cells"]:
        if cell["reason"]:
            key = f"{cell['candidate']} ({cell['place']}): {cell['reason']}"
            grouped.setdefault(key, []).append(cell["workload"])
    lines += [f"no result: {key}: {'; '.join(names)}" for key, names in grouped.items()]
    return lines


def busy_note(about: dict[str, Any]) -> list[str]:
    """A warning where other programs kept the processors busy."""
    load, processors = about["load"], about["processors"] or 1
    # This program itself counts for about one.
    if load is None or load < processors + 0.5:
        return []
    return [
        f"This machine is busy (load {load:.1f} on {processors} processors): threads then wait "
        "for one another, those of matrix products most."
    ]
