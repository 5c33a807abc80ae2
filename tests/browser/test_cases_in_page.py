"""The shared case tables in a page: every operation, most dtypes and some layouts against NumPy.

A page compiles slowly on a software GPU: of two dtypes that share a dialect's code one is tried,
and layouts with a few operations.

Two things that WebGPU and NumPy leave open differ in a page: its GPU flushes subnormal float32
values to zero, and NumPy for WebAssembly takes either zero as the larger of -0.0 and 0.0.
"""

from __future__ import annotations

import pytest
from cases.operations import BINARY, REDUCTIONS, UNARY, Case

pytestmark = pytest.mark.browser

SETUP = """
import os
os.environ['TENFERRO_BACKEND'] = 'webgpu'
import numpy as np
import tenferro_wgpu as tw
from cases.operations import BINARY, REDUCTIONS, UNARY, assert_close, operands, reference
from cases.values import LAYOUTS, matrix, pairs, random, vector

await tw.init_async()
rt = tw.default_runtime()
failures = []

def without_subnormals(array):
    if array.dtype == np.complex64:
        parts = np.stack([array.real, array.imag], -1)
        return without_subnormals(parts).view(np.complex64)[..., 0]
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
    arrays = [without_subnormals(array) for array in operands(case, *arrays)]
    if case.ours in (tw.maximum, tw.minimum, tw.max, tw.min, tw.fmax, tw.fmin):
        arrays = [without_negative_zero(array) for array in arrays]
    if case.ours in (tw.bitwise_left_shift, tw.bitwise_right_shift):
        # NumPy for WebAssembly looks at 32 bits of a count.
        arrays[1] = np.minimum(arrays[1], 99)
    if case.ours is tw.acosh:
        # Its own knows no NaN below 1, nor what C says of infinite complex numbers.
        arrays = [np.where(np.isfinite(x) & (x.real >= 1), x, 2).astype(x.dtype) for x in arrays]
    tensors = [on_device(rt.constant_from(array)) for array in arrays]
    got = case.ours(*tensors, **options).numpy()
    want = reference(case, *[on_host(widened(case, array)) for array in arrays], **options)
    try:
        assert_close(
            without_subnormals(got), without_subnormals(want), case.ulps, what,
            any_zero=case.any_zero, absolute=case.absolute,
        )
    except AssertionError as error:
        failures.append(str(error)[:400])
"""

LAYOUTS_TRIED = "[LAYOUTS[name] for name in ('transposed', 'reversed', 'repeated')]"
#: One of each family of dialects; software float64 takes seconds to compile.
DTYPES = ("float32", "float16", "int8", "int32", "uint16", "uint64", "bool", "complex64")
IN_FLOAT64 = {"negative", "exp", "floor", "isnan", "add", "divide", "remainder", "equal"}
WITH_LAYOUTS = {"negative", "logical_not", "add", "equal"}


def dtypes(name: str, case: Case) -> tuple[str, ...]:
    """The dtypes of a row that the page tries."""
    also = ("float64", "complex128") if name in IN_FLOAT64 else ()
    return tuple(dtype for dtype in (*DTYPES, *also) if dtype in case.dtypes)


def test_the_page_computes_on_webgpu(py):
    assert py(SETUP + "[rt.backend.name, rt.backend.capabilities().is_software]") == [
        "webgpu",
        True,
    ]


@pytest.mark.parametrize("name", UNARY)
def test_unary(py, name):
    failures = py(f"""{SETUP}
case = UNARY[{name!r}]
for dtype in {dtypes(name, UNARY[name])}:
    compare(case, [vector(dtype)], what=dtype)
    for views in {LAYOUTS_TRIED if name in WITH_LAYOUTS else ()}:
        compare(case, [matrix(dtype)], views, what=dtype)
failures""")
    assert failures == []


@pytest.mark.parametrize("name", BINARY)
def test_binary(py, name):
    failures = py(f"""{SETUP}
case = BINARY[{name!r}]
for dtype in {dtypes(name, BINARY[name])}:
    compare(case, pairs(dtype), what=dtype)
    for views in {LAYOUTS_TRIED if name in WITH_LAYOUTS else ()}:
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


def test_shapes_that_depend_on_values_are_awaited(py):
    failures = py(f"""{SETUP}
from tenferro_wgpu.testing.ordering import orderings
for dtype in ('float32', 'float64', 'int64', 'int32', 'bool'):
    host = orderings(dtype, 257)
    x = rt.constant_from(host)
    mask = x != 0
    chosen = await tw.getitem_async(x, mask)
    places = await tw.nonzero_async(mask)
    distinct = await tw.unique_async(x, equal_nan=True)
    doubled = await x.at[mask].set_async(chosen)
    pairs = [
        (tw.sort(x), np.sort(host, kind='stable')),
        (tw.argsort(x), np.argsort(host, kind='stable').astype(np.int64)),
        (chosen, host[host != 0]),
        (places[1], np.nonzero(host)[1].astype(np.int64)),
        (distinct, np.unique(host)),
        (doubled, host),
    ]
    for number, (got, want) in enumerate(pairs):
        got = await got.numpy_async()
        if got.dtype != want.dtype or not np.array_equal(got, want, equal_nan=dtype[0] == 'f'):
            failures.append(f'{{dtype}} {{number}}')
failures""")
    assert failures == []
