"""Long random sequences: results, views, drops, reads and cache clearing in any order.

Every tensor has a host copy beside it.  A buffer given back too early, a batch submitted in the
wrong order or a cache that outlives its key shows as a difference when a tensor is read.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from properties.operands import permutation_view, random_shape, random_values, random_view
from properties.sources import SeededSource

import tenferro_wgpu as tw

ACTIONS = 500
MOST_ALIVE = 12
DTYPES = ("int32", "int64", "uint32")

#: Integers wrap alike everywhere, so any number of operations stays exact.
UNARY = {
    "negative": (tw.negative, np.negative),
    "square": (lambda x: x * x, lambda a: a * a),
    "abs": (tw.abs, np.abs),
    "as it is": (lambda x: x.materialize(), lambda a: a),
}
BINARY = {
    "add": (tw.add, np.add),
    "multiply": (tw.multiply, np.multiply),
    "maximum": (tw.maximum, np.maximum),
    "where": (lambda x, y: tw.where(x < y, x, y), lambda a, b: np.where(a < b, a, b)),
    "concatenate and cut": (
        lambda x, y: tw.concatenate([x.ravel(), y.ravel()])[: x.size].reshape(x.shape),
        lambda a, b: np.concatenate([a.ravel(), b.ravel()])[: a.size].reshape(a.shape),
    ),
}


class Sequence:
    """Tensors of one runtime with their host copies, and random actions on them."""

    def __init__(self, runtime: Any, source: SeededSource) -> None:
        self.runtime = runtime
        self.source = source
        self.alive: list[tuple[Any, np.ndarray]] = []
        self.history: list[str] = []

    def act(self) -> None:
        """One random action."""
        actions = (
            self.upload, self.unary, self.unary, self.binary, self.binary, self.binary, self.view,
            self.reduce, self.drop, self.drop, self.read, self.maintain,
        )  # fmt: skip
        action = self.upload if not self.alive else self.source.choice(actions)
        self.history.append(action.__name__)
        action()
        while len(self.alive) > MOST_ALIVE:
            self.drop()

    def keep(self, x: Any, array: Any) -> None:
        self.alive.append((x, np.asarray(array)))

    def some(self) -> tuple[Any, np.ndarray]:
        return self.source.choice(self.alive)

    def upload(self) -> None:
        dtype = self.source.choice(DTYPES)
        array = random_values(self.source, random_shape(self.source, 3), dtype)
        self.keep(self.runtime.constant_from(array), array.copy())

    def unary(self) -> None:
        x, array = self.some()
        ours, theirs = self.source.choice(list(UNARY.values()))
        self.keep(ours(x), theirs(array))

    def binary(self) -> None:
        x, array = self.some()
        partners = [
            (y, other)
            for y, other in self.alive
            if other.shape == array.shape and other.dtype == array.dtype
        ]
        y, other = self.source.choice(partners)
        ours, theirs = self.source.choice(list(BINARY.values()))
        self.keep(ours(x, y), theirs(array, other))

    def view(self) -> None:
        x, array = self.some()
        view = random_view(self.source, array.shape)
        if array.ndim > 4:
            view = permutation_view(self.source.permutation(array.ndim))
        self.keep(view.on_tensor(x), view.on_host(array))

    def reduce(self) -> None:
        x, array = self.some()
        axis = self.source.integer(0, array.ndim - 1) if array.ndim else None
        name = array.dtype.name
        self.keep(tw.sum(x, axis=axis, dtype=name), np.sum(array, axis=axis, dtype=name))

    def drop(self) -> None:
        self.alive.pop(self.source.integer(0, len(self.alive) - 1))

    def read(self) -> None:
        self.check(*self.some())

    def maintain(self) -> None:
        self.source.choice(
            (
                self.runtime.backend.flush, self.runtime.backend.synchronize, gc.collect,
                self.runtime.backend.clear_caches,
            )
        )()  # fmt: skip

    def check(self, x: Any, array: np.ndarray) -> None:
        np.testing.assert_array_equal(x.numpy(), array, err_msg=" ".join(self.history[-12:]))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tensors_keep_their_values(rt, seed):
    sequence = Sequence(rt, SeededSource(seed))
    for _ in range(ACTIONS):
        sequence.act()
    for x, array in sequence.alive:
        sequence.check(x, array)
