"""Choosing by bits gives what NumPy's `where` gives, whatever the mask and the layout."""

import numpy as np
import pytest

from tenferro_wgpu.backends.numpy_selection import select
from tenferro_wgpu.tensor import ShapeDtype

SHAPE = (250, 300)


def _mask(kind):
    numbers = np.random.default_rng(3).random(SHAPE)
    return {"none": numbers < 0, "half": numbers < 0.5, "some": numbers < 0.02}[kind]


@pytest.mark.parametrize("kind", ["none", "half", "some"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex128"])
def test_the_bits_chosen_are_those_of_where(dtype, kind):
    generator = np.random.default_rng(4)
    mask = _mask(kind)
    x = generator.integers(0, 2**8, SHAPE).astype(dtype)
    y = generator.integers(0, 2**8, SHAPE).astype(dtype)
    if x.dtype.kind in "fc":
        x[::3], y[::5] = -0.0, np.nan
    repeated = np.broadcast_to(x[0, 0], SHAPE)
    operands = [(x, y), (repeated, y), (x, repeated), (x[0, 0].reshape(()), y), (x[:, ::-1], y)]
    operands += [(np.broadcast_to(x[0], SHAPE), y), (repeated, repeated)]
    for first, second in operands:
        found = select(np, ShapeDtype(SHAPE, x.dtype), mask, first, second)
        assert found.tobytes() == np.where(mask, first, second).tobytes()


def test_a_mask_of_any_layout_chooses():
    mask, x = _mask("half")[:, ::-1], np.ones(SHAPE, np.float32)
    found = select(np, ShapeDtype(SHAPE, x.dtype), mask, x, np.zeros((), np.float32))
    np.testing.assert_array_equal(found, mask.astype(np.float32))
