"""What a WebGPU backend shows of itself and lets one bound: its caches, and GPU time per kernel.

A part of `WebGpuBackend`; implements the optional protocols `HasCaches`,
`TimesKernels` and `CanBeLost`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tenferro_wgpu.caching import CacheLimits, CacheStats

if TYPE_CHECKING:
    from tenferro_wgpu.backends.webgpu.queue import Queue

__all__ = ["Observation"]

#: The pool is bounded by bytes alone.
UNBOUNDED_ENTRIES = 1 << 62


class Observation:
    """Cache statistics, cache limits and kernel timing over one queue."""

    queue: Queue

    @property
    def lost(self) -> bool:
        """Whether the device is gone for good."""
        return self.queue.device.lost is not None

    def cache_stats(self) -> dict[str, CacheStats]:
        """Pipelines (shared by all runtimes of the device), bind groups and pooled buffers.

        Every dispatch looks up one pipeline and one bind group, so their hits are the dispatches
        that did not miss.  Retained bytes are the WGSL text of pipelines and the pool's memory.
        """
        stats = self.queue.stats()
        dispatches = stats["queue"]["dispatches"]
        memory = stats["memory"]
        found = {
            name: CacheStats(
                entries=stats[name]["entries"],
                hits=max(0, dispatches - stats[name]["misses"]),
                misses=stats[name]["misses"],
                evictions=stats[name]["evictions"],
            )
            for name in ("pipelines", "bind_groups")
        }
        found["buffers"] = CacheStats(
            entries=memory["buffers"],
            hits=memory["reuses"],
            misses=memory["allocations"],
            evictions=memory["allocations"] - memory["buffers"],
            retained_bytes=memory["pooled_bytes"],
        )
        return found

    def cache_limits(self) -> dict[str, CacheLimits]:
        """The bounds in force, by cache name."""
        stats = self.queue.stats()
        return {
            "pipelines": CacheLimits(stats["pipelines"]["max_entries"]),
            "bind_groups": CacheLimits(stats["bind_groups"]["max_entries"]),
            "buffers": CacheLimits(UNBOUNDED_ENTRIES, self.queue.pool_limit),
        }

    def set_cache_limits(self, name: str, limits: CacheLimits) -> None:
        """Bound one cache; lowering a bound evicts at once.  Raises KeyError for other names."""
        if name == "buffers":
            if limits.max_retained_bytes is not None:
                self.queue.pool_limit = limits.max_retained_bytes
            return
        cache = {"pipelines": self.queue.device.pipelines, "bind_groups": self.queue.bind_groups}
        cache[name].limit = limits.max_entries

    @contextmanager
    def timed_kernels(self, record: Callable[[str, int | None], None]) -> Iterator[None]:
        """Call `record` with operation and GPU nanoseconds of each kernel of the block.

        Nanoseconds are None where the device has no timestamps.  Batches are waited for, so the
        block runs slower than it would unobserved.
        """
        self.queue.flush()
        self.queue.profile_hook = record
        try:
            yield
            self.queue.flush()
        finally:
            self.queue.profile_hook = None
