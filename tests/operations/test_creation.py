"""New tensors in every dtype, on every adapter, and the dtypes they have by default."""

from __future__ import annotations

import array

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.dtypes import SUPPORTED

DTYPES = [dtype.name for dtype in SUPPORTED]
NUMBERS = [name for name in DTYPES if name != "bool"]

#: Programs of a namespace and a dtype; NumPy's functions spell their options alike.
EVERY = {
    "zeros": lambda xp, t: xp.zeros((2, 3), dtype=t),
    "ones": lambda xp, t: xp.ones((3,), dtype=t),
    "full": lambda xp, t: xp.full((2, 2), 1, dtype=t),
    "zeros_like": lambda xp, t: xp.zeros_like(xp.ones(3, dtype=t)),
    "ones_like": lambda xp, t: xp.ones_like(xp.zeros(3), dtype=t),
    "full_like": lambda xp, t: xp.full_like(xp.zeros((2, 1), dtype=t), 1),
    "eye": lambda xp, t: xp.eye(3, 4, k=-1, dtype=t),
    "tri": lambda xp, t: xp.tri(3, 4, 1, dtype=t),
}
OF_NUMBERS = {
    "arange": lambda xp, t: xp.arange(7, dtype=t),
    "arange, steps": lambda xp, t: xp.arange(1, 14, 3, dtype=t),
    "linspace": lambda xp, t: xp.linspace(0, 12, 5, dtype=t),
    "full, 7": lambda xp, t: xp.full(3, 7, dtype=t),
    "meshgrid": lambda xp, t: xp.meshgrid(xp.arange(2, dtype=t), xp.arange(3, dtype=t))[1],
    "logspace": lambda xp, t: xp.logspace(0, 2, 3, dtype=t),
    "indices": lambda xp, t: xp.indices((2, 3), dtype=t),
}


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(rt, dtype):
    programs = EVERY if dtype == "bool" else EVERY | OF_NUMBERS
    for name, program in programs.items():
        got, expected = program(tw, dtype), program(np, dtype)
        assert got.dtype == expected.dtype == dtype, name
        np.testing.assert_array_equal(got.numpy(), expected, name)


def test_limits_of_every_dtype_survive(rt):
    for dtype in NUMBERS:
        kind = np.dtype(dtype)
        limits = np.iinfo(kind) if kind.kind in "iu" else np.finfo(kind)
        for value in (limits.max, limits.min):
            made = tw.full(2, value.item() if hasattr(value, "item") else value, dtype=dtype)
            np.testing.assert_array_equal(made.numpy(), np.full(2, value, kind))
        if kind.kind in "iu":
            with pytest.raises(errors.RangeError):
                tw.full(2, int(limits.max) + 1, dtype=dtype)


