"""Gather and scatter-add against the NumPy backend's; collisions, faults, the sort behind them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from kernel_support import sample, strided

from tenferro_wgpu.backends import array_indexing_kernels as reference
from tenferro_wgpu.backends.webgpu.kernels.indexing import (
    is_quads,
    window_axes,
)
from tenferro_wgpu.backends.webgpu.kernels.scattering import (
    LONGEST_ROW,
    are_quads,
    block_length,
    target_segments,
)
from tenferro_wgpu.backends.webgpu.kernels.sorting import (
    CHUNKS,
    CHUNKS_ON_GPU,
    DIGIT_BITS,
    DIGIT_BITS_ON_GPU,
    MOST_MERGED,
    plan_digit_sort,
    sort_pairs,
)
from tenferro_wgpu.errors import (
    DTypeError,
    IndexOutOfBoundsError,
    TensorTooLargeError,
    UnsupportedOperationError,
)
from tenferro_wgpu.layout import contiguous_layout

MODES = ("raise", "clip", "wrap", "fill")
WINDOWS = [
    ((0,), (1, 5, 8)),
    ((1,), (6, 1, 8)),
    ((0, 2), (1, 3, 1)),
    ((2, 0), (2, 5, 3)),
    ((0, 1, 2), (1, 1, 1)),
    ((1,), (4, 2, 3)),
    ((), (2, 5, 1)),
]


def indices_for(mode, dtype, shape, axes, sizes, batch, seed=0):
    random = np.random.default_rng(seed)
    found = np.zeros((*batch, len(axes)), np.int64)
    for position, axis in enumerate(axes):
        last = shape[axis] - sizes[axis]
        if mode == "raise":
            found[..., position] = random.integers(0, last + 1, batch)
            if dtype != "uint32":
                found[..., position] -= shape[axis] * random.integers(0, 2, batch)
        else:
            low = 0 if dtype == "uint32" else -20
            found[..., position] = random.integers(low, 20, batch)
    if dtype == "int64" and mode != "raise":
        found *= 3_000_000_007
    return found.astype(dtype)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("index_dtype", ["int32", "int64", "uint32"])
@pytest.mark.parametrize(("axes", "sizes"), WINDOWS)
def test_gather_and_scatter_agree_with_numpy(kernels, mode, index_dtype, axes, sizes):
    for dtype, layout, batch in (
        ("float32", "contiguous", (7,)),
        ("int64", "transposed", (2, 3)),
        ("float64", "flipped", ()),
    ):
        base = sample(dtype, (6, 5, 8) if layout != "transposed" else (8, 5, 6))
        view, x = strided(kernels, base, layout)
        indices = indices_for(mode, index_dtype, x.shape, axes, sizes, batch)
        out = SimpleNamespace(shape=(*batch, *sizes), dtype=np.dtype(dtype))
        expected = reference.gather(np, out, x, indices, axes=axes, slice_sizes=sizes, mode=mode)
        found = kernels.run(
            "gather", view, indices, shape=out.shape, dtype=dtype,
            axes=axes, slice_sizes=sizes, mode=mode,
        )  # fmt: skip
        np.testing.assert_array_equal(found, expected)
        updates = sample(dtype, out.shape, seed=1)
        out = SimpleNamespace(shape=x.shape, dtype=np.dtype(dtype))
        expected = reference.SCATTER_KERNELS["scatter_add"](
            np, out, x, indices, updates, axes=axes, mode=mode
        )
        found = kernels.run(
            "scatter_add", view, indices, updates, shape=x.shape, dtype=dtype,
            axes=axes, mode=mode,
        )  # fmt: skip
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
        name = ("scatter_set", "scatter_mul", "scatter_min", "scatter_max")[MODES.index(mode)]
        update = reference.SCATTER_KERNELS[name]
        expected = update(np, out, x, indices, updates, axes=axes, mode=mode)
        found = kernels.run(
            name, view, indices, updates, shape=x.shape, dtype=dtype, axes=axes, mode=mode
        )
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "int16", "uint64"])
def test_rows_of_whole_loads(kernels, dtype, mode):
    x = sample(dtype, (9, 6, 16))
    for axes, sizes in (((0,), (1, 6, 16)), ((1,), (9, 1, 16)), ((0, 1), (1, 2, 12))):
        indices = indices_for(mode, "int32", x.shape, axes, sizes, (5,))
        out = SimpleNamespace(shape=(5, *sizes), dtype=np.dtype(dtype))
        params = {"axes": axes, "slice_sizes": sizes, "mode": mode}
        expected = reference.gather(np, out, x, indices, **params)
        found = kernels.run("gather", x, indices, shape=out.shape, dtype=dtype, **params)
        np.testing.assert_array_equal(found, expected)
        if dtype == "bool":
            continue
        updates = sample(dtype, out.shape, seed=1)
        out = SimpleNamespace(shape=x.shape, dtype=np.dtype(dtype))
        expected = reference.SCATTER_KERNELS["scatter_add"](
            np, out, x, indices, updates, axes=axes, mode=mode
        )
        found = kernels.run(
            "scatter_add", x, indices, updates, shape=x.shape, dtype=dtype, axes=axes, mode=mode
        )
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_runs_of_four_words_start_at_multiples_of_four():
    assert is_quads(1, 4, [16], [(-1, 8, 1)])
    assert is_quads(2, 2, [6], [(-1, 5, 2), (-1, 8, 1)])
    assert not is_quads(1, 2, [16], [(-1, 8, 1)])
    assert not is_quads(1, 4, [18], [(-1, 8, 1)])
    assert not is_quads(1, 4, [16], [(-1, 6, 1)])
    assert not is_quads(1, 4, [16], [(0, 8, 1)])
    assert not is_quads(1, 4, [16], [])
    assert are_quads((("row", 20, 1), ("inner", 8, 8)))
    assert not are_quads((("row", 20, 1), ("inner", 8, 4)))
    assert not are_quads((("inner", 8, 8), ("row", 20, 1)))


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int32", "uint32", "int64", "int8", "uint16", "uint64"]
)
def test_scatter_add_of_many_collisions(kernels, dtype):
    random = np.random.default_rng(3)
    x = sample(dtype, (17, 3))
    rows = random.integers(0, 17, 1500)
    updates = sample(dtype, (1500, 1, 3), seed=4)
    expected = x.copy()
    np.add.at(expected, rows, updates[:, 0])
    found = kernels.run(
        "scatter_add", x, rows[:, None], updates, shape=x.shape, dtype=dtype,
        axes=(0,), mode="raise",
    )  # fmt: skip
    # The same order of additions as NumPy's, hence the same bits.
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("count", [70_001, 200_003, 1_000_000])
def test_scatter_add_of_more_collisions_than_a_loop_may_have(kernels, count):
    # llvmpipe ends the loops of an invocation after 65,535 iterations, silently.
    rows, updates = np.ones((count, 1), "i4"), np.ones((count, 1), "f4")
    rows[::50_000] = 2
    others = len(rows[::50_000])
    found = kernels.run(
        "scatter_add", np.zeros(4, "f4"), rows, updates, shape=(4,), dtype="f4",
        axes=(0,), mode="clip",
    )  # fmt: skip
    np.testing.assert_array_equal(found, [0, count - others, others, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_scatter_add_of_long_rows_in_blocks(kernels, dtype):
    random = np.random.default_rng(5)
    # Rows of one entry, of less than a block, of some blocks, and of most entries.
    counts = [1, 0, 60, 3000, 20_000, 3, 700]
    rows = random.permutation(np.repeat(np.arange(7), counts))
    x, updates = sample(dtype, (7, 3)), sample(dtype, (len(rows), 1, 3), seed=6)
    expected = x.astype("f8")
    np.add.at(expected, rows, updates[:, 0].astype("f8"))
    found = kernels.run(
        "scatter_add", x, rows[:, None], updates, shape=x.shape, dtype=dtype,
        axes=(0,), mode="raise",
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, *{"float32": (1e-5, 1e-2)}.get(dtype, (1e-12, 0)))


def test_blocks_of_entries_leave_no_long_loop():
    assert block_length(LONGEST_ROW) == 0
    for entries in [4097, 70_000, 10**6, 1 << 24, 1 << 28]:
        length = block_length(entries)
        assert 2 * length + entries // length < 50_000


@pytest.mark.parametrize("operation", ["gather", "scatter_add"])
@pytest.mark.parametrize(
    "bad, dtype",
    [
        (5, "i8"), (-6, "i8"), (3_000_000_000, "i8"), (2**32, "i8"), (-(2**63), "i8"),
        (-6, "i4"), (-(2**31), "i4"), (2**31 - 1, "i4"), (6, "u4"), (2**32 - 1, "u4"),
    ],
)  # fmt: skip
def test_bad_indices_surface_at_the_next_wait(kernels, operation, bad, dtype):
    x, updates = np.arange(5, dtype="f4"), np.ones((2, 1), "f4")
    indices = np.array([[1], [bad]], dtype)
    if operation == "gather":
        kernels.queue(
            "gather", x, indices, shape=(2, 1), dtype="f4",
            axes=(0,), slice_sizes=(1,), mode="raise",
        )  # fmt: skip
    else:
        kernels.queue(
            "scatter_add", x, indices, updates, shape=(5,), dtype="f4", axes=(0,), mode="raise"
        )
    with pytest.raises(IndexOutOfBoundsError, match=operation) as caught:
        kernels.backend.synchronize()
    assert (caught.value.index, caught.value.axis, caught.value.size) == (bad, 0, 5)
    assert f"index {bad} " in str(caught.value)
    kernels.backend.synchronize()


@pytest.mark.parametrize("operation", ["gather", "scatter_add"])
def test_a_bad_index_never_reads_as_a_value(kernels, operation):
    x, indices = kernels.tensor(np.arange(5, dtype="f4")), np.array([[9]])
    call = {"dtype": "f4", "axes": (0,), "mode": "raise"}
    if operation == "gather":
        bad = kernels.queue("gather", x, indices, shape=(1, 1), slice_sizes=(1,), **call)
    else:
        bad = kernels.queue("scatter_add", x, indices, np.ones((1, 1), "f4"), shape=(5,), **call)
    dependent = kernels.queue("neg", bad, shape=bad.shape, dtype="f4")
    np.testing.assert_array_equal(kernels.backend.download(x), np.arange(5))
    for failed in (dependent, bad, dependent):
        with pytest.raises(IndexOutOfBoundsError, match=f"{operation}: index 9"):
            kernels.backend.download(failed)
    kernels.backend.synchronize()


def test_axes_beyond_32_bits_are_refused(kernels):
    x = kernels.constant(1, "f4", (2**32 + 5,))
    with pytest.raises(TensorTooLargeError, match="gather"):
        kernels.queue(
            "gather", x, np.array([[3]]), shape=(1, 1), dtype="f4",
            axes=(0,), slice_sizes=(1,), mode="clip",
        )  # fmt: skip


def test_refused_modes_and_index_dtypes(kernels):
    x = np.arange(5, dtype="f4")
    call = {"shape": (1, 1), "dtype": "f4", "axes": (0,), "slice_sizes": (1,)}
    with pytest.raises(UnsupportedOperationError, match="mode='nearest'"):
        kernels.run("gather", x, np.zeros((1, 1), "i4"), mode="nearest", **call)
    with pytest.raises(DTypeError, match="indices"):
        kernels.run("gather", x, np.zeros((1, 1), "f4"), mode="clip", **call)


def test_nothing_to_gather_or_scatter(kernels):
    x = np.arange(5, dtype="f4")
    none = np.zeros((0, 1), "i4")
    found = kernels.run(
        "gather", x, none, shape=(0, 1), dtype="f4", axes=(0,), slice_sizes=(1,), mode="raise"
    )
    assert found.shape == (0, 1)
    found = kernels.run(
        "scatter_add", x, none, np.zeros((0, 1), "f4"), shape=(5,), dtype="f4",
        axes=(0,), mode="raise",
    )  # fmt: skip
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize("largest", [1, 50, 5000, 2**31])
@pytest.mark.parametrize("count", [1, 31, 32, 33, 513, MOST_MERGED, MOST_MERGED + 1, 5000, 150_000])
def test_sort_is_by_key_then_position(kernels, count, largest):
    random = np.random.default_rng(count)
    pairs = np.stack([random.integers(0, largest, count), np.arange(count)], 1).astype(np.uint32)
    pairs[random.integers(0, count), 0] = 0xFFFFFFFF
    launcher = kernels.backend._launcher
    result = sort_pairs(launcher, launcher.queue.upload(pairs), count, largest, "sort")
    found = launcher.queue.read(result, 0, 8 * count).view(np.uint32).reshape(count, 2)
    np.testing.assert_array_equal(found, pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))])


@pytest.mark.parametrize("count", [2049, 1 << 20, (1 << 27) - 1])
@pytest.mark.parametrize(
    ("chunks", "bits"), [(CHUNKS, DIGIT_BITS), (CHUNKS_ON_GPU, DIGIT_BITS_ON_GPU)]
)
def test_digit_sorts_have_no_long_loops(count, chunks, bits):
    plan = plan_digit_sort(count, 1000, chunks, bits)
    assert plan.chunk * plan.chunks >= count
    assert plan.segment**2 >= plan.counters
    assert plan.chunk + 2**bits <= 32768 and plan.segment <= 32768
    assert plan.shifts == (0, bits)


def test_a_gpu_sorts_in_more_chunks(kernels, monkeypatch):
    monkeypatch.setattr(kernels.backend._launcher, "is_cpu", False)
    x = np.random.default_rng(2).integers(-1000, 1000, (2, 300_000)).astype(np.int32)
    order = kernels.run("argsort", x, shape=x.shape, dtype=np.int64, descending=False)
    np.testing.assert_array_equal(order, np.argsort(x, axis=-1, kind="stable"))


def test_plans_merge_axes():
    layout = contiguous_layout((4, 5, 6))
    assert window_axes(layout, (0,), (1, 5, 6)) == ((-1, 30, 1),)
    assert window_axes(layout, (1,), (4, 2, 6)) == ((-1, 4, 30), (0, 2, 6), (-1, 6, 1))
    assert target_segments((4, 5, 6), (0,), (1, 5, 6)) == (("row", 4, 1), ("inner", 30, 30))
    assert target_segments((4, 5, 6), (0, 1), (1, 1, 3)) == (("row", 20, 1), ("inner", 6, 3))
