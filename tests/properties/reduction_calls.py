"""Random valid calls of statistics, norms, scans and activations, continuing `calls`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.testing.cases import Case, reference
from tenferro_wgpu.testing.reductions import QUANTIFIERS, SCANS, STATISTICS
from tenferro_wgpu.testing.values import ALL

from .calls import CALLS, Call, Maker, maker, random_axis
from .operands import FLOATS, Operand, random_operand, random_shape
from .sources import Source

#: Beside these special values NumPy's own result is one of several.
UNSURE = ("logsumexp", "vector_norm, ord 3.5", "vector_norm, ord -2")


def _is_inexact(dtype: str) -> bool:
    return np.dtype(dtype).kind in "fc"


def _filled(source: Source, dtype: str, kind: str, most_axes: int = 4) -> Operand:
    """An operand without empty axes."""
    shape = tuple(n or 1 for n in random_shape(source, most_axes))
    return random_operand(source, dtype, shape=shape, kind=kind)


def _of_axes(cases: dict[str, Case]) -> Maker:
    names = [name for name in cases if name not in UNSURE]

    def make(source: Source) -> Call:
        name = source.choice(names)
        case = cases[name]
        dtype = source.choice(case.dtypes)
        # "small" numbers leave no rounding but that of the last operation.
        kind = "small" if name in STATISTICS and not name.startswith("nanm") else "any"
        operand = _filled(source, dtype, kind)
        axis = random_axis(source, operand.ndim)
        if name == "average" and axis == ():
            axis = None  # NumPy divides by ones of another shape
        options = {"axis": axis, "keepdims": source.chance(30)}
        return Call(
            name, case.ours, lambda *arrays, **also: reference(case, *arrays, **also),
            [operand], options, any_zero=True,
            ulps=case.ulps and 64, absolute=64 if case.ulps else 0,
        )  # fmt: skip

    return make


# One maker for several functions: each costs as many examples as an operation of its own.
CALLS["any, all, count_nonzero"] = _of_axes(QUANTIFIERS)
CALLS["statistics"] = _of_axes(STATISTICS)


@maker("scans")
def _scan(source: Source) -> Call:
    name = source.choice(tuple(SCANS))
    case = SCANS[name]
    dtype = source.choice(case.dtypes)
    exact = name == "cumsum" and _is_inexact(dtype)
    operand = random_operand(source, dtype, kind="small" if exact else "any", most_axes=4)
    if name == "cumprod" and _is_inexact(dtype):
        signs = np.where(np.arange(operand.base.size) % 3, 1, -1)
        operand.base[...] = signs.reshape(operand.base.shape)
    axis = None
    if operand.ndim and source.chance(80):
        axis = source.integer(-operand.ndim, operand.ndim - 1)
    return Call(name, case.ours, case.reference, [operand], {"axis": axis}, any_zero=True)


@maker("argmin")
def _argmin(source: Source) -> Call:
    operand = _filled(source, source.choice((*ALL, "float16")), "any")
    axis = source.integer(-operand.ndim, operand.ndim - 1) if operand.ndim else None
    return Call(
        "argmin", tw.argmin, np.argmin, [operand], {"axis": axis, "keepdims": source.chance(30)}
    )


@maker("diff")
def _diff(source: Source) -> Call:
    operand = _filled(source, source.choice((*ALL, "float16")), "any")
    if operand.ndim == 0:
        operand = random_operand(source, "int16", shape=(5,))
    options = {"n": source.integer(0, 3), "axis": source.integer(-operand.ndim, operand.ndim - 1)}
    return Call("diff", tw.diff, np.diff, [operand], options, any_zero=True)


def _softmax(x: Any, axis: Any) -> Any:
    e = np.exp(x.astype(np.float64) - np.max(x.astype(np.float64), axis=axis, keepdims=True))
    return (e / np.sum(e, axis=axis, keepdims=True)).astype(x.dtype)


@maker("softmax")
def _softmax_call(source: Source) -> Call:
    operand = _filled(source, source.choice(FLOATS), "moderate")
    axis = random_axis(source, operand.ndim)
    return Call("softmax", tw.softmax, _softmax, [operand], {"axis": axis}, ulps=64)


@maker("logsumexp")
def _log_sum_exp(source: Source) -> Call:
    operand = _filled(source, source.choice(FLOATS), "moderate")
    axis = random_axis(source, operand.ndim)

    def in_long(x: Any, axis: Any) -> Any:
        wide = np.log(np.sum(np.exp(x.astype(np.longdouble)), axis=axis))
        return np.asarray(wide).astype(x.dtype)

    return Call("logsumexp", tw.logsumexp, in_long, [operand], {"axis": axis}, ulps=64, absolute=64)
