"""A dictionary with a size limit whose hits cost no more than a dictionary's.

Used for bind groups, pipelines, plans, constants and sightings of fused structures.  An exact LRU
reorders on every hit, which costs as much as the lookup itself on the dispatch path; this one keeps
two generations and only moves an entry when it is found in the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any


class GenerationalCache:
    """At most ``limit`` entries; those not used during the last ``limit / 2`` insertions go first.

    Hot callers look into ``young`` themselves and call :meth:`find` only on a miss.
    """

    def __init__(self, limit: int) -> None:
        self.young: dict[Any, Any] = {}
        self._old: dict[Any, Any] = {}
        self._limit = max(2, limit)
        self.misses = 0
        self.evictions = 0
        #: Called with the keys that went because of the limit, or with all when cleared.
        self.on_evicted: Callable[[Iterable[Any]], None] | None = None

    def __len__(self) -> int:
        return len(self.young) + len(self._old)

    @property
    def limit(self) -> int:
        """The most entries kept; lowering it evicts at once."""
        return self._limit

    @limit.setter
    def limit(self, value: int) -> None:
        self._limit = max(2, value)
        if len(self) > self._limit:
            kept = dict([*self._old.items(), *self.young.items()][-(self._limit // 2) :])
            self.evictions += len(self) - len(kept)
            if self.on_evicted is not None:
                self.on_evicted([key for key in (*self._old, *self.young) if key not in kept])
            self.young.clear()
            self.young.update(kept)
            self._old = {}

    def find(self, key: Hashable) -> Any:
        """The value of ``key``, or None after counting a miss."""
        value = self.young.get(key)
        if value is None:
            value = self._old.pop(key, None)
            if value is None:
                self.misses += 1
            else:
                self._insert(key, value)
        return value

    def store(self, key: Hashable, value: Any) -> None:
        """Add or replace an entry, dropping the old generation when the young one is full."""
        self._old.pop(key, None)
        self._insert(key, value)

    def _insert(self, key: Hashable, value: Any) -> None:
        if len(self.young) >= self._limit // 2:
            self.evictions += len(self._old)
            if self.on_evicted is not None:
                self.on_evicted(self._old)
            # Hot callers hold on to `young`, so the dictionary stays and its content moves.
            self._old = dict(self.young)
            self.young.clear()
        self.young[key] = value

    def discard(self, key: Hashable) -> None:
        """Forget one entry, if it is there."""
        self.young.pop(key, None)
        self._old.pop(key, None)

    def clear(self) -> None:
        """Forget everything; the counters stay."""
        if self.on_evicted is not None:
            self.on_evicted([*self._old, *self.young])
        self.young.clear()
        self._old = {}

    def values(self) -> list[Any]:
        """Everything cached now."""
        return [*self._old.values(), *self.young.values()]

    def stats(self) -> dict[str, int]:
        """Entries, limit, misses and evictions (hits are not counted: that would slow them)."""
        return {
            "entries": len(self),
            "max_entries": self._limit,
            "misses": self.misses,
            "evictions": self.evictions,
        }
