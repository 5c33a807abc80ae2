"""What a primitive makes of inputs of known dtypes and layouts: inferred once, found again.

A part of `EagerRuntime`.  It runs shape rules; it knows neither backends nor derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..caching import RestartingCache
from ..dtypes import is_inexact
from ..ops.primitive import Primitive
from ..tensor import Tensor, TensorSpec, contiguous_spec

__all__ = ["Signature", "Signatures"]


class Signature:
    """The outputs of a primitive, and what the runtime must know to get there."""

    __slots__ = ("broadcast_to", "has_derivative", "outputs")

    def __init__(
        self,
        outputs: tuple[TensorSpec, ...],
        broadcast_to: tuple[int, ...] | None,
        has_derivative: bool,
    ) -> None:
        self.outputs = outputs
        #: The shape that element-wise operands need; None if all have it.
        self.broadcast_to = broadcast_to
        #: Whether there is anything to record: a rule, and an output that can vary.
        self.has_derivative = has_derivative


class Signatures(RestartingCache):
    """Signatures by (primitive, spec of each input, params as a tuple of items)."""

    def infer(
        self, primitive: Primitive, tensors: Sequence[Tensor], params: Mapping[str, Any]
    ) -> Signature:
        """The signature, looked up or inferred; raises ShapeError, DTypeError or AxisError."""
        key = (primitive, *[tensor.spec for tensor in tensors], *params.items())
        found: Signature | None
        try:
            found = self.get(key)
        except TypeError:  # a primitive of an extension whose params do not hash
            return _infer(primitive, tensors, params)
        if found is None:
            found = _infer(primitive, tensors, params)
            if not primitive.value_dependent:
                self.store(key, found)
        return found


def _infer(primitive: Primitive, tensors: Sequence[Tensor], params: Mapping[str, Any]) -> Signature:
    outputs = tuple([contiguous_spec(aval) for aval in primitive.infer(tensors, params)])
    shape = outputs[0].shape
    fits = not primitive.elementwise or all(tensor.shape == shape for tensor in tensors)
    has_derivative = primitive.vjp is not None and is_inexact(outputs[0].dtype)
    return Signature(outputs, None if fits else shape, has_derivative)
