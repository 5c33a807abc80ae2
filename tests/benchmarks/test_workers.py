"""What the driver makes of workers that answer, print, fail, hang, die or lie."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.candidates import Adapter, Candidate, adapters, peers, references
from benchmarks.measure import Cell, Measurement, Pace
from benchmarks.worker import Worker, WorkerFailed, parse_reply
from benchmarks.workloads import Workload

DOUBLED = Workload("x*x+x", "multiply_add", lambda: [np.arange(4, dtype=np.float32)])
PROTOCOL = Path(__file__).parents[2] / "benchmarks" / "peers"

#: A worker of one program, in which a test replaces a line.
SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
from protocol import serve, Unsupported
def multiply_add(x):
    {line}
    return lambda: x * x + x
serve({{"multiply_add": multiply_add}}, version="1", device="none", read=lambda result: result)
"""


def measured(tmp_path: Path, line: str) -> Cell:
    """The cell of a worker whose program begins with this line."""
    script = tmp_path / "worker.py"
    script.write_text(SCRIPT.format(folder=str(PROTOCOL), line=line), encoding="utf-8")
    candidate = Candidate("peer", "cpu", (sys.executable, str(script)))
    with Measurement([*references(), candidate], Pace(2, 0.0)) as measurement:
        assert not measurement.left_out
        assert [worker.version for worker in measurement.workers][1] == "1"
        return measurement.measure(DOUBLED)[1]


def test_a_peer_is_timed_whatever_it_prints(tmp_path: Path) -> None:
    cell = measured(tmp_path, "print('hello'); print('Warning: 3')")
    assert cell.reason == ""
    assert len(cell.times_ms) == 2
    assert cell.quartiles_ms[0] <= cell.median_ms <= cell.quartiles_ms[1]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("raise Unsupported('no such thing')", "no such thing"),
        ("raise ValueError('bad\\nnews')", "failed: ValueError: bad"),
        ("return lambda: x", "failed: wrong result: it differs by 0.75 of the largest number"),
        ("return lambda: x[:2]", "failed: wrong result: 2 numbers for 4"),
        (
            "return lambda: x * float('nan')",
            "failed: wrong result: it differs by nan of the largest number",
        ),
        ("import os; os._exit(3)", "failed: exit status 3"),
        ("import os; os.kill(os.getpid(), 9)", "failed: ended by signal 9"),
    ],
)
def test_a_peer_without_a_result_has_a_reason(tmp_path: Path, line: str, reason: str) -> None:
    cell = measured(tmp_path, line)
    assert cell.times_ms == []
    assert cell.reason == reason


def test_a_peer_that_died_is_back_for_the_next_workload(tmp_path: Path) -> None:
    marker = tmp_path / "died"
    line = f"import os, pathlib; m = pathlib.Path({str(marker)!r})\n"
    line += "    if not m.exists(): m.touch(); os._exit(1)"
    script = tmp_path / "worker.py"
    script.write_text(SCRIPT.format(folder=str(PROTOCOL), line=line), encoding="utf-8")
    candidate = Candidate("peer", "cpu", (sys.executable, str(script)))
    with Measurement([*references(), candidate], Pace(1, 0.0)) as measurement:
        first, second = measurement.measure(DOUBLED)[1], measurement.measure(DOUBLED)[1]
    assert first.reason == "failed: exit status 1"
    assert second.reason == ""


def test_a_worker_that_does_not_start_says_why() -> None:
    for command, expected in (
        (("no-such-program",), "no-such-program"),
        ((sys.executable, "-c", "raise RuntimeError('no device')"), "RuntimeError: no device"),
    ):
        worker = Worker(Candidate("peer", "cpu", command))
        with pytest.raises(WorkerFailed, match=expected):
            worker.start()
        worker.close()


def test_a_worker_that_hangs_is_ended() -> None:
    script = 'import time; print(\'{"reply": "ready"}\', flush=True); time.sleep(60)'
    worker = Worker(Candidate("peer", "cpu", (sys.executable, "-c", script)))
    worker.start()
    with pytest.raises(WorkerFailed, match="no answer within 0 s"):
        worker.ask(0.1, do="run", repeats=1)
    worker.close()
    assert not worker.alive


@pytest.mark.parametrize("line", ["", "Warning: 3", "[1]", "{}", '{"answer": 1}', "{"])
def test_what_is_no_reply_is_passed_over(line: str) -> None:
    assert parse_reply(line) is None


def test_peers_that_are_not_installed_are_left_out(tmp_path: Path) -> None:
    found = peers(tmp_path, [Adapter("somewhere")])
    assert {each.missing for each in found} == {"not installed"}
    with Measurement([*references(), *found], Pace(1)) as measurement:
        assert len(measurement.left_out) == len(found)
        assert measurement.left_out["torchvulkan", "somewhere"] == "not installed"


def test_each_driver_file_is_an_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VK_DRIVER_FILES", raising=False)
    assert adapters() == [Adapter("default")]
    monkeypatch.setattr("os.pathsep", ":")
    found = adapters("/a/lvp_icd.x86_64.json:/b/vk_swiftshader_icd.json")
    assert [each.name for each in found] == ["lvp", "vk_swiftshader"]
    assert found[1].environment["VK_DRIVER_FILES"] == "/b/vk_swiftshader_icd.json"
