"""Products of large matrices with vectors, which software adapters compute as weighted sums."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_support import Kernels

from tenferro_wgpu.backends.webgpu.kernels.vector_product import (
    FEWEST_ELEMENTS,
    is_vector_product,
)
from tenferro_wgpu.tensor import ShapeDtype

#: Shapes of x and y, contracted axes, batch axes.
CASES = {
    "row times matrix": ((1, 300), (300, 301), ((1,), (0,)), ((), ())),
    "vector times matrix": ((300,), (300, 301), ((0,), (0,)), ((), ())),
    "matrix times vector": ((301, 300), (300,), ((1,), (0,)), ((), ())),
    "matrix times column": ((301, 300), (300, 1), ((1,), (0,)), ((), ())),
    "turned matrix times vector": ((300, 301), (300,), ((0,), (0,)), ((), ())),
    "batch of rows": ((3, 1, 200), (3, 200, 201), ((2,), (1,)), ((0,), (0,))),
    "batch of columns": ((3, 201, 200), (3, 200, 1), ((2,), (1,)), ((0,), (0,))),
    "two contracted axes": ((20, 15), (20, 301, 15), ((0, 1), (0, 2)), ((), ())),
    "inner product": ((70_000,), (70_000,), ((0,), (0,)), ((), ())),
}


def expected(x, y, contracting, batch):
    letters = iter("abcdefghijkl")
    names = [[next(letters) for _ in range(x.ndim)], [next(letters) for _ in range(y.ndim)]]
    for mine, theirs in (*zip(*contracting, strict=True), *zip(*batch, strict=True)):
        names[1][theirs] = names[0][mine]
    gone = {names[0][axis] for axis in contracting[0]}
    shared = [names[0][axis] for axis in batch[0]]
    free = [n for side in names for n in side if n not in gone and n not in shared]
    subscripts = f"{''.join(names[0])},{''.join(names[1])}->{''.join([*shared, *free])}"
    return np.einsum(subscripts, x.astype("f8"), y.astype("f8"))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("case", CASES)
def test_values(kernels: Kernels, case: str, dtype: str) -> None:
    x_shape, y_shape, contracting, batch = CASES[case]
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal(x_shape).astype(dtype), rng.standard_normal(y_shape).astype(dtype)
    reference = expected(x, y, contracting, batch)
    got = kernels.run(
        "dot_general", x, y, shape=reference.shape, dtype=dtype,
        contracting=contracting, batch=batch,
    )  # fmt: skip
    depth = np.prod([x_shape[axis] for axis in contracting[0]])
    np.testing.assert_allclose(got, reference, atol=np.finfo(dtype).eps * 4 * np.sqrt(depth))
    tensors = kernels.tensor(x), kernels.tensor(y)
    params = {"contracting": contracting, "batch": batch}
    spec = ShapeDtype(reference.shape, np.dtype(dtype))
    native = dtype == "f4" or "f64n" in kernels.backend.device.native
    assert is_vector_product(kernels.backend._launcher, *tensors, spec, params) == native


def test_special_values_come_through(kernels: Kernels) -> None:
    matrix = np.ones((300, 256), np.float32)
    matrix[7, :4] = np.inf, -np.inf, np.nan, 0
    vector = np.ones(300, np.float32)
    params = {"contracting": ((0,), (0,)), "batch": ((), ())}
    got = kernels.run("dot_general", vector, matrix, shape=(256,), dtype="f4", **params)
    np.testing.assert_array_equal(got, matrix.sum(axis=0))
    vector[3] = np.nan
    got = kernels.run("dot_general", vector, matrix, shape=(256,), dtype="f4", **params)
    assert np.isnan(got).all()


@pytest.mark.parametrize(
    ("x_shape", "y_shape"),
    [((2, 300), (300, 301)), ((300, 301), (301, 2)), ((300, 300), (300, 300)), ((1, 8), (8, 9))],
)
def test_other_products_are_left_alone(kernels: Kernels, x_shape, y_shape) -> None:
    x, y = kernels.tensor(np.ones(x_shape, "f4")), kernels.tensor(np.ones(y_shape, "f4"))
    spec = ShapeDtype((x_shape[0], y_shape[1]), np.dtype("f4"))
    params = {"contracting": ((1,), (0,)), "batch": ((), ())}
    assert not is_vector_product(kernels.backend._launcher, x, y, spec, params)
    assert max(x.size, y.size) >= FEWEST_ELEMENTS or x_shape == (1, 8)
