"""First and second derivatives against records of PyTorch's, on every adapter.

The records are not part of the repository (see `records.py`); where they are missing, this file
says so and nothing is replayed.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import ADAPTERS, shared_runtime
from derivatives.reverse_mode import vjp
from oracles.operations import LEFT_OUT, OPERATIONS
from oracles.records import FOLDER, array, assert_agrees, families, records

import tenferro_wgpu as tw

FAMILIES = families()
REPLAYED = [family for family in FAMILIES if family.partition(".")[0] in OPERATIONS]
if not FAMILIES:
    warnings.warn(f"NO DERIVATIVE RECORDS at {FOLDER}: nothing is replayed", stacklevel=1)
needs_records = pytest.mark.skipif(not FAMILIES, reason=f"no derivative records at {FOLDER}")


@pytest.fixture(scope="module")
def unfused() -> Iterator[Callable[[str], Any]]:
    """Runtimes by adapter that run operation by operation.

    Fusion changes no bit (other tests say so); without it the families share their kernels.
    """
    made: dict[str, Any] = {}

    def runtime(adapter: str) -> Any:
        if adapter in ("numpy", "cupy"):
            return shared_runtime(adapter)
        if adapter not in made:
            shared_runtime(adapter)
            limits = "browser" if adapter == "swiftshader" else None
            made[adapter] = tw.EagerRuntime(
                tw.WebGpuBackend(adapter=ADAPTERS[adapter], limits=limits, fusion=False)
            )
        return made[adapter]

    yield runtime
    for each in made.values():
        each.close()


@needs_records
def test_every_family_is_replayed_or_left_out_for_a_reason() -> None:
    names = {family.partition(".")[0] for family in FAMILIES}
    assert names - set(OPERATIONS) - set(LEFT_OUT) == set()
    assert not set(OPERATIONS) & set(LEFT_OUT)
    assert len(REPLAYED) > 90


@needs_records
@pytest.mark.parametrize("family", REPLAYED)
def test_replay(unfused: Any, adapter: str, family: str, record_property: Any) -> None:
    operation = OPERATIONS[family.partition(".")[0]]
    runtime = unfused(adapter)
    compared: Counter[str] = Counter()
    for record in records(FAMILIES[family]):
        assert record["expected_behavior"] == "success"
        compared += replay(runtime, operation, record)
    assert compared["first order"] > 0
    for order, count in compared.items():
        record_property("derivative records", (f"{adapter}, {order}", count))


def replay(runtime: Any, operation: Any, record: dict[str, Any]) -> Counter[str]:
    """Compare the derivatives of one record; returns how many of each order there were."""
    compared: Counter[str] = Counter()
    names = list(record["inputs"])
    inputs = [runtime.constant_from(array(record["inputs"][name])) for name in names]
    positional, options = record.get("op_args") or [], record.get("op_kwargs") or {}

    def function(*xs: Any) -> Any:
        return operation(*xs, *positional, **options)

    first, second = (record["comparison"].get(f"{order}_order") for order in ("first", "second"))
    dtype = record["dtype"]
    for probe in record["probes"]:
        expected = probe["pytorch_ref"]
        directions = [runtime.constant_from(array(probe["direction"][name])) for name in names]
        cotangent = runtime.constant_from(array(probe["cotangent"]["value"]))

        def gradient(*xs: Any, cotangent: Any = cotangent) -> Any:
            return vjp(function, xs, cotangent)

        what = f"{record['case_id']} {probe['probe_id']}"
        _, tangent = tw.jvp(function, inputs, directions)
        assert_agrees(tangent.numpy(), expected["jvp"]["value"], first, dtype, f"{what} jvp")
        for name, found in zip(names, gradient(*inputs), strict=True):
            assert_agrees(found.numpy(), expected["vjp"][name], first, dtype, f"{what} vjp")
        compared["first order"] += 1 + len(names)
        if "hvp" in expected:
            _, products = tw.jvp(gradient, inputs, directions)
            for name, found in zip(names, products, strict=True):
                assert_agrees(found.numpy(), expected["hvp"][name], second, dtype, f"{what} hvp")
            compared["second order"] += len(names)
    return compared
