"""What a WebGPU backend shows of itself and lets one bound: its caches, and GPU time per kernel.

A part of `WebGpuBackend`; implements the optional protocols `HasCaches`,
`TimesKernels` and `CanBeLost`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tenferro_wgpu.backends.webgpu.shaders import MODULES
from tenferro_wgpu.caching import CacheLimits, CacheStats
from tenferro_wgpu.errors import ArgumentError

if TYPE_CHECKING:
    from tenferro_wgpu.backends.webgpu.queue import Queue

__all__ = ["Observation"]

#: The pool is bounded by bytes alone.
UNBOUNDED_ENTRIES = 1 << 62


class Observation:
    """Cache statistics, cache limits and kernel timing over one queue."""

    queue: Queue
    flush: Callable[[], None]

    @property
    def lost(self) -> bool:
        """Whether the device is gone for good."""
        return self.queue.device.lost is not None

    def cache_stats(self) -> dict[str, CacheStats]:
        """Rendered modules, pipelines, bind groups and pooled buffers.

        Modules are the process's: WGSL text that every device shares.

        Pipelines are shared by the runtimes of the device: entries, evictions and retained bytes
        (their WGSL text) are the device's.  Hits and misses are this runtime's: a miss compiles a
        pipeline or makes a bind group, every other dispatch is a hit.
        """
        stats = self.queue.stats()
        dispatches = stats["queue"]["dispatches"]
        memory = stats["memory"]
        retained = {"pipelines": self.queue.device.retained_wgsl(), "bind_groups": 0}
        found = {
            name: CacheStats(
                entries=stats[name]["entries"],
                hits=max(0, dispatches - stats[name]["built"]),
                misses=stats[name]["built"],
                evictions=stats[name]["evictions"],
                retained_bytes=nbytes,
            )
            for name, nbytes in retained.items()
        }
        found["modules"] = MODULES.stats()
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
            "modules": MODULES.limits,
            "pipelines": CacheLimits(stats["pipelines"]["max_entries"]),
            "bind_groups": CacheLimits(stats["bind_groups"]["max_entries"]),
            "buffers": CacheLimits(UNBOUNDED_ENTRIES, self.queue.pool_limit),
        }

    def set_cache_limits(self, name: str, limits: CacheLimits) -> None:
        """Bound one cache; lowering a bound evicts at once.

        Pipelines and bind groups are bounded by entries alone, buffers by bytes alone, modules by
        either.  Raises ArgumentError for another bound and KeyError for other names.
        """
        if name == "modules":
            MODULES.limits = limits
            return
        if name == "buffers":
            if limits.max_entries != UNBOUNDED_ENTRIES or limits.max_retained_bytes is None:
                raise ArgumentError(
                    "set_cache_limits", "buffers are bounded by max_retained_bytes alone"
                )
            self.queue.pool_limit = limits.max_retained_bytes
            return
        cache = {"pipelines": self.queue.device.pipelines, "bind_groups": self.queue.bind_groups}
        bounded = cache[name]
        if limits.max_retained_bytes is not None:
            raise ArgumentError("set_cache_limits", f"{name} are bounded by max_entries alone")
        bounded.limit = limits.max_entries

    @contextmanager
    def timed_kernels(self, record: Callable[[str, int | None], None]) -> Iterator[None]:
        """Call `record` with operation and GPU nanoseconds of each kernel of the block.

        Nanoseconds are None where the device has no timestamps.  Batches are waited for, so the
        block runs slower than it would unobserved.
        """
        self.flush()
        self.queue.profile_hook = record
        try:
            yield
            self.flush()
        finally:
            self.queue.profile_hook = None
