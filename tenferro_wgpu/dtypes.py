"""Data types: NumPy dtype objects, their kinds, and the promotion rules of the library.

Promotion within a kind is NumPy 2's.  An integer meeting a float takes the float's dtype
(never a silent float64), and Python scalars are weak: they take the tensor's dtype within
their kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import DTypeError

__all__ = [
    "bool_",
    "complex64",
    "complex128",
    "default_complex",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_inexact",
    "promote_dtypes",
    "real_dtype",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "weak_scalar_dtype",
]

bool_ = np.dtype(np.bool_)
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
uint8 = np.dtype(np.uint8)
uint16 = np.dtype(np.uint16)
uint32 = np.dtype(np.uint32)
uint64 = np.dtype(np.uint64)
float16 = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
complex64 = np.dtype(np.complex64)
complex128 = np.dtype(np.complex128)

SUPPORTED = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, float32, float64, complex64, complex128,
)  # fmt: skip

#: The one object that stands for each dtype: dtypes are compared by identity within the library,
#: and NumPy makes equal but distinct objects (from a byte order, a pickle, a field).
_CANONICAL = {dtype: dtype for dtype in SUPPORTED}
#: bool < integer < float < complex; signed and unsigned integers are one kind.
_KIND_RANK = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def as_dtype(dtype: Any, op: str = "dtype") -> np.dtype[Any]:
    """The one supported dtype object that `dtype` names; raises DTypeError."""
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise DTypeError(op, f"{dtype!r} does not name a data type; {_choices()}") from error
    canonical = _CANONICAL.get(found.newbyteorder("="))
    if canonical is None:
        raise DTypeError(op, f"{found} is not a supported data type; {_choices()}", (found,))
    return canonical


def _choices() -> str:
    return "use one of " + ", ".join(known.name for known in SUPPORTED)


def is_inexact(dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` is a real or complex floating-point type."""
    return dtype.kind in "fc"


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The real dtype of the same precision."""
    if dtype is complex64:
        return float32
    return float64 if dtype is complex128 else dtype


def default_complex(default_float: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype that goes with a default float."""
    return complex128 if default_float is float64 else complex64


def promote_dtypes(op: str, first: np.dtype[Any], second: np.dtype[Any]) -> np.dtype[Any]:
    """The common dtype of two tensors; raises DTypeError for int64 with uint64."""
    if first is second:
        return first
    first_rank = _KIND_RANK[first.kind]
    second_rank = _KIND_RANK[second.kind]
    if first_rank != second_rank and min(first_rank, second_rank) < 2:
        return first if first_rank > second_rank else second
    found = as_dtype(np.promote_types(first, second), op)
    if first_rank == 1 and found.kind == "f":
        raise DTypeError(
            op,
            f"{first} and {second} have no common integer dtype; "
            "convert one of them with astype(...)",
            (first, second),
        )
    return found


def common_dtype(op: str, dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """The common dtype of any number of tensors, in whatever order they come.

    Beside a float integers say nothing, hence uint64 and int64 do not disagree there.

    Raises:
        DTypeError: for uint64 with signed integers alone.
    """
    found = dtypes[0]
    if len(dtypes) == 1:
        return found
    strong = [dtype for dtype in dtypes if is_inexact(dtype)] or list(dtypes)
    found = strong[0]
    for dtype in strong[1:]:
        found = promote_dtypes(op, found, dtype)
    return found


def weak_scalar_dtype(
    op: str, scalar: Any, dtype: np.dtype[Any], default_float: np.dtype[Any]
) -> np.dtype[Any]:
    """The dtype an operation of a tensor of `dtype` with a Python or NumPy scalar computes in.

    Raises DTypeError for an object that is not a scalar.
    """
    if isinstance(scalar, (bool, np.bool_)):
        rank = 0
    elif isinstance(scalar, (int, np.integer)):
        rank = 1
    elif isinstance(scalar, (float, np.floating)):
        rank = 2
    elif isinstance(scalar, (complex, np.complexfloating)):
        rank = 3
    else:
        raise DTypeError(op, f"cannot combine a tensor with {type(scalar).__name__}")
    if rank <= _KIND_RANK[dtype.kind]:
        return dtype
    if rank == 1:
        return int64
    if rank == 2:
        return default_float
    if dtype.kind == "f":
        return as_dtype(np.result_type(dtype, np.complex64))
    return default_complex(default_float)
