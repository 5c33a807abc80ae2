"""The ``TENFERRO_*`` variables that have a fixed set of values, checked when a runtime is made."""

from __future__ import annotations

import os

from .errors import EnvironmentVariableError

__all__ = ["CHOICES", "FUSION", "SYNC", "TUNING", "check_all", "switch"]

#: Wait for the device after each operation, so that a fault is raised where it happens.
SYNC = "TENFERRO_SYNC"
#: Whether element-wise operations and reductions on WebGPU share kernels; on unless 0.
FUSION = "TENFERRO_FUSION"
#: Whether measured choices of kernels are used and searched for; unset, on GPUs only.
TUNING = "TENFERRO_TUNING"

CHOICES = {
    "TENFERRO_BACKEND": ("webgpu", "cuda", "cpu"),
    "TENFERRO_LIMITS": ("native", "browser"),
}


def switch(variable: str, default: bool = False) -> bool:
    """Whether `variable` is on; raises EnvironmentVariableError unless it is "0", "1" or unset."""
    value = os.environ.get(variable, "")
    if value not in ("", "0", "1"):
        raise EnvironmentVariableError(variable, value, ("0", "1"))
    return default if value == "" else value == "1"


def check_all() -> None:
    """Raise EnvironmentVariableError for any value that is not understood, used here or not."""
    switch(SYNC)
    switch(FUSION, default=True)
    switch(TUNING)
    for variable, choices in CHOICES.items():
        value = os.environ.get(variable, "")
        if value and value not in choices:
            raise EnvironmentVariableError(variable, value, choices)
