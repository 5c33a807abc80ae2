"""`python -m benchmarks`: every benchmark there is, as tables and, where asked, as JSON.

Options and output alone; what is measured, and how, is in the modules beside it.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tenferro_wgpu as tw

from . import host_cost, workloads


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; write them as JSON where asked.  Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures what a queued operation costs the host, and whole workloads "
        "against NumPy.",
    )
    parser.add_argument(
        "--backends", default="webgpu,cuda,cpu", help="comma-separated (default: webgpu,cuda,cpu)"
    )
    parser.add_argument("--only", choices=("host-cost", "workloads"), help="one of the two tables")
    parser.add_argument(
        "--operations", type=int, default=512, help="operations per round of the host cost"
    )
    parser.add_argument("--rounds", type=int, default=15, help="rounds that count (default: 15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers there")
    options = parser.parse_args(arguments)
    names = options.backends.split(",")
    report: dict[str, Any] = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "operations": options.operations,
        "rounds": options.rounds,
    }
    try:
        if options.only != "workloads":
            rows = host_cost.run(names, options.operations, options.rounds)
            print(host_cost.as_text(rows), flush=True)
            report["rows"] = [asdict(row) for row in rows]
        if options.only != "host-cost":
            timings = workloads.run(names, options.rounds)
            print(("" if options.only else "\n") + workloads.as_text(timings))
            report["workloads"] = [asdict(timing) for timing in timings]
    except tw.TenferroError as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
