"""Element-wise kernels on two elements of two words at a time, and when they are chosen."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_support import sample

from tenferro_wgpu.backends.webgpu.expressions import Expression, Step
from tenferro_wgpu.backends.webgpu.kernels.elementwise import prepare_map, run_map
from tenferro_wgpu.backends.webgpu.kernels.pairs import prepare_pairs
from tenferro_wgpu.layout import Layout, contiguous_layout


@pytest.mark.parametrize("size", [1, 2, 3, 127, 1000])
@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64"])
def test_operands_constants_and_single_elements(kernels, dtype, size):
    x, y = sample(dtype, (size,), 1), sample(dtype, (size,), 2)
    single = kernels.tensor(y[:1])
    single = single.with_layout(Layout((size,), (0,), 0))
    for name, function in (("add", np.add), ("mul", np.multiply), ("maximum", np.maximum)):
        for other, value in ((y, y), (kernels.constant(3, dtype, (size,)), 3), (single, y[0])):
            found = kernels.run(name, x, other, shape=(size,), dtype=dtype)
            np.testing.assert_array_equal(found, function(x, np.asarray(value, dtype)))


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64"])
@pytest.mark.parametrize("start", [1, 2, 5, 6])
def test_slices_from_odd_and_even_elements(kernels, dtype, start):
    x = sample(dtype, (64,))
    tensor = kernels.tensor(x)
    part = tensor.with_layout(tensor.layout.slice([start], [64], [1]))
    found = kernels.run("add", part, part, shape=(64 - start,), dtype=dtype)
    np.testing.assert_array_equal(found, x[start:] + x[start:])


@pytest.mark.parametrize("size", [5, 64])
def test_types_of_one_and_two_words_together(kernels, size):
    x, y = sample("float64", (size,), 1), sample("float64", (size,), 2)
    found = kernels.run("less", x, y, shape=(size,), dtype=bool)
    np.testing.assert_array_equal(found, x < y)
    single = sample("float32", (size,))
    found = kernels.run("cast", single, shape=(size,), dtype="float64")
    np.testing.assert_array_equal(found, single.astype("f8"))
    found = kernels.run("cast", x, shape=(size,), dtype="float32")
    np.testing.assert_array_equal(found, x.astype("f4"))
    found = kernels.run("select", x < y, x, y, shape=(size,), dtype="float64")
    np.testing.assert_array_equal(found, np.where(x < y, x, y))


def test_several_results(kernels):
    launcher = kernels.backend._launcher
    name = launcher.dialect(np.dtype("f8")).name
    steps = (Step("add", name, (0, 1), name), Step("less", name, (2, 1), "bool"))
    expression = Expression((name, name), steps, (2, 3))
    x, y = sample("float64", (37,), 1), sample("float64", (37,), 2)
    operands = (kernels.tensor(x), kernels.tensor(y))
    layouts = [each.layout for each in operands]
    assert prepare_pairs(launcher, expression, layouts, (37,)) is not None
    launch = prepare_map(launcher, expression, layouts, (37,))
    total, smaller = run_map(launcher, launch, operands, "several")
    read = kernels.backend.queue.read
    np.testing.assert_array_equal(read(total, 0, 8 * 37).view("f8"), x + y)
    np.testing.assert_array_equal(read(smaller, 0, 4 * 37).view("u4"), x + y < y)


def test_what_is_left_to_the_general_template(kernels):
    launcher = kernels.backend._launcher
    row = contiguous_layout((8, 6))

    def taken(operation: str, dialect: str, *layouts: Layout | None) -> bool:
        count = len(layouts)
        step = Step(operation, dialect, tuple(range(count)), dialect)
        expression = Expression((dialect,) * count, (step,), (count,))
        return prepare_pairs(launcher, expression, layouts, (8, 6)) is not None

    assert taken("add", "f64s", row, row) and taken("add", "i64s", row, None)
    assert not taken("add", "f32", row, row)
    assert not taken("exp", "f64s", row) and not taken("div", "f64s", row, row)
    assert not taken("add", "f64s", row, row.flip((0,)))
    assert not taken("add", "f64s", row, Layout((8, 6), (6, 1), 1))


def test_new_sizes_and_scalars_make_no_pipelines(kernels):
    built = None
    for size, scale in ((3, 2), (8, 5), (1001, -7)):
        x = sample("float64", (size,))
        scalar = kernels.constant(scale, "f8", (size,))
        np.testing.assert_array_equal(
            kernels.run("mul", x, scalar, shape=(size,), dtype="f8"), x * scale
        )
        assert built in (None, kernels.pipelines())
        built = kernels.pipelines()
