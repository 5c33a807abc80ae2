"""Running sums, products, extrema and the like along one axis, by a work-efficient scan.

A long axis is cut into blocks: one dispatch combines each block to one element, the same kernel
scans those (and is cut in turn), and one more dispatch scans every block from where the blocks
before it end.  `plan_scan` decides, purely; the values are in shaders/scan.  Called by the
backend through the registry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tenferro_wgpu.backends.webgpu.dialects import Dialect
from tenferro_wgpu.backends.webgpu.kernels.elementwise import MAX_RANK
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    LONGEST_LOOP,
    WORKGROUP,
    Launcher,
    accesses,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.reduction import value_dialect
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts, coalesce, words
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.errors import UnsupportedOperationError
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

COMBINERS = {
    "cumulative_sum": "sum",
    "cumulative_prod": "prod",
    "cumulative_max": "max",
    "cumulative_min": "min",
    "cumulative_logsumexp": "logsumexp",
    "linear_recurrence": "recurrence",
}

#: Elements that are added before their sum joins the compensated total.
BLOCK = 32
#: Neighbours that a lane takes of each tile.
RUN = 8
#: Items of one invocation each on a software adapter, and their fewest elements.
ITEMS_CPU = 1024
SHORTEST_CPU = 256
#: The same elsewhere, where neighbouring lines are neighbours in memory.
COLUMN_ITEMS = 32768
SHORTEST_COLUMN = 64
#: Fewest lines for which neighbouring invocations take neighbouring lines.
FEWEST_COLUMNS = 32
#: Items of one workgroup each elsewhere, and the shortest lines for which they are worth it.
ROW_WORKGROUPS = 512
SHORTEST_ROW = 128
#: Elements along the axis that are not cut any more in a scan of totals.
MOST_TOTALS = 4096


@dataclass(frozen=True)
class ScanStep:
    """How the lines of a scan are divided: `lanes` invocations for each `chunk` of a line."""

    lines: int
    count: int
    chunk: int
    lanes: int

    @property
    def blocks(self) -> int:
        """Work items of a line."""
        return -(-self.count // self.chunk)

    @property
    def workgroups(self) -> int:
        """Workgroups of a dispatch, not yet folded."""
        items = self.lines * self.blocks
        return workgroup_count(items) if self.lanes == 1 else items


def plan_scan(
    lines: int, count: int, *, columns: bool, is_cpu: bool, of_totals: bool = False
) -> ScanStep:
    """Divide the scan of `lines` lines of `count` elements, at least one of each.

    Args:
        lines, count: extents.
        columns: whether neighbouring lines lie nearer to each other in memory than the elements
            of one.
        is_cpu: whether the device is a software renderer, where barriers are dear and one
            invocation per block is fastest.
        of_totals: whether the elements are totals of blocks, few and soon added.
    """
    lanes, shortest, wanted = 1, SHORTEST_CPU, ITEMS_CPU
    if not is_cpu and columns and lines >= FEWEST_COLUMNS:
        shortest, wanted = SHORTEST_COLUMN, COLUMN_ITEMS
    elif not is_cpu and count >= SHORTEST_ROW:
        lanes = 256 if count >= 256 * RUN else 64
        shortest, wanted = lanes * RUN, ROW_WORKGROUPS
    blocks = min(-(-wanted // lines), count // shortest)
    if of_totals and count <= MOST_TOTALS:
        blocks = 1
    # Half of the longest loop: the loop over blocks of a sum counts too.
    blocks = max(blocks, -(-2 * count // (LONGEST_LOOP * lanes)), 1)
    unit = BLOCK if lanes == 1 else lanes * RUN
    chunk = -(-count // blocks)
    return ScanStep(lines, count, -(-chunk // unit) * unit, lanes)


@dataclass(frozen=True)
class _Launch:
    """One prepared dispatch: its results are buffers of `nbytes` each."""

    pipeline: Any
    params: bytes
    workgroups: tuple[int, int, int]
    nbytes: int
    results: int


@dataclass(frozen=True)
class _Scan:
    """The dispatches of one scan; with `totals`, those come before and `inner` scans them."""

    values: _Launch
    totals: _Launch | None = None
    inner: _Scan | None = None


def _are_columns(layout: Layout, axis: int) -> bool:
    across = [
        abs(stride)
        for other, (extent, stride) in enumerate(zip(layout.shape, layout.strides, strict=True))
        if other != axis and extent > 1 and stride
    ]
    return bool(across) and min(across) < abs(layout.strides[axis])


def _prepare(
    launcher: Launcher,
    name: str,
    T: Dialect,
    layouts: Sequence[Layout],
    shape: tuple[int, ...],
    axis: int,
    reverse: bool,
    of_totals: bool = False,
) -> _Scan:
    count = shape[axis]
    kept = [other for other in range(len(shape)) if other != axis]
    lines = prod(shape[other] for other in kept)
    every = [*layouts, contiguous_layout(shape)]
    extents, strides = coalesce(
        [shape[other] for other in kept], [[one.strides[other] for other in kept] for one in every]
    )
    if len(extents) > MAX_RANK:
        raise UnsupportedOperationError(
            name, backend="webgpu", hint=f"more than {MAX_RANK} separate axes; reshape to fewer"
        )
    step = plan_scan(
        lines, count, columns=_are_columns(every[0], axis), is_cpu=launcher.is_cpu,
        of_totals=of_totals,
    )  # fmt: skip
    params = [0, lines * step.blocks, lines, step.chunk, count, *extents]
    places = []
    for layout, own in zip(every, strides, strict=True):
        places.append(len(params))
        stride, offset = layout.strides[axis], layout.offset
        if reverse:
            offset, stride = offset + (count - 1) * stride, -stride
        params += [offset, stride, *own]
    block = words(params)

    def launch(mode: str, carried: bool) -> _Launch:
        combiner = COMBINERS[name]
        structure = {
            "combiner": combiner,
            "mode": mode,
            "carried": carried,
            "lanes": step.lanes,
            "outer_rank": len(extents),
        }
        results = len(layouts) if mode == "totals" else 1
        pipeline = launcher.pipeline(
            "scan/scan",
            (T.name, *structure.values()),
            {
                "T": T, **structure, "run": RUN, "block": BLOCK, "sources": places[:-1],
                "result_word": places[-1],
            },
            bindings=accesses(len(layouts) + carried, results),
            params_words=len(params),
            workgroup_size=WORKGROUP if step.lanes == 1 else step.lanes,
        )  # fmt: skip
        stored = lines * (step.blocks if mode == "totals" else count)
        nbytes = 4 * T.words * stored
        launcher.check_bindable(nbytes, name)
        return _Launch(pipeline, block, launcher.groups(step.workgroups), nbytes, results)

    if step.blocks == 1:
        return _Scan(launch("values", False))
    partial = (step.blocks, lines)
    inner = _prepare(
        launcher, name, T, [contiguous_layout(partial)] * len(layouts), partial, 0, False, True
    )
    return _Scan(launch("values", True), launch("totals", False), inner)


def _run(launcher: Launcher, name: str, scan: _Scan, sources: tuple[Buffer, ...]) -> Buffer:
    carry: tuple[Buffer, ...] = ()
    if scan.totals is not None and scan.inner is not None:
        totals = _dispatch(launcher, name, scan.totals, sources)
        carry = (_run(launcher, name, scan.inner, totals),)
    return _dispatch(launcher, name, scan.values, (*sources, *carry))[0]


def _dispatch(
    launcher: Launcher, name: str, launch: _Launch, bindings: tuple[Buffer, ...]
) -> tuple[Buffer, ...]:
    made = tuple(launcher.empty_buffer(launch.nbytes, name) for _ in range(launch.results))
    launcher.queue.dispatch(
        launch.pipeline, (*bindings, *made), launch.params, launch.workgroups, name, made
    )
    return made


@kernel(*COMBINERS)
def launch_scan(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Running combination along `params["axis"]`, from its end if `params["reverse"]`.

    Raises:
        TensorTooLargeError: more elements than kernels can count or bind.
        UnsupportedOperationError: too many axes, or a function that the dialect lacks.
    """
    (spec,) = outputs
    if 0 in spec.shape:
        return (launcher.empty(spec, name),)
    axis, reverse = params["axis"], bool(params.get("reverse", False))
    layouts = [operand.layout for operand in operands]
    key = (name, axis, reverse, spec.dtype.num, *layouts)
    scan = launcher.plan(key)
    if scan is None:
        check_counts(name, prod(spec.shape))
        T = value_dialect(launcher, spec.dtype, name)
        scan = _prepare(launcher, name, T, layouts, spec.shape, axis, reverse)
        launcher.plans.store(key, scan)
    sources = tuple(launcher.buffer(operand) for operand in operands)
    buffer = _run(launcher, name, scan, sources)
    return (Tensor(spec.dtype, contiguous_layout(spec.shape), buffer, launcher.backend),)
