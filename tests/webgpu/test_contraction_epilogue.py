"""Products fused with what follows them: equal bit for bit to the same steps one by one."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_support import Kernels, sample, strided
from test_contraction_tiles import forced, usable

from tenferro_wgpu.backends.webgpu.expressions import Expression, Step
from tenferro_wgpu.backends.webgpu.kernels.contraction_epilogue import launch_contraction_epilogue
from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import Tile
from tenferro_wgpu.errors import UnsupportedOperationError
from tenferro_wgpu.tensor import ShapeDtype

MATRIX = {"contracting": ((1,), (0,)), "batch": ((), ())}
BATCHED = {"contracting": ((2,), (1,)), "batch": ((0,), (0,))}


def name_of(kernels: Kernels, dtype: str) -> str:
    return kernels.backend._launcher.dialect(np.dtype(dtype)).name


def alone(kernels, name, *operands, **params):
    """One operation in a kernel of its own: reading its result forces it."""
    found = kernels.queue(name, *operands, **params)
    kernels.backend.download(found)
    return found


def fuse(kernels, x, y, params, expression, leaves, shape, dtype):
    launcher = kernels.backend._launcher
    found = launch_contraction_epilogue(
        launcher, (x, y), params, expression, leaves, ShapeDtype(shape, np.dtype(dtype))
    )
    return [kernels.backend.download(each) for each in found]


def bias_relu_scale_residual(own: str) -> Expression:
    """Of product, bias, zero, scale and residual: the product, and all of them."""
    return Expression(
        (own,) * 5,
        (
            Step("add", own, (0, 1), own),
            Step("maximum", own, (5, 2), own),
            Step("mul", own, (6, 3), own),
            Step("add", own, (7, 4), own),
        ),
        (0, 8),
    )


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(5, 7, 3), (48, 64, 32), (33, 70, 31), (128, 10, 64)])
def test_bias_relu_scale_residual(kernels, dtype, sizes):
    m, n, k = sizes
    own = name_of(kernels, dtype)
    x, y = (kernels.tensor(sample(dtype, shape, i)) for i, shape in enumerate([(m, k), (k, n)]))
    bias, residual = sample(dtype, (n,), 2), sample(dtype, (m, n), 3)
    spread = kernels.tensor(bias)
    spread = spread.with_layout(spread.layout.broadcast_in_dim((m, n), (1,)))
    zero = kernels.constant(0, dtype, (m, n))
    scale = kernels.constant(0.3, dtype, (m, n))
    leaves = (spread, zero, scale, kernels.tensor(residual))
    plain = alone(kernels, "dot_general", x, y, shape=(m, n), dtype=dtype, **MATRIX)
    product, result = fuse(
        kernels, x, y, MATRIX, bias_relu_scale_residual(own), leaves, (m, n), dtype
    )
    step = alone(kernels, "add", plain, spread, shape=(m, n), dtype=dtype)
    step = alone(kernels, "maximum", step, zero, shape=(m, n), dtype=dtype)
    step = alone(kernels, "mul", step, scale, shape=(m, n), dtype=dtype)
    step = kernels.run("add", step, leaves[3], shape=(m, n), dtype=dtype)
    np.testing.assert_array_equal(bits(product), bits(kernels.backend.download(plain)))
    np.testing.assert_array_equal(bits(result), bits(step))


@pytest.mark.parametrize(
    "tile",
    [
        Tile("registers", 8, 8), Tile("subgroup", 16, 8, 1, 8), Tile("workgroup", 4, 4, 8, 8, 16),
        Tile("workgroup", 4, 4, 16, 16, 16), Tile("lanes", 1, 1), Tile("aligned", 2, 4),
    ],
    ids=lambda tile: tile.scheme,
)  # fmt: skip
def test_every_scheme_has_epilogues(kernels, tile):
    dtype = "float64" if tile.scheme == "aligned" else "float32"
    if not usable(kernels, tile, dtype):
        pytest.skip("not for this adapter and dtype")
    own = name_of(kernels, dtype)
    m, n, k = 21, 36, 12
    x, y = (kernels.tensor(sample(dtype, shape, i)) for i, shape in enumerate([(m, k), (k, n)]))
    leaf = kernels.tensor(sample(dtype, (m, 1), 2))
    leaf = leaf.with_layout(leaf.layout.broadcast_in_dim((m, n), (0, 1)))
    # A short expression is written out, a long one is a loop over the tile.
    for steps in (("add",), ("add", "tanh"), ("add", "exp", "log1p")):
        listed = [Step("add", own, (0, 1), own)]
        listed += [Step(step, own, (1 + i,), own) for i, step in enumerate(steps) if i]
        expression = Expression((own, own), tuple(listed), (1 + len(listed),))
        with forced(kernels, tile):
            (found,) = fuse(kernels, x, y, MATRIX, expression, (leaf,), (m, n), dtype)
            step = alone(kernels, "dot_general", x, y, shape=(m, n), dtype=dtype, **MATRIX)
            step = alone(kernels, "add", step, leaf, shape=(m, n), dtype=dtype)
            for each in steps[1:]:
                step = alone(kernels, each, step, shape=(m, n), dtype=dtype)
        np.testing.assert_array_equal(bits(found), bits(kernels.backend.download(step)))


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "flipped", "stepped", "broadcast"])
def test_leaves_of_any_strides_and_batches(kernels, layout):
    shape = (6, 6, 6)
    x, y = (kernels.tensor(sample("float32", shape, i)) for i in (0, 1))
    base = (13, 13, 13) if layout == "stepped" else shape
    leaf, values = strided(kernels, sample("float32", base, 2), layout)
    expression = Expression(("f32", "f32"), (Step("add", "f32", (0, 1), "f32"),), (2, 0))
    result, product = fuse(kernels, x, y, BATCHED, expression, (leaf,), shape, "float32")
    np.testing.assert_array_equal(result, product + values)


def test_outputs_of_other_dtypes(kernels):
    x, y = (kernels.tensor(sample("float32", (9, 9), i)) for i in (0, 1))
    zero = kernels.constant(0, "f4", (9, 9))
    steps = (Step("greater", "f32", (0, 1), "bool"), Step("cast", "f32", (0,), "i32"))
    expression = Expression(("f32", "f32"), steps, (2, 3, 0))
    mask, whole, product = fuse(kernels, x, y, MATRIX, expression, (zero,), (9, 9), "float32")
    np.testing.assert_array_equal(mask, product > 0)
    np.testing.assert_array_equal(whole, product.astype("i4"))


def test_sizes_and_scalars_make_no_pipelines(kernels):
    own = "f32"
    expression = Expression((own, own), (Step("mul", own, (0, 1), own),), (2,))

    def run(m: int, scale: float) -> None:
        x = kernels.tensor(sample("float32", (m, m)))
        fuse(kernels, x, x, MATRIX, expression, (kernels.constant(scale, "f4", (m, m)),),
             (m, m), "float32")  # fmt: skip

    run(33, 0.5)
    before = kernels.pipelines()
    for i in range(1, 5):
        run(33 + 2 * i, 0.5 + i)
    assert kernels.pipelines() == before


def test_what_cannot_be_fused_is_refused(kernels):
    own = "f32"
    add = Expression((own, own), (Step("add", own, (0, 1), own),), (2,))
    x, y = (
        kernels.tensor(sample("float32", (2, 9000))),
        kernels.tensor(sample("float32", (9000, 2))),
    )
    leaf = kernels.tensor(sample("float32", (2, 2)))
    with pytest.raises(UnsupportedOperationError, match="split"):
        fuse(kernels, x, y, MATRIX, add, (leaf,), (2, 2), "float32")
    square = kernels.tensor(sample("float32", (4, 4)))
    count = kernels.backend._launcher.limits.max_storage_buffers_per_shader_stage
    steps = [Step("add", own, (0, 1), own)]
    steps += [Step("add", own, (i, count + i - 1), own) for i in range(2, count)]
    many = Expression((own,) * (count + 1), tuple(steps), (2 * count - 2,))
    leaves = tuple(kernels.tensor(sample("float32", (4, 4), i)) for i in range(count))
    with pytest.raises(UnsupportedOperationError, match="buffers"):
        fuse(kernels, square, square, MATRIX, many, leaves, (4, 4), "float32")
    # Rows of this leaf are two axes with a gap: no single stride walks them.
    rows = kernels.tensor(sample("float32", (2, 2, 4)))
    gap = kernels.tensor(sample("float32", (2, 3, 4)))
    gap = gap.with_layout(gap.layout.slice((0, 0, 0), (2, 2, 4), (1, 1, 1)))
    contraction = {"contracting": ((2,), (0,)), "batch": ((), ())}
    with pytest.raises(UnsupportedOperationError, match="runs"):
        fuse(kernels, rows, square, contraction, add, (gap,), (2, 2, 4), "float32")


def test_operands_that_must_be_copied_first(kernels):
    base = sample("float32", (4, 5, 6))
    x = kernels.tensor(base)
    # Contracted axes with a gap between them and rows: no strides walk these as matrices.
    x = x.with_layout(x.layout.slice((0, 0, 0), (4, 3, 6), (1, 1, 1)).transpose((1, 0, 2)))
    y = sample("float32", (3, 6, 7), 1)
    add = Expression(("f32", "f32"), (Step("add", "f32", (0, 1), "f32"),), (2,))
    leaf = sample("float32", (4, 7), 2)
    contraction = {"contracting": ((0, 2), (0, 1)), "batch": ((), ())}
    (found,) = fuse(
        kernels, x, kernels.tensor(y), contraction, add, (kernels.tensor(leaf),), (4, 7), "float32"
    )
    expected = np.einsum("rik,ikn->rn", base[:, :3], y) + leaf
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
