"""Where random choices come from: hypothesis, which shrinks them, or a seed, which is fast.

Makers of operands and calls take a `Source` and know nothing else about randomness, so that the
property tests and the fuzz runner share every one of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies

Option = TypeVar("Option")


class Source:
    """Random choices, all made of `integer`; the first option is the simplest."""

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        raise NotImplementedError

    def choice(self, options: Sequence[Option]) -> Option:
        """One of several options."""
        return options[self.integer(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        """True in about `percent` of all cases."""
        return self.integer(0, 99) >= 100 - percent

    def permutation(self, count: int) -> tuple[int, ...]:
        """The numbers below `count` in some order."""
        rest = list(range(count))
        return tuple(rest.pop(self.integer(0, len(rest) - 1)) for _ in range(count))

    def generator(self) -> np.random.Generator:
        """A generator for the elements of an array."""
        return np.random.default_rng(self.integer(0, 2**31))


class SeededSource(Source):
    """Choices that a seed repeats."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class DrawnSource(Source):
    """Choices that hypothesis makes and shrinks."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def integer(self, low: int, high: int) -> int:
        return self._data.draw(strategies.integers(low, high))
