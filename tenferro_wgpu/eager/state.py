"""What is current in this thread or task: whether gradients are recorded, and the runtime.

Both are context variables, so threads and asyncio tasks are independent and start fresh.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from .runtime import EagerRuntime

__all__ = ["enable_grad", "grad_enabled", "no_grad"]

Function = TypeVar("Function", bound=Callable[..., Any])

grad_enabled: ContextVar[bool] = ContextVar("tenferro_grad_enabled", default=True)
scoped_runtime: ContextVar[EagerRuntime | None] = ContextVar("tenferro_runtime", default=None)


class _GradMode:
    """Sets the grad mode of a block, or of every call of the function it decorates."""

    _enabled: bool

    def __init__(self) -> None:
        self._tokens: list[Token[bool]] = []

    def __enter__(self) -> None:
        self._tokens.append(grad_enabled.set(self._enabled))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        grad_enabled.reset(self._tokens.pop())

    def __call__(self, function: Function) -> Function:
        make = type(self)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_async(*args: Any, **kwargs: Any) -> Any:
                with make():
                    return await function(*args, **kwargs)

            return run_async  # type: ignore[return-value]

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with make():
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]


class no_grad(_GradMode):
    """Record nothing for gradients in this block (this thread or task only).

    Also a decorator, of functions and of coroutine functions: ``@tw.no_grad()``.

    >>> import tenferro_wgpu as tw
    >>> x = tw.default_runtime().variable_from([1.0, 2.0])
    >>> with tw.no_grad():
    ...     y = x * 2.0
    >>> y.requires_grad
    False
    """

    _enabled = False


class enable_grad(_GradMode):
    """Record gradients in this block, even inside `no_grad`; also a decorator.

    >>> import tenferro_wgpu as tw
    >>> x = tw.default_runtime().variable_from([1.0])
    >>> with tw.no_grad(), tw.enable_grad():
    ...     y = x * 2.0
    >>> y.requires_grad
    True
    """

    _enabled = True
