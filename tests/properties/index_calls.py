"""Random valid calls of indexing operations and contractions, continuing `calls`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .calls import Call, maker
from .operands import ALL, NUMBERS, Operand, random_operand, random_shape
from .sources import Source

INDEX_DTYPES = ("int64", "int32", "uint32")

# -- indices ------------------------------------------------------------------------------------


def _indices(source: Source, shape: tuple[int, ...], low: int, high: int) -> Any:
    """Host indices or an index tensor, from `low` to `high`, seen through no view."""
    array = source.generator().integers(low, high + 1, shape)
    if source.chance(50):
        return array
    dtype = source.choice(INDEX_DTYPES)
    if dtype == "uint32" and low < 0:
        dtype = "int64"
    return Operand(array.astype(dtype))


def _indexable(source: Source, dtype: str, kind: str = "any") -> Operand:
    shape = tuple(n or 1 for n in random_shape(source, 4)) or (3,)
    return random_operand(source, dtype, shape=shape, kind=kind)


@maker("take")
def _take(source: Source) -> Call:
    operand = _indexable(source, source.choice(ALL))
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    mode = source.choice(("raise", "clip", "wrap"))
    size = operand.shape[axis]
    spare = 0 if mode == "raise" else 2 * size
    shape = source.choice(((3,), (), (2, 2), (0,), (7,)))
    indices = _indices(source, shape, -size - spare, size - 1 + spare)
    return Call("take", tw.take, np.take, [operand, indices], {"axis": axis, "mode": mode})


@maker("take_along_axis")
def _take_along_axis(source: Source) -> Call:
    operand = _indexable(source, source.choice(ALL))
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    size = operand.shape[axis]
    shape = [1 if source.chance(20) else extent for extent in operand.shape]
    shape[axis] = source.choice((1, 2, 0, 5))
    indices = _indices(source, tuple(shape), -size, size - 1)
    return Call(
        "take_along_axis", tw.take_along_axis, np.take_along_axis, [operand, indices],
        {"axis": axis},
    )  # fmt: skip


@maker("getitem with arrays")
def _getitem_arrays(source: Source) -> Call:
    operand = _indexable(source, source.choice(ALL))
    count = source.integer(1, operand.ndim)
    places = set(source.permutation(operand.ndim)[:count])
    shape = source.choice(((3,), (2, 2), (1,), (), (0,)))
    key: list[Any] = []
    for axis, size in enumerate(operand.shape):
        if axis in places:
            key.append(_indices(source, shape, -size, size - 1))
        else:
            key.append(source.choice((slice(None), slice(None, None, -1), slice(1, None, 2))))
        if source.chance(10):
            key.append(None)
    return Call(
        "getitem with arrays", tw.getitem, lambda array, key: array[key], [operand, tuple(key)]
    )


def _windows(source: Source, operand: Operand) -> tuple[tuple[int, ...], tuple[int, ...], Any]:
    axes = source.permutation(operand.ndim)[: source.integer(1, operand.ndim)]
    sizes = tuple(source.integer(1, extent) for extent in operand.shape)
    batch = source.choice(((2,), (), (2, 3), (0,)))
    starts = np.stack(
        [
            source.generator().integers(0, operand.shape[axis] - sizes[axis] + 1, batch)
            for axis in axes
        ],
        axis=-1,
    )
    return axes, sizes, starts


def _window(array: np.ndarray, start: np.ndarray, axes: Any, sizes: Any) -> np.ndarray:
    key = [slice(0, size) for size in sizes]
    for axis, first in zip(axes, start, strict=True):
        key[axis] = slice(int(first), int(first) + sizes[axis])
    return array[tuple(key)]


def gathered(array: np.ndarray, starts: np.ndarray, axes: Any, slice_sizes: Any) -> np.ndarray:
    """StableHLO's gather in NumPy, window by window."""
    result = np.empty(starts.shape[:-1] + slice_sizes, array.dtype)
    for place in np.ndindex(starts.shape[:-1]):
        result[place] = _window(array, starts[place], axes, slice_sizes)
    return result


def scattered(array: np.ndarray, starts: np.ndarray, updates: Any, axes: Any) -> np.ndarray:
    """The transpose of `gathered`, added to `array`."""
    result = array.copy()
    sizes = updates.shape[starts.ndim - 1 :]
    for place in np.ndindex(starts.shape[:-1]):
        window = _window(result, starts[place], axes, sizes)
        window += updates[place]
    return result


@maker("gather")
def _gather(source: Source) -> Call:
    operand = _indexable(source, source.choice(ALL))
    axes, sizes, starts = _windows(source, operand)
    indices = starts if source.chance(50) else Operand(starts.astype(source.choice(INDEX_DTYPES)))
    return Call(
        "gather", tw.gather, gathered, [operand, indices], {"axes": axes, "slice_sizes": sizes}
    )


