"""The queue on both software adapters and both native drivers, and under browser limits."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from driver_support import (
    add,
    add_params,
    add_pipeline,
    check_indices,
    compute,
    params_block,
    values,
)

from tenferro_wgpu.backends.webgpu import recorder
from tenferro_wgpu.backends.webgpu.commands import PipelineSource, fold_workgroups
from tenferro_wgpu.backends.webgpu.queue import Queue
from tenferro_wgpu.errors import (
    EnvironmentVariableError,
    IndexOutOfBoundsError,
    RuntimeClosedError,
    ShaderError,
    TensorTooLargeError,
    UnsupportedOperationError,
)


def test_dependent_additions_run_in_order(queue):
    x = queue.upload(np.arange(100, dtype=np.float32))
    one = queue.upload(np.ones(100, np.float32))
    for _ in range(200):
        x = add(queue, x, one, 100)
    assert np.array_equal(values(queue, x, 100), np.arange(100) + 200)
    stats = queue.stats()
    assert stats["queue"]["dispatches"] == 200
    assert stats["queue"]["submits"] == -(-200 // recorder.MAX_BATCH)
    assert stats["bind_groups"]["built"] <= 4


def test_many_ranges_are_read_with_one_submission(queue):
    x = queue.upload(np.arange(100, dtype=np.uint8))
    y = add(queue, queue.upload(np.ones(4, np.float32)), queue.upload(np.ones(4, np.float32)), 4)
    ranges = [(x, 3, 10), (x, 7, 0), (y, 4, 8), (x, 99, 1)]
    first, empty, second, last = queue.read_many(ranges)
    assert first.tolist() == list(range(3, 13))
    assert empty.size == 0
    assert second.view(np.float32).tolist() == [2, 2]
    assert last.tolist() == [99]
    stats = queue.stats()["queue"]
    assert (stats["submits"], stats["reads"], stats["bytes_down"]) == (1, 3, 19)
    with pytest.raises(ValueError, match="bytes 96 to 300"):
        queue.read_many([(y, 0, 4), (x, 96, 204)])
    failed = check_indices(queue, "gather", bad_lane=1)
    with pytest.raises(IndexOutOfBoundsError):
        queue.read_many([(y, 0, 4), (failed, 0, 4)])
    assert asyncio.run(queue.read_many_async([(y, 0, 4), (x, 0, 0)]))[1].size == 0


def test_nothing_is_submitted_before_it_must(queue):
    x = queue.upload(np.ones(4, np.float32))
    add(queue, x, x, 4)
    assert queue.stats()["queue"]["submits"] == 0
    assert queue.stats()["queue"]["pending"] == 1
    queue.flush()
    assert queue.stats()["queue"]["submits"] == 1
    assert queue.stats()["queue"]["pending"] == 0


@pytest.mark.parametrize("vectors", [1, 4, 5, 20])
def test_every_dispatch_sees_its_own_params(queue, vectors):
    """Up to four vec4s are immediates where there are any; the rest share one uniform buffer."""
    last = f"params.p{vectors - 1}"
    pipeline = queue.pipeline(
        ("store", vectors),
        lambda: PipelineSource(
            None,
            {},
            ("read_write",),
            4 * vectors,
            1,
            "store",
            wgsl=params_block(vectors)
            + "@group(0) @binding(0) var<storage, read_write> z: array<u32>;\n"
            + f"@compute @workgroup_size(1) fn main() {{ z[0] = {last}.w + params.p0.x; }}",
        ),
    )
    expected = "immediate" if vectors <= 4 and "immediates" in queue.device.features else "uniform"
    assert pipeline.params_space == expected
    outputs = [queue.allocate(4) for _ in range(100)]
    for index, output in enumerate(outputs):
        params = np.zeros(4 * vectors, np.uint32)
        params[-1] = 1000 + index
        queue.dispatch(pipeline, (output,), params.tobytes(), (1, 1, 1), "store", (output,))
    found = [int(queue.read(output, 0, 4).view(np.uint32)[0]) for output in outputs]
    assert found == list(range(1000, 1100))


def test_immediates_and_uniforms_mix_in_one_batch(queue):
    x = queue.upload(np.arange(8, dtype=np.float32))
    small, large = add_pipeline(queue, 1), add_pipeline(queue, 6)
    for pipeline in (small, large, small, large):
        output = queue.allocate(32)
        queue.dispatch(pipeline, (x, x, output), add_params(8), (1, 1, 1), "add", (output,))
        x = output
    assert np.array_equal(values(queue, x, 8), np.arange(8) * 16)


def test_upload_never_lands_in_memory_the_open_batch_reads(queue):
    one = queue.upload(np.ones(64, np.float32))
    x = queue.upload(np.full(64, 5, np.float32))
    total = add(queue, x, one, 64)
    del x
    for _ in range(10):
        other = queue.upload(np.full(64, 7, np.float32))
        del other
    assert np.array_equal(values(queue, total, 64), np.full(64, 6))


def test_reads_at_any_offset_and_length(queue):
    data = np.random.default_rng(1).integers(0, 256, 999, dtype=np.uint8)
    buffer = queue.upload(data)
    for offset, length in ((0, 999), (1, 1), (3, 5), (998, 1), (500, 0), (4, 8)):
        found = queue.read(buffer, offset, length)
        assert np.array_equal(found, data[offset : offset + length])
        assert found.flags.owndata or found.base.flags.owndata
    with pytest.raises(ValueError, match="read"):
        queue.read(buffer, 0, 1 << 20)


@pytest.mark.parametrize("nbytes", [(1 << 20) + 4, 5 << 20, (6 << 20) + 3])
def test_large_transfers_in_pieces_are_exact(queue, nbytes):
    data = np.random.default_rng(2).integers(0, 256, nbytes, dtype=np.uint8)
    buffer = queue.upload(data)
    assert np.array_equal(queue.read(buffer, 0, nbytes), data)
    assert np.array_equal(queue.read(buffer, 12345, nbytes - 20000), data[12345 : nbytes - 7655])


def test_empty_buffers(queue):
    empty = queue.upload(np.empty(0, np.float32))
    assert empty.size == 0
    assert queue.read(empty, 0, 0).size == 0


def test_compute_allocates_and_records_in_one(queue):
    x = queue.upload(np.arange(100, dtype=np.float32))
    total = x
    for number in range(1, 200):
        total = compute(queue, total, x, 100, f"add {number}")
        assert total.size == 400
    stats = queue.stats()
    assert stats["queue"]["dispatches"] == 199
    assert stats["memory"]["buffers"] <= 4
    assert stats["memory"]["live_bytes"] == 2 * x.slot.size
    assert np.array_equal(values(queue, total, 100), 200 * np.arange(100))


def test_compute_checks_what_dispatch_checks(queue):
    other = Queue(queue.device)
    x, mine = other.upload(np.ones(4, np.float32)), queue.upload(np.ones(4, np.float32))
    with pytest.raises(RuntimeClosedError):
        compute(queue, x, mine, 4)
    with pytest.raises(ValueError, match="binds 3 buffers"):
        queue.compute(add_pipeline(queue), [mine], 16, add_params(4), (1, 1, 1), "add")
    with pytest.raises(TensorTooLargeError, match="huge add"):
        compute(queue, mine, mine, queue.device.limits.max_buffer_size, "huge add")
    assert queue.stats()["queue"]["pending"] == 0
    other.close()
    queue.close()
    with pytest.raises(RuntimeClosedError):
        compute(queue, mine, mine, 4)


def test_zero_workgroups_record_nothing(queue):
    x = queue.upload(np.ones(4, np.float32))
    output = queue.allocate(16)
    queue.dispatch(add_pipeline(queue), (x, x, output), b"", (0, 1, 1), "add", (output,))
    assert queue.stats()["queue"]["pending"] == 0


def test_too_many_workgroups_raise_before_recording(queue):
    x = queue.upload(np.ones(4, np.float32))
    output = queue.allocate(16)
    limit = queue.device.limits.max_compute_workgroups_per_dimension
    with pytest.raises(ValueError, match="workgroups"):
        queue.dispatch(
            add_pipeline(queue), (x, x, output), b"", (limit + 1, 1, 1), "big add", (output,)
        )
    assert queue.stats()["queue"]["pending"] == 0


def test_a_buffer_read_and_written_by_one_dispatch_raises(queue):
    x = queue.upload(np.ones(4, np.float32))
    with pytest.raises(ValueError, match=r"in place.*both read and written"):
        queue.dispatch(add_pipeline(queue), (x, x, x), b"", (1, 1, 1), "in place", (x,))


def test_buffers_of_another_queue_and_wrong_counts_raise(queue):
    other = Queue(queue.device)
    x, mine = other.upload(np.ones(4, np.float32)), queue.allocate(16)
    with pytest.raises(RuntimeClosedError):
        queue.dispatch(add_pipeline(queue), (x, x, mine), b"", (1, 1, 1), "add", (mine,))
    with pytest.raises(ValueError, match="binds 3 buffers"):
        queue.dispatch(add_pipeline(queue), (mine,), b"", (1, 1, 1), "add", (mine,))
    with pytest.raises(ValueError, match="bytes of params"):
        queue.dispatch(
            add_pipeline(queue), (mine, mine, queue.allocate(16)), bytes(32), (1, 1, 1), "add", ()
        )
    other.close()


def test_tensors_past_the_limits_raise_with_size_and_limit(queue):
    limits = queue.device.limits
    with pytest.raises(TensorTooLargeError) as caught:
        queue.allocate(limits.max_buffer_size + 16, "zeros")
    assert caught.value.limit == limits.max_buffer_size
    assert caught.value.op == "zeros"
    if limits.max_storage_buffer_binding_size < limits.max_buffer_size:
        large = queue.allocate(limits.max_storage_buffer_binding_size + 16)
        with pytest.raises(TensorTooLargeError, match="binding") as caught:
            queue.dispatch(
                add_pipeline(queue), (large, large, queue.allocate(16)), b"", (1, 1, 1), "add", ()
            )
        assert caught.value.limit == limits.max_storage_buffer_binding_size


def test_a_tensor_of_exactly_the_binding_limit_is_bindable(queue):
    limit = queue.device.limits.max_storage_buffer_binding_size
    if limit > 128 << 20:
        pytest.skip("needs a gigabyte on this adapter")
    assert queue.allocate(limit).slot.size == limit
    assert queue.allocate(limit - 100).slot.size <= limit


def test_refused_wgsl_raises_with_source_and_line(queue):
    bad = "\n@compute @workgroup_size(1)\nfn main() { let x: i32 = 1.5; }"
    with pytest.raises(ShaderError) as caught:
        queue.pipeline("bad", lambda: PipelineSource(None, {}, (), 0, 1, "bad kernel", wgsl=bad))
    assert caught.value.line == 3
    assert "1.5" in caught.value.wgsl
    assert caught.value.label == "bad kernel"


def test_sources_past_the_device_limits_raise(queue):
    count = queue.device.limits.max_storage_buffers_per_shader_stage + 1
    for bindings, size, requires, name in (
        (("read",) * count, 1, (), "storage buffers"),
        (("read",), 4096, (), "invocations"),
        (("read",), 1, ("no-such-feature",), "lacks"),
    ):
        source = PipelineSource(None, {}, bindings, 0, size, "wide", requires, wgsl="")
        with pytest.raises(UnsupportedOperationError, match=name):
            queue.pipeline(name, lambda source=source: source)


def test_profile_hook_names_every_dispatch_with_its_time(queue):
    seen = []
    queue.profile_hook = lambda operation, duration: seen.append((operation, duration))
    x = queue.upload(np.ones(64, np.float32))
    total = add(queue, add(queue, x, x, 64, "first"), x, 64, "second")
    assert np.array_equal(values(queue, total, 64), np.full(64, 3))
    assert [operation for operation, _ in seen] == ["first", "second"]
    if "timestamp-query" in queue.device.features:
        assert all(duration is not None and 0 <= duration < 10**10 for _, duration in seen)


def test_async_reads_and_synchronization(queue):
    x = queue.upload(np.arange(4, dtype=np.float32))

    async def program():
        total = add(queue, x, x, 4)
        await queue.synchronize_async()
        check_indices(queue, "gather", bad_lane=0)
        with pytest.raises(IndexOutOfBoundsError):
            await queue.synchronize_async()
        first, second = await asyncio.gather(
            queue.read_async(total, 0, 16), queue.read_async(x, 4, 4)
        )
        return first.view(np.float32), second.view(np.float32), await queue.read_async(x, 0, 0)

    first, second, empty = asyncio.run(program())
    assert np.array_equal(first, [0, 2, 4, 6])
    assert np.array_equal(second, [1])
    assert empty.size == 0


def test_use_after_close_raises_and_close_is_idempotent(queue):
    x = queue.upload(np.ones(4, np.float32))
    add(queue, x, x, 4)
    queue.close()
    queue.close()
    for use in (
        lambda: queue.read(x, 0, 4),
        lambda: queue.read(x, 0, 0),
        lambda: queue.upload(np.ones(1)),
        lambda: queue.allocate(4),
        lambda: add(queue, x, x, 4),
        queue.synchronize,
        queue.flush,
        lambda: queue.pipeline("never made", lambda: None),
    ):
        with pytest.raises(RuntimeClosedError):
            use()
    assert queue.stats()["memory"]["live_bytes"] == 0
    assert repr(x)


def test_synchronous_mode_waits_after_each_operation(queue, monkeypatch):
    monkeypatch.setenv("TENFERRO_SYNC", "1")
    other = Queue(queue.device)
    x = other.upload(np.ones(4, np.float32))
    add(other, x, x, 4)
    assert other.stats()["queue"]["submits"] == 1
    other.close()
    monkeypatch.setenv("TENFERRO_SYNC", "yes")
    with pytest.raises(EnvironmentVariableError, match="TENFERRO_SYNC"):
        Queue(queue.device)


@pytest.mark.parametrize("count", [0, 1, 65535, 65536, 10**6, 65535**2, 65535**2 + 1, 10**12])
def test_fold_workgroups_covers_without_much_surplus(count):
    x, y, z = fold_workgroups(count, 65535)
    assert max(x, y, z) <= 65535
    assert count <= x * y * z <= count + y * z + x * y


def test_fold_workgroups_refuses_the_impossible():
    with pytest.raises(ValueError, match="workgroups"):
        fold_workgroups(11**3, 10)
