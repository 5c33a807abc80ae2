"""Inputs on which sorting goes wrong: duplicates, NaN, zeros of both signs, runs in every order.

`orderings` gives vectors of any dtype and length; the references are NumPy's stable sorts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .values import special

__all__ = ["LENGTHS", "argsort_descending", "orderings"]

Array = np.ndarray[Any, Any]

#: Around nothing, a block of the merge sort, and the longest row that is merged.
LENGTHS = (0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 2049)


def _real(dtype: np.dtype[Any], count: int, seed: int) -> Array:
    """Values with many duplicates; floats with every special one."""
    rng = np.random.default_rng([seed, count])
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    few = rng.integers(-9 if dtype.kind != "u" else 0, 10, count).astype(dtype)
    if dtype.kind == "f":
        edges = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, 1.5, -1.5], dtype)
        return np.where(rng.integers(0, 3, count) > 0, few, rng.choice(edges, count))
    return np.where(rng.integers(0, 3, count) > 0, few, rng.choice(special(dtype.name), count))


def random_order(dtype: str, count: int, seed: int = 0) -> Array:
    """Values with duplicates and special ones in a random order."""
    kind = np.dtype(dtype)
    if kind.kind != "c":
        return _real(kind, count, seed)
    part = np.dtype(f"f{kind.itemsize // 2}")
    result = np.empty(count, kind)
    result.real, result.imag = _real(part, count, seed), _real(part, count, seed + 1)
    return result


def orderings(dtype: str, count: int) -> Array:
    """Rows of `count` elements: random, all equal, in order, in reverse order, few values."""
    mixed = random_order(dtype, count)
    rows = [
        mixed,
        np.full(count, mixed[0] if count else 0, mixed.dtype),
        np.sort(mixed, kind="stable"),
        np.sort(mixed, kind="stable")[::-1],
        random_order("bool", count).astype(mixed.dtype),
    ]
    return np.stack(rows)


def argsort_descending(array: Array, axis: int) -> Array:
    """The stable order from the largest element on, NaN first."""
    count = array.shape[axis]
    order = np.argsort(np.flip(array, axis), axis=axis, kind="stable")
    result: Array = count - 1 - np.flip(order, axis)
    return result
