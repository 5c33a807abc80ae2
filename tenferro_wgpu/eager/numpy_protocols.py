"""NumPy functions called on our tensors: each maps to the function of the same meaning here.

``np.exp(x)`` stays on the device and on the tape.  A function without a counterpart raises
TypeError naming ``x.numpy()``; ndarrays never mix in silently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..ops import choice, contraction, elementwise, joining, reduction, structural

__all__ = ["NumpyProtocols"]

UFUNCS: dict[str, Callable[..., Any]] = {
    "absolute": elementwise.abs,
    "add": elementwise.add,
    "conjugate": elementwise.conj,
    "cos": elementwise.cos,
    "divide": elementwise.divide,
    "equal": choice.equal,
    "exp": elementwise.exp,
    "expm1": elementwise.expm1,
    "greater": choice.greater,
    "greater_equal": choice.greater_equal,
    "less": choice.less,
    "less_equal": choice.less_equal,
    "log": elementwise.log,
    "log1p": elementwise.log1p,
    "logical_and": choice.logical_and,
    "logical_not": choice.logical_not,
    "logical_or": choice.logical_or,
    "matmul": contraction.matmul,
    "maximum": choice.maximum,
    "minimum": choice.minimum,
    "multiply": elementwise.multiply,
    "negative": elementwise.negative,
    "not_equal": choice.not_equal,
    "power": elementwise.pow,
    "sign": elementwise.sign,
    "sin": elementwise.sin,
    "sqrt": elementwise.sqrt,
    "subtract": elementwise.subtract,
    "tanh": elementwise.tanh,
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "amax": reduction.max,
    "amin": reduction.min,
    "argmax": reduction.argmax,
    "broadcast_to": structural.broadcast_to,
    "clip": choice.clip,
    "concatenate": joining.concatenate,
    "expand_dims": structural.expand_dims,
    "flip": structural.flip,
    "imag": elementwise.imag,
    "max": reduction.max,
    "mean": reduction.mean,
    "min": reduction.min,
    "moveaxis": structural.moveaxis,
    "prod": reduction.prod,
    "real": elementwise.real,
    "reshape": structural.reshape,
    "squeeze": structural.squeeze,
    "stack": joining.stack,
    "sum": reduction.sum,
    "swapaxes": structural.swapaxes,
    "tensordot": contraction.tensordot,
    "transpose": structural.transpose,
    "where": choice.where,
}


class NumpyProtocols:
    """`__array_ufunc__` and `__array_function__` of every user tensor."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        if any(isinstance(x, np.ndarray) and x.ndim > 0 for x in inputs):
            raise DTypeError(
                name,
                "an ndarray does not mix with tensors by itself; "
                "put it on the device with runtime.constant_from(...) first",
            )
        function = UFUNCS.get(name)
        if method != "__call__" or options or function is None:
            raise _no_counterpart(f"{name}.{method}" if method != "__call__" else name, options)
        return function(*(x.item() if isinstance(x, np.ndarray) else x for x in inputs))

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> Any:
        function = FUNCTIONS.get(func.__name__)
        if function is None or func.__module__ not in ("numpy", "numpy._core.multiarray"):
            raise _no_counterpart(func.__name__, {})
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            if isinstance(error, DTypeError):
                raise
            raise _no_counterpart(func.__name__, kwargs) from error


def _no_counterpart(name: str, options: Mapping[str, Any]) -> TypeError:
    with_options = f" with {', '.join(options)}" if options else ""
    return TypeError(
        f"numpy.{name}{with_options} has no counterpart for tensors; "
        f"use numpy.{name} on x.numpy(), or a function of tenferro_wgpu"
    )
