"""The ``TENFERRO_*`` switches that are on or off, checked when a runtime is made.

Variables with other values (``TENFERRO_BACKEND``, ``_ADAPTER``, ``_LIMITS``) are checked where
they are read.
"""

from __future__ import annotations

import os

from .errors import EnvironmentVariableError

__all__ = ["FUSION", "SYNC", "check_switches", "switch"]

#: Wait for the device after each operation, so that a fault is raised where it happens.
SYNC = "TENFERRO_SYNC"
#: Kernel fusion.  There is none yet, so both values give the same program.
FUSION = "TENFERRO_FUSION"


def switch(variable: str, default: bool = False) -> bool:
    """Whether `variable` is on; raises EnvironmentVariableError unless it is "0", "1" or unset."""
    value = os.environ.get(variable, "")
    if value not in ("", "0", "1"):
        raise EnvironmentVariableError(variable, value, ("0", "1"))
    return default if value == "" else value == "1"


def check_switches() -> None:
    """Raise EnvironmentVariableError if any switch has a value that is not understood."""
    switch(SYNC)
    switch(FUSION, default=True)
