"""Compiling what a function needs before it is needed, by running it on inputs of its shapes.

Called by users.  Pipelines depend on the structure of a program and not on extents, so what one
run compiles serves other sizes as well; drivers compile to machine code at the first dispatch, so
nothing short of a run will do.  Nothing here knows kernels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dtypes import as_dtype, is_inexact
from ..errors import ArgumentError
from ..ops.creation import ones_like
from .runtime import EagerRuntime, current_runtime
from .tensor import EagerTensor
from .transfers import device_get

__all__ = ["WarmupReport", "warmup"]

#: Kernels that join several operations are compiled when a structure comes up again, so the first
#: run is never enough; a function that still compiles in this one is another each time.
MOST_RUNS = 4


@dataclass(frozen=True)
class WarmupReport:
    """What a call of `warmup` did.

    `pipelines` kernels were compiled in `runs` runs of the function, which took `seconds` in all.
    `pipelines` is 0 where everything was there already, and on backends that compile nothing.
    """

    pipelines: int
    runs: int
    seconds: float


def warmup(
    f: Callable[..., Any], *specs: Any, grad: bool = False, device: Any = None
) -> WarmupReport:
    """Run `f` until it compiles nothing new, so that later calls start at full speed.

    Floating-point inputs are ones, all others zeros (an index of 0 is valid everywhere). Later
    calls may have other sizes of the same kind: there are kernels of their own for extents of 1,
    for multiples of 4 and for tensors far larger or smaller, so warm up one of each kind that
    comes. A driver that keeps compiled kernels on disk makes this short in the next process.

    Args:
        f: a function of tensors; its results are waited for and dropped. It is really called, up
            to four times: what it does besides, such as updating variables it has captured, is
            done as often.
        specs: its arguments: a `ShapeDtype`, a pair ``(shape, dtype)``, or any array or tensor,
            of which the shape and dtype are taken; lists, tuples and dicts of these; everything
            else is passed as it is.
        grad: whether to differentiate the results with respect to the floating-point inputs as
            well (gradients of variables that `f` has captured are added to theirs). Not for
            functions that call `backward` themselves.
        device: the runtime or device to compile for; the current runtime if None.

    Raises:
        ArgumentError: ``grad=True`` and no result depends on a floating-point input.
        Whatever `f` raises.

    >>> import tenferro_wgpu as tw
    >>> with tw.EagerRuntime("cpu"):
    ...     report = tw.warmup(
    ...         lambda x, w: tw.tanh(x @ w),
    ...         ((8, 3), "float32"),
    ...         tw.ShapeDtype((3, 2), tw.float32),
    ...         grad=True,
    ...     )
    >>> report.pipelines, report.runs
    (0, 2)
    """
    runtime = current_runtime(device)
    first = compiled = _built(runtime)
    start = time.perf_counter()
    runs = 0
    with runtime.as_default():
        while runs < MOST_RUNS:
            runs += 1
            arguments = [_argument(runtime, spec, grad) for spec in specs]
            results = f(*arguments)
            if grad:
                results = (results, _gradients(results))
            device_get(results)
            before, compiled = compiled, _built(runtime)
            if runs > 1 and compiled == before:
                break
    return WarmupReport(compiled - first, runs, time.perf_counter() - start)


def _built(runtime: EagerRuntime) -> int:
    """Pipelines that a runtime has compiled so far."""
    built: int = runtime.stats()["backend"].get("pipelines", {}).get("built", 0)
    return built


def _argument(runtime: EagerRuntime, spec: Any, tracked: bool) -> Any:
    """The argument that a spec describes."""
    if _is_pair(spec):
        shape, dtype = spec
    elif hasattr(spec, "shape") and hasattr(spec, "dtype"):
        shape, dtype = spec.shape, spec.dtype
    elif isinstance(spec, dict):
        return {key: _argument(runtime, item, tracked) for key, item in spec.items()}
    elif isinstance(spec, tuple) and spec and isinstance(spec[0], int):
        raise ArgumentError(
            "warmup", f"a spec is a pair (shape, dtype), as in ((8, 3), 'float32'), got {spec!r}"
        )
    elif isinstance(spec, (list, tuple)):
        items = [_argument(runtime, item, tracked) for item in spec]
        if isinstance(spec, list):
            return items
        return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
    else:
        return spec
    dtype = as_dtype(dtype, "warmup")
    if min(shape, default=0) < 0:
        raise ArgumentError("warmup", f"extents must not be negative, got {tuple(shape)}")
    # From the host, because a constant of the runtime needs no memory and other kernels.
    array = np.ones(shape, dtype) if is_inexact(dtype) else np.zeros(shape, dtype)
    if tracked and is_inexact(dtype):
        return runtime.variable_from(array)
    return runtime.constant_from(array)


def _is_pair(spec: Any) -> bool:
    """Whether a spec is ``(shape, dtype)`` rather than a tuple of specs."""
    return (
        type(spec) is tuple
        and len(spec) == 2
        and isinstance(spec[0], (tuple, list))
        and all(isinstance(extent, (int, np.integer)) for extent in spec[0])
        and isinstance(spec[1], (str, type, np.dtype))
    )


def _gradients(results: Any) -> list[EagerTensor]:
    """Cotangents of ones pulled back from every result that has a gradient."""
    tracked = [each for each in _leaves(results) if each.requires_grad]
    if not tracked:
        raise ArgumentError("warmup", "grad=True, but no result depends on a differentiable input")
    gradients: list[EagerTensor] = []
    for result in tracked:
        ones = None if result.shape == () else ones_like(result)
        found = result.backward(ones)
        gradients.extend([found[tensor] for tensor in found])
    return gradients


def _leaves(tree: Any) -> list[EagerTensor]:
    if isinstance(tree, EagerTensor):
        return [tree]
    items = tree.values() if isinstance(tree, dict) else tree
    if isinstance(tree, (list, tuple, dict)):
        return [leaf for item in items for leaf in _leaves(item)]
    return []
