"""What the queue waits for: exhausted memory, profiles, TENFERRO_SYNC; never with its lock held."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from driver_support import BROWSER, VARIANTS, add, check_indices, compute, open_variant, values

from tenferro_wgpu.backends.webgpu.queue import Queue
from tenferro_wgpu.errors import DeviceOutOfMemoryError, IndexOutOfBoundsError


class Watched:
    """A driver that notes whether the queue's lock is free while it waits."""

    def __init__(self, queue):
        self._queue = queue
        self._driver = queue.device.driver
        self.limits = self._driver.limits
        self.failures = 0
        self.free_while_waiting = []

    def __getattr__(self, name):
        return getattr(self._driver, name)

    def note(self):
        lock, free = self._queue._lock, []

        def try_it():
            free.append(lock.acquire(timeout=0.2))
            if free[0]:
                lock.release()

        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
        self.free_while_waiting += free

    def wait(self):
        self.note()
        self._driver.wait()

    def finish_timed(self, token):
        self.note()
        return self._driver.finish_timed(token)

    def finish_read(self, token):
        self.note()
        return self._driver.finish_read(token)

    def create_buffer(self, size):
        if self.failures:
            self.failures -= 1
            raise DeviceOutOfMemoryError("create_buffer", size)
        return self._driver.create_buffer(size)

    def write_buffer(self, raw, offset, data):
        if self.failures:
            self.failures -= 1
            raise DeviceOutOfMemoryError("write_buffer", data.nbytes)
        self._driver.write_buffer(raw, offset, data)


def watched(queue):
    driver = queue._driver = queue._pool._driver = Watched(queue)
    return driver


@pytest.fixture(params=[*VARIANTS, BROWSER], ids=" ".join)
def device(request):
    return open_variant(*request.param)


@pytest.fixture
def queue(device):
    queue = Queue(device)
    yield queue
    queue.close()


def test_exhausted_memory_is_waited_for_without_the_lock(queue):
    x = queue.upload(np.ones(1000, np.float32))
    driver = watched(queue)
    pending = add(queue, x, x, 1000)
    driver.failures = 1
    other = queue.allocate(50_000)
    assert driver.free_while_waiting == [True]
    driver.failures = 1
    y = queue.upload(np.ones(70_000, np.float32))
    assert driver.free_while_waiting == [True, True]
    driver.failures = 1
    total = compute(queue, y, y, 70_000)
    assert driver.free_while_waiting == [True, True, True]
    assert np.array_equal(values(queue, total, 70_000), np.full(70_000, 2))
    driver.failures = 2
    with pytest.raises(DeviceOutOfMemoryError, match="zeros"):
        queue.allocate(90_000, "zeros")
    assert np.array_equal(values(queue, pending, 1000), np.full(1000, 2))
    assert np.array_equal(values(queue, y, 3), np.ones(3)) and other.size == 50_000


def test_staging_memory_is_waited_for_without_the_lock(queue):
    x = queue.upload(np.ones(1000, np.float32))
    pending = add(queue, x, x, 1000)
    driver = watched(queue)
    kept = [queue.allocate(4000) for _ in range(2)]
    del kept
    queue.flush()
    queue._pool.trim(1 << 30)  # shelves the two, so that the next upload makes no buffer
    driver.failures = 1
    y = queue.upload(np.full(1000, 3, np.float32))
    assert driver.free_while_waiting == [True]
    assert np.array_equal(values(queue, y, 1000), np.full(1000, 3))
    assert np.array_equal(values(queue, pending, 1000), np.full(1000, 2))


def test_profiled_batches_are_waited_for_and_reported_without_the_lock(queue):
    x = queue.upload(np.ones(64, np.float32))
    driver = watched(queue)
    seen = []

    def hook(operation, duration):
        driver.note()
        seen.append(operation)

    queue.profile_hook = hook
    total = x
    for number in range(70):
        total = add(queue, total, x, 64, f"add {number}")
    values(queue, total, 64)
    check_indices(queue, "gather", bad_lane=9)
    queue.flush()
    assert seen == [*(f"add {number}" for number in range(70)), "gather"]
    assert all(driver.free_while_waiting)


def test_synchronous_batches_are_waited_for_without_the_lock(device, monkeypatch):
    monkeypatch.setenv("TENFERRO_SYNC", "1")
    queue = Queue(device)
    driver = watched(queue)
    x = queue.upload(np.ones(4, np.float32))
    total = add(queue, x, x, 4)
    assert driver.free_while_waiting == [True]
    check_indices(queue, "gather", bad_lane=9)
    assert all(driver.free_while_waiting)
    with pytest.raises(IndexOutOfBoundsError, match="bad gather"):
        check_indices(queue, "bad gather", bad_lane=0)
    assert np.array_equal(values(queue, total, 4), np.full(4, 2))
    queue.close()
