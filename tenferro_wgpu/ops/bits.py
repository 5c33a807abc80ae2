"""Operations on the bits of integers, element by element: one row each.

Bools are logic here, or int8 where they are shifted, so no kernel sees one.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import uint8
from ..tensor import ShapeDtype
from . import choice
from .calling import cast_to
from .table import INTEGERS, binary, in_int8, unary

__all__ = [
    "bitwise_and", "bitwise_count", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor",
]  # fmt: skip

bitwise_and: Any = binary(
    "bitwise_and", INTEGERS, elsewhere=("b", choice.logical_and),
    doc="""The bits that both integers have; of bools, logical and: `x & y`.

    >>> import tenferro_wgpu as tw
    >>> tw.bitwise_and(tw.asarray([12, 10]), 6).tolist()
    [4, 2]
    """,
)  # fmt: skip
bitwise_or: Any = binary(
    "bitwise_or", INTEGERS, elsewhere=("b", choice.logical_or),
    doc="""The bits that either integer has; of bools, logical or: `x | y`.

    >>> import tenferro_wgpu as tw
    >>> tw.bitwise_or(tw.asarray([12, 10]), 6).tolist()
    [14, 14]
    """,
)  # fmt: skip
bitwise_xor: Any = binary(
    "bitwise_xor", INTEGERS, elsewhere=("b", choice.not_equal),
    doc="""The bits that only one of two integers has; of bools, exclusive or: `x ^ y`.

    >>> import tenferro_wgpu as tw
    >>> tw.bitwise_xor(tw.asarray([12, 10]), 6).tolist()
    [10, 12]
    """,
)  # fmt: skip
bitwise_not: Any = unary(
    "bitwise_not", INTEGERS, elsewhere=("b", choice.logical_not),
    doc="""Every bit turned over; of bools, logical not: `~x`.

    >>> import tenferro_wgpu as tw
    >>> tw.bitwise_not(tw.asarray([0, 5])).tolist()
    [-1, -6]
    """,
)  # fmt: skip


def _count_shape(x: Any) -> ShapeDtype:
    return ShapeDtype(x.shape, uint8)


bitwise_count: Any = unary(
    "bitwise_count", INTEGERS, shape_rule=_count_shape,
    elsewhere=("b", lambda x: cast_to(x, uint8)),
    doc="""How many bits of the magnitude are set, as uint8.

    >>> import tenferro_wgpu as tw
    >>> tw.bitwise_count(tw.asarray([0, 5, -7])).tolist()
    [0, 2, 3]
    """,
)  # fmt: skip
bitwise_left_shift: Any = binary(
    "shift_left", INTEGERS, public_name="bitwise_left_shift",
    elsewhere=in_int8(lambda x, y: bitwise_left_shift(x, y)),
    doc="""The bits of `x` moved up by `y` places, zeros below them: `x << y`.

    A count that is negative, or the width of the dtype and more, gives 0.  Bools give int8.

    >>> import tenferro_wgpu as tw
    >>> tw.bitwise_left_shift(tw.asarray([1, 3]), 4).tolist()
    [16, 48]
    """,
)  # fmt: skip
bitwise_right_shift: Any = binary(
    "shift_right", INTEGERS, public_name="bitwise_right_shift",
    elsewhere=in_int8(lambda x, y: bitwise_right_shift(x, y)),
    doc="""The bits of `x` moved down by `y` places, copies of the sign above them: `x >> y`.

    A count that is negative, or the width of the dtype and more, gives 0, or -1 for a negative
    integer.  Bools give int8.

    >>> import tenferro_wgpu as tw
    >>> tw.bitwise_right_shift(tw.asarray([48, -3]), 1).tolist()
    [24, -2]
    """,
)  # fmt: skip
