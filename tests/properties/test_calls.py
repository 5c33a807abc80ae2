"""Every operation on random operands, views and parameters against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases.operations import assert_close
from hypothesis import HealthCheck, Phase, given, settings, strategies
from properties.calls import Call
from properties.makers import CALLS
from properties.sources import DrawnSource

#: Software GPUs build a pipeline for most examples of a new dtype, which takes a while.
EXAMPLES = {"numpy": 100, "lavapipe": 40, "swiftshader": 16}


def compare(call: Call, got: Any, adapter: str) -> None:
    """The result of a call against NumPy's."""
    expected = call.expected()
    pairs = zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]
    for mine, theirs in pairs:
        assert_close(
            mine.numpy(), np.asarray(theirs), call.ulps, repr(call),
            any_zero=call.any_zero, absolute=call.absolute, may_flush=adapter != "numpy",
        )  # fmt: skip


def examples(adapter: str, name: str) -> int:
    """How many calls: fewer of complex functions, whose kernels take a second to compile."""
    count = EXAMPLES.get(adapter, 12)
    return count // 4 if name.endswith(", complex") else count


@pytest.mark.parametrize("name", CALLS)
def test_operation_against_numpy(rt, adapter, name):
    @settings(
        max_examples=examples(adapter, name), deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck), print_blob=True,
            phases=[Phase.generate],
    )  # fmt: skip
    @given(data=strategies.data())
    def check(data):
        call = CALLS[name](DrawnSource(data))
        compare(call, call.run(rt), adapter)

    check()