#: Without a dtype: what the values say.
DEFAULTS = {
    "zeros": (lambda: tw.zeros(2), "float32"),
    "full of a bool": (lambda: tw.full(2, True), "bool"),
    "full of an integer": (lambda: tw.full(2, 3), "int64"),
    "full of a float": (lambda: tw.full(2, 3.0), "float32"),
    "full of a complex number": (lambda: tw.full(2, 3j), "complex64"),
    "full of a NumPy scalar": (lambda: tw.full(2, np.float16(3)), "float16"),
    "arange of integers": (lambda: tw.arange(3), "int64"),
    "arange of floats": (lambda: tw.arange(0, 1, 0.5), "float32"),
    "linspace": (lambda: tw.linspace(0, 1, 3), "float32"),
    "linspace of complex numbers": (lambda: tw.linspace(0, 1j, 3), "complex64"),
    "eye": (lambda: tw.eye(2), "float32"),
    "tri": (lambda: tw.tri(2), "float32"),
    "indices": (lambda: tw.indices((2,)), "int64"),
    "asarray of integers": (lambda: tw.asarray([1, 2]), "int64"),
    "asarray of mixed numbers": (lambda: tw.asarray([1, 2.5]), "float32"),
    "asarray of an ndarray": (lambda: tw.asarray(np.zeros(2, np.float64)), "float64"),
    "like of another dtype": (lambda: tw.zeros_like(tw.ones(2, dtype="uint8")), "uint8"),
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_default_dtypes(cpu, name):
    make, dtype = DEFAULTS[name]
    assert make().dtype == dtype


NESTED = {
    "tensors": lambda x, y: ([x, y], [[1, 2], [3, 4]]),
    "lists beside tensors": lambda x, y: (
        [[x, (5, 6)], (y, x)],
        [[[1, 2], [5, 6]], [[3, 4], [1, 2]]],
    ),
    "scalars beside tensors": lambda x, y: ((x[0], 7.5, y[1]), [1, 7.5, 4]),
    "nothing beside nothing": lambda x, y: ([x[:0], []], [[], []]),
}


@pytest.mark.parametrize("name", NESTED)
def test_lists_that_hold_tensors_are_stacked(rt, name):
    x, y = rt.variable_from([1.0, 2.0]), rt.constant_from(np.float16([3, 4]))
    nested, expected = NESTED[name](x, y)
    got = tw.asarray(nested)
    np.testing.assert_array_equal(got.numpy(), np.float32(expected))
    assert got.dtype == "float32" and got.requires_grad
    assert tw.asarray(nested, dtype="int16").dtype == "int16"


BUFFERS = {
    "an array of doubles": (array.array("d", [1.5, -2]), np.float64([1.5, -2])),
    "an array of shorts": (array.array("h", [1, -2]), np.int16([1, -2])),
    "bytes that change": (bytearray(b"ab"), np.uint8([97, 98])),
    "a view of bytes": (memoryview(b"ab"), np.uint8([97, 98])),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_buffers_keep_their_dtype(cpu, name):
    buffer, expected = BUFFERS[name]
    got = tw.asarray(buffer)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.numpy(), expected)
    assert tw.asarray(buffer, dtype="float32").dtype == "float32"


@pytest.mark.parametrize(
    ("data", "options", "kind"),
    [
        (2**63, {}, errors.RangeError),
        ([1, 2**64], {}, errors.RangeError),
        (np.array([1, 2], object), {}, errors.DTypeError),
        (np.array([], object), {}, errors.DTypeError),
        ("text", {}, errors.DTypeError),
        ([[1], [2, 3]], {}, errors.ArgumentError),
        (np.ones(2), {"copy": False}, errors.ArgumentError),
    ],
)
def test_errors_of_asarray_name_it(cpu, data, options, kind):
    with pytest.raises(kind, match="^asarray: "):
        tw.asarray(data, **options)


def test_whole_bounds_of_integers_are_exact(rt):
    got = tw.linspace(-(2**63), 2**63 - 1, 3, dtype="int64")
    assert got.tolist()[::2] == [-(2**63), 2**63 - 1]
    got = tw.linspace(2**53 + 1, 2**64 - 1, 2, dtype="uint64")
    assert got.tolist() == [2**53 + 1, 2**64 - 1]
    assert tw.linspace(-7, 8, 4, dtype="int32", endpoint=False).tolist() == [-7, -4, 0, 4]
    assert tw.linspace(3, 9, 1, dtype="int8").tolist() == [3]


def test_lists_that_hold_tensors_and_do_not_fit(cpu):
    x = tw.ones(2)
    for nested in ([x, 1.0], [x, [1.0]], [[x], x]):
        with pytest.raises(errors.ShapeError, match="asarray: elements of one list need one shape"):
            tw.asarray(nested)
    with pytest.raises(errors.ArgumentError, match="copy=False"):
        tw.asarray([x], copy=False)
    with pytest.raises(errors.DTypeError, match="constant_from"):
        tw.asarray([x, np.ones(2)])


def test_default_dtypes_follow_the_runtime():
    with tw.EagerRuntime("cpu", default_dtype="float64"):
        assert tw.zeros(2).dtype == tw.float64
        assert tw.full(2, 1j).dtype == tw.complex128
        assert tw.result_type(1.5, tw.int32) == tw.float64
        assert tw.__array_namespace_info__().default_dtypes()["real floating"] == tw.float64
