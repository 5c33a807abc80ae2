"""What replaces CuPy's universal functions, computed with NumPy as the namespace."""

from __future__ import annotations

import numpy as np
import pytest
from cases.operations import BINARY, assert_close, reference
from cases.values import pairs

from tenferro_wgpu.backends.array_kernels import bind_kernels
from tenferro_wgpu.backends.cupy_elementwise_kernels import KERNELS
from tenferro_wgpu.tensor import ShapeDtype

#: Primitive -> the row of the case table.
ROWS = {"shift_left": "bitwise_left_shift", "shift_right": "bitwise_right_shift"}
#: Bools are int8 or logic before a kernel sees them.
CASES = [
    (name, dtype)
    for name in KERNELS
    for dtype in BINARY[ROWS.get(name, name)].dtypes
    if dtype != "bool"
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_values_are_numpys(name, dtype):
    case = BINARY[ROWS.get(name, name)]
    x, y = pairs(dtype)
    kernel = bind_kernels(np, KERNELS)[name]
    with np.errstate(all="ignore"):
        got = kernel(ShapeDtype(x.shape, x.dtype), [x, y], {})
    assert_close(got, reference(case, x, y), case.ulps, any_zero=case.any_zero)


@pytest.mark.parametrize("name", KERNELS)
def test_one_element_and_none(name):
    dtype = "int8" if name.startswith("shift") else "float16"
    kernel = bind_kernels(np, KERNELS)[name]
    for shape in ((), (0, 2)):
        x = np.full(shape, 5, dtype)
        got = kernel(ShapeDtype(shape, x.dtype), [x, x], {})
        assert got.shape == shape and got.dtype == dtype
