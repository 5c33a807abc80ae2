"""Covariances and correlations of variables: products of what is left of their means."""

from __future__ import annotations

from typing import Any

from ..dtypes import real_dtype
from ..errors import ShapeError
from . import choice, contraction, diagonals, joining, powers, reduction, structural, views
from . import elementwise as arithmetic
from .calling import as_integer, cast_to, check_flag, lift, promote
from .reduction_operands import inexact

__all__ = ["corrcoef", "cov"]


def cov(
    m: Any,
    /,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """Covariance matrix of variables, one per row of `m` (per column without `rowvar`).

    `y` holds further variables.  The sum of products is divided by the number of observations
    less `ddof`, by default 1, or 0 with `bias`.  `fweights` says how often, `aweights` how
    heavily an observation counts: tensors of one axis.  NumPy's definition and order.

    Raises:
        ShapeError: for more than two axes, or weights that do not fit.
        ArgumentError: for a `ddof` that is no integer.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.cov(tw.asarray([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    check_flag("cov", "rowvar", rowvar)
    check_flag("cov", "bias", bias)
    return covariances("cov", m, y, rowvar, bias, ddof, fweights, aweights, dtype=dtype)


def covariances(
    op: str,
    m: Any,
    y: Any,
    rowvar: bool,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """`cov` for the function named `op`."""
    if ddof is not None:
        ddof = as_integer(op, "ddof", ddof)
    operands = [m] if y is None else promote(op, (lift(op, m), lift(op, y)))
    rows = []
    result = None
    for operand in operands:
        value, result = inexact(op, operand, dtype)
        if value.ndim > 2:
            raise ShapeError(op, f"at most two axes, got shape {value.shape}", (value.shape,))
        if value.ndim < 2:
            value = views.reshaped(value, (1, value.size))
        elif not rowvar:
            value = structural.transpose(value)
        rows.append(value)
    assert result is not None
    x = rows[0] if len(rows) == 1 else joining.concatenate(rows, axis=0)
    lost = float(ddof if ddof is not None else 0 if bias else 1)
    weights = None
    for given in (fweights, aweights):
        if given is not None:
            weight = cast_to(lift(op, given, x), real_dtype(x.dtype))
            if weight.shape != x.shape[1:]:
                raise ShapeError(
                    op,
                    f"weights of shape {weight.shape} do not fit {x.shape[1]} observations",
                    (weight.shape,),
                )
            weights = weight if weights is None else arithmetic.multiply(weights, weight)
    if weights is None:
        left: Any = float(max(x.shape[1] - lost, 0.0))
        centre = reduction.mean(x, axis=1, keepdims=True)
        scaled = centred = arithmetic.subtract(x, centre)
    else:
        total = reduction.sum(weights)
        left = total
        if lost and aweights is None:
            left = arithmetic.subtract(total, lost)
        elif lost:
            aweight = cast_to(lift(op, aweights, x), real_dtype(x.dtype))
            heavy = arithmetic.divide(reduction.sum(arithmetic.multiply(weights, aweight)), total)
            left = arithmetic.subtract(total, arithmetic.multiply(heavy, lost))
        left = choice.maximum(left, 0)
        centre = arithmetic.divide(
            reduction.sum(arithmetic.multiply(x, weights), axis=1, keepdims=True), total
        )
        centred = arithmetic.subtract(x, centre)
        scaled = arithmetic.multiply(centred, weights)
    products = contraction.matmul(centred, arithmetic.conj(structural.transpose(scaled)))
    return cast_to(structural.squeeze(arithmetic.divide(products, left)), result)


def corrcoef(x: Any, /, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Correlation coefficients of variables, one per row of `x` (per column without `rowvar`).

    `cov` over the product of the standard deviations, and within -1 and 1, as NumPy's.  NaN where
    a variable does not vary.

    Raises:
        ShapeError: for more than two axes.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.corrcoef(tw.asarray([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    check_flag("corrcoef", "rowvar", rowvar)
    products = covariances("corrcoef", x, y, rowvar, dtype=dtype)
    if products.ndim == 0:
        return arithmetic.divide(products, products)
    deviations = powers.sqrt(arithmetic.real(diagonals.diagonal(products)))
    rows = views.reshaped(deviations, (deviations.size, 1))
    found = arithmetic.divide(arithmetic.divide(products, rows), deviations)
    if found.dtype.kind != "c":
        return choice.clip(found, -1, 1)
    parts = (choice.clip(part, -1, 1) for part in (arithmetic.real(found), arithmetic.imag(found)))
    return arithmetic.complex(*parts)
