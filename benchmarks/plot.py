"""Plots of a run and of the scaling; matplotlib is needed here alone (the extra "bench")."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from .candidates import OURS
from .report import places

__all__ = ["plot_run", "plot_scaling"]

MARKERS = "osD^vP*Xh<>"


def _pyplot() -> Any:
    """Matplotlib without a screen; raises ImportError where it is not installed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def plot_run(report: dict[str, Any], file: Path) -> None:
    """One row per workload, one marker per library, bars from quartile to quartile, log axis."""
    pyplot = _pyplot()
    shown = list(places(report)) or ["cpu"]
    workloads = list(dict.fromkeys(each["workload"] for each in report["cells"]))[::-1]
    figure, axes = pyplot.subplots(
        1, len(shown), figsize=(8 * len(shown), 2 + 0.34 * len(workloads)), sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for axis, place in zip(axes[0], shown, strict=True):
        names = list(
            dict.fromkeys(
                each["name"]
                for each in report["candidates"]
                if each["place"] in (place, "cpu")
            )
        )  # fmt: skip
        for index, name in enumerate(names):
            where = place if any(_matches(each, name, place) for each in report["cells"]) else "cpu"
            points = [
                (workloads.index(each["workload"]), each["median_ms"], *each["quartiles_ms"])
                for each in report["cells"]
                if _matches(each, name, where) and "median_ms" in each
            ]
            if not points:
                continue
            heights, medians, lows, highs = zip(*points, strict=True)
            ours = name == OURS
            axis.errorbar(
                medians,
                heights,
                xerr=[
                    [median - low for median, low in zip(medians, lows, strict=True)],
                    [high - median for median, high in zip(medians, highs, strict=True)],
                ],
                fmt=MARKERS[index % len(MARKERS)],
                color="black" if ours else f"C{index % 10}",
                markersize=8 if ours else 6,
                alpha=1.0 if ours else 0.75,
                label=name if where == place else f"{name} (processor)",
            )
        axis.set_xscale("log")
        axis.set_xlabel("milliseconds")
        title = textwrap.fill(places(report).get(place, place), 60)
        axis.set_title(title, fontsize=10, loc="left")
        axis.grid(True, axis="both", alpha=0.3)
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=3, fontsize=8)
    axes[0][0].set_yticks(range(len(workloads)), workloads)
    axes[0][0].set_ylim(-0.6, len(workloads) - 0.4)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def _matches(cell: dict[str, Any], name: str, place: str) -> bool:
    return bool(cell["candidate"] == name and cell["place"] == place)


def plot_scaling(report: dict[str, Any], file: Path) -> None:
    """One panel per series on log axes: the times, and the line that was fitted."""
    pyplot = _pyplot()
    titles = list(dict.fromkeys(each["name"] for each in report["series"]))
    columns = 3
    rows = -(-len(titles) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(4.6 * columns, 3.6 * rows), squeeze=False, layout="constrained"
    )
    for axis, title in zip(axes.flat, titles, strict=False):
        for index, series in enumerate(each for each in report["series"] if each["name"] == title):
            label = f"{series['device']}: slope {series['slope']:.2f}"
            axis.plot(series["sizes"], series["ms"], "o", color=f"C{index}", label=label)
            least = min(series["ms"])
            fitted = [
                least + series["factor"] * size ** series["slope"]
                for size in series["fitted_sizes"]
            ]
            axis.plot(series["fitted_sizes"], fitted, "-", color=f"C{index}", alpha=0.6)
        axis.set(xscale="log", yscale="log", title=title, ylabel="milliseconds")
        axis.set_xlabel(next(e["unit"] for e in report["series"] if e["name"] == title))
        axis.grid(True, alpha=0.3)
        axis.legend(fontsize=7)
    for axis in axes.flat[len(titles) :]:
        axis.axis("off")
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
