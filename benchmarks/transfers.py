"""Moving data between the host and the device: ours, wgpu-py's own calls, and a copy in memory.

Candidates take turns in one process, because machines drift between runs.  An upload ends when
the device has the bytes, a download when the host has them in an array of its own.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .read_floor import ReadFloor
from .table import aligned, leave_out

__all__ = ["Row", "as_text", "run"]

SIZES = (4, 1 << 20, 64 << 20)
TENSORS = 100
WARM_UP_ROUNDS = 2
#: A round repeats small transfers until about so many bytes have moved, at most so often.
ROUND_BYTES, ROUND_REPEATS = 8 << 20, 50
#: How much faster than wgpu-py's own call, and the most microseconds for a scalar.
TARGET_RATIOS = {("upload", 64 << 20): 1.5, ("download", 64 << 20): 2.5}
SCALAR_TARGET_US = 60.0

LEGEND = """\
ours       constant_from(array) and x.numpy(); (x + x).item() for the scalar; device_get(tensors)
wgpu-py    queue.write_buffer and queue.read_buffer, a new device buffer for each upload
memory     np.copyto between two host arrays, or array.copy() where the result is a new one
floor      the scalar with bare wgpu-native calls, everything made before
x wgpu-py  how many times faster ours is"""


@dataclass(frozen=True)
class Row:
    """Median and fastest microseconds of one transfer by each candidate; absent where none."""

    device: str
    direction: str
    nbytes: int
    median_us: dict[str, float]
    fastest_us: dict[str, float]
    #: At least so many times faster than wgpu-py, or at most so many microseconds.
    target: float | None = None

    @property
    def ratio(self) -> float | None:
        """wgpu-py's median as a multiple of ours."""
        if "wgpu-py" not in self.median_us:
            return None
        return self.median_us["wgpu-py"] / self.median_us["ours"]

    @property
    def verdict(self) -> str:
        """Whether the target is met; empty where there is none."""
        if self.target is None or self.ratio is None:
            return ""
        if self.direction == "scalar":
            return "pass" if self.median_us["ours"] <= self.target else "miss"
        return "pass" if self.ratio >= self.target else "miss"


@dataclass(frozen=True)
class Transfer:
    """One thing to move, by each candidate: `prepare` outside the clock, the calls inside."""

    direction: str
    nbytes: int
    calls: dict[str, Callable[[Any], Any]]
    prepare: dict[str, Callable[[], Any]]


class Plain:
    """wgpu-py alone: a device, its queue, and a wait until both are idle."""

    def __init__(self, adapter: Any) -> None:
        import wgpu

        self._usage = wgpu.BufferUsage
        self.device = adapter.request_device_sync()
        self.queue = self.device.queue

    def buffer(self, nbytes: int) -> Any:
        usage = self._usage.STORAGE | self._usage.COPY_SRC | self._usage.COPY_DST
        return self.device.create_buffer(size=max(16, nbytes), usage=usage)

    def upload(self, array: np.ndarray[Any, Any]) -> Any:
        made = self.buffer(array.nbytes)
        self.queue.write_buffer(made, 0, array)
        self.queue.submit([])
        self.wait()
        return made

    def wait(self) -> None:
        from wgpu.backends.wgpu_native import ffi, lib

        lib.wgpuDevicePoll(self.device._internal, True, ffi.NULL)

    def download(self, buffer: Any, nbytes: int) -> np.ndarray[Any, Any]:
        return np.frombuffer(self.queue.read_buffer(buffer, 0, nbytes), np.float32)


