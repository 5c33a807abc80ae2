"""`python -m benchmarks`: what an operation and a transfer cost, and workloads against others.

Options and output alone; what is measured, and how, is in the modules beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tenferro_wgpu as tw

from . import candidates, host_cost, page, report, transfers
from .measure import Measurement, Pace
from .workloads import SCALES, catalogue

ROOT = Path(__file__).resolve().parents[1]
JSON = ROOT / "docs" / "benchmarks.json"
PLOT = ROOT / "docs" / "images" / "benchmarks.png"


def main(arguments: list[str] | None = None) -> int:
    """Run the command that the arguments name; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    if not given or given[0] not in (*COMMANDS, "-h", "--help"):
        given = ["run", *given]
    options = parser.parse_args(given)
    try:
        return COMMANDS[options.command](options)
    except (tw.TenferroError, ValueError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures what a queued operation costs the host, transfers, and whole "
        "workloads against NumPy and other libraries.",
    )
    commands = parser.add_subparsers(dest="command", metavar="command")
    run = commands.add_parser("run", help="the tables (the default)")
    run.add_argument(
        "--backends", default="webgpu,cuda,cpu", help="of the host cost (default: %(default)s)"
    )
    run.add_argument(
        "--only", choices=("host-cost", "transfers", "workloads"), help="one of the parts"
    )
    run.add_argument(
        "--operations", type=int, default=512, help="operations per round of the host cost"
    )
    run.add_argument("--scale", choices=SCALES, default="full", help="sizes of the workloads")
    run.add_argument("--plot", type=Path, metavar="FILE", help="also plot the workloads there")
    targets = commands.add_parser("targets", help="every target: ours, the reference, met or not")
    scaling = commands.add_parser("scaling", help="time against size and against op count")
    scaling.add_argument("--plot", type=Path, metavar="FILE", help="also plot it there")
    scaling.add_argument("--page", action="store_true", help="write docs/scaling.md and its plot")
    setup = commands.add_parser("setup-peers", help="install the peers in the folder of --peers")
    table = commands.add_parser(
        "table", help="run with the peers; write the tables of README and docs, the JSON, the plot"
    )
    table.add_argument(
        "--from-json", action="store_true", help="do not run: write what docs/benchmarks.json says"
    )
    for command in (run, targets, scaling, table):
        command.add_argument(
            "--drivers",
            metavar="FILES",
            help=f"Vulkan driver files joined by {os.pathsep!r}: each is an adapter to measure on "
            "(default: VK_DRIVER_FILES, else what each library takes)",
        )
        command.add_argument("--rounds", type=int, default=11, help="rounds (default: 11)")
    for command in (run, targets, scaling):
        command.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers")
    folder = candidates.default_folder()
    run.add_argument(
        "--peers", type=Path, nargs="?", const=folder, metavar="FOLDER",
        help="measure other libraries too, from this folder (default: %(const)s)",
    )  # fmt: skip
    for command in (targets, setup, table):
        command.add_argument(
            "--peers", type=Path, default=folder, metavar="FOLDER",
            help="where the other libraries are (default: %(default)s)",
        )  # fmt: skip
    return parser


def _run(options: argparse.Namespace) -> int:
    found: dict[str, Any] = {}
    if options.only in (None, "host-cost"):
        names = options.backends.split(",")
        rows = host_cost.run(names, options.operations, options.rounds)
        print(host_cost.as_text(rows) + "\n", flush=True)
        found["rows"] = [asdict(row) for row in rows]
    if options.only in (None, "transfers"):
        moved = transfers.run(options.rounds)
        print(transfers.as_text(moved) + "\n", flush=True)
        found["transfers"] = [asdict(row) for row in moved]
    if options.only in (None, "workloads"):
        measured = measure(options, options.peers)
        print(report.as_text(measured))
        found |= measured
        if options.plot is not None:
            _plot(measured, options.plot)
    if options.json is not None:
        _write(options.json, found)
    return 0


def measure(options: argparse.Namespace, peers: Path | None) -> dict[str, Any]:
    """The workloads on this library, NumPy and the peers of a folder, if one is given."""
    places = candidates.adapters(options.drivers)
    chosen = [*candidates.references(), *candidates.ours(places)]
    if peers is not None:
        chosen += candidates.peers(peers, places)
    pace = Pace(options.rounds)
    with Measurement(chosen, pace) as measurement:
        cells = []
        for workload in catalogue(getattr(options, "scale", "full")):
            cells += measurement.measure(workload)
            if sys.stderr.isatty():
                print(f"\r{workload.name:60}", end="\r", file=sys.stderr, flush=True)
        return report.as_json(measurement, cells)


def _table(options: argparse.Namespace) -> int:
    if options.from_json:
        measured = json.loads(JSON.read_text(encoding="utf-8"))
    else:
        measured = measure(options, options.peers)
        for cell in measured["cells"]:
            # The file is kept in the repository: medians and quartiles are enough there.
            del cell["times_ms"]
        print(report.as_text(measured))
        _write(JSON, measured)
    page.rewrite_block(ROOT / "README.md", page.short_table(measured))
    page.rewrite_block(ROOT / "docs" / "benchmarks.md", page.full_table(measured))
    _plot(measured, PLOT)
    return 0


def _targets(options: argparse.Namespace) -> int:
    from . import targets

    rows = targets.run(options)
    print(targets.as_text(rows))
    if options.json is not None:
        found = {"machine": report.machine(), "targets": [asdict(row) for row in rows]}
        _write(options.json, found)
    return 0


def _scaling(options: argparse.Namespace) -> int:
    from . import scaling

    found = scaling.run(options)
    print(scaling.as_text(found))
    if options.json is not None:
        _write(options.json, found)
    if options.page:
        (ROOT / "docs" / "scaling.md").write_text(scaling.as_page(found), encoding="utf-8")
    if options.plot is not None or options.page:
        from .plot import plot_scaling

        plot_scaling(found, options.plot or ROOT / "docs" / "images" / "scaling.png")
    return 0


def _setup_peers(options: argparse.Namespace) -> int:
    from . import peer_setup

    return peer_setup.run(options.peers)


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "targets": _targets,
    "scaling": _scaling,
    "setup-peers": _setup_peers,
    "table": _table,
}


def _write(file: Path, found: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _plot(measured: dict[str, Any], file: Path) -> None:
    try:
        from .plot import plot_run

        plot_run(measured, file)
    except ImportError:
        print("no plot: matplotlib is not installed", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
