"""Kernels over a NumPy-compatible namespace ``xp``: what the CPU and CUDA backends share.

Called only by `array_backend`.  A kernel takes plain strided arrays and returns an array of the
asked dtype; it knows nothing of tensors, layouts, gradients or which namespace it runs on.
Anything one namespace does better by itself is overridden in that backend's own module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ArgumentError
from ..tensor import ShapeDtype
from . import array_complex_kernels as analytic
from . import array_indexing_kernels as indexing
from . import array_ordering_kernels as ordering
from . import array_product_kernels as products
from . import special_functions as special
from .array_scan_kernels import SCAN_KERNELS

__all__ = ["KERNELS", "UFUNCS", "ArrayKernel", "BoundKernel", "bind_kernels"]

Array = Any
Namespace = Any
#: (xp, output, *arrays, **params) -> array
ArrayKernel = Callable[..., Array]
#: (output, arrays, params) -> C-contiguous array of the output's shape and dtype
BoundKernel = Callable[[ShapeDtype, list[Array], Mapping[str, Any]], Array]

#: Primitives that are exactly one universal function: primitive name -> name in ``xp``.
UFUNCS: dict[str, str] = {
    "neg": "negative",
    "abs": "absolute",
    "sign": "sign",
    "exp": "exp",
    "log": "log",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
    "sqrt": "sqrt",
    "log1p": "log1p",
    "cbrt": "cbrt",
    "exp2": "exp2",
    "log2": "log2",
    "log10": "log10",
    "tan": "tan",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "sinh": "sinh",
    "cosh": "cosh",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "floor": "floor",
    "ceil": "ceil",
    "round": "rint",
    "trunc": "trunc",
    "is_nan": "isnan",
    "is_inf": "isinf",
    "is_finite": "isfinite",
    "sign_bit": "signbit",
    "conj": "conjugate",
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "true_divide",
    "maximum": "maximum",
    "minimum": "minimum",
    "fmax": "fmax",
    "fmin": "fmin",
    "fmod": "fmod",
    "remainder": "remainder",
    "atan2": "arctan2",
    "hypot": "hypot",
    "logaddexp": "logaddexp",
    "copysign": "copysign",
    "nextafter": "nextafter",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "bitwise_not": "invert",
    "shift_left": "left_shift",
    "shift_right": "right_shift",
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "less",
    "less_equal": "less_equal",
    "greater": "greater",
    "greater_equal": "greater_equal",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_not": "logical_not",
    "gcd": "gcd",
}


def rsqrt(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """1 / sqrt(x); of complex numbers a quotient, which is infinite at 0 as no reciprocal is."""
    return 1 / xp.sqrt(x) if x.dtype.kind == "c" else xp.reciprocal(xp.sqrt(x))


def real(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """Real part, in an array of its own."""
    return xp.array(xp.real(x), order="C")


def imag(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """Imaginary part, in an array of its own; zeros for real input."""
    if x.dtype.kind != "c":
        return xp.zeros(out.shape, out.dtype)
    return xp.array(xp.imag(x), order="C")


def join_parts(xp: Namespace, out: ShapeDtype, x: Array, y: Array) -> Array:
    """The complex numbers of two parts, whatever these are: no product with 1j takes part."""
    result = xp.empty(out.shape, out.dtype)
    result.real[...] = x
    result.imag[...] = y
    return result


def bitwise_count(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """The number of ones, summed over fields of 2, 4 and 8 bits and then over all of these.

    CuPy has no such function.
    """
    size = xp.abs(x.astype("int64")) if x.dtype.kind == "i" else x
    size = size.astype("uint64")
    size = size - ((size >> 1) & 0x5555555555555555)
    size = (size & 0x3333333333333333) + ((size >> 2) & 0x3333333333333333)
    size = (size + (size >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (size * 0x0101010101010101) >> 56


def copy(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """The same elements in fresh C order."""
    return xp.array(x, order="C")


def cast(xp: Namespace, out: ShapeDtype, x: Array, *, dtype: Any) -> Array:
    """Conversion with the semantics of ``astype``; a complex number loses its imaginary part."""
    if x.dtype.kind == "c" and out.dtype.kind not in "cb":
        x = xp.real(x)
    return x.astype(out.dtype, order="C")


def power(xp: Namespace, out: ShapeDtype, x: Array, y: Array) -> Array:
    """x ** y; integers to negative powers raise ArgumentError, as NumPy's do."""
    # NumPy raises by itself; CuPy would return zeros, so the check stands here for both.
    if out.dtype.kind == "i" and bool(xp.any(y < 0)):
        raise ArgumentError(
            "pow",
            "integers to negative integer powers are not allowed; convert with astype(...) first",
        )
    return xp.power(x, y)


