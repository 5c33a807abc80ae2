"""Checks for people who write a backend: the case tables of this library, run on theirs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from ..backends.protocol import Backend
from ..errors import UnsupportedOperationError
from .operations import BINARY, REDUCTIONS, UNARY, Case, check, operands
from .values import LAYOUTS, matrix, pairs, vector

__all__ = ["BackendReport", "check_backend"]


@dataclass
class BackendReport:
    """What `check_backend` found: how many checks passed, and the others by name."""

    passed: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    unsupported: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.passed} passed, {len(self.failures)} failed"]
        lines += [f"  {name}: {reason}" for name, reason in self.failures.items()]
        if self.unsupported:
            lines.append(f"unsupported: {', '.join(self.unsupported)}")
        return "\n".join(lines)


def check_backend(backend: Backend) -> BackendReport:
    """Run the element-wise and reduction case tables on a backend and compare with NumPy.

    Every operation runs on each dtype over special values and over every layout.  What the
    backend raises UnsupportedOperationError for is listed apart.  The backend is not closed.

    >>> import tenferro_wgpu as tw
    >>> from tenferro_wgpu.testing import check_backend
    >>> check_backend(tw.CpuBackend()).failures
    {}
    """
    report = BackendReport()
    runtime = tw.EagerRuntime(backend)
    for name, case in UNARY.items():
        for dtype in case.dtypes:
            values = vector(dtype)
            _try(report, runtime, f"{name} {dtype}", case, (values,), "")
            for layout in LAYOUTS:
                _try(report, runtime, f"{name} {dtype} {layout}", case, (matrix(dtype),), layout)
    for name, case in BINARY.items():
        for dtype in case.dtypes:
            _try(report, runtime, f"{name} {dtype}", case, pairs(dtype), "")
            both = (matrix(dtype, 3), matrix(dtype, 4))
            for layout in LAYOUTS:
                _try(report, runtime, f"{name} {dtype} {layout}", case, both, layout)
    for name, case in REDUCTIONS.items():
        for dtype in case.dtypes:
            for axis in (None, 0, 1):
                values = abs(matrix(dtype)) if dtype.startswith("f") else matrix(dtype)
                _try(report, runtime, f"{name} {dtype} {axis}", case, (values,), "", axis=axis)
    return report


def _try(
    report: BackendReport,
    runtime: tw.EagerRuntime,
    what: str,
    case: Case,
    arrays: tuple[np.ndarray[Any, Any], ...],
    layout: str,
    **options: object,
) -> None:
    on_host, on_device = LAYOUTS[layout or "contiguous"]
    arrays = operands(case, *arrays)
    try:
        tensors = [on_device(runtime.constant_from(array)) for array in arrays]
        got = case.ours(*tensors, **options).numpy()
        check("", case, got, *(on_host(array) for array in arrays), **options)
    except UnsupportedOperationError as error:
        report.unsupported[what] = str(error)
    except Exception as error:
        # Whatever a backend does wrong belongs in its report, and the other checks go on.
        report.failures[what] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
    else:
        report.passed += 1
