"""Every primitive without a backend: shapes, dtypes and derivative rules on abstract values.

Rules that read values, buffers or Python truth fail here; so does a primitive without a row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tenferro_wgpu.autodiff.tape import sum_to_shape
from tenferro_wgpu.ops import (
    calling,
    compaction,
    contraction,
    convolution,
    diagonals,
    elementwise,
    indexing,
    joining,
    permuting,
    reduction,
    scanning_rules,
    scattering,
    views,
    windows,
)
from tenferro_wgpu.ops.calling import project
from tenferro_wgpu.ops.primitive import Primitive
from tenferro_wgpu.ops.table import TABLE
from tenferro_wgpu.ops.value import AbstractInterpreter, apply
from tenferro_wgpu.tensor import ShapeDtype

MODULES = (
    calling,
    compaction,
    contraction,
    convolution,
    diagonals,
    elementwise,
    indexing,
    joining,
    permuting,
    reduction,
    scattering,
    scanning_rules,
    views,
    windows,
)
PRIMITIVES: dict[str, Primitive] = dict(TABLE)
for _module in MODULES:
    for _found in vars(_module).values():
        if isinstance(_found, Primitive):
            PRIMITIVES[_found.name] = _found

F64, C128, I64, I32, BOOL = (
    np.dtype(name) for name in ("float64", "complex128", "int64", "int32", "bool")
)


@dataclass(frozen=True)
class Row:
    """Arguments, params and the expected result of one primitive."""

    name: str
    inputs: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any] = F64
    params: dict[str, Any] = field(default_factory=dict)


def real(*shape: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    return (shape, F64)


def of(dtype: np.dtype[Any], *shape: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    return (shape, dtype)


UNARY = [
    "neg", "abs", "sign", "exp", "log", "sin", "cos", "tanh", "sqrt", "rsqrt", "expm1", "log1p",
    "exp2", "log2", "log10", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
    "atanh", "conj", "copy",
]  # fmt: skip
REAL_UNARY = ["cbrt", "sigmoid", "floor", "ceil", "round", "trunc"]
REAL_UNARY += ["erf", "erfc", "lgamma", "digamma"]
BINARY = [
    "add", "sub", "mul", "div", "pow", "maximum", "minimum", "fmax", "fmin", "floor_divide",
    "remainder", "fmod", "atan2", "hypot", "logaddexp", "copysign", "nextafter",
    "polygamma",
]  # fmt: skip
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
COMPLEX_BINARY = ["add", "sub", "mul", "div", "pow"]

ROWS = [
    *(Row(name, (real(3, 4),), (3, 4)) for name in (*UNARY, *REAL_UNARY)),
    *(Row(name, (of(C128, 3, 4),), (3, 4), C128) for name in UNARY if name != "abs"),
    *(Row(name, (real(3, 4),), (3, 4)) for name in REAL_UNARY),
    *(Row(name, (of(C128, 3),), (3,), BOOL) for name in ("is_nan", "is_inf", "is_finite")),
    Row("sign_bit", (real(3),), (3,), BOOL),
    *(Row(name, (of(I64, 3, 1), of(I64, 4)), (3, 4), I64) for name in BITS),
    Row("bitwise_not", (of(I64, 3),), (3,), I64),
    Row("bitwise_count", (of(I64, 3),), (3,), np.dtype("uint8")),
    Row("gcd", (of(I64, 3, 1), of(I64, 4)), (3, 4), I64),
    Row("abs", (of(C128, 3),), (3,)),
    Row("real", (of(C128, 3),), (3,)),
    Row("imag", (of(C128, 3),), (3,)),
    Row("complex", (real(3, 1), real(4)), (3, 4), C128),
    *(Row(name, (real(3, 4), real(3, 4)), (3, 4)) for name in BINARY),
    *(Row(name, (real(3, 1), real(4)), (3, 4)) for name in BINARY),
    *(Row(name, (of(C128, 3), of(C128, 3)), (3,), C128) for name in COMPLEX_BINARY),
    *(Row(name, (real(3, 1), real(4)), (3, 4), BOOL) for name in COMPARISONS),
    Row("logical_and", (of(BOOL, 3), of(BOOL, 3)), (3,), BOOL),
    Row("logical_or", (of(BOOL, 3), of(BOOL, 3)), (3,), BOOL),
    Row("logical_not", (of(BOOL, 3),), (3,), BOOL),
    Row("select", (of(BOOL, 3, 1), real(3, 4), real(4)), (3, 4)),
    Row("clip", (real(3, 4), real(), real(4)), (3, 4)),
    Row("cast", (real(3),), (3,), np.dtype("float32"), {"dtype": np.dtype("float32")}),
    Row("cast", (real(3),), (3,), C128, {"dtype": C128}),
    Row("cast", (of(C128, 3),), (3,), F64, {"dtype": F64}),
    *(
        Row(name, (real(2, 3, 4),), (3,), params={"axes": (0, 2)})
        for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")
    ),
    Row("reduce_prod", (of(C128, 2, 3),), (2,), C128, {"axes": (1,)}),
    Row("argmax", (real(2, 3),), (2,), I64, {"axis": 1}),
    Row("argmin", (real(2, 3),), (2,), I64, {"axis": 1}),
    Row("cumulative_sum", (real(2, 3),), (2, 3), params={"axis": 1, "reverse": False}),
    *(
        Row(f"cumulative_{name}", (real(2, 3),), (2, 3), params={"axis": 1})
        for name in ("prod", "max", "min", "logsumexp")
    ),
    Row("cumulative_prod", (of(C128, 2, 3),), (2, 3), C128, {"axis": 0}),
    Row(
        "linear_recurrence", (real(2, 3), real(2, 3)), (2, 3), params={"axis": 1, "reverse": True}
    ),
    Row("stop_gradient", (of(I64, 2, 3),), (2, 3), I64),
    Row("transpose", (real(2, 3, 4),), (4, 2, 3), params={"permutation": (2, 0, 1)}),
    Row("reshape", (real(2, 6),), (3, 4), params={"shape": (3, 4)}),
    Row("broadcast_in_dim", (real(3, 1),), (3, 2, 4), params={"shape": (3, 2, 4), "axes": (0, 2)}),
    Row(
        "slice", (real(5, 7),), (2, 3),
        params={"starts": (1, 0), "stops": (3, 7), "steps": (1, 3)},
    ),
    Row("slice", (real(5),), (0,), params={"starts": (2,), "stops": (2,), "steps": (1,)}),
    *(
        Row("diagonal", (real(5, 4, 3),), (4, length), params={"offset": offset, "axes": (2, 0)})
        for offset, length in ((0, 3), (1, 3), (4, 1), (9, 0), (-2, 1), (-3, 0))
    ),
    Row("flip", (real(2, 3),), (2, 3), params={"axes": (0,)}),
    Row("concatenate", (real(2, 3), real(2, 1), real(2, 0)), (2, 4), params={"axis": 1}),
    Row(
        "pad", (real(2, 3), real()), (4, 6),
        params={"low": (1, -1), "high": (1, 2), "interior": (0, 1)},
    ),
    *(
        Row(
            "gather", (real(5, 6), of(I64, 7, 1)), (7, 5, 2),
            params={"axes": (1,), "slice_sizes": (5, 2), "mode": mode},
        )
        for mode in indexing.MODES
    ),
    *(
        Row(
            "scatter_add", (real(5, 6), of(I64, 7, 1), real(7, 5, 2)), (5, 6),
            params={"axes": (1,), "mode": mode},
        )
        for mode in indexing.MODES
    ),
    *(
        Row(
            name, (real(5, 6), of(I64, 7, 1), real(7, 5, 2)), (5, 6),
            params={"axes": (1,), "mode": "fill"},
        )
        for name in ("scatter_set", "scatter_mul", "scatter_min", "scatter_max")
    ),
    Row("count_before", (of(BOOL, 6),), (7,), np.dtype("int32")),
    Row("count_places", (of(I64, 7),), (5,), I64, {"length": 5}),
    Row("nonzero", (of(I32, 7),), (2, 4), I64, {"shape": (2, 3), "count": 4}),
    Row("compress", (real(6, 2), of(I32, 7)), (4, 2), params={"count": 4}),
    Row("expand", (real(4, 2), of(I32, 7)), (6, 2)),
    Row("dynamic_update_slice", (real(5, 6), real(2, 3), of(I64, 2)), (5, 6)),
    Row("argsort", (real(3, 4),), (3, 4), I64, {"descending": True, "first": 2}),
    Row("sort", (real(3, 4),), (3, 4), params={"descending": False, "places": (2,)}),
    Row("searchsorted", (real(5), real(2, 3)), (2, 3), I64, {"side": "left"}),
    *(Row(name, (real(3, 4), of(I64, 3, 4)), (3, 4)) for name in ("permute", "unpermute")),
    Row(
        "dot_general", (real(2, 3, 4, 5), real(5, 3, 6, 2)), (2, 4, 6),
        params={"contracting": ((3, 1), (0, 1)), "batch": ((0,), (3,))},
    ),
    Row(
        "conv", (real(2, 4, 9, 7), real(6, 2, 3, 2)), (2, 6, 5, 14),
        params={
            "strides": (2, 1), "low": (1, 0), "high": (1, 2), "x_dilation": (1, 2),
            "kernel_dilation": (1, 1), "groups": 2,
        },
    ),
    Row(
        "dot_general", (of(C128, 2, 3), of(C128, 3)), (2,), C128,
        {"contracting": ((1,), (0,)), "batch": ((), ())},
    ),
]  # fmt: skip

EVERY_ROW = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def test_every_primitive_has_a_row():
    assert set(PRIMITIVES) == {row.name for row in ROWS}


def arguments(row: Row) -> tuple[AbstractInterpreter, list[Any]]:
    interpreter = AbstractInterpreter(F64)
    return interpreter, [interpreter.value(shape, dtype) for shape, dtype in row.inputs]


def fitted(value: Any, like: Any) -> Any:
    """What the sweep makes of a rule's result before it reaches the argument."""
    if value.dtype is not like.dtype:
        value = project(value, like.dtype)
    return sum_to_shape(value, like.shape) if value.shape != like.shape else value


