"""The primitives that gather and scatter-add windows, with their rules.

They check shapes alone: what an index is, and what one out of bounds does, is decided by the
public functions in `indexing` and by the backends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import int32, int64, uint32
from ..errors import DTypeError, ShapeError
from ..tensor import ShapeDtype
from . import choice
from .primitive import Primitive
from .value import Value, apply, constant_like

__all__ = ["GATHER", "INDEX_DTYPES", "MODES", "SCATTER_ADD"]

Shape = tuple[int, ...]

MODES = ("raise", "clip", "wrap", "fill")
#: What kernels index by.
INDEX_DTYPES = (int32, int64, uint32)


def _check_indices(op: str, x: ShapeDtype, indices: ShapeDtype, axes: Shape) -> None:
    if indices.dtype not in INDEX_DTYPES:
        raise DTypeError(op, f"indices must be integers, got {indices.dtype}", (indices.dtype,))
    if not indices.shape or indices.shape[-1] != len(axes):
        raise ShapeError(
            op,
            f"the last axis of indices counts the indexed axes {axes}, got shape {indices.shape}",
            (x.shape, indices.shape),
        )


def _gather_shape(
    x: ShapeDtype,
    indices: ShapeDtype,
    *,
    axes: Shape,
    slice_sizes: Shape,
    mode: str,
    caller: str = "gather",
) -> ShapeDtype:
    _check_indices(caller, x, indices, axes)
    if len(slice_sizes) != len(x.shape) or any(
        not 0 <= size <= extent for size, extent in zip(slice_sizes, x.shape, strict=True)
    ):
        raise ShapeError(
            caller,
            f"slices of sizes {slice_sizes} do not fit into shape {x.shape}",
            (x.shape, slice_sizes),
        )
    return ShapeDtype(indices.shape[:-1] + slice_sizes, x.dtype)


def scatter_shape(op: str) -> Callable[..., ShapeDtype]:
    """The shape rule of primitives that scatter."""

    def shape_rule(
        x: ShapeDtype,
        indices: ShapeDtype,
        updates: ShapeDtype,
        *,
        axes: Shape,
        mode: str,
        caller: str = op,
    ) -> ShapeDtype:
        _check_indices(caller, x, indices, axes)
        batch = len(indices.shape) - 1
        sizes = updates.shape[batch:]
        if (
            updates.shape[:batch] != indices.shape[:-1]
            or len(sizes) != len(x.shape)
            or any(size > extent for size, extent in zip(sizes, x.shape, strict=True))
        ):
            raise ShapeError(
                caller,
                f"updates of shape {updates.shape} do not fit indices of shape {indices.shape} "
                f"and a tensor of shape {x.shape}",
                (x.shape, indices.shape, updates.shape),
            )
        return ShapeDtype(x.shape, x.dtype)

    return shape_rule


def gather_zero(x: Value, indices: Value, axes: Shape, slice_sizes: Shape, mode: str) -> Any:
    """Gather with 0, not NaN, where ``mode="fill"`` finds no element: derivatives want it."""
    out = apply(GATHER, x, indices, axes=axes, slice_sizes=slice_sizes, mode=mode)
    if mode != "fill":
        return out
    ones = constant_like(x, 1, dtype=int32)
    found = apply(GATHER, ones, indices, axes=axes, slice_sizes=slice_sizes, mode=mode)
    return choice.where(choice.equal(found, 1), out, constant_like(out, 0))


def _scattered(g: Value, x: ShapeDtype, indices: Value, axes: Shape, mode: str) -> Any:
    zeros = constant_like(g, 0, shape=x.shape)
    return apply(SCATTER_ADD, zeros, indices, g, axes=axes, mode=mode)


GATHER: Primitive = Primitive(
    "gather", ("x", "indices"), _gather_shape,
    vjp=(
        lambda g, x_like, indices, *, axes, mode: _scattered(g, x_like, indices, axes, mode),
        None,
    ),
    jvp=(
        lambda t, indices, *, axes, slice_sizes, mode: gather_zero(
            t, indices, axes, slice_sizes, mode
        ),
        None,
    ),
)  # fmt: skip


def _scatter_updates_vjp(
    g: Value, indices: Value, updates: ShapeDtype, axes: Shape, mode: str
) -> Any:
    sizes = updates.shape[indices.ndim - 1 :]
    return gather_zero(g, indices, axes, sizes, mode)


SCATTER_ADD: Primitive = Primitive(
    "scatter_add", ("x", "indices", "updates"), scatter_shape("scatter_add"),
    vjp=(
        lambda g: g,
        None,
        lambda g, indices, updates_like, *, axes, mode: _scatter_updates_vjp(
            g, indices, updates_like, axes, mode
        ),
    ),
    jvp=(
        lambda t: t,
        None,
        lambda t, x_like, indices, *, axes, mode: _scattered(t, x_like, indices, axes, mode),
    ),
)  # fmt: skip
