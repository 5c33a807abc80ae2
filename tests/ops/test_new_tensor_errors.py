"""What creation functions refuse, and arguments that are wrong in value: with documented errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.backends.selection import make_backend

REFUSED = {
    "arange past memory": (lambda: tw.arange(10**13), errors.DeviceOutOfMemoryError, "arange"),
    "arange past addresses": (lambda: tw.arange(10**20), errors.TensorTooLargeError, "arange"),
    "arange by 0": (lambda: tw.arange(0, 3, 0), errors.ArgumentError, "arange: step"),
    "arange to NaN": (lambda: tw.arange(float("nan")), errors.ArgumentError, "finite"),
    "arange to infinity": (lambda: tw.arange(float("inf")), errors.ArgumentError, "finite"),
    "arange to a complex number": (lambda: tw.arange(1j), errors.DTypeError, "real"),
    "arange to text": (lambda: tw.arange("3"), errors.DTypeError, "real"),
    "arange below 0 of uint32": (
        lambda: tw.arange(-3, 3, dtype=tw.uint32), errors.RangeError, "uint32",
    ),
    "arange of bools": (lambda: tw.arange(0, 5, dtype=bool), errors.DTypeError, "arange"),
    "a scalar too long to print": (
        lambda: tw.ones(2) + 10**5000, errors.RangeError, "an integer of 16610 bits",
    ),
    "linspace past memory": (
        lambda: tw.linspace(0.0, 1.0, 10**13), errors.DeviceOutOfMemoryError, "linspace",
    ),
    "linspace of -1": (lambda: tw.linspace(0.0, 1.0, -1), errors.ArgumentError, "linspace: num"),
    "linspace of half": (lambda: tw.linspace(0.0, 1.0, 0.5), errors.DTypeError, "num"),
    "linspace to a list": (lambda: tw.linspace(0.0, [1.0], 3), errors.DTypeError, "linspace"),
    "linspace past int32": (
        lambda: tw.linspace(0, 2**40, 3, dtype=tw.int32), errors.RangeError, "int32",
    ),
    "eye past memory": (lambda: tw.eye(10**7), errors.DeviceOutOfMemoryError, "eye"),
    "eye past addresses": (lambda: tw.eye(2**32, 2**32), errors.TensorTooLargeError, "eye"),
    "eye by half": (lambda: tw.eye(2, k=0.5), errors.DTypeError, "eye: k"),
    "full of NaN": (
        lambda: tw.full(3, float("nan"), dtype=tw.int32), errors.ArgumentError, "full: NaN",
    ),
    "full past int32": (lambda: tw.full(3, 2**40, dtype=tw.int32), errors.RangeError, "full"),
    "full of text": (lambda: tw.full(3, "a", dtype=tw.int32), errors.DTypeError, "full"),
    "a scalar past floats": (lambda: tw.ones(2) + 10**400, errors.RangeError, "add"),
    "scalars past floats": (lambda: tw.add(10**400, 1.0), errors.RangeError, "add"),
    "scalars past integers": (lambda: tw.add(10**30, 1), errors.RangeError, "int64"),
    "where of a scalar past integers": (
        lambda: tw.where(tw.asarray([True]), 10**30, 1), errors.RangeError, "where",
    ),
    "integers to negative powers": (
        lambda: tw.asarray([1, 2]) ** -1, errors.ArgumentError, "pow: integers",
    ),
    "order of reshape": (lambda: tw.reshape(tw.ones(4), (2, 2), "A"), errors.ArgumentError, "A"),
    "mode of take": (lambda: tw.take(tw.ones(4), [0], mode=[]), errors.ArgumentError, "take: mode"),
    "direction of compare": (
        lambda: tw.compare(tw.ones(2), 1.0, "near"), errors.ArgumentError, "compare: direction",
    ),
    "step of a slice": (lambda: tw.ones(4)[::0], errors.ArgumentError, "getitem.*zero"),
    "slice of text": (lambda: tw.ones(4)["a":], errors.DTypeError, "getitem"),
    "name of a backend": (lambda: make_backend("tpu"), errors.ArgumentError, "backend: 'tpu'"),
    "object for a backend": (lambda: make_backend(5), errors.DTypeError, "backend: int"),
    "limits below 0": (lambda: tw.CacheLimits(-1), errors.ArgumentError, "CacheLimits"),
    "threads in words": (lambda: tw.CpuBackend("two"), errors.DTypeError, "threads"),
    "CUDA device by name": (lambda: tw.CudaBackend("first"), errors.DTypeError, "number"),
    "CUDA memory in words": (
        lambda: tw.CudaBackend(memory_limit="1GB"), errors.DTypeError, "memory_limit",
    ),
    "threads below 1": (lambda: tw.CpuBackend(0), errors.ArgumentError, "threads"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(rt, name):
    call, kind, words = REFUSED[name]
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize("shape", [(2**42,), (2**40, 2**40)])
def test_elements_past_memory(rt, shape):
    with pytest.raises((errors.DeviceOutOfMemoryError, errors.TensorTooLargeError)):
        tw.zeros(shape).numpy()
    with pytest.raises((errors.DeviceOutOfMemoryError, errors.TensorTooLargeError)):
        tw.zeros(shape) + 1


def test_infinite_bounds_warn_nobody(cpu):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(tw.linspace(0.0, np.inf, 3).numpy()[0])


def test_lengths_and_values_are_numpys(cpu):
    for bounds in (
        (5,),
        (2, 8, 3),
        (8, 2, -3),
        (2, 8, -1),
        (0.0, 1.0, 0.1),
        (1, 0),
        (np.int64(4),),
    ):
        np.testing.assert_allclose(tw.arange(*bounds).numpy(), np.arange(*bounds), rtol=1e-6)
    for k in (-(10**30), -2, 0, 1, 10**30):
        np.testing.assert_array_equal(tw.eye(2, 3, k=k).numpy(), np.eye(2, 3, k))
    assert tw.linspace(np.complex64(1j), 1.0, 3).dtype == np.complex64


def test_full_of_a_tensor_stays_in_its_runtime(rt):
    value = rt.constant_from(2.5)
    assert tw.full((2,), value, device=rt).tolist() == [2.5, 2.5]
    with tw.EagerRuntime("cpu") as other:
        with pytest.raises(errors.ContextMismatchError, match="full"):
            tw.full((2,), value, device=other)
        with pytest.raises(errors.ContextMismatchError, match="full"):
            tw.full_like(value, value, device=other.device)


def test_scalars_of_where_take_the_default_precision(cpu):
    condition = tw.asarray([True, False])
    assert tw.where(condition, 1j, 2).dtype == np.complex64
    assert tw.where(condition, 1j, 2).tolist() == [1j, 2]
    assert tw.where(condition, 1.5, 2).dtype == np.float32
    assert tw.where(condition, 1, True).dtype == np.int64
    with tw.EagerRuntime("cpu", default_dtype=tw.float64) as wide:
        assert tw.where(wide.constant_from([True]), 1j, 2).dtype == np.complex128


@pytest.mark.parametrize("bounds", [(0, 1), (2.5, -1), (np.float32(1), 4), (1j, 2)])
def test_linspace_tells_the_distance(cpu, bounds):
    for count in (0, 1, 2, 5):
        for endpoint in (True, False):
            with cpu.as_default():
                _, step = tw.linspace(*bounds, count, endpoint=endpoint, retstep=True)
            _, wanted = np.linspace(*bounds, count, endpoint=endpoint, retstep=True)
            np.testing.assert_allclose(step, wanted, rtol=1e-12)
