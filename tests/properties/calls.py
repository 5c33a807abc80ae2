"""Random valid calls of every public operation, each with its meaning in NumPy.

`CALLS` has one maker per operation.  A call is data: operands and parameters that one function
turns into tensors of any runtime, and another into host arrays.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cases.operations import BINARY, REDUCTIONS, UNARY, Case, reference

import tenferro_wgpu as tw

from .operands import (
    ALL,
    EVERY,
    NUMBERS,
    Operand,
    broadcasting_shapes,
    other_shape,
    random_key,
    random_operand,
    random_shape,
)
from .sources import Source


@dataclass
class Call:
    """One call: `function` of `arguments`, and the same with NumPy."""

    name: str
    function: Callable[..., Any]
    reference: Callable[..., Any]
    arguments: list[Any]
    options: dict[str, Any] = field(default_factory=dict)
    ulps: float = 0
    any_zero: bool = False
    absolute: float = 0
    #: Whether NumPy leaves the values to the processor.
    undefined: bool = False

    def run(self, runtime: Any) -> Any:
        """The result on a runtime: a tensor or a tuple of tensors."""
        return self.function(
            *as_tensors(self.arguments, runtime), **as_tensors(self.options, runtime)
        )

    def expected(self) -> Any:
        """What NumPy gives."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the mean of nothing
            return self.reference(*as_arrays(self.arguments), **as_arrays(self.options))

    def __repr__(self) -> str:
        parts = [*map(repr, self.arguments), *(f"{k}={v!r}" for k, v in self.options.items())]
        return f"{self.name}({', '.join(parts)})"


def as_tensors(node: Any, runtime: Any) -> Any:
    """Arguments with every operand as a tensor of the runtime."""
    return _replaced(node, lambda operand: operand.on(runtime))


def as_arrays(node: Any) -> Any:
    """Arguments with every operand as a host array."""
    return _replaced(node, lambda operand: operand.host())


def _replaced(node: Any, replace: Callable[[Operand], Any]) -> Any:
    if hasattr(node, "on"):
        return replace(node)
    if isinstance(node, (list, tuple)):
        return type(node)(_replaced(item, replace) for item in node)
    if isinstance(node, dict):
        return {key: _replaced(item, replace) for key, item in node.items()}
    return node


Maker = Callable[[Source], Call]
CALLS: dict[str, Maker] = {}


def maker(name: str) -> Callable[[Callable[..., Call]], Callable[..., Call]]:
    """Register a maker under the name of its operation."""

    def register(function: Callable[..., Call]) -> Callable[..., Call]:
        CALLS[name] = function
        return function

    return register


# -- element by element -------------------------------------------------------------------------


def _elementwise(name: str, case: Case, arity: int) -> Maker:
    def make(source: Source) -> Call:
        dtype = source.choice(case.dtypes)
        # NumPy's own complex functions are good for moderate numbers only.
        kind = "moderate" if case.ulps and np.dtype(dtype).kind == "c" else "any"
        shapes = broadcasting_shapes(source, arity)
        operands = (
            [random_operand(source, dtype, kind=kind)]
            if arity == 1
            else [random_operand(source, dtype, kind=kind, shape=shape) for shape in shapes]
        )
        if case.domain is not None:
            for operand, base in zip(operands, _within(case, operands), strict=True):
                operand.base = base
        return Call(
            name, case.ours, lambda *arrays: reference(case, *arrays), operands,
            ulps=case.ulps, any_zero=case.any_zero, absolute=case.absolute,
        )  # fmt: skip

    return make


def _within(case: Case, operands: list[Operand]) -> list[np.ndarray]:
    """The bases within the domain of the case, each in the place it may be read from."""
    bases = [operand.base for operand in operands]
    return [case.domain(*[base] * len(bases))[place] for place, base in enumerate(bases)]


for _table, _arity in ((UNARY, 1), (BINARY, 2)):
    for _name, _case in _table.items():
        CALLS[_name] = _elementwise(_name, _case, _arity)


@maker("where")
def _where(source: Source) -> Call:
    dtype = source.choice(EVERY)
    shapes = broadcasting_shapes(source, 3)
    operands = [
        random_operand(source, one, shape=shape)
        for one, shape in zip(("bool", dtype, dtype), shapes, strict=True)
    ]
    return Call("where", tw.where, np.where, operands)


@maker("clip")
def _clip(source: Source) -> Call:
    dtype = source.choice(NUMBERS)
    # Bounds may be wider than the tensor, and one of them may be missing.
    wider = source.choice(("int16", "int32", "int64")) if dtype == "int8" else dtype
    shapes = broadcasting_shapes(source, 3)
    operands: list[Any] = [
        random_operand(source, one, shape=shape)
        for one, shape in zip((dtype, wider, wider), shapes, strict=True)
    ]
    if source.chance(30):
        operands[source.choice((1, 2))] = None
    return Call("clip", tw.clip, np.clip, operands, any_zero=True)


