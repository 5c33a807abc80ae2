"""`tune`: have the device's fastest matrix kernels searched for, once, and kept.

Called by users. Backends measure; this module checks arguments and knows no kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backends.protocol import TunesKernels
from ..backends.tuning_report import TuningReport
from ..dtypes import as_dtype
from ..errors import ArgumentError, UnsupportedOperationError
from .runtime import current_runtime

__all__ = ["tune"]


def tune(
    sizes: Sequence[tuple[int, int, int]] | None = None,
    dtypes: Sequence[Any] = ("float32",),
    *,
    seconds: float = 20.0,
    device: Any = None,
) -> TuningReport:
    """Search for the fastest matrix kernels of a device and use them from now on.

    Four to eight ways to cut each product are timed. Choices hold for products of similar size
    (each extent up to a power of four), are kept in the user's cache folder, and later processes
    use them where tuning is on (``TENFERRO_TUNING``; on GPUs by default, where large products
    are tuned on first use too). Results may differ in rounding, since sums may be cut elsewhere.

    Args:
        sizes: (M, N, K) of the products to try; None for common ones.
        dtypes: their dtypes.
        seconds: when to stop; a candidate that has begun is finished.
        device: a runtime, or its device; the current runtime without.

    Returns:
        What was timed and chosen; print it for a table.

    Raises:
        ArgumentError: for a size that is not three positive integers, or seconds below 0.
        DTypeError: for a dtype that does not exist.
        UnsupportedOperationError: where the backend has no kernels to choose from.

    >>> import tenferro_wgpu as tw
    >>> rt = tw.EagerRuntime("cpu")
    >>> try:
    ...     tw.tune(device=rt)
    ... except tw.errors.UnsupportedOperationError as error:
    ...     print("nothing to tune")
    nothing to tune
    """
    if not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise ArgumentError("tune", f"seconds must not be negative, got {seconds!r}")
    if sizes is not None and not isinstance(sizes, (list, tuple)):
        raise ArgumentError("tune", f"sizes are a list of (M, N, K), got {sizes!r}")
    checked = None if sizes is None else tuple(_size(each) for each in sizes)
    if isinstance(dtypes, (str, np.dtype, type)):
        dtypes = (dtypes,)
    wanted = tuple(as_dtype(dtype, "tune") for dtype in dtypes)
    backend = current_runtime(device).backend
    if not isinstance(backend, TunesKernels):
        raise UnsupportedOperationError(
            "tune", backend=backend.name, hint="only WebGPU has kernels to choose from"
        )
    return backend.tune(checked, wanted, seconds)


def _size(size: Any) -> tuple[int, int, int]:
    try:
        m, n, k = size
    except (TypeError, ValueError):
        raise ArgumentError("tune", f"a size is (M, N, K), got {size!r}") from None
    if not all(isinstance(extent, (int, np.integer)) and extent > 0 for extent in (m, n, k)):
        raise ArgumentError("tune", f"extents must be positive integers, got {size!r}")
    return int(m), int(n), int(k)
