"""A short run of the fuzz runner; ``TENFERRO_FUZZ_SEED`` gives it another seed."""

from __future__ import annotations

import os
import warnings

from conftest import make_runtime, shared_runtime
from properties import wrong_calls
from properties.fuzz import Finding, check_call

CALLS = 700


def test_random_right_and_wrong_calls(rt, adapter):
    seed = int(os.environ.get("TENFERRO_FUZZ_SEED", "0"))
    print(f"seed {seed}, adapter {adapter}")
    reference = shared_runtime("numpy")
    wrong_calls.prepare(reference, lambda: make_runtime("numpy"))
    wrong_calls.prepare(rt, lambda: make_runtime(adapter))
    findings, outcomes = [], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(CALLS):
            try:
                outcomes.add(check_call(seed, number, reference, rt))
            except Finding as finding:
                findings.append(str(finding))
    assert not findings, f"seed {seed}:\n" + "\n".join(findings[:5])
    # The run means something only if calls succeed, and fail in several ways.
    assert {"value", "ShapeError", "DTypeError", "RuntimeClosedError"} <= outcomes
