"""``x.at[key]`` against NumPy's assignments, and the gradients through it."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.dtypes import SUPPORTED
from tenferro_wgpu.testing.ordering import random_order

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
    "subtract": np.subtract,
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


MASK = np.arange(24).reshape(4, 6) % 5 < 2
ARRAYS = {
    "list": [2, 0],
    "repeated": [1, 3, 1, 1],
    "negative": [-1, 0, 3],
    "none": [],
    "pairs": ([0, 3, 0], [5, 5, 5]),
    "that broadcast": ([[0], [2]], [1, 1, 4]),
    "beside a slice": (slice(None, None, 2), [4, 0, 4]),
    "beside a step back": ([1, 0], slice(None, None, -2)),
    "beside an integer": (2, [0, 0]),
    "separated": ([0, 1, 0], None, [2, 2, 2]),
    "mask": MASK,
    "mask of rows": MASK[:, 0],
    "mask of columns": (slice(1, None), MASK[0]),
    "mask as a list": [True, False, False, True],
    "mask and array": (MASK[:, 0], [1]),
    "mask and integer": (MASK[:, 0], 3),
    "two masks": (np.array([True, False, True, False]), np.array([0, 1, 0, 0, 1, 0], bool)),
    "mask of nothing": np.zeros((4, 6), bool),
    "true": True,
    "false": False,
    "true beside": (True, 1),
    "true and array": (..., [1, 1], np.True_),
}


def on_device(rt, key):
    """The key with its arrays as tensors."""
    parts = [
        part if part is None or part is Ellipsis or isinstance(part, (int, slice))
        else rt.constant_from(np.asarray(part, np.int64 if part == [] else None))
        if isinstance(part, list) else rt.constant_from(np.asarray(part))
        for part in (key if isinstance(key, tuple) else (key,))
    ]  # fmt: skip
    return tuple(parts)


@pytest.mark.parametrize("where", ["host", "device"])
@pytest.mark.parametrize("name", ARRAYS)
def test_index_arrays_and_masks(rt, name, where):
    key = ARRAYS[name]
    own = key if where == "host" else on_device(rt, key)
    for dtype in ("float32", "int64", "bool"):
        host = ((np.arange(24).reshape(4, 6) - 10) % (99 if dtype != "bool" else 2)).astype(dtype)
        x = rt.constant_from(host)
        expected = host[key]
        got = x[own]
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got.numpy(), expected)
        values = (np.arange(expected.size).reshape(expected.shape) * 3 - 7).astype(dtype)
        for new in (values, values.reshape(-1)[:1].reshape(())) if values.size else (values,):
            changes = [one for one in CHANGES if dtype != "bool" or one != "subtract"]
            for change in changes:
                want = host.copy()
                if change == "set":
                    want[key] = new
                else:
                    at = np.array([], int) if name == "none" else key
                    CHANGES[change].at(want, at, new)
                got = getattr(x.at[own], change)(rt.constant_from(new))
                assert got.dtype == host.dtype
                np.testing.assert_array_equal(got.numpy(), want, err_msg=f"{dtype} {change}")


def test_async_forms(rt):
    import asyncio

    host = np.array([[1.0, -2.0], [3.0, -4.0]], np.float32)
    x = rt.constant_from(host)

    async def forms():
        return (
            await tw.getitem_async(x, x > 0),
            await x.at[x > 0].set_async(x[0]),
            await x.at[x > 0].add_async(1.0),
            await x.at[[0, 0]].multiply_async(x[0]),
            await x.at[0].min_async(0.0),
            await x.at[0].max_async(0.0),
        )

    found = [each.numpy() for each in asyncio.run(forms())]
    np.testing.assert_array_equal(found[0], host[host > 0])
    np.testing.assert_array_equal(found[1], [[1, -2], [-2, -4]])
    np.testing.assert_array_equal(found[2], [[2, -2], [4, -4]])
    np.testing.assert_array_equal(found[3], [[1, -8], [3, -4]])
    np.testing.assert_array_equal(found[4], [[0, -2], [3, -4]])
    np.testing.assert_array_equal(found[5], [[1, 0], [3, -4]])


def test_a_scalar_at_a_mask_reads_nothing(rt, adapter):
    x = rt.constant_from(np.arange(6, dtype=np.float32))
    mask = x > 2
    reads = rt.backend.stats()
    found = x.at[mask].set(0.0)
    if adapter != "numpy":
        assert rt.backend.stats().get("reads") == reads.get("reads")
    assert found.tolist() == [0.0, 1.0, 2.0, 0.0, 0.0, 0.0]


def test_collisions_are_deterministic_and_many(rt):
    rng = np.random.default_rng(0)
    host = rng.standard_normal(37).astype(np.float32)
    index = rng.integers(0, 37, 20000)
    values = rng.standard_normal(20000).astype(np.float32)
    x, where, v = (rt.constant_from(each) for each in (host, index, values))
    for change in ("set", "min", "max", "add"):
        expected = host.copy()
        if change == "set":
            expected[index] = values
        else:
            CHANGES[change].at(expected, index, values)
        got = getattr(x.at[where], change)(v).numpy()
        if change == "add":
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)
        else:
            np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(got, getattr(x.at[where], change)(v).numpy())
    twos = tw.where(v > 0, 2.0, 0.5)
    expected = host.astype(np.float64)
    np.multiply.at(expected, index, np.where(values > 0, 2.0, 0.5))
    np.testing.assert_array_equal(x.at[where].multiply(twos).numpy(), expected.astype(np.float32))


def test_masks_that_do_not_fit(rt):
    x = rt.constant_from(np.zeros((2, 3), np.float32))
    with pytest.raises(errors.MaskShapeError, match=r"at\[...\].set: a mask of shape \(3,\)"):
        x.at[[True, False, True]].set(1.0)
    with pytest.raises(IndexError):
        x[rt.constant_from(np.ones((2, 2), bool))]
    with pytest.raises(errors.AxisError):
        x[rt.constant_from(np.ones((2, 3, 1), bool))]
    with pytest.raises(errors.ShapeError, match="broadcast"):
        x.at[x == 0].set(rt.constant_from([1.0, 2.0]))


def test_an_index_tensor_out_of_bounds_spoils_the_result(rt):
    x = rt.constant_from(np.zeros(3, np.float32))
    index = rt.constant_from(np.array([0, 7]))
    with pytest.raises(errors.IndexOutOfBoundsError):
        x.at[index].set(1.0).numpy()
    assert x.at[index[:1]].set(1.0).tolist() == [1.0, 0.0, 0.0]


def test_scalars_and_flags(rt):
    x = rt.constant_from(np.zeros((2, 3), np.float32))
    assert x.at[0].set(2).tolist() == [[2.0, 2.0, 2.0], [0.0, 0.0, 0.0]]
    flags = rt.constant_from([True, True])
    assert flags.at[1].set(False).tolist() == [True, False]
    assert x.at[0, 0].set(np.nan).at[0, 0].set(1.0).tolist()[0] == [1.0, 0.0, 0.0]


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


#: Public name -> a call with an index of 7 on the device, of a tensor of shape (2, 3).
BY_DEVICE_INDEX = {
    "getitem": lambda x, i: x[i],
    "at[...].set": lambda x, i: x.at[i].set(1.0),
    "at[...].add": lambda x, i: x.at[i].add(1.0),
    "at[...].multiply": lambda x, i: x.at[:, i].multiply(1.0),
    "at[...].min": lambda x, i: x.at[i, 0].min(1.0),
    "at[...].max": lambda x, i: x.at[i].max(1.0),
    "take": lambda x, i: tw.take(x, i, axis=1),
    "take_along_axis": lambda x, i: tw.take_along_axis(x, i[None], axis=1),
    "put_along_axis": lambda x, i: tw.put_along_axis(x, i[:, None], 1.0, axis=1),
    "gather": lambda x, i: tw.gather(x, i[None], axes=(0,), slice_sizes=(1, 3)),
    "scatter": lambda x, i: tw.scatter(x, i[None], tw.ones((1, 1, 3)), axes=(0,)),
    "scatter_add": lambda x, i: tw.scatter_add(x, i, 1.0),
    "scatter_add_slices": lambda x, i: tw.scatter_add_slices(
        x, i[None], tw.ones((1, 1, 3)), axes=(0,)
    ),
}


@pytest.mark.parametrize("name", BY_DEVICE_INDEX)
def test_an_index_found_on_the_device_names_the_call(rt, name):
    call = BY_DEVICE_INDEX[name]
    count = 2 if name == "put_along_axis" else 1
    with pytest.raises(errors.IndexOutOfBoundsError) as caught:
        call(rt.ones((2, 3)), rt.constant_from([7] * count)).numpy()
    assert str(caught.value).startswith(f"{name}: index 7 is out of bounds for an axis of size")
    assert ("mode" in str(caught.value)) == ("[" not in name and name != "getitem")


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


@pytest.mark.parametrize("dtype", [dtype.name for dtype in SUPPORTED])
def test_every_dtype(rt, dtype):
    host = random_order(dtype, 24).reshape(4, 6)
    small = (np.arange(24).reshape(4, 6) % 7).astype(dtype)
    mask = np.arange(24).reshape(4, 6) % 3 == 0
    x, y = rt.constant_from(host), rt.constant_from(small)
    keys = (mask, [3, 0, 3], (slice(None), [5, 5]), ([0, 0, 1], [2, 2, 2]), slice(1, 3))
    for key in keys:
        np.testing.assert_array_equal(x[key].numpy(), host[key])
        values = small[::-1, ::-1][key]
        new = rt.constant_from(values)
        for change in ("set", *CHANGES):
            kind = np.dtype(dtype).kind
            refused = "c" if change in ("min", "max") else "b" if change == "subtract" else ""
            if kind in refused:
                with pytest.raises(errors.DTypeError):
                    getattr(y.at[key], change)(new)
                continue
            source, tensor = (host, x) if change in ("set", "min", "max") else (small, y)
            want = source.copy()
            if change == "set":
                want[key] = values
            else:
                CHANGES[change].at(want, key, values)
            np.testing.assert_array_equal(getattr(tensor.at[key], change)(new).numpy(), want)
    outside = rt.constant_from(np.array([0, 9]))
    fill = np.array(np.nan if kind in "fc" else 0).astype(dtype)
    found = tw.take(x, outside, axis=0, mode="fill").numpy()
    np.testing.assert_array_equal(found[1], np.full(6, fill))


def test_scatter_takes_both_names_of_multiplication(rt):
    x = rt.constant_from(np.arange(1.0, 4, dtype=np.float32))
    updates = rt.constant_from(np.array([[5.0], [7.0]], np.float32))
    for name in ("mul", "multiply"):
        found = tw.scatter(x, [[0], [0]], updates, axes=(0,), combine=name)
        np.testing.assert_array_equal(found.numpy(), [35, 2, 3])


def test_quotients_and_powers(rt):
    host = np.array([[1.0, -2.0, 4.0], [8.0, 16.0, 32.0]], np.float32)
    x = rt.constant_from(host)
    for change, combine in (("divide", np.divide), ("power", np.power)):
        for key in ((0,), (slice(None), [0, 2, 2]), (host > 3,), ([1, 1, 0],)):
            expected = host.copy()
            combine.at(expected, key, np.float32(2))
            got = getattr(x.at[key], change)(2.0)
            np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)
    with pytest.raises(errors.DTypeError, match=r"at\[\.\.\.\]\.divide.*astype"):
        tw.asarray([1, 2]).at[0].divide(2)


def test_get_and_names_of_other_libraries(rt):
    import asyncio

    x = rt.constant_from(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    assert x.at[1, ::2].get().tolist() == [3.0, 5.0]
    assert asyncio.run(x.at[x > 3].get_async()).tolist() == [4.0, 5.0]
    assert asyncio.run(x.at[0].mul_async(2.0)).tolist() == x.at[0].mul(2.0).tolist()
    with pytest.raises(AttributeError, match=r"write x\.at\[key\]\.set\(f\(x\[key\]\)\)"):
        x.at[0].apply(tw.exp)
    with pytest.raises(AttributeError, match="no attribute 'sett'"):
        x.at[0].sett(0)


def test_every_change_has_an_async_form():
    from tenferro_wgpu.ops.updating import IndexedTensor

    public = {name for name in vars(IndexedTensor) if not name.startswith("_")}
    changes = {name for name in public if not name.endswith("_async")}
    assert public == changes | {f"{name}_async" for name in changes}
