"""What counts as a memory limit, for every backend and for the choice among them."""

from __future__ import annotations

import operator
from typing import Any

from ..errors import ArgumentError, DTypeError

__all__ = ["checked_memory_limit"]


def checked_memory_limit(limit: Any) -> int | None:
    """A number of bytes, at least 1, as an int; None stays None.

    Raises DTypeError for what is no integer and ArgumentError for one below 1.
    """
    if limit is None:
        return None
    if isinstance(limit, bool) or not hasattr(type(limit), "__index__"):
        raise DTypeError(
            "memory_limit", f"takes a number of bytes or None, not {limit!r}; 1 GiB is 1 << 30"
        )
    nbytes = operator.index(limit)
    if nbytes < 1:
        raise ArgumentError("memory_limit", f"takes at least 1 byte, got {nbytes}")
    return nbytes
