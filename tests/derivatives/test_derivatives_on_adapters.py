"""The derivative programs on every adapter, float32 and float64, against float64 on NumPy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from cases.derivative_cases import CASES, spread

import tenferro_wgpu as tw

REAL_CASES = [case for case in CASES if not case.is_complex and case.name != "real to complex"]
#: One rounding of float64 software against NumPy's own, a few per operation.
TOLERANCES = {"float32": 3e-5, "float64": 1e-13}


def derivatives(runtime, case, dtype):
    """Value, tangent and gradients of a case on one runtime, as arrays."""
    inputs = [x.astype(dtype) for x in case.inputs]
    directions = [spread(*x.shape, salt=20 + i).astype(dtype) for i, x in enumerate(inputs)]
    variables = [runtime.variable_from(x) for x in inputs]
    out = case.function(*variables)
    weight = spread(*out.shape, salt=40).astype(dtype)
    out.backward(gradient=runtime.constant_from(weight))
    _, tangent = tw.jvp(
        case.function,
        [runtime.constant_from(x) for x in inputs],
        [runtime.constant_from(d) for d in directions],
    )
    return [out.numpy(), tangent.numpy(), *(x.grad.numpy() for x in variables)]


@cache
def expected(name):
    case = next(case for case in REAL_CASES if case.name == name)
    with tw.EagerRuntime("cpu") as runtime:
        return derivatives(runtime, case, "float64")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", REAL_CASES, ids=lambda case: case.name)
def test_derivatives(rt, case, dtype):
    found = derivatives(rt, case, dtype)
    for got, want in zip(found, expected(case.name), strict=True):
        assert got.dtype == dtype
        scale = np.max(np.abs(want), initial=1.0)
        np.testing.assert_allclose(
            got, want, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype] * scale
        )
