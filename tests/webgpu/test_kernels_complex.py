"""Complex numbers through every family of kernels, one by one and fused at once.

Values are compared with NumPy, so that a family that mixes up parts, words or constants shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import SOFTWARE, shared_runtime

import tenferro_wgpu as tw
from tenferro_wgpu.backends.webgpu.fusion import running
from tenferro_wgpu.backends.webgpu.kernels.contraction import tile_table
from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import Tile

TOLERANCES = {"complex64": 4e-6, "complex128": 2e-14}
DTYPES = tuple(TOLERANCES)


@pytest.fixture(params=["one by one", "fused"])
def fusion(request, monkeypatch):
    """Whether structures that were never seen get kernels of their own."""
    if request.param == "fused":
        monkeypatch.setattr(running, "SIGHTINGS_BEFORE_COMPILING", 0)
    return request.param


@pytest.fixture(params=SOFTWARE)
def device(request):
    runtime = shared_runtime(request.param)
    with runtime.as_default():
        yield runtime


def numbers(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def assert_near(got: Any, want: np.ndarray, dtype: str) -> None:
    found = got.numpy()
    assert found.dtype == want.dtype and found.shape == want.shape
    scale = np.max(np.abs(want), initial=1e-30)
    assert np.max(np.abs(found - want), initial=0.0) <= TOLERANCES[dtype] * scale


def _scattered(x: np.ndarray, updates: np.ndarray) -> np.ndarray:
    found = x.copy()
    np.add.at(found, (slice(None), [2, 0, 2]), updates)
    return found


#: name -> (ours, NumPy's) of x with shape (6, 5, 8).
PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], Any]]] = {
    "chain": (
        lambda x: tw.conj(x * x + (1 - 2j)) * tw.abs(x) - x / (x + 3),
        lambda x: np.conj(x * x + x.dtype.type(1 - 2j)) * np.abs(x) - x / (x + 3),
    ),
    "parts": (
        lambda x: tw.real(x) * 1j + tw.imag(x),
        lambda x: (x.real * 1j + x.imag).astype(x.dtype),
    ),
    "constants": (
        lambda x: tw.where(tw.real(x) > 0, 0.5j, x) * (3 - 4j),
        lambda x: np.where(x.real > 0, x.dtype.type(0.5j), x) * x.dtype.type(3 - 4j),
    ),
    "strided": (
        lambda x: tw.swapaxes(x[::2, ::-1], 0, 2) * tw.swapaxes(x[1::2], 0, 2) + x[0, 0, 0],
        lambda x: x[::2, ::-1].swapaxes(0, 2) * x[1::2].swapaxes(0, 2) + x[0, 0, 0],
    ),
    "modulus": (lambda x: tw.abs(x - 1) ** 2 + 1, lambda x: np.abs(x - 1) ** 2 + 1),
    "sum of products": (
        lambda x: tw.sum(x * tw.conj(x) + 2j, axis=1) * 1j,
        lambda x: (x * x.conj() + x.dtype.type(2j)).sum(1) * x.dtype.type(1j),
    ),
    "sum of moduli": (
        lambda x: tw.sum(tw.abs(x), axis=(0, 2)),
        lambda x: np.abs(x).sum((0, 2)),
    ),
    "mean": (lambda x: tw.mean(x, axis=0), lambda x: x.mean(0)),
    "product": (lambda x: tw.prod(x[:3], axis=0), lambda x: x[:3].prod(0)),
    "rows": (
        lambda x: x / tw.sum(tw.exp(x) * 1j, axis=2, keepdims=True),
        lambda x: x / (np.exp(x) * x.dtype.type(1j)).sum(2, keepdims=True),
    ),
    "take": (lambda x: tw.take(x, [4, 0, 1], axis=1), lambda x: x[:, [4, 0, 1]]),
    "scatter": (
        lambda x: tw.scatter_add(x, [2, 0, 2], x[:, 1:4] * 2, axis=1),
        lambda x: _scattered(x, x[:, 1:4] * 2),
    ),
    "pad": (
        lambda x: tw.pad(x, ((1, 2), (0, 1), (-1, 3)), constant_values=3 - 4j),
        lambda x: np.pad(x[:, :, 1:], ((1, 2), (0, 1), (0, 3)), constant_values=3 - 4j),
    ),
    "concatenate": (
        lambda x: tw.concatenate([x, x[:, ::-1]], axis=2),
        lambda x: np.concatenate([x, x[:, ::-1]], axis=2),
    ),
    "roll": (lambda x: tw.roll(x, 3, axis=2), lambda x: np.roll(x, 3, axis=2)),
    "transpose": (
        lambda x: tw.reshape(tw.transpose(x, (2, 0, 1)), (-1,)),
        lambda x: x.transpose(2, 0, 1).reshape(-1),
    ),
    "casts": (
        lambda x: tw.astype(tw.astype(x, "complex128") * 2, x.dtype) + tw.astype(x, "bool"),
        lambda x: (x.astype("complex128") * 2).astype(x.dtype) + x.astype("bool"),
    ),
    "matrices": (
        lambda x: tw.conj(x[0]).T @ (x[1] + 1j) * (1 + 2j) + x[2, 0],
        lambda x: (x[0].conj().T @ (x[1] + x.dtype.type(1j))) * x.dtype.type(1 + 2j) + x[2, 0],
    ),
    "vectors": (lambda x: tw.vecdot(x, x[0]), lambda x: (x.conj() * x[0]).sum(-1)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(device, fusion, name, dtype):
    ours, theirs = PROGRAMS[name]
    x = numbers(dtype, 6, 5, 8)
    assert_near(ours(device.constant_from(x)), np.asarray(theirs(x)), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_fusion_changes_no_bit(device, dtype, monkeypatch):
    def value(x: Any) -> Any:
        y = tw.conj(x * x - (0.5 + 2j)) / (x + 1j)
        return tw.sum(y * tw.abs(y) - x, axis=1) * (2 - 1j)

    x = numbers(dtype, 9, 33)
    found = []
    for sightings in (1 << 30, 0):
        monkeypatch.setattr(running, "SIGHTINGS_BEFORE_COMPILING", sightings)
        found.append(value(device.constant_from(x)).numpy())
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_sums_are_compensated_in_both_parts(device, dtype):
    """A large part must not cost the small one its digits; an infinite one leaves it alone."""
    part = np.finfo(dtype).dtype
    x = np.empty(40_000, dtype)
    x.real = 1e6
    x.imag = np.resize(np.array([1, 1e-3, -0.5], part), 40_000)
    got = tw.sum(device.constant_from(x)).numpy()
    exact_imag = np.sum(x.imag.astype(np.longdouble))
    assert abs(got.real - 4e10) <= 16 * np.finfo(part).eps * 4e10
    assert abs(got.imag - exact_imag) <= 16 * np.finfo(part).eps * exact_imag
    x.real[7] = np.inf
    got = tw.sum(device.constant_from(x)).numpy()
    assert got.real == np.inf
    assert abs(got.imag - exact_imag) <= 16 * np.finfo(part).eps * exact_imag


#: Tiles of software complex128 have one element: more take long to compile.
TILES = [
    ("complex64", Tile("registers", 4, 4)),
    ("complex64", Tile("lanes", 1, 1)),
    ("complex128", Tile("registers", 1, 1)),
    ("complex128", Tile("lanes", 1, 1)),
]


@pytest.mark.parametrize(("dtype", "tile"), TILES, ids=str)
def test_products_of_few_rows_in_every_scheme(device, dtype, tile):
    x, y = numbers(dtype, 2, 7, 21), numbers(dtype, 2, 21, 17, seed=1)
    table = tile_table(device.backend._launcher)
    forced, table.forced = table.forced, tile
    device.clear_caches()
    try:
        assert_near(device.constant_from(x) @ device.constant_from(y), x @ y, dtype)
    finally:
        table.forced = forced
        device.clear_caches()


#: (layout of x, layout of y) from arrays of shapes (3, 24, 40) and (3, 40, 36).
OPERANDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "plain": (lambda x: x, lambda y: y),
    "columns": (lambda x: x[:, :, ::2], lambda y: y[:, 1::2, ::-1]),
    "one matrix": (lambda x: x[0], lambda y: y[1, :, 3:]),
    "broadcast": (lambda x: x[:, 1:], lambda y: y[2]),
    "broadcast left": (lambda x: x[1], lambda y: y),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERANDS)
def test_products_of_many_rows_are_real_products(device, dtype, name):
    left, right = OPERANDS[name]
    x, y = numbers(dtype, 3, 24, 40), numbers(dtype, 3, 40, 36, seed=1)
    got = left(device.constant_from(x)) @ right(device.constant_from(y))
    assert_near(got * (1 - 2j), (left(x) @ right(y)) * x.dtype.type(1 - 2j), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_with_transposes(device, dtype):
    """Rows of x that lie across are copied; long sums are split."""
    x, y = numbers(dtype, 24, 20), numbers(dtype, 24, 9, seed=1)
    got = tw.conj(device.constant_from(x)).T @ device.constant_from(y)
    assert_near(got, x.conj().T @ y, dtype)
    long = numbers(dtype, 12, 3000)
    assert_near(device.constant_from(long) @ device.constant_from(long).T, long @ long.T, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_infinities_in_products(device, dtype):
    x, y = numbers(dtype, 9, 5), numbers(dtype, 5, 6, seed=1)
    x[3, 2] = complex(np.inf, 1)
    got = (device.constant_from(x) @ device.constant_from(y)).numpy()
    assert np.isinf(got[3].real).all() and np.isinf(got[3].imag).all()
    assert np.isfinite(np.delete(got, 3, axis=0)).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_fill_gathers_not_a_number(device, dtype):
    x = numbers(dtype, 3, 4)
    got = tw.take(device.constant_from(x), [9, 1], axis=0, mode="fill").numpy()
    np.testing.assert_array_equal(np.isnan(got), [[True] * 4, [False] * 4])
    np.testing.assert_array_equal(got[1], x[1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_and_new_tensors(device, dtype):
    one = device.constant_from(np.asarray(1.5 - 2j, dtype))
    assert complex(one) == 1.5 - 2j
    full = tw.full((2, 3), -0.25 + 8j, dtype=dtype, device=device)
    np.testing.assert_array_equal(full.numpy(), np.full((2, 3), -0.25 + 8j, dtype))
    assert tw.zeros((2,), dtype=dtype, device=device).numpy().tolist() == [0j, 0j]
    assert tw.sum(tw.zeros((0, 2), dtype=dtype, device=device), axis=0).tolist() == [0j, 0j]
    assert tw.prod(tw.zeros((0, 2), dtype=dtype, device=device), axis=0).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_transpositions_move_in_blocks(device, dtype):
    x = numbers(dtype, 70, 128)
    np.testing.assert_array_equal(
        tw.reshape(device.constant_from(x).T, (-1,)).numpy(), x.T.reshape(-1)
    )


def test_new_scalars_make_no_pipelines(device):
    """Constants of four words travel as data, too."""
    x = device.constant_from(numbers("complex128", 5, 7))

    def built() -> int:
        return device.stats()["backend"]["pipelines"]["built"]

    (x * (1 + 1j) + 2j).numpy()
    (x * (2 + 1j) + 3j).numpy()
    (x * (3 + 1j) + 4j).numpy()
    before = built()
    for k in range(5):
        (x * complex(k, 2) + complex(-k, k)).numpy()
    assert built() == before


@pytest.mark.parametrize("dtype", DTYPES)
def test_warm_programs_compile_nothing(device, dtype):
    def loss(z: Any, w: Any) -> Any:
        return tw.sum(tw.abs(tw.conj(z) @ w * (1 + 2j) - w) ** 2)

    tw.warmup(loss, ((9, 9), dtype), ((9, 9), dtype), grad=True, device=device)
    before = device.stats()["backend"]["pipelines"]["built"]
    z, w = (device.variable_from(numbers(dtype, 9, 9, seed=seed)) for seed in (1, 2))
    loss(z, w).backward()
    assert z.grad.numpy().dtype == w.grad.numpy().dtype == dtype
    assert device.stats()["backend"]["pipelines"]["built"] == before
