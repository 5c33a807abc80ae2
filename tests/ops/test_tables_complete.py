"""Whether the tables that every adapter runs are complete: no operation without a row."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import numpy as np
import pytest
from cases.derivative_cases import CASES
from cases.operations import BINARY, UNARY

import tenferro_wgpu as tw
from tenferro_wgpu import ops
from tenferro_wgpu.ops.primitive import Primitive
from tenferro_wgpu.ops.table import TABLE

#: Rows that a public function of another shape calls; these have value tests of their own.
VALUES_ELSEWHERE = {
    "clip": "three operands",
    "conj": "of a real tensor it is the tensor itself",
    "copy": "moves data alone",
    **dict.fromkeys(("digamma", "polygamma"), "test_special*.py"),
}
#: Not in the table of derivatives, and why.
DERIVATIVES_ELSEWHERE = {
    "copy": "never called by a user: storage alone changes",
    "nextafter": "0 by agreement; differences of values would say 1",
}


class Recording(tw.EagerRuntime):
    """A runtime that knows which primitives it ran, and which of them on a tracked tensor."""

    def __init__(self) -> None:
        super().__init__("cpu", default_dtype="float64")
        self.ran: set[str] = set()
        self.differentiated: set[str] = set()

    def bind(self, primitive: Any, inputs: Any, params: Any) -> Any:
        self.ran.add(primitive.name)
        if any(x.node is not None for x in inputs):
            self.differentiated.add(primitive.name)
        return super().bind(primitive, inputs, params)


def primitives() -> dict[str, Primitive]:
    """Every primitive of the package: those of the tables and those that modules name."""
    found = dict(TABLE)
    for module in pkgutil.iter_modules(ops.__path__, f"{ops.__name__}."):
        for each in vars(importlib.import_module(module.name)).values():
            if isinstance(each, Primitive):
                found[each.name] = each
    return found


def test_every_elementwise_operation_has_a_row_of_values():
    with Recording() as runtime:
        for cases, operands in ((UNARY, 1), (BINARY, 2)):
            for case in cases.values():
                for dtype in case.dtypes:
                    case.ours(*[runtime.ones(3, dtype=dtype)] * operands)
        assert set(TABLE) - runtime.ran == set(VALUES_ELSEWHERE)


def test_every_public_elementwise_function_has_a_row_of_values():
    rows = {case.ours for case in (*UNARY.values(), *BINARY.values())}
    public = (getattr(tw, name) for name in tw.__all__)
    assert [
        each.__name__
        for each in public
        if hasattr(each, "primitive")
        and each not in rows
        and each.primitive.name not in VALUES_ELSEWHERE
    ] == []


@pytest.fixture(scope="module")
def differentiated() -> set[str]:
    """The primitives that the derivative cases differentiate."""
    with Recording() as runtime, np.errstate(all="ignore"):
        for case in CASES:
            case.function(*(runtime.variable_from(x) for x in case.inputs))
        return runtime.differentiated


def test_every_differentiable_primitive_has_a_row_of_derivatives(differentiated):
    differentiable = {
        name
        for name, primitive in primitives().items()
        if primitive.vjp is not None and (primitive.variadic or any(primitive.vjp))
    }
    assert len(differentiable) > 30
    assert differentiable - differentiated == set(DERIVATIVES_ELSEWHERE)
