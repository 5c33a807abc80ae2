"""Running sums, products, extrema and the like along one axis, by a work-efficient scan.

One template scans any function of the elements of operands of any layout: a single primitive is
the case without a function.  The backend calls `launch_scan`, fusion `launch_fused_scan`.

A long axis is cut into blocks: one dispatch combines each block to one element, the same kernel
scans those (and is cut in turn), and one more dispatch scans every block from where the blocks
before it end.  `plan_scan` decides, purely; the values are in shaders/scan.  Called by the
backend through the registry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from tenferro_wgpu.backends.webgpu.dialects import Dialect, dialect
from tenferro_wgpu.backends.webgpu.expressions import Expression
from tenferro_wgpu.backends.webgpu.kernels.elementwise import MAX_RANK
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    LONGEST_LOOP,
    WORKGROUP,
    Constant,
    Launcher,
    accesses,
    with_constants,
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
    """The dispatches of one scan; with `totals`, those come before and `inner` scans them.

    `bound` are the positions of the operands that are buffers, `constants` (position, byte offset
    of its bits in the params) those of the others.
    """

    values: _Launch
    bound: tuple[int, ...]
    constants: tuple[tuple[int, int], ...]
    totals: _Launch | None = None
    inner: _Scan | None = None


def _are_columns(layout: Layout, axis: int) -> bool:
    across = [
        abs(stride)
        for other, (extent, stride) in enumerate(zip(layout.shape, layout.strides, strict=True))
        if other != axis and extent > 1 and stride
    ]
    return bool(across) and min(across) < abs(layout.strides[axis])


@lru_cache(maxsize=64)
def plain_elements(name: str, count: int) -> Expression:
    """The elements of `count` operands of dialect `name`, as they are."""
    return Expression((name,) * count, (), tuple(range(count)))


def _prepare(
    launcher: Launcher,
    name: str,
    T: Dialect,
    elements: Expression,
    layouts: Sequence[Layout | None],
    shape: tuple[int, ...],
    axis: int,
    reverse: bool,
    of_totals: bool = False,
) -> _Scan:
    count = shape[axis]
    kept = [other for other in range(len(shape)) if other != axis]
    lines = prod(shape[other] for other in kept)
    contiguous = contiguous_layout(shape)
    every = [layout for layout in layouts if layout is not None] + [contiguous]
    extents, strides = coalesce(
        [shape[other] for other in kept], [[one.strides[other] for other in kept] for one in every]
    )
    if len(extents) > MAX_RANK:
        raise UnsupportedOperationError(
            name, backend="webgpu", hint=f"more than {MAX_RANK} separate axes; reshape to fewer"
        )
    # Elements that are computed are divided as if they had been stored.
    first = elements.outputs[0]
    held = layouts[first] if first < len(layouts) else None
    step = plan_scan(
        lines, count, columns=_are_columns(held or contiguous, axis), is_cpu=launcher.is_cpu,
        of_totals=of_totals,
    )  # fmt: skip
    params = [0, lines * step.blocks, lines, step.chunk, count, *extents]
    leaves: list[tuple[str, Dialect, int, int]] = []
    bound: list[int] = []
    constants: list[tuple[int, int]] = []
    walks = iter(zip(every, strides, strict=True))

    def walk() -> list[int]:
        layout, own = next(walks)
        stride, offset = layout.strides[axis], layout.offset
        if reverse:
            offset, stride = offset + (count - 1) * stride, -stride
        return [offset, stride, *own]

    for position, (held_in, layout) in enumerate(zip(elements.operands, layouts, strict=True)):
        L = dialect(held_in)
        if layout is None:
            leaves.append(("constant", L, -1, len(params)))
            constants.append((position, 4 * len(params)))
            params += [0] * L.constant_words
        else:
            leaves.append(("plain", L, len(bound), len(params)))
            bound.append(position)
            params += walk()
    result_word = len(params)
    params += walk()
    block = words(params)
    statements = elements.statements(isolated=False)

    def launch(mode: str, carried: bool) -> _Launch:
        structure = {
            "combiner": COMBINERS[name],
            "mode": mode,
            "carried": carried,
            "lanes": step.lanes,
            "outer_rank": len(extents),
        }
        results = len(elements.outputs) if mode == "totals" else 1
        pipeline = launcher.pipeline(
            "scan/scan",
            (T.name, *structure.values(), elements, tuple([leaf[0] for leaf in leaves])),
            {
                "T": T, **structure, "run": RUN, "block": BLOCK, "leaves": leaves,
                "bound": len(bound), "statements": statements, "elements": elements.outputs,
                "result_word": result_word,
            },
            bindings=accesses(len(bound) + carried, results),
            params_words=len(params),
            workgroup_size=WORKGROUP if step.lanes == 1 else step.lanes,
        )  # fmt: skip
        stored = lines * (step.blocks if mode == "totals" else count)
        nbytes = 4 * T.words * stored
        launcher.check_bindable(nbytes, name)
        params_block = block.ljust(pipeline.params_size, b"\0")
        return _Launch(pipeline, params_block, launcher.groups(step.workgroups), nbytes, results)

    if step.blocks == 1:
        return _Scan(launch("values", False), tuple(bound), tuple(constants))
    partial = (step.blocks, lines)
    totals = len(elements.outputs)
    inner = _prepare(
        launcher, name, T, plain_elements(T.name, totals), [contiguous_layout(partial)] * totals,
        partial, 0, False, True,
    )  # fmt: skip
    return _Scan(
        launch("values", True), tuple(bound), tuple(constants), launch("totals", False), inner
    )


def _run(launcher: Launcher, name: str, scan: _Scan, handles: Sequence[Any]) -> Buffer:
    sources = tuple([handles[position] for position in scan.bound])
    carry: tuple[Buffer, ...] = ()
    params = scan.values.params
    if scan.constants:
        params = with_constants(params, scan.constants, handles)
    if scan.totals is not None and scan.inner is not None:
        totals = _dispatch(launcher, name, scan.totals, sources, params)
        carry = (_run(launcher, name, scan.inner, totals),)
    return _dispatch(launcher, name, scan.values, (*sources, *carry), params)[0]


def _dispatch(
    launcher: Launcher, name: str, launch: _Launch, bindings: tuple[Buffer, ...], params: bytes
) -> tuple[Buffer, ...]:
    made = tuple(launcher.empty_buffer(launch.nbytes, name) for _ in range(launch.results))
    launcher.queue.dispatch(
        launch.pipeline, (*bindings, *made), params, launch.workgroups, name, made
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
    T = value_dialect(launcher, spec.dtype, name)
    elements = plain_elements(T.name, len(operands))
    return (launch_fused_scan(launcher, name, elements, operands, params, spec),)


def launch_fused_scan(
    launcher: Launcher,
    name: str,
    elements: Expression,
    leaves: tuple[Tensor, ...],
    params: Mapping[str, Any],
    spec: ShapeDtype,
    *,
    key: Any = None,
) -> Tensor:
    """Queue the scan of an element-wise function, which is computed as its elements are read.

    Values are those of the function stored first and scanned then, bit for bit.

    Args:
        launcher: of the backend that holds the operands.
        name: of the primitive, a key of `COMBINERS`.
        elements: maps one element of each leaf to one value, or to both of a recurrence.
        leaves: its operands: buffers with any layout of the result's shape, and constants (whose
            layout does not matter).  No handle is pending.
        params: "axis", and "reverse" for a scan from its end.
        spec: shape and dtype of the result, which has an element.
        key: what the prepared launches are stored under in ``launcher.plans``: it must tell
            apart name, function, params, and each operand's layout and type of handle.  By
            default it is built from them.

    Returns:
        A contiguous tensor.

    Raises:
        TensorTooLargeError: more elements than kernels can count or bind.
        UnsupportedOperationError: too many axes, or a function that a dialect lacks.
    """
    axis, reverse = params["axis"], bool(params.get("reverse", False))
    layouts = [None if type(leaf.handle) is Constant else leaf.layout for leaf in leaves]
    if key is None:
        key = (name, elements, axis, reverse, spec.shape, *layouts)
    scan = launcher.plan(key)
    if scan is None:
        check_counts(name, prod(spec.shape))
        T = value_dialect(launcher, spec.dtype, name)
        scan = _prepare(launcher, name, T, elements, layouts, spec.shape, axis, reverse)
        launcher.plans.store(key, scan)
    buffer = _run(launcher, name, scan, [leaf.handle for leaf in leaves])
    return Tensor(spec.dtype, contiguous_layout(spec.shape), buffer, launcher.backend)
