"""The CPU backend: NumPy arrays, computed at once, at the lowest cost per call we know.

The reference of values for every other backend.  Only NumPy is needed.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
from collections.abc import Callable, Mapping
from contextvars import Context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import ArgumentError, DTypeError
from ..layout import Layout
from ..tensor import ShapeDtype, Tensor
from .array_backend import ArrayBackend
from .array_kernels import ArrayKernel, BoundKernel, bind_kernels
from .numpy_ordering import ORDERING
from .numpy_scans import SCANS
from .numpy_searching import searchsorted
from .numpy_selection import select
from .numpy_sums import reduce_sum

__all__ = ["CpuBackend"]

Result = TypeVar("Result")


def bitwise_count(xp: Any, out: ShapeDtype, x: Any) -> Any:
    """The number of ones of the magnitude."""
    return np.bitwise_count(x)


#: Kernels by primitive name, in place of the shared ones.
_KERNELS: dict[str, ArrayKernel] = {
    "reduce_sum": reduce_sum,
    "bitwise_count": bitwise_count,
    "select": select,
    "searchsorted": searchsorted,
    **SCANS,
    **ORDERING,
}

#: Contexts in which NumPy's floating-point warnings are off, not in use by any thread now.
#: Entering np.errstate costs 1 us per operation, re-entering such a context 0.1 us; and the
#: caller's own error state stays as it is.
_quiet_contexts: list[Context] = []


def quietly(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call `function` with floating-point warnings off (the values are IEEE-754's)."""
    try:
        context = _quiet_contexts.pop()
    except IndexError:
        context = Context()  # empty: it must not keep a caller's variables alive
        context.run(np.seterr, all="ignore")
    try:
        return context.run(function, *arguments)
    finally:
        _quiet_contexts.append(context)


class CpuBackend(ArrayBackend):
    """Executes primitives with NumPy.

    Args:
        threads: how many threads matrix products may use.  Takes effect where the package
            ``threadpoolctl`` is installed (for the whole process, until ``close()``);
            otherwise it is advisory.

    Raises:
        ArgumentError, DTypeError: for fewer threads than 1, or what is no integer.
    """

    name = "cpu"

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and not isinstance(threads, (int, np.integer)):
            raise DTypeError("CpuBackend", f"threads is an integer or None, got {threads!r}")
        if threads is not None and threads < 1:
            raise ArgumentError("CpuBackend", f"threads must be at least 1, got {threads}")
        super().__init__(bind_kernels(np, _KERNELS))
        self.threads = threads
        self.device_name = _processor_name()
        self._thread_limits = None if threads is None else _limit_blas_threads(threads)

    def scalar(self, value: Any, dtype: np.dtype[Any]) -> Tensor:
        """A rank-0 constant."""
        self._check_open("scalar")
        return self._wrap(quietly(np.array, value, dtype), dtype)

    def adopt(self, array: np.ndarray[Any, Any]) -> Tensor:
        """A tensor over a C-contiguous host array, without a copy; nobody may write to it after."""
        self._check_open("adopt")
        if not array.flags.c_contiguous:
            raise ArgumentError("adopt", "the array must be C-contiguous")
        return self._wrap(array, array.dtype)

    def host_view(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """A read-only array over the tensor's own memory."""
        self._check_open("host_view")
        view: np.ndarray[Any, Any] = self.as_array(tensor).view()
        view.flags.writeable = False
        return view

    def close(self) -> None:
        """Stop accepting work and give back the thread limit."""
        super().close()
        if self._thread_limits is not None:
            self._thread_limits.restore_original_limits()
            self._thread_limits = None

    def _strided_view(
        self, owner: np.ndarray[Any, Any], dtype: np.dtype[Any], layout: Layout
    ) -> np.ndarray[Any, Any]:
        if layout.size == 0:
            return np.empty(layout.shape, dtype)
        itemsize = dtype.itemsize
        strides = tuple([stride * itemsize for stride in layout.strides])
        return np.ndarray(layout.shape, dtype, owner, layout.offset * itemsize, strides)

    def _call(
        self, kernel: BoundKernel, out: ShapeDtype, arrays: list[Any], params: Mapping[str, Any]
    ) -> Any:
        return quietly(kernel, out, arrays, params)

    def _from_host(self, array: np.ndarray[Any, Any]) -> Any:
        return np.array(array, order="C")

    def _to_host(self, array: Any) -> np.ndarray[Any, Any]:
        return np.array(array, order="C")

    def _device_type(self) -> str:
        return "CPU"

    def _driver(self) -> str:
        return f"NumPy {np.__version__}"


def _limit_blas_threads(threads: int) -> Any:
    try:
        threadpoolctl = importlib.import_module("threadpoolctl")
    except ImportError:
        return None
    return threadpoolctl.threadpool_limits(limits=threads, user_api="blas")


def _processor_name() -> str:
    name = platform.processor() or platform.machine() or "CPU"
    # On Linux `platform` knows the architecture only; the kernel's list names the model.
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{name} ({os.cpu_count() or 1} threads)"
