"""Norms of vectors, and the logarithm of a sum of exponentials: reductions of functions.

Composites over primitives, so every derivative follows from theirs.  On WebGPU those along the
last axes are one kernel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import real_dtype
from ..errors import ArgumentError
from . import choice, exponential, powers, views
from . import elementwise as arithmetic
from .calling import cast_to, lift, normalize_axes
from .reduction_operands import as_real, count_along, inexact, ordered, reduced, squared_modulus
from .reduction_rules import REDUCE_MAX, REDUCE_MIN, REDUCE_SUM
from .value import Value, constant_like
from .views import detached

__all__ = ["logsumexp", "norm", "vector_norm"]


def root(squares: Value) -> Any:
    """Square root with the derivative 0 at 0, where a norm has no slope of one direction."""
    at_zero = choice.equal(squares, 0)
    root = powers.sqrt(choice.where(at_zero, constant_like(squares, 1, shape=()), squares))
    return choice.where(at_zero, constant_like(squares, 0, shape=()), root)


def logsumexp(x: Any, /, axis: Any = None, *, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over the given axes, without overflow.

    -inf for slices of -inf alone (with the derivative 0) and for empty ones; inf and NaN as in
    the formula.  Integers give the default float.

    Raises:
        DTypeError: for complex tensors.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.logsumexp(tw.asarray([1000.0, 1000.0])).item() - 1000 < 0.6932
    True
    """
    value, result = inexact("logsumexp", ordered("logsumexp", x))
    axes = normalize_axes("logsumexp", axis, value.ndim)
    if not count_along(value, axes):
        out = reduced(REDUCE_SUM, value, axes, keepdims)
        return cast_to(constant_like(out, -np.inf), result)
    if not axes:
        return cast_to(value, result)
    # A slice of -inf, or with inf, is shifted by 0: the differences would be NaN.
    shift = detached(reduced(REDUCE_MAX, value, axes, keepdims=True))
    shift = choice.where(
        choice.equal(arithmetic.abs(shift), np.inf), constant_like(shift, 0, shape=()), shift
    )
    total = reduced(
        REDUCE_SUM, exponential.exp(arithmetic.subtract(value, shift)), axes, keepdims=True
    )
    empty = choice.equal(total, 0)
    log = exponential.log(choice.where(empty, constant_like(total, 1, shape=()), total))
    out = choice.where(empty, constant_like(total, -np.inf, shape=()), arithmetic.add(log, shift))
    if not keepdims:
        out = views.reshaped(out, tuple(n for at, n in enumerate(value.shape) if at not in axes))
    return cast_to(out, result)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """Norm of vectors: the elements along the given axes; without `axis`, all.

    (sum of abs(x)**ord)**(1/ord); `ord` inf and -inf give the largest and smallest modulus, 0
    the number of elements that are not 0.  Integers give the default float, complex tensors a
    real result.  The derivative where a norm is 0 is 0.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        ArgumentError: for an `ord` that is no number.
        ShapeError: for the largest or smallest of nothing.

    >>> import tenferro_wgpu as tw
    >>> tw.vector_norm(tw.asarray([3.0, -4.0])).item()
    5.0
    """
    return _vector_norm("vector_norm", x, ord, axis, keepdims)


def norm(x: Any, /, ord: float | None = None, axis: Any = None, keepdims: bool = False) -> Any:
    """`vector_norm` with NumPy's order of arguments; without `ord`, 2.

    Of a matrix, and with `axis` of two axes, only the norm without `ord` (the root of the sum of
    squares) is that of vectors, so that only it is taken.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        ArgumentError: for the norm of a matrix of some `ord`.
        ShapeError: for the largest or smallest of nothing.

    >>> import tenferro_wgpu as tw
    >>> tw.norm(tw.asarray([[3.0, 4.0], [6.0, 8.0]]), axis=1).tolist()
    [5.0, 10.0]
    """
    value = lift("norm", x)
    axes = normalize_axes("norm", axis, value.ndim)
    if ord is not None and len(axes) > 1:
        raise ArgumentError(
            "norm", f"{len(axes)} axes with ord={ord} name the norm of a matrix; "
            "use vector_norm(..., axis=, ord=) for that of all elements as a vector",
        )  # fmt: skip
    return _vector_norm("norm", value, 2 if ord is None else ord, axes, keepdims)


def _vector_norm(op: str, x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if isinstance(ord, (str, Value)) or not isinstance(ord, (int, float, np.number)):
        raise ArgumentError(op, f"ord is a real number, inf or -inf, got {ord!r}")
    value, result = inexact(op, x)
    axes = normalize_axes(op, axis, value.ndim)
    order = float(ord)
    if order == 2:
        return as_real(result, root(reduced(REDUCE_SUM, squared_modulus(value), axes, keepdims)))
    if order == 0:
        counted = cast_to(choice.not_equal(value, 0), real_dtype(value.dtype))
        return as_real(result, reduced(REDUCE_SUM, counted, axes, keepdims))
    modulus = arithmetic.abs(value)
    if math.isinf(order):
        extremum = REDUCE_MAX if order > 0 else REDUCE_MIN
        return as_real(result, reduced(extremum, modulus, axes, keepdims))
    if order == 1:
        return as_real(result, reduced(REDUCE_SUM, modulus, axes, keepdims))
    total = reduced(REDUCE_SUM, _power(modulus, order), axes, keepdims)
    return as_real(result, _power(total, 1 / order))


def _power(x: Value, exponent: float) -> Any:
    """x**exponent for x >= 0; to a positive exponent with the derivative 0 at 0."""
    if exponent < 0:
        return powers.pow(x, exponent)
    at_zero = choice.equal(x, 0)
    power = powers.pow(choice.where(at_zero, constant_like(x, 1, shape=()), x), exponent)
    return choice.where(at_zero, constant_like(x, 0, shape=()), power)