def log1p(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """log(1 + x); near 0 the real part of a complex one by the squared modulus of 1 + x, less 1.

    The namespace's own takes log(abs(1 + x)), which has lost it by then.
    """
    result = xp.log1p(x)
    if out.dtype.kind != "c":
        return result
    first, second = xp.real(x), xp.imag(x)
    near = xp.log1p(first * (2 + first) + second * second) / 2
    result = xp.array(result)
    result.real[...] = xp.where(xp.abs(x) < 0.5, near, xp.real(result))
    return result


def sigmoid(xp: Namespace, out: ShapeDtype, x: Array) -> Array:
    """1 / (1 + exp(-x)), by the exponential that cannot overflow; float16 in float32."""
    wide = x.astype("float32") if x.dtype.itemsize == 2 else x
    small = xp.exp(-xp.abs(wide))
    return xp.where(wide >= 0, 1, small) / (1 + small)


def floor_divide(xp: Namespace, out: ShapeDtype, x: Array, y: Array) -> Array:
    """The floor of x / y; where a float is infinite x / y itself, as the Array API says."""
    quotient = xp.floor_divide(x, y)
    if out.dtype.kind != "f":
        return quotient
    return xp.where(xp.isinf(x) | xp.isinf(y), xp.true_divide(x, y), quotient)


def select(xp: Namespace, out: ShapeDtype, condition: Array, x: Array, y: Array) -> Array:
    """x where the condition holds, else y."""
    return xp.where(condition, x, y)


def clip(xp: Namespace, out: ShapeDtype, x: Array, low: Array, high: Array) -> Array:
    """min(max(x, low), high); NaN in any of the three gives NaN."""
    return xp.minimum(xp.maximum(x, low), high)


def reduce_sum(xp: Namespace, out: ShapeDtype, x: Array, *, axes: tuple[int, ...]) -> Array:
    """Sum over `axes` in the operand's dtype."""
    return xp.sum(x, axis=axes, dtype=out.dtype)


def reduce_prod(xp: Namespace, out: ShapeDtype, x: Array, *, axes: tuple[int, ...]) -> Array:
    """Product over `axes` in the operand's dtype."""
    return xp.prod(x, axis=axes, dtype=out.dtype)


def reduce_max(xp: Namespace, out: ShapeDtype, x: Array, *, axes: tuple[int, ...]) -> Array:
    """Maximum over `axes`; NaN wins."""
    return xp.max(x, axis=axes)


def reduce_min(xp: Namespace, out: ShapeDtype, x: Array, *, axes: tuple[int, ...]) -> Array:
    """Minimum over `axes`; NaN wins."""
    return xp.min(x, axis=axes)


def argmax(xp: Namespace, out: ShapeDtype, x: Array, *, axis: int) -> Array:
    """Index of the first maximum along `axis`; the first NaN counts as one."""
    return xp.argmax(x, axis=axis)


def argmin(xp: Namespace, out: ShapeDtype, x: Array, *, axis: int) -> Array:
    """Index of the first minimum along `axis`; the first NaN counts as one."""
    return xp.argmin(x, axis=axis)


def concatenate(xp: Namespace, out: ShapeDtype, *arrays: Array, axis: int) -> Array:
    """Arrays one after another along `axis`."""
    return xp.concatenate(arrays, axis=axis)


#: Every other primitive: name -> kernel.
KERNELS: dict[str, ArrayKernel] = {
    "expm1": analytic.expm1,
    "rsqrt": rsqrt,
    "real": real,
    "imag": imag,
    "bitwise_count": bitwise_count,
    "complex": join_parts,
    "copy": copy,
    "cast": cast,
    "pow": power,
    "log1p": log1p,
    "sigmoid": sigmoid,
    "floor_divide": floor_divide,
    "select": select,
    "clip": clip,
    "reduce_sum": reduce_sum,
    "reduce_prod": reduce_prod,
    "reduce_max": reduce_max,
    "reduce_min": reduce_min,
    "argmax": argmax,
    "argmin": argmin,
    **SCAN_KERNELS,
    "concatenate": concatenate,
    "pad": products.pad,
    "gather": indexing.gather,
    "dynamic_update_slice": indexing.dynamic_update_slice,
    **indexing.SCATTER_KERNELS,
    "dot_general": products.dot_general,
    "conv": products.conv,
    "argsort": ordering.argsort,
    "sort": ordering.sort,
    "permute": ordering.permute,
    "unpermute": ordering.unpermute,
    "searchsorted": ordering.searchsorted,
    "count_before": ordering.count_before,
    "count_places": ordering.count_places,
    "nonzero": ordering.nonzero,
    "compress": ordering.compress,
    "expand": ordering.expand,
    "erf": special.erf,
    "erfc": special.erfc,
    "lgamma": special.lgamma,
    "digamma": special.digamma,
    "polygamma": special.polygamma,
}


def bind_kernels(
    xp: Namespace, overrides: Mapping[str, ArrayKernel] | None = None
) -> dict[str, BoundKernel]:
    """All kernels of this module over `xp`, by primitive name; `overrides` replace some."""
    kernels: dict[str, BoundKernel] = {
        name: _bind_ufunc(xp, getattr(xp, attribute)) for name, attribute in UFUNCS.items()
    }
    for name, kernel in {**KERNELS, **(overrides or {})}.items():
        kernels[name] = _bind_kernel(xp, kernel)
    return kernels


def _bind_ufunc(xp: Namespace, ufunc: Callable[..., Array]) -> BoundKernel:
    empty = xp.empty

    def run(out: ShapeDtype, arrays: list[Array], params: Mapping[str, Any]) -> Array:
        # An explicit output fixes dtype and C order, and keeps rank-0 results arrays.
        result = empty(out.shape, out.dtype)
        ufunc(*arrays, out=result)
        return result

    return run


def _bind_kernel(xp: Namespace, kernel: ArrayKernel) -> BoundKernel:
    def run(out: ShapeDtype, arrays: list[Array], params: Mapping[str, Any]) -> Array:
        # NumPy returns scalars for rank 0, widens some reductions and keeps Fortran order.
        # ascontiguousarray would turn rank 0 into rank 1.
        return xp.asarray(kernel(xp, out, *arrays, **params), dtype=out.dtype, order="C")

    return run
