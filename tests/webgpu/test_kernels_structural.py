"""Concatenation and padding of every dtype and layout."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from kernel_support import LAYOUTS, sample, strided

DTYPES = ("float32", "float64", "int32", "uint32", "int64", "bool", "int8", "uint16", "uint64")


def padded(x, fill, low, high, interior):
    """StableHLO's pad, element by element."""
    shape = tuple(
        max(0, before + after + n + max(n - 1, 0) * gap)
        for n, before, after, gap in zip(x.shape, low, high, interior, strict=True)
    )
    found = np.full(shape, fill, x.dtype)
    for index in np.ndindex(*x.shape):
        place = tuple(
            before + i * (gap + 1) for before, i, gap in zip(low, index, interior, strict=True)
        )
        if all(0 <= at < extent for at, extent in zip(place, shape, strict=True)):
            found[place] = x[index]
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concatenate(kernels, dtype, axis):
    views, arrays = [], []
    for number, layout in enumerate((*LAYOUTS, "contiguous", "flipped", "transposed", "stepped")):
        base = sample(dtype, (8, 8, 8) if layout == "stepped" else (4, 4, 4), seed=number)
        view, x = strided(kernels, base, layout)
        views.append(view)
        arrays.append(x)
    expected = np.concatenate(arrays, axis)
    found = kernels.run("concatenate", *views, shape=expected.shape, dtype=dtype, axis=axis)
    np.testing.assert_array_equal(found, expected)


def test_concatenate_empty_constant_and_single_operands(kernels):
    row = np.ones((1, 3), "f4")
    operands = (np.zeros((0, 3), "f4"), kernels.constant(2, "f4", (2, 3)), row)
    found = kernels.run("concatenate", *operands, shape=(3, 3), dtype="f4", axis=0)
    np.testing.assert_array_equal(found, [[2] * 3, [2] * 3, [1] * 3])
    np.testing.assert_array_equal(
        kernels.run("concatenate", row, shape=(1, 3), dtype="f4", axis=1), row
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_pad(kernels, dtype, layout):
    view, x = strided(kernels, sample(dtype, (4, 6)), layout)
    for low, high, gap in product((-2, 0, 3), (-3, 0, 1), (0, 2)):
        expected = padded(x, 1, (low, high), (high, low), (gap, 0))
        found = kernels.run(
            "pad", view, kernels.constant(1, dtype), shape=expected.shape, dtype=dtype,
            low=(low, high), high=(high, low), interior=(gap, 0),
        )  # fmt: skip
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("ndim", [9, 14])
def test_many_axes_that_do_not_merge(kernels, ndim):
    base = sample("float32", (2,) * ndim)
    base, order = np.ascontiguousarray(base), tuple(range(ndim))[::-1]
    x = kernels.tensor(base)
    view, expected = x.with_layout(x.layout.transpose(order)), base.transpose(order)
    np.testing.assert_array_equal(kernels.backend.download(view), expected)
    found = kernels.run("add", view, x, shape=base.shape, dtype="f4")
    np.testing.assert_array_equal(found, expected + base)
    found = kernels.run("reduce_sum", view, shape=(2,) * (ndim - 1), dtype="f4", axes=(1,))
    np.testing.assert_allclose(found, expected.sum(1), 1e-6, 1e-6)
    joined = (*base.shape[:-1], 4)
    found = kernels.run("concatenate", view, x, shape=joined, dtype="f4", axis=ndim - 1)
    np.testing.assert_array_equal(found, np.concatenate([expected, base], -1))


def test_pad_cropped_to_nothing_and_from_nothing(kernels):
    fill = np.array(7, "f4")
    x = np.ones((3,), "f4")
    cases = [(x, (-3,), (2,), (2,)), (x, (-9,), (8,), (2,)), (x[:0], (1,), (1,), (2,))]
    for operand, low, high, shape in cases:
        found = kernels.run(
            "pad", operand, fill, shape=shape, dtype="f4", low=low, high=high, interior=(0,)
        )
        np.testing.assert_array_equal(found, padded(operand, 7, low, high, (0,)))