def signature(value: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    return (value.shape, value.dtype)


@EVERY_ROW
def test_shape_and_dtype(row):
    _, inputs = arguments(row)
    out = apply(PRIMITIVES[row.name], *inputs, **row.params)
    assert signature(out) == (row.shape, row.dtype)


@EVERY_ROW
def test_vjp_gives_the_signature_of_the_argument(row):
    primitive = PRIMITIVES[row.name]
    interpreter, inputs = arguments(row)
    out = apply(primitive, *inputs, **row.params)
    if out.dtype.kind not in "fc":
        assert primitive.vjp is None
        return
    g = interpreter.value(out.shape, out.dtype)
    if primitive.variadic:
        likes = tuple(ShapeDtype(x.shape, x.dtype) for x in inputs)
        for index, x in enumerate(inputs):
            assert signature(primitive.vjp(g, index, likes, **row.params)) == signature(x)
        return
    assert len(primitive.vjp) == len(inputs)
    for x, rule in zip(inputs, primitive.vjp, strict=True):
        if rule is None:
            assert x.dtype.kind not in "fc"
            continue
        pulled = rule(g, kept(rule, inputs, out), row.params)
        if not primitive.elementwise:
            assert signature(pulled) == signature(x)
        assert signature(fitted(pulled, x)) == signature(x)


@EVERY_ROW
def test_jvp_gives_the_signature_of_the_result(row):
    primitive = PRIMITIVES[row.name]
    interpreter, inputs = arguments(row)
    out = apply(primitive, *inputs, **row.params)
    if out.dtype.kind not in "fc":
        assert primitive.jvp is None
        return
    tangents = [interpreter.value(x.shape, x.dtype) for x in inputs]
    if primitive.variadic:
        likes = tuple(ShapeDtype(x.shape, x.dtype) for x in inputs)
        for index, t in enumerate(tangents):
            only_one = [t if place == index else None for place in range(len(tangents))]
            assert signature(primitive.jvp(only_one, likes, **row.params)) == signature(out)
        return
    for x, t, rule in zip(inputs, tangents, primitive.jvp, strict=True):
        if rule is None:
            assert x.dtype.kind not in "fc"
            continue
        pushed = rule(t, kept(rule, inputs, out), row.params)
        if not primitive.elementwise:
            assert signature(pushed) == signature(out)
        assert pushed.dtype == out.dtype or row.name in ("real", "imag", "abs", "cast")
        assert np.broadcast_shapes(pushed.shape, out.shape) == out.shape


def kept(rule: Any, inputs: list[Any], out: Any) -> list[Any]:
    """The residuals a rule names, as the tape would keep them."""
    residuals = []
    for position, keeps_value in rule.residuals:
        x = out if position < 0 else inputs[position]
        residuals.append(x if keeps_value else ShapeDtype(x.shape, x.dtype))
    return residuals


VIEW_ROWS = [row for row in ROWS if PRIMITIVES[row.name].view is not None]


@pytest.mark.parametrize("row", VIEW_ROWS, ids=lambda row: row.name)
def test_views_select_the_elements_of_their_rule(row):
    from tenferro_wgpu.layout import contiguous_layout

    (shape, _), = row.inputs  # fmt: skip
    layout = PRIMITIVES[row.name].view(contiguous_layout(shape), **row.params)
    assert layout.shape == row.shape
    reaches = [
        (extent - 1) * stride
        for extent, stride in zip(layout.shape, layout.strides, strict=True)
        if 0 not in layout.shape
    ]
    assert layout.offset + sum(reach for reach in reaches if reach < 0) >= 0
    last = layout.offset + sum(reach for reach in reaches if reach > 0)
    assert last < int(np.prod(shape)) or 0 in layout.shape
