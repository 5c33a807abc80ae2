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
