"""A worker from the outside: a process that prepares a program and repeats it on request.

The protocol is in `peers/protocol.py`.  Every library, ours too, is measured through it, so that
all of them are alone in their process, stay warm between rounds, and take turns.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
from typing import IO, Any

from .candidates import Candidate

__all__ = ["UnsupportedProgram", "Worker", "WorkerFailed"]

#: Starting an interpreter, a library and a driver.
START_SECONDS = 60.0


#: Threads of matrix libraries wait for more work by spinning, tens of milliseconds long: they
#: would take a processor from whoever is measured next.
NO_SPINNING = {
    "OPENBLAS_THREAD_TIMEOUT": "4",
    "OMP_WAIT_POLICY": "passive",
    "KMP_BLOCKTIME": "0",
}


class WorkerFailed(Exception):
    """The worker cannot go on, or its answer is an error; the text says why."""


class UnsupportedProgram(WorkerFailed):
    """The library has no way to say this program."""


class Worker:
    """One candidate's process; `version`, `device` and `details` are what it says of itself."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.version = ""
        self.device = ""
        self.details: dict[str, str] = {}
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process: subprocess.Popen[str] | None = None
        # Open as long as the worker lives, which is longer than this function.
        self._errors: IO[str] = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115

    @property
    def alive(self) -> bool:
        """Whether the process is there and runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process and wait until it is ready; raises WorkerFailed."""
        candidate = self.candidate
        if candidate.missing:
            raise WorkerFailed(candidate.missing)
        # Lines of an earlier process end with it.
        self._lines = queue.SimpleQueue()
        try:
            self._process = subprocess.Popen(
                candidate.command,
                env={**os.environ, **NO_SPINNING, **candidate.environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                bufsize=1,
            )
        except OSError as error:
            raise WorkerFailed(str(error)) from error
        threading.Thread(
            target=_forward, args=(self._process.stdout, self._lines), daemon=True
        ).start()
        ready = self._reply(START_SECONDS)
        self.version, self.device = ready.get("version", ""), ready.get("device", "")
        self.details = ready.get("details", {})

    def ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        """Send one request and return its reply.

        Raises:
            UnsupportedProgram: the library cannot say the program.
            WorkerFailed: it failed, died or took longer than `seconds`; dead processes are gone.
        """
        if not self.alive:
            raise WorkerFailed("the process is gone")
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise WorkerFailed(self._last_words()) from error
        reply = self._reply(seconds)
        if reply["reply"] == "unsupported":
            raise UnsupportedProgram(reply["reason"])
        if reply["reply"] == "failed":
            raise WorkerFailed(reply["reason"])
        return reply

    def close(self) -> None:
        """End the process."""
        process = self._process
        if process is None:
            return
        if self.alive:
            with contextlib.suppress(WorkerFailed):
                self.ask(5.0, do="quit")
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process = None
        self._errors.truncate(0)

    def _reply(self, seconds: float) -> dict[str, Any]:
        while True:
            try:
                line = self._lines.get(timeout=seconds)
            except queue.Empty:
                assert self._process is not None
                self._process.kill()
                raise WorkerFailed(f"no answer within {seconds:.0f} s") from None
            if line is None:
                raise WorkerFailed(self._last_words())
            found = parse_reply(line)
            if found is not None:
                return found

    def _last_words(self) -> str:
        """Why the process ended: its exit status and the last line it wrote."""
        assert self._process is not None
        try:
            status = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            status = None
        self._errors.seek(0)
        lines = [line.strip() for line in self._errors.read().splitlines() if line.strip()]
        # The line that names the error need not be the last.
        lines = [line for line in lines if "Error" in line] or lines
        how = f"ended by signal {-status}" if status and status < 0 else f"exit status {status}"
        return f"{how}: {lines[-1][:200]}" if lines else how


def parse_reply(line: str) -> dict[str, Any] | None:
    """A reply, or None for whatever else a library printed to the same stream."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "reply" in found else None


def _forward(stream: Any, lines: queue.SimpleQueue[str | None]) -> None:
    """Pass on a process's lines, then None: reads with a timeout need a thread."""
    try:
        for line in stream:
            lines.put(line)
    except ValueError:
        pass
    lines.put(None)
