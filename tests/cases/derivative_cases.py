"""Differentiable programs with inputs: every adapter and every derivative test runs these rows.

A function takes tensors and returns one tensor; it names no runtime.  Inputs are float64 or
complex128 arrays that stay away from kinks (those are in
``tests/derivatives/test_derivative_edges.py``), but products see zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from . import (
    derivatives_contraction,
    derivatives_elementwise,
    derivatives_ordering,
    derivatives_reductions,
    derivatives_sampled,
    derivatives_special,
    derivatives_structural,
)


@dataclass(frozen=True)
class DerivativeCase:
    """One program: its name, the function and the point where it is differentiated."""

    name: str
    function: Callable[..., Any]
    inputs: tuple[np.ndarray, ...]

    @property
    def is_complex(self) -> bool:
        """Whether an input is complex."""
        return any(x.dtype.kind == "c" for x in self.inputs)


def spread(*shape: int, low: float = -2.0, high: float = 2.0, salt: int = 0) -> np.ndarray:
    """Distinct values in a shuffled order: no ties, and none closer than a step to `low`."""
    count = int(np.prod(shape))
    steps = (np.arange(count) + 0.5) / max(count, 1)
    order = np.random.default_rng([salt, count]).permutation(count)
    return (low + (high - low) * steps[order]).reshape(shape)


def positive(*shape: int, salt: int = 0) -> np.ndarray:
    return spread(*shape, low=0.4, high=2.5, salt=salt)


def complex_spread(*shape: int, salt: int = 0) -> np.ndarray:
    return spread(*shape, salt=salt) + 1j * spread(*shape, low=0.3, high=1.7, salt=salt + 1)


X = spread(3, 4)
# Other bounds than those of X, so that no element of one equals an element of another.
Y = spread(3, 4, low=-1.93, high=2.11, salt=1)
ROW = spread(4, low=-1.87, high=2.23, salt=2)
COLUMN = spread(3, 1, salt=3)
CUBE = spread(2, 3, 4, salt=4)
P = positive(3, 4, salt=5)
Z = complex_spread(3, 4)
W = complex_spread(3, 4, salt=7)
ZEROS_IN_ROWS = np.array(
    [[1.5, -2.0, 0.5, 3.0], [0.0, 2.0, -1.0, 0.7], [0.0, 1.2, 0.0, -0.4], [0.0, 0.0, 0.0, 2.0]]
)

CASES: list[DerivativeCase] = []


def case(name: str, function: Callable[..., Any], *inputs: np.ndarray) -> None:
    CASES.append(DerivativeCase(name, function, inputs))


# -- element by element -------------------------------------------------------------------------

for _name in ("negative", "abs", "sign", "exp", "sin", "cos", "tanh", "expm1"):
    case(_name, getattr(tw, _name), X)
for _name in ("log", "sqrt", "rsqrt", "log1p"):
    case(_name, getattr(tw, _name), P)
for _name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
    case(_name, getattr(tw, _name), X, Y)
    case(f"{_name}, rows", getattr(tw, _name), X, ROW)
    case(f"{_name}, outer", getattr(tw, _name), COLUMN, ROW)
case("pow", tw.pow, P, Y)
case("pow, rows", tw.pow, P, ROW)
case("square", lambda x: x**2, X)
case("cube", lambda x: x**3, X)
case("square root as power", lambda x: x**0.5, P)
case("scalar base", lambda x: 2.0**x, X)
case("scalars", lambda x: 2 * x + 1 - x / 3 + 1 / x, P)
case("one operand twice", lambda x: x * x / (1 + x * x), X)
case("clip", lambda x: tw.clip(x, -1.0, 1.1), X)
case(
    "clip by tensors", tw.clip, X, spread(4, low=-1.6, high=-0.6), spread(3, 1, low=0.55, high=1.6)
)
case("where", lambda x, y: tw.where(x > y, x * y, tw.exp(y)), X, Y)
case("where, rows", lambda x, y: tw.where(y > 0, x, y), X, ROW)
case("real", lambda z: tw.real(z * z), Z)
case("imag", lambda z: tw.imag(z * z), Z)
case("complex", lambda x, y: tw.real(tw.complex(x * y, y) ** 3), X, Y)
case("complex, rows", lambda z, y: tw.complex(tw.abs(z), y) * z, Z, ROW)
case("conj", lambda z: tw.conj(z) * z * z, Z)
case("abs, complex", tw.abs, Z)
case("sign, complex", tw.sign, Z)
case("multiply, complex", tw.multiply, Z, W)
case("divide, complex", tw.divide, Z, W)
case("multiply, real by complex", tw.multiply, X, W)
case("exp, complex", tw.exp, Z)
case("log, complex", tw.log, Z)
case("sqrt, complex", tw.sqrt, Z)
case("tanh, complex", tw.tanh, Z)
case("sin, complex", tw.sin, Z)
case("pow, complex", tw.pow, Z, W)
case("real to complex", lambda x: tw.exp(x.astype(tw.complex128) * 1j), X)

# -- reductions ---------------------------------------------------------------------------------

for _axis in (None, 0, (0, 2), -1, ()):
    for _name in ("sum", "prod", "max", "min", "mean"):
        case(
            f"{_name}, axis {_axis}",
            lambda x, name=_name, axis=_axis: getattr(tw, name)(x, axis=axis),
            CUBE,
        )
case("sum, keepdims", lambda x: tw.sum(x, axis=1, keepdims=True) * x, CUBE)
case("max, keepdims", lambda x: tw.max(x, axis=(0, 1), keepdims=True) * x, CUBE)
case("prod with zeros", lambda x: tw.prod(x, axis=1), ZEROS_IN_ROWS)
case("prod with zeros, all", tw.prod, ZEROS_IN_ROWS[:2])
case("prod, columns", lambda x: tw.prod(x, axis=0), ZEROS_IN_ROWS)
case("prod of one", lambda x: tw.prod(x, axis=1), COLUMN)
case("prod, complex", lambda z: tw.prod(z, axis=0), Z)
case("sum, complex", lambda z: tw.sum(z * z, axis=0), Z)
case("sum of nothing", lambda x: tw.sum(x[:, :0] * 2, axis=1), X)

# -- structure ----------------------------------------------------------------------------------

case("reshape", lambda x: tw.reshape(x, (4, -1)), CUBE)
case("reshape, column-major", lambda x: tw.reshape(x, (4, -1), order="F"), CUBE)
case("reshape of a transpose", lambda x: tw.reshape(x.T, (2, 6)), X)
case("transpose", lambda x: tw.transpose(x, (2, 0, 1)), CUBE)
case("moveaxis", lambda x: tw.moveaxis(x, 0, -1), CUBE)
case("swapaxes", lambda x: tw.swapaxes(x, 0, 2), CUBE)
case("matrix_transpose", tw.matrix_transpose, CUBE)
case("broadcast_to", lambda x: tw.broadcast_to(x, (2, 3, 4)), COLUMN)
case("broadcast_in_dim", lambda x: tw.broadcast_in_dim(x, (3, 2, 4), (0, 2)), COLUMN)
case("expand_dims", lambda x: tw.expand_dims(x, (0, 2)), X)
case("squeeze", tw.squeeze, COLUMN)
case("flip", lambda x: tw.flip(x, (0, 2)), CUBE)
case("concatenate", lambda x, y: tw.concatenate([x, y, x], axis=1), X, COLUMN)
case("stack", lambda x, y: tw.stack([x, y], axis=1), X, Y)
case("unstack", lambda x: tw.multiply(*tw.unstack(x)), CUBE)
case("pad", lambda x: tw.pad(x, ((1, 2), (0, 1))), X)
case("pad, cropping and interior", lambda x: tw.pad(x, ((-1, 2), (1, -2)), interior=(1, 2)), X)
case("pad, filled", lambda x, y: tw.pad(x, 1, constant_values=y.sum(), interior=1), X, ROW)
case("pad, wider than its tensor", lambda x: tw.pad(x, (-2, 5)), ROW)
case("getitem, integers", lambda x: x[1, -1], CUBE)
case("getitem, slices", lambda x: x[..., ::2, 3:0:-2], CUBE)
case("getitem, new axes", lambda x: x[None, :, 1, None], CUBE)
case("getitem, nothing", lambda x: x[1:1], CUBE)
case("getitem, indices", lambda x: x[:, [2, 0, 2]], CUBE)
case("getitem, two index arrays", lambda x: x[[1, 0, 1], :, [3, 0, 3]], CUBE)

# -- indices ------------------------------------------------------------------------------------

case("take", lambda x: tw.take(x, [[2, 0], [1, 2]], axis=1), CUBE)
case("take, flat", lambda x: tw.take(x, [5, -1, 5]), X)
case("take, clip", lambda x: tw.take(x, [7, 1], axis=0, mode="clip"), X)
case("take, wrap", lambda x: tw.take(x, [7, 1], axis=0, mode="wrap"), X)
case("take_along_axis", lambda x: tw.take_along_axis(x, [[0, 1], [3, 3], [2, 0]], axis=1), X)
case("gather", lambda x: tw.gather(x, [[1], [0]], axes=(1,), slice_sizes=(2, 2, 3)), CUBE)
case(
    "gather, two axes",
    lambda x: tw.gather(x, [[2, 0], [0, 1], [2, 0]], axes=(2, 0), slice_sizes=(1, 3, 2)),
    CUBE,
)
case("scatter_add", lambda x, y: tw.scatter_add(x, [2, 0, 2], y, axis=1), X, spread(3, 3))
case("scatter_add, rows", lambda x, y: tw.scatter_add(x, [1, 1], y), X, ROW)
case(
    "scatter_add, fill",
    lambda x, y: tw.scatter_add(x, [9, 0, 1], y, axis=1, mode="fill"),
    X,
    spread(3, 3),
)
case(
    "scatter_add_slices",
    lambda x, y: tw.scatter_add_slices(x, [[0], [1]], y, axes=(1,)),
    X,
    spread(2, 3, 2),
)

# -- contraction --------------------------------------------------------------------------------

for _label, _x, _y in (
    ("matrices", X, spread(4, 2)),
    ("matrix and vector", X, ROW),
    ("vector and matrix", ROW, spread(4, 2)),
    ("vectors", ROW, spread(4)),
    ("stack and matrix", CUBE, spread(4, 2)),
    ("matrix and stack", X, spread(2, 4, 2)),
    ("stacks", CUBE, spread(2, 4, 3)),
    ("stacks that broadcast", spread(2, 1, 2, 3), spread(3, 3, 2)),
    ("vector and stack", spread(3), CUBE),
    ("complex", Z, complex_spread(4, 2)),
    ("real and complex", X, complex_spread(4, 2)),
):
    case(f"matmul, {_label}", tw.matmul, _x, _y)
case(
    "dot_general",
    lambda x, y: tw.dot_general(x, y, (((3, 1), (0, 3)), ((0,), (2,)))),
    spread(2, 3, 2, 4),
    spread(4, 2, 2, 3),
)
case("tensordot", lambda x, y: tw.tensordot(x, y, axes=((2, 0), (0, 1))), CUBE, spread(4, 2, 3))
case("tensordot, outer", lambda x, y: tw.tensordot(x, y, axes=0), ROW, COLUMN)
case("vecdot", tw.vecdot, CUBE, X)
case("vecdot, complex", lambda z, w: tw.vecdot(z, w, axis=0), Z, W)
case("one operand on both sides", lambda x: x @ x.T, X)

# -- programs -----------------------------------------------------------------------------------

case(
    "exponentials over their sum",
    lambda x: (lambda e: e / tw.sum(e, axis=1, keepdims=True))(
        tw.exp(x - tw.max(x, axis=1, keepdims=True))
    ),
    X,
)
case("two layers", lambda x, w, v: tw.tanh(x @ w) @ v, X, spread(4, 5), spread(5, 2))

# -- families with files of their own -----------------------------------------------------------

for _family in (
    derivatives_structural,
    derivatives_reductions,
    derivatives_sampled,
    derivatives_special,
):
    for _name, _function, _inputs in _family.CASES:
        case(_name, _function, *_inputs)
CASES += [DerivativeCase(*each) for each in derivatives_ordering.CASES]
CASES += [DerivativeCase(*each) for each in derivatives_elementwise.CASES]
CASES += [DerivativeCase(*each) for each in derivatives_contraction.CASES]
