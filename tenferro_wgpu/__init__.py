"""Eager tensors with automatic differentiation on any GPU, on the CPU and in the browser.

::

    import tenferro_wgpu as tw

    rt = tw.EagerRuntime()
    x = rt.variable_from([1.0, 2.0, 3.0])
    (x * x).sum().backward()
    print(x.grad)
"""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from . import errors, ops
from .autodiff.dual import jvp
from .backends.cupy_backend import CudaBackend
from .backends.numpy_backend import CpuBackend
from .backends.selection import can_wait, devices, init_async
from .backends.tuning_report import TuningReport
from .caching import CacheLimits, CacheStats
from .dtypes import bool_ as bool
from .dtypes import (
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .eager.profile import Profile
from .eager.runtime import (
    EagerRuntime,
    current_runtime,
    default_runtime,
    set_default_runtime,
)
from .eager.state import enable_grad, no_grad
from .eager.tensor import EagerTensor
from .eager.transfers import device_get, device_get_async
from .eager.tuning import tune
from .eager.warmup import WarmupReport, warmup
from .elsewhere import instead_of
from .errors import TenferroError
from .extension.cache import CacheSelector, ExtensionCacheKey
from .extension.registry import AdContext
from .namespace_info import namespace_info as __array_namespace_info__
from .naming import register as _register
from .ops.activation import *
from .ops.aliases import *
from .ops.binning import *
from .ops.bits import *
from .ops.calculus import *
from .ops.choice import *
from .ops.closeness import *
from .ops.contraction import dot_general, matmul, tensordot, vecdot
from .ops.convolution import *
from .ops.covariance import *
from .ops.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_flat,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from .ops.curves import *
from .ops.data_types import astype, can_cast, finfo, iinfo, isdtype, result_type
from .ops.diagonals import diag, diagonal, embed_diagonal, trace, tri, tril, triu
from .ops.divisors import *
from .ops.editing import *
from .ops.elementwise import *
from .ops.exponential import *
from .ops.finding import *
from .ops.floats import *
from .ops.getitem import getitem, getitem_async
from .ops.grids import from_dlpack, geomspace, indices, linspace, logspace, meshgrid
from .ops.histograms import *
from .ops.hyperbolic import *
from .ops.indexing import gather, scatter_add, scatter_add_slices, take, take_along_axis
from .ops.joining import concat, concatenate, stack, unstack
from .ops.membership import *
from .ops.norms import *
from .ops.operators import compare
from .ops.ordering import *
from .ops.padding import pad
from .ops.partitions import *
from .ops.powers import *
from .ops.products import *
from .ops.quantiles import *
from .ops.rearranging import array_split, fliplr, flipud, repeat, roll, rot90, split, tile
from .ops.reduction import *
from .ops.rounding import *
from .ops.scanning import *
from .ops.sets import *
from .ops.signals import *
from .ops.special import digamma, erf, erfc, lgamma, polygamma
from .ops.spread import *
from .ops.stacking import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_shapes,
    column_stack,
    dstack,
    hstack,
    vstack,
)
from .ops.statistics import *
from .ops.structural import (
    broadcast_in_dim,
    broadcast_to,
    expand_dims,
    flatten,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    ravel,
    reshape,
    squeeze,
    swapaxes,
    transpose,
)
from .ops.trigonometry import *
from .ops.truth import *
from .ops.uniqueness import *
from .ops.windows import *
from .tensor import ShapeDtype, Tensor

if TYPE_CHECKING:
    from .backends.webgpu.backend import WebGpuBackend

__version__ = "0.1.0"

#: The Array API standard that this namespace follows.
__array_api_version__ = "2025.12"

#: None inserts an axis: ``x[:, newaxis]``.
newaxis = None


def __getattr__(name: str) -> Any:
    # The WebGPU backend loads jinja2, and its driver wgpu: only a program that names it pays.
    if name == "WebGpuBackend":
        from .backends.webgpu.backend import WebGpuBackend

        return WebGpuBackend
    hint = instead_of(name)
    suffix = f"; {hint}" if hint else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{suffix}", name=name)


