"""The makers of random calls, all of them: importing one registers its rows in `CALLS`."""

from __future__ import annotations

from . import (
    composite_calls,
    creation_calls,
    elementwise_calls,
    index_calls,
    ordering_calls,
    product_calls,
    reduction_calls,
    sampled_calls,
    set_calls,
    structural_calls,
)
from .calls import CALLS

__all__ = [
    "CALLS",
    "composite_calls",
    "creation_calls",
    "elementwise_calls",
    "index_calls",
    "ordering_calls",
    "product_calls",
    "reduction_calls",
    "sampled_calls",
    "set_calls",
    "structural_calls",
]
