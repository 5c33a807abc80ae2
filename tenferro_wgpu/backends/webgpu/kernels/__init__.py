"""Kernel families of the WebGPU backend.

Each module picks templates and launch shapes for one family of primitives and registers its
launch functions; importing this package registers them all, for backend.py to look them up.
"""

from tenferro_wgpu.backends.webgpu.kernels import (
    argmax,
    compaction,
    contraction,
    convolution,
    elementwise,
    indexing,
    ordering,
    reduction,
    scanning,
    scattering,
    structural,
)
from tenferro_wgpu.backends.webgpu.kernels.registry import registered_kernels

__all__ = [
    "argmax",
    "compaction",
    "contraction",
    "convolution",
    "elementwise",
    "indexing",
    "ordering",
    "reduction",
    "registered_kernels",
    "scanning",
    "scattering",
    "structural",
]
