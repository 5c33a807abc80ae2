"""How a tensor's values leave the runtime: NumPy, Python scalars, text, DLPack, pickle.

A part of `EagerTensor`.  Everything here except `repr` may wait for the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.protocol import SharesHostMemory
from ..errors import ArgumentError, RuntimeClosedError, SyncUnavailableError
from ..ops.getitem import getitem

if TYPE_CHECKING:
    from ..tensor import Tensor
    from .runtime import EagerRuntime

__all__ = ["Exporting"]

#: Versions of the Array API standard that the namespace follows: later ones only add to it.
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")

#: Elements shown at each end of a long axis, and the size from which axes are cut (as NumPy).
EDGE_ITEMS = 3
SUMMARIZE_ABOVE = 1000


class Exporting:
    """Methods of `EagerTensor` that read its values."""

    __slots__ = ()

    interpreter: EagerRuntime
    tensor: Tensor
    node: Any
    shape: Any
    dtype: Any
    ndim: Any
    size: Any

    def _download(self, op: str) -> np.ndarray[Any, Any]:
        runtime = self.interpreter
        if runtime.closed:
            raise RuntimeClosedError(op)
        with runtime._lock:  # waits for a session of another thread, and is released again
            backend = runtime.backend
        return backend.download(self.tensor)

    def numpy(self, order: str = "C", *, copy: bool = True) -> np.ndarray[Any, Any]:
        """Wait for the values and return them as an ndarray.

        Args:
            order: "C" or "F", the memory order of the result.
            copy: False allows a read-only view of the tensor's memory where it lies on the host.
        """
        if order not in ("C", "F"):
            raise ArgumentError("numpy", f'order must be "C" or "F", got {order!r}')
        backend = self.interpreter.backend
        if not copy and order == "C" and isinstance(backend, SharesHostMemory):
            return backend.host_view(self.tensor)
        array = self._download("numpy")
        if order == "F":
            array = np.asfortranarray(array)
        if not copy:
            array.flags.writeable = False
        return array

    async def numpy_async(self, order: str = "C") -> np.ndarray[Any, Any]:
        """Like `numpy`, without blocking the event loop (browsers without JSPI)."""
        if self.interpreter.closed:
            raise RuntimeClosedError("numpy_async")
        array = await self.interpreter.backend.download_async(self.tensor)
        return np.asfortranarray(array) if order == "F" else array

    def item(self) -> Any:
        """The single element as a Python scalar; raises ValueError unless size is 1."""
        if self.size != 1:
            raise ArgumentError("item", f"expected a tensor of one element, got shape {self.shape}")
        return self._download("item").item()

    def tolist(self) -> Any:
        """The values as nested Python lists."""
        return self._download("tolist").tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("__array__: reading a tensor always copies it to the host")
        array = self._download("__array__")
        return array if dtype is None else array.astype(dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the values in host memory.

        A copy, unless ``copy=False`` asks for the tensor's own memory, which needs a tensor that
        lies on the host and a consumer (`max_version` 1.0 or later) that respects read-only.
        `stream` means nothing on the host.
        """
        if self.node is not None:
            raise BufferError("a tracked tensor cannot be exported by DLPack; use detach() first")
        options: dict[str, Any] = {"max_version": max_version, "dl_device": dl_device}
        if copy is not False:
            return self._download("__dlpack__").__dlpack__(**options)
        backend = self.interpreter.backend
        if not isinstance(backend, SharesHostMemory):
            raise BufferError("the tensor is not in host memory: copy=False cannot be kept")
        return backend.host_view(self.tensor).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # DLPack's kDLCPU: exports are in host memory

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        import tenferro_wgpu

        if api_version is not None and api_version not in API_VERSIONS:
            raise ArgumentError(
                "__array_namespace__",
                f"api_version must be one of {', '.join(API_VERSIONS)}, got {api_version!r}",
            )
        return tenferro_wgpu

    # -- Python scalars ---------------------------------------------------------------------------

    def _scalar(self, kind: str) -> Any:
        if self.size != 1:
            raise (
                ValueError(
                    f"{kind}: the truth value of a tensor of shape {self.shape} is ambiguous; "
                    "reduce it first"
                )
                if kind == "bool"
                else TypeError(
                    f"{kind}: only a tensor of one element converts, got shape {self.shape}"
                )
            )
        return self._download(kind).item()

    def __bool__(self) -> bool:
        return bool(self._scalar("bool"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.size != 1:
            raise TypeError(
                f"only an integer tensor of one element is an index, got {self.dtype} {self.shape}"
            )
        return int(self._scalar("index"))

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self.size != 1:
            raise TypeError(f"format: {spec!r} needs a tensor of one element, got {self.shape}")
        return format(self._download("format").item(), spec)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of a tensor of shape ()")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a tensor of shape ()")
        return (self[i] for i in range(self.shape[0]))  # type: ignore[index]

    def __contains__(self, item: Any) -> bool:
        found: Any = self == item  # Python's own bool of what does not compare, such as a string
        return found if isinstance(found, bool) else bool(found.any())

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(
            "tensors are immutable; x.at[i].set(v) returns a changed tensor, "
            "and where(...) or concatenate(...) build one"
        )

    # -- copies -----------------------------------------------------------------------------------

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        runtime = self.interpreter
        is_variable = self.node is not None and self.node.primitive is None
        make = runtime.variable_from if is_variable else runtime.constant_from
        copied = make(self)
        memo[id(self)] = copied
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        is_variable = self.node is not None and self.node.primitive is None
        return (_unpickle, (self._download("pickle"), is_variable))

    # -- text -------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        details = [f"dtype={self.dtype}", f"device={self._device_text()}"]
        if self.node is not None:
            details.append("requires_grad=True")
        return f"Tensor({self._values_text()}, shape={self.shape}, {', '.join(details)})"

    def _device_text(self) -> str:
        return "<closed>" if self.interpreter.closed else self.interpreter.backend.name

    def _values_text(self) -> str:
        """The shown values: only their slice is read, and nothing is raised."""
        if self.interpreter.closed:
            return "<closed>"
        try:
            if self.size <= SUMMARIZE_ABOVE:
                array = self._download("repr")
                return np.array2string(array, separator=", ", prefix="Tensor(")
            corner = _corner(self.detach())  # type: ignore[attr-defined]
            return np.array2string(
                corner, separator=", ", prefix="Tensor(", threshold=0, edgeitems=EDGE_ITEMS
            )
        except SyncUnavailableError:
            return "<not read>"
        except Exception as error:
            # A repr must never raise: it is what a debugger shows while something is broken.
            return f"<unreadable: {type(error).__name__}>"


def _corner(x: Any, axis: int = 0) -> np.ndarray[Any, Any]:
    """The first and last few entries of each long axis, with one more that NumPy elides.

    Pieces are joined on the host, so that only what is shown is read and no kernel is built.
    """
    while axis < x.ndim and x.shape[axis] <= 2 * EDGE_ITEMS + 1:
        axis += 1
    if axis == x.ndim:
        array: np.ndarray[Any, Any] = x.numpy()
        return array
    before = (slice(None),) * axis
    extent = x.shape[axis]
    pieces = (slice(0, EDGE_ITEMS + 1), slice(extent - EDGE_ITEMS, extent))
    return np.concatenate(
        [_corner(getitem(x, (*before, piece)), axis + 1) for piece in pieces], axis
    )


def _unpickle(array: np.ndarray[Any, Any], is_variable: bool) -> Any:
    from .runtime import current_runtime

    runtime = current_runtime()
    return runtime.variable_from(array) if is_variable else runtime.constant_from(array)
