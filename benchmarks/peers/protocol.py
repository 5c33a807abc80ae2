"""What every Python worker shares: one request per line in, one reply per line out, in JSON.

A worker is a program of its own, run by the interpreter that has the library it measures, so it
imports nothing of this project; `benchmarks.worker` is its other end.  Requests:

    {"do": "prepare", "kind", "parameters", "inputs": [{"file", "shape", "dtype"}], "output"}
        builds the program, runs it `CHECKED` times and writes its result to the file "output"
    {"do": "run", "repeats"}   times that many steps, each until the device is done with it
    {"do": "release"}          forgets the program
    {"do": "quit"}
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["CHECKED", "Unsupported", "serve"]

#: Steps before the result is compared: training steps go on from one another.
CHECKED = 2

Program = Callable[[], Any]
Builder = Callable[..., Program]


class Unsupported(Exception):
    """The library has no way to say this program."""


def _arrays(inputs: list[dict[str, Any]]) -> list[np.ndarray[Any, Any]]:
    return [
        np.fromfile(each["file"], dtype=each["dtype"]).reshape(each["shape"]) for each in inputs
    ]


def _flat(values: Any) -> np.ndarray[Any, Any]:
    """The numbers of a result, one after the other."""
    parts = values if isinstance(values, (list, tuple)) else [values]
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])


class _Session:
    def __init__(
        self,
        programs: Mapping[str, Builder],
        wait: Callable[[Any], None],
        read: Callable[[Any], Any],
        counters: Callable[[], dict[str, float]],
    ) -> None:
        self._programs = programs
        self._wait = wait
        self._read = read
        self._counters = counters
        self._step: Program | None = None

    def prepare(self, request: dict[str, Any]) -> dict[str, Any]:
        builder = self._programs.get(request["kind"])
        if builder is None:
            return {"reply": "unsupported", "reason": f"no program {request['kind']!r}"}
        try:
            step = builder(*_arrays(request["inputs"]), **request["parameters"])
            result = None
            for _ in range(CHECKED):
                result = step()
                self._wait(result)
        except Unsupported as error:
            return {"reply": "unsupported", "reason": str(error)}
        _flat(self._read(result)).tofile(request["output"])
        self._step = step
        return {"reply": "prepared"}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        step, wait, repeats = self._step, self._wait, request["repeats"]
        if step is None:
            raise RuntimeError("run before prepare")
        gc.collect()
        before = self._counters()
        begun = time.perf_counter()
        for _ in range(repeats):
            wait(step())
        seconds = time.perf_counter() - begun
        after = self._counters()
        return {
            "reply": "ran",
            "seconds": seconds,
            "counters": {name: (after[name] - before[name]) / repeats for name in after},
        }

    def release(self, request: dict[str, Any]) -> dict[str, Any]:
        self._step = None
        gc.collect()
        return {"reply": "released"}


def serve(
    programs: Mapping[str, Builder],
    *,
    version: str,
    device: str,
    read: Callable[[Any], Any],
    wait: Callable[[Any], None] = lambda result: None,
    counters: Callable[[], dict[str, float]] = dict,
    details: Mapping[str, str] | None = None,
) -> None:
    """Answer requests on stdin until "quit" or its end.

    Args:
        programs: by kind, a function of the input arrays and parameters that returns one step.
        version, device: what the report says of the library.
        read: a step's result as numbers or arrays, for the comparison.
        wait: returns when the device has finished a step's result.
        counters: what the library counts, for the differences over a round.
        details: whatever else the driver may want to know.
    """
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    # Whatever a library prints must not mix with the replies.
    os.dup2(2, 1)

    def answer(reply: dict[str, Any]) -> None:
        replies.write(json.dumps(reply) + "\n")

    session = _Session(programs, wait, read, counters)
    answer({"reply": "ready", "version": version, "device": device, "details": details or {}})
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "quit":
            return
        try:
            answer(getattr(session, request["do"])(request))
        except Exception as error:
            text = str(error).strip().splitlines()
            reason = f"{type(error).__name__}: {text[0] if text else ''}"
            answer({"reply": "failed", "reason": reason[:300]})
