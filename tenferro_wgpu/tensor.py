"""The concrete tensor that backends exchange: a dtype, a layout and an opaque handle.

No operators and no gradients live here.  Only the backend that made a handle may look into it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .layout import Layout, contiguous_layout

if TYPE_CHECKING:
    from .backends.protocol import Backend

__all__ = ["ShapeDtype", "Tensor", "TensorSpec", "contiguous_spec", "tensor_spec"]


class ShapeDtype:
    """The abstract value of a tensor: its shape and dtype, nothing else."""

    __slots__ = ("dtype", "shape")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ShapeDtype)
            and self.shape == other.shape
            and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtype(shape={self.shape}, dtype={self.dtype})"

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)


class TensorSpec(ShapeDtype):
    """A dtype and a layout together; equal ones are one object, so that caches key by identity.

    Made by `tensor_spec` alone.  (One that fell out of its cache may meet a later twin: caches
    then miss once more, which costs time and nothing else.)
    """

    __slots__ = ("layout",)

    layout: Layout

    def __init__(self, dtype: np.dtype[Any], layout: Layout) -> None:
        self.shape = layout.shape
        self.dtype = dtype
        self.layout = layout

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@lru_cache(maxsize=8192)
def tensor_spec(dtype: np.dtype[Any], layout: Layout) -> TensorSpec:
    """The one spec of tensors of this dtype and layout."""
    return TensorSpec(dtype, layout)


def contiguous_spec(aval: ShapeDtype) -> TensorSpec:
    """The spec of C-contiguous tensors of this shape and dtype, as kernels return them."""
    if isinstance(aval, TensorSpec) and aval.layout.is_contiguous and aval.layout.offset == 0:
        return aval
    return tensor_spec(aval.dtype, contiguous_layout(aval.shape))


class Tensor:
    """A strided tensor on one backend.

    `handle` belongs to `backend`; it may be pending (work still queued) and only the backend
    forces it.  Several tensors may share a handle through different layouts.
    """

    __slots__ = (
        "backend",
        "buffer_size",
        "dtype",
        "handle",
        "layout",
        "native_view",
        "shape",
        "spec",
    )

    dtype: np.dtype[Any]
    layout: Layout
    handle: Any
    backend: Backend
    shape: tuple[int, ...]
    #: Elements the whole buffer holds, however few this view shows.
    buffer_size: int
    #: A backend's own view object of this very tensor, kept so that it is built once.
    native_view: Any
    #: Dtype and layout as one object, for the keys of caches.
    spec: TensorSpec

    def __init__(
        self,
        dtype: np.dtype[Any],
        layout: Layout,
        handle: Any,
        backend: Backend,
        buffer_size: int | None = None,
        spec: TensorSpec | None = None,
    ) -> None:
        self.dtype = dtype
        self.layout = layout
        self.handle = handle
        self.backend = backend
        self.shape = layout.shape
        self.buffer_size = layout.size if buffer_size is None else buffer_size
        self.native_view = None
        self.spec = tensor_spec(dtype, layout) if spec is None else spec

    def with_layout(self, layout: Layout) -> Tensor:
        """Another view of the same buffer."""
        return Tensor(self.dtype, layout, self.handle, self.backend, self.buffer_size)

    def with_spec(self, spec: TensorSpec) -> Tensor:
        """Another view of the same buffer, its layout being that of `spec`."""
        return Tensor(self.dtype, spec.layout, self.handle, self.backend, self.buffer_size, spec)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.layout.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.layout.size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements in their dtype."""
        return self.layout.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, dtype={self.dtype}, backend={self.backend.name})"
