"""Fusion under interruption, failure and want: each case once broke it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from conftest import ADAPTERS

import tenferro_wgpu as tw
from tenferro_wgpu.errors import (
    DeviceOutOfMemoryError,
    IndexOutOfBoundsError,
    RuntimeClosedError,
    TensorTooLargeError,
)


def ones(runtime, *shape):
    return runtime.constant_from(np.ones(shape, np.float32))


def test_a_product_read_before_its_group_runs(fused):
    x = fused.constant_from(np.eye(3, dtype=np.float32))
    for _ in range(3):
        p = x @ x
        q = x @ (x + 1.0)
        r = p + q
        np.testing.assert_array_equal(p.numpy(), np.eye(3))
        np.testing.assert_array_equal(r.numpy(), 2 * np.eye(3) + 1)


def test_integers_that_are_reduced_as_floats(fused):
    x = fused.constant_from(np.ones((8, 4), np.int64))
    other = ones(fused, 8, 4)
    for _ in range(3):
        held = other + 1.0
        total = tw.astype(x, "float32").sum(axis=0)
        np.testing.assert_array_equal(total.numpy(), np.full(4, 8))
        np.testing.assert_array_equal(held.numpy(), np.full((8, 4), 2))


def test_a_failing_kernel_loses_no_other_result(fused, monkeypatch):
    from tenferro_wgpu.backends.webgpu.fusion import running
    from tenferro_wgpu.errors import TenferroError

    def fail(*arguments):
        raise TenferroError("a kernel that the device refuses")

    monkeypatch.setattr(running, "run_stages", fail)
    x = ones(fused, 5)
    held = [x * 2.0 + float(k) for k in range(3)]
    for k, each in enumerate(held):
        np.testing.assert_array_equal(each.numpy(), np.full(5, 2 + k))


def test_a_late_bad_index_spoils_only_what_depends_on_it(fused):
    x = fused.constant_from(np.arange(8, dtype=np.float32))
    z = ones(fused, 2)
    for attempt in range(4):
        index = fused.constant_from(np.array([0, 99 if attempt == 3 else 1], np.int32))
        dependent = tw.take(x, index, mode="raise") * 2.0 + 1.0
        innocent = z * 3.0 + 1.0
        np.testing.assert_array_equal(innocent.numpy(), [4, 4])
        if attempt < 3:
            np.testing.assert_array_equal(dependent.numpy(), [1, 3])
    with pytest.raises(IndexOutOfBoundsError):
        dependent.numpy()
    np.testing.assert_array_equal((z + 1.0).numpy(), [2, 2])


def test_a_tensor_that_another_thread_reads_first(fused, monkeypatch):
    y = ones(fused, 3) + 1.0
    fuser = fused.backend.fuser
    resolve = fuser.resolve

    def late(tensor):
        monkeypatch.undo()
        reader = threading.Thread(target=y.numpy)
        reader.start()
        reader.join()
        resolve(tensor)

    monkeypatch.setattr(fuser, "resolve", late)
    np.testing.assert_array_equal(y.numpy(), [2, 2, 2])


def test_a_handler_that_runs_the_group_being_run(fused, monkeypatch):
    from tenferro_wgpu.backends.webgpu.fusion import running

    run_stages = running.run_stages
    y = tw.exp(ones(fused, 4)) * 2.0
    z = (y + 1.0).sum()

    def nested(launcher, plan, values):
        monkeypatch.undo()
        np.testing.assert_allclose(y.numpy(), 2 * np.e, rtol=1e-6)
        run_stages(launcher, plan, values)

    monkeypatch.setattr(running, "run_stages", nested)
    assert z.item() == pytest.approx(4 * (2 * np.e + 1), rel=1e-6)
    np.testing.assert_allclose(y.numpy(), 2 * np.e, rtol=1e-6)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_handlers_that_read_in_the_middle_of_recordings(fused):
    fused.backend.fuser.patience = 1
    array = np.linspace(0, 1, 24, dtype=np.float32).reshape(4, 6)
    x = fused.constant_from(array)
    current = [None]
    busy = [False]
    failures = []

    def read(*_):
        tensor = current[0]
        if tensor is None or busy[0]:
            return
        busy[0] = True
        try:
            tensor.numpy(), (tensor + 1.0).numpy()
        except Exception as error:
            failures.append(error)
        finally:
            busy[0] = False

    before = signal.signal(signal.SIGALRM, read)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0033)
    try:
        for number in range(1, 120):
            y = current[0] = x * float(number)
            z = current[0] = tw.sin(y) + 1.0
            s = current[0] = z.sum(axis=1, keepdims=True)
            q = current[0] = z - s
            got = [each.numpy() for each in (y, z, s, q)]
            np.testing.assert_allclose(got[1], np.sin(array * np.float32(number)) + 1, atol=1e-4)
            np.testing.assert_allclose(got[3], got[1] - got[2])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not failures


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
# An interrupted constructor of wgpu leaves an object that its finalizer does not expect.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_any_time_leave_a_runtime_that_works(fused):
    x = ones(fused, 64)
    armed = [False]

    def interrupt(*_):
        if armed[0]:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for attempt in range(40):
            try:
                armed[0] = True
                # It comes again, because one that hits a finalizer is lost.
                signal.setitimer(signal.ITIMER_REAL, 0.0003 + attempt * 2e-5, 0.05)
                for _ in range(5000):
                    y = x
                    for _ in range(10):
                        y = y * 0.5 + 1.0
                    y.numpy()
            except KeyboardInterrupt:
                armed[0] = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert not armed[0], "no interrupt came"
            answers = []
            other = threading.Thread(target=lambda a=answers: a.append((x + 1.0).numpy()))
            other.start()
            other.join(20)
            assert answers and (answers[0] == 2).all()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_while_threads_record_does_not_hang(fused):
    x = ones(fused, 300)
    going = [True]

    def work():
        while going[0]:
            z = x
            for _ in range(50):
                z = z * 0.5 + 1.0
            z.numpy()

    threads = [threading.Thread(target=work) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    x + 1.0
                except RuntimeClosedError:
                    code = 0
                finally:
                    os._exit(code)
            end = time.monotonic() + 20
            done = 0, 0
            while not done[0]:
                done = os.waitpid(child, os.WNOHANG)
                if time.monotonic() > end:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    pytest.fail("the child hangs")
                time.sleep(0.005)
            assert os.waitstatus_to_exitcode(done[1]) == 0
    finally:
        going[0] = False
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)


def test_plans_of_one_program_are_bounded(fused):
    from tenferro_wgpu.backends.webgpu.fusion.running import MOST_PLANS

    x = ones(fused, 4)
    rng = np.random.default_rng(0)
    fused.backend.fuser.patience = 1
    for _ in range(200):
        held = [x]
        for _ in range(12):
            held.append(held[-1] * 0.5)
        held = [each for each in held if rng.random() < 0.5]
        fused.flush()
    root = fused.backend.fuser._roots[(4,)]
    programs = [root]
    while programs:
        program = programs.pop()
        assert len(program.plans) <= MOST_PLANS
        programs += program.children.values()


def test_structures_that_come_twice_are_not_compiled_for_ever(fused):
    fused.backend.fuser.patience = 1
    fused.backend.fuser.credit = 4.0
    x = ones(fused, 4)
    rng = np.random.default_rng(0)
    functions = [tw.sin, tw.abs, tw.negative, tw.exp, tw.sign]
    built = []
    for _ in range(60):
        chain = rng.integers(5, size=8)
        for _ in range(2):
            y = x
            for index in chain:
                y = functions[index](y * 0.5)
            y.numpy()
        built.append(fused.stats()["backend"]["pipelines"]["built"])
    assert built[-1] - built[30] <= 2
    for _ in range(40):  # what comes again and again is compiled all the same
        (tw.exp(x) * 3.0 - x).numpy()
    before = fused.stats()["backend"]["queue"]["dispatches"]
    (tw.exp(x) * 3.0 - x).numpy()
    assert fused.stats()["backend"]["queue"]["dispatches"] == before + 1


def test_one_result_can_be_read_where_all_do_not_fit():
    backend = tw.WebGpuBackend(adapter=ADAPTERS["lavapipe"], fusion=True, memory_limit=1 << 20)
    backend.fuser.patience = 0
    with tw.EagerRuntime(backend) as runtime:
        x = ones(runtime, (1 << 16) - 1)
        held = [x + float(k) for k in range(12)]
        with pytest.raises(DeviceOutOfMemoryError):
            runtime.flush()
        np.testing.assert_array_equal(held[0].numpy(), 1)
        np.testing.assert_array_equal(held[5].numpy(), 6)
        del held[1:]
        np.testing.assert_array_equal((x * 2.0).numpy(), 2)
        runtime.synchronize()


def test_views_at_ever_new_places_do_not_grow_the_tree(fused, monkeypatch):
    from tenferro_wgpu.backends.webgpu.fusion import recording

    monkeypatch.setattr(recording, "MOST_PROGRAMS", 100)
    x = fused.constant_from(np.arange(3000, dtype=np.float32))
    for start in range(1000):
        view = x[start : start + 4] + 1.0
        if start % 100 == 0:
            np.testing.assert_array_equal(view.numpy(), np.arange(start, start + 4) + 1)
    assert fused.backend.stats()["fusion"]["programs"] <= 120


def test_waiting_work_does_not_hold_large_buffers_for_long(fused):
    sums = []
    for _ in range(48):
        large = fused.constant_from(np.zeros(1 << 22, np.float32))
        sums.append(large[:4] + 1.0)
    del large
    assert fused.backend.stats()["memory"]["live_bytes"] <= (288 << 20) + 4096
    assert all(each.numpy()[0] == 1 for each in sums)


def test_sizes_beyond_32_bits_are_refused_at_the_call(fused):
    x = fused.constant_from(np.ones((2, 1), np.float32))
    wide = tw.broadcast_to(x, (2, 2**32 + 8))
    with pytest.raises(TensorTooLargeError):
        wide @ wide.T


def test_every_error_can_be_raised_again():
    from tenferro_wgpu.backends.webgpu.recovery import fresh

    for error in (
        TensorTooLargeError("add", 8, 4, "limit"),
        DeviceOutOfMemoryError("add", 8, "full"),
        IndexOutOfBoundsError("take", index=9, axis=0, size=3),
        RuntimeClosedError("add"),
    ):
        copy = fresh(error)
        assert type(copy) is type(error) and str(copy) == str(error)
        assert vars(copy) == vars(error)


def test_another_thread_may_read_while_a_handler_computes(fused, monkeypatch):
    """A handler in the middle of a read records; another thread records meanwhile."""
    x, other = ones(fused, 6), ones(fused, 7)
    (x + 1.0).numpy(), (other + 1.0).numpy()
    driver = fused.backend.queue._driver
    begin_read = type(driver).begin_read
    fuser = fused.backend.fuser
    found = []

    def interrupted(self, *arguments):
        monkeypatch.undo()
        thread = threading.Thread(target=lambda: found.append(fuser.stats()))
        thread.start()
        time.sleep(0.05)
        fuser.run_all()  # what a handler would do that reads
        result = begin_read(self, *arguments)
        return result

    monkeypatch.setattr(type(driver), "begin_read", interrupted)
    np.testing.assert_array_equal((x * 5.0).numpy(), 5)
