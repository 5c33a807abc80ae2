"""Norms of vectors, and the logarithm of a sum of exponentials: reductions of functions.

Composites over primitives, so every derivative follows from theirs.  On WebGPU those along the
last axes are one kernel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import real_dtype
from ..errors import ArgumentError, ShapeError, UnsupportedOperationError
from . import choice, exponential, powers, views
from . import elementwise as arithmetic
from .calling import cast_to, check_flag, lift, normalize_axes, normalize_axis
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
    check_flag("logsumexp", "keepdims", keepdims)
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
    check_flag("vector_norm", "keepdims", keepdims)
    return _vector_norm("vector_norm", x, ord, axis, keepdims)


#: Norms of matrices that are no reduction.
_SPECTRAL = ("nuc", 2, -2)


def norm(x: Any, /, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or of matrices, as NumPy's `linalg.norm`.

    Args:
        x: a tensor; integers give the default float, complex numbers a real result.
        ord: for vectors any number, see `vector_norm`.  For matrices "fro" (the root of the sum of
            squares), 1 and -1 (the largest and smallest sum of a column's moduli), inf and -inf (of
            a row's).  None: the root of the sum of squares, of all elements without `axis`.
        axis: one axis of vectors, or two of matrices: that of rows and that of columns.
        keepdims: keep the reduced axes, of extent 1.

    Raises:
        AxisError: if an axis does not exist, or is named twice.
        ArgumentError: for another `ord`.
        UnsupportedOperationError: for "nuc", 2 and -2 of matrices, which take singular values.
        ShapeError: for another number of axes, or the largest or smallest of nothing.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([[3.0, 4.0], [6.0, 8.0]])
    >>> tw.norm(x, axis=1).tolist(), tw.norm(x, 1).item()
    ([5.0, 10.0], 12.0)
    """
    check_flag("norm", "keepdims", keepdims)
    value = lift("norm", x)
    axes = normalize_axes("norm", axis, value.ndim)
    if ord is None:
        return _vector_norm("norm", value, 2, axes, keepdims)
    if len(axes) == 2:
        given = axis if isinstance(axis, (tuple, list)) else axes
        rows, columns = (normalize_axis("norm", one, value.ndim) for one in given)
        return _matrix_norm(value, ord, rows, columns, keepdims)
    if len(axes) > 2:
        raise ShapeError(
            "norm", f"{len(axes)} axes with ord={ord!r}: vectors have one axis and matrices two; "
            "name them with axis=, or use vector_norm(...)", (value.shape,),
        )  # fmt: skip
    return _vector_norm("norm", value, ord, axes, keepdims)


def _matrix_norm(x: Value, ord: Any, rows: int, columns: int, keepdims: bool) -> Any:
    if isinstance(ord, str) and ord == "fro":
        return _vector_norm("norm", x, 2, tuple(sorted((rows, columns))), keepdims)
    is_number = isinstance(ord, (int, float, np.integer, np.floating))
    if (is_number or isinstance(ord, str)) and ord in _SPECTRAL:
        raise UnsupportedOperationError(
            "norm", hint=f"ord={ord!r} of a matrix takes singular values, and linear algebra is "
            'not there; use "fro", 1, -1, inf or -inf, or NumPy on x.numpy()',
        )  # fmt: skip
    if not is_number or ord not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(
            "norm", f'ord of a matrix is None, "fro", 1, -1, inf or -inf, got {ord!r}'
        )
    value, result = inexact("norm", x)
    added, compared = (columns, rows) if math.isinf(ord) else (rows, columns)
    sums = reduced(REDUCE_SUM, arithmetic.abs(value), (added,), keepdims=True)
    extremum = REDUCE_MAX if ord > 0 else REDUCE_MIN
    out = reduced(extremum, sums, (compared,), keepdims=True)
    if not keepdims:
        rest = (n for at, n in enumerate(x.shape) if at not in (rows, columns))
        out = views.reshaped(out, tuple(rest))
    return as_real(result, out)


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
