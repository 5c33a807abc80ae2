"""Functions that loop by themselves never stand in the loop of a reduction.

llvmpipe ends every loop of an invocation after 65,535 iterations in all: a long row of remainders
would silently lose its rest.
"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SOFTWARE
from fusion.test_rows import runtime_of

import tenferro_wgpu as tw
from tenferro_wgpu.backends.webgpu.fusion import running
from tenferro_wgpu.backends.webgpu.fusion.products import make_epilogue

pytestmark = pytest.mark.skipif("lavapipe" not in SOFTWARE, reason="lavapipe is not selected")

#: So many rows that each is one invocation's.
ROWS = 2048


@pytest.mark.parametrize(
    ("dtype", "length", "power"), [(np.float32, 8000, 126), (np.float64, 2000, 1000)]
)
def test_sums_of_remainders_are_whole(dtype: type, length: int, power: int) -> None:
    """Every remainder is 1, and so far from the divisor that it takes tens of steps."""
    with runtime_of("lavapipe", True) as runtime:
        runtime.backend.fuser.patience = 0
        numbers = runtime.constant_from(np.full((1, length), 2.0**power, dtype))
        divisors = runtime.constant_from(np.full((ROWS, 1), 3.0, dtype))
        rows = tw.sum(tw.fmod(numbers, divisors), axis=1)
        np.testing.assert_array_equal(rows.numpy(), np.full(ROWS, length, dtype))


def test_sums_of_integer_powers_are_whole() -> None:
    with runtime_of("lavapipe", True) as runtime:
        runtime.backend.fuser.patience = 0
        bases = runtime.constant_from(np.ones((1, 4000), np.int32))
        exponents = runtime.constant_from(np.full((ROWS, 1), 2**30, np.int32))
        rows = tw.sum(bases**exponents, axis=1)
        np.testing.assert_array_equal(rows.numpy(), np.full(ROWS, 4000))


@pytest.mark.parametrize(
    ("function", "dtype", "number"),
    [
        (tw.digamma, np.float32, 7.25),
        (tw.lgamma, np.float32, 7.25),
        (lambda x: tw.polygamma(1, x), np.float32, 7.25),
        (tw.erf, np.float64, 0.5),
        (lambda x: tw.logaddexp(x, -0.5), np.float32, -0.9375),
    ],
    ids=["digamma", "lgamma", "polygamma", "erf", "logaddexp"],
)
def test_rows_less_their_sums_of_special_functions(function, dtype, number) -> None:
    """A program whose elements and rows would be one kernel, walking each row twice."""
    row = np.full((1, 9000), number, dtype)
    with tw.EagerRuntime("cpu") as runtime:
        value = function(runtime.constant_from(np.array(number, dtype))).item()
    with runtime_of("lavapipe", True) as runtime:
        runtime.backend.fuser.patience = 0
        x = runtime.constant_from(row) + runtime.constant_from(np.zeros((1100, 1), dtype))
        y = function(x)
        found = (y - tw.sum(y, axis=1, keepdims=True)).numpy()
    np.testing.assert_allclose(found, np.full_like(found, value * (1 - row.size)), rtol=1e-5)


def test_products_take_no_function_that_loops_as_epilogue(monkeypatch) -> None:
    made = []

    def recorded(*arguments):
        made.append(make_epilogue(*arguments))
        return made[-1]

    monkeypatch.setattr(running, "make_epilogue", recorded)
    with runtime_of("lavapipe", True) as runtime:
        runtime.backend.fuser.patience = 0
        x = runtime.constant_from(np.full((64, 64), 0.125, np.float32))
        usual, looping = tw.exp(x @ x).numpy(), tw.digamma(x @ x).numpy()
    assert [epilogue is None for epilogue in made] == [False, True]
    np.testing.assert_allclose(usual, np.full_like(usual, np.e), rtol=1e-5)
    np.testing.assert_allclose(looping, np.full_like(looping, -0.57721566), rtol=1e-5)
