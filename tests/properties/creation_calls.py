"""Random valid calls that make tensors, put them together or cut windows, continuing `calls`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.testing.structural import CUBE_SHAPE, CUBES, MATRICES, REFERENCE

from .calls import Call, maker
from .operands import ALL, EVERY, NUMBERS, Operand, random_operand, random_shape
from .sources import Source

Array = np.ndarray[Any, Any]


def _structural(cases: dict[str, Any], name: str, operand: Operand) -> Call:
    program = cases[name]

    def results(namespace: Any) -> Any:
        def run(x: Any) -> Any:
            if not hasattr(x, "shape"):
                raise TypeError("programs take tensors")
            found = program(namespace, x)
            return tuple(found) if isinstance(found, (list, tuple)) else found

        return run

    return Call(f"program: {name}", results(tw), results(REFERENCE), [operand])


@maker("programs of matrices")
def _matrices(source: Source) -> Call:
    shape = (source.choice((4, 1, 2, 8)), source.choice((6, 2, 4)))
    operand = random_operand(source, source.choice(EVERY), shape=shape)
    return _structural(MATRICES, source.choice(tuple(MATRICES)), operand)


@maker("programs of cubes")
def _cubes(source: Source) -> Call:
    operand = random_operand(source, source.choice(EVERY), shape=CUBE_SHAPE)
    return _structural(CUBES, source.choice(tuple(CUBES)), operand)


@maker("trace")
def _trace(source: Source) -> Call:
    shape = (source.integer(0, 4), source.integer(1, 4), source.integer(1, 4))
    operand = random_operand(source, source.choice(ALL), shape=shape, kind="small")
    axes = source.permutation(3)[:2]
    return Call("trace", tw.trace, np.trace, [operand, source.integer(-3, 3), *axes],
                any_zero=True)  # fmt: skip


@maker("slice")
def _slice(source: Source) -> Call:
    operand = random_operand(source, source.choice(EVERY), most_axes=4)
    starts = tuple(source.integer(0, n) for n in operand.shape)
    stops = tuple(source.integer(a, n) for a, n in zip(starts, operand.shape, strict=True))
    steps = tuple(source.integer(1, 3) for _ in operand.shape)

    def reference(x: Array, starts: Any, stops: Any, steps: Any) -> Array:
        return x[tuple(map(slice, starts, stops, steps))]

    return Call("slice", tw.slice, reference, [operand, starts, stops, steps])


@maker("arange")
def _arange(source: Source) -> Call:
    dtype = source.choice(("int32", "int64", "float32", "float64", "uint8", "float16"))
    start, count = source.integer(0, 9), source.choice((0, 1, 7, 40))
    step = source.choice((1, 2, 3))
    options = {"dtype": dtype}
    return Call("arange", tw.arange, np.arange, [start, start + count * step, step], options)


@maker("linspace")
def _linspace(source: Source) -> Call:
    start, stop = source.integer(-9, 9), source.integer(-9, 9)
    options = {"dtype": source.choice(("float32", "float64", "complex64", "complex128")),
               "endpoint": source.chance(60)}  # fmt: skip
    arguments = [start, stop, source.choice((0, 1, 2, 5, 33))]
    return Call("linspace", tw.linspace, np.linspace, arguments, options, any_zero=True)


@maker("logspace")
def _logspace(source: Source) -> Call:
    name = source.choice(("logspace", "geomspace"))
    options = {"dtype": source.choice(("float32", "float64")), "endpoint": source.chance(60)}
    arguments = [source.integer(1, 4), source.integer(1, 6), source.choice((0, 1, 2, 5))]
    return Call(name, getattr(tw, name), getattr(np, name), arguments, options)


@maker("eye")
def _eye(source: Source) -> Call:
    name = source.choice(("eye", "tri"))
    arguments = [source.integer(0, 5), source.integer(0, 5)]
    options = {"k": source.integer(-6, 6), "dtype": source.choice(EVERY)}
    theirs = getattr(np, name)

    def reference(rows: int, columns: int, k: int, dtype: str) -> Array:
        return np.asarray(theirs(rows, columns, k, dtype=dtype))

    return Call(name, getattr(tw, name), reference, arguments, options)


@maker("full")
def _full(source: Source) -> Call:
    options = {"dtype": source.choice(EVERY)}
    name = source.choice(("full", "zeros", "ones"))
    arguments: list[Any] = [random_shape(source)]
    if name == "full":
        arguments.append(source.choice((0, 1)) if options["dtype"] != "bool" else True)
    return Call(name, getattr(tw, name), getattr(np, name), arguments, options)


@maker("full_like")
def _full_like(source: Source) -> Call:
    name = source.choice(("zeros_like", "ones_like"))
    return Call(
        name, getattr(tw, name), getattr(np, name), [random_operand(source, source.choice(EVERY))]
    )


@maker("meshgrid")
def _meshgrid(source: Source) -> Call:
    dtype = source.choice(EVERY)
    parts = [
        random_operand(source, dtype, shape=(source.integer(0, 4),))
        for _ in range(source.integer(1, 3))
    ]
    options = {"indexing": source.choice(("ij", "xy"))}
    return Call(
        "meshgrid", lambda *a, **o: tuple(tw.meshgrid(*a, **o)),
        lambda *a, **o: tuple(np.meshgrid(*a, **o)), parts, options,
    )  # fmt: skip


@maker("indices")
def _indices(source: Source) -> Call:
    shape = tuple(source.integer(0, 4) for _ in range(source.integer(0, 4)))
    options = {"dtype": source.choice(("int64", "int32", "float32", "uint8"))}
    return Call("indices", tw.indices, np.indices, [shape], options)


@maker("scatter")
def _scatter(source: Source) -> Call:
    dtype, combine = source.choice(ALL), source.choice(("set", "min", "max", "add", "multiply"))
    if dtype == "bool":
        combine = "set"
    operand = random_operand(source, dtype, shape=(source.integer(1, 7), 3), kind="small")
    places = source.generator().integers(0, operand.shape[0], (source.integer(0, 5), 1))
    if combine == "set":  # which of two is kept, StableHLO leaves open
        places = np.unique(places, axis=0)
    updates = random_operand(source, dtype, shape=(len(places), 1, 3), kind="small")
    changes = {"min": np.minimum, "max": np.maximum, "add": np.add, "multiply": np.multiply}

    def reference(x: Array, places: Array, updates: Array, axes: Any, combine: str) -> Array:
        found = x.copy()
        key, rows = places[:, 0], updates[:, 0]
        if combine == "set":
            found[key] = rows
        else:
            changes[combine].at(found, key, rows)
        return found

    given = places if source.chance(50) else Operand(places)
    return Call("scatter", tw.scatter, reference, [operand, given, updates],
                {"axes": (0,), "combine": combine}, any_zero=True)  # fmt: skip


@maker("conv_transpose")
def _conv_transpose(source: Source) -> Call:
    dtype = source.choice(NUMBERS)
    spatial, stride = source.choice((1, 2)), source.integer(1, 3)
    window = tuple(source.integer(1, 3) for _ in range(spatial))
    extents = tuple(source.integer(1, 4) for _ in range(spatial))
    channels, outputs = source.integer(1, 3), source.integer(1, 3)
    operands = [
        random_operand(source, dtype, shape=(2, channels, *extents), kind="small"),
        random_operand(source, dtype, shape=(channels, outputs, *window), kind="small"),
    ]

    def reference(x: Array, kernel: Array, strides: int) -> Array:
        # Every element leaves its copy of the window.
        places = [(n - 1) * strides + k for n, k in zip(extents, window, strict=True)]
        found = np.zeros((2, outputs, *places), x.dtype)
        for at in np.ndindex(*extents):
            key = tuple(
                slice(a * strides, a * strides + k) for a, k in zip(at, window, strict=True)
            )
            found[(slice(None), slice(None), *key)] += np.tensordot(
                x[(slice(None), slice(None), *at)], kernel, 1
            )
        return found

    return Call("conv_transpose", tw.conv_transpose, reference, operands, {"strides": stride},
                any_zero=True)  # fmt: skip
