"""Sorting on the device: short rows of records, and (key, position) pairs of scatter and long rows.

Few are merged, many are sorted by the digits of their keys. Neither uses workgroup memory,
barriers or atomics, which software adapters execute slowly; both orders are total, so that the
result does not depend on the device's timing.
"""

from __future__ import annotations

from dataclasses import dataclass

from tenferro_wgpu.backends.webgpu.kernels.launch import (
    LONGEST_LOOP,
    Launcher,
    dispatch_items,
)
from tenferro_wgpu.backends.webgpu.memory import Buffer

#: Pairs of a block that one pass of the merge sort sorts by counting.
BLOCK = 32
#: The most pairs that are merged rather than sorted by digits.
MOST_MERGED = 2048
#: Bits of a digit, and chunks of pairs that the digit sort aims at: enough bits that few passes do,
#: few enough that there are few numbers to add up for each chunk.  A CPU has few invocations at a
#: time; a GPU needs many to hide the latency of its memory.
DIGIT_BITS, CHUNKS = 8, 256
DIGIT_BITS_ON_GPU, CHUNKS_ON_GPU = 5, 16384
#: The fewest pairs of a chunk.
SHORTEST_CHUNK = 64
#: Numbers that one invocation of a CPU adds up faster than three dispatches of many.
FEW_NUMBERS = 4096


def sort_runs(count: int) -> list[int]:
    """Length of the sorted runs before each pass over `count` pairs; 1 stands for none yet."""
    runs = [1]
    run = BLOCK
    while run < count:
        runs.append(run)
        run *= 2
    return runs


@dataclass(frozen=True)
class DigitSort:
    """How many pairs each invocation handles, the bits of a digit and the shift of each."""

    chunk: int
    chunks: int
    bits: int
    shifts: tuple[int, ...]

    @property
    def counters(self) -> int:
        """Numbers to add up in each pass."""
        return self.chunks << self.bits

    @property
    def segment(self) -> int:
        """Numbers that one invocation adds up."""
        return scan_segment(self.counters)


def plan_digit_sort(
    count: int, largest: int, chunks_wanted: int = CHUNKS, bits: int = DIGIT_BITS
) -> DigitSort:
    """Plan the sort of `count` pairs by keys up to `largest`.

    The longest loops are a chunk of pairs and the root of the counters.
    """
    shortest = max(SHORTEST_CHUNK, 1 << bits)  # with fewer, more is counted than moved
    chunk = min(max(shortest, -(-count // chunks_wanted)), LONGEST_LOOP // 2)
    chunks = -(-count // chunk)
    shifts = tuple(range(0, max(largest.bit_length(), 1), bits))
    return DigitSort(chunk, chunks, bits, shifts)


def scan_segment(count: int) -> int:
    """Numbers of a segment of a scan: a power of two whose square is not less than their count."""
    segment = 1
    while segment * segment < count:
        segment *= 2
    return segment


def sort_pairs(launcher: Launcher, buffer: Buffer, count: int, largest: int, name: str) -> Buffer:
    """Queue the stable sort of a buffer of `count` pairs of u32; returns that of the result.

    `largest` is the largest key, or any number above it: keys beyond it are equal to it.
    """
    if count <= MOST_MERGED:
        return merge_rows(launcher, buffer, 1, count, count, name)
    return sort_by_digits(launcher, buffer, count, largest, name)


def sort_by_digits(
    launcher: Launcher, buffer: Buffer, count: int, largest: int, name: str
) -> Buffer:
    """`sort_pairs` for pairs in any order: those with equal keys keep it."""
    if launcher.is_cpu:
        plan = plan_digit_sort(count, largest)
    else:
        plan = plan_digit_sort(count, largest, CHUNKS_ON_GPU, DIGIT_BITS_ON_GPU)
    for shift in plan.shifts:
        buffer = _sorted_by_digit(launcher, buffer, plan, count, shift, largest, name)
    return buffer


def merge_rows(
    launcher: Launcher, records: Buffer, words: int, count: int, row: int, name: str
) -> Buffer:
    """Queue the merge sort of `count` records in rows of `row`; returns the buffer of the result.

    A record is a key of `words` words, the most significant first, and a number, which decides
    between equal keys.
    """
    for run in sort_runs(row):
        structure = "block" if run == 1 else "merge"
        result = launcher.empty_buffer(4 * (words + 1) * count, name)
        dispatch_items(
            launcher, "ordering/merge", (structure, words),
            {"pass": structure, "words": words, "block": BLOCK}, (records,), (result,),
            (0, count, row, run), count, name,
        )  # fmt: skip
        records = result
    return records


def _sorted_by_digit(
    launcher: Launcher,
    buffer: Buffer,
    plan: DigitSort,
    count: int,
    shift: int,
    largest: int,
    name: str,
) -> Buffer:
    """Queue one pass of the digit sort."""
    digits = {"digits": 1 << plan.bits}
    params = (0, count, plan.chunks, plan.chunk, shift, largest)
    counts = launcher.empty_buffer(4 * plan.counters, name)
    dispatch_items(
        launcher, "indexing/sort_digits", ("count", plan.bits), {"pass": "count", **digits},
        (buffer,), (counts,), params, plan.chunks, name,
    )  # fmt: skip
    sum_before(launcher, counts, plan.counters, name)
    result = launcher.empty_buffer(8 * count, name)
    dispatch_items(
        launcher, "indexing/sort_digits", ("move", plan.bits), {"pass": "move", **digits},
        (buffer,), (result, counts), params, plan.chunks, name,
    )  # fmt: skip
    return result


def sum_before(launcher: Launcher, numbers: Buffer, count: int, name: str) -> None:
    """Queue the replacement of u32 numbers by the sums of those before them, in place."""
    if launcher.is_cpu and count <= FEW_NUMBERS:
        dispatch_items(
            launcher, "indexing/sums_before", ("between",), {"pass": "between"}, (), (numbers,),
            (0, count, count), 1, name,
        )  # fmt: skip
        return
    segment = scan_segment(count)
    segments = -(-count // segment)
    sums = launcher.empty_buffer(4 * segments, name)
    scan = (0, count, segment)
    for structure, reads, writes, block, invocations in (
        ("segments", (numbers,), (sums,), scan, segments),
        ("between", (), (sums,), (0, segments, segments), 1),
        ("within", (sums,), (numbers,), scan, segments),
    ):
        dispatch_items(
            launcher, "indexing/sums_before", (structure,), {"pass": structure}, reads, writes,
            block, invocations, name,
        )  # fmt: skip
