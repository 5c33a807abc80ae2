"""Scatters that atomics combine: collisions, special values, and words that overflow."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw

REFERENCE = {"add": np.add, "min": np.minimum, "max": np.maximum}


def values(dtype: str, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        found = rng.uniform(-3, 3, count).astype(dtype)
        special = [np.nan, np.inf, -np.inf, 0.0, 1e-42, -1e-42, 3e38]
        found[rng.random(count) < 0.1] = rng.choice(special)
        found[: len(special)] = special
        return found
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)


@pytest.mark.parametrize(
    "dtype", ["int32", "uint32", "int8", "uint8", "int16", "uint16", "float32"]
)
@pytest.mark.parametrize("name", REFERENCE)
def test_entries_that_meet(rt, name, dtype):
    if dtype == "float32" and name == "add":
        return  # sums of floats are sorted: their order matters
    rng = np.random.default_rng(1)
    for shape in ((40,), (12, 5), (3, 4, 6)):
        x = values(dtype, int(np.prod(shape)), 2).reshape(shape)
        place = rng.integers(0, shape[0], 300)
        updates = values(dtype, 300 * x[0].size, 3).reshape(300, *shape[1:])
        expected = x.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            REFERENCE[name].at(expected, place, updates)
        changed = rt.constant_from(x).at[rt.constant_from(place)]
        found = getattr(changed, name)(rt.constant_from(updates)).numpy()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64", "bool"])
def test_the_last_of_several_entries_stays(rt, dtype):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, (9, 4)).astype(dtype)
    place = rng.integers(-9, 9, 200)
    updates = rng.integers(0, 100, (200, 4)).astype(dtype)
    expected = x.copy()
    for row, update in zip(place, updates, strict=True):
        expected[row] = update
    found = rt.constant_from(x).at[rt.constant_from(place)].set(rt.constant_from(updates))
    np.testing.assert_array_equal(found.numpy(), expected)


def test_nothing_is_sorted(rt, adapter):
    if adapter == "numpy":
        return
    x = rt.constant_from(np.zeros(1000, np.int32))
    place = rt.constant_from(np.arange(5000) % 1000)
    ones = rt.constant_from(np.ones(5000, np.int32))
    for change in (lambda: x.at[place].add(ones), lambda: x.at[place].set(ones)):
        change().numpy()
        before = rt.backend.stats()["queue"]["dispatches"]
        change().numpy()
        assert rt.backend.stats()["queue"]["dispatches"] - before <= 5


def test_indices_beyond_32_bits_wrap(rt):
    x = rt.constant_from(np.arange(7, dtype=np.float32))
    index = np.array([-1, 7, 2**40 + 3, -(2**50), 2**33, 6, -8, -(2**63), 2**63 - 1])
    found = tw.take(x, rt.constant_from(index), mode="wrap").numpy()
    np.testing.assert_array_equal(found, index % 7)
