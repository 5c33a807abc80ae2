"""Structural operations on every adapter, dtype and layout: no bit of an element changes."""

from __future__ import annotations

import numpy as np
import pytest
from cases.operations import assert_close

import tenferro_wgpu as tw
from tenferro_wgpu.testing.structural import CUBE_SHAPE, CUBES, MATRICES, REFERENCE
from tenferro_wgpu.testing.values import ALL, LAYOUTS, matrix, random

#: Layouts that are matrices of more than no elements.
MATRIX_LAYOUTS = ("contiguous", "transposed", "reversed", "strided")


def check(program, values, on_host, x):
    expected = program(REFERENCE, on_host)
    got = program(tw, x)
    if not isinstance(expected, (tuple, list)):
        expected, got = [expected], [got]
    for mine, theirs in zip(got, expected, strict=True):
        assert_close(mine.numpy(), theirs, 0, f"{values.dtype}")


@pytest.mark.parametrize("name", MATRICES)
def test_every_dtype(rt, name):
    for dtype in ALL:
        values = matrix(dtype)
        check(MATRICES[name], values, values, rt.constant_from(values))


@pytest.mark.parametrize("name", MATRICES)
def test_every_layout(rt, name):
    values = matrix("float32")
    for layout in MATRIX_LAYOUTS[1:]:
        on_host, on_device = LAYOUTS[layout]
        check(MATRICES[name], values, on_host(values), on_device(rt.constant_from(values)))


@pytest.mark.parametrize("name", CUBES)
def test_cubes(rt, name):
    values = random("int32", 24, 5).reshape(CUBE_SHAPE)
    check(CUBES[name], values, values, rt.constant_from(values))


def test_nothing_is_rearranged(rt):
    x, values = rt.zeros((0, 3)), np.zeros((0, 3), np.float32)
    for program in (
        lambda xp, x: xp.roll(x, 2, axis=0),
        lambda xp, x: xp.repeat(x, 2, axis=0),
        lambda xp, x: xp.tile(x, (2, 2)),
        lambda xp, x: xp.split(x, 3, axis=0),
        lambda xp, x: xp.diagonal(x),
        lambda xp, x: xp.embed_diagonal(x),
        lambda xp, x: xp.tril(x),
        lambda xp, x: xp.pad(x, ((0, 0), (1, 2)), "wrap"),
        lambda xp, x: xp.rot90(x),
    ):
        check(program, values, values, x)


def test_views_move_no_data(cpu):
    x = cpu.constant_from(np.arange(12.0).reshape(3, 4))
    for view in (
        x.diagonal(1), x.rot90(), x.rot90(2), x.flipud(), *x.split(2, axis=1),
        *tw.broadcast_arrays(x, x[0]), x.atleast_3d(),
    ):  # fmt: skip
        assert view.tensor_read().handle is x.tensor_read().handle


def test_trace(rt):
    values = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    x = rt.constant_from(values)
    np.testing.assert_array_equal(x.trace(1, 2, 1).numpy(), np.trace(values, 1, 2, 1))
    assert x.trace().dtype == np.trace(values).dtype
    assert x.trace(dtype=tw.float32).dtype == tw.float32


def test_repetitions_on_the_device_are_read(rt):
    x = rt.constant_from(np.float32([1, 2, 3]))
    counts = rt.constant_from(np.array([2, 0, 1]))
    np.testing.assert_array_equal(tw.repeat(x, counts).numpy(), [1, 1, 3])


def test_triangles_of_ones(rt):
    for rows, columns, k in ((3, 4, 0), (4, 2, -1), (2, 2, 9), (2, 3, -9), (0, 3, 0)):
        got = rt.tri(rows, columns, k)
        assert_close(got.numpy(), np.tri(rows, columns, k, np.float32), 0)
