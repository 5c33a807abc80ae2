"""Kernel families of the WebGPU backend.

Each module picks templates and launch shapes for one family of primitives and registers its
launch functions; importing this package registers them all. Only backend.py imports it.
"""

from tenferro_wgpu.backends.webgpu.kernels import (
    contraction,
    elementwise,
    indexing,
    reduction,
    structural,
)

__all__ = ["contraction", "elementwise", "indexing", "reduction", "structural"]
