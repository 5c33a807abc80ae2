"""Places among even edges, found by division, are those of the binary search."""

import numpy as np
import pytest

from tenferro_wgpu.backends import numpy_searching
from tenferro_wgpu.backends.numpy_searching import searchsorted
from tenferro_wgpu.tensor import ShapeDtype

EDGES = {
    "even": np.linspace(-3, 5, 101),
    "coarse": np.linspace(0, 1, 4),
    "fine": np.linspace(-1, 1, 3001),
    "far": np.linspace(1e6, 1e6 + 100, 101),
    "tiny": np.linspace(0, 1e-36, 50),
    "huge": np.linspace(-1e38, 1e38, 50),
    "uneven": np.linspace(0.1, 3, 101) ** 2,
    "nearly even": np.linspace(0, 100, 101) + 0.1 * np.sin(np.arange(101)),
    "equal": np.full(20, 2.0),
    "with infinity": np.append(np.arange(20.0), np.inf),
    "with NaN": np.append(np.arange(20.0), np.nan),
}


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", EDGES)
def test_places_are_those_of_the_binary_search(name, dtype, side):
    with np.errstate(all="ignore"):
        edges = EDGES[name].astype(dtype)
        low, high = np.nanmin(edges), min(np.nanmax(edges), np.finfo(dtype).max / 4)
        numbers = np.random.default_rng(5).uniform(-0.2, 1.2, 60000)
        near = np.concatenate(
            [edges, np.nextafter(edges, dtype_of(dtype, np.inf)), np.nextafter(edges, -edges)]
        )
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).max, -1e-45])
        values = np.concatenate(
            [low + numbers.astype(dtype) * (high - low), near, special.astype(dtype)]
        ).astype(dtype)
        found = searchsorted(np, ShapeDtype(values.shape, np.dtype("i8")), edges, values, side=side)
    np.testing.assert_array_equal(found, np.searchsorted(edges, values, side=side))


def dtype_of(dtype, number):
    return np.dtype(dtype).type(number)


@pytest.mark.parametrize("name", ["even", "coarse", "fine", "far", "tiny", "huge", "nearly even"])
def test_even_edges_are_seen(name):
    edges = EDGES[name].astype(np.float32 if name != "huge" else np.float64)
    assert numpy_searching._steps(edges, np.zeros(60000, edges.dtype)) is not None
    uneven = EDGES["uneven"].astype(np.float32)
    assert numpy_searching._steps(uneven, np.zeros(60000, np.float32)) is None
