"""The Array API's questions about dtypes: what mixes, what a dtype is and what it can hold.

Answers are those of `dtypes`, whose rules every operation follows.  No values are read.  And the
conversion to another dtype.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import as_dtype, common_dtype, promote_dtypes, real_dtype, weak_scalar_dtype
from ..errors import ArgumentError, DTypeError
from .calling import REAL, cast_to, check_flag, interpreter_of, is_scalar, lift
from .value import Value, apply

__all__ = [
    "FloatLimits", "IntegerLimits", "astype", "can_cast", "finfo", "iinfo", "isdtype",
    "result_type",
]  # fmt: skip

DType = np.dtype[Any]

#: The Array API's names of kinds -> NumPy's letters.
KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


@dataclass(frozen=True)
class FloatLimits:
    """What a floating-point dtype can hold, as Python floats; of a complex dtype, its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType
    smallest_subnormal: float
    resolution: float
    precision: int

    @property
    def tiny(self) -> float:
        """NumPy's other name of `smallest_normal`."""
        return self.smallest_normal


@dataclass(frozen=True)
class IntegerLimits:
    """What an integer dtype can hold."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_of(op: str, type: Any) -> DType:
    return type.dtype if isinstance(type, Value) else as_dtype(type, op)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that tensors, dtypes and scalars have when an operation combines them.

    Within a kind it is NumPy's; an integer with a float gives the float's dtype; Python and NumPy
    scalars are weak.

    Raises:
        DTypeError: for nothing, for uint64 with a signed integer, and for other objects.

    >>> import tenferro_wgpu as tw
    >>> tw.result_type(tw.asarray([1, 2]), tw.float32, 1.5)
    dtype('float32')
    """
    op = "result_type"
    if not arrays_and_dtypes:
        raise DTypeError(op, "expected at least one tensor, dtype or scalar")
    scalars = [each for each in arrays_and_dtypes if is_scalar(each)]
    strong = [_dtype_of(op, each) for each in arrays_and_dtypes if not is_scalar(each)]
    values = [each for each in arrays_and_dtypes if isinstance(each, Value)]
    world = values[0].interpreter if values else interpreter_of(op)
    if not strong:
        kinds = np.result_type(*scalars)
        return weak_scalar_dtype(op, kinds.type(0), as_dtype("bool"), world.default_dtype)
    found = common_dtype(op, strong)
    for scalar in scalars:
        found = weak_scalar_dtype(op, scalar, found, world.default_dtype)
    return found


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether an operation may turn one dtype (or a tensor's) into another by promotion.

    So an integer casts to any float.  `x.convert(dtype)` asks the stricter question whether every
    value is kept.

    Raises:
        DTypeError: for objects that name no dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.can_cast(tw.int32, tw.float32), tw.can_cast(tw.float32, tw.int32)
    (True, False)
    """
    source, target = _dtype_of("can_cast", from_), _dtype_of("can_cast", to)
    try:
        return promote_dtypes("can_cast", source, target) is target
    except DTypeError:  # they have no dtype in common
        return False


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a dtype, a name of the Array API's, or a tuple of them.

    The names are "bool", "signed integer", "unsigned integer", "integral", "real floating",
    "complex floating" and "numeric".

    Raises:
        ArgumentError: for another name.
        DTypeError: for objects that name no dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.isdtype(tw.float32, "real floating"), tw.isdtype(tw.int8, ("bool", tw.int8))
    (True, True)
    """
    found = as_dtype(dtype, "isdtype")
    if isinstance(kind, tuple):
        return any(isdtype(found, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ArgumentError("isdtype", f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
        return found.kind in KINDS[kind]
    return found is as_dtype(kind, "isdtype")


def finfo(type: Any, /) -> FloatLimits:
    """The limits of a floating-point dtype, or of a tensor's; a complex dtype has its parts'.

    Raises:
        DTypeError: for integers and bools.

    >>> import tenferro_wgpu as tw
    >>> tw.finfo(tw.float32).eps
    1.1920928955078125e-07
    """
    dtype = _dtype_of("finfo", type)
    if dtype.kind not in "fc":
        raise DTypeError("finfo", f"{dtype} is no floating-point dtype; use iinfo", (dtype,))
    found = np.finfo(dtype)
    return FloatLimits(
        found.bits,
        float(found.eps),
        float(found.max),
        float(found.min),
        float(found.smallest_normal),
        real_dtype(dtype),
        float(found.smallest_subnormal),
        float(found.resolution),
        int(found.precision),
    )


def iinfo(type: Any, /) -> IntegerLimits:
    """The limits of an integer dtype, or of a tensor's.

    Raises:
        DTypeError: for floats, complex numbers and bools.

    >>> import tenferro_wgpu as tw
    >>> tw.iinfo(tw.int8).max
    127
    """
    dtype = _dtype_of("iinfo", type)
    if dtype.kind not in "iu":
        raise DTypeError("iinfo", f"{dtype} is no integer dtype; use finfo", (dtype,))
    found = np.iinfo(dtype)
    return IntegerLimits(found.bits, int(found.max), int(found.min), dtype)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Convert a tensor to another dtype, explicitly and possibly with loss.

    Floats to integers truncate toward zero as NumPy does; complex to real keeps the real part.
    `copy` is accepted for the Array API; tensors are immutable, so no copy is ever visible.
    `device` moves the tensor as `to_device` does.

    Raises:
        DTypeError: for a name that is no supported dtype.
        NotDetachedError: for a tracked tensor and another device.

    >>> import tenferro_wgpu as tw
    >>> tw.astype(tw.asarray([1.7, -1.7]), tw.int32).tolist()
    [1, -1]
    """
    check_flag("astype", "copy", copy)
    del copy
    value: Any = lift("astype", x)
    if device is not None:
        value = value.to_device(device)
    target = as_dtype(dtype, "astype")
    if value.dtype.kind == "c" and target.kind != "c" and target.kind != "b":
        value = apply(REAL, value)
    return cast_to(value, target)
