"""``x.at[key]`` against NumPy's assignments, and the gradients through it."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors

KEYS = {
    "integer": 1,
    "negative": -1,
    "pair": (1, -2),
    "slice": slice(1, None),
    "steps": (slice(None, None, 2), slice(None, None, -3)),
    "one": (slice(2, 3), slice(None, None, -1)),
    "ellipsis": (..., 2),
    "new axis": (None, 1),
    "empty": (slice(3, 1), slice(None)),
    "all": ...,
}
CHANGES = {
    "set": lambda view, v: v,
    "add": np.add,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_changes(rt, dtype, key, change):
    host = (np.arange(24).reshape(4, 6) - 10).astype(dtype)
    x = rt.constant_from(host)
    values = (np.arange(host[KEYS[key]].size).reshape(host[KEYS[key]].shape) * 3 - 7).astype(dtype)
    expected = host.copy()
    expected[KEYS[key]] = CHANGES[change](host[KEYS[key]], values)
    got = getattr(x.at[KEYS[key]], change)(rt.constant_from(values))
    assert got.dtype == host.dtype
    np.testing.assert_array_equal(got.numpy(), expected)
    np.testing.assert_array_equal(x.numpy(), host)


def test_scalars_and_masks(rt):
    x = rt.constant_from(np.zeros((2, 3), np.float32))
    assert x.at[0].set(2).tolist() == [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    flags = rt.constant_from([True, True])
    assert flags.at[1].set(False).tolist() == [True, False]
    assert x.at[0, 0].set(np.nan).at[0, 0].set(1.0).tolist()[0] == [1.0, 0.0, 0.0]


def test_index_arrays(rt):
    x = rt.constant_from(np.zeros(4, np.float32))
    assert x.at[[1, 1, 3]].add(2.0).tolist() == [0.0, 4.0, 0.0, 2.0]
    with pytest.raises(errors.UnsupportedOperationError, match="add"):
        x.at[[1, 2]].set(1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x.at[7].set(1.0), r"at\[...\].set: index 7 is out of bounds"),
        (lambda x: x.at[[0, 7]].add(1.0), r"at\[...\].add: index 7 is out of bounds"),
        (lambda x: x[7], "getitem: index 7 is out of bounds"),
        (lambda x: x[[0, 7]], "getitem: index 7 is out of bounds"),
    ],
)
def test_index_errors_name_the_call_and_no_mode_that_it_lacks(cpu, change, words):
    with pytest.raises(errors.IndexOutOfBoundsError, match=words) as caught:
        change(tw.ones((2, 3)))
    assert "mode" not in str(caught.value)
    with pytest.raises(errors.IndexOutOfBoundsError, match='mode="clip"'):
        tw.take(tw.ones(3), 7)


def test_scalars_that_the_dtype_cannot_hold(rt):
    whole = rt.constant_from(np.zeros(2, np.int32))
    for change in CHANGES:
        with pytest.raises(errors.RangeError, match=rf"at\[...\].{change}: {2**40}"):
            getattr(whole.at[0], change)(2**40)
    with pytest.raises(errors.ArgumentError, match="NaN"):
        whole.at[0].set(np.nan)
    with pytest.raises(errors.DTypeError, match="real part"):
        whole.at[0].set(1j)
    with pytest.raises(errors.DTypeError, match="constant_from"):
        whole.at[0].set([1, 2])
    with pytest.raises(errors.RangeError):
        whole.at[[0, 1]].add(2**40)
    assert whole.at[0].set(1.75).tolist() == [1, 0]


def test_gradients(rt):
    x = rt.variable_from([1.0, 2.0, 3.0])
    v = rt.variable_from([5.0, 7.0])
    (x.at[::2].set(v) * rt.constant_from([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 10.0, 0.0]
    assert v.grad.tolist() == [1.0, 100.0]


def test_errors(rt):
    x = rt.constant_from(np.zeros((2, 3), np.float32))
    with pytest.raises(IndexError):
        x.at[5].set(1.0)
    with pytest.raises(ValueError):
        x.at[0].set(rt.constant_from([1.0, 2.0]))
    with pytest.raises(TypeError, match="at"):
        x[0] = 1.0
    assert tw.sum(x).item() == 0.0
