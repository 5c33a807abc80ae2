"""The search for the fastest tile of a product, on the device, by running candidates.

`tune` serves `tw.tune()`; `start_tuning` puts choices kept from earlier runs in a device's table
and switches the search before large products on. Files are tuning.py's matter, tiles
contraction_tiles.py's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tenferro_wgpu.backends.tuning_report import TimedTile, TunedProduct, TuningReport
from tenferro_wgpu.backends.webgpu import tuning
from tenferro_wgpu.backends.webgpu.dialects import Dialect
from tenferro_wgpu.backends.webgpu.kernels.contraction_plan import Matrices, Operand
from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import Size, Tile, TileTable
from tenferro_wgpu.errors import TenferroError
from tenferro_wgpu.tensor import ShapeDtype, Tensor

if TYPE_CHECKING:
    from tenferro_wgpu.backends.webgpu.device import Device
    from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher

__all__ = ["COMMON_SIZES", "start_tuning", "tune"]

#: Batches, M, N and K of the products that `tw.tune()` tries: squares, a layer of a network on a
#: small batch, many small matrices.
COMMON_SIZES = (
    Size(1, 256, 256, 256),
    Size(1, 1024, 1024, 1024),
    Size(1, 128, 256, 784),
    Size(64, 64, 64, 64),
    Size(1, 4096, 4096, 4096),
)
#: A renderer takes seconds for more multiplications than this.
MOST_WORK_ON_CPU = 1 << 31
#: Seconds of a search before a large product, and of one candidate after its first run.
LAZY_SECONDS = 1.0
CANDIDATE_SECONDS = 0.1
MOST_REPEATS = 10


def start_tuning(device: Device, table: TileTable) -> None:
    """Where tuning is on, take choices kept from earlier runs and search before large products."""
    if not tuning.is_on(device):
        return
    for (dialect, bucket), tile in tuning.load(device).items():
        if _could_be_chosen(table, dialect, tile):
            table.measured[dialect, bucket] = tile
    table.search = search_once


def _could_be_chosen(table: TileTable, dialect: str, tile: Tile) -> bool:
    """Whether a tile from a file is one that a search on this adapter might have found."""
    words = 2 if "64" in dialect else 1
    sizes = (*COMMON_SIZES, Size(1, 1, 4096, 4096), Size(1, 8, 8, 8))
    return any(tile in table.candidates(size, dialect, words) for size in sizes)


def search_once(launcher: Launcher, size: Size, T: Dialect) -> None:
    """Measure the bucket of one large product for at most a second, and keep the result.

    A failure leaves the table as it is: the product is computed all the same.
    """
    from tenferro_wgpu.backends.webgpu.kernels.contraction import tile_table

    if launcher.queue.profile_hook is not None:
        return  # somebody profiles: the search would show up in that
    table = tile_table(launcher)
    # Whatever comes of it, there is one search for a bucket.
    table.measured[T.name, size.bucket] = table.default(size, T.name, T.words, contiguous_k=False)
    try:
        search(launcher, table, size, T, time.perf_counter() + LAZY_SECONDS)
    except TenferroError:
        return
    tuning.store(launcher.queue.device, table.measured)


def tune(
    launcher: Launcher, sizes: Sequence[Size], dialects: Sequence[Dialect], seconds: float
) -> TuningReport:
    """Measure products of these sizes, use the fastest tiles from now on, and keep them."""
    from tenferro_wgpu.backends.webgpu.kernels.contraction import tile_table

    table = tile_table(launcher)
    device = launcher.queue.device
    begin = time.perf_counter()
    deadline = begin + seconds
    found: list[TunedProduct] = []
    complete = True
    for T in dialects:
        for size in sizes:
            work = size.batches * size.m * size.n * size.k
            if (device.is_cpu and work > MOST_WORK_ON_CPU) or not _fits(launcher, size, T):
                continue
            if time.perf_counter() >= deadline:
                complete = False
                break
            found.append(search(launcher, table, size, T, deadline))
    launcher.plans.clear()
    path = tuning.store(device, table.measured) if found else None
    return TuningReport(
        device.name,
        tuple(found),
        time.perf_counter() - begin,
        complete,
        None if path is None else str(path),
    )


def _fits(launcher: Launcher, size: Size, T: Dialect) -> bool:
    largest = size.batches * max(size.m * size.k, size.k * size.n, size.m * size.n)
    return largest * 4 * T.words <= launcher.limits.max_storage_buffer_binding_size


def search(
    launcher: Launcher, table: TileTable, size: Size, T: Dialect, deadline: float
) -> TunedProduct:
    """Time candidates until all are measured or the deadline is over; the fastest is chosen."""
    x = _ones(launcher, size.batches * size.m * size.k, T)
    y = _ones(launcher, size.batches * size.k * size.n, T)
    work = Matrices(
        size.batches, size.m, size.n, size.k,
        Operand(0, size.m * size.k, size.k, 1), Operand(0, size.k * size.n, 1, size.n),
    )  # fmt: skip
    timed: list[tuple[float, Tile]] = []
    for tile in table.candidates(size, T.name, T.words):
        if timed and time.perf_counter() >= deadline:
            break
        timed.append((_time_of(launcher, _run_of(launcher, work, tile, T, (x, y))), tile))
    choice = min(timed, key=lambda each: each[0])[1]
    table.measured[T.name, size.bucket] = choice
    return TunedProduct(
        T.dtype_name,
        (size.batches, size.m, size.n, size.k),
        tuple(TimedTile(str(tile), 1e3 * seconds) for seconds, tile in timed),
        str(choice),
    )


def _ones(launcher: Launcher, size: int, T: Dialect) -> Tensor:
    """Operands without subnormals or NaN, on which arithmetic may be slow."""
    from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise

    one = launcher.backend.scalar(1, T.dtype)
    filled = one.with_layout(one.layout.broadcast_in_dim((size,), ()))
    return launch_elementwise(launcher, "copy", (filled,), {}, (ShapeDtype((size,), T.dtype),))[0]


def _run_of(
    launcher: Launcher, work: Matrices, tile: Tile, T: Dialect, operands: tuple[Tensor, Tensor]
) -> Callable[[], None]:
    """A call that queues the product once, without adding the parts of split sums."""
    from tenferro_wgpu.backends.webgpu.kernels.contraction import plan_with, prepare, tile_table

    kind = tile_table(launcher).adapter.kind
    launch = prepare(launcher, plan_with(work, tile, T, kind), T)
    product = launcher.empty_buffer(
        launch.plan.splits * work.batches * work.m * work.n * 4 * T.words, "tune"
    )
    buffers: Any = (*(launcher.buffer(each) for each in operands), product)

    def run() -> None:
        launcher.queue.dispatch(
            launch.pipeline, buffers, launch.params, launch.workgroups, "tune", (product,)
        )

    return run


def _time_of(launcher: Launcher, run: Callable[[], None]) -> float:
    """Seconds of one run: the least of several, by the device's clock where it has one."""
    queue = launcher.queue
    queue.settle()
    run()  # compiles
    queue.settle()
    ticks: list[int] = []
    least = float("inf")
    begin = time.perf_counter()
    before = queue.profile_hook
    queue.profile_hook = lambda _, duration: ticks.append(duration) if duration else None
    try:
        for _ in range(MOST_REPEATS):
            start = time.perf_counter()
            run()
            queue.settle()
            now = time.perf_counter()
            least = min(least, now - start)
            if now - begin > CANDIDATE_SECONDS:
                break
    finally:
        queue.profile_hook = before
    return min(ticks) * 1e-9 if ticks else least
