"""Each misuse raises its documented exception with advice, and the runtime works afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors


@pytest.fixture(autouse=True)
def _works_afterwards(rt):
    yield
    x = rt.variable_from([1.0, 2.0])
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    rt.synchronize()


def test_shapes(rt):
    x, y = rt.constant_from(np.ones((2, 3))), rt.constant_from(np.ones((4, 3)))
    with pytest.raises(errors.ShapeError, match=r"add: shapes \(2, 3\) and \(4, 3\)"):
        x + y
    with pytest.raises(errors.ShapeError, match="matmul"):
        x @ y
    with pytest.raises(ValueError, match="reshape"):
        tw.reshape(x, (4, 2))


def test_dtypes(rt):
    flags = rt.constant_from([True, False])
    with pytest.raises(errors.DTypeError, match="logical_and"):
        flags - flags
    with pytest.raises(TypeError, match="constant_from"):
        rt.constant_from([1.0, 2.0]) + np.ones(2)
    with pytest.raises(TypeError, match="constant_from"):
        np.ones(2) + rt.constant_from([1.0, 2.0])
    with pytest.raises(errors.DTypeError, match="cannot make a tensor"):
        rt.constant_from(np.array(["a"]))
    with pytest.raises(errors.DTypeError, match="its elements must be numbers"):
        rt.constant_from(["a"])
    with pytest.raises(errors.DTypeError, match="use one of bool, int8"):
        rt.zeros(3, dtype="bfloat16")
    with pytest.raises(OverflowError, match="out of range"):
        rt.constant_from(np.array([1], np.int32)) + 2**40


def test_complex_numbers_where_real_ones_are_needed(rt):
    x = rt.constant_from([1j])
    with pytest.raises(errors.DTypeError, match="less: .*no order"):
        tw.less(x, 1.0)
    with pytest.raises(errors.DTypeError, match=r"erf: complex64 .*supported; take \.real"):
        tw.erf(x)
    with pytest.raises(errors.DTypeError, match="signbit: "):
        tw.signbit(x)


def test_axes(rt):
    x = rt.constant_from(np.ones((2, 3)))
    with pytest.raises(errors.AxisError, match="axis 2 is out of bounds"):
        tw.sum(x, axis=2)
    with pytest.raises(np.exceptions.AxisError):
        tw.flip(x, axis=5)
    with pytest.raises(errors.AxisError, match="twice"):
        tw.sum(x, axis=(0, -2))


def test_indices(rt):
    x = rt.constant_from(np.ones((2, 3)))
    with pytest.raises(IndexError):
        x[2]
    with pytest.raises(errors.IndexOutOfBoundsError, match="axis 0"):
        tw.take(x, [0, 5], axis=0)


def test_counting(rt):
    with pytest.raises(errors.IndexOutOfBoundsError, match="index -3 .* counted from 0 up"):
        tw.bincount(rt.constant_from([1, -3]))
    x = rt.constant_from([1.0, 2.0])
    for bins in ("auto", [1, 0, 2]):
        with pytest.raises(errors.ArgumentError, match="edges"):
            tw.histogram(x, bins)
    with pytest.raises(errors.DTypeError, match="got a tensor"):
        tw.percentile(x, x)


def test_device_index_out_of_bounds(rt):
    x = rt.constant_from(np.arange(6.0).reshape(2, 3))
    indices = rt.constant_from(np.array([0, 7], np.int32))
    with pytest.raises(errors.IndexOutOfBoundsError, match="take"):
        tw.take(x, indices, axis=0)
        rt.synchronize()


def test_mixed_runtimes(rt):
    with tw.EagerRuntime("cpu") as other:
        x, y = rt.variable_from([1.0]), other.variable_from([1.0])
        with pytest.raises(errors.ContextMismatchError, match="detach into the target context"):
            x + y
        with pytest.raises(errors.ContextMismatchError):
            rt.variable_from(y)
        with pytest.raises(ValueError, match="detach_into"):
            y.to(rt)
        assert (y.detach_into(rt) + x).tolist() == [2.0]


def test_closed_runtime(adapter):
    from conftest import make_runtime

    runtime = make_runtime(adapter)
    x = runtime.variable_from([1.0])
    loss = (x * 2.0).sum()
    runtime.close()
    runtime.close()
    for use in (
        lambda: x + 1.0,
        lambda: x.numpy(),
        lambda: loss.backward(),
        lambda: runtime.synchronize(),
        lambda: runtime.constant_from([1.0]),
    ):
        with pytest.raises(errors.RuntimeClosedError, match="EagerRuntime"):
            use()
    assert "<closed>" in repr(x) and "<closed>" in repr(runtime)


def test_missing_adapter():
    with pytest.raises(errors.NoAdapterError, match="no such GPU"):
        tw.EagerRuntime(tw.WebGpuBackend(adapter="no such GPU"))
    with pytest.raises((errors.NoAdapterError, ValueError), match="backend|choose"):
        tw.EagerRuntime("quantum")


def test_impossible_allocation(rt):
    x = rt.constant_from(np.ones((1, 1), np.float32))
    kinds = (errors.TensorTooLargeError, errors.DeviceOutOfMemoryError)
    with pytest.raises(kinds, match="add: .*bytes") as caught:
        tw.broadcast_to(x, (1 << 22, 1 << 22)) + 1.0
    assert isinstance(caught.value, MemoryError)


def test_immutable(rt):
    x = rt.constant_from([1.0, 2.0])
    with pytest.raises(TypeError, match="immutable"):
        x[0] = 3.0
    with pytest.raises(TypeError):
        len(rt.constant_from(1.0))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)


def test_variables_of_lists_that_hold_tensors(rt):
    x = rt.constant_from([1.0])
    with pytest.raises(errors.DTypeError, match="stack"):
        rt.constant_from([x, x])
    with pytest.raises(ValueError, match="ragged"):
        rt.constant_from([[1.0], [1.0, 2.0]])
