"""Greatest common divisors and least common multiples of integers, element by element."""

from __future__ import annotations

from typing import Any

from ..dtypes import int8
from ..errors import DTypeError
from . import choice, rounding
from . import elementwise as arithmetic
from .calling import cast_to, promote_broadcast
from .table import INTEGERS, binary, in_int8
from .value import constant_like

__all__ = ["gcd", "lcm"]

gcd: Any = binary(
    "gcd", INTEGERS, elsewhere=in_int8(lambda x, y: gcd(x, y)),
    doc="""The greatest common divisor of the magnitudes; of 0 and a number that number.

    Bools give int8.

    >>> import tenferro_wgpu as tw
    >>> tw.gcd(tw.asarray([12, -18, 0]), 8).tolist()
    [4, 2, 8]
    """,
)  # fmt: skip


def lcm(x: Any, y: Any, /) -> Any:
    """The least common multiple of the magnitudes; 0 where either is 0.  It wraps around.

    Takes integers, and bools as int8, whose shapes broadcast.

    Raises:
        DTypeError: for floats, complex numbers, ndarrays and lists.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> tw.lcm(tw.asarray([4, -6, 0]), 10).tolist()
    [20, 30, 0]
    """
    first, second = promote_broadcast("lcm", (x, y))
    if first.dtype.kind == "b":
        first, second = cast_to(first, int8), cast_to(second, int8)
    if first.dtype.kind not in INTEGERS:
        raise DTypeError("lcm", f"integers are needed, got {first.dtype}", (first.dtype,))
    divisor = gcd(first, second)
    # By 1 where both are 0, whose product is 0.
    safe = choice.where(choice.equal(divisor, 0), constant_like(divisor, 1, shape=()), divisor)
    quotient = rounding.floor_divide(arithmetic.abs(first), safe)
    return arithmetic.multiply(quotient, arithmetic.abs(second))
