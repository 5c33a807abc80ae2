"""Programs of element-wise functions for the derivative tests: name, function, inputs.

Points stay away from kinks, jumps and branch cuts; those are in
``tests/derivatives/test_elementwise_edges.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenferro_wgpu as tw


def _steps(low: float, high: float, salt: int, *shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    order = np.random.default_rng([salt, count]).permutation(count)
    return (low + (high - low) * (order + 0.5) / count).reshape(shape)


X = _steps(-2.0, 2.0, 60, 3, 4)
Y = _steps(-1.93, 2.11, 61, 3, 4)
ROW = _steps(-1.87, 2.23, 62, 4)
COLUMN = _steps(-1.7, 1.9, 63, 3, 1)
POSITIVE = _steps(0.4, 2.5, 64, 3, 4)
INSIDE = _steps(-0.9, 0.9, 65, 3, 4)
ABOVE_ONE = _steps(1.2, 3.0, 66, 3, 4)
ANGLES = _steps(-1.2, 1.2, 67, 3, 4)
Z = _steps(-0.9, 0.9, 68, 3, 4) + 1j * _steps(0.2, 0.8, 69, 3, 4)
#: Quotients X / DIVISORS stay away from integers.
DIVISORS = np.array([0.7, -0.45, 1.3, -2.9])

CASES: list[tuple[str, Callable[..., Any], tuple[np.ndarray, ...]]] = []

for _name in ("exp2", "atan", "sinh", "cosh", "asinh", "cbrt", "sigmoid", "positive"):
    CASES.append((_name, getattr(tw, _name), (X,)))
for _name in ("log2", "log10", "reciprocal"):
    CASES.append((_name, getattr(tw, _name), (POSITIVE,)))
for _name in ("asin", "acos", "atanh"):
    CASES.append((_name, getattr(tw, _name), (INSIDE,)))
for _name in (
    "exp2", "expm1", "log2", "log10", "log1p", "cos", "tan", "asin", "acos", "atan", "sinh",
    "cosh", "asinh", "acosh", "atanh", "rsqrt", "square", "reciprocal", "nan_to_num", "angle",
):  # fmt: skip
    CASES.append((f"{_name}, complex", getattr(tw, _name), (Z,)))
for _name in ("floor", "ceil", "trunc", "deg2rad", "rad2deg", "nan_to_num"):
    CASES.append((_name, getattr(tw, _name), (X,)))
for _name in ("atan2", "hypot", "logaddexp", "copysign", "fmax", "fmin"):
    CASES.append((_name, getattr(tw, _name), (X, Y)))
    CASES.append((f"{_name}, rows", getattr(tw, _name), (COLUMN, ROW)))
for _name in ("remainder", "fmod", "floor_divide"):
    CASES.append((_name, getattr(tw, _name), (X, DIVISORS)))
CASES += [
    ("the square", tw.square, (X,)),
    ("round", tw.round, (Y,)),
    ("round, complex", tw.round, (Z,)),
    ("tan", tw.tan, (ANGLES,)),
    ("acosh", tw.acosh, (ABOVE_ONE,)),
    ("divmod", lambda x, y: tw.multiply(*tw.divmod(x, y)), (X, DIVISORS)),
    ("operators of division", lambda x: (x // 0.7) * (x % 0.7) + 1.1 % (x + 3.0), (X,)),
    ("round to places", lambda x: tw.round(x, 1) * x, (Y,)),
    ("scalar with atan2", lambda x: tw.atan2(1.5, x) + tw.hypot(x, 2.0), (X,)),
]