def _exactly_castable(operand: Operand, target: str) -> bool:
    """Whether NumPy defines every cast: it leaves floats out of range to the processor."""
    array = operand.host()
    if array.dtype.kind not in "fc" or np.dtype(target).kind not in "iu":
        return True
    limits = np.iinfo(target)
    with np.errstate(all="ignore"):
        whole = np.trunc(array.real.astype(np.float64))
        return bool(np.all((whole >= limits.min) & (whole < float(limits.max))))


@maker("astype")
def _astype(source: Source) -> Call:
    target = source.choice(EVERY)
    operand = random_operand(source, source.choice(EVERY))
    if not _exactly_castable(operand, target):
        operand = random_operand(source, operand.base.dtype.name, kind="small")
        if not _exactly_castable(operand, target):
            target = "float64"
    return Call("astype", tw.astype, lambda array, dtype: array.astype(dtype), [operand, target])


# -- reductions ---------------------------------------------------------------------------------


def random_axis(source: Source, ndim: int) -> Any:
    """None, an axis or several, counted from either end."""
    kind = source.choice(("one", "all", "several"))
    if kind == "all" or ndim == 0:
        return source.choice((None, ())) if ndim == 0 else None
    if kind == "one":
        return source.integer(-ndim, ndim - 1)
    count = source.integer(0, ndim)
    return tuple(axis - ndim * source.integer(0, 1) for axis in source.permutation(ndim)[:count])


def _has_elements(shape: tuple[int, ...], axis: Any) -> bool:
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return all(shape[one] for one in axes)


def _reduction(name: str, case: Case) -> Maker:
    def make(source: Source) -> Call:
        dtype = source.choice(case.dtypes)
        exact = name in ("sum", "prod", "mean")
        operand = random_operand(source, dtype, kind="small" if exact else "any")
        if name == "prod" and np.dtype(dtype).kind == "f":
            # Only few factors above 1, so that no product leaves float32.
            operand.base[np.abs(operand.base) > 2] = 1
            operand.base.reshape(-1)[20:] = np.sign(operand.base.reshape(-1)[20:])
        if name == "prod" and np.dtype(dtype).kind == "c":
            operand.base.reshape(-1)[8:] = 1  # what is left is exact in any order
        axis = random_axis(source, operand.ndim)
        if name in ("max", "min") and not _has_elements(operand.shape, axis):
            operand = random_operand(source, dtype, shape=tuple(n or 1 for n in operand.shape))
        options = {"axis": axis, "keepdims": source.chance(30)}
        return Call(name, case.ours, case.reference, [operand], options, any_zero=True)

    return make


for _name, _case in REDUCTIONS.items():
    CALLS[_name] = _reduction(_name, _case)


@maker("argmax")
def _argmax(source: Source) -> Call:
    shape = tuple(n or 1 for n in random_shape(source))
    operand = random_operand(source, source.choice(ALL), shape=shape)
    axis = source.integer(-len(shape), len(shape) - 1) if shape and source.chance(80) else None
    return Call(
        "argmax", tw.argmax, np.argmax, [operand], {"axis": axis, "keepdims": source.chance(30)}
    )


# -- rearranging --------------------------------------------------------------------------------


def _any_operand(source: Source, most_axes: int = 5) -> Operand:
    return random_operand(source, source.choice(EVERY), most_axes=most_axes)


@maker("reshape")
def _reshape(source: Source) -> Call:
    operand = _any_operand(source)
    shape = list(other_shape(source, operand.shape))
    if shape and math.prod(shape) and source.chance(30):
        shape[source.integer(0, len(shape) - 1)] = -1
    order = source.choice("CF")
    return Call(
        "reshape", tw.reshape, lambda array, shape, order: array.reshape(shape, order=order),
        [operand, tuple(shape), order],
    )  # fmt: skip


@maker("ravel")
def _ravel(source: Source) -> Call:
    return Call("ravel", tw.ravel, np.ravel, [_any_operand(source), source.choice("CF")])


@maker("permute_dims")
def _permute_dims(source: Source) -> Call:
    operand = _any_operand(source)
    count = operand.ndim
    axes = tuple(axis - count * source.integer(0, 1) for axis in source.permutation(count))
    return Call("permute_dims", tw.permute_dims, np.transpose, [operand, axes])


@maker("swapaxes")
def _swapaxes(source: Source) -> Call:
    operand = _operand_with_axes(source)
    axes = [source.integer(-operand.ndim, operand.ndim - 1) for _ in range(2)]
    return Call("swapaxes", tw.swapaxes, np.swapaxes, [operand, *axes])


