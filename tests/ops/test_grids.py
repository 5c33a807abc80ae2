"""Coordinates of grids and ranges by a factor, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors

GRIDS = {
    "meshgrid": lambda xp: xp.meshgrid(xp.arange(3), xp.arange(2), xp.arange(4)),
    "meshgrid, ij": lambda xp: xp.meshgrid(xp.arange(3), xp.arange(2), indexing="ij"),
    "meshgrid, sparse": lambda xp: xp.meshgrid(xp.arange(3), xp.arange(2), sparse=True),
    "meshgrid, one": lambda xp: xp.meshgrid(xp.arange(3)),
    "meshgrid, scalars": lambda xp: xp.meshgrid(xp.asarray(3), xp.arange(2)),
    "meshgrid, nothing": lambda xp: xp.meshgrid(),
    "indices": lambda xp: [xp.indices((2, 3))],
    "indices, none": lambda xp: [xp.indices(())],
    "indices, sparse": lambda xp: xp.indices((2, 3, 0), xp.int32, True),
    "indices, sparse, none": lambda xp: xp.indices((), sparse=True),
    "logspace": lambda xp: [xp.logspace(-1, 2, 7, dtype=xp.float64)],
    "logspace, open": lambda xp: [xp.logspace(0, 3, 4, endpoint=False, base=2.0, dtype=xp.float64)],
    "geomspace": lambda xp: [xp.geomspace(-1, -1000, 4, dtype=xp.float64)],
    "geomspace, complex": lambda xp: [xp.geomspace(1j, 8j, 4, dtype=xp.complex128)],
}


@pytest.mark.parametrize("name", GRIDS)
def test_grids(cpu, name):
    got, expected = GRIDS[name](tw), GRIDS[name](np)
    assert len(got) == len(expected)
    for mine, theirs in zip(got, expected, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine.numpy(), theirs)


def test_grids_move_no_data_and_differentiate(rt):
    x, y = rt.variable_from([1.0, 2.0, 3.0]), rt.variable_from([4.0, 5.0])
    columns, rows = tw.meshgrid(x, y)
    assert columns.tensor.handle is x.tensor.handle
    (columns * rows).sum().backward()
    assert x.grad.tolist() == [9.0] * 3 and y.grad.tolist() == [6.0] * 2


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: tw.meshgrid(tw.ones((2, 2))), errors.ShapeError, "one axis"),
        (lambda: tw.meshgrid(tw.ones(2), indexing="yx"), errors.ArgumentError, "indexing"),
        (lambda: tw.geomspace(0, 1, 3), errors.ArgumentError, "0"),
        (lambda: tw.logspace(0, 1, -3), errors.ArgumentError, "negative"),
        (lambda: tw.logspace(0, "1", 3), errors.DTypeError, "scalar"),
        (lambda: tw.geomspace(1j, 8j, 4, dtype=tw.float32), errors.DTypeError, "complex"),
        (lambda: tw.indices((2, -1)), errors.ShapeError, "negative"),
        (lambda: tw.finfo("nonsense"), errors.DTypeError, "finfo"),
    ],
)
def test_errors(cpu, call, kind, words):
    with pytest.raises(kind, match=words):
        call()
