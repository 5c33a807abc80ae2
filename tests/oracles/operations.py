"""Which program of ours is meant by a family of records.

A function takes the inputs of a record in order (``a``, ``b``), then its positional and keyword
arguments, in PyTorch's names, and returns one tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tenferro_wgpu as tw


def _axes(x: Any, dim: Any) -> Any:
    """PyTorch reduces everything for an empty list of axes, and takes axes of scalars."""
    if dim is None or dim == [] or x.ndim == 0:
        return None
    return tuple(dim) if isinstance(dim, list) else dim


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        return function(x, axis=_axes(x, dim), keepdims=keepdim)

    return reduced


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Variance and its root; older callers say whether it is unbiased, newer ones how much."""

    def reduced(x: Any, dim: Any = None, unbiased: Any = True, keepdim: bool = False,
                **options: Any) -> Any:  # fmt: skip
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = options.get("correction", 1 if unbiased else 0)
        correction = 1 if correction is None else correction
        return function(x, axis=_axes(x, dim), keepdims=keepdim, correction=correction)

    return reduced


def _norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    ord = 2 if ord is None else ord
    return tw.vector_norm(x, ord=ord, axis=_axes(x, dim), keepdims=keepdim)


def _prod(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    return tw.prod(x, axis=_axes(x, dim), keepdims=keepdim)


def _logit(x: Any, eps: Any = None) -> Any:
    x = x if eps is None else tw.clip(x, eps, 1 - eps)
    return tw.log(x / (1 - x))


def _sinc(x: Any) -> Any:
    at_zero = x == 0
    angle = math.pi * tw.where(at_zero, 1, x)
    return tw.where(at_zero, 1, tw.sin(angle) / angle)


def _xlogy(x: Any, y: Any) -> Any:
    return tw.where(x == 0, 0, x * tw.log(tw.where(x == 0, 1, y)))


def _xlog1py(x: Any, y: Any) -> Any:
    return tw.where(x == 0, 0, x * tw.log1p(tw.where(x == 0, 0, y)))


def _entropy(x: Any) -> Any:
    positive = x > 0
    inside = -x * tw.log(tw.where(positive, x, 1))
    return tw.where(positive, inside, tw.where(x == 0, 0, -math.inf))


def _normal(x: Any) -> Any:
    """The distribution function of the normal distribution."""
    return 0.5 * tw.erfc(x * -math.sqrt(0.5))


def _multigamma(x: Any, p: int) -> Any:
    total = tw.full_like(x, p * (p - 1) / 4 * math.log(math.pi))
    for j in range(p):
        total = total + tw.lgamma(x - j / 2)
    return total


def _logaddexp(x: Any, y: Any) -> Any:
    """Ours is of real numbers, as NumPy's."""
    return tw.log(tw.exp(x) + tw.exp(y)) if x.dtype.kind == "c" else tw.logaddexp(x, y)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + tw.exp(-x)) if x.dtype.kind == "c" else tw.sigmoid(x)


def _vander(x: Any, N: Any = None) -> Any:
    x = tw.atleast_1d(x)
    count = x.shape[-1] if N is None else N
    ones = tw.ones_like(x)
    powers = [ones]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return tw.stack(powers, axis=-1)


def _elu(x: Any, alpha: float = 1.0) -> Any:
    return tw.where(x > 0, x, alpha * tw.expm1(tw.minimum(x, 0)))


