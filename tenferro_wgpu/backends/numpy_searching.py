"""Searching on NumPy in evenly spaced numbers without a binary search per value.

The edges of histograms are mostly even: a division says where a value belongs up to one place, and
two comparisons with the edges themselves say it exactly.  Used only by `numpy_backend`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import ShapeDtype

__all__ = ["searchsorted"]

Array = np.ndarray[Any, Any]

#: Fewer values, or fewer of them for each edge, are not worth looking whether the edges are even.
_LEAST = 8192
_LEAST_PER_EDGE = 16
#: Up to so many edges a place from float32 is wrong by far less than half of one.
_MOST_EDGES = 65536
#: Values at a time: what is in between stays in the cache.
_BLOCK = 16384


def searchsorted(xp: Any, out: ShapeDtype, x: Array, values: Array, *, side: str) -> Any:
    """Where `values` would be inserted into `x`."""
    per_step = _steps(x, values)
    if per_step is None:
        return np.searchsorted(x, values, side="right" if side == "right" else "left")
    line = np.ascontiguousarray(values).reshape(-1)
    found = np.empty(line.size, out.dtype)
    # No number is beyond NaN, so that the last edge has no next one.
    after = np.append(x[1:], x.dtype.type(np.nan))
    reached = np.less_equal if side == "right" else np.less
    for start in range(0, line.size, _BLOCK):
        part = line[start : start + _BLOCK]
        place = (part - x[0]) * per_step
        # These leave NaN out, which is beyond every edge.
        place = np.fmin(np.fmax(place, 0), x.size - 1).astype(np.intp)
        count = found[start : start + _BLOCK]
        np.add(place, reached(x[place], part), out=count)
        count += reached(after[place], part)
        count[np.isnan(part)] = x.size
    return found.reshape(out.shape)


def _steps(x: Array, values: Array) -> Any:
    """One by the distance of neighbours in `x`, if it is worth knowing and the same for all."""
    if x.dtype.kind != "f" or x.dtype.itemsize < 4 or values.dtype != x.dtype:
        return None
    if values.size < max(_LEAST, _LEAST_PER_EDGE * x.size) or not 4 <= x.size <= _MOST_EDGES:
        return None
    step = (x[-1] - x[0]) / (x.size - 1)
    per_step = x.dtype.type(1) / step
    if not (step > 0 and np.isfinite(step) and np.isfinite(per_step)):
        return None
    even = x[0] + np.arange(x.size) * np.float64(step)
    return per_step if np.all(np.abs(x - even) < np.float64(step) / 4) else None
