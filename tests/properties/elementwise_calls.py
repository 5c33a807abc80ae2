"""Random calls of element-wise functions whose arguments are not those of the tables.

Importing this module adds their makers to `calls.CALLS`.
"""

from __future__ import annotations

import numpy as np
from cases.operations import floor_quotient

import tenferro_wgpu as tw

from .calls import Call, maker
from .operands import EVERY, NUMBERS, broadcasting_shapes, random_operand, random_shape
from .sources import Source


@maker("divmod")
def _divmod(source: Source) -> Call:
    shapes = broadcasting_shapes(source, 2)
    dtype = source.choice(NUMBERS)
    operands = [random_operand(source, dtype, kind="small", shape=shape) for shape in shapes]

    def reference(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return floor_quotient(x, y), np.remainder(x, y)

    return Call("divmod", tw.divmod, reference, operands)


@maker("round to places")
def _round(source: Source) -> Call:
    dtype = source.choice(("float32", "float64", "int8", "uint32", "int64"))
    places = source.integer(-3, 3)
    operand = random_operand(source, dtype, kind="moderate" if dtype[0] == "f" else "small")
    return Call(
        "round to places", tw.round, np.round, [operand, places], ulps=2, any_zero=True
    )  # fmt: skip


@maker("allclose")
def _allclose(source: Source) -> Call:
    dtype, shape = source.choice(EVERY), random_shape(source, 3)
    operands = [random_operand(source, dtype, kind="small", shape=shape)] * 2
    if source.chance(50):
        operands = [operands[0], random_operand(source, dtype, shape=shape)]
    options = {"equal_nan": source.chance(50)}
    return Call("allclose", tw.allclose, np.allclose, operands, options)


@maker("array_equal")
def _array_equal(source: Source) -> Call:
    dtype, shape = source.choice(EVERY), random_shape(source, 3)
    operands = [random_operand(source, dtype, shape=shape)] * 2
    if source.chance(50):
        operands = [operands[0], random_operand(source, dtype)]
    options = {"equal_nan": source.chance(50)}
    return Call("array_equal", tw.array_equal, np.array_equal, operands, options)
