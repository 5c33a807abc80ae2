"""Activation and normalisation functions of neural networks, as composites over primitives.

Every derivative follows from the primitives'; the edges (slices of -inf, masked entries, zeros)
are chosen so that no NaN arises where the function has a value.  Along the last axis softmax,
log_softmax, layer_norm and rms_norm are one kernel on WebGPU.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dtypes import bool_
from ..errors import ArgumentError, DTypeError, ShapeError
from . import choice, exponential, powers, special, views
from . import elementwise as arithmetic
from .calling import broadcast_shapes, cast_to, check_choice, lift, normalize_axes, normalize_axis
from .reduction import mean
from .reduction_operands import inexact, ordered, reduced, squared_modulus
from .reduction_rules import REDUCE_MAX, REDUCE_SUM, Shape
from .value import Value, constant_like
from .views import detached

__all__ = [
    "gelu",
    "layer_norm",
    "log_softmax",
    "masked_log_softmax",
    "masked_softmax",
    "relu",
    "rms_norm",
    "silu",
    "softmax",
    "softplus",
]


def _floats(op: str, x: Any) -> tuple[Value, Any]:
    return inexact(op, ordered(op, x))


def relu(x: Any, /) -> Any:
    """x where it is above 0, else 0; NaN stays NaN.  The derivative at 0 is 0.

    Raises:
        DTypeError: for bools and complex tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.relu(tw.asarray([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """
    value = ordered("relu", x)
    if value.dtype is bool_:
        raise DTypeError("relu", "bools are not supported; astype(...) first", (bool_,))
    return choice.where(
        choice.less_equal(value, 0), constant_like(value, 0, shape=()), value
    )  # fmt: skip


def softplus(x: Any, /) -> Any:
    """log(1 + exp(x)), without overflow and accurate for negative x.

    Integers give the default float; float16 is computed in float32.

    Raises:
        DTypeError: for complex tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.softplus(tw.asarray([-1000.0, 1000.0])).tolist()
    [0.0, 1000.0]
    """
    value, result = _floats("softplus", x)
    below = choice.less(value, 0)
    zero = constant_like(value, 0, shape=())
    # Each side is smooth at 0, so that every derivative there is that of the function.
    left = exponential.log1p(exponential.exp(choice.where(below, value, zero)))
    right = exponential.log1p(
        exponential.exp(arithmetic.negative(choice.where(below, zero, value)))
    )
    return cast_to(choice.where(below, left, arithmetic.add(value, right)), result)


def silu(x: Any, /) -> Any:
    """x * sigmoid(x), also called swish.

    Integers give the default float; float16 is computed in float32.

    Raises:
        DTypeError: for complex tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.silu(tw.asarray([0.0, 100.0])).tolist()
    [0.0, 100.0]
    """
    value, result = _floats("silu", x)
    return cast_to(arithmetic.multiply(value, exponential.sigmoid(value)), result)


def gelu(x: Any, /, *, approximate: str = "none") -> Any:
    """x times the normal distribution function of x.

    `approximate` "tanh" takes 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x**3))) instead
    (Hendrycks and Gimpel, "Gaussian error linear units", 2016).  Integers give the default float;
    float16 is computed in float32.

    Raises:
        ArgumentError: for another `approximate`.
        DTypeError: for complex tensors.

    >>> import tenferro_wgpu as tw
    >>> tw.gelu(tw.asarray([0.0, 100.0])).tolist()
    [0.0, 100.0]
    """
    check_choice("gelu", "approximate", approximate, ("none", "tanh"))
    value, result = _floats("gelu", x)
    if approximate == "none":
        # erfc and not 1 + erf, of which nothing would be left for negative x.
        share = arithmetic.multiply(special.erfc(arithmetic.multiply(value, -math.sqrt(0.5))), 0.5)
    else:
        cube = arithmetic.multiply(arithmetic.multiply(value, value), value)
        inner = arithmetic.add(value, arithmetic.multiply(cube, 0.044715))
        # (1 + tanh(u)) / 2 is sigmoid(2 u), and leaves digits where u is far below 0.
        share = exponential.sigmoid(arithmetic.multiply(inner, math.sqrt(8 / math.pi)))
    return cast_to(arithmetic.multiply(value, share), result)


# -- softmax ------------------------------------------------------------------------------------


def _shifted(x: Value, axes: Shape) -> Any:
    """x less the largest element of its slice; less 0 in a slice of -inf alone."""
    largest = detached(reduced(REDUCE_MAX, x, axes, keepdims=True))
    nothing = choice.equal(largest, -np.inf)
    return arithmetic.subtract(
        x, choice.where(nothing, constant_like(largest, 0, shape=()), largest)
    )


def _not_zero(total: Value) -> Any:
    """A sum of exponentials; 1 for a slice of -inf alone, whose elements are all 0."""
    return choice.where(choice.equal(total, 0), constant_like(total, 1, shape=()), total)


def _softmax(x: Value, axes: Shape) -> Any:
    if not x.size:
        return x
    exponentials = exponential.exp(_shifted(x, axes))
    total = reduced(REDUCE_SUM, exponentials, axes, keepdims=True)
    return arithmetic.divide(exponentials, _not_zero(total))


def _log_softmax(x: Value, axes: Shape) -> Any:
    if not x.size:
        return x
    shifted = _shifted(x, axes)
    total = reduced(REDUCE_SUM, exponential.exp(shifted), axes, keepdims=True)
    return arithmetic.subtract(shifted, exponential.log(_not_zero(total)))


def softmax(x: Any, /, axis: Any = -1) -> Any:
    """exp(x) / sum(exp(x)) along an axis or several, without overflow.

    A slice of -inf alone gives zeros and the derivative 0; NaN or inf make their slice NaN.
    Integers give the default float; float16 is computed in float32.

    Raises:
        DTypeError: for complex tensors, and for an axis that is no integer.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.softmax(tw.asarray([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """
    value, result = _floats("softmax", x)
    return cast_to(_softmax(value, normalize_axes("softmax", axis, value.ndim)), result)


def log_softmax(x: Any, /, axis: Any = -1) -> Any:
    """Logarithm of `softmax`, accurate where that is small; -inf for a slice of -inf alone.

    Raises:
        DTypeError: for complex tensors, and for an axis that is no integer.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> tw.log_softmax(tw.asarray([0.0, 1000.0])).tolist()
    [-1000.0, 0.0]
    """
    value, result = _floats("log_softmax", x)
    return cast_to(_log_softmax(value, normalize_axes("log_softmax", axis, value.ndim)), result)


def _masked(op: str, x: Value, mask: Any) -> tuple[Any, Any]:
    """The mask as a bool tensor, and `x` with -inf where it does not hold."""
    kept = lift(op, mask, x)
    if kept.dtype is not bool_:
        raise DTypeError(op, f"a mask is a bool tensor, got {kept.dtype}", (kept.dtype,))
    if broadcast_shapes(op, kept.shape, x.shape) != x.shape:
        raise ShapeError(
            op, f"a mask of shape {kept.shape} does not broadcast to {x.shape}", (kept.shape,)
        )
    return kept, choice.where(kept, x, constant_like(x, -np.inf, shape=()))


def masked_softmax(x: Any, mask: Any, /, axis: Any = -1) -> Any:
    """`softmax` over the elements where a bool mask holds; 0 elsewhere.

    Elements that are masked out get the derivative 0 whatever they are, NaN too; a slice without
    any other gives zeros.

    Raises:
        DTypeError: for complex tensors, and for a mask that is not bool.
        ShapeError: if the mask does not broadcast to the shape of `x`.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> x, mask = tw.asarray([1.0, 9.0, 1.0]), tw.asarray([True, False, True])
    >>> tw.masked_softmax(x, mask).tolist()
    [0.5, 0.0, 0.5]
    """
    value, result = _floats("masked_softmax", x)
    axes = normalize_axes("masked_softmax", axis, value.ndim)
    kept, chosen = _masked("masked_softmax", value, mask)
    out = _softmax(chosen, axes)
    return cast_to(choice.where(kept, out, constant_like(out, 0, shape=())), result)


def masked_log_softmax(x: Any, mask: Any, /, axis: Any = -1) -> Any:
    """`log_softmax` over the elements where a bool mask holds; -inf elsewhere.

    Derivatives as in `masked_softmax`.

    Raises:
        DTypeError: for complex tensors, and for a mask that is not bool.
        ShapeError: if the mask does not broadcast to the shape of `x`.
        AxisError: if an axis does not exist, or is named twice.

    >>> import tenferro_wgpu as tw
    >>> x, mask = tw.asarray([1.0, 9.0]), tw.asarray([True, False])
    >>> tw.masked_log_softmax(x, mask).tolist()
    [0.0, -inf]
    """
    value, result = _floats("masked_log_softmax", x)
    axes = normalize_axes("masked_log_softmax", axis, value.ndim)
    kept, chosen = _masked("masked_log_softmax", value, mask)
    out = _log_softmax(chosen, axes)
    return cast_to(choice.where(kept, out, constant_like(out, -np.inf, shape=())), result)


# -- normalisation ------------------------------------------------------------------------------


def _checked(op: str, eps: Any) -> float:
    real = isinstance(eps, (int, float, np.integer, np.floating))
    if not (real and math.isfinite(eps) and eps >= 0):
        raise ArgumentError(op, f"eps is a finite number of at least 0, got {eps!r}")
    return float(eps)


def _along(op: str, x: Value, weight: Any, axis: int) -> Any:
    """A tensor of one axis, as long as axis `axis` of `x`, as a view that lies along it."""
    value = cast_to(lift(op, weight, x), x.dtype)
    if value.shape != (x.shape[axis],):
        raise ShapeError(
            op,
            f"weight and bias have shape ({x.shape[axis]},), that of axis {axis}; got "
            f"{value.shape}",
            (value.shape, x.shape),
        )
    return views.reshaped(value, tuple(n if at == axis else 1 for at, n in enumerate(x.shape)))


def layer_norm(
    x: Any, /, weight: Any = None, bias: Any = None, *, axis: int = -1, eps: float = 1e-5
) -> Any:
    """(x - mean(x)) / sqrt(var(x) + eps) along one axis, times `weight`, plus `bias`.

    The variance is that of all elements (no correction), from the centred ones.  `weight` and
    `bias` are tensors of one axis.  float16 is computed in float32.

    Raises:
        ArgumentError: for an `eps` below 0 or not finite.
        ShapeError: for a weight or bias of another shape.
        DTypeError: for complex tensors, and for an axis that is no integer.
        AxisError: if the axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> tw.layer_norm(tw.asarray([[1.0, 3.0]]), eps=0.0).tolist()
    [[-1.0, 1.0]]
    """
    epsilon = _checked("layer_norm", eps)
    value, result = _floats("layer_norm", x)
    place = normalize_axis("layer_norm", axis, value.ndim)
    centred = arithmetic.subtract(value, mean(value, axis=place, keepdims=True))
    variance = mean(squared_modulus(centred), axis=place, keepdims=True)
    out = arithmetic.divide(centred, powers.sqrt(arithmetic.add(variance, epsilon)))
    if weight is not None:
        out = arithmetic.multiply(out, _along("layer_norm", value, weight, place))
    if bias is not None:
        out = arithmetic.add(out, _along("layer_norm", value, bias, place))
    return cast_to(out, result)


def rms_norm(x: Any, /, weight: Any = None, *, axis: int = -1, eps: float = 1e-5) -> Any:
    """x / sqrt(mean(x**2) + eps) along one axis, times `weight`, a tensor of one axis.

    float16 is computed in float32.

    Raises:
        ArgumentError: for an `eps` below 0 or not finite.
        ShapeError: for a weight of another shape.
        DTypeError: for complex tensors, and for an axis that is no integer.
        AxisError: if the axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> tw.rms_norm(tw.asarray([[3.0, 3.0]]), eps=0.0).tolist()
    [[1.0, 1.0]]
    """
    epsilon = _checked("rms_norm", eps)
    value, result = _floats("rms_norm", x)
    place = normalize_axis("rms_norm", axis, value.ndim)
    squares = mean(squared_modulus(value), axis=place, keepdims=True)
    out = arithmetic.divide(value, powers.sqrt(arithmetic.add(squares, epsilon)))
    if weight is not None:
        out = arithmetic.multiply(out, _along("rms_norm", value, weight, place))
    return cast_to(out, result)
