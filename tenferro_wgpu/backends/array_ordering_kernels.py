"""Orders, searches and permutations over a NumPy-compatible namespace.

Part of `array_kernels`; called only through its table.
"""

from __future__ import annotations

from typing import Any

from ..tensor import ShapeDtype

__all__ = ["argsort", "permute", "searchsorted", "unpermute"]

Array = Any
Namespace = Any


def argsort(xp: Namespace, out: ShapeDtype, x: Array, *, descending: bool) -> Array:
    """The stable order of each row; descending it keeps equal elements in their order too."""
    if not descending:
        return xp.argsort(x, axis=-1, kind="stable")
    order = xp.argsort(x[..., ::-1], axis=-1, kind="stable")
    return (x.shape[-1] - 1) - order[..., ::-1]


def permute(xp: Namespace, out: ShapeDtype, x: Array, order: Array) -> Array:
    """``out[i, j] = x[i, order[i, j]]``."""
    return xp.take_along_axis(x, order, axis=1)


def unpermute(xp: Namespace, out: ShapeDtype, x: Array, order: Array) -> Array:
    """``out[i, order[i, j]] = x[i, j]``."""
    result = xp.empty(out.shape, out.dtype)
    result[xp.arange(out.shape[0])[:, None], order] = x
    return result


def searchsorted(xp: Namespace, out: ShapeDtype, x: Array, values: Array, *, side: str) -> Array:
    """Where `values` would be inserted into `x`."""
    return xp.searchsorted(x, values, side=side)
