"""What is current in this thread or task: whether gradients are recorded, and the runtime.

Both are context variables, so threads and asyncio tasks are independent and start fresh.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runtime import EagerRuntime

__all__ = ["enable_grad", "grad_enabled", "no_grad"]

grad_enabled: ContextVar[bool] = ContextVar("tenferro_grad_enabled", default=True)
scoped_runtime: ContextVar[EagerRuntime | None] = ContextVar("tenferro_runtime", default=None)


@contextmanager
def no_grad() -> Iterator[None]:
    """Record nothing for gradients in this block (this thread or task only).

    Also a decorator.

    >>> import tenferro_wgpu as tw
    >>> x = tw.default_runtime().variable_from([1.0, 2.0])
    >>> with tw.no_grad():
    ...     y = x * 2.0
    >>> y.requires_grad
    False
    """
    token = grad_enabled.set(False)
    try:
        yield
    finally:
        grad_enabled.reset(token)


@contextmanager
def enable_grad() -> Iterator[None]:
    """Record gradients in this block, even inside `no_grad`.

    >>> import tenferro_wgpu as tw
    >>> x = tw.default_runtime().variable_from([1.0])
    >>> with tw.no_grad(), tw.enable_grad():
    ...     y = x * 2.0
    >>> y.requires_grad
    True
    """
    token = grad_enabled.set(True)
    try:
        yield
    finally:
        grad_enabled.reset(token)
