"""Reverse mode over any values, so that tests can nest it: the tape's sweep, without slots.

`vjp` here works on tracked tensors, on the dual values of `tw.jvp` and inside itself, which is
what second derivatives of every rule need.
"""

from __future__ import annotations

from typing import Any

from tenferro_wgpu.autodiff import tape
from tenferro_wgpu.dtypes import is_inexact
from tenferro_wgpu.ops.operators import Operators
from tenferro_wgpu.ops.value import (
    Interpreter,
    apply_multiple,
    constant_like,
    innermost,
    transform_level,
)
from tenferro_wgpu.tensor import ShapeDtype


class TracedValue(Operators):
    """A value of the world below with its place on the tape of one `vjp` call."""

    __slots__ = ("index", "interpreter", "node", "primal")

    def __init__(self, interpreter, primal, node, index=0):
        self.interpreter = interpreter
        self.primal = primal
        self.node = node
        self.index = index

    @property
    def shape(self):
        return self.primal.shape

    @property
    def dtype(self):
        return self.primal.dtype


class Tracer(Interpreter):
    """Computes in the world below and records what depends on its leaves."""

    def __init__(self, base, level):
        self.base = base
        self.level = level

    @property
    def default_dtype(self):
        return self.base.default_dtype

    def constant(self, value, dtype, shape=()):
        return self.base.constant(value, dtype, shape)

    def array(self, array):
        return self.base.array(array)

    def bind(self, primitive, inputs, params):
        mine = [isinstance(x, TracedValue) and x.interpreter is self for x in inputs]
        primals = [x.primal if own else x for x, own in zip(inputs, mine, strict=True)]
        outputs = apply_multiple(primitive, primals, params)
        parents = tuple(
            (x.node, x.index) if own else None for x, own in zip(inputs, mine, strict=True)
        )
        if not any(mine) or not is_inexact(outputs[0].dtype):
            return outputs
        avals = [ShapeDtype(out.shape, out.dtype) for out in outputs]
        node = tape.record(primitive, params, parents, primals, outputs, avals, lambda kept: kept)
        if node is None:
            return outputs
        return tuple(TracedValue(self, out, node, index) for index, out in enumerate(outputs))


def vjp(function: Any, primals: Any, cotangent: Any) -> tuple[Any, ...]:
    """The cotangents of `primals` that `cotangent` of ``function(*primals)`` pulls back to."""
    leaves = [tape.leaf(ShapeDtype(x.shape, x.dtype)) for x in primals]
    with transform_level([*primals, cotangent]) as level:
        tracer = Tracer(innermost([*primals, cotangent]), level)
        out = function(*(TracedValue(tracer, x, n) for x, n in zip(primals, leaves, strict=True)))
    arrived: dict[int, Any] = {}

    def visit(node: Any, index: int, cotangent: Any) -> None:
        arrived[node.sequence] = cotangent

    if isinstance(out, TracedValue) and out.interpreter is tracer:
        tape.reverse_sweep(out.node, out.index, cotangent, lambda kept: kept, visit, lambda _: True)
    return tuple(
        arrived.get(node.sequence, constant_like(x, 0))
        for node, x in zip(leaves, primals, strict=True)
    )