def __dir__() -> list[str]:
    # What a program may use, for completion: neither submodules nor this file's own imports.
    return sorted([*__all__, "__version__", "__doc__", "__file__", "__name__", "__path__"])


__all__ = [
    "polygamma",
    "lgamma",
    "erfc",
    "erf",
    "digamma",
    "AdContext",
    "CacheLimits",
    "CacheSelector",
    "CacheStats",
    "CpuBackend",
    "CudaBackend",
    "EagerRuntime",
    "EagerTensor",
    "ExtensionCacheKey",
    "Profile",
    "ShapeDtype",
    "TenferroError",
    "Tensor",
    "TuningReport",
    "WarmupReport",
    "WebGpuBackend",
    "__array_api_version__",
    "__array_namespace_info__",
    "arange",
    "array_split",
    "asarray",
    "astype",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "bool",
    "broadcast_arrays",
    "broadcast_in_dim",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "can_wait",
    "column_stack",
    "compare",
    "complex128",
    "complex64",
    "concat",
    "concatenate",
    "current_runtime",
    "default_runtime",
    "device_get",
    "device_get_async",
    "devices",
    "diag",
    "diagonal",
    "dot_general",
    "dstack",
    "e",
    "embed_diagonal",
    "empty",
    "empty_like",
    "enable_grad",
    "errors",
    "expand_dims",
    "eye",
    "finfo",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_flat",
    "full",
    "full_like",
    "gather",
    "geomspace",
    "getitem",
    "getitem_async",
    "hstack",
    "iinfo",
    "indices",
    "inf",
    "init_async",
    "int16",
    "int32",
    "int64",
    "int8",
    "isdtype",
    "jvp",
    "linspace",
    "logspace",
    "matmul",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "nan",
    "newaxis",
    "no_grad",
    "ones",
    "ones_like",
    "pad",
    "permute_dims",
    "pi",
    "ravel",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "rot90",
    "scatter_add",
    "scatter_add_slices",
    "set_default_runtime",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "take",
    "take_along_axis",
    "tensordot",
    "tile",
    "trace",
    "transpose",
    "tri",
    "tril",
    "triu",
    "tune",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "unstack",
    "vecdot",
    "vstack",
    "warmup",
    "zeros",
    "zeros_like",
]

# Many modules name what is public themselves.
__all__ += ops.activation.__all__
__all__ += ops.aliases.__all__
__all__ += ops.binning.__all__
__all__ += ops.bits.__all__
__all__ += ops.calculus.__all__
__all__ += ops.choice.__all__
__all__ += ops.closeness.__all__
__all__ += ops.covariance.__all__
__all__ += ops.curves.__all__
__all__ += ops.divisors.__all__
__all__ += ops.editing.__all__
__all__ += ops.elementwise.__all__
__all__ += ops.exponential.__all__
__all__ += ops.finding.__all__
__all__ += ops.floats.__all__
__all__ += ops.hyperbolic.__all__
__all__ += ops.norms.__all__
__all__ += ops.ordering.__all__
__all__ += ops.partitions.__all__
__all__ += ops.powers.__all__
__all__ += ops.reduction.__all__
__all__ += ops.rounding.__all__
__all__ += ops.scanning.__all__
__all__ += ops.spread.__all__
__all__ += ops.sets.__all__
__all__ += ops.statistics.__all__
__all__ += ops.trigonometry.__all__
__all__ += ops.truth.__all__
__all__ += ops.histograms.__all__
__all__ += ops.quantiles.__all__
__all__ += ops.uniqueness.__all__
__all__ += ops.windows.__all__
__all__ += ops.convolution.__all__
__all__ += ops.products.__all__
__all__ += ops.signals.__all__
__all__ += ops.membership.__all__

# Errors name the public function that was called.
_register({name: globals()[name] for name in __all__ if name != "WebGpuBackend"})
_register(
    {
        f"at[...].{name}": method
        for name, method in vars(ops.updating.IndexedTensor).items()
        if not name.startswith("_")
    }
)
