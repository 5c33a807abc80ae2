"""Where host time goes: the seed's per-section aggregate, and `runtime.profile()` as data."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..backends.protocol import TimesKernels

if TYPE_CHECKING:
    from ..ops.primitive import Primitive
    from ..tensor import Tensor, TensorSpec
    from .runtime import EagerRuntime

__all__ = ["OperationProfile", "Profile", "enabled"]

AGGREGATE = "TENFERRO_PROFILE_EAGER_OP_AGG"
PRINT_EVERY = "TENFERRO_PROFILE_EAGER_OP_PRINT_EVERY"
HEADER = "=== tenferro eager op profile ==="


@functools.cache
def enabled() -> bool:
    """Whether per-section profiling is on; the environment is read once per process."""
    return os.environ.get(AGGREGATE, "") not in ("", "0")


class _Sections(threading.local):
    """Calls and seconds per section, per thread."""

    def __init__(self) -> None:
        self.rows: dict[str, list[float]] = {}
        _every_thread.append((threading.current_thread().name, self.rows))

    def add(self, section: str, seconds: float) -> None:
        row = self.rows.setdefault(section, [0, 0.0])
        row[0] += 1
        row[1] += seconds


_every_thread: list[tuple[str, dict[str, list[float]]]] = []
_sections: _Sections | None = None


def report(rows: Mapping[str, list[float]]) -> str:
    """The aggregate as text, the most expensive section first."""
    lines = [HEADER]
    for section, (calls, seconds) in sorted(rows.items(), key=lambda item: -item[1][1]):
        lines.append(
            f"{section}: calls={int(calls)} total={seconds * 1e3:.6f}ms "
            f"per_call={seconds * 1e6 / max(calls, 1):.3f}us"
        )
    return "\n".join(lines)


def _print_every() -> int:
    try:
        return max(int(os.environ.get(PRINT_EVERY, "0")), 0)
    except ValueError:
        return 0


def _print_remainder() -> None:
    if _print_every():
        for _, rows in _every_thread:
            if rows:
                print(report(rows), file=sys.stderr)


def timed_execute(runtime: EagerRuntime) -> Callable[..., Any]:
    """A drop-in for the runtime's execution step that times its sections."""
    global _sections
    if _sections is None:
        _sections = _Sections()
        atexit.register(_print_remainder)
    sections = _sections
    plain = type(runtime)._execute
    clock = time.perf_counter

    def execute(
        primitive: Primitive,
        tensors: tuple[Tensor, ...],
        params: Mapping[str, Any],
        results: tuple[TensorSpec, ...],
    ) -> Any:
        start = clock()
        with runtime._lock:
            locked = clock()
            outputs = plain(runtime, primitive, tensors, params, results)
            done = clock()
        sections.add("exec_outputs.lock_backend", locked - start)
        sections.add("exec_outputs.exec_op", done - locked)
        sections.add("nary_op.total", clock() - start)
        every = _print_every()
        if every and sections.rows["nary_op.total"][0] % every == 0:
            print(report(sections.rows), file=sys.stderr)
            sections.rows.clear()
        return outputs

    return execute


@dataclass
class OperationProfile:
    """Calls of one operation, host seconds spent queueing it, and device seconds of its kernels.

    `device_seconds` stays None where the device has no timestamps.
    """

    calls: int = 0
    host_seconds: float = 0.0
    kernels: int = 0
    device_seconds: float | None = None


class Profile:
    """What a block cost: host and device time per operation, and how far each counter moved.

    `operations` maps primitive names to `OperationProfile`; `counters` holds the numeric leaves
    of the backend's statistics as differences, by dotted name; `seconds` is the wall time of
    the block with its queued work finished.
    """

    def __init__(self, runtime: Any) -> None:
        self._runtime: EagerRuntime = runtime
        self.operations: dict[str, OperationProfile] = {}
        self.counters: dict[str, float] = {}
        self.seconds = 0.0

    def __enter__(self) -> Profile:
        runtime = self._runtime
        runtime.synchronize()
        self._before = _leaves(runtime.backend.stats())
        runtime._profiler.start(self)
        self._start = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        runtime = self._runtime
        runtime._profiler.stop(self)
        if runtime.closed:
            return
        if kind is None:
            runtime.synchronize()
        self.seconds = time.perf_counter() - self._start
        after = _leaves(runtime.backend.stats())
        self.counters = {name: after[name] - self._before.get(name, 0) for name in after}

    def record_operation(self, operation: str, seconds: float) -> None:
        """Count one queued operation."""
        row = self.operations.setdefault(operation, OperationProfile())
        row.calls += 1
        row.host_seconds += seconds

    def record_kernel(self, operation: str, nanoseconds: int | None) -> None:
        """Count one kernel; `nanoseconds` is None where the device has no timestamps."""
        row = self.operations.setdefault(operation, OperationProfile())
        row.kernels += 1
        if nanoseconds is not None:
            row.device_seconds = (row.device_seconds or 0.0) + nanoseconds * 1e-9

    def __repr__(self) -> str:
        rows = {name: [row.calls, row.host_seconds] for name, row in self.operations.items()}
        return report(rows)


class Profiler:
    """Feeds the profiles that are open on one runtime, however they overlap."""

    def __init__(self, runtime: Any) -> None:
        self._runtime: EagerRuntime = runtime
        self._open: tuple[Profile, ...] = ()
        self._timing = ExitStack()

    def start(self, profile: Profile) -> None:
        """Begin to feed `profile`; the first one switches measuring on."""
        runtime = self._runtime
        with runtime._lock:
            self._open = (*self._open, profile)
            if len(self._open) > 1:
                return
            plain = self._plain = runtime._execute
            clock = time.perf_counter

            def execute(primitive: Primitive, *rest: Any) -> Any:
                start = clock()
                outputs = plain(primitive, *rest)
                seconds = clock() - start
                for one in self._open:
                    one.record_operation(primitive.name, seconds)
                return outputs

            runtime._execute = execute  # type: ignore[method-assign, assignment]
            if isinstance(runtime.backend, TimesKernels):
                self._timing.enter_context(runtime.backend.timed_kernels(self._kernel))

    def stop(self, profile: Profile) -> None:
        """Stop feeding `profile`; the last one switches measuring off."""
        runtime = self._runtime
        with runtime._lock:
            if len(self._open) == 1:
                if not runtime.closed:
                    self._timing.close()
                runtime._execute = self._plain  # type: ignore[method-assign]
            self._open = tuple(one for one in self._open if one is not profile)

    def _kernel(self, operation: str, nanoseconds: int | None) -> None:
        for one in self._open:
            one.record_kernel(operation, nanoseconds)


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    found: dict[str, float] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            found.update(_leaves(value, f"{prefix}{name}."))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            found[prefix + name] = value
    return found
