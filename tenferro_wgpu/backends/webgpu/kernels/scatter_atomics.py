"""Scatters by 32-bit atomics, where the result does not depend on the order of the entries.

Sums of integers wrap, extrema are one of the elements, and the last of several entries is the one
of the largest number: all of them are the same in any order, so that nothing has to be sorted.
scattering.py calls this with the entries' rows; what it cannot do is sorted there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro_wgpu.backends.webgpu.dialects import Dialect
from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher, dispatch_items
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: Primitive -> WGSL's builtin.
ATOMICS = {"scatter_add": "atomicAdd", "scatter_min": "atomicMin", "scatter_max": "atomicMax"}


def atomic_form(name: str, T: Dialect) -> str | None:
    """How elements become numbers that atomics combine, or None where there is no way."""
    if name not in ATOMICS:
        return None
    if T.name == "f32" and name != "scatter_add":
        return "float"
    if T.words != 1 or T.dtype.kind not in "iu":
        return None
    return "narrow" if name == "scatter_add" and T.dtype.itemsize < 4 else "words"


def combine_by_atomics(
    launcher: Launcher,
    name: str,
    form: str,
    x: Tensor,
    updates: Buffer,
    pairs: Buffer,
    counts: tuple[int, int, int],
    segments: Sequence[tuple[str, int, int]],
) -> Tensor:
    """Queue a scatter of one of `ATOMICS`.

    Args:
        launcher: of the backend.
        name: of the primitive.
        form: see `atomic_form`.
        x: the target.
        updates: contiguous, a row for each entry.
        pairs: (row of the target, entry) of each entry; rows beyond the last are left out.
        counts: of the entries, of elements of an update row, of the target's rows.
        segments: axes of the target, merged; see `scattering.target_segments`.
    """
    T = launcher.dialect(x.dtype)
    atomic, kinds = ATOMICS[name], tuple([kind for kind, _, _ in segments])
    entries, columns, rows = counts
    extents = [number for _, extent, window in segments for number in (extent, window)]

    def run(step: str, reads: tuple[Buffer, ...], writes: Buffer, items: int) -> None:
        dispatch_items(
            launcher, "indexing/scatter_atomic", (step, form, T.name, atomic, kinds),
            {"pass": step, "form": form, "T": T, "atomic": atomic, "segments": kinds},
            reads, (writes,), (0, items, columns, rows, *extents), items, name,
        )  # fmt: skip

    if form == "words":
        (result,) = launch_elementwise(launcher, "copy", (x,), {}, (ShapeDtype(x.shape, x.dtype),))
        run("combine", (updates, pairs), result.handle, entries * columns)
        return result
    source = launcher.contiguous(x, name)
    numbers = launcher.empty_buffer(4 * x.size, name)
    run("begin", (source.handle,), numbers, x.size)
    run("combine", (updates, pairs), numbers, entries * columns)
    result = launcher.empty(ShapeDtype(x.shape, x.dtype), name)
    run("finish", (numbers,), result.handle, x.size)
    return result


def last_entries(launcher: Launcher, name: str, pairs: Buffer, entries: int, rows: int) -> Buffer:
    """Queue the search for the last entry of each row, counted from 1; 0 where there is none."""
    none = launcher.backend.scalar(0, np.dtype(np.uint32))
    zeros = none.with_layout(none.layout.broadcast_in_dim((rows,), ()))
    found: Buffer = launcher.contiguous(zeros, name).handle
    dispatch_items(
        launcher, "indexing/scatter_atomic", ("last",), {"pass": "last", "form": "words"},
        (pairs,), (found,), (0, entries, 0, rows), entries, name,
    )  # fmt: skip
    return found
