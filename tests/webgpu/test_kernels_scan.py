"""Scans on WebGPU: both ways of dividing lines, every layout, both directions, plans."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_support import LAYOUTS, sample, strided

from tenferro_wgpu.backends.webgpu.kernels.launch import LONGEST_LOOP
from tenferro_wgpu.backends.webgpu.kernels.scanning import BLOCK, RUN, plan_scan
from tenferro_wgpu.errors import TensorTooLargeError

FUNCTIONS = {
    "cumulative_prod": np.multiply,
    "cumulative_max": np.maximum,
    "cumulative_min": np.minimum,
}


def recurrence(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    """y[i] = a[i] * y[i-1] + b[i] in order."""
    y = np.moveaxis(np.zeros_like(b), axis, 0)
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    for i in range(len(y)):
        y[i] = b[i] if i == 0 else np.where(a[i] == 0, b[i], a[i] * y[i - 1] + b[i])
    return np.moveaxis(y, 0, axis)


@pytest.fixture(params=["in turn", "by workgroups"])
def scans(request, kernels):
    """The kernels, once as on a software adapter and once as on a GPU."""
    launcher = kernels.backend._launcher
    was = launcher.is_cpu
    launcher.is_cpu = request.param == "in turn"
    launcher.clear_caches()
    yield kernels
    launcher.is_cpu = was
    launcher.clear_caches()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_axis_of_any_layout(scans, layout):
    view, x = strided(scans, sample("int32", (4, 130, 3)), layout)
    for axis in range(3):
        for reverse in (False, True):
            found = scans.run(
                "cumulative_sum", view, shape=x.shape, dtype="i4", axis=axis, reverse=reverse
            )
            expected = np.cumsum(np.flip(x, axis) if reverse else x, axis, dtype="i4")
            np.testing.assert_array_equal(found, np.flip(expected, axis) if reverse else expected)
        for name, function in FUNCTIONS.items():
            found = scans.run(name, view, shape=x.shape, dtype="i4", axis=axis)
            np.testing.assert_array_equal(found, function.accumulate(x, axis, dtype="i4"))


@pytest.mark.parametrize("shape", [(5000,), (3, 5000), (5000, 3), (1, 20_011), (300, 70)])
def test_long_lines(scans, shape):
    x = np.random.default_rng(1).uniform(0.5, 1, shape).astype("f4")
    axis = int(np.argmax(shape))
    for reverse in (False, True):
        found = scans.run("cumulative_sum", x, shape=shape, dtype="f4", axis=axis, reverse=reverse)
        turned = np.flip(x, axis) if reverse else x
        expected = np.cumsum(turned, axis, dtype="f8")
        expected = np.flip(expected, axis) if reverse else expected
        assert np.abs(found / expected - 1).max() < 8 * np.finfo("f4").eps
    found = scans.run("cumulative_max", x, shape=shape, dtype="f4", axis=axis)
    np.testing.assert_array_equal(found, np.maximum.accumulate(x, axis))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "complex64"])
def test_recurrences(scans, dtype):
    rng = np.random.default_rng(2)
    for shape, axis in (((700, 2), 0), ((2, 2500), 1)):
        a = rng.integers(-1, 2, shape).astype(dtype)
        b = rng.integers(-4, 5, shape).astype(dtype)
        if dtype == "complex64":
            b = (b + 1j * rng.integers(-4, 5, shape)).astype(dtype)
        found = scans.run(
            "linear_recurrence", a, b, shape=shape, dtype=dtype, axis=axis, reverse=False
        )
        np.testing.assert_array_equal(found, recurrence(a, b, axis))
        found = scans.run(
            "linear_recurrence", a, b, shape=shape, dtype=dtype, axis=axis, reverse=True
        )
        expected = np.flip(recurrence(np.flip(a, axis), np.flip(b, axis), axis), axis)
        np.testing.assert_array_equal(found, expected)


def test_a_factor_of_zero_forgets_what_was_before(scans):
    a = np.array([1, 1, 0, 1] * 100, "f4")
    b = np.array([np.nan, np.inf, 1, 2] * 100, "f4")
    found = scans.run("linear_recurrence", a, b, shape=(400,), dtype="f4", axis=0, reverse=False)
    np.testing.assert_array_equal(found[2::4], 1)
    np.testing.assert_array_equal(found[3::4], 3)


def test_infinities_and_nan_in_long_sums(scans):
    x = np.ones((3, 3000), "f4")
    x[0, 1500], x[1, 700], x[1, 2000], x[2, 2999] = np.inf, np.inf, -np.inf, np.nan
    found = scans.run("cumulative_sum", x, shape=x.shape, dtype="f4", axis=1, reverse=False)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, np.cumsum(x, axis=1))


def test_structure_alone_makes_pipelines(scans):
    def run(*shape):
        x = np.ones(shape, "f4")
        scans.run("cumulative_sum", x, shape=shape, dtype="f4", axis=1, reverse=False)

    run(3, 9000)
    run(3, 70)
    before = scans.pipelines()
    for extents in ((5, 8000), (2, 7001), (3, 12_345), (7, 71), (4, 33)):
        run(*extents)
    assert scans.pipelines() == before


def test_constants_and_views_too_large(kernels):
    row = kernels.constant(2, "i4", (5,))
    found = kernels.run("cumulative_sum", row, shape=(5,), dtype="i4", axis=0, reverse=False)
    np.testing.assert_array_equal(found, [2, 4, 6, 8, 10])
    huge = kernels.constant(1, "f4", (2**31,))
    with pytest.raises(TensorTooLargeError, match="cumulative_sum"):
        kernels.queue("cumulative_sum", huge, shape=(2**31,), dtype="f4", axis=0, reverse=False)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("is_cpu", [False, True])
def test_plans_cover_lines_and_keep_loops_short(is_cpu, columns):
    for lines in (1, 3, 31, 32, 1000, 100_000):
        for count in (1, 2, 31, 255, 256, 257, 4096, 65_537, 10**6, 2**28):
            for of_totals in (False, True):
                step = plan_scan(lines, count, columns=columns, is_cpu=is_cpu, of_totals=of_totals)
                assert (step.blocks - 1) * step.chunk < count <= step.blocks * step.chunk
                unit = BLOCK if step.lanes == 1 else step.lanes * RUN
                assert step.chunk % unit == 0
                # A loop over blocks or tiles, and those inside it.
                iterations = step.chunk // step.lanes * (1 + 1 / min(BLOCK, RUN)) * 2
                assert iterations <= 2 * LONGEST_LOOP
                if of_totals and count <= 4096:
                    assert step.blocks == 1
