"""The runtime's housekeeping: waiting, gradients, caches, statistics and diagnosis.

A part of `EagerRuntime`, kept apart so that each half reads in one sitting.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends.protocol import HasCaches
from ..caching import CacheLimits, RestartingCache
from ..dtypes import is_inexact
from ..errors import ArgumentError, NanError
from . import profile
from .state import grad_enabled

if TYPE_CHECKING:
    from ..backends.protocol import Backend
    from ..extension.cache import ExtensionCaches
    from ..ops.primitive import Primitive
    from ..tensor import Tensor
    from .grad_slots import GradSlots, LiveNodes
    from .signatures import Signatures

__all__ = ["Maintenance", "Observer"]


#: Called after an operation with the primitive, its inputs and its outputs.
Observer = Callable[["Primitive", Sequence["Tensor"], Sequence["Tensor"]], None]


class Maintenance:
    """Methods of `EagerRuntime` that are not about running operations."""

    backend: Backend
    _lock: threading.RLock
    _open: Callable[[str], Backend]
    _slots: GradSlots
    _extension_caches: ExtensionCaches
    _nodes: LiveNodes
    _observers: tuple[Observer, ...]
    _signatures: Signatures
    _constants: RestartingCache

    # -- waiting --------------------------------------------------------------------------------

    def synchronize(self) -> None:
        """Return when everything queued before the call, by any thread, has finished.

        Raises the fault of an operation that the device found late, naming the operation.
        """
        self._open("synchronize").synchronize()

    async def synchronize_async(self) -> None:
        """Like `synchronize`, without blocking the event loop (browsers without JSPI)."""
        await self._open("synchronize_async").synchronize_async()

    def flush(self) -> None:
        """Hand queued work to the device without waiting for it."""
        self._open("flush").flush()

    # -- gradients ------------------------------------------------------------------------------

    def follows(self, x: Any) -> bool:
        """Whether the tape records what is made of a tensor."""
        return x.node is not None and grad_enabled.get()

    def clear_grads(self) -> None:
        """Set the gradient of every live tensor of this runtime to None."""
        self._slots.clear()

    # -- caches and statistics --------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """One tree of counters: backend (queue, memory, caches), extension cache, grad slots."""
        return {
            "backend": self._open("stats").stats(),
            "extensions": vars(self._extension_caches.stats()),
            "grad_slots": len(self._slots),
            "saved_bytes": self._nodes.saved_bytes(),
        }

    def cache_stats(self) -> SimpleNamespace:
        """Statistics (`CacheStats`) of every cache as attributes.

        ``.extensions``, ``.signatures`` (shapes and dtypes of results) and ``.constants``
        (scalars) are always there; WebGPU adds ``.modules`` (shader text, shared by the process),
        ``.pipelines`` (shared by the runtimes of one device), ``.bind_groups`` and ``.buffers``.
        """
        backend = self._open("cache_stats")
        found = backend.cache_stats() if isinstance(backend, HasCaches) else {}
        own = {name: cache.stats() for name, cache in self._own_caches().items()}
        return SimpleNamespace(**own, **found)

    def _own_caches(self) -> dict[str, Any]:
        return {
            "extensions": self._extension_caches,
            "signatures": self._signatures,
            "constants": self._constants,
        }

    def cache_limits(self) -> dict[str, CacheLimits]:
        """The bounds in force, by cache name."""
        backend = self._open("cache_limits")
        found = backend.cache_limits() if isinstance(backend, HasCaches) else {}
        return {**{name: cache.limits for name, cache in self._own_caches().items()}, **found}

    def set_cache_limits(
        self, name: str, *, max_entries: int | None = None, max_retained_bytes: int | None = None
    ) -> None:
        """Bound one cache; a bound that is not given stays, lowering one evicts at once.

        Raises ValueError for a name that `cache_limits` does not list.
        """
        known = self.cache_limits()
        if name not in known:
            raise ArgumentError(
                "set_cache_limits", f"no cache is named {name!r}; choose {', '.join(known)}"
            )
        before = known[name]
        limits = CacheLimits(
            before.max_entries if max_entries is None else max_entries,
            before.max_retained_bytes if max_retained_bytes is None else max_retained_bytes,
        )
        own = self._own_caches().get(name)
        if own is not None:
            own.limits = limits
        else:
            assert isinstance(self.backend, HasCaches)
            self.backend.set_cache_limits(name, limits)

    def clear_caches(self) -> None:
        """Empty every cache; what is needed is made again.

        Compiled pipelines belong to the device, so this also costs the other runtimes on it
        their next compilation.
        """
        self._open("clear_caches").clear_caches()
        self._signatures.clear()
        self._constants.clear()
        self.clear_extension_caches()

    def clear_extension_caches(self) -> None:
        """Empty the extension store only."""
        self._extension_caches.clear()

    @contextmanager
    def extension_caches(self) -> Iterator[ExtensionCaches]:
        """The extension store, with the runtime held for the block."""
        self._open("extension_caches")
        with self._lock:
            yield self._extension_caches

    # -- diagnosis --------------------------------------------------------------------------------

    @contextmanager
    def check_nans(self) -> Iterator[None]:
        """Read every result of this thread in the block; raise where a NaN first appears.

        Raises NanError naming the first operation that makes a NaN out of inputs without any.
        """
        mine = threading.get_ident()

        def has_nan(tensor: Tensor) -> bool:
            if not is_inexact(tensor.dtype):
                return False
            return bool(np.isnan(self.backend.download(tensor)).any())

        def check(
            primitive: Primitive, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
        ) -> None:
            if threading.get_ident() != mine:
                return
            for tensor in outputs:
                if has_nan(tensor) and not any(has_nan(x) for x in inputs):
                    raise NanError(primitive.name, tensor.shape)

        self._observers = (*self._observers, check)
        try:
            yield
        finally:
            self._observers = tuple(o for o in self._observers if o is not check)

    def profile(self) -> profile.Profile:
        """A context manager that measures its block: operations, host time, counters.

        >>> import tenferro_wgpu as tw
        >>> rt = tw.EagerRuntime("cpu")
        >>> x = rt.constant_from([1.0, 2.0])
        >>> with rt.profile() as p:
        ...     _ = x + x
        >>> p.operations["add"].calls
        1
        >>> rt.close()
        """
        return profile.Profile(self)
