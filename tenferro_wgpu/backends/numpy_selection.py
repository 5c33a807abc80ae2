"""Choosing between arrays on NumPy without a branch per element.

NumPy's `where` takes a branch for each element: half a nanosecond where the processor foresees it,
several where the mask follows no pattern.  Choosing the bits costs the same for every mask.  Used
only by `numpy_backend`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import ShapeDtype

__all__ = ["select"]

Array = np.ndarray[Any, Any]

#: Unsigned integers by their bytes.
_BITS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
#: Fewer elements are faster by NumPy's own function.
_LEAST = 32768
#: So many elements in the middle of a mask say how it goes: patterns change seldom there.
_SAMPLE = 1024
_SELDOM = _SAMPLE // 32
#: Elements at a time: what is in between stays in the cache.
_BLOCK = 16384


def select(xp: Any, out: ShapeDtype, condition: Array, x: Array, y: Array) -> Any:
    """x where the condition holds, else y."""
    bits = _BITS.get(out.dtype.itemsize)
    if bits is None or condition.size < _LEAST or not condition.flags.c_contiguous:
        return np.where(condition, x, y)
    first, second = _line(x, condition, out, bits), _line(y, condition, out, bits)
    if first is None or second is None:
        return np.where(condition, x, y)
    mask = condition.reshape(-1).view(np.uint8)
    sample = mask[mask.size // 2 :][:_SAMPLE]
    if np.count_nonzero(sample[1:] != sample[:-1]) < _SELDOM:
        return np.where(condition, x, y)
    result = np.empty(mask.size, bits)
    for start in range(0, mask.size, _BLOCK):
        places = slice(start, start + _BLOCK)
        chosen = result[places]
        other = second if second.size == 1 else second[places]
        # All ones where the condition holds.
        ones = mask[places].astype(bits)
        np.negative(ones, out=ones)
        np.bitwise_xor(first if first.size == 1 else first[places], other, out=chosen)
        chosen &= ones
        chosen ^= other
    return result.view(out.dtype).reshape(out.shape)


def _line(x: Array, condition: Array, out: ShapeDtype, bits: np.dtype[Any]) -> Array | None:
    """The bits of all elements, or of the one that repeats; None where neither is at hand."""
    if x.dtype != out.dtype:
        return None
    if x.size == 1 or not any(x.strides):
        return np.asarray(x[(0,) * x.ndim]).reshape(1).view(bits)
    if x.shape != condition.shape or not x.flags.c_contiguous:
        return None
    return x.reshape(-1).view(bits)
