"""Differentiable programs that sort and pick by order; continued by `derivative_cases`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.ops.permuting import unpermuted_rows

CASES: list[tuple[str, Callable[..., Any], tuple[np.ndarray, ...]]] = []


def _spread(*shape: int, salt: int = 0) -> np.ndarray:
    """Distinct values in a shuffled order."""
    count = int(np.prod(shape))
    steps = (np.arange(count) + 0.5) / count
    return (4 * steps[np.random.default_rng([salt, 9]).permutation(count)] - 2).reshape(shape)


def case(name: str, function: Callable[..., Any], *inputs: np.ndarray) -> None:
    CASES.append((name, function, inputs))


X = _spread(3, 4)
CUBE = _spread(2, 3, 4, salt=1)
Z = _spread(3, 4, salt=2) + 1j * _spread(3, 4, salt=3)
TIES = np.array([[1.0, 1.0, 0.5, 1.0], [2.0, -1.0, 2.0, -1.0], [0.0, 0.0, 0.0, 0.0]])

case("sort", tw.sort, X)
case("sort, squared", lambda x: tw.sort(x * x, axis=0) * x, X)
case("sort, axis 1 of 3", lambda x: tw.sort(x, axis=1, descending=True) ** 2, CUBE)
case("sort, all", lambda x: tw.sort(x, axis=None), X)
case("sort, complex", tw.sort, Z)
case("topk", lambda x: tw.topk(x, 2).values, X)
case("topk, smallest", lambda x: tw.topk(x * x, 2, axis=0, largest=False).values, X)
case("unpermute", lambda x: unpermuted_rows(x * x, tw.argsort(x)), X)
