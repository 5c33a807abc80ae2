"""The log of WGSL modules made under browser limits, which the tests give to a browser's compiler.

`device.py` calls `record_module` for each module of a device that is held to browser limits; other
modules may use what no browser has. Nothing happens unless `TENFERRO_WGSL_LOG=<folder>` is set.
Nothing here knows devices or what a module computes.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

__all__ = ["FOLDER_VARIABLE", "record_module"]

FOLDER_VARIABLE = "TENFERRO_WGSL_LOG"


def record_module(wgsl: str) -> None:
    """Write the module to the log folder, once per distinct text, named by its hash."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return
    target = Path(folder) / f"{hashlib.sha256(wgsl.encode()).hexdigest()[:20]}.wgsl"
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # Test processes may write the same module at once; a rename never shows half a file.
    partial = target.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(wgsl)
    partial.replace(target)
