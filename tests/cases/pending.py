"""What the WebGPU adapters do not have yet: rows of the case tables that raise there.

Every entry is to go as its functions come; a row that is not named here must give NumPy's values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenferro_wgpu.errors import UnsupportedOperationError

#: dtypes without a dialect, or without most of its functions.
DTYPES = {"float16"}
#: Functions that dialects of other dtypes lack.
FUNCTIONS = {
    "cbrt", "exp2", "log2", "log10", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh",
    "acosh", "atanh", "sigmoid", "floor", "ceil", "round", "trunc", "isnan", "isinf", "isfinite",
    "signbit", "nan_to_num", "isclose", "angle", "atan2", "hypot", "logaddexp", "copysign",
    "nextafter", "fmax", "fmin", "fmod", "floor_divide", "remainder", "bitwise_not",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
    "pow, integers",
}  # fmt: skip

#: Names that mean something else within a dialect until it takes the contract's.
OTHERWISE = {("round", "float64"), ("exp2", "float64"), ("log2", "float64")}


def available(adapter: str, name: str, dtype: str, compute: Callable[[], Any]) -> Any:
    """The result of `compute`; the test ends here if an adapter is yet to learn the row."""
    if adapter not in ("numpy", "cupy") and (name, dtype) in OTHERWISE:
        pytest.skip(f"{name} of {dtype} is pending on {adapter}")
    try:
        return compute()
    except UnsupportedOperationError:
        if adapter in ("numpy", "cupy") or not (dtype in DTYPES or name in FUNCTIONS):
            raise
        pytest.skip(f"{name} of {dtype} is pending on {adapter}")
