"""The CPU backend's kernels against plain NumPy, on strided operands and every dtype."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from cases.array_backends import SPECIAL, run, strided_views, values

from tenferro_wgpu.backends.array_kernels import KERNELS, UFUNCS
from tenferro_wgpu.backends.numpy_backend import CpuBackend
from tenferro_wgpu.backends.protocol import Backend
from tenferro_wgpu.dtypes import SUPPORTED


@pytest.fixture
def backend() -> CpuBackend:
    return CpuBackend()


NUMERIC = [dtype for dtype in SUPPORTED if dtype.kind != "b"]
INEXACT = [dtype for dtype in SUPPORTED if dtype.kind in "fc"]


def test_satisfies_protocol(backend: CpuBackend) -> None:
    assert isinstance(backend, Backend)
    capabilities = backend.capabilities()
    assert capabilities.operations == set(UFUNCS) | set(KERNELS)
    assert set(capabilities.dtypes) == {dtype.name for dtype in SUPPORTED}


@pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
def test_round_trip_is_a_copy_both_ways(backend: CpuBackend, dtype: np.dtype) -> None:
    source = values(dtype)
    expected = source.copy()
    tensor = backend.upload(source)
    source[...] = 1
    found = backend.download(tensor)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)
    found[...] = 0
    np.testing.assert_array_equal(backend.download(tensor), expected)


def test_views_download_as_numpy_views(backend: CpuBackend) -> None:
    for tensor, expected in strided_views(backend, np.arange(12.0).reshape(4, 3)):
        found = backend.download(tensor)
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (2, 3)], ids=str)
def test_copy_of_any_shape(backend: CpuBackend, dtype: np.dtype, shape: tuple[int, ...]) -> None:
    x = values(dtype, shape)
    np.testing.assert_array_equal(run(backend, "copy", x, shape=shape, dtype=dtype), x)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_binary_on_strided_operands(backend: CpuBackend, name: str, dtype: np.dtype) -> None:
    ufunc = getattr(np, UFUNCS[name])
    lefts = strided_views(backend, values(dtype))
    rights = strided_views(backend, values(dtype, seed=1))
    for (x, x_host), (y, y_host) in zip(lefts, rights, strict=True):
        expected = ufunc(x_host, y_host)
        assert expected.dtype == dtype
        found = run(backend, name, x, y, shape=x_host.shape, dtype=dtype)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tanh", "sqrt", "expm1", "log1p"])
@pytest.mark.parametrize("dtype", INEXACT, ids=str)
def test_analytic_on_strided_operands(backend: CpuBackend, name: str, dtype: np.dtype) -> None:
    for x, host in strided_views(backend, values(dtype)):
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(host)
        found = run(backend, name, x, shape=host.shape, dtype=dtype)
        np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_propagate_nan(backend: CpuBackend, name: str) -> None:
    x, y = (np.array(column) for column in zip(*itertools.product(SPECIAL, SPECIAL), strict=True))
    found = run(backend, name, x, y, shape=x.shape, dtype=np.float64)
    either = np.isnan(x) | np.isnan(y)
    np.testing.assert_array_equal(np.isnan(found), either)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64], ids=lambda d: d.__name__)
def test_sign(backend: CpuBackend, dtype: Any) -> None:
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(dtype)
    found = run(backend, "sign", x, shape=x.shape, dtype=dtype)
    np.testing.assert_array_equal(found, np.sign(x))


def test_sign_of_complex_and_integers(backend: CpuBackend) -> None:
    z = np.array([3 + 4j, 0, -2, 1j, complex(np.nan, 0)])
    found = run(backend, "sign", z, shape=z.shape, dtype=np.complex128)
    np.testing.assert_allclose(found[:4], [0.6 + 0.8j, 0, -1, 1j])
    assert np.isnan(found[4])
    n = np.array([-5, 0, 7], np.int32)
    np.testing.assert_array_equal(run(backend, "sign", n, shape=(3,), dtype=np.int32), [-1, 0, 1])


def test_rsqrt(backend: CpuBackend) -> None:
    x = np.array([4.0, 0.0, -1.0, np.inf, np.nan])
    found = run(backend, "rsqrt", x, shape=x.shape, dtype=np.float64)
    np.testing.assert_array_equal(found, [0.5, np.inf, np.nan, 0.0, np.nan])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128], ids=lambda d: d.__name__)
def test_parts_of_complex(backend: CpuBackend, dtype: Any) -> None:
    z = values(np.dtype(dtype))
    real = z.real.dtype
    for name, expected in {"real": z.real, "imag": z.imag, "abs": np.abs(z)}.items():
        found = run(backend, name, z, shape=z.shape, dtype=real)
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(run(backend, "conj", z, shape=z.shape, dtype=dtype), z.conj())


def test_parts_of_real(backend: CpuBackend) -> None:
    x = np.arange(3.0)
    for name, expected in {"real": x, "imag": np.zeros(3), "conj": x}.items():
        np.testing.assert_array_equal(run(backend, name, x, shape=(3,), dtype=x.dtype), expected)


@pytest.mark.parametrize("source", SUPPORTED, ids=str)
@pytest.mark.parametrize("target", SUPPORTED, ids=str)
def test_cast(backend: CpuBackend, source: np.dtype, target: np.dtype) -> None:
    x = values(source).T
    expected = (x.real if source.kind == "c" and target.kind not in "cb" else x).astype(target)
    found = run(backend, "cast", x, shape=x.shape, dtype=target)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("source", "target"),
    [(np.float64, np.int32), (np.float64, np.float16), (np.float32, np.uint8)],
    ids=str,
)
def test_cast_of_special_values_warns_nobody(backend: CpuBackend, source: Any, target: Any) -> None:
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(source)
        expected = x.astype(target)
    found = run(backend, "cast", x, shape=x.shape, dtype=target)
    np.testing.assert_array_equal(found, expected)


def test_division_and_overflow_follow_ieee(backend: CpuBackend) -> None:
    x, y = np.array([1.0, -1.0, 0.0, 1e308]), np.array([0.0, 0.0, 0.0, 1e-308])
    found = run(backend, "div", x, y, shape=(4,), dtype=np.float64)
    np.testing.assert_array_equal(found, [np.inf, -np.inf, np.nan, np.inf])


def test_integers_wrap(backend: CpuBackend) -> None:
    x = np.array([127, -128], np.int8)
    found = run(backend, "add", x, x, shape=(2,), dtype=np.int8)
    np.testing.assert_array_equal(found, [-2, 0])


def test_pow(backend: CpuBackend) -> None:
    x, y = np.array([2, -3, 0], np.int64), np.array([10, 3, 0], np.int64)
    found = run(backend, "pow", x, y, shape=(3,), dtype=np.int64)
    np.testing.assert_array_equal(found, [1024, -27, 1])
    with pytest.raises(ValueError, match="negative"):
        run(backend, "pow", x, -y, shape=(3,), dtype=np.int64)
    base, exponent = np.array([np.nan, 1.0, -8.0]), np.array([0.0, np.nan, 1 / 3])
    found = run(backend, "pow", base, exponent, shape=(3,), dtype=np.float64)
    np.testing.assert_array_equal(found, [1.0, 1.0, np.nan])


@pytest.mark.parametrize(
    "name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
)
def test_comparisons(backend: CpuBackend, name: str) -> None:
    x, y = (np.array(column) for column in zip(*itertools.product(SPECIAL, SPECIAL), strict=True))
    found = run(backend, name, x, y, shape=x.shape, dtype=np.bool_)
    np.testing.assert_array_equal(found, getattr(np, name)(x, y))


def test_logic(backend: CpuBackend) -> None:
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    for name, expected in {"logical_and": x & y, "logical_or": x | y}.items():
        found = run(backend, name, x, y, shape=(4,), dtype=np.bool_)
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(run(backend, "logical_not", x, shape=(4,), dtype=np.bool_), ~x)


def test_select_and_clip(backend: CpuBackend) -> None:
    condition = np.array([True, False, True])
    x, y = np.array([1.0, np.nan, 3.0]), np.array([np.nan, 5.0, 6.0])
    found = run(backend, "select", condition, x, y, shape=(3,), dtype=np.float64)
    np.testing.assert_array_equal(found, [1.0, 5.0, 3.0])
    low, high = np.array([2.0, 0.0, np.nan]), np.array([1.0, 4.0, 4.0])
    found = run(backend, "clip", x, low, high, shape=(3,), dtype=np.float64)
    np.testing.assert_array_equal(found, [1.0, np.nan, np.nan])


AXES = [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float16, np.float32, np.complex128])
def test_reductions(backend: CpuBackend, name: str, axes: tuple[int, ...], dtype: Any) -> None:
    x = values(np.dtype(dtype), (3, 40, 2))
    if name in ("sum", "prod"):
        expected = getattr(np, name)(x, axis=axes, dtype=dtype)
    else:
        expected = getattr(np, name)(x, axis=axes)
    # Sums here are ordered unlike NumPy's, and float16 is coarse.
    tolerance = 64 * float(np.finfo(dtype).eps) if np.dtype(dtype).kind in "fc" else 0
    contiguous = backend.upload(x)
    strided = backend.upload(x.transpose(2, 1, 0))
    strided = strided.with_layout(strided.layout.transpose((2, 1, 0)))
    for operand in (contiguous, strided):
        found = run(
            backend, f"reduce_{name}", operand, shape=expected.shape, dtype=dtype, axes=axes
        )
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["max", "min"])
def test_extremes_of_nan(backend: CpuBackend, name: str) -> None:
    x = np.array([[1.0, np.nan, 2.0], [3.0, 4.0, 5.0]])
    found = run(backend, f"reduce_{name}", x, shape=(2,), dtype=np.float64, axes=(1,))
    np.testing.assert_array_equal(found, [np.nan, 5.0 if name == "max" else 3.0])


def test_reduction_of_nothing(backend: CpuBackend) -> None:
    x = np.zeros((0, 3), np.float32)
    found = run(backend, "reduce_sum", x, shape=(3,), dtype=np.float32, axes=(0,))
    np.testing.assert_array_equal(found, [0, 0, 0])
    found = run(backend, "reduce_prod", x, shape=(3,), dtype=np.float32, axes=(0,))
    np.testing.assert_array_equal(found, [1, 1, 1])


@pytest.mark.parametrize("axes", [(0,), (0, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("order", ["contiguous", "reversed axes", "every second"])
def test_long_sums_are_accurate(backend: CpuBackend, axes: tuple[int, ...], order: str) -> None:
    """Adding 0.1 row after row is off by 1e-3 here; folding keeps it within a few eps."""
    x = np.full((200_000, 2, 3), 0.1, np.float32)
    tensor = backend.upload(x)
    if order == "reversed axes":
        tensor = backend.upload(x.transpose(2, 1, 0))
        tensor = tensor.with_layout(tensor.layout.transpose((2, 1, 0)))
    elif order == "every second":
        tensor = tensor.with_layout(tensor.layout.slice((1, 0, 0), x.shape, (2, 1, 1)))
        x = x[1::2]
    expected = x.astype(np.float64).sum(axis=axes)
    found = run(backend, "reduce_sum", tensor, shape=expected.shape, dtype=np.float32, axes=axes)
    np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(np.float32).eps)


def test_argmax(backend: CpuBackend) -> None:
    x = np.array([[1.0, 3.0, 3.0], [np.nan, 5.0, np.nan], [-np.inf, -np.inf, -np.inf]])
    found = run(backend, "argmax", x, shape=(3,), dtype=np.int64, axis=1)
    np.testing.assert_array_equal(found, [1, 0, 0])


def test_concatenate(backend: CpuBackend) -> None:
    x, y = backend.upload(values(np.dtype("f4"), (2, 3))), values(np.dtype("f4"), (3, 1))
    transposed = x.with_layout(x.layout.transpose((1, 0)))
    found = run(backend, "concatenate", transposed, y, shape=(3, 3), dtype=np.float32, axis=1)
    np.testing.assert_array_equal(found, np.concatenate([backend.download(transposed), y], axis=1))


PADDINGS = [
    (low, high, interior)
    for low, high, interior in itertools.product((-4, -1, 0, 2), (-3, 0, 1), (0, 1, 2))
]


@pytest.mark.parametrize(("low", "high", "interior"), PADDINGS, ids=str)
def test_pad(backend: CpuBackend, low: int, high: int, interior: int) -> None:
    """Dilate, then grow or crop both ends, element by element as StableHLO defines it."""
    x = np.arange(1, 6)
    dilated = []
    for value in x:
        dilated += [value] + [9] * interior
    dilated = dilated[: len(dilated) - interior]
    padded = [9] * max(low, 0) + dilated[max(-low, 0) :]
    padded = padded[: len(padded) + min(high, 0)] if high < 0 else padded + [9] * high
    found = run(
        backend, "pad", x, np.array(9), shape=(len(padded),), dtype=x.dtype,
        low=(low,), high=(high,), interior=(interior,),
    )  # fmt: skip
    np.testing.assert_array_equal(found, padded)


def test_pad_of_a_matrix(backend: CpuBackend) -> None:
    x = np.arange(6.0).reshape(2, 3)
    found = run(
        backend, "pad", x, np.array(-1.0), shape=(4, 2), dtype=x.dtype,
        low=(1, -1), high=(0, 0), interior=(1, 0),
    )  # fmt: skip
    np.testing.assert_array_equal(found, [[-1, -1], [1, 2], [-1, -1], [4, 5]])