def _operand_with_axes(source: Source, dtype: str = "", least: int = 1) -> Operand:
    shape = random_shape(source)
    shape = (2,) * (least - len(shape)) + shape
    return random_operand(source, dtype or source.choice(EVERY), shape=shape)


@maker("moveaxis")
def _moveaxis(source: Source) -> Call:
    operand = _any_operand(source)
    count = source.integer(0, operand.ndim)
    axes = [list(source.permutation(operand.ndim)[:count]) for _ in range(2)]
    return Call("moveaxis", tw.moveaxis, np.moveaxis, [operand, *axes])


@maker("expand_dims")
def _expand_dims(source: Source) -> Call:
    operand = _any_operand(source, most_axes=4)
    if source.chance(50):
        axis: Any = source.integer(-operand.ndim - 1, operand.ndim)
    else:
        axis = source.permutation(operand.ndim + 2)[:2]
    return Call("expand_dims", tw.expand_dims, np.expand_dims, [operand, axis])


@maker("squeeze")
def _squeeze(source: Source) -> Call:
    shape = tuple(source.choice((1, 2, 3)) for _ in range(source.integer(0, 4)))
    operand = random_operand(source, source.choice(EVERY), shape=shape)
    ones = [axis for axis, extent in enumerate(shape) if extent == 1]
    axis = tuple(ones[: source.integer(0, len(ones))]) if source.chance(60) else None
    return Call("squeeze", tw.squeeze, np.squeeze, [operand], {"axis": axis})


@maker("flip")
def _flip(source: Source) -> Call:
    operand = _any_operand(source)
    return Call("flip", tw.flip, np.flip, [operand, random_axis(source, operand.ndim)])


@maker("broadcast_to")
def _broadcast_to(source: Source) -> Call:
    operand = _any_operand(source, most_axes=3)
    shape = tuple(source.choice((1, 3, 0)) if n == 1 else n for n in operand.shape)
    shape = (*[source.choice((2, 1, 0)) for _ in range(source.integer(0, 2))], *shape)
    return Call("broadcast_to", tw.broadcast_to, np.broadcast_to, [operand, shape])


@maker("concatenate")
def _concatenate(source: Source) -> Call:
    dtype = source.choice(EVERY)
    shape = _operand_with_axes(source, dtype).shape
    axis = source.integer(-len(shape), len(shape) - 1)
    parts = []
    for _ in range(source.integer(1, 5)):
        extents = list(shape)
        extents[axis] = source.choice((1, 2, 0, 3, 9))
        parts.append(random_operand(source, dtype, shape=tuple(extents)))
    return Call("concatenate", tw.concatenate, np.concatenate, [parts], {"axis": axis})


@maker("stack")
def _stack(source: Source) -> Call:
    dtype, shape = source.choice(EVERY), random_shape(source, 4)
    parts = [random_operand(source, dtype, shape=shape) for _ in range(source.integer(1, 4))]
    axis = source.integer(-len(shape) - 1, len(shape))
    return Call("stack", tw.stack, np.stack, [parts], {"axis": axis})


@maker("unstack")
def _unstack(source: Source) -> Call:
    operand = _operand_with_axes(source)
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    return Call(
        "unstack", tw.unstack, lambda array, axis: tuple(np.moveaxis(array, axis, 0)), [operand],
        {"axis": axis},
    )  # fmt: skip


@maker("pad")
def _pad(source: Source) -> Call:
    operand = _any_operand(source, most_axes=4)
    widths = []
    for extent in operand.shape:
        before = source.integer(-(extent // 2), 3)
        widths.append((before, source.integer(-(extent // 2), 2)))
    gaps = tuple(source.choice((0, 1, 2)) for _ in operand.shape)
    fill = bool(source.choice((0, 1))) if operand.base.dtype == bool else source.choice((0, 1, 3))
    return Call(
        "pad", tw.pad, padded, [operand, widths], {"constant_values": fill, "interior": gaps}
    )


def padded(
    array: np.ndarray, widths: Any, constant_values: Any, interior: tuple[int, ...]
) -> np.ndarray:
    """StableHLO's pad in NumPy: spread, then frame, then crop."""
    spread = np.full(
        [n + max(n - 1, 0) * gap for n, gap in zip(array.shape, interior, strict=True)],
        constant_values,
    ).astype(array.dtype)
    spread[tuple(slice(None, None, gap + 1) for gap in interior)] = array
    frame = [(max(low, 0), max(high, 0)) for low, high in widths]
    framed = np.pad(spread, frame, constant_values=constant_values) if widths else spread
    key = tuple(
        slice(max(-low, 0), n - max(-high, 0))
        for (low, high), n in zip(widths, framed.shape, strict=True)
    )
    return framed[key]


@maker("getitem")
def _getitem(source: Source) -> Call:
    operand = _any_operand(source)
    key = random_key(source, operand.shape)
    return Call("getitem", tw.getitem, lambda array, key: array[key], [operand, key])
