"""`device_get`: containers of tensors become containers of arrays, with one wait per device."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.errors import (
    ContextMismatchError,
    DTypeError,
    IndexOutOfBoundsError,
    RuntimeClosedError,
)

Point = namedtuple("Point", "x y")
GETTERS = [tw.device_get, lambda tree: asyncio.run(tw.device_get_async(tree))]


@pytest.fixture(params=GETTERS, ids=["device_get", "device_get_async"])
def get(request):
    return request.param


def test_containers_keep_their_shape(rt, get):
    x = rt.constant_from(np.arange(6, dtype=np.float32).reshape(2, 3))
    missing = defaultdict(list, total=x.sum())
    tree = {
        "list": [x, (x.T, Point(x[0], 1.5))],
        "none": None,
        "ordered": OrderedDict(b=x + 1, a="text"),
        "default": missing,
        "empty": [[], (), {}],
        "host": np.float64(3),
    }
    found = get(tree)
    assert list(found) == list(tree)
    assert np.array_equal(found["list"][0], x.numpy())
    assert np.array_equal(found["list"][1][0], x.numpy().T)
    assert type(found["list"][1][1]) is Point
    assert np.array_equal(found["list"][1][1].x, [0, 1, 2])
    assert found["list"][1][1].y == 1.5
    assert found["none"] is None
    assert type(found["ordered"]) is OrderedDict
    assert list(found["ordered"]) == ["b", "a"]
    assert np.array_equal(found["ordered"]["b"], x.numpy() + 1)
    assert found["ordered"]["a"] == "text"
    assert found["default"]["total"] == 15
    assert found["default"]["absent"] == []
    assert "absent" not in missing
    assert isinstance(missing["total"], tw.EagerTensor)
    assert found["empty"] == [[], (), {}]
    assert isinstance(found["host"], np.ndarray)


def test_dtypes_shapes_and_ownership(rt, get):
    arrays = [
        np.array(True),
        np.zeros((0, 3), np.float32),
        np.arange(5, dtype=np.int64),
        np.array([[1.5, np.nan], [-0.0, np.inf]]),
        np.arange(7, dtype=np.uint32)[::2],
        np.full((2, 2), -3, np.int32),
    ]
    tensors = [rt.constant_from(array) for array in arrays]
    constant = rt.zeros((3, 2)) + 0
    *found, filled, again = get((*tensors, constant, tensors[2]))
    for array, wanted in zip(found, arrays, strict=True):
        assert array.dtype == wanted.dtype
        assert array.shape == wanted.shape
        assert array.tobytes() == np.ascontiguousarray(wanted).tobytes()
        assert array.flags.c_contiguous
        assert array.flags.writeable
    assert np.array_equal(filled, np.zeros((3, 2)))
    found[2][0] = 99
    assert again[0] == 0
    assert tensors[2].numpy()[0] == 0


def test_a_single_tensor_and_a_concrete_one(rt, get):
    x = rt.variable_from([1.0, 2.0])
    assert np.array_equal(get(x), [1, 2])
    assert np.array_equal(get(x.tensor), [1, 2])


def test_large_and_small_tensors_together(rt, get):
    large = np.arange(1_500_000, dtype=np.float32)
    tensors = [rt.constant_from(large) + 1, rt.constant_from([1.0]), rt.constant_from(large) * 2]
    found = get(tensors)
    assert np.array_equal(found[0], large + 1)
    assert found[1] == 1
    assert np.array_equal(found[2], large * 2)


def test_one_submission_for_all(fresh_rt, get):
    rt = fresh_rt
    tensors = [rt.constant_from(np.full(3, i, np.float32)) + 1 for i in range(40)]
    before = rt.stats()["backend"].get("queue")
    found = get(tensors)
    assert [array[0] for array in found] == [i + 1 for i in range(40)]
    if before is not None:  # a WebGPU backend
        after = rt.stats()["backend"]["queue"]
        assert after["submits"] - before["submits"] <= 1
        assert after["reads"] - before["reads"] == 40


def test_no_copies_on_the_host_but_the_result(rt):
    array = np.arange(1 << 20, dtype=np.float32)
    rt.constant_from(array).numpy()  # pools and staging memory are there
    rt.synchronize()
    tracemalloc.start()
    try:
        x = rt.constant_from(array)
        uploading = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        found = tw.device_get(x)
        reading = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    kept = array.nbytes if rt.device.backend == "cpu" else 0  # where the tensor itself lies
    slack = 100_000
    assert uploading <= kept + slack
    assert reading <= array.nbytes + slack
    assert np.array_equal(found, array)


def test_runtimes_may_be_mixed(rt, cpu, get):
    x, y = rt.constant_from([1.0, 2.0]), cpu.constant_from([3.0])
    found = get([y * 2, x + 1, (y, x)])
    assert [array.tolist() for array in found[:2]] == [[6.0], [2.0, 3.0]]
    assert [array.tolist() for array in found[2]] == [[3.0], [1.0, 2.0]]
    if rt is not cpu:
        with pytest.raises(ContextMismatchError):
            x + y


def test_a_closed_runtime_is_named(fresh_rt, get):
    x = fresh_rt.constant_from([1.0])
    fresh_rt.close()
    with pytest.raises(RuntimeClosedError, match="device_get"):
        get([x])


def test_a_bad_index_is_raised_as_by_numpy(rt, get):
    x = rt.constant_from([1.0, 2.0])
    with pytest.raises(IndexOutOfBoundsError):
        bad = tw.take(x, rt.constant_from(np.array([0, 5])))
        get([x, bad])
    assert np.array_equal(get([x])[0], [1, 2])


def test_values_inside_a_transform_are_refused(rt, get):
    def f(x):
        get([x])
        return x

    x = rt.constant_from([1.0])
    with pytest.raises(DTypeError, match="inside jvp"):
        tw.jvp(f, (x,), (x,))
