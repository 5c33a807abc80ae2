"""What the queue does when a dispatch is refused, and when a kernel flags a bad index."""

from __future__ import annotations

import threading

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

from tenferro_wgpu.backends.webgpu.commands import Pipeline, PipelineSource
from tenferro_wgpu.errors import IndexOutOfBoundsError, TenferroError


def _refuse(queue, operation):
    """A pipeline whose raw object no pass accepts: what a mistake below our checks looks like."""
    good = add_pipeline(queue)
    wrong = queue.pipeline(
        "one binding",
        lambda: PipelineSource(
            None,
            {},
            ("read_write",),
            4,
            1,
            "one binding",
            wgsl=params_block(1)
            + "@group(0) @binding(0) var<storage, read_write> z: array<u32>;\n"
            + "@compute @workgroup_size(1) fn main() { z[0] = params.p0.x; }",
        ),
    )
    return Pipeline(
        wrong.raw,
        good.bindings,
        good.layout_id,
        good.params_space,
        good.params_size,
        operation,
        "",
    )


def test_a_refused_dispatch_spoils_only_what_depends_on_it(queue):
    one = queue.upload(np.ones(8, np.float32))
    before = add(queue, one, one, 8)
    bad = queue.allocate(32)
    mistake = _refuse(queue, "mistake")
    queue.dispatch(mistake, (one, one, bad), add_params(8), (1, 1, 1), "mistake", (bad,))
    dependent = add(queue, bad, one, 8)
    second_hand = add(queue, dependent, one, 8)
    after = add(queue, before, one, 8)
    assert np.array_equal(values(queue, after, 8), np.full(8, 3))
    for failed in (bad, dependent, second_hand):
        with pytest.raises(TenferroError, match="mistake"):
            values(queue, failed, 8)
    for record in (add, compute):
        with pytest.raises(TenferroError, match="mistake"):
            record(queue, dependent, one, 8)
    with pytest.raises(TenferroError, match="mistake"):
        queue.synchronize()
    queue.synchronize()
    assert queue.stats()["queue"]["failed_buffers"] == 3
    del bad, dependent, second_hand, failed
    assert np.array_equal(values(queue, add(queue, after, one, 8), 8), np.full(8, 4))
    assert queue.stats()["queue"]["failed_buffers"] == 0


def test_memory_of_a_failed_buffer_can_be_used_again_in_the_same_batch(queue):
    one = queue.upload(np.ones(8, np.float32))
    bad = queue.allocate(32)
    slot = bad.slot
    mistake = _refuse(queue, "mistake")
    queue.dispatch(mistake, (one, one, bad), add_params(8), (1, 1, 1), "mistake", (bad,))
    del bad
    good = add(queue, one, one, 8)
    assert good.slot is slot
    assert np.array_equal(values(queue, good, 8), np.full(8, 2))
    assert queue.stats()["queue"]["failed_buffers"] == 0
    with pytest.raises(TenferroError, match="mistake"):
        queue.synchronize()


def test_a_bad_index_fails_what_depends_on_it_and_nothing_else(queue):
    one = queue.upload(np.ones(4, np.float32))
    good = check_indices(queue, "good gather", bad_lane=9)
    bad = check_indices(queue, "bad gather", bad_lane=2)
    dependent = add(queue, bad, one, 4)
    queue.flush()
    second_hand = add(queue, one, dependent, 4)
    other = add(queue, good, one, 4)
    assert np.array_equal(values(queue, one, 4), np.ones(4))
    assert np.array_equal(values(queue, other, 4), np.full(4, 2))
    for failed in (second_hand, bad, dependent, bad):
        with pytest.raises(IndexOutOfBoundsError, match="bad gather") as caught:
            values(queue, failed, 4)
    assert (caught.value.index, caught.value.axis, caught.value.size) == (-7, 2, 5)
    assert np.array_equal(values(queue, good, 4), np.ones(4))
    with pytest.raises(IndexOutOfBoundsError, match="bad gather"):
        add(queue, dependent, one, 4)
    queue.synchronize()
    assert queue.stats()["queue"]["failed_buffers"] == 3


def test_an_unrelated_read_in_another_thread_leaves_a_bad_index_to_its_own(queue):
    one = queue.upload(np.ones(4, np.float32))
    bad = check_indices(queue, "bad gather", bad_lane=0)
    found = []
    thread = threading.Thread(target=lambda: found.append(values(queue, one, 4)))
    thread.start()
    thread.join()
    assert np.array_equal(found, [np.ones(4)])
    with pytest.raises(IndexOutOfBoundsError, match="bad gather"):
        values(queue, bad, 4)


