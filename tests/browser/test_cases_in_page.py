"""The shared case tables in a page: every operation, dtype and some layouts against NumPy there.

Two things that WebGPU and NumPy leave open differ in a page: its GPU flushes subnormal float32
values to zero, and NumPy for WebAssembly takes either zero as the larger of -0.0 and 0.0.
"""

from __future__ import annotations

import pytest
from cases.operations import BINARY, REDUCTIONS, UNARY

pytestmark = pytest.mark.browser

SETUP = """
import os
os.environ['TENFERRO_BACKEND'] = 'webgpu'
import numpy as np
import tenferro_wgpu as tw
from cases.operations import BINARY, REDUCTIONS, UNARY, assert_close, reference
from cases.values import LAYOUTS, matrix, pairs, random, vector

await tw.init_async()
rt = tw.default_runtime()
failures = []

def without_subnormals(array):
    if array.dtype != np.float32:
        return array
    # The smallest normal number too: a product may be flushed before it is rounded up to it.
    tiny = np.abs(array) <= np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), array), array)

def without_negative_zero(array):
    return np.where(array == 0, np.zeros_like(array), array)

def widened(case, array):
    # NumPy sums in its default integer, which has 32 bits in WebAssembly and 64 elsewhere.
    if case.ours in (tw.sum, tw.prod) and array.dtype.kind in 'biu':
        return array.astype(np.uint64 if array.dtype.kind == 'u' else np.int64)
    return array

def compare(case, arrays, views=LAYOUTS['contiguous'], what='', **options):
    on_host, on_device = views
    arrays = [without_subnormals(array) for array in arrays]
    if case.ours in (tw.maximum, tw.minimum, tw.max, tw.min):
        arrays = [without_negative_zero(array) for array in arrays]
    tensors = [on_device(rt.constant_from(array)) for array in arrays]
    got = case.ours(*tensors, **options).numpy()
    want = reference(case, *[on_host(widened(case, array)) for array in arrays], **options)
    try:
        assert_close(without_subnormals(got), without_subnormals(want), case.ulps, what)
    except AssertionError as error:
        failures.append(str(error)[:400])
"""

LAYOUTS_TRIED = "[LAYOUTS[name] for name in ('transposed', 'reversed', 'repeated')]"


def test_the_page_computes_on_webgpu(py):
    assert py(SETUP + "[rt.backend.name, rt.backend.capabilities().is_software]") == [
        "webgpu",
        True,
    ]


@pytest.mark.parametrize("name", UNARY)
def test_unary(py, name):
    failures = py(f"""{SETUP}
case = UNARY[{name!r}]
for dtype in case.dtypes:
    compare(case, [vector(dtype)], what=dtype)
    for views in {LAYOUTS_TRIED}:
        compare(case, [matrix(dtype)], views, what=dtype)
failures""")
    assert failures == []


@pytest.mark.parametrize("name", BINARY)
def test_binary(py, name):
    failures = py(f"""{SETUP}
case = BINARY[{name!r}]
for dtype in case.dtypes:
    compare(case, pairs(dtype), what=dtype)
    for views in {LAYOUTS_TRIED}:
        compare(case, [matrix(dtype, 3), matrix(dtype, 4)], views, what=dtype)
failures""")
    assert failures == []


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(py, name):
    failures = py(f"""{SETUP}
case = REDUCTIONS[{name!r}]
for dtype in case.dtypes:
    values = random(dtype, 60, 5).reshape(3, 5, 4)
    if values.dtype.kind == 'f':  # of one sign: nothing cancels, so the order of a sum is free
        values = (np.abs(values) / 4).astype(dtype)
    for axis in (None, 0, (0, 2)):
        compare(case, [values], what=f'{{dtype}} {{axis}}', axis=axis)
failures""")
    assert failures == []
