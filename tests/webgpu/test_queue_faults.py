"""What the queue does when a dispatch is refused, and when a kernel flags a bad index."""

from __future__ import annotations

import numpy as np
import pytest
from driver_support import (
    BROWSER,
    VARIANTS,
    add,
    add_params,
    add_pipeline,
    check_indices,
    open_variant,
    params_block,
    values,
)

from tenferro_wgpu.backends.webgpu.commands import Pipeline, PipelineSource
from tenferro_wgpu.backends.webgpu.queue import Queue
from tenferro_wgpu.errors import IndexOutOfBoundsError, TenferroError


@pytest.fixture(params=[*VARIANTS, BROWSER], ids=" ".join)
def queue(request):
    queue = Queue(open_variant(*request.param))
    yield queue
    queue.close()


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
    with pytest.raises(TenferroError, match="mistake"):
        add(queue, dependent, one, 8)
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


@pytest.mark.parametrize("wait", ["synchronize", "read"])
def test_a_flagged_index_raises_at_the_next_wait_and_once(queue, wait):
    x = queue.upload(np.ones(4, np.float32))

    def look():
        return queue.synchronize() if wait == "synchronize" else values(queue, x, 4)

    check_indices(queue, "good gather", bad_lane=9)
    look()
    check_indices(queue, "bad gather", bad_lane=2)
    check_indices(queue, "later gather", bad_lane=1)
    with pytest.raises(IndexOutOfBoundsError, match="bad gather") as caught:
        look()
    assert (caught.value.index, caught.value.axis, caught.value.size) == (-7, 2, 5)
    look()
    check_indices(queue, "another gather", bad_lane=0)
    with pytest.raises(IndexOutOfBoundsError, match="another gather"):
        look()
    look()


def test_reads_copy_no_flag_unless_one_may_be_raised(queue):
    assert queue._fault.read_request() is None
    check_indices(queue, "gather", bad_lane=9)
    for _ in range(3):
        queue.synchronize()
    assert queue._fault.read_request() is None
