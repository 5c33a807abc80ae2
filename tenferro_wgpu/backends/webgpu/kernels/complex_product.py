"""Products of complex matrices as products of real ones, with all their tiles.

contraction.py asks here first.  A complex matrix whose rows are runs of memory is a real one with
twice as many columns: re, im, re, im, ...  Its product with the other matrix, in which each row is
followed by i times the row (shaders/matmul/turned_rows.wgsl.j2) and which is read as real numbers
too, is the complex product, parts side by side.  So the kernels of float32 and float64 do it,
which the elements of complex matrices, as vectors, cannot use: four times as fast.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tenferro_wgpu.backends.webgpu.commands import Pipeline
from tenferro_wgpu.backends.webgpu.dialects import Dialect
from tenferro_wgpu.backends.webgpu.kernels.contraction_plan import Matrices, Operand
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    WORKGROUP,
    Launcher,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.strides import MAX_COUNT, words

__all__ = ["TurnedRows", "as_real", "is_real_product", "turned_rows"]

#: Multiplications of complex numbers from which on the real kernels pay: those of software float64
#: take longer to compile.
FEWEST_PRODUCTS = {"c64": 1, "c128n": 1, "c128s": 1 << 16}
#: Rows of the product from which on turned rows are read often enough.
FEWEST_ROWS = 8
#: Columns from which on a tile is filled.
FEWEST_COLUMNS = 4


@dataclass(frozen=True)
class TurnedRows:
    """The dispatch that turns the rows of y; `nbytes` of its result."""

    pipeline: Pipeline
    params: bytes
    workgroups: tuple[int, int, int]
    nbytes: int


def is_real_product(T: Dialect, work: Matrices) -> bool:
    """Whether the product of matrices of dialect `T` is done in real numbers."""
    largest = max(work.k * work.n, work.m * work.n, work.m * work.k)
    return (
        T.name in FEWEST_PRODUCTS
        and work.batches * work.m * work.n * work.k >= FEWEST_PRODUCTS[T.name]
        and work.m >= FEWEST_ROWS
        and work.n >= FEWEST_COLUMNS
        and not any((*work.x.runs, *work.y.runs))
        and 4 * work.batches * largest <= MAX_COUNT
    )


def as_real(work: Matrices) -> Matrices | None:
    """The matrices in real numbers, y with its rows turned; None where x must be copied first."""
    if work.x.depth != 1 and work.k > 1:
        return None
    x = Operand(2 * work.x.offset, 2 * work.x.batch, 2 * work.x.free, 1)
    y = Operand(0, 4 * work.k * work.n if work.y.batch else 0, 1, 2 * work.n)
    return replace(work, n=2 * work.n, k=2 * work.k, x=x, y=y)


def turned_rows(launcher: Launcher, work: Matrices, T: Dialect) -> TurnedRows:
    """Compile the kernel that turns the rows of y."""
    count = (work.batches if work.y.batch else 1) * work.k * work.n
    block = (
        0, count, work.n, work.k,
        work.y.offset, work.y.batch, work.y.depth, work.y.free,
    )  # fmt: skip
    pipeline = launcher.pipeline(
        "matmul/turned_rows",
        (T.name,),
        {"T": T},
        bindings=("read", "read_write"),
        params_words=len(block),
    )
    groups = launcher.groups(workgroup_count(count, WORKGROUP))
    params = words(block).ljust(pipeline.params_size, b"\0")
    return TurnedRows(pipeline, params, groups, 2 * count * 4 * T.words)
