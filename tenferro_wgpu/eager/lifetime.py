"""How long a runtime lives and where it is current: scopes, sessions, closing, forks.

A part of `EagerRuntime`.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..errors import RuntimeClosedError
from .state import scoped_runtime

if TYPE_CHECKING:
    from typing import Self

    from ..backends.protocol import Backend
    from ..extension.cache import ExtensionCaches
    from .grad_slots import GradSlots

__all__ = ["Lifetime", "call_in_forked_child"]

#: ``with runtime:`` blocks that this thread or task is in, innermost last.
_entered: ContextVar[tuple[Token[Any], ...]] = ContextVar("tenferro_entered", default=())

_alive: weakref.WeakSet[Lifetime] = weakref.WeakSet()


class Lifetime:
    """Methods of `EagerRuntime` about scopes, exclusive use and the end."""

    backend: Backend
    _slots: GradSlots
    _extension_caches: ExtensionCaches

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._closed = False
        self._depth = 0
        _alive.add(self)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def _open(self, op: str) -> Backend:
        if self._closed:
            raise RuntimeClosedError(op, "the runtime is closed; make a new EagerRuntime")
        return self.backend

    @contextmanager
    def as_default(self) -> Iterator[Self]:
        """Make this the current runtime in the block (this thread or task); never closes it."""
        self._open("as_default")
        token = scoped_runtime.set(self)  # type: ignore[arg-type]
        try:
            yield self
        finally:
            scoped_runtime.reset(token)

    def __enter__(self) -> Self:
        self._open("with")
        _entered.set((*_entered.get(), scoped_runtime.set(self)))  # type: ignore[arg-type]
        with self._lock:
            self._depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        *outer, token = _entered.get()
        _entered.set(tuple(outer))
        scoped_runtime.reset(token)
        with self._lock:
            self._depth -= 1
            last = self._depth == 0
        if last:
            self.close()

    @contextmanager
    def session(self) -> Iterator[Backend]:
        """Hold the backend for a whole program; other threads wait.  Re-entrant.

        Operations, uploads and new reads of other threads wait for the end of the block; a
        download that another thread has begun goes on.
        """
        with self._lock:
            yield self._open("session")

    def with_backend(self, f: Callable[[Backend], Any]) -> Any:
        """Call `f` with the backend held, as in `session`, and return its result."""
        with self.session() as backend:
            return f(backend)

    def close(self) -> None:
        """Free everything.  Tensors of this runtime raise RuntimeClosedError from then on."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._extension_caches.clear()
        self.backend.close()

    def _renew_locks(self) -> None:
        """In a forked child: the parent's threads are gone, and with them whoever held a lock."""
        self._lock = threading.RLock()
        self._slots.lock = self._lock


def _after_fork_in_child() -> None:
    for runtime in list(_alive):
        runtime._renew_locks()


def call_in_forked_child(function: Callable[[], None]) -> None:
    """Have `function` called in every forked child process, where fork exists."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


call_in_forked_child(_after_fork_in_child)
