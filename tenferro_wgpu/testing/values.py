"""Inputs for every operation: special values, random bits and layouts, in one place.

A bug of any kind is mended by adding the value that shows it here, so that every operation,
adapter and layout meets it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenferro_wgpu as tw

Array = np.ndarray[Any, Any]

FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = FLOATS + INTEGERS
#: What has an order.
ALL = (*NUMBERS, "bool")
#: All dtypes of the library.
EVERY = (*ALL, *COMPLEX)

_SPECIAL_FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, -2.5, 0.1, -0.7, 10.0, -10.0,
    88.0, 89.0, -87.5, -104.0, 100.0, 709.0, -745.0, 1e-3, -1e-3, 1e-10, 1e10, -1e10, 16777217.0,
    1e30, -1e30, 3.14159265, 1.5707963, -6.2831853, 1e5, 2147483648.0,
    np.inf, -np.inf, np.nan,
]  # fmt: skip
#: Parts of complex numbers, each met with each.
_SPECIAL_PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3e4, 1e-4, np.inf, -np.inf, np.nan]
_SPECIAL_INTEGERS = [0, 1, 2, 3, 5, 7, 10, 31, 100, 46341, 65536, 2**31 - 1]
_SPECIAL_INTEGERS += [2**32 - 1, 2**32, 2**32 + 1, 2**53 + 1, 2**62 + 12345]


def special(dtype: str) -> Array:
    """Values where an operation is likely to go wrong, for one dtype."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True, True, False])
    if kind.kind == "c":
        parts = np.array(_SPECIAL_PARTS)
        return _joined(np.repeat(parts, len(parts)), np.tile(parts, len(parts)), kind)
    if kind.kind == "f":
        floats = np.finfo(kind)
        edges = [floats.max, floats.min, floats.tiny, floats.eps, 1 + floats.eps, 1 - floats.epsneg]
        with np.errstate(over="ignore"):
            return np.array(_SPECIAL_FLOATS + edges).astype(kind)
    limits = np.iinfo(kind)
    values = [v for v in _SPECIAL_INTEGERS if v <= limits.max] + [limits.max, limits.max - 1]
    if limits.min < 0:
        values += [-v for v in values] + [limits.min, limits.min + 1]
    return np.array(values, kind)


def _joined(first: Array, second: Array, kind: np.dtype[Any]) -> Array:
    """Complex numbers of two parts, put together without arithmetic."""
    result = np.empty(first.shape, kind)
    result.real, result.imag = first, second
    return result


def random(dtype: str, count: int, seed: int = 0) -> Array:
    """Random values of moderate size (floats), or over the whole range (integers)."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if kind.kind == "c":
        first, second = rng.standard_normal((2, count)) * 3
        return _joined(first, second, kind)
    if kind.kind == "f":
        return (rng.standard_normal(count) * 3).astype(kind)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, count, dtype=kind, endpoint=True)


def vector(dtype: str) -> Array:
    """Special values followed by random ones."""
    return np.concatenate([special(dtype), random(dtype, 40)])


def pairs(dtype: str) -> tuple[Array, Array]:
    """Every special value against every other, followed by random pairs."""
    values = special(dtype)
    if values.dtype.kind == "c":
        values = values[::5]  # 121 squared are more than a software GPU likes
    first = np.concatenate([np.repeat(values, len(values)), random(dtype, 50, 1)])
    second = np.concatenate([np.tile(values, len(values)), random(dtype, 50, 2)])
    return first, second


#: name -> (host view, the same view by our own operations), to be applied to a (4, 6) tensor.
LAYOUTS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "contiguous": (lambda a: a, lambda x: x),
    "transposed": (lambda a: a.T, lambda x: x.T),
    "reversed": (lambda a: a[::-1, ::-1], lambda x: x[::-1, ::-1]),
    "strided": (lambda a: a[1::2, ::3], lambda x: x[1::2, ::3]),
    "row": (lambda a: a[2], lambda x: x[2]),
    "column": (lambda a: a[:, 3], lambda x: x[:, 3]),
    "element": (lambda a: a[1, 2], lambda x: x[1, 2]),
    "empty": (lambda a: a[:0], lambda x: x[:0]),
    "repeated": (
        lambda a: np.broadcast_to(a[:, None], (4, 3, 6)),
        lambda x: tw.broadcast_to(x[:, None], (4, 3, 6)),
    ),
}


def matrix(dtype: str, seed: int = 3) -> Array:
    """A (4, 6) matrix of random values for layout tests."""
    return random(dtype, 24, seed).reshape(4, 6)
