"""The buffer pool: classes, reuse, limits, failure and statistics, on a pretend driver and a real
device."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from driver_support import VARIANTS, add, add_pipeline, open_variant, values
from hypothesis import given
from hypothesis import strategies as st

from tenferro_wgpu.backends.webgpu.cache import GenerationalCache
from tenferro_wgpu.backends.webgpu.drivers.protocol import Limits
from tenferro_wgpu.backends.webgpu.memory import BufferPool, size_class
from tenferro_wgpu.backends.webgpu.queue import Queue
from tenferro_wgpu.errors import DeviceOutOfMemoryError, TensorTooLargeError


class CountingDriver:
    """Hands out numbers as buffers, up to a capacity."""

    def __init__(self, capacity=1 << 40):
        self.limits = Limits()
        self.capacity = capacity
        self.alive = {}
        self.made = 0

    def create_buffer(self, size):
        if sum(self.alive.values()) + size > self.capacity:
            raise DeviceOutOfMemoryError("create_buffer", size)
        self.made += 1
        self.alive[self.made] = size
        return self.made

    def release_buffer(self, raw):
        del self.alive[raw]


def make_pool(driver=None, **limits):
    forgotten = []
    pool = BufferPool(driver or CountingDriver(), forgotten.append, **limits)
    return pool, forgotten


@given(st.integers(0, 1 << 31))
def test_size_classes_fit_and_are_aligned(nbytes):
    size = size_class(nbytes)
    assert size >= max(nbytes, 1)
    assert size % 256 == 0
    assert size_class(size) == size
    assert size <= max(256, 2 * nbytes)
    assert size_class(nbytes + 1) >= size


def test_a_dropped_buffer_is_reused_and_ids_are_not():
    pool, _ = make_pool()
    first = pool.allocate(100)
    identity, slot = first.id, first.slot
    del first
    second = pool.allocate(200)
    assert second.slot is slot
    assert second.id != identity
    assert pool.allocate(200).slot is not slot
    assert pool.stats()["allocations"] == 2
    assert pool.stats()["reuses"] == 1


def test_different_classes_do_not_mix():
    pool, _ = make_pool()
    small, large = pool.allocate(256), pool.allocate(5000)
    slots = small.slot, large.slot
    del small, large
    assert pool.allocate(6000).slot is slots[1]
    assert pool.allocate(10).slot is slots[0]


def test_host_writes_get_no_memory_of_the_open_batch():
    pool, _ = make_pool()
    used = pool.allocate(64)
    slot = used.slot
    del used
    fresh = pool.allocate_for_write(64)
    assert fresh.slot is not slot
    pool.next_batch()
    assert pool.allocate_for_write(64).slot is slot


def test_statistics_add_up():
    pool, _ = make_pool()
    buffers = [pool.allocate(1000) for _ in range(5)]
    assert pool.stats()["live_bytes"] == 5 * 1024
    del buffers[2:]
    stats = pool.stats()
    assert (stats["live_bytes"], stats["pooled_bytes"]) == (2 * 1024, 3 * 1024)
    assert stats["peak_live_bytes"] == 5 * 1024
    assert stats["buffers"] == 5
    buffers += [pool.allocate(1000) for _ in range(4)]
    stats = pool.stats()
    assert (stats["live_bytes"], stats["pooled_bytes"]) == (6 * 1024, 0)
    assert (stats["allocations"], stats["reuses"]) == (6, 3)
    assert stats["peak_live_bytes"] == 6 * 1024


def test_freed_memory_past_the_pool_limit_is_released_oldest_first():
    driver = CountingDriver()
    pool, forgotten = make_pool(driver, pool_limit=3 * 4096)
    buffers = [pool.allocate(4096) for _ in range(5)]
    slots = [buffer.slot for buffer in buffers]
    for _ in range(5):
        del buffers[0]
        pool.next_batch()
        pool.stats()
    assert len(driver.alive) == 3
    assert forgotten == slots[:2]
    assert slots[0].raw is None
    pool.next_batch()
    pool.trim()
    assert driver.alive == {}


def test_a_trimmed_buffer_that_the_open_batch_names_lives_until_the_submit():
    driver = CountingDriver()
    pool, _ = make_pool(driver)
    buffer = pool.allocate(64)
    del buffer
    pool.trim()
    assert len(driver.alive) == 1
    pool.next_batch()
    assert driver.alive == {}


def test_out_of_memory_empties_the_pool_first():
    driver = CountingDriver(capacity=4 * 65536)
    pool, _ = make_pool(driver)
    kept = [pool.allocate(65536)]
    freed = [pool.allocate(65536) for _ in range(3)]
    del freed
    with pytest.raises(DeviceOutOfMemoryError, match="matmul") as caught:
        pool.allocate(3 * 65536, "matmul")
    assert caught.value.nbytes == 3 * 65536
    pool.next_batch()
    kept.append(pool.allocate(3 * 65536))
    with pytest.raises(DeviceOutOfMemoryError, match="matmul"):
        pool.allocate(65536, "matmul")
    kept.clear()
    assert pool.allocate(65536).size == 65536


def test_the_memory_limit_counts_pooled_memory_and_trims_it_first():
    driver = CountingDriver()
    pool, _ = make_pool(driver, memory_limit=8192)
    first = pool.allocate(4096)
    second = pool.allocate(4096)
    with pytest.raises(DeviceOutOfMemoryError, match=r"sum.*8,192 bytes"):
        pool.allocate(256, "sum")
    del second
    third = pool.allocate(2048)
    assert pool.stats()["pooled_bytes"] == 0
    pool.next_batch()
    assert sum(driver.alive.values()) == first.slot.size + third.slot.size


def test_too_large_raises_with_the_limit():
    pool, _ = make_pool()
    with pytest.raises(TensorTooLargeError) as caught:
        pool.allocate(Limits().max_buffer_size + 1, "zeros")
    assert (caught.value.op, caught.value.limit) == ("zeros", Limits().max_buffer_size)


def test_close_releases_live_buffers_too():
    driver = CountingDriver()
    pool, _ = make_pool(driver)
    live = pool.allocate(64)
    pool.close()
    assert driver.alive == {}
    del live
    gc.collect()
    assert pool.stats()["live_bytes"] == 0


def test_handles_may_die_in_any_thread():
    pool, _ = make_pool()
    for _ in range(20):
        buffers = [pool.allocate(64) for _ in range(50)]
        threads = [threading.Thread(target=buffers.clear) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
    assert pool.stats()["live_bytes"] == 0
    assert pool.stats()["buffers"] == 50


def test_cache_keeps_what_is_used_and_forgets_the_rest():
    cache = GenerationalCache(8)
    for number in range(100):
        cache.store(number, f"value {number}")
        assert cache.find(0) == "value 0"
        assert len(cache) <= 8
    assert cache.find(50) is None
    assert cache.stats()["evictions"] > 80
    cache.limit = 2
    assert len(cache) <= 2
    cache.discard(0)
    assert cache.find(0) is None
    cache.clear()
    assert len(cache) == 0


@pytest.fixture(params=VARIANTS, ids=" ".join)
def queue(request):
    queue = Queue(open_variant(*request.param))
    yield queue
    queue.close()


def test_a_long_chain_stays_in_three_buffers(queue):
    x = one = queue.upload(np.ones(1000, np.float32))
    for _ in range(1000):
        x = add(queue, x, one, 1000)
    assert np.array_equal(values(queue, x, 1000), np.full(1000, 1001))
    stats = queue.stats()["memory"]
    assert stats["buffers"] <= 4
    assert stats["peak_live_bytes"] <= 4 * size_class(4000)


def test_many_bytes_of_results_flush_early(queue):
    one = queue.upload(np.ones(4, np.float32))
    for _ in range(20):
        # Only 16 bytes are written; what counts is the size of the results.
        queue.dispatch(
            add_pipeline(queue),
            (one, one, large := queue.allocate(32 << 20)),
            b"",
            (1, 1, 1),
            "x",
            (large,),
        )
    assert queue.stats()["queue"]["submits"] >= 2


def test_bind_groups_die_with_their_buffers(queue):
    x = queue.upload(np.ones(100, np.float32))
    total = add(queue, x, x, 100)
    assert queue.stats()["bind_groups"]["entries"] == 1
    del total
    queue.synchronize()
    queue.pool_limit = 0
    assert queue.stats()["bind_groups"]["entries"] == 0
    assert queue.stats()["memory"]["pooled_bytes"] == 0
    assert np.array_equal(values(queue, add(queue, x, x, 100), 100), np.full(100, 2))


def test_the_memory_limit_of_a_queue_raises_and_recovers(queue):
    queue.memory_limit = 1 << 20
    x = queue.upload(np.ones(1000, np.float32))
    with pytest.raises(DeviceOutOfMemoryError, match="memory limit"):
        queue.upload(np.ones(1 << 20, np.float32))
    assert np.array_equal(values(queue, add(queue, x, x, 1000), 1000), np.full(1000, 2))


def test_uploading_the_same_size_repeatedly_reuses_memory(queue):
    data = np.arange(1000, dtype=np.float32)
    for _ in range(20):
        buffer = queue.upload(data)
        assert np.array_equal(values(queue, buffer, 1000), data)
        del buffer
    assert queue.stats()["memory"]["buffers"] <= 2


def test_lowering_the_bind_group_limit_evicts_and_results_stay_right(queue):
    inputs = [queue.upload(np.full(8, number, np.float32)) for number in range(20)]
    totals = [add(queue, x, x, 8) for x in inputs]
    assert queue.stats()["bind_groups"]["entries"] == 20
    queue.bind_groups.limit = 4
    assert queue.stats()["bind_groups"]["entries"] <= 4
    totals = [add(queue, total, x, 8) for total, x in zip(totals, inputs, strict=True)]
    assert queue.stats()["bind_groups"]["entries"] <= 4
    for number, total in enumerate(totals):
        assert np.array_equal(values(queue, total, 8), np.full(8, 3 * number))


def test_slots_remember_only_the_bind_groups_that_are_cached(queue):
    queue.bind_groups.limit = 8
    x = queue.upload(np.ones(64, np.float32))
    held = []
    for _ in range(60):
        held.append(add(queue, x, x, 64))
    assert len(x.slot.group_keys) <= 8
    del held[:]
    queue.flush()
    for _ in range(60):
        add(queue, x, x, 64)
        queue.flush()
        queue.pool_limit = 0  # releases what is pooled, and its bind groups
    assert len(x.slot.group_keys) == queue.stats()["bind_groups"]["entries"] <= 8
    queue.clear_caches()
    assert not x.slot.group_keys
