"""What a search for the fastest kernels found, as data: backends make it, users read it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TimedTile", "TunedProduct", "TuningReport"]


@dataclass(frozen=True)
class TimedTile:
    """One way to cut a matrix product, and the milliseconds it took."""

    tile: str
    milliseconds: float


@dataclass(frozen=True)
class TunedProduct:
    """A product that was tried: dtype, (batches, M, N, K), what was timed, and what was chosen."""

    dtype: str
    size: tuple[int, int, int, int]
    timed: tuple[TimedTile, ...]
    choice: str


@dataclass(frozen=True)
class TuningReport:
    """What `tune` did: ``print`` it for a table.

    Attributes:
        adapter: on which adapter.
        products: what was tried.
        seconds: how long it took.
        complete: False where time was up before everything was tried.
        path: the file that keeps the choices, or None where none could be written.
    """

    adapter: str
    products: tuple[TunedProduct, ...]
    seconds: float
    complete: bool
    path: str | None

    def __str__(self) -> str:
        lines = [f"{self.adapter}: {len(self.products)} products in {self.seconds:.1f} s"]
        for product in self.products:
            batches, m, n, k = product.size
            lines.append(f"{product.dtype} {batches} x ({m} x {k}) ({k} x {n})")
            for each in product.timed:
                mark = "*" if each.tile == product.choice else " "
                lines.append(f"  {mark} {each.milliseconds:10.3f} ms  {each.tile}")
        if not self.complete:
            lines.append("time was up before everything was tried")
        lines.append("not kept" if self.path is None else f"kept in {self.path}")
        return "\n".join(lines)
