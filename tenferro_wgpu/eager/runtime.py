"""The eager runtime: the level-0 interpreter that runs primitives on one backend at once.

It owns a backend, the gradient slots and the caches of one context.  It decides nothing about
derivatives (the rules do) and nothing about cost (the backend does).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import environment
from ..autodiff import tape
from ..backends.protocol import Backend, CanBeLost
from ..backends.selection import make_backend
from ..caching import RestartingCache
from ..dtypes import as_dtype, float32, is_inexact
from ..errors import ContextMismatchError, DTypeError, RuntimeClosedError
from ..extension.cache import ExtensionCaches
from ..extension.registry import AdContext
from ..ops.calling import set_default_interpreter
from ..ops.elementwise import COPY
from ..ops.primitive import Primitive
from ..ops.value import Interpreter, Value
from ..tensor import ShapeDtype, Tensor, TensorSpec, contiguous_spec
from . import profile
from .creating import Creating
from .device import ContextId, Device
from .grad_slots import GradSlots, LiveNodes
from .importing import import_array
from .lifetime import Lifetime, call_in_forked_child
from .maintenance import Maintenance, Observer
from .signatures import Signature, Signatures
from .state import grad_enabled, scoped_runtime
from .tensor import EagerTensor, make_tensor

__all__ = ["EagerRuntime", "current_runtime", "default_runtime", "set_default_runtime"]

_ids = itertools.count(1)
#: A view that shows less than this fraction of its buffer is compacted before the tape keeps it.
COMPACT_BELOW = 8
#: Entries of a runtime's caches: of what primitives make of which inputs, and of scalars.
SIGNATURE_LIMIT = 8192
CONSTANT_LIMIT = 1024


class EagerRuntime(Creating, Lifetime, Maintenance, Interpreter):
    """Runs tensor programs on one device, at once as seen by the caller, queued in fact.

    Args:
        backend: None for the best device here (``TENFERRO_BACKEND`` if set, else WebGPU on a
            real GPU, else CUDA, else the CPU), one of "webgpu", "cuda", "cpu", or a Backend.
        ad_context: derivative rules of extension families; a snapshot is taken.
        default_dtype: the dtype of Python floats and of what integers cannot hold, float32
            or float64.
        memory_limit: most bytes of device memory in use at once, or None.

    Raises:
        NoAdapterError: if the named device is not there.

    The runtime is a context manager: the block's default runtime, closed at its end.

    >>> import tenferro_wgpu as tw
    >>> with tw.EagerRuntime("cpu") as rt:
    ...     x = rt.variable_from([1.0, 2.0])
    ...     y = (x * x).sum()
    ...     _ = y.backward()
    ...     x.grad.tolist()
    [2.0, 4.0]
    """

    level = 0

    def __init__(
        self,
        backend: str | Backend | None = None,
        *,
        ad_context: AdContext | None = None,
        default_dtype: Any = float32,
        memory_limit: int | None = None,
    ) -> None:
        default = as_dtype(default_dtype, "EagerRuntime")
        if default.kind != "f" or default.itemsize < 4:
            raise DTypeError("EagerRuntime", f"default_dtype must be float32 or float64: {default}")
        if ad_context is not None and not isinstance(ad_context, AdContext):
            raise DTypeError("EagerRuntime", f"ad_context must be an AdContext: {ad_context!r}")
        environment.check_all()
        Lifetime.__init__(self)
        self._default_dtype = default
        self.backend: Backend = make_backend(backend, memory_limit=memory_limit)
        self._id = ContextId(next(_ids))
        self._ad_context = (ad_context or AdContext()).snapshot()
        self._extension_caches = ExtensionCaches()
        self._slots = GradSlots(self._lock)
        self._nodes = LiveNodes()
        self._signatures = Signatures(SIGNATURE_LIMIT)
        self._constants = RestartingCache(CONSTANT_LIMIT)
        self._observers: tuple[Observer, ...] = ()
        self._profiler = profile.Profiler(self)
        self.device = Device(self)
        if environment.switch(environment.SYNC):
            self._observers = (lambda primitive, inputs, outputs: self.backend.synchronize(),)
        if profile.enabled():
            self._execute = profile.timed_execute(self)  # type: ignore[method-assign]

    @classmethod
    def with_cpu_backend(
        cls, backend: Backend | None = None, ad_context: AdContext | None = None
    ) -> EagerRuntime:
        """A runtime on the CPU (NumPy)."""
        return cls("cpu" if backend is None else backend, ad_context=ad_context)

    @classmethod
    def with_cuda_backend(
        cls, backend: Backend | None = None, ad_context: AdContext | None = None
    ) -> EagerRuntime:
        """A runtime on an NVIDIA GPU (CuPy); raises NoAdapterError without one."""
        return cls("cuda" if backend is None else backend, ad_context=ad_context)

    @classmethod
    def with_webgpu_backend(
        cls, backend: Backend | None = None, ad_context: AdContext | None = None
    ) -> EagerRuntime:
        """A runtime on WebGPU, a software adapter if there is no other."""
        return cls("webgpu" if backend is None else backend, ad_context=ad_context)

    # -- identity -------------------------------------------------------------------------------

    @property
    def id(self) -> ContextId:
        """Opaque, hashable identity; never reused in the process."""
        return self._id

    @property
    def default_dtype(self) -> np.dtype[Any]:
        """The dtype of Python floats and of results that integers cannot hold."""
        return self._default_dtype

    @property
    def lost(self) -> bool:
        """Whether the device is gone; tensors of this runtime then raise DeviceLostError."""
        return isinstance(self.backend, CanBeLost) and self.backend.lost

    def __repr__(self) -> str:
        if self._closed:
            return f"EagerRuntime(id={int(self._id)}, <closed>)"
        if not self._lock.acquire(blocking=False):
            return f"EagerRuntime(id={int(self._id)}, <locked>)"
        try:
            return (
                f"EagerRuntime(backend={self.backend.name!r}, "
                f"adapter={self.backend.device_name!r}, id={int(self._id)}, "
                f"extension_rules={len(self._ad_context)}, grad_slots={len(self._slots)})"
            )
        finally:
            self._lock.release()

    # -- bringing data in -------------------------------------------------------------------------

    def variable_from(self, a: Any, dtype: Any = None, *, copy: bool | None = None) -> EagerTensor:
        """A tracked leaf: gradients reach it.

        Args:
            a: an ndarray (dtype kept), nested lists or scalars (default dtype), a concrete
                Tensor of this backend (no copy), a tensor of this runtime (shares its
                buffer), or anything with ``__array__`` or DLPack.
            dtype: converts first.
            copy: False to accept only a read-only array and not copy it where possible.

        Raises:
            DTypeError: for integers or bools without ``dtype=``.
            ContextMismatchError: for a tensor of another runtime.
        """
        tensor = import_array(self, "variable_from", a, dtype, copy)
        if not is_inexact(tensor.dtype):
            raise DTypeError(
                "variable_from", f"{tensor.dtype} values have no gradients; pass dtype=float32 or "
                "float64, or use constant_from", (tensor.dtype,),
            )  # fmt: skip
        return make_tensor(self, tensor, tape.leaf(ShapeDtype(tensor.shape, tensor.dtype)))

    def constant_from(self, a: Any, dtype: Any = None, *, copy: bool | None = None) -> EagerTensor:
        """An untracked tensor from the same kinds of input as `variable_from`."""
        return make_tensor(self, import_array(self, "constant_from", a, dtype, copy))

    def asarray(self, a: Any, dtype: Any = None, *, copy: bool | None = None) -> EagerTensor:
        """`a` as a tensor of this runtime; a tensor of this runtime is returned as it is."""
        if isinstance(a, EagerTensor) and a.interpreter is self:
            same = dtype is None or as_dtype(dtype, "asarray") is a.dtype
            if same and copy is not True:
                return a
        return make_tensor(self, import_array(self, "asarray", a, dtype, copy))

    # -- the interpreter --------------------------------------------------------------------------

    def constant(
        self, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] = ()
    ) -> EagerTensor:
        """A tensor filled with one scalar; it takes no memory until a kernel needs it."""
        # Programs use the same few numbers again and again, and making one costs several times
        # what an operation does.  Zeros differ by their sign, NaN from itself, complex numbers
        # by the signs of their parts.
        kind = value.__class__
        key = None
        if kind is float or kind is int:
            key = (kind, value or repr(value), dtype, shape)
            tensor = self._constants.get(key)
            if tensor is not None and not self._closed:
                return EagerTensor(self, tensor)
        with self._lock:
            tensor = self._open("constant").scalar(value, dtype)
        if shape:
            tensor = tensor.with_layout(tensor.layout.broadcast_in_dim(shape, ()))
        if key is not None and value == value:
            self._constants.store(key, tensor)
        return EagerTensor(self, tensor)

    def array(self, array: np.ndarray[Any, Any]) -> EagerTensor:
        """A host array, or a scalar that NumPy made of one of shape (), as an untracked tensor."""
        if not isinstance(array, np.ndarray | np.generic):
            raise DTypeError("array", "an ndarray is needed; constant_from(...) takes all else")
        with self._lock:
            return EagerTensor(self, self._open("array").upload(array))

    def read(self, x: Any) -> int:
        """The number in an integer tensor of shape (): waits for the device."""
        return int(x.item())

    async def read_async(self, x: Any) -> int:
        """Like `read`, without blocking the event loop."""
        return int((await x.numpy_async()).item())

    def bind(
        self, primitive: Primitive, inputs: Sequence[Any], params: Mapping[str, Any]
    ) -> tuple[Value, ...]:
        """Run one primitive now, and record it if an input is tracked."""
        signature: Signature | None = None
        tensors: tuple[Tensor, ...]
        # The commonest calls spelled out: no loop, no list and no key to put together.
        if params:
            pass
        elif len(inputs) == 2:
            first, second = inputs
            if first.interpreter is self and second.interpreter is self:
                x, y = tensors = (first.tensor, second.tensor)
                tracked = first.node is not None or second.node is not None
                signature = self._signatures.get((primitive, x.spec, y.spec))
        elif len(inputs) == 1:
            (first,) = inputs
            if first.interpreter is self:
                tensors = (first.tensor,)
                tracked = first.node is not None
                signature = self._signatures.get((primitive, first.tensor.spec))
        if signature is None:
            tensors, tracked = self._own_tensors(primitive, inputs)
            signature = self._signatures.infer(primitive, tensors, params)
        operands = tensors if signature.fits else self._adapted(tensors, signature)
        outputs = self._execute(primitive, operands, params, signature.outputs)
        if tracked and signature.has_derivative and grad_enabled.get():
            return self._record(primitive, inputs, params, tensors, outputs, signature.outputs)
        if len(outputs) == 1:
            return (EagerTensor(self, outputs[0]),)
        return tuple([EagerTensor(self, tensor) for tensor in outputs])

    def _own_tensors(
        self, primitive: Primitive, inputs: Sequence[Any]
    ) -> tuple[tuple[Tensor, ...], bool]:
        """The concrete tensors of user tensors, and whether one is tracked."""
        tensors = []
        tracked = False
        for x in inputs:
            if x.interpreter is not self:
                raise ContextMismatchError(primitive.name, self._id, x.interpreter.id)
            tensors.append(x.tensor)
            tracked = tracked or x.node is not None
        return tuple(tensors), tracked

    def _adapted(self, tensors: tuple[Tensor, ...], signature: Signature) -> tuple[Tensor, ...]:
        """The operands that a primitive needs: broadcast, or compact."""
        specs = signature.operands
        if specs is None:
            return (self.compact(tensors[0]),)
        pairs = zip(tensors, specs, strict=True)
        return tuple([x if x.spec is spec else x.with_spec(spec) for x, spec in pairs])

    def _execute(
        self,
        primitive: Primitive,
        tensors: tuple[Tensor, ...],
        params: Mapping[str, Any],
        outputs: tuple[TensorSpec, ...],
    ) -> Sequence[Tensor]:
        """Run a primitive on operands as its signature wants them; no gradients here."""
        if self._closed:
            raise RuntimeClosedError(primitive.name)
        if primitive.view is not None:
            return (tensors[0].with_spec(outputs[0]),)
        lock = self._lock
        # What `with` does, at half the cost.  Inside `try`, because an interrupt may come as soon
        # as the lock is ours; one that comes while we wait for it leaves nothing to release.
        try:
            lock.acquire()
            results = self.backend.execute(primitive, tensors, params, outputs)
        finally:
            try:  # noqa: SIM105 - `suppress` would cost what this saves
                lock.release()
            except RuntimeError:
                pass
        if self._observers:
            for observe in self._observers:
                observe(primitive, tensors, results)
        return results

    def compact(self, tensor: Tensor) -> Tensor:
        """`tensor` as a C-contiguous buffer of its own (itself if it is one)."""
        self._open("compact")
        if tensor.layout.is_contiguous and tensor.buffer_size == tensor.size:
            return tensor
        return self._execute(COPY, (tensor,), {}, (contiguous_spec(tensor.spec),))[0]

    def _record(
        self,
        primitive: Primitive,
        inputs: Sequence[Any],
        params: Mapping[str, Any],
        tensors: Sequence[Tensor],
        outputs: Sequence[Tensor],
        avals: tuple[ShapeDtype, ...],
    ) -> tuple[Value, ...]:
        parents: tuple[tape.Parent, ...]
        if len(inputs) == 2:  # without a loop, the commonest case
            x, y = inputs
            left = None if x.node is None else (x.node, x.output_index)
            parents = (left, None if y.node is None else (y.node, y.output_index))
        else:
            parents = tuple([None if x.node is None else (x.node, x.output_index) for x in inputs])
        # Residuals are concrete tensors, never a user's: that one's slot must be free to die.
        node = tape.record(primitive, params, parents, tensors, outputs, avals, self._keep)
        if node is None:
            return tuple([EagerTensor(self, tensor) for tensor in outputs])
        self._nodes.add(node)
        if len(outputs) == 1:
            return (make_tensor(self, outputs[0], node),)
        return tuple(
            [make_tensor(self, tensor, node, index) for index, tensor in enumerate(outputs)]
        )

    def _keep(self, tensor: Tensor) -> Tensor:
        """A residual; compacted where a small view would keep a large buffer alive."""
        small = tensor.layout.size * COMPACT_BELOW < tensor.buffer_size
        return self.compact(tensor) if small else tensor


_default: EagerRuntime | None = None
# Re-entrant: making a runtime logs, and a log handler may ask for the default runtime.
_default_lock = threading.RLock()


def _renew_default_lock() -> None:
    global _default_lock
    _default_lock = threading.RLock()


call_in_forked_child(_renew_default_lock)


def default_runtime() -> EagerRuntime:
    """The process's default runtime, made on first use; again if closed or its device was lost."""
    global _default
    with _default_lock:
        if _default is None or _default.closed or _default.lost:
            _default = EagerRuntime()
        return _default


def set_default_runtime(runtime: EagerRuntime) -> None:
    """Make `runtime` the process's default."""
    global _default
    if not isinstance(runtime, EagerRuntime):
        raise DTypeError("set_default_runtime", f"expected an EagerRuntime, got {type(runtime)}")
    with _default_lock:
        _default = runtime


def current_runtime(device: Any = None) -> EagerRuntime:
    """The runtime of `device` (a runtime or its device), else the scoped, else the default."""
    if device is None:
        return scoped_runtime.get() or default_runtime()
    if isinstance(device, Device):
        device = device.runtime
    if not isinstance(device, EagerRuntime):
        raise DTypeError("device", f"expected a runtime or its device, got {device!r}")
    return device


set_default_interpreter(current_runtime)
