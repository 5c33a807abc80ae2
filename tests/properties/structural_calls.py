"""Random valid calls of operations that rearrange elements, continuing `calls`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.testing.structural import REFERENCE

from .calls import Call, maker
from .operands import ALL, Operand, random_operand, random_shape
from .sources import Source


def _operand(source: Source, least: int = 1, most: int = 4, *, filled: bool = False) -> Operand:
    shape = random_shape(source, most)
    shape = (2,) * (least - len(shape)) + shape
    if filled:
        shape = tuple(extent or 1 for extent in shape)
    return random_operand(source, source.choice(ALL), shape=shape)


def _axis(source: Source, operand: Operand) -> int:
    return source.integer(-operand.ndim, operand.ndim - 1)


@maker("roll")
def _roll(source: Source) -> Call:
    operand = _operand(source)
    if source.chance(25):
        return Call("roll", tw.roll, np.roll, [operand, source.integer(-9, 9)])
    count = source.integer(1, 3)
    shifts = tuple(source.integer(-9, 9) for _ in range(count))
    axes = tuple(_axis(source, operand) for _ in range(count))
    return Call("roll", tw.roll, np.roll, [operand, shifts], {"axis": axes})


@maker("repeat")
def _repeat(source: Source) -> Call:
    operand = _operand(source)
    axis = _axis(source, operand) if source.chance(80) else None
    extent = operand.host().size if axis is None else operand.shape[axis]
    counts: Any = source.integer(0, 3)
    if source.chance(50):
        counts = [source.integer(0, 2) for _ in range(min(extent, 40))]
        counts += [1] * (extent - len(counts))
    return Call("repeat", tw.repeat, np.repeat, [operand, counts], {"axis": axis})


@maker("tile")
def _tile(source: Source) -> Call:
    operand = _operand(source, 0, 3)
    counts = tuple(source.choice((1, 2, 3, 0)) for _ in range(source.integer(0, 4)))
    return Call("tile", tw.tile, np.tile, [operand, counts])


@maker("split")
def _split(source: Source) -> Call:
    operand = _operand(source)
    axis = _axis(source, operand)
    places: Any = source.integer(1, 5)
    if source.chance(50):
        extent = operand.shape[axis]
        places = [source.integer(-extent - 1, extent + 1) for _ in range(source.integer(0, 3))]
    return Call(
        "array_split",
        lambda x, places, axis: tuple(tw.array_split(x, places, axis)),
        lambda x, places, axis: tuple(np.array_split(x, places, axis)),
        [operand, places, axis],
    )


@maker("rot90")
def _rot90(source: Source) -> Call:
    operand = _operand(source, 2)
    axes = source.permutation(operand.ndim)[:2]
    return Call("rot90", tw.rot90, np.rot90, [operand, source.integer(-5, 5), axes])


@maker("diagonal")
def _diagonal(source: Source) -> Call:
    operand = _operand(source, 2)
    axes = source.permutation(operand.ndim)[:2]
    offset = source.integer(-4, 4)
    return Call("diagonal", tw.diagonal, np.diagonal, [operand, offset, *axes])


@maker("embed_diagonal")
def _embed_diagonal(source: Source) -> Call:
    operand = _operand(source, 1, 3)
    axes = source.permutation(operand.ndim + 1)[:2]
    offset = source.integer(-3, 3)
    return Call(
        "embed_diagonal", tw.embed_diagonal, REFERENCE.embed_diagonal, [operand, offset, *axes]
    )


@maker("tril")
def _tril(source: Source) -> Call:
    lower = source.chance(50)
    ours, theirs = (tw.tril, REFERENCE.tril) if lower else (tw.triu, REFERENCE.triu)
    return Call(
        "tril" if lower else "triu", ours, theirs, [_operand(source, 2)],
        {"k": source.integer(-5, 5)},
    )  # fmt: skip


@maker("pad by repeating")
def _pad(source: Source) -> Call:
    operand = _operand(source, 1, 3, filled=True)
    mode = source.choice(("edge", "reflect", "symmetric", "wrap"))
    widths = [(source.integer(0, 4), source.integer(0, 4)) for _ in operand.shape]
    return Call("pad", tw.pad, np.pad, [operand, widths, mode])


@maker("vstack")
def _vstack(source: Source) -> Call:
    dtype = source.choice(ALL)
    columns = source.choice((1, 2, 3, 9))
    parts = []
    for _ in range(source.integer(1, 4)):
        shape = (columns,) if source.chance(50) else (source.integer(0, 3), columns)
        parts.append(random_operand(source, dtype, shape=shape))
    return Call("vstack", tw.vstack, np.vstack, [parts])
