"""The eager tensor: an immutable value of one runtime, and its place on the tape.

Operators and methods come from `ops.operators`; what leaves the runtime as host data is in
`exporting`.  Everything about gradients of a tensor is here.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autodiff import tape
from ..dtypes import as_dtype, is_inexact
from ..errors import (
    ArgumentError,
    ContextMismatchError,
    DTypeError,
    InPlaceOnVariableError,
    LossyConversionError,
    NonScalarGradError,
    NotDetachedError,
    NotTrackedError,
    RuntimeClosedError,
    ShapeError,
)
from ..ops.bits import (
    bitwise_and,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from ..ops.calling import cast_to
from ..ops.contraction import matmul
from ..ops.data_types import astype
from ..ops.elementwise import add, divide, multiply, subtract
from ..ops.operators import Operators
from ..ops.powers import pow
from ..ops.rounding import floor_divide, remainder
from ..tensor import ShapeDtype, Tensor
from .exporting import Exporting
from .grad_slots import Gradients
from .state import grad_enabled

if TYPE_CHECKING:
    from .device import ContextId, Device
    from .runtime import EagerRuntime

__all__ = ["EagerTensor"]


class EagerTensor(Exporting, Operators):
    """A tensor of an `EagerRuntime`.  Immutable; every operation gives a new one.

    Made by ``runtime.variable_from``, ``runtime.constant_from`` and by operations, not by
    calling the class.
    """

    __slots__ = (
        "__weakref__",
        "_grad",
        "dtype",
        "interpreter",
        "node",
        "output_index",
        "shape",
        "tensor",
    )

    #: The runtime: it interprets operations on this tensor.
    interpreter: EagerRuntime
    #: The concrete tensor of the backend.
    tensor: Tensor
    #: Data type of the elements, and extents of the axes: attributes, because every operation
    #: looks at them.
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    #: The tape node this tensor is an output of, or None if it is not tracked.
    node: tape.Node | None
    output_index: int
    _grad: EagerTensor | None

    def __init__(self, runtime: EagerRuntime, tensor: Tensor) -> None:
        self.interpreter = runtime
        self.tensor = tensor
        self.dtype = tensor.dtype
        self.shape = tensor.shape
        self.node = None
        self.output_index = 0
        self._grad = None

    # -- what it is -----------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.tensor.layout.size

    @property
    def itemsize(self) -> int:
        """Bytes of an element in its dtype."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements in their dtype."""
        return self.tensor.nbytes

    @property
    def runtime(self) -> EagerRuntime:
        """The runtime this tensor belongs to."""
        return self.interpreter

    @property
    def ctx_id(self) -> ContextId:
        """Identity of the runtime."""
        return self.interpreter.id

    @property
    def device(self) -> Device:
        """The device the tensor lives on."""
        return self.interpreter.device

    def same_context(self, other: EagerTensor) -> bool:
        """Whether both tensors belong to one runtime."""
        return self.interpreter is other.interpreter

    # -- gradients ------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients reach this tensor."""
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, requires_grad: bool) -> None:
        self.requires_grad_(requires_grad)

    tracks_grad = requires_grad

    @property
    def is_leaf(self) -> bool:
        """Whether this is a variable or an untracked tensor, rather than a tracked result."""
        return self.node is None or self.node.primitive is None

    def requires_grad_(self, requires_grad: bool = True) -> EagerTensor:
        """Start or stop tracking a leaf, in place; returns the tensor.

        Raises DTypeError for integers and bools, InPlaceOnVariableError for tracked results.
        """
        if not self.is_leaf:
            raise InPlaceOnVariableError(
                "requires_grad_", "only leaves can start or stop tracking; use detach()"
            )
        if requires_grad and self.node is None:
            if not is_inexact(self.dtype):
                raise DTypeError(
                    "requires_grad_", f"{self.dtype} values have no gradients", (self.dtype,)
                )
            _attach(self, tape.leaf(ShapeDtype(self.shape, self.dtype)), 0)
        elif not requires_grad and self.node is not None:
            self.interpreter._slots.unregister(self.node.sequence)
            self.node = None
            self._grad = None
        return self

    @property
    def grad(self) -> EagerTensor | None:
        """The accumulated gradient, or None.  Assign None, or one of the same shape and dtype."""
        return self._grad

    @grad.setter
    def grad(self, g: EagerTensor | None) -> None:
        if g is not None:
            _check_gradient("grad", self, g)
            g = g.detach()
        self._grad = g
        if g is not None and self.node is not None:
            self.interpreter._slots.register(self.node.sequence, self)

    def clear_grad(self) -> None:
        """Set this tensor's gradient to None."""
        self._grad = None

    def detach(self) -> EagerTensor:
        """The same values, untracked; shares storage and runs nothing."""
        return EagerTensor(self.interpreter, self.tensor)

    def detach_into(self, runtime: EagerRuntime) -> EagerTensor:
        """The values as an untracked leaf of another runtime, through the host."""
        if runtime is self.interpreter:
            return self.detach()
        if not isinstance(runtime, type(self.interpreter)):
            raise DTypeError("detach_into", f"expected an EagerRuntime, got {runtime!r}")
        return runtime.constant_from(self.numpy())

    def to(self, runtime: EagerRuntime) -> EagerTensor:
        """This tensor in `runtime`: itself if it is there, a copy if it is untracked.

        A tracked tensor raises NotDetachedError naming `detach_into`: gradients do not cross
        runtimes.
        """
        if runtime is self.interpreter:
            return self
        if not isinstance(runtime, type(self.interpreter)):
            raise DTypeError("to", f"expected an EagerRuntime, got {type(runtime).__name__}")
        if self.node is not None:
            raise NotDetachedError("to")
        return self.detach_into(runtime)

    def to_device(self, device: Any, /, *, stream: Any = None) -> EagerTensor:
        """This tensor on the device of a runtime, as the Array API moves it: see `to`.

        `stream` must be None: work of one runtime is in order, and moves go through the host.
        """
        if stream is not None:
            raise ArgumentError("to_device", "streams are not used; pass stream=None")
        return self.to(getattr(device, "runtime", device))

    def backward(self, gradient: EagerTensor | None = None) -> Gradients:
        """Differentiate this tensor with respect to everything tracked it depends on.

        Gradients are added to ``.grad`` of every live tracked tensor, intermediates included,
        all of them or, if anything fails, none.  The same tensor may be differentiated again.

        Args:
            gradient: the cotangent to start from, of this tensor's shape and dtype; 1 by
                default, which needs a tensor of shape ().

        Returns:
            The gradients of this call alone, by tensor.

        Raises:
            NotTrackedError: if this tensor is not tracked.
            NonScalarGradError: without `gradient` on a tensor that is not rank 0.

        >>> import tenferro_wgpu as tw
        >>> x = tw.default_runtime().variable_from([1.0, 2.0])
        >>> gradients = (x * x).sum().backward()
        >>> x.grad.tolist()
        [2.0, 4.0]
        """
        runtime = self.interpreter
        if runtime.closed:
            raise RuntimeClosedError("backward")
        if self.node is None:
            raise NotTrackedError("backward")
        if gradient is None:
            if self.shape != ():
                raise NonScalarGradError(self.shape)
            seed = runtime.constant(1, self.dtype)
        else:
            _check_gradient("backward", self, gradient)
            seed = gradient.detach()
        gradients = Gradients()
        arrived: list[tuple[int, EagerTensor, EagerTensor]] = []

        def lift(residual: Any) -> EagerTensor:
            return EagerTensor(runtime, residual)

        def visit(node: tape.Node, index: int, g: Any) -> None:
            reference = node.tensors[index]
            tensor = None if reference is None else reference()
            if tensor is not None and tensor.node is node:
                arrived.append((node.sequence, tensor, g))
                gradients._put(tensor, g)

        tape.reverse_sweep(self.node, self.output_index, seed, lift, visit)
        runtime._slots.accumulate(arrived)
        return gradients

    # -- updating -------------------------------------------------------------------------------

    def _in_place(self, operation: Any, symbol: str, other: Any) -> EagerTensor:
        if self.node is not None and self.node.primitive is None:
            if grad_enabled.get():
                raise InPlaceOnVariableError(
                    symbol,
                    "a variable can only be updated inside `with tw.no_grad():`, "
                    f"where `x {symbol} ...` makes x a fresh variable",
                )
            updated: EagerTensor = cast_to(operation(self, other), self.dtype)  # type: ignore[assignment]
            if updated.shape != self.shape:
                raise ShapeError(
                    symbol,
                    f"the update has shape {updated.shape}, the variable {self.shape}",
                    (updated.shape, self.shape),
                )
            return self.interpreter.variable_from(updated)
        result: EagerTensor = operation(self, other)
        return result

    def __iadd__(self, other: Any) -> EagerTensor:
        return self._in_place(add, "+=", other)

    def __isub__(self, other: Any) -> EagerTensor:
        return self._in_place(subtract, "-=", other)

    def __imul__(self, other: Any) -> EagerTensor:
        return self._in_place(multiply, "*=", other)

    def __imatmul__(self, other: Any) -> EagerTensor:
        return self._in_place(matmul, "@=", other)

    def __itruediv__(self, other: Any) -> EagerTensor:
        return self._in_place(divide, "/=", other)

    def __ipow__(self, other: Any) -> EagerTensor:
        return self._in_place(pow, "**=", other)

    def __ifloordiv__(self, other: Any) -> EagerTensor:
        return self._in_place(floor_divide, "//=", other)

    def __imod__(self, other: Any) -> EagerTensor:
        return self._in_place(remainder, "%=", other)

    def __iand__(self, other: Any) -> EagerTensor:
        return self._in_place(bitwise_and, "&=", other)

    def __ior__(self, other: Any) -> EagerTensor:
        return self._in_place(bitwise_or, "|=", other)

    def __ixor__(self, other: Any) -> EagerTensor:
        return self._in_place(bitwise_xor, "^=", other)

    def __ilshift__(self, other: Any) -> EagerTensor:
        return self._in_place(bitwise_left_shift, "<<=", other)

    def __irshift__(self, other: Any) -> EagerTensor:
        return self._in_place(bitwise_right_shift, ">>=", other)

    # -- dtype and storage ------------------------------------------------------------------------

    def convert(self, dtype: Any) -> EagerTensor:
        """The tensor in another dtype if no value could change; raises LossyConversionError."""
        target = as_dtype(dtype, "convert")
        if not np.can_cast(self.dtype, target, "safe"):
            raise LossyConversionError(self.dtype, target)
        result: EagerTensor = astype(self, target)
        return result

    def materialize(self) -> EagerTensor:
        """Make a view or constant own a compact buffer, once; returns the tensor itself."""
        runtime = self.interpreter
        with runtime._lock:
            self.tensor = runtime.compact(self.tensor)
        return self

    materialized = materialize

    def tensor_read(self) -> Tensor:
        """The strided concrete tensor, borrowed without compacting it."""
        if self.interpreter.closed:
            raise RuntimeClosedError("tensor_read")
        return self.tensor

    def to_tensor(self) -> Tensor:
        """A compact concrete tensor of the same values."""
        return self.interpreter.compact(self.tensor)


def make_tensor(
    runtime: EagerRuntime, tensor: Tensor, node: tape.Node | None = None, index: int = 0
) -> EagerTensor:
    """A user tensor, tracked if it has a node."""
    made = EagerTensor(runtime, tensor)
    if node is not None:
        _attach(made, node, index)
    return made


def _attach(made: EagerTensor, node: tape.Node, index: int) -> None:
    made.node = node
    made.output_index = index
    node.tensors[index] = weakref.ref(made)
    if node.primitive is None:
        made.interpreter._slots.register(node.sequence, made)


def _check_gradient(op: str, x: EagerTensor, g: Any) -> None:
    if not isinstance(g, EagerTensor):
        raise DTypeError(op, f"a gradient must be a tensor, got {type(g).__name__}")
    if g.interpreter is not x.interpreter:
        raise ContextMismatchError(op, x.ctx_id, g.ctx_id)
    if g.shape != x.shape:
        raise ShapeError(op, f"expected shape {x.shape}, got {g.shape}", (x.shape, g.shape))
    if g.dtype is not x.dtype:
        raise DTypeError(op, f"expected dtype {x.dtype}, got {g.dtype}", (x.dtype, g.dtype))
