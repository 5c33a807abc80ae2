"""Random valid calls of activations, norms, parts of numbers and scans, continuing `calls`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
from cases.operations import UNARY

import tenferro_wgpu as tw

from .calls import Call, maker
from .operands import ALL, FLOATS, NUMBERS, Operand, random_operand, random_shape
from .sources import Source

Array = np.ndarray[Any, Any]


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """A formula evaluated in long double and rounded once to the dtype of its first operand."""

    def run(x: Array, *rest: Any, **options: Any) -> Array:
        given = [each.astype(np.longdouble) if _is_float(each) else each for each in (x, *rest)]
        return np.asarray(function(*given, **options)).astype(x.dtype)

    return run


def _is_float(each: Any) -> bool:
    return isinstance(each, np.ndarray) and each.dtype.kind == "f"


def _filled(source: Source, dtype: str, most_axes: int = 4) -> Operand:
    """An operand of moderate numbers with axes, none of them empty."""
    shape = tuple(n or 1 for n in random_shape(source, most_axes)) or (3,)
    return random_operand(source, dtype, shape=shape, kind="moderate")


def _erf(x: Array) -> Array:
    return np.asarray(UNARY["erf"].reference(x.astype(np.float64)))


ACTIVATIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "relu": (tw.relu, lambda x: np.maximum(x, 0)),
    "softplus": (tw.softplus, lambda x: np.logaddexp(x, 0)),
    "silu": (tw.silu, lambda x: x / (1 + np.exp(-x))),
    "gelu": (tw.gelu, lambda x: x * (1 + _erf(x / np.sqrt(2))) / 2),
    "gelu, tanh": (
        lambda x: tw.gelu(x, approximate="tanh"),
        lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    ),
}


@maker("activations")
def _activation(source: Source) -> Call:
    name = source.choice(tuple(ACTIVATIONS))
    ours, formula = ACTIVATIONS[name]
    dtype = source.choice(("float32", "float64", "float16"))
    operand = random_operand(source, dtype, kind="moderate")
    return Call(name, ours, _wide(formula), [operand], ulps=64, absolute=16, any_zero=True)


def _log_softmax(x: Array, axis: Any) -> Array:
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True)))


def _masked(x: Array, mask: Array, axis: Any) -> Array:
    return _log_softmax(np.where(mask, x, -np.inf), axis)


@maker("log_softmax")
def _log_softmax_call(source: Source) -> Call:
    operand = _filled(source, source.choice(FLOATS))
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    return Call(
        "log_softmax", tw.log_softmax, _wide(_log_softmax), [operand], {"axis": axis}, ulps=64,
        absolute=64, any_zero=True,
    )  # fmt: skip


@maker("masked_softmax")
def _masked_softmax(source: Source) -> Call:
    operand = _filled(source, source.choice(FLOATS))
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    flags = source.generator().random(operand.shape) < 0.6
    flags[tuple(0 if n == axis % operand.ndim else slice(None) for n in range(operand.ndim))] = True
    mask = Operand(flags)
    name, ours, theirs = source.choice((
        ("masked_softmax", tw.masked_softmax, lambda *a: np.exp(_masked(*a))),
        ("masked_log_softmax", tw.masked_log_softmax, _masked),
    ))  # fmt: skip
    return Call(name, ours, _wide(theirs), [operand, mask, axis], ulps=64, absolute=64,
                any_zero=True)  # fmt: skip


def _layer_norm(x: Array, weight: Array, bias: Array, axis: int, eps: float) -> Array:
    centred = x - np.mean(x, axis=axis, keepdims=True)
    shape = [1] * x.ndim
    shape[axis] = -1
    scaled = centred / np.sqrt(np.mean(centred**2, axis=axis, keepdims=True) + eps)
    return np.asarray(scaled * weight.reshape(shape) + bias.reshape(shape))


def _rms_norm(x: Array, weight: Array, axis: int, eps: float) -> Array:
    shape = [1] * x.ndim
    shape[axis] = -1
    scale = np.sqrt(np.mean(x**2, axis=axis, keepdims=True) + eps)
    return np.asarray(x / scale * weight.reshape(shape))


@maker("layer_norm")
def _norms(source: Source) -> Call:
    dtype = source.choice(("float32", "float64"))
    operand = _filled(source, dtype)
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    vectors = [random_operand(source, dtype, shape=(operand.shape[axis],), kind="moderate")
               for _ in range(2)]  # fmt: skip
    options = {"axis": axis, "eps": source.choice((1e-5, 0.5))}
    name, ours, theirs, rest = source.choice((
        ("layer_norm", tw.layer_norm, _layer_norm, vectors),
        ("rms_norm", tw.rms_norm, _rms_norm, vectors[:1]),
    ))  # fmt: skip
    return Call(name, ours, _wide(theirs), [operand, *rest], options, ulps=256, absolute=2048,
                any_zero=True)  # fmt: skip


@maker("parts of numbers")
def _parts(source: Source) -> Call:
    dtype = source.choice((*NUMBERS, "complex64", "complex128"))
    name = source.choice(("real", "imag", "conj"))
    return Call(name, getattr(tw, name), getattr(np, name), [random_operand(source, dtype)])


@maker("cumulative_sum")
def _cumulative(source: Source) -> Call:
    dtype = source.choice((*NUMBERS, "float16", "complex64", "complex128"))
    operand = random_operand(source, dtype, kind="small", most_axes=4)
    if operand.ndim == 0:
        operand = random_operand(source, dtype, shape=(7,), kind="small")
    name = source.choice(("cumulative_sum", "cumulative_prod"))
    if name == "cumulative_prod" and np.dtype(dtype).kind in "fc":
        operand.base[...] = np.where(np.real(operand.base) > 0, 1, -1)
    options = {
        "axis": source.integer(-operand.ndim, operand.ndim - 1),
        "include_initial": source.chance(50),
    }
    return Call(name, getattr(tw, name), getattr(np, name), [operand], options, any_zero=True)


@maker("cumulative_logsumexp")
def _cumulative_logsumexp(source: Source) -> Call:
    operand = _filled(source, source.choice(("float32", "float64")))
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    return Call(
        "cumulative_logsumexp", tw.cumulative_logsumexp, _wide(np.logaddexp.accumulate), [operand],
        {"axis": axis}, ulps=64, absolute=64,
    )  # fmt: skip


@maker("cov")
def _cov(source: Source) -> Call:
    dtype = source.choice(("float32", "float64", "complex64", "complex128"))
    shape = (source.integer(2, 6), source.integer(2, 6))
    operand = random_operand(source, dtype, shape=shape, kind="small")
    options: dict[str, Any] = {"rowvar": source.chance(50)}
    options |= source.choice(({}, {"bias": True}, {"ddof": 0}))

    def reference(x: Array, **options: Any) -> Array:
        return np.cov(x, **options).astype(x.dtype)

    return Call("cov", tw.cov, reference, [operand], options, ulps=64, absolute=64, any_zero=True)


@maker("percentile")
def _percentile(source: Source) -> Call:
    dtype = source.choice(("float32", "float64"))
    shape = tuple(n or 1 for n in random_shape(source, 3)) or (4,)
    operand = random_operand(source, dtype, shape=shape, kind="small")
    axis = source.integer(-operand.ndim, operand.ndim - 1)

    def reference(array: Array, q: Any, axis: int) -> Array:
        return np.percentile(array.astype(np.float64), q, axis).astype(array.dtype)

    q = source.choice((50, 0, [25, 75], 100))
    return Call("percentile", tw.percentile, reference, [operand, q], {"axis": axis}, ulps=4,
                any_zero=True, absolute=4)  # fmt: skip


@maker("isin")
def _isin(source: Source) -> Call:
    dtype = source.choice(ALL)
    operands = [random_operand(source, dtype, kind="small", most_axes=n) for n in (4, 1)]
    return Call("isin", tw.isin, np.isin, operands, {"invert": source.chance(30)})


#: Functions of one matrix of small whole numbers that are another function in other words.
IN_OTHER_WORDS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "flatten": (tw.flatten, np.ravel),
    "fliplr": (tw.fliplr, np.fliplr),
    "transpose": (tw.transpose, np.transpose),
    "argwhere": (tw.argwhere, np.argwhere),
    "flatnonzero": (tw.flatnonzero, np.flatnonzero),
    "nonzero_async": (lambda x: asyncio.run(_awaited(tw.nonzero_async, x)), np.nonzero),
    "unique_async": (lambda x: asyncio.run(_awaited(tw.unique_async, x)), np.unique),
    "getitem_async": (
        lambda x: asyncio.run(_awaited(tw.getitem_async, x, tw.greater(x, 0))),
        lambda x: x[x > 0],
    ),
    "unique_all": (lambda x: tuple(tw.unique_all(x)), lambda x: tuple(np.unique_all(x))),
    "unique_counts": (lambda x: tuple(tw.unique_counts(x)), lambda x: tuple(np.unique_counts(x))),
    "unique_inverse": (
        lambda x: tuple(tw.unique_inverse(x)),
        lambda x: tuple(np.unique_inverse(x)),
    ),
    "unique_values": (tw.unique_values, lambda x: np.sort(np.unique_values(x))),
    "reduce_sum": (lambda x: tw.reduce_sum(x, (1,)), lambda x: np.sum(x, 1)),
    "reduce_prod": (lambda x: tw.reduce_prod(x, (0, 1)), np.prod),
    "reduce_max": (lambda x: tw.reduce_max(x, (0,)), lambda x: np.max(x, 0)),
    "reduce_min": (lambda x: tw.reduce_min(x, (-1,)), lambda x: np.min(x, -1)),
    "norm": (lambda x: tw.norm(x, axis=1), lambda x: _norm(x)),
    "inner": (lambda x: tw.inner(x, x[:1]), lambda x: np.inner(x, x[:1])),
    "concat": (lambda x: tw.concat([x, x], axis=1), lambda x: np.concat([x, x], axis=1)),
    "hstack": (lambda x: tw.hstack([x, x[:, :1]]), lambda x: np.hstack([x, x[:, :1]])),
    "atleast_1d": (lambda x: tw.atleast_1d(x[0, 0]), lambda x: np.atleast_1d(x[0, 0])),
    "atleast_2d": (lambda x: tw.atleast_2d(x[0]), lambda x: np.atleast_2d(x[0])),
    "empty_like": (lambda x: tw.empty_like(x)[:0], lambda x: np.empty_like(x)[:0]),
}


async def _awaited(function: Callable[..., Any], *arguments: Any) -> Any:
    return await function(*arguments)


def _norm(x: Array) -> Array:
    found = np.linalg.norm(x.astype(np.float64), axis=1)
    return found.astype(x.dtype if x.dtype.kind == "f" else np.float32)


@maker("in other words")
def _in_other_words(source: Source) -> Call:
    name = source.choice(tuple(IN_OTHER_WORDS))
    shape = (source.integer(1, 4), source.integer(1, 5))
    operand = random_operand(source, source.choice(NUMBERS), shape=shape, kind="small")
    return Call(name, *IN_OTHER_WORDS[name], [operand], ulps=4, any_zero=True)
