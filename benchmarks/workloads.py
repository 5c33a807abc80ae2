"""What is measured: programs, their inputs, and how many kernels they may take on WebGPU.

Pure data.  How a library says each program is in its worker, in `peers/`; which targets the rows
belong to is in `targets`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["SCALES", "Workload", "catalogue", "float64_workloads", "training_step"]

Array = np.ndarray[Any, Any]

#: "full" is what is measured; "tiny" has every program at sizes that tests can afford.
SCALES = ("full", "tiny")

STEPS = 8
LAYERS = (784, 256, 128, 10)
RATE = 0.05
#: Backends of ours and libraries that work on the processor; the rest are on a WebGPU adapter.
EVERYWHERE = frozenset({"cpu", "webgpu"})
#: The most kernels for exp(sin(x))*x+1 and for 100 additions.
ELEMENTWISE = {"dispatches": 1}
ADDS = {"dispatches": 2}


@dataclass(frozen=True)
class Workload:
    """One program at one size.

    Attributes:
        name: for tables.
        kind: the program's name in the workers.
        arrays: makes the inputs, the same ones each time.
        parameters: further arguments of the program.
        most: upper bounds of what our runtime may count for one step on WebGPU.
        tolerance: how far a result may be from NumPy's, relative to the largest value: sums and
            products are added in another order.
        places: "cpu", "webgpu" or both.
    """

    name: str
    kind: str
    arrays: Callable[[], list[Array]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    tolerance: float = 1e-3
    places: frozenset[str] = EVERYWHERE


def short(number: int) -> str:
    """1M, 4k, 24: a number of elements in few characters."""
    for unit, letter in ((1_000_000, "M"), (1000, "k")):
        if number >= unit and number % unit == 0:
            return f"{number // unit}{letter}"
    return str(number)


def normal(*shape: int, dtype: str = "float32", shift: float = 0.0) -> Callable[[], list[Array]]:
    """Makes one array of normal numbers around `shift`."""
    return lambda: [(np.random.default_rng(0).standard_normal(shape) + shift).astype(dtype)]


def pair(left: tuple[int, ...], right: tuple[int, ...], dtype: str = "float32") -> Any:
    """Makes two arrays of normal numbers."""

    def arrays() -> list[Array]:
        rng = np.random.default_rng(0)
        return [rng.standard_normal(shape).astype(dtype) for shape in (left, right)]

    return arrays


def product(left: tuple[int, ...], right: tuple[int, ...], most: int) -> Workload:
    """A matrix product, batched or not."""
    name = " @ ".join("x".join(map(str, shape)) for shape in (left, right))
    return Workload(f"matmul {name}", "matmul", pair(left, right), {}, {"dispatches": most})


def training_step(batch: int, layers: tuple[int, ...] = LAYERS, most: int = 36) -> Workload:
    """A classifier's loss, gradients and update, and the loss read: ReLU, cross-entropy, SGD."""

    def arrays() -> list[Array]:
        rng = np.random.default_rng(1)
        inputs = rng.standard_normal((batch, layers[0]), dtype=np.float32)
        targets = np.eye(layers[-1], dtype=np.float32)[rng.integers(layers[-1], size=batch)]
        made = [inputs, targets]
        for width, following in zip(layers, layers[1:], strict=False):
            weights = rng.standard_normal((width, following), dtype=np.float32)
            made += [weights / np.float32(width**0.5), np.zeros(following, np.float32)]
        return made

    name = f"training step, MLP {'-'.join(map(str, layers))}, batch {batch}"
    return Workload(name, "mlp", arrays, {"rate": RATE}, {"dispatches": most})


def chain(size: int, gradient: bool, most: int) -> Workload:
    """Eight times t = tanh(t*a + b), and with `gradient` the derivative of its sum."""
    parameters = {"steps": STEPS, "a": 0.9, "b": 0.1}
    kind = "tanh_chain_grad" if gradient else "tanh_chain"
    label = f"8 x tanh(t*a+b), {short(size)}" + (", and backward" if gradient else "")
    return Workload(label, kind, normal(size), parameters, {"dispatches": most})


