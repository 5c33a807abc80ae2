"""Moving elements from one layout to another: four at once, turned in blocks, or one by one.

`plan_movement` chooses, purely; `prepare_movement` compiles. structural.py calls it to place parts
into a whole, elementwise.py for copies. Nothing here computes with elements or knows primitives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, TypeAlias

from tenferro_wgpu.backends.webgpu.commands import Pipeline
from tenferro_wgpu.backends.webgpu.dialects import Dialect, dialect
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    BITS_DIALECTS,
    WORKGROUP,
    Launcher,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.strides import coalesce, words
from tenferro_wgpu.errors import UnsupportedOperationError
from tenferro_wgpu.layout import Layout, contiguous_layout

Scheme: TypeAlias = Literal["registers", "tile"]

#: Axes left after merging that the templates may walk; as of element-wise kernels.
MAX_RANK = 32
#: Elements of the plane of a transposition along and across, per workgroup.
SIDES: dict[Scheme, tuple[int, int]] = {"registers": (64, 16), "tile": (32, 32)}
#: The shortest side of a plane and the smallest plane for which blocks pay.
SHORTEST_SIDE = 8
SMALLEST_PLANE = 1024
#: The shortest run of words for which copying fours that are not aligned pays.
SHORTEST_RUN = 16


@dataclass(frozen=True)
class Movement:
    """A dispatch that moves elements.

    Attributes:
        template: "structural/place" or "structural/transpose".
        structure: what the template is rendered with, besides the dialect.
        bits: dialect of the elements.
        words: the params block.
        workgroups: not yet folded.
        workgroup_size: invocations of each.
    """

    template: str
    structure: tuple[tuple[str, Any], ...]
    bits: str
    words: tuple[int, ...]
    workgroups: int
    workgroup_size: int


def plan_movement(
    source: Layout, destination: Layout, bits: str, *, is_cpu: bool, operation: str
) -> Movement:
    """Plan the copy of a non-empty `source` into `destination`, a layout of the same shape.

    Args:
        source, destination: in elements of the dialect.
        bits: dialect of one element: "u32", "i64s" or "c128s".
        is_cpu: whether the device is a software renderer.
        operation: named by the error.

    Raises UnsupportedOperationError for too many axes.
    """
    extents, (from_strides, to_strides) = coalesce(
        source.shape, (source.strides, destination.strides)
    )
    if len(extents) > MAX_RANK:
        raise UnsupportedOperationError(
            operation, backend="webgpu", hint=f"{len(extents)} separate axes; reshape to fewer"
        )
    turned = _transposition(
        extents, from_strides, to_strides, source.offset, destination.offset, bits, is_cpu
    )
    if turned is not None:
        return turned
    width, offsets = 1, (source.offset, destination.offset)
    if bits == "i64s" and extents and from_strides[-1] == to_strides[-1] == 1:
        # Neighbours of two words each are twice as many of one word each.
        pairs = (*extents[:-1], 2 * extents[-1])
        halves = [(*[2 * s for s in own[:-1]], 1) for own in (from_strides, to_strides)]
        if _are_quads(pairs, halves, [2 * offset for offset in offsets]):
            bits, extents, (from_strides, to_strides) = "u32", pairs, halves
            offsets = (2 * offsets[0], 2 * offsets[1])
    if bits == "u32" and _are_quads(extents, (from_strides, to_strides), offsets):
        width = 4
        extents = (*extents[:-1], extents[-1] // 4)
        from_strides = (*[stride // 4 for stride in from_strides[:-1]], 1)
        to_strides = (*[stride // 4 for stride in to_strides[:-1]], 1)
        offsets = (offsets[0] // 4, offsets[1] // 4)
    shift: tuple[int, ...] = ()
    if is_cpu and width == 1:
        found = _shifted(extents, from_strides, to_strides, offsets, bits)
        if found is not None:
            bits, width = "u32", 4
            extents, from_strides, to_strides, offsets, shift = found
    loads = prod(extents)
    return Movement(
        "structural/place",
        (("rank", len(extents)), ("width", width), ("shifted", bool(shift))),
        bits,
        (0, loads, *offsets, *extents, *from_strides, *to_strides, *shift),
        workgroup_count(loads),
        WORKGROUP,
    )


def _are_quads(
    extents: Sequence[int], strides: Sequence[Sequence[int]], offsets: Sequence[int]
) -> bool:
    """Whether runs of four neighbours start at multiples of four in all layouts."""
    return (
        bool(extents)
        and extents[-1] % 4 == 0
        and all(own[-1] == 1 and all(s % 4 == 0 for s in own[:-1]) for own in strides)
        and all(offset % 4 == 0 for offset in offsets)
    )


#: Extents, strides from and to, offsets, and the shift.
_Shifted: TypeAlias = tuple[
    tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, int], tuple[int, int]
]


def _shifted(
    extents: tuple[int, ...],
    from_strides: tuple[int, ...],
    to_strides: tuple[int, ...],
    offsets: tuple[int, int],
    bits: str,
) -> _Shifted | None:
    """Extents, strides, offsets and the shift of a copy of rows in fours that begin anywhere.

    None where elements are no runs of neighbours in both layouts, or these are short.  Software
    renderers load and store single elements nearly as slowly as four; what the first and last four
    of a row hold besides is read first.
    """
    if not extents or from_strides[-1] != 1 or to_strides[-1] != 1:
        return None
    each = dialect(bits).words
    run = each * extents[-1]
    own_from, own_to = ([each * step for step in own[:-1]] for own in (from_strides, to_strides))
    if run < SHORTEST_RUN or any(step % 4 for step in own_to):
        return None
    target, before = divmod(each * offsets[1], 4)
    if any(before + run > abs(step) for step in own_to):
        return None  # rows would share four that two invocations write
    return (
        (*extents[:-1], -(-(before + run) // 4)),
        (*own_from, 4),
        (*[step // 4 for step in own_to], 1),
        (each * offsets[0], target),
        (before, run),
    )


def _transposition(
    extents: tuple[int, ...],
    from_strides: tuple[int, ...],
    to_strides: tuple[int, ...],
    from_offset: int,
    to_offset: int,
    bits: str,
    is_cpu: bool,
) -> Movement | None:
    """The movement in blocks, where the unit strides are those of two different, long axes."""
    if 1 not in from_strides or 1 not in to_strides:
        return None
    across, along = from_strides.index(1), to_strides.index(1)
    long, wide = extents[along], extents[across]
    if along == across or min(long, wide) < SHORTEST_SIDE or long * wide < SMALLEST_PLANE:
        return None
    # A tile of four words each would be larger than workgroup memory.
    scheme: Scheme = "registers" if is_cpu or bits == "c128s" else "tile"
    batch = [axis for axis in range(len(extents)) if axis not in (across, along)]
    own_from = [from_strides[along], *[from_strides[axis] for axis in batch]]
    own_to = [to_strides[across], *[to_strides[axis] for axis in batch]]
    may_pack = scheme == "registers" and bits == "u32"
    quads_in = may_pack and wide % 4 == 0 and not any(s % 4 for s in (from_offset, *own_from))
    quads_out = may_pack and long % 4 == 0 and not any(s % 4 for s in (to_offset, *own_to))
    if quads_in:
        from_offset, own_from = from_offset // 4, [stride // 4 for stride in own_from]
    if quads_out:
        to_offset, own_to = to_offset // 4, [stride // 4 for stride in own_to]
    side_along, side_across = SIDES[scheme]
    places_across = -(-wide // side_across)
    places = -(-long // side_along) * places_across
    workgroups = places * prod(extents[axis] for axis in batch)
    return Movement(
        "structural/transpose",
        (
            ("scheme", scheme), ("batch", len(batch)),
            ("quads_in", quads_in), ("quads_out", quads_out),
        ),
        bits,
        (
            0, long, wide, places, places_across,
            from_offset, own_from[0], to_offset, own_to[0], workgroups,
            *[extents[axis] for axis in batch], *own_from[1:], *own_to[1:],
        ),
        workgroups,
        WORKGROUP if scheme == "registers" else 256,
    )  # fmt: skip


#: Pipeline, params and workgroups of a movement.
Prepared: TypeAlias = tuple[Pipeline, bytes, tuple[int, int, int]]


def prepare_movement(
    launcher: Launcher, bits: Dialect, source: Layout, destination: Layout, operation: str
) -> Prepared:
    """Pipeline, params and workgroups of the copy of a buffer's elements into another buffer.

    The pipeline reads binding 0 and writes binding 1.  Neither layout is empty; no two elements
    of the destination coincide.
    """
    return _compiled(
        launcher,
        plan_movement(source, destination, bits.name, is_cpu=launcher.is_cpu, operation=operation),
    )


def prepare_copy(
    launcher: Launcher, words_each: int, source: Layout, operation: str
) -> Prepared | None:
    """`prepare_movement` into C order, or None where an element-wise kernel is as good.

    That is everywhere but for transpositions, and words four at a time that elements are not.
    """
    bits = BITS_DIALECTS[words_each]
    plan = plan_movement(
        source, contiguous_layout(source.shape), bits, is_cpu=launcher.is_cpu, operation=operation
    )
    is_shifted = ("shifted", True) in plan.structure
    if plan.template == "structural/place" and plan.bits == bits and not is_shifted:
        return None
    return _compiled(launcher, plan)


def _compiled(launcher: Launcher, plan: Movement) -> Prepared:
    pipeline = launcher.pipeline(
        plan.template,
        (plan.bits, *plan.structure),
        {"T": dialect(plan.bits), **dict(plan.structure)},
        bindings=("read", "read_write"),
        params_words=len(plan.words),
        workgroup_size=plan.workgroup_size,
    )
    params = words(plan.words).ljust(pipeline.params_size, b"\0")
    return pipeline, params, launcher.groups(plan.workgroups)
