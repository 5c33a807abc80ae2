"""Arithmetic on strided index spaces that every kernel family's plan uses.

Pure functions of extents and strides, in elements. Nothing here knows devices or templates.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack

MASK32 = 0xFFFFFFFF


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


def words(values: Sequence[int]) -> bytes:
    """Little-endian u32 words of signed or unsigned values (modulo 2**32), as params bytes."""
    return pack(f"<{len(values)}I", *[value & MASK32 for value in values])