def gradient_of_sum(operation: str, shape: tuple[int, ...], most: int) -> Workload:
    """Both gradients of the sum of one operation's result."""
    label = f"grad_sum_{operation} {'x'.join(map(str, shape))}"
    arrays = pair(shape, shape)
    return Workload(label, "grad_sum", arrays, {"operation": operation}, {"dispatches": most})


def convolution(channels: int, places: int, depthwise: bool) -> Workload:
    """3 x 3 windows over an image, then a bias and ReLU; `depthwise`: each channel by itself."""

    def arrays() -> list[Array]:
        rng = np.random.default_rng(2)
        shapes = (
            (1, channels, places + 2, places + 2),
            (channels, 1 if depthwise else channels, 3, 3),
            (channels, 1, 1),
        )
        return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]

    name = f"conv 3x3, {channels} channels of {places}x{places}"
    name += ", depthwise" if depthwise else ""
    return Workload(name, "conv", arrays, {"depthwise": depthwise}, {"dispatches": 1})


def catalogue(scale: str = "full") -> list[Workload]:
    """Every workload in float32, at the sizes that `scale` names (see `SCALES`)."""
    full = {"full": True, "tiny": False}[scale]
    line, side, long, batch, cube = (
        (1_000_000, 2048, 4096, 1024, 64) if full else (1000, 24, 48, 4, 8)
    )
    square = normal(side, side, shift=1.0)
    rows = [
        Workload(f"exp(sin(x))*x+1, {short(line)}", "elementwise", normal(line), {}, ELEMENTWISE),
        Workload(f"sum of rows, {side}x{side}", "sums", square, {"axis": 1}, {"dispatches": 2}),
        Workload(f"sum of columns, {side}x{side}", "sums", square, {"axis": 0}, {"dispatches": 2}),
        Workload(f"sum of all, {side}x{side}", "total", square, {}, {"dispatches": 3}),
        *(product((n, n), (n, n), 2) for n in ((256, 512, 1024) if full else (32,))),
        product((cube,) * 3, (cube,) * 3, 2),
        product((1, long), (long, long), 3),
        Workload("100 dependent adds of 1024", "adds", normal(1024), {"count": 100}, ADDS),
        training_step(128 if full else 8),
        Workload("read a scalar after x+1", "read", normal(), {}, {"dispatches": 1}),
    ]
    for size in (1000, line) if full else (100,):
        rows += [chain(size, False, 2), chain(size, True, 4)]
    for operation, most in (("add", 1), ("mul", 2), ("exp", 2), ("matmul", 4)):
        rows += [gradient_of_sum(operation, (n, n), most) for n in (2, 32)]
    rows.append(gradient_of_sum("matmul", (batch, 16, 16), 4))
    channels, places = (64, 56) if full else (3, 9)
    rows += [convolution(channels, places, depthwise) for depthwise in (False, True)]
    return [
        *rows,
        Workload(f"sort, {short(line)}", "sort", normal(line)),
        Workload(f"cumsum(x*x), {short(line)}", "cumsum", normal(line), {}, {"dispatches": 3}),
        Workload(f"x[x > 0], {short(line)}", "mask", normal(line), {}, {"dispatches": 7}),
    ]


def float64_workloads(scale: str = "full") -> list[tuple[Workload, Workload]]:
    """The same program in float64 and in float32: two operations, a sum, a product."""
    line, side, extent = (1_000_000, 2048, 512) if scale == "full" else (1000, 24, 16)

    def made(dtype: str) -> list[Workload]:
        tolerance = 1e-12 if dtype == "float64" else 1e-3
        square = ((extent, extent),) * 2
        return [
            Workload(
                f"x+x, {short(line)}, {dtype}", "double", normal(line, dtype=dtype), {},
                {"dispatches": 1}, tolerance,
            ),
            Workload(
                f"x*x, {short(line)}, {dtype}", "square", normal(line, dtype=dtype), {},
                {"dispatches": 1}, tolerance,
            ),
            Workload(
                f"sum of all, {side}x{side}, {dtype}", "total",
                normal(side, side, dtype=dtype, shift=1), {}, {"dispatches": 4}, tolerance,
            ),
            Workload(
                f"matmul {extent}x{extent}, {dtype}", "matmul", pair(*square, dtype=dtype), {},
                {"dispatches": 3}, tolerance,
            ),
        ]  # fmt: skip

    return list(zip(made("float64"), made("float32"), strict=True))
