"""What a new process pays: the import, and the time to the first result with warm driver caches."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass

from .candidates import ROOT

__all__ = ["FirstResult", "first_result", "import_milliseconds"]

_IMPORT = """
import time
import numpy
begun = time.perf_counter()
import tenferro_wgpu
print(time.perf_counter() - begun)
"""
#: The first line is the first result; the second, what a second size of the operation compiled.
_FIRST = """
import json
import tenferro_wgpu as tw
rt = tw.EagerRuntime("webgpu")
x = rt.constant_from([1.0, 2.0], dtype="float32")
print((x * 2).numpy().tolist(), flush=True)
before = rt.stats()["backend"]["pipelines"]["built"]
y = rt.constant_from([1.0] * 1001, dtype="float32")
assert (y * 3).numpy().sum() == 3003
print(json.dumps(rt.stats()["backend"]["pipelines"]["built"] - before))
"""


@dataclass(frozen=True)
class FirstResult:
    """Seconds from starting the interpreter to the first result, and pipelines of a second size."""

    seconds: list[float]
    pipelines_of_a_second_size: int

    @property
    def median(self) -> float:
        """The middle of the runs."""
        return statistics.median(self.seconds)


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    return {**os.environ, **extra, "PYTHONPATH": path}


def import_milliseconds(runs: int = 7) -> float:
    """The median of importing this library after NumPy, each time in a new process."""
    times = []
    for _ in range(runs + 1):
        done = subprocess.run(
            [sys.executable, "-c", _IMPORT], env=_environment({}), capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        times.append(float(done.stdout) * 1e3)
    # The first may have written bytecode.
    return statistics.median(times[1:])


def first_result(environment: Mapping[str, str], runs: int = 5) -> FirstResult:
    """New processes on the adapter that this environment leaves; the first one warms the caches.

    Raises subprocess.CalledProcessError where there is no adapter.
    """
    seconds = []
    for _ in range(runs + 1):
        begun = time.perf_counter()
        with subprocess.Popen(
            [sys.executable, "-c", _FIRST],
            env=_environment(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            seconds.append(time.perf_counter() - begun)
            rest = process.stdout.read()
        if process.returncode or first.strip() != "[2.0, 4.0]":
            raise subprocess.CalledProcessError(process.returncode, "first use")
    return FirstResult(seconds[1:], json.loads(rest))