@maker("scatter_add_slices")
def _scatter_add_slices(source: Source) -> Call:
    dtype = source.choice(ALL)
    operand = _indexable(source, dtype, "small")
    axes, sizes, starts = _windows(source, operand)
    updates = random_operand(source, dtype, shape=starts.shape[:-1] + sizes, kind="small")
    indices = starts if source.chance(50) else Operand(starts.astype(source.choice(INDEX_DTYPES)))
    return Call(
        "scatter_add_slices", tw.scatter_add_slices, scattered, [operand, indices, updates],
        {"axes": axes}, any_zero=True,
    )  # fmt: skip


@maker("scatter_add")
def _scatter_add(source: Source) -> Call:
    dtype = source.choice(ALL)
    operand = _indexable(source, dtype, "small")
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    place, size = axis % operand.ndim, operand.shape[axis]
    shape = source.choice(((4,), (), (2, 2), (0,)))
    indices = _indices(source, shape, -size, size - 1)
    full = operand.shape[:place] + shape + operand.shape[place + 1 :]
    updates = random_operand(source, dtype, shape=full if source.chance(70) else (), kind="small")

    def reference(array: Any, indices: Any, updates: Any, axis: int) -> Any:
        result = array.copy()
        np.add.at(result, (slice(None),) * place + (indices,), updates)
        return result

    return Call(
        "scatter_add", tw.scatter_add, reference, [operand, indices, updates], {"axis": axis},
        any_zero=True,
    )  # fmt: skip


# -- contraction --------------------------------------------------------------------------------


@maker("matmul")
def _matmul(source: Source) -> Call:
    dtype = source.choice(ALL)
    rows, inner, columns = (source.choice((2, 3, 1, 0, 5, 17, 33)) for _ in range(3))
    stacks = []
    shared = tuple(source.choice((2, 1, 3)) for _ in range(source.integer(0, 2)))
    for _ in range(2):
        kept = shared[source.integer(0, len(shared)) :]
        stacks.append(tuple(1 if source.chance(20) else n for n in kept))
    left = (*stacks[0], rows, inner) if source.chance(80) else (inner,)
    right = (*stacks[1], inner, columns) if source.chance(80) else (inner,)
    operands = [random_operand(source, dtype, shape=one, kind="small") for one in (left, right)]
    return Call("matmul", tw.matmul, np.matmul, operands, any_zero=True)


@maker("vecdot")
def _vecdot(source: Source) -> Call:
    dtype = source.choice(ALL)
    shape = random_shape(source, 3) or (3,)
    operands = [random_operand(source, dtype, shape=shape, kind="small") for _ in range(2)]
    axis = source.integer(-len(shape), -1)
    return Call("vecdot", tw.vecdot, np.vecdot, operands, {"axis": axis}, any_zero=True)


@maker("tensordot")
def _tensordot(source: Source) -> Call:
    dtype = source.choice(ALL)
    left = random_shape(source, 3)
    count = source.integer(0, len(left))
    axes = source.permutation(len(left))[:count]
    rest = random_shape(source, 2)
    right = tuple(left[axis] for axis in axes) + rest
    order = source.permutation(len(right))
    right_axes = tuple(order.index(position) for position in range(count))
    operands = [
        random_operand(source, dtype, shape=left, kind="small"),
        random_operand(source, dtype, shape=tuple(right[axis] for axis in order), kind="small"),
    ]
    return Call(
        "tensordot", tw.tensordot, np.tensordot, operands, {"axes": (axes, right_axes)},
        any_zero=True,
    )  # fmt: skip


@maker("dot_general")
def _dot_general(source: Source) -> Call:
    dtype = source.choice(NUMBERS)
    letters = "abcdef"
    extents = dict(zip(letters, [source.choice((2, 3, 1, 4, 0)) for _ in letters], strict=True))
    batch = letters[: source.integer(0, 2)]
    contracted = letters[2 : 2 + source.integer(0, 2)]
    left = _shuffled(source, batch + contracted + letters[4])
    right = _shuffled(source, batch + contracted + letters[5])
    operands = [
        random_operand(source, dtype, shape=tuple(extents[c] for c in one), kind="small")
        for one in (left, right)
    ]
    numbers = tuple(
        tuple(tuple(side.index(c) for c in group) for side in (left, right))
        for group in (contracted, batch)
    )
    out = batch + letters[4] + letters[5]

    def reference(x: Any, y: Any, numbers: Any) -> Any:
        return np.einsum(f"{left},{right}->{out}", x, y)

    return Call("dot_general", tw.dot_general, reference, [*operands, numbers], any_zero=True)


def _shuffled(source: Source, text: str) -> str:
    return "".join(text[place] for place in source.permutation(len(text)))
