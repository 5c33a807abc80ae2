"""Orders of rows, binary searches and permutations.

Elements become records: keys of unsigned words whose order is that of the elements (a float's
bits with the sign's flipped, all bits of a negative one; cf. Knuth, The Art of Computer
Programming 3, 5.2.5, and Herf's note on radix sorting floats), and the element's number. Short
rows, any number of them at once, are merged; long ones are sorted by the digits of their keys,
the least significant first, and by the number of their row at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro_wgpu.backends.webgpu.kernels.launch import (
    Launcher,
    dispatch_items,
)
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.sorting import merge_rows, sort_by_digits
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: The longest rows that are merged rather than sorted by digits, and the longest where the rows
#: together have so few elements (measured: 1000 rows of 1000 take 0.32 s merged, 0.2 s by digits).
LONGEST_MERGED_ROW = 256
MOST_MERGED = 2048
_ALL_ONES = 0xFFFFFFFF


@dataclass(frozen=True)
class Keys:
    """How elements of a dtype become keys.

    Attributes:
        kind: "unsigned", "signed", "float" or "complex".
        bits: of an integer, a float or a part of a complex number.
        largest: the largest value of each word of a key, the most significant first.
    """

    kind: str
    bits: int
    largest: tuple[int, ...]

    @property
    def words(self) -> int:
        """Words of a key."""
        return len(self.largest)


def keys_of(dtype: np.dtype[Any]) -> Keys:
    """The keys of a dtype: 16-bit types have keys of 16 bits, bools of one."""
    bits = 8 * dtype.itemsize
    if dtype.kind == "c":
        part = bits // 2
        return Keys("complex", part, (3, *[_ALL_ONES] * (part // 16)))
    if dtype.kind == "b":
        return Keys("unsigned", 1, (1,))
    kind = {"u": "unsigned", "i": "signed", "f": "float"}[dtype.kind]
    if bits == 64:
        return Keys(kind, bits, (_ALL_ONES, _ALL_ONES))
    return Keys(kind, bits, ((1 << bits) - 1,))


@kernel("argsort")
def launch_argsort(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """The stable order of each row of a matrix, as int64."""
    (x,) = operands
    result = launcher.empty(outputs[0], name)
    count = result.size
    if count == 0:
        return (result,)
    row = x.shape[-1]
    keys = keys_of(x.dtype)
    records = _records(launcher, name, x, keys, params["descending"])
    if row <= LONGEST_MERGED_ROW or count <= MOST_MERGED:
        records, stride = merge_rows(launcher, records, keys.words, count, row, name), keys.words
    else:
        records, stride = _sorted(launcher, name, records, keys, count, row), 1
    dispatch_items(
        launcher, "ordering/order", (stride,), {"words": stride}, (records,), (result.handle,),
        (0, count, row), count, name,
    )  # fmt: skip
    return (result,)


@kernel("sort")
def launch_sort(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Each row of a matrix in stable order, as a whole, whichever places are asked for."""
    (spec,) = outputs
    order = (ShapeDtype(spec.shape, np.dtype(np.int64)),)
    orders = launch_argsort(launcher, name, operands, params, order)
    return launch_permute(launcher, "permute", (operands[0], *orders), {}, outputs)


def _records(
    launcher: Launcher, name: str, x: Tensor, keys: Keys, descending: bool = False
) -> Buffer:
    """Queue the making of records, in the order of the elements."""
    check_counts(name, x.size * (keys.words + 1))
    elements = launcher.buffer(launcher.contiguous(x, name))
    records = launcher.empty_buffer(4 * (keys.words + 1) * x.size, name)
    context = {"kind": keys.kind, "bits": keys.bits, "words": keys.words}
    dispatch_items(
        launcher, "ordering/keys", (keys.kind, keys.bits), context, (elements,), (records,),
        (0, x.size, _ALL_ONES if descending else 0), x.size, name,
    )  # fmt: skip
    return records


def _sorted(
    launcher: Launcher, name: str, records: Buffer, keys: Keys, count: int, row: int
) -> Buffer:
    """Queue the sort by digits; returns pairs of which the second words are the sorted elements."""
    passes = [("key", word, keys.largest[word]) for word in reversed(range(keys.words))]
    if count > row:
        passes.append(("row", 0, count // row - 1))
    pairs = records if keys.words == 1 else None
    for source, word, largest in passes:
        if pairs is None or source == "row" or keys.words > 1:
            reads = (records,) if source == "key" else ()
            structure = "first"
            if pairs is not None:
                reads, structure = (*reads, pairs), "next"
            result = launcher.empty_buffer(8 * count, name)
            dispatch_items(
                launcher, "ordering/pairs", (structure, source, keys.words, word),
                {"pass": structure, "source": source, "words": keys.words, "word": word},
                reads, (result,), (0, count, row), count, name,
            )  # fmt: skip
            pairs = result
        pairs = sort_by_digits(launcher, pairs, count, largest, name)
    assert pairs is not None, "a key has at least one word"
    return pairs


@kernel("permute", "unpermute")
def launch_permute(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """The elements of each row from (or to) the columns that an int64 order says."""
    x, order = (launcher.contiguous(operand, name) for operand in operands)
    result = launcher.empty(outputs[0], name)
    if result.size:
        bits = launcher.bits_dialect(x.dtype)
        structure = "from" if name == "permute" else "to"
        dispatch_items(
            launcher, "ordering/permute", (structure, bits.name), {"pass": structure, "T": bits},
            (launcher.buffer(x), launcher.buffer(order)), (result.handle,),
            (0, result.size, result.shape[1]), result.size, name,
        )  # fmt: skip
    return (result,)


@kernel("searchsorted")
def launch_searchsorted(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Places of values in a sorted vector, as int64."""
    x, values = operands
    result = launcher.empty(outputs[0], name)
    if result.size:
        keys = keys_of(x.dtype)
        found = _records(launcher, name, values, keys)
        # A binding cannot be empty; nothing is read where there is nothing to search.
        known = _records(launcher, name, x, keys) if x.size else found
        side = params["side"]
        dispatch_items(
            launcher, "ordering/search", (side, keys.words), {"side": side, "words": keys.words},
            (known, found), (result.handle,), (0, result.size, x.size), result.size, name,
        )  # fmt: skip
    return (result,)
