"""Tensors of as many axes as the namespace says it has, on every adapter."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.errors import ShapeError

MOST = tw.__array_namespace_info__().capabilities()["max dimensions"]
#: Two elements along every fifth axis, so that no two of them are neighbours.
SHAPE = tuple(2 if axis % 5 == 0 and axis < 60 else 1 for axis in range(MOST))
X = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)

CALLS = {
    "arithmetic": (lambda x: x * 2 + 1, lambda x: x * 2 + 1),
    "transposed": (
        lambda x: tw.permute_dims(x, tuple(reversed(range(MOST)))) + 1,
        lambda x: x.transpose() + 1,
    ),
    "sum": (
        lambda x: tw.sum(x, axis=tuple(range(0, MOST, 2))),
        lambda x: x.sum(axis=tuple(range(0, MOST, 2))),
    ),
    "running": (lambda x: tw.cumsum(x, axis=5), lambda x: x.cumsum(axis=5)),
    # NumPy sorts no array of more than 32 axes; this one falls along each of them.
    "sorted": (lambda x: tw.sort(-x, axis=10), lambda x: np.flip(-x, axis=10)),
    "joined": (lambda x: tw.concat([x, x], axis=20), lambda x: np.concatenate([x, x], axis=20)),
    "rolled": (lambda x: tw.roll(x, 1, axis=25), lambda x: np.roll(x, 1, axis=25)),
    "chosen": (lambda x: x[x > 5], lambda x: x[x > 5]),
    "contracted": (lambda x: tw.tensordot(x, x, axes=MOST), lambda x: (x * x).sum()),
}


def test_that_is_numpys_limit():
    np.empty((1,) * MOST)
    with pytest.raises(ValueError, match=f"{MOST}"):
        np.empty((1,) * (MOST + 1))


@pytest.mark.parametrize("name", CALLS)
def test_operations_take_that_many(rt, name):
    ours, numpys = CALLS[name]
    np.testing.assert_allclose(ours(tw.asarray(X)).numpy(), numpys(X), rtol=1e-6)


def test_one_more_is_refused_at_the_call(rt):
    x = tw.asarray(X)
    for call in (
        lambda: tw.zeros((1,) * (MOST + 1)),
        lambda: tw.expand_dims(x, axis=0),
        lambda: x[None],
        lambda: tw.stack([x, x]),
    ):
        with pytest.raises(ShapeError, match=f"{MOST + 1} axes, of at most {MOST}"):
            call()
