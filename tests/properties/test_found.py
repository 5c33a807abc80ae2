"""Arguments that random calls found to be answered wrongly, or differently by two backends."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw

X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)
WHOLE = np.array([3, 0, 2], np.int64)

ERRORS = {
    "fill out of range": (lambda rt: tw.full((2,), 2**40, dtype="int32"), OverflowError),
    "fill out of range, like": (
        lambda rt: tw.full_like(rt.constant_from(WHOLE.astype(np.uint32)), -1), OverflowError,
    ),
    "NaN in integers": (lambda rt: tw.full((2,), float("nan"), dtype="int32"), ValueError),
    "complex in floats": (lambda rt: tw.full((2,), 1j, dtype="float32"), TypeError),
    "an array as the fill": (lambda rt: tw.full_like(rt.constant_from(X), np.ones(3)), TypeError),
    "integers beyond int64": (lambda rt: tw.add(2**63, 1), OverflowError),
    "a list beyond int64": (lambda rt: tw.asarray([2**63]), OverflowError),
    "text": (lambda rt: tw.asarray("float32"), TypeError),
    "a date": (lambda rt: tw.sin(np.datetime64("2020-01-01")), TypeError),
    "a duration beside a tensor": (
        lambda rt: rt.constant_from(WHOLE) + np.timedelta64(3, "s"), TypeError,
    ),
    "text as a condition": (
        lambda rt: tw.where(np.str_("a"), rt.constant_from(X), 0), TypeError,
    ),
    "a number as a direction": (lambda rt: tw.compare(rt.constant_from(X), 1, 3), ValueError),
    "a type as an axis": (lambda rt: tw.sum(rt.constant_from(X), axis=int), TypeError),
    "a type as a width": (lambda rt: tw.pad(rt.constant_from(X), int), TypeError),
    "ragged indices": (lambda rt: rt.constant_from(X)[[[1], 2]], ValueError),
    "bools to a negative power": (lambda rt: (rt.constant_from(X) > 0) ** -1, ValueError),
    "integers to a negative NumPy power": (
        lambda rt: rt.constant_from(WHOLE) ** np.int64(-1), ValueError,
    ),
    "more elements than addresses": (lambda rt: tw.zeros((2**40, 2**40)) + 1.5, MemoryError),
    "more elements than memory": (lambda rt: (tw.zeros((2**50,)) + 1.5), MemoryError),
    "index arrays that do not broadcast": (
        lambda rt: rt.constant_from(X)[[0, 1], [0, 1, 2]], IndexError,
    ),
    "changes at index arrays that do not broadcast": (
        lambda rt: rt.constant_from(X).at[[0, 1], [0, 1, 2]].set(0.0), IndexError,
    ),
    "an index that int64 does not hold": (
        lambda rt: rt.constant_from(X)[rt.constant_from(LARGEST)].numpy(), IndexError,
    ),
    "text as an index": (lambda rt: rt.constant_from(X)["a"], IndexError),
    "a float as an index": (lambda rt: rt.constant_from(X)[1.5], IndexError),
    "a list of floats as an index": (lambda rt: rt.constant_from(X)[[0.5]], IndexError),
    "a tensor of floats as an index": (
        lambda rt: rt.constant_from(X).at[rt.constant_from(X)].set(0.0), IndexError,
    ),
    "floats along an axis": (
        lambda rt: tw.take_along_axis(rt.constant_from(X), rt.constant_from(X)), IndexError,
    ),
    "floats taken": (lambda rt: tw.take(rt.constant_from(X), [0.5]), TypeError),
    "a mode of padding that is none": (
        lambda rt: tw.pad(rt.constant_from(X), 1, "edges"), ValueError,
    ),
    "an entry of nothing": (lambda rt: tw.scatter_add(rt.zeros((0, 2)), [0], 1.0), IndexError),
    "an entry at a host index that int64 does not hold": (
        lambda rt: tw.scatter(
            rt.constant_from(WHOLE), np.array([[2**64 - 1]], np.uint64),
            rt.constant_from(WHOLE[:1, None]), axes=(0,), combine="add",
        ),
        IndexError,
    ),
    "reading more than memory": (lambda rt: tw.zeros((2**50,)).numpy(), MemoryError),
}  # fmt: skip

LARGEST = np.array([2**64 - 1, 2**63, 1], np.uint64)

#: Twelve axes of which no two neighbours merge.
MANY = np.arange(2**12, dtype=np.float32).reshape((2,) * 12)
ORDER = tuple(range(0, 12, 2)) + tuple(range(1, 12, 2))

VALUES = {
    "many axes that do not merge": (
        lambda rt: tw.permute_dims(rt.constant_from(MANY), ORDER[::-1]) * 2.0,
        MANY.transpose(ORDER[::-1]) * np.float32(2),
    ),
    "many axes joined": (
        lambda rt: tw.concatenate(
            [tw.permute_dims(rt.constant_from(MANY), ORDER[::-1])] * 2, axis=3
        ),
        np.concatenate([MANY.transpose(ORDER[::-1])] * 2, axis=3),
    ),
    "no widths for no axes": (
        lambda rt: tw.pad(rt.constant_from(np.float32(2)), []), np.float32(2),
    ),
    "bools padded": (
        lambda rt: tw.pad(rt.constant_from(np.array([True])), 1), np.array([False, True, False]),
    ),
    "indices that int64 does not hold, clipped": (
        lambda rt: tw.take(rt.constant_from(WHOLE), rt.constant_from(LARGEST), mode="clip"),
        WHOLE[[2, 2, 1]],
    ),
    "indices that int64 does not hold, wrapped": (
        lambda rt: tw.take(rt.constant_from(WHOLE), rt.constant_from(LARGEST), mode="wrap"),
        WHOLE[[0, 2, 1]],
    ),
    "starts that int64 does not hold": (
        lambda rt: tw.dynamic_slice(rt.constant_from(WHOLE), rt.constant_from(LARGEST[:1]), (1,)),
        WHOLE[2:],
    ),
    "windows at starts that int64 does not hold, wrapped": (
        lambda rt: tw.gather(
            rt.constant_from(X), rt.constant_from(np.array([[2**64 - 1, 2**63]], np.uint64)),
            axes=(0, 1), slice_sizes=(1, 1), mode="wrap",
        ),
        X[None, 1:, 2:],
    ),
    "windows at host indices that int64 does not hold, clipped": (
        lambda rt: tw.gather(
            rt.constant_from(X), np.array([[2**64 - 1, 2**63]], np.uint64), axes=(0, 1),
            slice_sizes=(1, 1), mode="clip",
        ),
        X[None, 1:, 2:],
    ),
    "windows at host indices that int64 does not hold, wrapped": (
        lambda rt: tw.gather(
            rt.constant_from(X), np.array([[2**64 - 1, 2**63]], np.uint64), axes=(0, 1),
            slice_sizes=(1, 1), mode="wrap",
        ),
        X[None, 1:, 2:],
    ),
    "weights of nothing": (
        lambda rt: tw.bincount(rt.constant_from(WHOLE[:0]), rt.constant_from(X[0, :0])), X[0, :0],
    ),
    "weights that no place counts": (
        lambda rt: tw.bincount(rt.constant_from(WHOLE), rt.constant_from(X[0]), length=0),
        X[0, :0],
    ),
    "bools added at indices": (
        lambda rt: tw.scatter_add(rt.constant_from(X) > 0, [0, 0], True),
        np.array([[True] * 3, [True, True, False]]),
    ),
    "bools added at slices": (
        lambda rt: tw.scatter_add_slices(
            rt.constant_from(X) > 0, [[0]], rt.constant_from(X[None] < 0), axes=(0,)
        ),
        np.ones((2, 3), bool),
    ),
    "bools multiplied at slices": (
        lambda rt: tw.scatter(
            rt.constant_from(X) > 0, [[0, 1]], rt.constant_from(X[None] > 9)[:, :1, :2],
            axes=(0, 1), combine="mul",
        ),
        np.array([[True, False, False], [True, True, False]]),
    ),
    "a range as an index": (lambda rt: rt.constant_from(X)[:, range(2, 0, -1)], X[:, [2, 1]]),
    "a list of tensors as an index": (
        lambda rt: rt.constant_from(X)[[rt.constant_from(1), 0, rt.constant_from(-1)]],
        X[[1, 0, 1]],
    ),
    "a list of flags as a mask": (
        lambda rt: rt.constant_from(X)[[rt.constant_from(True), False]], X[:1],
    ),
    "a mask without extent": (
        lambda rt: rt.constant_from(X)[rt.constant_from(np.zeros((2, 0), bool))], X[:0, 0],
    ),
    "a mask without extent, before an axis": (
        lambda rt: rt.constant_from(X)[rt.constant_from(np.zeros(0, bool))], X[:0],
    ),
    "changes at a mask without extent": (
        lambda rt: rt.constant_from(X).at[np.zeros((0, 3), bool)].set(1.0), X,
    ),
    "indices of nothing are not checked": (
        lambda rt: tw.take(rt.constant_from(np.zeros((2, 0, 3))), rt.constant_from([9]), axis=0),
        np.zeros((1, 0, 3)),
    ),
    "updates of nothing are not checked": (
        lambda rt: tw.scatter_add(
            rt.constant_from(np.zeros((2, 0))), rt.constant_from([9]), np.float64(1)
        ),
        np.zeros((2, 0)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_refused(rt, name):
    call, kind = ERRORS[name]
    with pytest.raises(kind):
        call(rt)


@pytest.mark.parametrize("name", VALUES)
def test_answered(rt, name):
    call, expected = VALUES[name]
    got = call(rt).numpy()
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_differences_taken_more_often_than_there_are_elements(rt):
    assert tw.diff(rt.ones((2, 5), dtype="int16"), n=2**62).shape == (2, 0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_reciprocal_root_of_complex_zero_is_infinite(rt, dtype):
    assert np.isinf(tw.rsqrt(rt.zeros(1, dtype=dtype)).numpy().real).all()
