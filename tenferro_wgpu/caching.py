"""Bounded caches with statistics: one that drops the least recently used, one that starts over.

Used by every layer; knows nothing about what it stores.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from .errors import ArgumentError

__all__ = ["CacheLimits", "CacheStats", "LruCache", "RestartingCache"]


@dataclass(frozen=True)
class CacheStats:
    """What a cache holds and has done; `retained_bytes` is a logical estimate."""

    entries: int = 0
    hits: int = 0
    misses: int = 0
    evictions: int = 0
    retained_bytes: int = 0


@dataclass(frozen=True)
class CacheLimits:
    """Bounds of a cache; None means unbounded bytes."""

    max_entries: int
    max_retained_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.max_entries < 0 or (self.max_retained_bytes or 0) < 0:
            raise ArgumentError("CacheLimits", f"limits must not be negative, got {self}")


class LruCache:
    """Values by key within limits; the least recently used are dropped first.  Thread-safe."""

    def __init__(self, limits: CacheLimits, on_evict: Callable[[Any], None] | None = None) -> None:
        self._limits = limits
        self._on_evict = on_evict
        self._items: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self._hits = 0
        self._misses = 0
        self._evictions = 0
        self._lock = threading.RLock()

    @property
    def limits(self) -> CacheLimits:
        """The bounds in force."""
        return self._limits

    @limits.setter
    def limits(self, limits: CacheLimits) -> None:
        with self._lock:
            self._limits = limits
            self._shrink()

    def get(self, key: Hashable, default: Any = None) -> Any:
        """The value under `key`, made the most recently used, or `default`."""
        with self._lock:
            found = self._items.get(key)
            if found is None:
                self._misses += 1
                return default
            self._hits += 1
            self._items.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Any, nbytes: int = 0) -> None:
        """Store `value`, dropping the least recently used beyond the limits.

        A value that alone exceeds the bytes allowed is not stored, and drops nothing else.
        """
        with self._lock:
            self._drop(key)
            most = self._limits.max_retained_bytes
            if most is not None and nbytes > most:
                self._evictions += 1
                return
            self._items[key] = (value, nbytes)
            self._bytes += nbytes
            self._shrink()

    def clear(self, selected: Callable[[Any], bool] | None = None) -> None:
        """Drop everything, or the entries whose key is `selected`."""
        with self._lock:
            for key in list(self._items):
                if selected is None or selected(key):
                    self._drop(key)

    def stats(self, selected: Callable[[Any], bool] | None = None) -> CacheStats:
        """Statistics; with `selected`, entries and bytes count only the selected keys."""
        with self._lock:
            sizes = [n for key, (_, n) in self._items.items() if selected is None or selected(key)]
            return CacheStats(len(sizes), self._hits, self._misses, self._evictions, sum(sizes))

    def __len__(self) -> int:
        return len(self._items)

    def _shrink(self) -> None:
        most_bytes = self._limits.max_retained_bytes
        while self._items and (
            len(self._items) > self._limits.max_entries
            or (most_bytes is not None and self._bytes > most_bytes)
        ):
            self._evictions += 1
            self._drop(next(iter(self._items)))

    def _drop(self, key: Hashable) -> None:
        found = self._items.pop(key, None)
        if found is not None:
            self._bytes -= found[1]
            if self._on_evict is not None:
                self._on_evict(found[0])


class RestartingCache(dict[Any, Any]):
    """A dictionary that empties itself when it is full, for what is cheap to make again.

    A hit is a plain ``get`` and costs no more than a dictionary's; so hits are not counted.
    Thread-safe as dictionaries are.
    """

    def __init__(self, max_entries: int) -> None:
        super().__init__()
        self._limits = CacheLimits(max_entries)
        self._misses = 0
        self._evictions = 0

    @property
    def limits(self) -> CacheLimits:
        """The bounds in force: entries alone."""
        return self._limits

    @limits.setter
    def limits(self, limits: CacheLimits) -> None:
        if limits.max_retained_bytes is not None:
            raise ArgumentError("CacheLimits", "this cache is bounded by max_entries alone")
        self._limits = limits
        if len(self) > limits.max_entries:
            self._restart()

    def store(self, key: Hashable, value: Any) -> None:
        """Add what a ``get`` has missed."""
        self._misses += 1
        most = self._limits.max_entries
        if len(self) >= most:
            self._restart()
        if most:
            self[key] = value

    def stats(self) -> CacheStats:
        """Entries, misses and evictions."""
        return CacheStats(len(self), 0, self._misses, self._evictions)

    def _restart(self) -> None:
        self._evictions += len(self)
        self.clear()
