"""Random numbers of any bits, and the wider format in which NumPy computes references.

Rows of measured functions and tests draw from here; nothing here evaluates anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Wider format that NumPy computes references in. 80-bit long doubles leave 11 bits for binary64.
WIDER: dict[str, Any] = {
    "float16": np.float64,
    "float32": np.float64,
    "float64": np.longdouble,
    "complex64": np.complex128,
    "complex128": np.clongdouble,
}


def random_bits(random: np.random.Generator, count: int, dtype: Any) -> np.ndarray:
    """Return numbers of uniformly random bits: every exponent, both signs, some not finite."""
    kind = np.dtype(dtype)
    if kind.kind == "c":
        parts = random_bits(random, 2 * count, np.dtype(f"f{kind.itemsize // 2}"))
        return parts.view(kind)
    words = np.dtype(f"u{kind.itemsize}")
    return random.integers(0, np.iinfo(words).max, count, dtype=words, endpoint=True).view(dtype)


def uniform(
    random: np.random.Generator, low: float, high: float, count: int, dtype: Any
) -> np.ndarray:
    """Return numbers between `low` and `high`; each part of complex ones is."""
    if np.dtype(dtype).kind == "c":
        real, imaginary = random.uniform(low, high, (2, count))
        return (real + 1j * imaginary).astype(dtype)
    return random.uniform(low, high, count).astype(dtype)
