"""Arithmetic on strided index spaces that every kernel family's plan uses.

Pure functions of extents and strides, in elements. Nothing here knows devices or templates.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack

from tenferro_wgpu.errors import TensorTooLargeError

MASK32 = 0xFFFFFFFF
#: The most elements that a kernel counts or indexes along anything.  Half of what u32 holds, so
#: that a position plus a step never wraps; more than any buffer has, so only views are larger.
MAX_COUNT = 0x7FFFFFFF


def coalesce(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Merge the axes of one index space that several operands walk through together.

    Axes of extent 1 vanish; neighbours merge where they are one run for every operand.

    Args:
        shape: the common extents (none of them 0).
        strides: for each operand its strides.

    Returns:
        Merged extents, and for each operand its merged strides.
    """
    extents: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        if extents and all(
            own[-1] == extent * each[axis] for own, each in zip(merged, strides, strict=True)
        ):
            extents[-1] *= extent
            for own, each in zip(merged, strides, strict=True):
                own[-1] = each[axis]
        else:
            extents.append(extent)
            for own, each in zip(merged, strides, strict=True):
                own.append(each[axis])
    return tuple(extents), tuple(tuple(own) for own in merged)


def check_counts(operation: str, *counts: int) -> None:
    """Raise TensorTooLargeError, naming `operation`, for a count that kernels cannot index."""
    for count in counts:
        if count > MAX_COUNT:
            raise TensorTooLargeError(operation, 4 * count, 4 * MAX_COUNT, "32-bit indexing")


def words(values: Sequence[int]) -> bytes:
    """Little-endian u32 words of signed or unsigned values, as params bytes.

    Negative values are taken modulo 2**32.  Raises TensorTooLargeError for values of more than
    32 bits; plans call `check_counts` first, which knows the operation.
    """
    for value in values:
        if not -0x80000000 <= value <= MASK32:
            raise TensorTooLargeError("params", 4 * abs(value), 4 * MASK32, "32-bit indexing")
    return pack(f"<{len(values)}I", *[value & MASK32 for value in values])