def test_what_is_recorded_while_a_read_is_under_way_fails_too(queue):
    one = queue.upload(np.ones(4, np.float32))
    bad = check_indices(queue, "bad gather", bad_lane=0)
    late = []
    finish = queue._driver.finish_read

    class Slow:
        """The driver, with work recorded between the begin of a read and its end."""

        def __getattr__(self, name):
            return getattr(queue.device.driver, name)

        def finish_read(self, token):
            if not late:
                late.append(add(queue, bad, one, 4))
            return finish(token)

    queue._driver = Slow()
    with pytest.raises(IndexOutOfBoundsError, match="bad gather"):
        values(queue, bad, 4)
    with pytest.raises(IndexOutOfBoundsError, match="bad gather"):
        values(queue, late[0], 4)


def test_synchronize_raises_each_bad_index_once(queue):
    kept = [check_indices(queue, f"gather {number}", bad_lane=number) for number in range(6)]
    del kept[1]
    for number in range(4):
        with pytest.raises(IndexOutOfBoundsError, match=f"gather {number}"):
            queue.synchronize()
    queue.synchronize()
    for number, buffer in zip((0, 2, 3), kept, strict=False):
        with pytest.raises(IndexOutOfBoundsError, match=f"gather {number}"):
            values(queue, buffer, 4)
    assert np.array_equal(values(queue, kept[-1], 4), np.ones(4))
    again = check_indices(queue, "another gather", bad_lane=0)
    with pytest.raises(IndexOutOfBoundsError, match="another gather"):
        values(queue, again, 4)
    queue.synchronize()


def test_memory_of_a_bad_result_serves_again(queue):
    one = queue.upload(np.ones(4, np.float32))
    slots = set()
    for early in (True, False):
        bad = check_indices(queue, "bad gather", bad_lane=0)
        slots.add(bad.slot)
        if early:
            queue.flush()
        del bad
        good = add(queue, one, one, 4)
        assert good.slot in slots
        assert np.array_equal(values(queue, good, 4), np.full(4, 2))
        del good
    queue.flush()
    uploads = [queue.upload(np.full(4, 3, np.float32)) for _ in range(4)]
    assert slots & {upload.slot for upload in uploads}
    for upload in uploads:
        assert np.array_equal(values(queue, add(queue, upload, one, 4), 4), np.full(4, 4))
    for _ in range(2):
        with pytest.raises(IndexOutOfBoundsError):
            queue.synchronize()


def test_more_checks_than_a_page_holds(queue, monkeypatch):
    monkeypatch.setattr("tenferro_wgpu.backends.webgpu.faults.RECORDS_PER_PAGE", 4)
    monkeypatch.setattr("tenferro_wgpu.backends.webgpu.queue.RECORDS_PER_PAGE", 4)
    kept = [
        check_indices(queue, f"gather {number}", bad_lane=9 if number % 3 else 0)
        for number in range(14)
    ]
    for number, buffer in reversed(list(enumerate(kept))):
        if number % 3:
            assert np.array_equal(values(queue, buffer, 4), np.ones(4))
        else:
            with pytest.raises(IndexOutOfBoundsError, match=f"gather {number}$|gather {number}:"):
                values(queue, buffer, 4)


def test_checks_that_nobody_looks_at_are_settled_now_and_then(queue, monkeypatch):
    monkeypatch.setattr("tenferro_wgpu.backends.webgpu.queue.MAX_UNSETTLED", 8)
    for number in range(40):
        kept = check_indices(queue, f"gather {number}", bad_lane=0 if number == 39 else 9)
        assert len(queue._checks.unsettled) <= 8
    with pytest.raises(IndexOutOfBoundsError, match="gather 39"):
        values(queue, kept, 4)


def test_a_check_that_was_not_recorded_needs_no_look(queue):
    check_indices(queue, "gather", bad_lane=9)
    queue.synchronize()
    assert not queue._checks.unsettled
    bad = check_indices(queue, "bad gather", bad_lane=0)
    with pytest.raises(IndexOutOfBoundsError):
        values(queue, bad, 4)
    pipeline = queue.pipeline("flagging", lambda: pytest.fail("it is cached"))
    with pytest.raises(IndexOutOfBoundsError):
        queue.dispatch_checked(pipeline, (bad,), add_params(4), (1, 1, 1), "gather", (bad,))
    queue.dispatch_checked(pipeline, (queue.allocate(16),), add_params(4), (0, 1, 1), "gather", ())
    assert not queue._checks.unsettled
