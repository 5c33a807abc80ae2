"""Convolutions and other products with references that are plain loops, or NumPy's functions.

Operands hold small whole numbers, so that every dtype has the exact result in any order of sums.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["CONVOLUTIONS", "PRODUCTS", "Convolution", "convolved", "small"]

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Convolution:
    """Shapes and options of one call of `conv`."""

    x: Shape
    kernel: Shape
    strides: Shape
    padding: tuple[tuple[int, int], ...]
    input_dilation: Shape
    kernel_dilation: Shape
    groups: int = 1

    @property
    def options(self) -> dict[str, Any]:
        """The keyword arguments."""
        return {
            "strides": self.strides, "padding": self.padding,
            "input_dilation": self.input_dilation, "kernel_dilation": self.kernel_dilation,
            "groups": self.groups,
        }  # fmt: skip


CONVOLUTIONS = {
    "one axis": Convolution((2, 3, 9), (4, 3, 3), (1,), ((0, 0),), (1,), (1,)),
    "one axis, one channel": Convolution((1, 1, 40), (1, 1, 7), (1,), ((3, 3),), (1,), (1,)),
    "a picture": Convolution((2, 3, 12, 11), (8, 3, 3, 3), (1, 1), ((1, 1),) * 2, (1, 1), (1, 1)),
    "strides": Convolution((1, 4, 9, 10), (5, 4, 3, 2), (2, 3), ((1, 0), (2, 1)), (1, 1), (1, 1)),
    "dilations": Convolution((2, 2, 5, 6), (3, 2, 3, 2), (1, 2), ((2, 1),) * 2, (2, 3), (2, 1)),
    "cropping": Convolution(
        (1, 2, 8, 7), (3, 2, 2, 2), (1, 1), ((-1, 2), (-2, -1)), (1, 1), (1, 1)
    ),
    "groups": Convolution((2, 4, 8, 7), (6, 2, 3, 2), (2, 1), ((1, 2), (0, 1)), (1, 1), (1, 2), 2),
    "every channel alone": Convolution(
        (3, 4, 9, 10), (4, 1, 3, 3), (1, 1), ((1, 1),) * 2, (1, 1), (1, 1), 4
    ),
    "many small images": Convolution(
        (7, 3, 5, 5), (9, 3, 3, 3), (1, 1), ((1, 1),) * 2, (1, 1), (1, 1)
    ),
    "many small images in groups": Convolution(
        (5, 4, 4, 4), (6, 2, 2, 2), (1, 1), ((0, 1),) * 2, (1, 1), (1, 1), 2
    ),
    "a volume": Convolution(
        (2, 2, 4, 5, 3), (3, 2, 2, 3, 2), (1, 2, 1), ((1, 0), (1, 1), (0, 1)), (1, 2, 1), (2, 1, 1)
    ),
    "no places": Convolution((1, 2, 2), (3, 2, 3), (1,), ((0, 0),), (1,), (1,)),
    "no channels": Convolution((1, 0, 5), (3, 0, 3), (1,), ((0, 0),), (1,), (1,)),
    "no images": Convolution((0, 2, 5), (3, 2, 3), (1,), ((0, 0),), (1,), (1,)),
}


def small(dtype: str, shape: Shape, seed: int = 0) -> Array:
    """Whole numbers from -3 (or 0) to 3; complex ones have two."""
    rng = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype)
    low = 0 if kind.kind == "u" else -3
    values = rng.integers(low, 4, shape)
    if kind.kind == "c":
        return (values + 1j * rng.integers(low, 4, shape)).astype(kind)
    return values.astype(kind)


def convolved(
    x: Array, kernel: Array, strides: Shape, padding: Any, input_dilation: Shape,
    kernel_dilation: Shape, groups: int = 1,
) -> Array:  # fmt: skip
    """A convolution, output by output."""
    extents = [
        n + max(n - 1, 0) * (a - 1) for n, a in zip(x.shape[2:], input_dilation, strict=True)
    ]
    spread = np.zeros((*x.shape[:2], *extents), x.dtype)
    inside: list[Any] = [slice(None), slice(None)]
    spread[tuple(inside + [slice(None, None, step) for step in input_dilation])] = x
    framed = np.pad(spread, [(0, 0), (0, 0), *((max(a, 0), max(b, 0)) for a, b in padding)])
    pairs = zip(padding, framed.shape[2:], strict=True)
    framed = framed[tuple(inside + [slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in pairs])]
    outputs, channels, *window = kernel.shape
    places = [
        max(0, (n - (k - 1) * apart - 1) // step + 1)
        for n, k, apart, step in zip(
            framed.shape[2:], window, kernel_dilation, strides, strict=True
        )
    ]
    result = np.zeros((x.shape[0], outputs, *places), x.dtype)
    for output in range(outputs):
        first = output // (outputs // groups) * channels
        for place in np.ndindex(*places):
            key = tuple(
                slice(at * step, at * step + (k - 1) * apart + 1, apart)
                for at, step, k, apart in zip(place, strides, window, kernel_dilation, strict=True)
            )
            seen = framed[(slice(None), slice(first, first + channels), *key)]
            products = (seen * kernel[output]).reshape(len(x), kernel[output].size)
            result[(slice(None), output, *place)] = products.sum(axis=1, dtype=x.dtype)
    return result


#: Programs of a namespace and three operands, of shapes (3, 4), (4, 3) and (5,).
PRODUCTS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "outer": lambda xp, a, b, c: xp.outer(a, c),
    "kron": lambda xp, a, b, c: xp.kron(a, b),
    "kron, vector": lambda xp, a, b, c: xp.kron(c, a),
    "inner": lambda xp, a, b, c: xp.inner(a, xp.permute_dims(b, (1, 0))),
    "inner, vectors": lambda xp, a, b, c: xp.inner(c, c),
    "inner, scalar": lambda xp, a, b, c: xp.inner(a, c[0]),
    "dot": lambda xp, a, b, c: xp.dot(a, b),
    "dot, stacks": lambda xp, a, b, c: xp.dot(a[:, None], xp.stack([b, b])),
    "dot, vector": lambda xp, a, b, c: xp.dot(b, a[:, 0]),
    "dot, scalar": lambda xp, a, b, c: xp.dot(c[1], a),
    "cross": lambda xp, a, b, c: xp.cross(b, b[1]),
    "cross, axis": lambda xp, a, b, c: xp.cross(a, xp.flip(a), axis=0),
    "cross, broadcast": lambda xp, a, b, c: xp.cross(b[:, None], b[None]),
    "convolve": lambda xp, a, b, c: xp.convolve(c, a[0]),
    "convolve, longer": lambda xp, a, b, c: xp.convolve(a[0], c, "same"),
    "convolve, valid": lambda xp, a, b, c: xp.convolve(c, a[:2, 0], "valid"),
    "convolve, even": lambda xp, a, b, c: xp.convolve(c, a[0], "same"),
    "correlate": lambda xp, a, b, c: xp.correlate(c, a[0], "full"),
    "correlate, longer": lambda xp, a, b, c: xp.correlate(a[0], c, "same"),
    "correlate, same": lambda xp, a, b, c: xp.correlate(c, a[0], "same"),
    "correlate, valid": lambda xp, a, b, c: xp.correlate(c, a[:2, 0]),
    "tensordot": lambda xp, a, b, c: xp.tensordot(a, b, axes=((0, 1), (1, 0))),
    "vecdot": lambda xp, a, b, c: xp.vecdot(a, a[1]),
}