def upload(runtime: tw.EagerRuntime, plain: Plain, nbytes: int) -> Transfer:
    """One array to the device."""
    array = np.arange(nbytes // 4, dtype=np.float32)
    target = np.ones_like(array)
    driver = runtime.backend.device.driver  # type: ignore[attr-defined]

    def ours(_: Any) -> Any:
        x = runtime.constant_from(array)
        driver.submit(())  # what wgpu-py's candidate does as well: sends a write on its way
        driver.wait()
        return x

    return Transfer(
        "upload",
        nbytes,
        {
            "ours": ours,
            "wgpu-py": lambda _: plain.upload(array),
            "memory": lambda _: np.copyto(target, array),
        },
        {},
    )


def download(runtime: tw.EagerRuntime, plain: Plain, nbytes: int) -> Transfer:
    """One tensor whose values are there already."""
    array = np.arange(nbytes // 4, dtype=np.float32)
    x, buffer = runtime.constant_from(array), plain.upload(array)
    for found in (x.numpy(), plain.download(buffer, nbytes)):
        if not np.array_equal(found, array):
            raise RuntimeError("a transfer changed the values")
    return Transfer(
        "download",
        nbytes,
        {
            "ours": lambda _: x.numpy(),
            "wgpu-py": lambda _: plain.download(buffer, nbytes),
            "memory": lambda _: array.copy(),
        },
        {},
    )


def scalar(runtime: tw.EagerRuntime, plain: Plain) -> Transfer:
    """The result of an operation that is queued when the clock starts."""
    x = runtime.constant_from(np.float32(2))
    floor = ReadFloor(plain.device)
    if floor.read() != 1:
        raise RuntimeError("the floor reads a wrong value")
    return Transfer(
        "scalar",
        4,
        {
            "ours": lambda y: y.item(),
            "wgpu-py": lambda _: plain.download(floor.number, 4),
            "floor": lambda _: floor.read(),
        },
        {"ours": lambda: x + x, "wgpu-py": floor.dispatch},
    )


def many(runtime: tw.EagerRuntime, plain: Plain) -> Transfer:
    """Many small tensors at once."""
    arrays = [np.full(64, number, np.float32) for number in range(TENSORS)]
    tensors = [runtime.constant_from(array) for array in arrays]
    buffers = [plain.upload(array) for array in arrays]
    return Transfer(
        f"{TENSORS} tensors",
        256 * TENSORS,
        {
            "ours": lambda _: tw.device_get(tensors),
            "wgpu-py": lambda _: [plain.download(buffer, 256) for buffer in buffers],
        },
        {},
    )


def measure(device: str, transfer: Transfer, rounds: int) -> Row:
    """Interleaved rounds of the candidates, without garbage collection inside the clock."""
    times: dict[str, list[float]] = {name: [] for name in transfer.calls}
    repeats = max(1, min(ROUND_REPEATS, ROUND_BYTES // transfer.nbytes))
    gc.collect()
    gc.disable()
    try:
        for round_number in range(WARM_UP_ROUNDS + rounds):
            for name, call in transfer.calls.items():
                prepare = transfer.prepare.get(name)
                for _ in range(repeats):
                    start = None if prepare is None else prepare()
                    begun = time.perf_counter()
                    result = call(start)
                    spent = time.perf_counter() - begun
                    del result, start
                    if round_number >= WARM_UP_ROUNDS:
                        times[name].append(1e6 * spent)
    finally:
        gc.enable()
    return Row(
        device,
        transfer.direction,
        transfer.nbytes,
        {name: statistics.median(each) for name, each in times.items()},
        {name: min(each) for name, each in times.items()},
        SCALAR_TARGET_US
        if transfer.direction == "scalar"
        else TARGET_RATIOS.get((transfer.direction, transfer.nbytes)),
    )


def run(rounds: int = 15, sizes: tuple[int, ...] = SIZES) -> list[Row]:
    """Measure the adapter that the WebGPU backend takes; no rows where there is none."""
    from tenferro_wgpu.backends.webgpu.device import adapters, choose_adapter

    try:
        info, adapter = choose_adapter(adapters(), os.environ.get("TENFERRO_ADAPTER"))
        plain = Plain(adapter)
    except (tw.errors.NoAdapterError, RuntimeError) as error:
        leave_out(str(error))
        return []
    rows = []
    with tw.EagerRuntime("webgpu") as runtime:
        transfers: list[Callable[[], Transfer]] = [
            partial(scalar, runtime, plain),
            partial(many, runtime, plain),
        ]
        for size in sizes:
            transfers += [partial(each, runtime, plain, size) for each in (upload, download)]
        for make in transfers:
            rows.append(measure(info.name, make(), rounds))
    return rows


def as_text(rows: list[Row]) -> str:
    """The rows as a table with a legend."""
    names = list(dict.fromkeys(name for row in rows for name in row.median_us))
    header = ["transfer", "bytes"]
    header += [f"{name} us" for name in names] + ["ours GB/s", "x wgpu-py", "target", "result"]
    lines = [header]
    for row in rows:
        cells = [f"{row.median_us[name]:.1f}" if name in row.median_us else "" for name in names]
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
        rate = row.nbytes / row.median_us["ours"] / 1e3
        unit = " us" if row.direction == "scalar" else " x"
        target = "" if row.target is None else f"{row.target:g}{unit}"
        lines.append(
            [row.direction, f"{row.nbytes:,}", *cells, f"{rate:.2f}", ratio, target, row.verdict]
        )
    device = rows[0].device if rows else "no adapter"
    return "\n".join([f"Transfers on {device}, medians", aligned(lines, 1), LEGEND])
