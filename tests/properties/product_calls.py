"""Random valid calls of convolutions, products of vectors and interpolation, continuing `calls`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.testing.products import convolved

from .calls import Call, maker
from .operands import ALL, FLOATS, NUMBERS, Operand, random_operand
from .sources import Source


def _small(source: Source, dtype: str, shape: tuple[int, ...]) -> Operand:
    return random_operand(source, dtype, shape=shape, kind="small")


@maker("conv")
def _conv(source: Source) -> Call:
    dtype = source.choice(NUMBERS)
    spatial = source.choice((1, 2, 2, 3))
    groups = source.choice((1, 1, 2, 3))
    channels = source.choice((1, 2, 3))
    outputs = groups * source.choice((1, 2, 5))
    window = tuple(source.integer(1, 3) for _ in range(spatial))
    extents = tuple(source.choice((1, 3, 4, 7, 0)) for _ in range(spatial))
    options = {
        "strides": tuple(source.integer(1, 3) for _ in range(spatial)),
        "padding": tuple(
            (source.integer(-(n // 3), 2), source.integer(-(n // 3), 2)) for n in extents
        ),
        "input_dilation": tuple(source.choice((1, 1, 2)) for _ in range(spatial)),
        "kernel_dilation": tuple(source.choice((1, 1, 2)) for _ in range(spatial)),
        "groups": groups,
    }
    operands = [
        _small(source, dtype, (source.choice((1, 2, 3, 0)), groups * channels, *extents)),
        _small(source, dtype, (outputs, channels, *window)),
    ]
    return Call("conv", tw.conv, convolved, operands, options, any_zero=True)


@maker("convolve")
def _convolve(source: Source) -> Call:
    dtype = source.choice(ALL)
    operands = [_small(source, dtype, (source.choice((1, 2, 3, 8, 33)),)) for _ in range(2)]
    mode = source.choice(("full", "same", "valid"))
    reverse = source.chance(50)
    ours, theirs = (tw.correlate, np.correlate) if reverse else (tw.convolve, np.convolve)
    name = "correlate" if reverse else "convolve"
    return Call(name, ours, theirs, [*operands, mode], any_zero=True)


@maker("kron")
def _kron(source: Source) -> Call:
    dtype = source.choice(ALL)
    shapes = [tuple(source.integer(0, 3) for _ in range(source.integer(0, 3))) for _ in range(2)]
    operands = [_small(source, dtype, shape) for shape in shapes]
    return Call("kron", tw.kron, np.kron, operands, any_zero=True)


@maker("outer")
def _outer(source: Source) -> Call:
    dtype = source.choice(ALL)
    shapes = [tuple(source.integer(0, 4) for _ in range(source.integer(0, 2))) for _ in range(2)]
    operands = [_small(source, dtype, shape) for shape in shapes]
    return Call("outer", tw.outer, np.outer, operands, any_zero=True)


@maker("dot")
def _dot(source: Source) -> Call:
    dtype = source.choice(ALL)
    inner = source.choice((1, 3, 0, 8))
    left = (*(source.integer(1, 3) for _ in range(source.integer(0, 2))), inner)
    above: Any = tuple(source.integer(1, 3) for _ in range(source.integer(0, 1)))
    right = (*above, inner, source.integer(1, 4)) if source.chance(70) else (inner,)
    operands = [_small(source, dtype, shape) for shape in (left, right)]
    return Call("dot", tw.dot, np.dot, operands, any_zero=True)


@maker("cross")
def _cross(source: Source) -> Call:
    dtype = source.choice(NUMBERS)
    rest = tuple(source.integer(0, 3) for _ in range(source.integer(0, 2)))
    operands = [
        _small(source, dtype, (*(1 if source.chance(30) else n for n in rest), 3)) for _ in range(2)
    ]
    return Call("cross", tw.cross, np.cross, operands, any_zero=True)


@maker("interp")
def _interp(source: Source) -> Call:
    dtype = source.choice(FLOATS)
    count = source.integer(1, 6)
    rng = source.generator()
    # Halves and whole differences of powers of two: every quotient and product is exact.
    points = np.cumsum(rng.choice([1, 2, 4], count)).astype(dtype)
    values = rng.integers(-8, 9, count).astype(dtype)
    places = (rng.integers(-4, 60, source.choice((0, 1, 7))) / 2).astype(dtype)
    options = {"left": -50.0} if source.chance(30) else {}

    def reference(x: Any, xp: Any, fp: Any, **options: Any) -> Any:
        return np.interp(x, xp, fp, **options).astype(x.dtype)

    operands = [Operand(each) for each in (places, points, values)]
    return Call("interp", tw.interp, reference, operands, options, any_zero=True)
