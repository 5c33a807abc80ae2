"""Views, joins, indices, products and new tensors against NumPy, on every adapter."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw

A = np.arange(24).reshape(2, 3, 4)
PICK = np.array([[2, 0], [1, -1]])

#: One function for both: `xp` is NumPy or this library.
BOTH = {
    "reshape": lambda xp, x: xp.reshape(x, (4, -1)),
    "reshape, column-major": lambda xp, x: xp.reshape(x, (4, -1), order="F"),
    "reshape of a transpose": lambda xp, x: xp.reshape(xp.transpose(x), (-1,)),
    "reshape of a slice": lambda xp, x: xp.reshape(x[:, 1:, ::2], (4, 2)),
    "ravel": lambda xp, x: xp.ravel(xp.transpose(x, (1, 0, 2)), order="F"),
    "transpose": lambda xp, x: xp.transpose(x, (2, 0, 1)),
    "moveaxis": lambda xp, x: xp.moveaxis(x, (0, 1), (-1, 0)),
    "swapaxes": lambda xp, x: xp.swapaxes(x, 0, -1),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x[:, :1], (5, 2, 3, 4)),
    "expand_dims": lambda xp, x: xp.expand_dims(x, (0, -1)),
    "squeeze": lambda xp, x: xp.squeeze(x[:, 1:2]),
    "flip": lambda xp, x: xp.flip(x, (0, 2)),
    "flip, all": lambda xp, x: xp.flip(x),
    "flip twice": lambda xp, x: xp.flip(xp.flip(x, 1)[:, ::2], 1),
    "concatenate": lambda xp, x: xp.concatenate([x, x[:, :1], xp.flip(x)], axis=1),
    "concatenate, flat": lambda xp, x: xp.concatenate([x, x[0, 0]], axis=None),
    "concatenate with nothing": lambda xp, x: xp.concatenate([x[:0], x]),
    "stack": lambda xp, x: xp.stack([x, xp.flip(x)], axis=-1),
    "unstack": lambda xp, x: xp.unstack(x, axis=1)[2],
    "pad": lambda xp, x: xp.pad(x, ((1, 2), (0, 1), (2, 0))),
    "pad, filled": lambda xp, x: xp.pad(x, (1, 2), constant_values=7),
    "pad, one number": lambda xp, x: xp.pad(x, 1),
    "take": lambda xp, x: xp.take(x, PICK, axis=1),
    "take, first axis": lambda xp, x: xp.take(x, [1, 0, 1], axis=0),
    "take, flat": lambda xp, x: xp.take(x, PICK),
    "take, nothing": lambda xp, x: xp.take(x, np.zeros((0, 2), int), axis=1),
    "take, one": lambda xp, x: xp.take(x, 1, axis=-1),
    "take, clip": lambda xp, x: xp.take(x, [-7, 1, 9], axis=1, mode="clip"),
    "take, wrap": lambda xp, x: xp.take(x, [-7, 1, 9], axis=1, mode="wrap"),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, np.array([[[0], [2], [-1]]]), axis=2),
    "matmul": lambda xp, x: xp.matmul(x, xp.swapaxes(x, 1, 2)),
    "matmul, vectors": lambda xp, x: xp.matmul(x[0, 0], x[1, 2]),
    "matmul, vector and stack": lambda xp, x: xp.matmul(x[0, :, 0], x),
    "matmul, stack and matrix": lambda xp, x: xp.matmul(x, xp.transpose(x[0])),
    "matmul, broadcast": lambda xp, x: xp.matmul(x[:, None, :2], xp.swapaxes(x, 1, 2)[None]),
    "matmul over nothing": lambda xp, x: xp.matmul(x[..., :0], xp.swapaxes(x[..., :0], 1, 2)),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=((0, 2), (0, 2))),
    "vecdot": lambda xp, x: xp.vecdot(x, x[0]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("name", BOTH)
def test_like_numpy(rt, name, dtype):
    values = A.astype(dtype)
    numpy = np if hasattr(np, BOTH_NEEDS.get(name, "ravel")) else None
    if numpy is None:
        pytest.skip(f"this NumPy has no {BOTH_NEEDS[name]}")
    expected = BOTH[name](numpy, values)
    got = BOTH[name](tw, rt.constant_from(values))
    assert got.shape == expected.shape and got.dtype == dtype
    np.testing.assert_array_equal(got.numpy(), expected)


#: NumPy functions that came after 2.0.
BOTH_NEEDS = {"unstack": "unstack"}

KEYS = {
    "integer": 1,
    "integers": (0, -1),
    "slice": slice(1, None),
    "steps": (slice(None), slice(None, None, 2), slice(3, 0, -2)),
    "backwards": (Ellipsis, slice(None, None, -1)),
    "nothing": (slice(None), slice(2, 1)),
    "beyond the end": (slice(-9, 9), slice(5, None, -2)),
    "new axes": (None, 0, Ellipsis, None),
    "ellipsis": (Ellipsis, 1),
    "everything": Ellipsis,
    "list": [1, 0, 1],
    "second axis": (slice(None), [2, 0, 1]),
    "matrix of indices": (slice(None), PICK),
    "two arrays": ([0, 1], [1, 2]),
    "two arrays apart": ([0, 1], slice(None), [1, 3]),
    "two arrays around an ellipsis": (slice(None), [0, 1], Ellipsis, [1, 2]),
    "integer and array": (0, slice(None), [1, 3]),
    "integer beside an array": (slice(None), 0, [1, 2]),
    "array and new axis": ([0], None, [1, 2]),
    "arrays that broadcast": ([[0], [1]], [0, 2]),
    "tuples inside the key": ((0, 1), (1, 2)),
    "array and step": ([1, 0], slice(None, None, -2)),
    "no indices": [],
    "no indices beside an integer": (1, []),
}


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
@pytest.mark.parametrize("name", KEYS)
def test_getitem(rt, name, dtype):
    values = (A % 5 > 1) if dtype == "bool" else A.astype(dtype)
    expected = values[KEYS[name]]
    got = rt.constant_from(values)[KEYS[name]]
    assert got.shape == expected.shape
    np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("index_dtype", ["int32", "int64", "uint32"])
def test_index_tensors(rt, index_dtype):
    x = rt.constant_from(A.astype("float32"))
    index = rt.constant_from(np.array([2, 0, 1], index_dtype))
    np.testing.assert_array_equal(x[:, index].numpy(), A[:, [2, 0, 1]])
    np.testing.assert_array_equal(tw.take(x, index, axis=1).numpy(), A[:, [2, 0, 1]])


def test_scatter_add_accumulates(rt):
    x = rt.constant_from(np.ones((2, 3), "float32"))
    updates = rt.constant_from(np.arange(8, dtype="float32").reshape(2, 4))
    expected = np.ones((2, 3), "float32")
    np.add.at(expected, (slice(None), [2, 0, 2, -1]), updates.numpy())
    got = tw.scatter_add(x, [2, 0, 2, -1], updates, axis=1)
    np.testing.assert_array_equal(got.numpy(), expected)
    truth = tw.scatter_add(x < 0, [2, 0, 2, -1], updates > 0, axis=1)
    np.testing.assert_array_equal(truth.numpy(), [[True, False, True], [True, False, True]])


def test_slices_are_gathered_and_scattered(rt):
    x = rt.constant_from(A.astype("float32"))
    starts = [[1, 0], [0, 1], [2, 0]]
    got = tw.gather(x, starts, axes=(2, 0), slice_sizes=(1, 3, 2))
    expected = np.stack([A[b : b + 1, :, a : a + 2] for a, b in starts])
    np.testing.assert_array_equal(got.numpy(), expected)
    back = tw.scatter_add_slices(tw.zeros_like(x), starts, got, axes=(2, 0))
    expected = np.zeros(A.shape)
    for (a, b), part in zip(starts, got.numpy(), strict=True):
        expected[b : b + 1, :, a : a + 2] += part
    np.testing.assert_array_equal(back.numpy(), expected)


def test_padding_inside_and_cropping(rt):
    x = rt.constant_from(np.float32([1, 2, 3]))
    np.testing.assert_array_equal(tw.pad(x, (1, -2), interior=2).numpy(), [0, 1, 0, 0, 2, 0])
    np.testing.assert_array_equal(tw.pad(x, {0: (-1, 1)}, constant_values=9).numpy(), [2, 3, 9])


NEW = {
    "zeros": (lambda: tw.zeros((2, 3)), np.zeros((2, 3), "float32")),
    "ones": (lambda: tw.ones(4, dtype=tw.int64), np.ones(4, "int64")),
    "full": (lambda: tw.full((2, 2), 7), np.full((2, 2), 7)),
    "full, bool": (lambda: tw.full((2,), True), np.full((2,), True)),
    "full, of a tensor": (lambda: tw.full((2,), tw.asarray(3.0)), np.full(2, 3, "float32")),
    "arange": (lambda: tw.arange(5), np.arange(5)),
    "arange, steps": (lambda: tw.arange(9, 1, -3), np.arange(9, 1, -3)),
    "arange, floats": (lambda: tw.arange(0, 1, 0.1), np.arange(0, 1, 0.1, dtype="float32")),
    "arange, nothing": (lambda: tw.arange(3, 1), np.arange(3, 1)),
    "linspace": (lambda: tw.linspace(0, 1, 7), np.linspace(0, 1, 7, dtype="float32")),
    "linspace, open": (
        lambda: tw.linspace(1, 2, 4, endpoint=False, dtype=tw.float64),
        np.linspace(1, 2, 4, endpoint=False),
    ),
    "eye": (lambda: tw.eye(3), np.eye(3, dtype="float32")),
    "eye, shifted": (lambda: tw.eye(2, 4, k=-1), np.eye(2, 4, -1, dtype="float32")),
    "zeros_like": (lambda: tw.zeros_like(tw.asarray([1, 2])), np.zeros(2, "int64")),
    "full_like": (lambda: tw.full_like(tw.asarray([1.0]), 2), np.full(1, 2, "float32")),
    "from_flat": (
        lambda: tw.from_flat([1, 2, 3, 4, 5, 6], (2, 3), order="F"),
        np.reshape([1, 2, 3, 4, 5, 6], (2, 3), order="F"),
    ),
}


@pytest.mark.parametrize("name", NEW)
def test_new_tensors(rt, name):
    make, expected = NEW[name]
    made = make()
    assert made.dtype == expected.dtype and made.shape == expected.shape
    np.testing.assert_array_equal(made.numpy(), expected)


def test_extents_may_be_tensors(rt):
    extent = rt.constant_from(np.uint8(6))
    assert tw.reshape(tw.arange(24), (extent, -1)).shape == (6, 4)
