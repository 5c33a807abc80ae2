"""Gather and scatter over a NumPy-compatible namespace: window starts to fancy indices.

Part of `array_kernels`; called only through its table.  A window of extents `slice_sizes` starts
at ``indices[..., j]`` on operand axis ``axes[j]`` and at 0 on every other axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ..errors import ArgumentError, IndexOutOfBoundsError
from ..naming import called
from ..tensor import ShapeDtype

__all__ = ["SCATTER_KERNELS", "dynamic_update_slice", "gather", "one_by_one", "without_atomics"]

Array = Any
Namespace = Any
Kernel = Callable[..., Array]


def gather(
    xp: Namespace,
    out: ShapeDtype,
    x: Array,
    indices: Array,
    *,
    axes: tuple[int, ...],
    slice_sizes: tuple[int, ...],
    mode: str,
    caller: str = "gather",
) -> Array:
    """Windows of `x`, shape ``batch + slice_sizes``.

    mode: "raise" (negative starts count from the end once; outside raises
    IndexOutOfBoundsError), "clip" (starts are clamped), "wrap" (positions modulo the axis),
    "fill" (a window that is not inside is NaN, or 0 for dtypes without NaN).
    """
    batch_shape = indices.shape[:-1]
    if 0 in out.shape:
        return xp.empty(out.shape, out.dtype)  # nothing is read, so nothing is out of bounds
    starts, inside = _window_starts(xp, caller, x.shape, indices, axes, slice_sizes, mode)
    order = _indexed_first(axes, x.ndim)
    source = _crop(x.transpose(order), len(axes), [slice_sizes[axis] for axis in order])
    # All extents are 1 where they add up to the rank: none of them is 0 here.
    if 1 < len(axes) == x.ndim == sum(slice_sizes) and x.flags.c_contiguous:
        windows = _elements(x, starts, axes)
    else:
        windows = source[_positions(xp, x.shape, starts, axes, slice_sizes)]
    if not axes:
        windows = xp.array(xp.broadcast_to(source, (prod(batch_shape), *source.shape)))
    if inside is not None:
        fill = float("nan") if out.dtype.kind in "fc" else 0
        inside = inside.reshape((-1,) + (1,) * x.ndim)
        windows = xp.where(inside, windows, xp.asarray(fill, dtype=out.dtype))
    back = [0] * x.ndim
    for position, axis in enumerate(order):
        back[axis] = position + 1
    return windows.transpose((0, *back)).reshape(out.shape)


def dynamic_update_slice(
    xp: Namespace, out: ShapeDtype, x: Array, update: Array, starts: Array
) -> Array:
    """`x` with `update` in the window at starts that are clamped so that it is inside."""
    result = xp.array(x, order="C")
    key = []
    for axis, (extent, size) in enumerate(zip(x.shape, update.shape, strict=True)):
        start = min(max(int(starts[axis]), 0), extent - size)
        key.append(slice(start, start + size))
    result[tuple(key)] = update
    return result


#: Primitive -> the in-place update of a namespace that it is, and the function of two elements of
#: it where a namespace has no such update.  The last entry stays where several replace.
_UPDATES: dict[str, tuple[Callable[[Namespace], Callable[..., None]], str]] = {
    "scatter_add": (lambda xp: xp.add.at, "add"),
    "scatter_mul": (lambda xp: xp.multiply.at, "multiply"),
    "scatter_min": (lambda xp: xp.minimum.at, "minimum"),
    "scatter_max": (lambda xp: xp.maximum.at, "maximum"),
    "scatter_set": (lambda xp: _assign, ""),
}


def _scattering(name: str, choose: Callable[[Namespace], Callable[..., None]]) -> Kernel:
    """A kernel that updates `x` by the windows of `updates`, shape ``batch + slice_sizes``.

    Modes as in `gather`; with "fill" a window that is not inside is dropped.
    """

    def kernel(
        xp: Namespace,
        out: ShapeDtype,
        x: Array,
        indices: Array,
        updates: Array,
        *,
        axes: tuple[int, ...],
        mode: str,
        caller: str = name,
    ) -> Array:
        return _scattered(xp, caller, x, indices, updates, axes, mode, choose(xp))

    return kernel


def without_atomics(name: str) -> Kernel:
    """A kernel of `SCATTER_KERNELS` for a namespace that lacks its atomics: the same values."""
    combination = _UPDATES[name][1]
    return _scattering(
        name, lambda xp: one_by_one(xp, getattr(xp, combination) if combination else None)
    )


def _assign(target: Array, positions: tuple[Array, ...], windows: Array) -> None:
    target[positions] = windows


def one_by_one(xp: Namespace, combine: Callable[..., Array] | None) -> Callable[..., None]:
    """An in-place update like ``ufunc.at`` for combinations that a namespace has no atomics for.

    Entries that meet go in rounds, the first ones of all positions, then the second ones, and so
    on; without `combine` the last one replaces, and is the only one that goes.
    """

    def update(target: Array, positions: tuple[Array, ...], windows: Array) -> None:
        extents = target.shape[: len(positions)]
        flat = xp.zeros(windows.shape[: len(positions) + 1], dtype=xp.int64)
        for position, extent in zip(positions, extents, strict=True):
            flat = flat * extent + position
        flat = flat.reshape((-1,))
        if flat.size == 0:
            return
        rows = windows.reshape((flat.size, *target.shape[len(positions) :]))
        order = xp.argsort(flat, kind="stable")
        ordered = flat[order]
        if combine is None:
            last = xp.searchsorted(ordered, ordered, side="right") - 1
            chosen = order[last == xp.arange(flat.size)]
            target[xp.unravel_index(flat[chosen], extents)] = rows[chosen]
            return
        rounds = xp.arange(flat.size) - xp.searchsorted(ordered, ordered, side="left")
        for number in range(int(rounds.max()) + 1):
            chosen = order[rounds == number]
            at = xp.unravel_index(flat[chosen], extents)
            target[at] = combine(target[at], rows[chosen])

    return update


def _scattered(
    xp: Namespace,
    op: str,
    x: Array,
    indices: Array,
    updates: Array,
    axes: tuple[int, ...],
    mode: str,
    update: Callable[..., None],
) -> Array:
    """`x` with `update` done at the windows' places."""
    batch_ndim = indices.ndim - 1
    slice_sizes = updates.shape[batch_ndim:]
    result = xp.array(x, order="C")
    if 0 in updates.shape:
        return result
    starts, inside = _window_starts(xp, op, x.shape, indices, axes, slice_sizes, mode)
    order = _indexed_first(axes, x.ndim)
    target = _crop(result.transpose(order), len(axes), [slice_sizes[axis] for axis in order])
    windows = updates.reshape((prod(indices.shape[:-1]), *slice_sizes))
    windows = windows.transpose((0, *(axis + 1 for axis in order)))
    if inside is not None:
        windows = windows[inside]
        starts = [start[inside] for start in starts]
    if not axes:
        # A rank more, of extent 1 and index 0, so that there is something to index.
        target, windows = target[None], windows[:, None]
        update(target, (xp.zeros((windows.shape[0], 1), xp.int64),), windows)
        return result
    # A view is updated in place: transpose and slicing never copy.
    update(target, _positions(xp, x.shape, starts, axes, slice_sizes), windows)
    return result


