"""A short run of the fuzz runner; ``TENFERRO_FUZZ_SEED`` gives it another seed."""

from __future__ import annotations

import inspect
import os
import re
import warnings

from cases.coverage_calls import NO_TENSORS
from conftest import make_runtime, shared_runtime
from properties import wrong_calls
from properties.fuzz import Finding, check_call
from properties.makers import CALLS as MAKERS
from properties.sources import SeededSource

import tenferro_wgpu as tw

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


def test_every_public_function_is_called():
    made = {
        maker(SeededSource(number)).name for maker in MAKERS.values() for number in range(200)
    } | set(wrong_calls.CALLS)
    called = {re.split("[,. ]", name.removeprefix("program: "))[0] for name in made}
    functions = {
        name: getattr(tw, name)
        for name in tw.__all__
        if inspect.isfunction(getattr(tw, name)) and name not in NO_TENSORS
    }
    under_another_name = {id(functions[name]) for name in called & functions.keys()}
    missing = {
        n for n, f in functions.items() if n not in called and id(f) not in under_another_name
    }
    assert not missing, f"no maker of random calls for {sorted(missing)}"
