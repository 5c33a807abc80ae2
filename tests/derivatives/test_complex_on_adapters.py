"""The derivative programs of complex numbers on every WebGPU adapter, against complex128 on NumPy.

Hermitian convention: a gradient is what the real scalar product pairs with a direction.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from cases.derivative_cases import CASES, complex_spread, spread
from conftest import SOFTWARE, shared_runtime

import tenferro_wgpu as tw

COMPLEX_CASES = [case for case in CASES if case.is_complex or case.name == "real to complex"]
TOLERANCES = {"complex64": 3e-5, "complex128": 2e-13}
#: One program names a dtype itself.
ROWS = [
    (case, dtype)
    for case in COMPLEX_CASES
    for dtype in TOLERANCES
    if (case.name, dtype) != ("real to complex", "complex64")
]
PARTS = {"complex64": "float32", "complex128": "float64"}


def like(array, dtype, salt):
    """An array of the kind and shape of another, in the precision of a complex dtype."""
    values = complex_spread if array.dtype.kind == "c" else spread
    return converted(values(*array.shape, salt=salt), dtype)


def converted(array, dtype):
    return array.astype(dtype if array.dtype.kind == "c" else PARTS[dtype])


def derivatives(runtime, case, dtype):
    """Value, tangent and gradients of a case on one runtime, as arrays."""
    inputs = [converted(x, dtype) for x in case.inputs]
    directions = [like(x, dtype, 20 + i) for i, x in enumerate(inputs)]
    with runtime.as_default():
        variables = [runtime.variable_from(x) for x in inputs]
        out = case.function(*variables)
        weight = like(out.detach().numpy(), dtype, 40).astype(out.dtype)
        out.backward(gradient=runtime.constant_from(weight))
        _, tangent = tw.jvp(
            case.function,
            [runtime.constant_from(x) for x in inputs],
            [runtime.constant_from(d) for d in directions],
        )
    return [out.numpy(), tangent.numpy(), *(x.grad.numpy() for x in variables)]


@cache
def expected(name):
    case = next(case for case in COMPLEX_CASES if case.name == name)
    return derivatives(shared_runtime("numpy"), case, "complex128")


@pytest.mark.parametrize("software", SOFTWARE)
@pytest.mark.parametrize(
    ("case", "dtype"), ROWS, ids=lambda each: each if isinstance(each, str) else each.name
)
def test_derivatives(software, case, dtype):
    found = derivatives(shared_runtime(software), case, dtype)
    for got, want in zip(found, expected(case.name), strict=True):
        assert got.dtype == (dtype if want.dtype.kind == "c" else PARTS[dtype])
        scale = np.max(np.abs(want), initial=1.0)
        np.testing.assert_allclose(
            got, want, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype] * scale
        )
