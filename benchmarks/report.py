"""A run as data, as text and as the README's table; every form is made from the same JSON."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .candidates import OURS, UNFUSED
from .measure import Cell, Measurement
from .table import aligned

__all__ = ["as_json", "as_text", "busy_note", "machine", "markdown", "rewrite_block"]

Report = dict[str, Any]

BEGIN = "<!-- benchmarks: made by `make bench-table` -->"
END = "<!-- end of benchmarks -->"


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
    """The adapters of a run and the device that ours says each one is."""
    return {
        each["place"]: each["device"]
        for each in report["candidates"]
        if each["place"] != "cpu" and each["name"] == OURS
    }


def _names(report: Report, place: str) -> list[str]:
    return [each["name"] for each in report["candidates"] if each["place"] == place]


def _cells(report: Report) -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(each["workload"], each["candidate"], each["place"]): each for each in report["cells"]}


def _workloads(report: Report) -> list[str]:
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
    cells = _cells(report)
    parts = []
    tables = {"cpu": "the processor, by libraries that use it directly", **places(report)}
    for place, device in tables.items():
        names = _names(report, place)
        if not names:
            continue
        lines = [["workload", *names]]
        for workload in _workloads(report):
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


def markdown(report: Report) -> str:
    """The table of the README, one per adapter: median milliseconds, the adapter's best bold."""
    about, cells = report["machine"], _cells(report)
    versions = {each["name"]: each["version"] for each in report["candidates"]}
    # Only one table can have what is not on an adapter: the first.
    beside = [name for name in _names(report, "cpu") if name != OURS]
    parts = [
        f"Measured on {report['date']}: {about['processor']}, {about['processors']} processors, "
        f"Python {about['python']}. Medians of interleaved rounds in one run, in milliseconds; "
        "float32."
    ]
    for place, device in places(report).items():
        names = [name for name in _names(report, place) if name != UNFUSED]
        header = ["workload", *names, *beside]
        parts.append(f"\nOn the adapter {device}; the last columns are on the processor:\n")
        parts.append("| " + " | ".join(header) + " |")
        parts.append("|---" + "|---:" * (len(header) - 1) + "|")
        for workload in _workloads(report):
            medians = {
                name: cells.get((workload, name, "cpu" if name in beside else place), {}).get(
                    "median_ms"
                )
                for name in header[1:]
            }
            on_adapter = [medians[name] for name in names if medians[name] is not None]
            if not on_adapter:
                continue
            row = [workload]
            for name, median in medians.items():
                text = "-" if median is None else milliseconds(median)
                best = name in names and median is not None and median == min(on_adapter)
                row.append(f"**{text}**" if best else text)
            parts.append("| " + " | ".join(row) + " |")
    peers = [f"{name} {versions[name]}" for name in versions if not name.startswith(OURS)]
    parts.append(f"\nVersions: {', '.join(peers)}. Bold: the fastest on the adapter.")
    return "\n".join(parts)


def rewrite_block(document: Path, text: str) -> None:
    """Put a text between the two markers of a document; raises ValueError where they are not."""
    before, begin, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{document} has no block between {BEGIN!r} and {END!r}")
    document.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
