"""Gather, scatter-add and dot_general of the array kernels against element-by-element oracles."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tenferro_wgpu.backends import array_indexing_kernels as kernels
from tenferro_wgpu.backends.numpy_backend import CpuBackend
from tenferro_wgpu.errors import IndexOutOfBoundsError
from tenferro_wgpu.tensor import ShapeDtype, Tensor

MODES = ["raise", "clip", "wrap", "fill"]


def run(name: str, *operands: Any, shape: tuple[int, ...], dtype: Any, **params: Any) -> np.ndarray:
    backend = CpuBackend()
    tensors = tuple(backend.upload(np.asarray(x)) for x in operands)
    out = ShapeDtype(shape, np.dtype(dtype))
    result: Tensor
    (result,) = backend.execute(SimpleNamespace(name=name), tensors, params, (out,))
    assert result.shape == shape and result.dtype == dtype
    assert result.handle.flags.c_contiguous
    assert all(not np.shares_memory(result.handle, x.handle) for x in tensors)
    return backend.download(result)


def place(start: int, offset: int, size: int, window: int, mode: str) -> int | None:
    """Position on an axis of `size` of element `offset` of a window, or None if it is outside."""
    if mode == "raise" and start < 0:
        start += size
    if mode == "clip":
        start = min(max(start, 0), size - window)
    if mode == "wrap":
        return (start + offset) % size
    return start + offset if 0 <= start <= size - window else None


def positions(
    shape: tuple[int, ...],
    indices: np.ndarray,
    axes: tuple[int, ...],
    slice_sizes: tuple[int, ...],
    mode: str,
):
    """Pairs (position in batch + slice_sizes, position in the operand or None)."""
    for batch in np.ndindex(indices.shape[:-1]):
        for offsets in np.ndindex(slice_sizes):
            found: list[int | None] = list(offsets)
            for j, axis in enumerate(axes):
                found[axis] = place(
                    int(indices[batch][j]), offsets[axis], shape[axis], slice_sizes[axis], mode
                )
            yield batch + offsets, None if None in found else tuple(found)


CASES = [
    # operand shape, batch shape, axes, slice sizes
    ((5,), (4,), (0,), (1,)),
    ((5, 3), (2, 2), (0,), (1, 3)),
    ((5, 3), (4,), (1,), (5, 1)),
    ((5, 3), (6,), (1, 0), (1, 1)),
    ((4, 5, 6), (3,), (2, 0), (2, 3, 1)),
    ((4, 5, 6), (3,), (1,), (2, 2, 6)),
    ((4, 5), (), (0,), (2, 5)),
    ((4, 5), (3,), (), (2, 5)),
    ((4, 5), (0,), (0,), (1, 5)),
]


def random_indices(shape, batch, axes, slice_sizes, mode, dtype=np.int64) -> np.ndarray:
    rng = np.random.default_rng(7)
    columns = []
    for axis in axes:
        size, window = shape[axis], slice_sizes[axis]
        if mode == "raise":
            column = rng.integers(0, size - window + 1, batch)
            if window == 1 and np.issubdtype(dtype, np.signedinteger):
                column = np.where(rng.integers(0, 2, batch), column, column - size)
        else:
            column = rng.integers(-size - 2, 2 * size + 2, batch)
        columns.append(column)
    found = np.stack(columns, axis=-1) if columns else np.zeros((*batch, 0))
    return found.astype(dtype)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "batch", "axes", "sizes"), CASES, ids=str)
def test_gather(shape: Any, batch: Any, axes: Any, sizes: Any, mode: str) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    indices = random_indices(shape, batch, axes, sizes, mode)
    expected = np.full((*batch, *sizes), np.nan)
    for target, source in positions(shape, indices, axes, sizes, mode):
        if source is not None:
            expected[target] = x[source]
    found = run(
        "gather", x, indices, shape=expected.shape, dtype=x.dtype,
        axes=axes, slice_sizes=sizes, mode=mode,
    )  # fmt: skip
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "batch", "axes", "sizes"), CASES, ids=str)
def test_scatter_add(shape: Any, batch: Any, axes: Any, sizes: Any, mode: str) -> None:
    rng = np.random.default_rng(1)
    # Small integers in floating point: any order of summation gives the same bits.
    x = rng.integers(0, 10, shape).astype(np.float32)
    indices = random_indices(shape, batch, axes, sizes, mode)
    updates = rng.integers(1, 10, (*batch, *sizes)).astype(np.float32)
    expected = x.copy()
    for source, target in positions(shape, indices, axes, sizes, mode):
        if target is not None:
            expected[target] += updates[source]
    found = run(
        "scatter_add", x, indices, updates, shape=shape, dtype=x.dtype, axes=axes, mode=mode
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32])
def test_index_dtypes(dtype: Any) -> None:
    x = np.arange(5.0)
    indices = random_indices((5,), (6,), (0,), (1,), "raise", dtype)
    found = run(
        "gather", x, indices, shape=(6, 1), dtype=x.dtype, axes=(0,), slice_sizes=(1,), mode="raise"
    )
    np.testing.assert_array_equal(found, x[indices.astype(np.int64)])


def test_duplicates_accumulate() -> None:
    indices = np.zeros((1000, 1), np.int64)
    for dtype in (np.int8, np.int64, np.uint16, np.float64, np.complex64):
        updates = np.ones((1000, 1), dtype)
        found = run(
            "scatter_add", np.zeros(2, dtype), indices, updates,
            shape=(2,), dtype=dtype, axes=(0,), mode="raise",
        )  # fmt: skip
        np.testing.assert_array_equal(found, np.array([1000, 0]).astype(dtype))


def test_fill_of_integers_is_zero() -> None:
    found = run(
        "gather", np.arange(1, 4), np.array([[7], [1]]), shape=(2, 1), dtype=np.int64,
        axes=(0,), slice_sizes=(1,), mode="fill",
    )  # fmt: skip
    np.testing.assert_array_equal(found, [[0], [2]])


@pytest.mark.parametrize("bad", [-4, 3, 1 << 40])
def test_outside_raises_at_once(bad: int) -> None:
    x = np.zeros((2, 3))
    indices = np.array([[1], [bad]])
    with pytest.raises(IndexOutOfBoundsError) as caught:
        run(
            "gather", x, indices, shape=(2, 2, 1), dtype=x.dtype,
            axes=(1,), slice_sizes=(2, 1), mode="raise",
        )  # fmt: skip
    assert (caught.value.index, caught.value.axis, caught.value.size) == (bad, 1, 3)
    with pytest.raises(IndexOutOfBoundsError) as caught:
        run(
            "scatter_add", x, indices, np.ones((2, 2, 1)), shape=(2, 3), dtype=x.dtype,
            axes=(1,), mode="raise",
        )  # fmt: skip
    assert (caught.value.op, caught.value.index) == ("scatter_add", bad)


@pytest.mark.parametrize("mode", ["raise", "fill"])
@pytest.mark.parametrize("name", ["scatter_set", "scatter_mul", "scatter_min", "scatter_max"])
def test_scatters_without_atomics_are_the_same(name: str, mode: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(-3, 4, (4, 5, 3)).astype(np.int64)
    for axes, sizes in (((0,), (1, 5, 3)), ((2, 0), (2, 4, 2)), ((), (2, 3, 1))):
        indices = np.stack(
            [rng.integers(0, x.shape[a] - sizes[a] + 1, (7, 2)) for a in axes]
            or [np.zeros((7, 2), np.int64)], axis=-1,
        )[..., : len(axes)]  # fmt: skip
        if mode == "fill" and axes:
            indices[0] = 99
        updates = rng.integers(-3, 4, (7, 2, *sizes)).astype(np.int64)
        out = ShapeDtype(x.shape, x.dtype)
        arrays = (np, out, x, indices, updates)
        expected = kernels.SCATTER_KERNELS[name](*arrays, axes=axes, mode=mode)
        found = kernels.without_atomics(name)(*arrays, axes=axes, mode=mode)
        np.testing.assert_array_equal(found, expected)


LETTERS = "abcdefgh"
PRODUCTS = [
    # left, right, batch, contracting letters
    ("ab", "bc", "", "b"),
    ("ba", "bc", "", "b"),
    ("ab", "cb", "", "b"),
    ("a", "a", "", "a"),
    ("ab", "b", "", "b"),
    ("a", "b", "", ""),
    ("ab", "ab", "", "ab"),
    ("abc", "acd", "a", "c"),
    ("bac", "dca", "a", "c"),
    ("abcd", "ceda", "ac", "d"),
    ("abc", "cba", "c", "ab"),
    ("ab", "ac", "a", ""),
    ("", "ab", "", ""),
]
EXTENTS = dict(zip(LETTERS, (2, 3, 4, 5, 2), strict=False))


@pytest.mark.parametrize(("left", "right", "batch", "contracting"), PRODUCTS)
@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.float32, np.complex128])
def test_dot_general(left: str, right: str, batch: str, contracting: str, dtype: Any) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(-3, 4, [EXTENTS[k] for k in left]).astype(dtype)
    y = rng.integers(-3, 4, [EXTENTS[k] for k in right]).astype(dtype)
    free = [[k for k in side if k not in batch + contracting] for side in (left, right)]
    result = batch + "".join(free[0]) + "".join(free[1])
    expected = np.einsum(f"{left},{right}->{result}", x, y)
    found = run(
        "dot_general", x, y, shape=expected.shape, dtype=dtype,
        contracting=tuple(tuple(side.index(k) for k in contracting) for side in (left, right)),
        batch=tuple(tuple(side.index(k) for k in batch) for side in (left, right)),
    )  # fmt: skip
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("rows", "terms", "columns"), [(0, 3, 2), (2, 0, 3), (2, 3, 0)])
def test_empty_products(rows: int, terms: int, columns: int) -> None:
    found = run(
        "dot_general", np.ones((rows, terms)), np.ones((terms, columns)),
        shape=(rows, columns), dtype=np.float64, contracting=((1,), (0,)), batch=((), ()),
    )  # fmt: skip
    np.testing.assert_array_equal(found, np.zeros((rows, columns)))


def test_strided_products_match_contiguous_ones() -> None:
    """Broadcast, reversed and sliced operands take another path than BLAS-ready ones."""
    backend = CpuBackend()
    rng = np.random.default_rng(3)
    base = backend.upload(rng.normal(size=(40, 40)))
    layout = base.layout
    layouts = [
        layout,
        layout.transpose((1, 0)),
        layout.flip((0,)),
        layout.flip((1,)),
        layout.slice((0, 0), (1, 40), (1, 1)).broadcast_in_dim((40, 40), (0, 1)),
    ]
    out = (ShapeDtype((40, 40), np.dtype(np.float64)),)
    params = {"contracting": ((1,), (0,)), "batch": ((), ())}
    for left, right in itertools.product(layouts, layouts):
        x, y = base.with_layout(left), base.with_layout(right)
        (found,) = backend.execute(SimpleNamespace(name="dot_general"), (x, y), params, out)
        expected = backend.download(x) @ backend.download(y)
        np.testing.assert_allclose(backend.download(found), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))))
def test_single_elements_by_every_axis(axes, mode, transposed):
    x = np.arange(60.0).reshape(3, 4, 5)
    if transposed:
        x = np.asfortranarray(x)
    out = ShapeDtype((200, 1, 1, 1), np.dtype(float))
    reach = np.array([x.shape[axis] for axis in axes]) * (1 if mode == "raise" else 2)
    indices = np.random.default_rng(1).integers(-reach, reach, (200, 3))
    given = indices.copy()
    found = kernels.gather(
        np, out, x, indices, axes=axes, slice_sizes=(1, 1, 1), mode=mode
    )  # fmt: skip
    expected = np.full(out.shape, np.nan)
    for at, where in positions(x.shape, indices, axes, (1, 1, 1), mode):
        if where is not None:
            expected[at] = x[where]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(indices, given)
