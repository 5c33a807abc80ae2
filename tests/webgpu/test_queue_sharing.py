"""What queues share: a queue its threads, a device its queues and pipelines."""

from __future__ import annotations

import threading

import numpy as np
from driver_support import (
    add,
    add_pipeline,
    values,
)

from tenferro_wgpu.backends.webgpu.queue import Queue


def test_pipelines_are_shared_by_the_queues_of_a_device(queue):
    first = add_pipeline(queue)
    other = Queue(queue.device)
    assert add_pipeline(other) is first
    assert other.stats()["pipelines"]["built"] == 0
    other.close()


def test_threads_share_a_queue(queue):
    errors = []

    def work(seed):
        try:
            one = queue.upload(np.ones(64, np.float32))
            x = queue.upload(np.full(64, seed, np.float32))
            for step in range(60):
                x = add(queue, x, one, 64)
                if step % 20 == seed % 20:
                    assert np.array_equal(values(queue, x, 64), np.full(64, seed + step + 1))
            assert np.array_equal(values(queue, x, 64), np.full(64, seed + 60))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []


def test_queues_share_a_device_from_threads(queue):
    errors = []

    def work(seed):
        try:
            own = Queue(queue.device)
            x = own.upload(np.full(64, seed, np.float32))
            for _ in range(100):
                x = add(own, x, x, 64) if seed == 0 else add(own, x, own.upload(zeros), 64)
            assert np.array_equal(values(own, x, 64), np.full(64, seed))
            own.close()
        except BaseException as error:
            errors.append(error)

    zeros = np.zeros(64, np.float32)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert errors == []


def test_clear_caches_keeps_results(queue):
    x = queue.upload(np.ones(4, np.float32))
    total = add(queue, x, x, 4)
    queue.clear_caches()
    assert queue.stats()["bind_groups"]["entries"] == 0
    assert queue.stats()["pipelines"]["entries"] == 0
    assert np.array_equal(values(queue, add(queue, total, x, 4), 4), np.full(4, 3))


def test_other_queues_outlive_clear_caches_and_compile_anew(queue):
    other = Queue(queue.device)
    x = other.upload(np.ones(4, np.float32))
    total = add(other, x, x, 4)
    built = other.stats()["pipelines"]["built"]
    queue.clear_caches()
    assert np.array_equal(values(other, add(other, total, x, 4), 4), np.full(4, 3))
    assert other.stats()["pipelines"]["built"] == built + 1
    other.close()
