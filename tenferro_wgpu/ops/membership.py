"""Whether elements are among given ones: a search in their sorted order."""

from __future__ import annotations

from typing import Any

from . import choice, structural
from .calling import check_flag, promote
from .indexing import take
from .ordering import searchsorted, sort
from .value import constant_like

__all__ = ["isin"]


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Whether each element of `x1` is equal to one of `x2`; the opposite with `invert`.

    NaN equals nothing.  Dtypes promote.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.isin(tw.asarray([1, 2, 3]), tw.asarray([3, 1, 9])).tolist()
    [True, False, True]
    """
    check_flag("isin", "invert", invert)
    elements, among = promote("isin", (x1, x2))
    known = structural.ravel(among)
    if not known.size:
        return constant_like(elements, bool(invert), dtype="bool")
    ordered = sort(known)
    # Behind the last one is clipped to it: larger, hence not equal.
    nearest = take(ordered, searchsorted(ordered, elements), mode="clip")
    return (choice.not_equal if invert else choice.equal)(nearest, elements)