#: The kernels that scatter, by primitive name.
SCATTER_KERNELS: dict[str, Kernel] = {
    name: _scattering(name, choose) for name, (choose, _) in _UPDATES.items()
}


def _window_starts(
    xp: Namespace,
    op: str,
    shape: tuple[int, ...],
    indices: Array,
    axes: tuple[int, ...],
    slice_sizes: Sequence[int],
    mode: str,
) -> tuple[list[Array], Array | None]:
    """One flat int64 array of starts per indexed axis and, for "fill", which windows are inside."""
    count = prod(indices.shape[:-1])
    starts = []
    inside = xp.ones((count,), dtype=bool) if mode == "fill" else None
    for position, axis in enumerate(axes):
        start = indices[..., position].astype(xp.int64).reshape((count,))
        size = shape[axis]
        limit = size - slice_sizes[axis]
        if mode == "raise":
            if bool(xp.any((start < 0) | (start > limit))):
                start = xp.where(start < 0, start + size, start)
                outside = (start < 0) | (start > limit)
                if bool(xp.any(outside)):
                    found = int(indices[..., position].reshape((count,))[int(xp.argmax(outside))])
                    raise IndexOutOfBoundsError(called(op), index=found, axis=axis, size=size)
        elif mode == "clip":
            start = xp.clip(start, 0, max(limit, 0))
        elif mode == "wrap":
            start = start % max(size, 1)
        elif mode == "fill":
            within = (start >= 0) & (start <= limit)
            inside = inside & within
            start = xp.where(within, start, 0)
        else:
            raise ArgumentError(op, f"mode={mode!r}; choose raise, clip, wrap or fill")
        starts.append(start)
    return starts, inside


def _elements(x: Array, starts: Sequence[Array], axes: tuple[int, ...]) -> Array:
    """Single elements of C order by their numbers, which is faster than by an index per axis."""
    number = starts[axes.index(0)]  # an array of the kernel's own, as all starts are
    for axis in range(1, x.ndim):
        number *= x.shape[axis]
        number += starts[axes.index(axis)]
    return x.reshape((-1,))[number].reshape((-1,) + (1,) * x.ndim)


def _positions(
    xp: Namespace,
    shape: tuple[int, ...],
    starts: Sequence[Array],
    axes: tuple[int, ...],
    slice_sizes: Sequence[int],
) -> tuple[Array, ...]:
    """Index arrays that broadcast to (windows, extents of the indexed axes...)."""
    positions = []
    for position, (start, axis) in enumerate(zip(starts, axes, strict=True)):
        index = start.reshape((-1,) + (1,) * len(axes))
        if slice_sizes[axis] != 1:
            steps = [1] * len(axes)
            steps[position] = slice_sizes[axis]
            # The modulo matters to "wrap" alone; every other mode stays inside the axis.
            index = (index + xp.arange(slice_sizes[axis]).reshape(steps)) % max(shape[axis], 1)
        positions.append(index)
    return tuple(positions)


def _indexed_first(axes: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return (*axes, *(axis for axis in range(ndim) if axis not in axes))


def _crop(x: Array, indexed: int, extents: Sequence[int]) -> Array:
    """Shorten the axes that are not indexed to the window's extents."""
    return x[(slice(None),) * indexed + tuple(slice(0, extent) for extent in extents[indexed:])]
