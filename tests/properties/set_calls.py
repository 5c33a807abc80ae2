"""Random valid calls of sets, partial orders, slices put in and taken out, and bins of points."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .calls import Call, maker
from .operands import ALL, Operand, random_operand, random_shape
from .sources import Source

Array = np.ndarray[Any, Any]


@maker("sets")
def _sets(source: Source) -> Call:
    name = source.choice(("union1d", "intersect1d", "setdiff1d", "setxor1d"))
    dtype = source.choice((*ALL, "float16"))
    operands = [random_operand(source, dtype, kind="small") for _ in range(2)]
    return Call(name, getattr(tw, name), getattr(np, name), operands, any_zero=True)


def _with_axes(source: Source, dtype: str) -> Operand:
    shape = tuple(n or 1 for n in random_shape(source, 3)) or (5,)
    return random_operand(source, dtype, shape=shape)


@maker("partition")
def _partition(source: Source) -> Call:
    operand = _with_axes(source, source.choice(ALL))
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    kth = source.integer(-operand.shape[axis], operand.shape[axis] - 1)

    def chosen(sort: Any, take: Any) -> Any:
        return lambda x, kth, axis: take(sort(x, kth, axis=axis), [kth], axis=axis)

    return Call("partition", chosen(tw.partition, tw.take), chosen(np.partition, np.take),
                [operand, kth], {"axis": axis}, any_zero=True)  # fmt: skip


@maker("argpartition")
def _argpartition(source: Source) -> Call:
    operand = _with_axes(source, source.choice(ALL))
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    kth = source.integer(0, operand.shape[axis] - 1)

    def ours(x: Any, kth: Any, axis: Any) -> Any:
        return tw.take_along_axis(x, tw.argpartition(x, kth, axis=axis), axis=axis)

    def theirs(x: Array, kth: Any, axis: Any) -> Array:
        del kth
        return np.sort(x, axis=axis, kind="stable")

    return Call("argpartition", ours, theirs, [operand, kth], {"axis": axis}, any_zero=True)


@maker("lexsort")
def _lexsort(source: Source) -> Call:
    dtype = source.choice(ALL)
    shape = tuple(n or 1 for n in random_shape(source, 2)) or (5,)
    keys = [random_operand(source, dtype, kind="small", shape=shape) for _ in range(2)]
    return Call("lexsort", tw.lexsort, np.lexsort, [keys],
                {"axis": source.integer(-len(shape), len(shape) - 1)})  # fmt: skip


@maker("delete and insert")
def _edited(source: Source) -> Call:
    dtype = source.choice(ALL)
    operand = _with_axes(source, dtype)
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    count = operand.shape[axis]
    obj: Any = [source.integer(-count, count - 1) for _ in range(source.integer(0, 3))]
    obj = source.choice((obj, slice(None, None, 2), source.integer(-count, count - 1)))
    if source.chance(50):
        return Call("delete", tw.delete, np.delete, [operand, obj], {"axis": axis})
    value = random_operand(source, dtype, shape=())
    return Call("insert", tw.insert, np.insert, [operand, obj, value], {"axis": axis})


@maker("histogram2d")
def _histogram2d(source: Source) -> Call:
    count = source.choice((6, 1, 40))
    points = source.generator().integers(-1, 9, (count, 2)).astype(np.float32) / 4
    options = {"bins": source.choice((3, (2, 4))), "range": ((0.0, 2.0), (0.0, 1.0))}

    def reference(*args: Any, **options: Any) -> Array:
        function = np.histogram2d if len(args) == 2 else np.histogramdd
        return function(*args, **options)[0].astype(np.int64)

    if source.chance(50):
        columns = [Operand(points[:, n].copy()) for n in range(2)]
        return Call("histogram2d", lambda x, y, **o: tw.histogram2d(x, y, **o)[0], reference,
                    columns, options)  # fmt: skip
    return Call("histogramdd", lambda x, **o: tw.histogramdd(x, **o)[0], reference,
                [Operand(points)], options)  # fmt: skip
