"""Copies, transpositions and placements: every scheme, odd sizes, all dtypes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from kernel_support import sample

from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher
from tenferro_wgpu.backends.webgpu.kernels.movement import plan_movement
from tenferro_wgpu.layout import Layout, contiguous_layout

DTYPES = ("float32", "float64", "int64", "bool", "int8", "uint64")


@pytest.fixture(params=["registers", "tile"])
def scheme(request, kernels, monkeypatch):
    """Each scheme of transpositions, whatever the adapter is."""
    launcher: Launcher = kernels.backend._launcher
    launcher.clear_caches()
    monkeypatch.setattr(launcher, "is_cpu", request.param == "registers")
    yield request.param
    launcher.clear_caches()


def copied(kernels, array, layout):
    tensor = kernels.tensor(array)
    view = tensor.with_layout(layout(tensor.layout))
    return kernels.backend.download(kernels.backend._launcher.contiguous(view, "copy"))


@pytest.mark.parametrize("shape", [(64, 48), (33, 47), (130, 9), (36, 101), (8, 256)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_transposed_planes(kernels, scheme, dtype, shape):
    x = sample(dtype, shape)
    found = copied(kernels, x, lambda layout: layout.transpose((1, 0)))
    np.testing.assert_array_equal(found, x.T)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_permutations_of_four_axes(kernels, scheme, dtype):
    x = sample(dtype, (12, 3, 40, 36))
    for order in permutations(range(4)):
        found = copied(kernels, x, lambda layout, order=order: layout.transpose(order))
        np.testing.assert_array_equal(found, x.transpose(order))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("first, step", [((0, 4), (1, 1)), ((1, 2), (1, 1)), ((0, 3), (2, 1))])
def test_transposed_slices_and_flips(kernels, scheme, dtype, first, step):
    x = sample(dtype, (100, 72))
    window = x[first[0] :: step[0], first[1] :: step[1]]

    def layout(whole: Layout) -> Layout:
        return whole.slice(first, x.shape, step).transpose((1, 0))

    np.testing.assert_array_equal(copied(kernels, x, layout), window.T)
    found = copied(kernels, x, lambda whole: layout(whole).flip((0,)))
    np.testing.assert_array_equal(found, window.T[::-1])
    found = copied(kernels, x, lambda whole: layout(whole).flip((1,)))
    np.testing.assert_array_equal(found, window.T[:, ::-1])


def test_nan_payloads_and_signed_zeros_are_moved(kernels, scheme):
    bits = np.arange(64 * 40, dtype=np.uint32).reshape(64, 40) + np.uint32(0x7F800001)
    bits[5] = 0x80000000
    found = copied(kernels, bits.view("f4"), lambda layout: layout.transpose((1, 0)))
    np.testing.assert_array_equal(found.view(np.uint32), bits.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool"])
def test_placing_four_at_once_and_turned(kernels, scheme, dtype):
    parts = [sample(dtype, (48, width), width) for width in (8, 64, 5, 36)]
    expected = np.concatenate(parts, 1)
    found = kernels.run("concatenate", *parts, shape=expected.shape, dtype=dtype, axis=1)
    np.testing.assert_array_equal(found, expected)
    x = kernels.tensor(sample(dtype, (64, 48), 1))
    turned = x.with_layout(x.layout.transpose((1, 0)))
    expected = np.concatenate([parts[0], kernels.backend.download(x).T], 1)
    found = kernels.run("concatenate", parts[0], turned, shape=(48, 72), dtype=dtype, axis=1)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "uint8"])
def test_rows_that_begin_anywhere(kernels, dtype):
    """Runs of all lengths, from and to any place, between what is there already."""
    for rows, widths in ((1, (3, 17, 64, 5, 37)), (6, (19, 1, 23, 33)), (5, (18, 21)), (3, (2, 9))):
        wholes = [sample(dtype, (rows, width + 5), width) for width in widths]
        parts = [whole[:, 3:-2] for whole in wholes]
        views = []
        for whole in wholes:
            x = kernels.tensor(whole)
            views.append(x.with_layout(x.layout.slice((0, 3), (rows, whole.shape[1] - 2), (1, 1))))
        expected = np.concatenate(parts, 1)
        found = kernels.run("concatenate", *views, shape=expected.shape, dtype=dtype, axis=1)
        np.testing.assert_array_equal(found, expected)
    # Rows that follow each other at once, behind others, from rows that do not.
    x = kernels.tensor(sample(dtype, (4, 40), 2))
    inner = x.with_layout(x.layout.slice((0, 1), (4, 33), (1, 1)))
    first = sample(dtype, (1, 32), 3)
    for head in (first, sample(dtype, (3, 32), 4)):
        expected = np.concatenate([head, kernels.backend.download(inner)], 0)
        found = kernels.run("concatenate", head, inner, shape=expected.shape, dtype=dtype, axis=0)
        np.testing.assert_array_equal(found, expected)
    behind = np.concatenate([sample(dtype, (2,), 5), kernels.backend.download(inner).ravel()])
    flat = kernels.tensor(behind[2:])
    found = kernels.run("concatenate", behind[:2], flat, shape=behind.shape, dtype=dtype, axis=0)
    np.testing.assert_array_equal(found, behind)


def test_plans_choose_by_layout_and_adapter():
    square = contiguous_layout((64, 64))
    turned = square.transpose((1, 0))

    def planned(source: Layout, bits: str = "u32", is_cpu: bool = True):
        found = plan_movement(
            source, contiguous_layout(source.shape), bits, is_cpu=is_cpu, operation="copy"
        )
        return found.template.rpartition("/")[2], found.bits, dict(found.structure)

    registers = {"scheme": "registers", "batch": 0, "quads_in": True, "quads_out": True}
    assert planned(turned) == ("transpose", "u32", registers)
    assert planned(turned, is_cpu=False)[2]["scheme"] == "tile"
    assert planned(turned, "i64s")[1:] == (
        "i64s",
        {**registers, "quads_in": False, "quads_out": False},
    )
    straight = {"rank": 1, "width": 4, "shifted": False}
    assert planned(square) == ("place", "u32", straight)
    assert planned(square, "i64s") == ("place", "u32", straight)
    odd = Layout((9, 7), (7, 1), 1)
    shifted = {"rank": 1, "width": 4, "shifted": True}
    assert planned(odd) == planned(odd, "i64s") == ("place", "u32", shifted)
    single = {"rank": 1, "width": 1, "shifted": False}
    assert planned(odd, is_cpu=False) == ("place", "u32", single)
    assert planned(odd, "i64s", is_cpu=False) == ("place", "i64s", single)
    assert planned(Layout((5,), (1,), 1)) == ("place", "u32", single)
    assert planned(contiguous_layout((4, 4)).transpose((1, 0)))[0] == "place"


def test_new_sizes_make_no_pipelines(kernels, scheme):
    built = None
    for shape in ((64, 48), (128, 96), (40, 200)):
        x = sample("float32", shape)
        copied(kernels, x, lambda layout: layout.transpose((1, 0)))
        assert built in (None, kernels.pipelines())
        built = kernels.pipelines()
