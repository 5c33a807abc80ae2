"""Who holds a runtime, and until when: sessions, `with` blocks, threads and forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors


def test_backward_while_another_thread_holds_a_session(rt):
    x = rt.variable_from(1.0)
    (x * 2.0).backward()
    held = threading.Event()

    def in_session():
        with rt.session():
            held.set()
            time.sleep(0.3)
            (x * 2.0).backward()

    def outside():
        held.wait(30)
        (x * 2.0).backward()

    threads = [threading.Thread(target=f, daemon=True) for f in (in_session, outside)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert x.grad.item() == 6.0


def test_uploads_wait_for_a_session(rt):
    held, done = threading.Event(), []

    def upload():
        held.wait(30)
        rt.constant_from([1.0])
        done.append(time.perf_counter())

    thread = threading.Thread(target=upload, daemon=True)
    thread.start()
    with rt.session():
        held.set()
        time.sleep(0.2)
        end = time.perf_counter()
    thread.join(30)
    assert done and done[0] >= end


def test_nested_blocks_close_at_the_outer_exit():
    with tw.EagerRuntime("cpu") as rt:
        with rt:
            assert tw.current_runtime() is rt
        assert not rt.closed
    assert rt.closed


def test_blocks_in_two_threads():
    rt = tw.EagerRuntime("cpu")
    inside, leave, failures = threading.Event(), threading.Event(), []

    def other():
        try:
            with rt:
                inside.set()
                leave.wait(30)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(30)
    with rt:
        leave.set()
        thread.join()
        assert not rt.closed
    assert rt.closed and not failures


def test_fork_with_a_held_lock():
    program = """
import os, threading, time
import tenferro_wgpu as tw
rt = tw.EagerRuntime("cpu")
x = rt.constant_from([1.0])
held = threading.Event()
def hold():
    with rt.session():
        held.set()
        time.sleep(5)
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    os._exit(0 if (x + x).tolist() == [2.0] else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_session_on_a_closed_runtime_is_refused():
    rt = tw.EagerRuntime("cpu")
    refused, waiting = [], threading.Event()

    def enter():
        waiting.set()
        try:
            with rt.session():
                pass
        except errors.RuntimeClosedError as error:
            refused.append(error)

    thread = threading.Thread(target=enter)
    with rt.session():
        thread.start()
        waiting.wait(30)
        time.sleep(0.1)
        rt.close()
    thread.join(30)
    assert refused
