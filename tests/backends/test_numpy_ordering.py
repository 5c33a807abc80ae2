"""Orders of long rows on the CPU, which take other ways there than NumPy's stable sorts."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.backends.numpy_backend import CpuBackend
from tests.cases.array_backends import run

ROWS, COLUMNS = 3, 1500
DTYPES = ["bool", "int8", "uint8", "int16", "uint32", "int32", "int64", "uint64",
          "float16", "float32", "float64", "complex64"]  # fmt: skip


def rows(dtype: str) -> np.ndarray:
    """Many equal elements, zeros of both signs, infinities, NaN and the ends of integers."""
    rng = np.random.default_rng(3)
    found = rng.integers(0, 40, (ROWS, COLUMNS))
    kind = np.dtype(dtype).kind
    if kind in "iu":
        ends = np.iinfo(dtype)
        values = np.arange(40).astype(dtype)
        values[-4:] = ends.min, ends.min + 1, ends.max - 1, ends.max
        return values[found]
    if kind in "fc":
        special = [0.0, -0.0, np.nan, np.inf, -np.inf, -1.5, 1.5, -6e-8, 6e-8]
        values = np.concatenate([special, np.linspace(-3, 3, 31)]).astype(dtype)
        out = values[found]
        return out if kind == "f" else np.stack([out.real, out.real[::-1]], -1).view(dtype)[..., 0]
    return found % 2 == 0


def stable(x: np.ndarray, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(x, axis=-1, kind="stable")
    return COLUMNS - 1 - np.argsort(x[:, ::-1], axis=-1, kind="stable")[:, ::-1]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_orders_and_values_are_those_of_the_stable_sort(dtype, descending):
    x = rows(dtype)
    backend = CpuBackend()
    expected = stable(x, descending)
    found = run(backend, "argsort", x, shape=x.shape, dtype=np.int64, descending=descending)
    np.testing.assert_array_equal(found, expected)
    found = run(
        backend, "argsort", x, shape=x.shape, dtype=np.int64, descending=descending, first=70
    )
    np.testing.assert_array_equal(found[:, :70], expected[:, :70])
    found = run(
        backend, "sort", x, shape=x.shape, dtype=x.dtype, descending=descending, places=None
    )
    values = np.take_along_axis(x, expected, axis=-1)
    np.testing.assert_array_equal(found, values)
    if x.dtype.kind == "f":
        number = ~np.isnan(values)
        np.testing.assert_array_equal(np.signbit(found)[number], np.signbit(values)[number])


def test_places_are_right_and_the_rest_is_somewhere():
    x = rows("float32")
    places = (0, 700, COLUMNS - 1)
    found = run(
        CpuBackend(), "sort", x, shape=x.shape, dtype=x.dtype, descending=False, places=places
    )
    np.testing.assert_array_equal(found[:, places], np.sort(x)[:, places])
    np.testing.assert_array_equal(np.sort(found), np.sort(x))


@pytest.mark.parametrize("descending", [False, True])
def test_the_smallest_numbers_and_zeros_of_float16_are_in_order(descending):
    # NumPy's own sort of 10,000 such numbers mixes zeros with subnormals, where it uses AVX-512.
    bits = np.array([0x0000, 0x8000, 0x0001, 0x8001, 0x3C00, 0xBC00, 0x7C00, 0xFE00], np.uint16)
    x = np.random.default_rng(0).choice(bits, (8, 10_000)).view(np.float16)
    expected = np.sort(x.astype(np.float32), axis=-1).astype(np.float16)
    places = (2500, 4000, 4100, 5000)
    some = run(
        CpuBackend(), "sort", x, shape=x.shape, dtype=x.dtype, descending=False, places=places
    )
    np.testing.assert_array_equal(some[:, places], expected[:, places])
    found = run(
        CpuBackend(), "sort", x, shape=x.shape, dtype=x.dtype, descending=descending, places=None
    )
    np.testing.assert_array_equal(found, expected[:, ::-1] if descending else expected)


def test_a_sort_that_is_followed_has_a_derivative(rt):
    x = rt.variable_from([3.0, 1.0, 2.0])
    y = tw.sort(x)
    assert (y * tw.asarray([1.0, 2.0, 4.0])).sum().backward() is not None
    assert x.grad.tolist() == [4.0, 1.0, 2.0]
    with tw.no_grad():
        assert tw.sort(x).tolist() == [1.0, 2.0, 3.0]
    assert tw.sort(x.detach(), descending=True).tolist() == [3.0, 2.0, 1.0]
