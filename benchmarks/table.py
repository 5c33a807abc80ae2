"""What both benchmarks print: columns of text, and what they leave out."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence

__all__ = ["aligned", "leave_out"]


@functools.cache
def leave_out(reason: str) -> None:
    """Say why a device is not measured; each reason once."""
    print(f"left out: {reason}", file=sys.stderr)


def aligned(lines: Sequence[Sequence[str]], text_columns: int) -> str:
    """The lines in columns: the first `text_columns` to the left, the numbers to the right."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < text_columns else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
