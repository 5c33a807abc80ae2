"""The tables of the README and of the documentation, made from a run's data."""

from __future__ import annotations

from pathlib import Path

from .candidates import OURS, UNFUSED
from .report import (
    Report,
    busy_note,
    cells_of,
    milliseconds,
    names_in,
    places,
    workloads_of,
)

__all__ = ["BEGIN", "END", "full_table", "rewrite_block", "short_table"]

BEGIN = "<!-- benchmarks: made by `make bench-table` -->"
END = "<!-- end of benchmarks -->"
#: Many small rows of one kind: the documentation has them, the README does not.
DETAIL = "grad_sum_"


def short_table(report: Report) -> str:
    """The README's: the first adapter, and the larger workloads."""
    chosen = [name for name in workloads_of(report) if not name.startswith(DETAIL)]
    return _tables(report, list(places(report))[:1], chosen)


def full_table(report: Report) -> str:
    """Every adapter and every workload."""
    return _tables(report, list(places(report)), workloads_of(report))


def _tables(report: Report, shown: list[str], workloads: list[str]) -> str:
    """One table per adapter: median milliseconds, the adapter's best in bold."""
    about, cells = report["machine"], cells_of(report)
    beside = names_in(report, "cpu")
    parts = [
        f"Measured on {report['date']}: {about['processor']}, {about['processors']} processors, "
        f"Python {about['python']}; float32, milliseconds, medians of interleaved rounds in one "
        "run. Bold: the fastest on the adapter. A dash: the library cannot say it, or its result "
        "was wrong.",
        *busy_note(about),
    ]
    for place in shown:
        names = [name for name in names_in(report, place) if name != UNFUSED]
        columns = [(name, place) for name in names] + [(name, "cpu") for name in beside]
        labels = [*names, *(f"{name} on NumPy" if name == OURS else name for name in beside)]
        parts.append(
            f"\nOn the adapter {places(report)[place]}; the last {len(beside)} columns use the "
            "processor directly:\n"
        )
        parts.append("| " + " | ".join(["workload", *labels]) + " |")
        parts.append("|---" + "|---:" * len(labels) + "|")
        for workload in workloads:
            medians = [cells.get((workload, *column), {}).get("median_ms") for column in columns]
            on_adapter = [median for median in medians[: len(names)] if median is not None]
            if not on_adapter:
                continue
            row = [workload]
            for index, median in enumerate(medians):
                text = "-" if median is None else milliseconds(median)
                best = index < len(names) and median == min(on_adapter)
                row.append(f"**{text}**" if best else text)
            parts.append("| " + " | ".join(row) + " |")
    versions = {each["name"]: each["version"] for each in report["candidates"]}
    peers = [f"{name} {version}" for name, version in versions.items() if OURS not in name]
    parts.append(f"\nVersions: {', '.join(peers)}.")
    return "\n".join(parts)


def rewrite_block(document: Path, text: str) -> None:
    """Put a text between the two markers of a document; raises ValueError where they are not."""
    before, begin, rest = document.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{document} has no block between {BEGIN!r} and {END!r}")
    document.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