def _softplus(x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return tw.where(beta * x > threshold, x, tw.softplus(beta * x) / beta)


def _hardshrink(x: Any, lambd: float = 0.5) -> Any:
    return tw.where((x >= -lambd) & (x <= lambd), 0, x)


def _softshrink(x: Any, lambd: float = 0.5) -> Any:
    return tw.where(x > lambd, x - lambd, tw.where(x < -lambd, x + lambd, 0 * x))


def _hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    return tw.clip(x, min_val, max_val)


def _prelu(x: Any, weight: Any) -> Any:
    if weight.ndim and x.ndim > 1:
        weight = tw.reshape(weight, (-1,) + (1,) * (x.ndim - 2))
    return tw.where(x > 0, x, weight * x)


def _product_of_all(*matrices: Any) -> Any:
    product = matrices[0]
    for matrix in matrices[1:]:
        product = product @ matrix
    return product


#: Family -> program.  The observable of all of these is the result itself.
OPERATIONS: dict[str, Callable[..., Any]] = {
    "__radd__": lambda x, y: y + x,
    "__rdiv__": lambda x, y: y / x,
    "__rmod__": lambda x, y: y % x,
    "__rmul__": lambda x, y: y * x,
    "__rpow__": lambda x, y: y**x,
    "__rsub__": lambda x, y: y - x,
    "amax": _reduction(tw.max),
    "amin": _reduction(tw.min),
    "cdouble": lambda x, memory_format=None: x.astype(tw.complex128),
    "clamp_max": tw.minimum,
    "clamp_min": tw.maximum,
    "complex": lambda x, y: x + 1j * y,
    "cross": lambda x, y, dim=-1: tw.cross(x, y, axis=dim),
    "div_no_rounding_mode": tw.divide,
    "double": lambda x, memory_format=None: tw.real(x).astype(tw.float64),
    "fill": lambda x, value: tw.full_like(x, value) + 0 * tw.where(True, 0 * x, x),
    "float_power": lambda x, y: _double(x) ** _double(y),
    "frac": lambda x: x - tw.trunc(x),
    "logaddexp": _logaddexp,
    "sigmoid": _sigmoid,
    "ldexp": lambda x, y: x * tw.exp2(y),
    "logit": _logit,
    "max_binary": tw.maximum,
    "mean": _reduction(tw.mean),
    "min_binary": tw.minimum,
    "multi_dot": _product_of_all,
    "mvlgamma_mvlgamma_p_1": _multigamma,
    "mvlgamma_mvlgamma_p_3": _multigamma,
    "mvlgamma_mvlgamma_p_5": _multigamma,
    "nanmean": _reduction(tw.nanmean),
    "nansum": _reduction(tw.nansum),
    "neg": tw.negative,
    "nn_functional_celu": _elu,
    "nn_functional_elu": _elu,
    "nn_functional_hardshrink": _hardshrink,
    "nn_functional_hardsigmoid": lambda x: tw.clip(x / 6 + 0.5, 0, 1),
    "nn_functional_hardtanh": _hardtanh,
    "nn_functional_mish": lambda x: x * tw.tanh(tw.softplus(x)),
    "nn_functional_prelu": _prelu,
    "nn_functional_relu": lambda x: tw.relu(x),
    "nn_functional_relu6": lambda x: tw.clip(x, 0, 6),
    "nn_functional_silu": lambda x: tw.silu(x),
    "nn_functional_softplus": _softplus,
    "nn_functional_softshrink": _softshrink,
    "nn_functional_softsign": lambda x: x / (1 + tw.abs(x)),
    "nn_functional_tanhshrink": lambda x: x - tw.tanh(x),
    "nn_functional_threshold": lambda x, threshold, value: tw.where(x > threshold, x, value),
    "norm": _norm,
    "polar": lambda size, angle: size * tw.cos(angle) + 1j * (size * tw.sin(angle)),
    **{f"polygamma_polygamma_n_{n}": lambda x, n: tw.polygamma(n, x) for n in range(5)},
    "special_polygamma_special_polygamma_n_0": lambda x, n: tw.polygamma(n, x),
    "prod": _prod,
    "rsub": lambda x, y, alpha=1: y - alpha * x,
    "round_decimals_0": tw.round,
    "round_decimals_3": tw.round,
    "round_decimals_neg_3": tw.round,
    "sgn": tw.sign,
    "sinc": _sinc,
    "special_entr": _entropy,
    "special_ndtr": _normal,
    "special_xlog1py": _xlog1py,
    "std": _spread(tw.std),
    "std_unbiased": _spread(tw.std),
    "sub": lambda x, y, alpha=1: x - alpha * y,
    "sum": _reduction(tw.sum),
    "true_divide": tw.divide,
    "vander": _vander,
    "var": _spread(tw.var),
    "var_unbiased": _spread(tw.var),
    "vecdot": lambda x, y, dim=-1: tw.vecdot(x, y, axis=dim),
    "vector_norm": _norm,
    "xlogy": _xlogy,
    **{
        name: getattr(tw, name)
        for name in (
            "abs", "acos", "acosh", "add", "angle", "asin", "asinh", "atan", "atan2", "atanh",
            "conj", "copysign", "cos", "cosh", "deg2rad", "digamma", "erf", "erfc", "exp", "exp2",
            "expm1", "floor", "fmax", "fmin", "hypot", "imag", "lgamma", "log", "log10", "log2",
            "maximum", "minimum", "nan_to_num", "positive", "pow", "rad2deg",
            "real", "reciprocal", "round", "rsqrt", "sign", "sin", "square", "trunc",
        )
    },
    "diagonal": lambda x, offset=0: tw.diagonal(x, offset),
    "mul": tw.multiply,
}  # fmt: skip


def _double(x: Any) -> Any:
    return x.astype(tw.complex128 if x.dtype.kind == "c" else tw.float64)


#: Families that are not replayed, and why.
LEFT_OUT = {
    **dict.fromkeys(
        ("cholesky", "cholesky_ex", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh",
         "householder_product", "inv", "inv_ex", "lstsq_grad_oriented", "lu", "lu_factor",
         "lu_factor_ex", "lu_solve", "matrix_exp", "matrix_norm", "matrix_power", "pinv",
         "pinv_hermitian", "qr", "slogdet", "solve", "solve_ex", "svd", "svdvals", "tensorinv",
         "tensorsolve"),
        "linear algebra is not built",
    ),
    **dict.fromkeys(
        ("i0", "special_i1", "special_i1e", "special_erfcx", "special_log_ndtr", "special_ndtri"),
        "a special function that is not built",
    ),
    "frexp": "exponents and fractions have no function",
    "nn_functional_rrelu": "random slopes",
}  # fmt: skip
