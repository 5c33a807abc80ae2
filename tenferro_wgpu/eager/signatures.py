"""What a primitive makes of inputs of known dtypes and layouts: inferred once, found again.

A part of `EagerRuntime`.  It runs shape rules; it knows neither backends nor derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..caching import RestartingCache
from ..dtypes import is_inexact
from ..layout import contiguous_layout
from ..ops.primitive import Primitive
from ..tensor import Tensor, TensorSpec, contiguous_spec, tensor_spec

__all__ = ["Signature", "Signatures"]


class Signature:
    """The outputs of a primitive, and what the runtime must know to get there."""

    __slots__ = ("compacts", "fits", "has_derivative", "operands", "outputs")

    def __init__(
        self,
        outputs: tuple[TensorSpec, ...],
        operands: tuple[TensorSpec, ...] | None,
        compacts: bool,
        has_derivative: bool,
    ) -> None:
        #: For a view the layout is the view's, for everything else C-contiguous.
        self.outputs = outputs
        #: What broadcasting makes of the inputs; None if it leaves them as they are.
        self.operands = operands
        #: Whether a view is possible only of a compact copy of its input.
        self.compacts = compacts
        #: Whether the inputs go to the backend as they are.
        self.fits = operands is None and not compacts
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
    has_derivative = primitive.vjp is not None and is_inexact(outputs[0].dtype)
    operands = None
    compacts = False
    if primitive.view is not None:
        layout = primitive.view(tensors[0].layout, **params)
        if layout is None:
            compacts = True
            layout = primitive.view(contiguous_layout(tensors[0].shape), **params)
            assert layout is not None, f"{primitive.name}: a contiguous layout has every view"
        outputs = (tensor_spec(tensors[0].dtype, layout),)
    elif primitive.elementwise:
        shape = outputs[0].shape
        if any([tensor.shape != shape for tensor in tensors]):
            operands = tuple([_broadcast(tensor.spec, shape) for tensor in tensors])
    return Signature(outputs, operands, compacts, has_derivative)


def _broadcast(spec: TensorSpec, shape: tuple[int, ...]) -> TensorSpec:
    if spec.shape == shape:
        return spec
    axes = range(len(shape) - len(spec.shape), len(shape))
    return tensor_spec(spec.dtype, spec.layout.broadcast_in_dim(shape, axes))
