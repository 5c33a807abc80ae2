"""The store in which operation families keep plans between calls, one per runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..caching import CacheLimits, CacheStats, LruCache

__all__ = ["CacheSelector", "ExtensionCacheKey", "ExtensionCaches"]

DEFAULT_LIMITS = CacheLimits(max_entries=256)


class ExtensionCacheKey(NamedTuple):
    """Names one cached object: the family that owns it, the cache, and a discriminator."""

    family: str
    name: str
    discriminator: int = 0


class CacheSelector(NamedTuple):
    """Selects entries of one family, or of one cache of a family; the default selects all."""

    family: str | None = None
    name: str | None = None

    def matches(self, key: ExtensionCacheKey) -> bool:
        """Whether `key` is selected."""
        return self.family in (None, key.family) and self.name in (None, key.name)


class ExtensionCaches:
    """A bounded least-recently-used store of any objects, by `ExtensionCacheKey`."""

    def __init__(self, limits: CacheLimits = DEFAULT_LIMITS) -> None:
        self._cache = LruCache(limits)

    @property
    def limits(self) -> CacheLimits:
        """Bounds of the store; lowering them evicts at once."""
        return self._cache.limits

    @limits.setter
    def limits(self, limits: CacheLimits) -> None:
        self._cache.limits = limits

    def put(
        self, key: ExtensionCacheKey | tuple[str, str, int], value: Any, nbytes: int = 0
    ) -> None:
        """Keep `value`, counted as `nbytes` retained bytes."""
        self._cache.put(ExtensionCacheKey(*key), value, nbytes)

    def get(self, key: ExtensionCacheKey | tuple[str, str, int], kind: type | None = None) -> Any:
        """The value under `key`, or None; a value that is not a `kind` counts as absent."""
        found = self._cache.get(ExtensionCacheKey(*key))
        return None if kind is not None and not isinstance(found, kind) else found

    def clear(self, selector: CacheSelector = CacheSelector()) -> None:  # noqa: B008 - immutable
        """Drop the selected entries."""
        self._cache.clear(_matcher(selector))

    def stats(self, selector: CacheSelector = CacheSelector()) -> CacheStats:  # noqa: B008
        """Statistics; entries and bytes count the selected entries only."""
        return self._cache.stats(_matcher(selector))


def _matcher(selector: CacheSelector) -> Callable[[Any], bool]:
    return selector.matches
