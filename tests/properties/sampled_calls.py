"""Random valid calls of samples, polynomials, spread and norms of matrices, continuing `calls`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.ops.quantiles import METHODS

from .calls import Call, maker, random_axis
from .operands import ALL, NUMBERS, Operand, broadcasting_shapes, random_operand, random_shape
from .sources import Source

Array = np.ndarray[Any, Any]
REAL = ("float32", "float64")


def _samples(source: Source, dtype: str, least: int = 3) -> Operand:
    """Small numbers with axes, none of them shorter than `least`."""
    shape = tuple(max(n, least) for n in random_shape(source, 3)) or (least + 2,)
    return random_operand(source, dtype, shape=shape, kind="small")


@maker("gradient")
def _gradient(source: Source) -> Call:
    operand = _samples(source, source.choice(REAL))
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    options = {"axis": axis, "edge_order": source.choice((1, 2))}
    spacing: Any = source.choice((0.5, 2.0, -1.0))
    if source.chance(50):
        steps = source.generator().integers(1, 4, operand.shape[axis])
        spacing = Operand(np.cumsum(steps).astype(operand.base.dtype))
    return Call("gradient", tw.gradient, np.gradient, [operand, spacing], options, ulps=64,
                absolute=1024, any_zero=True)  # fmt: skip


@maker("trapezoid")
def _trapezoid(source: Source) -> Call:
    operand = _samples(source, source.choice(REAL), 1)
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    options: dict[str, Any] = {"axis": axis, "dx": source.choice((1.0, 0.5))}
    if source.chance(50):
        places = source.generator().integers(-3, 4, operand.shape[axis])
        options["x"] = Operand(places.astype(operand.base.dtype))
    return Call("trapezoid", tw.trapezoid, np.trapezoid, [operand], options, ulps=64, absolute=64,
                any_zero=True)  # fmt: skip


@maker("polyval")
def _polyval(source: Source) -> Call:
    dtype = source.choice(NUMBERS)
    p = random_operand(source, dtype, shape=(source.integer(1, 4),), kind="small")
    x = random_operand(source, dtype, kind="small")
    return Call("polyval", tw.polyval, np.polyval, [p, x], ulps=16, absolute=64, any_zero=True)


@maker("heaviside")
def _heaviside(source: Source) -> Call:
    dtype = source.choice(REAL)
    operands = [
        random_operand(source, dtype, kind="small", shape=shape)
        for shape in broadcasting_shapes(source, 2)
    ]
    return Call("heaviside", tw.heaviside, np.heaviside, operands, any_zero=True)


@maker("sinc")
def _sinc(source: Source) -> Call:
    operand = random_operand(source, "float64", kind="moderate")
    return Call("sinc", tw.sinc, np.sinc, [operand], ulps=64, absolute=64)


@maker("unwrap")
def _unwrap(source: Source) -> Call:
    dtype = source.choice(("int16", "int64", "float64"))
    operand = _samples(source, dtype, 1)
    options = {"axis": source.integer(-operand.ndim, operand.ndim - 1)}
    options["period"] = source.choice((4, 5, 7))

    def reference(p: Array, **options: Any) -> Array:
        return np.asarray(np.unwrap(p, **options)).astype(p.dtype)

    return Call("unwrap", tw.unwrap, reference, [operand], options, ulps=8, absolute=16,
                any_zero=True)  # fmt: skip


@maker("corrcoef")
def _corrcoef(source: Source) -> Call:
    shape = (source.integer(1, 3), source.integer(3, 6))
    host = source.generator().standard_normal(shape)
    return Call("corrcoef", tw.corrcoef, np.corrcoef, [Operand(host)], ulps=512, absolute=512)


def _masked(source: Source, operand: Operand) -> Operand:
    return Operand(source.generator().random(operand.shape) < source.choice((0.5, 0.8, 0.0)))


@maker("statistics of some")
def _of_some(source: Source) -> Call:
    name = source.choice(("mean", "var", "std", "any", "all"))
    dtype = source.choice(ALL if name in ("any", "all") else REAL)
    operand = _samples(source, dtype, 1)
    axis = random_axis(source, operand.ndim)
    options = {"axis": axis, "keepdims": source.chance(30), "where": _masked(source, operand)}
    return Call(name, getattr(tw, name), getattr(np, name), [operand], options, ulps=64,
                absolute=64, any_zero=True)  # fmt: skip


@maker("nanquantile")
def _nanquantile(source: Source) -> Call:
    operand = _samples(source, source.choice(REAL), 1)
    operand.base[source.generator().random(operand.base.shape) < 0.3] = np.nan
    axis = source.integer(-operand.ndim, operand.ndim - 1) if source.chance(70) else None
    name, scale = source.choice((("nanquantile", 1), ("nanpercentile", 100)))
    q = source.choice((0.5, 0.0, [0.25, 0.75], 1.0))
    options = {"axis": axis, "method": source.choice(METHODS), "keepdims": source.chance(30)}

    def reference(array: Array, q: Any, **options: Any) -> Array:
        found = getattr(np, name)(array.astype(np.float64), q, **options)
        return np.asarray(found).astype(array.dtype)

    return Call(name, getattr(tw, name), reference, [operand, np.multiply(q, scale).tolist()],
                options, ulps=4, any_zero=True, absolute=4)  # fmt: skip


@maker("norm of matrices")
def _norm(source: Source) -> Call:
    shape = tuple(n or 1 for n in random_shape(source, 4))
    shape = shape if len(shape) > 1 else (3, 4)
    dtype = source.choice((*REAL, "complex128"))
    operand = random_operand(source, dtype, shape=shape, kind="small")
    axes = tuple(source.permutation(len(shape))[:2])
    order = source.choice((None, "fro", 1, -1, np.inf, -np.inf))
    return Call("norm, of matrices", tw.norm, np.linalg.norm, [operand, order, axes],
                {"keepdims": source.chance(30)}, ulps=64, absolute=64)  # fmt: skip
