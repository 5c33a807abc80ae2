"""What kind of float an element is, and its sign, neighbours and replacement.

One row each.  Integers are finite, so what is asked of them is answered without a kernel.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ..dtypes import bool_, real_dtype
from ..errors import DTypeError
from . import choice
from .calling import check_flag, is_scalar, lift
from .elementwise import complex, imag, multiply, real, sign
from .rounding import flat
from .table import FLOATING, REAL_FLOATING, binary, to_bool, unary
from .value import Value, constant_like

__all__ = [
    "copysign", "isfinite", "isinf", "isnan", "nan_to_num", "nextafter", "signbit",
]  # fmt: skip


def _answer(value: bool) -> Any:
    return lambda x: constant_like(x, value, dtype=bool_)


def _predicate(name: str, public_name: str, of_integers: bool, doc: str, example: str) -> Any:
    return unary(
        name, FLOATING, public_name=public_name, shape_rule=to_bool(public_name),
        elsewhere=("biu", _answer(of_integers)),
        doc=f"""{doc}

    >>> import tenferro_wgpu as tw
    >>> tw.{public_name}(tw.asarray([1.0, float("inf"), float("nan")])).tolist()
    {example}
    """,
    )  # fmt: skip


isnan: Any = _predicate(
    "is_nan", "isnan", False,
    "Whether elements are NaN: in either part, for complex numbers.", "[False, False, True]",
)  # fmt: skip
isinf: Any = _predicate(
    "is_inf", "isinf", False,
    "Whether elements are infinite: in either part, for complex numbers.", "[False, True, False]",
)  # fmt: skip
isfinite: Any = _predicate(
    "is_finite", "isfinite", True,
    "Whether elements are neither infinite nor NaN: in both parts, for complex numbers.",
    "[True, False, False]",
)  # fmt: skip
signbit: Any = unary(
    "sign_bit", REAL_FLOATING, public_name="signbit", shape_rule=to_bool("signbit"),
    elsewhere=("biu", lambda x: _is_negative(x)),
    doc="""Whether the sign bit is set: for negative numbers and -0.0.

    >>> import tenferro_wgpu as tw
    >>> tw.signbit(tw.asarray([1.0, -0.0, -2.0])).tolist()
    [False, True, True]
    """,
)  # fmt: skip


def _is_negative(x: Value) -> Any:
    if x.dtype.kind == "i":
        return choice.less(x, 0)
    return constant_like(x, False, dtype=bool_)


def _turned(g: Value, x: Value, y: Value) -> Any:
    """1 or -1 as the sign is kept or turned, and 0 at 0 as for abs."""
    return multiply(g, multiply(sign(x), copysign(constant_like(y, 1), y)))


copysign: Any = binary(
    "copysign", REAL_FLOATING,
    vjp=(_turned, flat), jvp=(_turned, flat),
    doc="""The magnitude of `x` with the sign of `y`, even of -0.0.

    >>> import tenferro_wgpu as tw
    >>> tw.copysign(tw.asarray([1.0, 2.0]), -0.0).tolist()
    [-1.0, -2.0]
    """,
)  # fmt: skip
nextafter: Any = binary(
    "nextafter", REAL_FLOATING,
    vjp=(flat, flat), jvp=(flat, flat),
    doc="""The next float after `x` toward `y`.

    The derivative is 0, as of every step.

    >>> import tenferro_wgpu as tw
    >>> tw.nextafter(tw.asarray([1.0]), 2.0).tolist() == [1 + 2.0**-23]
    True
    """,
)  # fmt: skip


def nan_to_num(
    x: Any,
    /,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Any:
    """Replace NaN and infinities by numbers; in both parts of complex ones.

    The derivative is 0 where an element is replaced.  Integers and bools stay as they are.

    Args:
        x: a tensor of any shape and dtype.
        copy: for NumPy; tensors are immutable, so no copy is ever visible.
        nan: what NaN becomes.
        posinf: what infinity becomes, the largest number of the dtype by default.
        neginf: what minus infinity becomes, the lowest number by default.

    Raises:
        DTypeError: for ndarrays and lists, and for replacements that are no numbers.

    >>> import tenferro_wgpu as tw
    >>> tw.nan_to_num(tw.asarray([1.0, float("nan"), float("inf")]), posinf=9.0).tolist()
    [1.0, 0.0, 9.0]
    """
    check_flag("nan_to_num", "copy", copy)
    del copy
    value = lift("nan_to_num", x)
    for number in (nan, posinf, neginf):
        if number is None:
            continue
        if not is_scalar(number) or isinstance(number, (builtins.complex, np.complexfloating)):
            raise DTypeError("nan_to_num", f"a replacement is a real number, got {number!r}")
    if value.dtype.kind not in "fc":
        return value
    limits = np.finfo(real_dtype(value.dtype))
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    if value.dtype.kind == "c":
        first, second = (_replaced(part, nan, high, low) for part in (real(value), imag(value)))
        return complex(first, second)
    return _replaced(value, nan, high, low)


def _replaced(x: Value, nan: float, high: float, low: float) -> Any:
    limit = choice.where(choice.less(x, 0), constant_like(x, low), constant_like(x, high))
    return choice.where(isnan(x), constant_like(x, nan), choice.where(isfinite(x), x, limit))
