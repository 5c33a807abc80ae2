"""Random operands: a host array of any shape and dtype, seen through a chain of views.

The same chain is applied with NumPy and with our own operations, so a call meets strides of any
sign, strides of 0, offsets and empty axes, and its reference sees the same elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cases.values import ALL as ALL  # the makers take the dtypes from here
from cases.values import EVERY as EVERY
from cases.values import FLOATS as FLOATS
from cases.values import NUMBERS as NUMBERS
from cases.values import special

import tenferro_wgpu as tw

from .sources import Source

#: Elements of a base array at most: software adapters run every example.
MOST_ELEMENTS = 400
LONG_AXIS = 1031

Shape = tuple[int, ...]


@dataclass(frozen=True)
class View:
    """One step of a chain: its text, on the host and on a tensor."""

    text: str
    on_host: Callable[[np.ndarray], np.ndarray]
    on_tensor: Callable[[Any], Any]


@dataclass
class Operand:
    """A base array and the views through which a call sees it."""

    base: np.ndarray
    views: list[View] = field(default_factory=list)

    def host(self) -> np.ndarray:
        """The elements the call sees."""
        array = self.base
        for view in self.views:
            array = np.asarray(view.on_host(array))
        return array

    def on(self, runtime: Any) -> Any:
        """The tensor of a runtime that the call gets."""
        return self.viewed(runtime.constant_from(self.base))

    def viewed(self, x: Any) -> Any:
        """A tensor of the base array seen through the views."""
        for view in self.views:
            x = view.on_tensor(x)
        return x

    @property
    def shape(self) -> Shape:
        return self.host().shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __repr__(self) -> str:
        steps = "".join(view.text for view in self.views)
        if self.base.size > 40:
            return f"<{self.base.dtype} {self.base.shape}>{steps}"
        return f"np.array({self.base.tolist()}, {str(self.base.dtype)!r}){steps}"


def random_shape(source: Source, most_axes: int = 5) -> Shape:
    """A shape of up to `most_axes` axes, some of extent 0 or 1."""
    count = min(source.choice((1, 2, 2, 3, 0, 4, 5)), most_axes)
    # Now and then an axis that needs several workgroups, or several passes of a reduction.
    most = LONG_AXIS * 4 if source.chance(4) else MOST_ELEMENTS
    shape: Shape = ()
    for _ in range(count):
        extent = source.choice((2, 3, 1, 4, 5, 7, 0 if source.chance(40) else 2, 17))
        if most > MOST_ELEMENTS and LONG_AXIS not in shape:
            extent = LONG_AXIS
        shape += (extent if math.prod(shape) * extent <= most else 1,)
    return shape


def random_values(source: Source, shape: Shape, dtype: str, kind: str = "any") -> np.ndarray:
    """Elements of one kind.

    "small" numbers are whole and exact in every sum; "edges" are few, so that NaN, infinities and
    zeros of both signs meet each other; "any" is one of all kinds.
    """
    rng = source.generator()
    count = math.prod(shape)
    target = np.dtype(dtype)
    if kind == "any":
        kind = source.choice(("small", "moderate", "special", "bits", "edges"))
    if target.kind == "c":
        return _complex_values(source, shape, dtype, kind)
    if target.kind == "b":
        values = rng.integers(0, 2, count).astype(bool)
    elif kind == "small":
        low = -3 if target.kind != "u" else 0
        values = rng.integers(low, 4, count).astype(target)
    elif kind == "special":
        values = rng.choice(special(dtype), count)
    elif target.kind == "f" and kind == "edges":
        values = rng.choice(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], target), count)
    elif target.kind == "f" and kind == "moderate":
        values = (rng.standard_normal(count) * 3).astype(target)
    else:
        width = f"u{target.itemsize}"
        values = (
            rng.integers(0, 2 ** (8 * target.itemsize), count, np.uint64, False)
            if (target.itemsize < 8)
            else rng.integers(0, 2**64 - 1, count, np.uint64, True)
        )
        values = values.astype(width).view(target)
        if target.kind == "f":
            # Every NaN a quiet one: what C's functions make of signalling NaN is the platform's.
            values = np.where(np.isnan(values), np.array(np.nan, target), values)
    return _without_subnormals(values).reshape(shape)


def _complex_values(source: Source, shape: Shape, dtype: str, kind: str) -> np.ndarray:
    part = "float32" if dtype == "complex64" else "float64"
    values = np.empty(shape, dtype)
    values.real = random_values(source, shape, part, kind)
    values.imag = random_values(source, shape, part, kind)
    return values


def _without_subnormals(values: np.ndarray) -> np.ndarray:
    # WebGPU lets a device flush float32 subnormals, in operands as in results.
    if values.dtype != np.float32:
        return values
    tiny = (np.abs(values) < np.finfo(np.float32).tiny) & ~np.isnan(values)
    return np.where(tiny, np.copysign(np.float32(0), values), values)


def random_operand(
    source: Source,
    dtype: str,
    *,
    kind: str = "any",
    shape: Shape | None = None,
    most_axes: int = 5,
    most_views: int = 2,
) -> Operand:
    """An operand of a random shape through random views, or of exactly the given shape."""
    if shape is not None:
        return _of_shape(source, shape, dtype, kind)
    base = random_values(source, random_shape(source, most_axes), dtype, kind)
    operand = Operand(base)
    for _ in range(source.integer(0, most_views)):
        operand.views.append(random_view(source, operand.shape))
        if operand.ndim > most_axes:
            operand.views.pop()
    return operand


def _of_shape(source: Source, shape: Shape, dtype: str, kind: str) -> Operand:
    """An operand of the given shape: contiguous, permuted, cut out of a larger one or flipped."""
    layout = source.choice(("contiguous", "permuted", "cut", "flipped"))
    if layout == "permuted":
        order = source.permutation(len(shape))
        stored = tuple(shape[axis] for axis in order)
        operand = Operand(random_values(source, stored, dtype, kind))
        operand.views.append(permutation_view(tuple(np.argsort(order).tolist())))
        return operand
    if layout == "cut":
        larger = tuple(2 * extent + 1 for extent in shape)
        if math.prod(larger) <= 4 * MOST_ELEMENTS:
            key = tuple(slice(1, None, 2) for _ in shape)
            return Operand(random_values(source, larger, dtype, kind), [key_view(key)])
    operand = Operand(random_values(source, shape, dtype, kind))
    if layout == "flipped":
        operand.views.append(key_view(tuple(slice(None, None, -1) for _ in shape)))
    return operand


def permutation_view(order: Shape) -> View:
    return View(
        f".transpose({order})",
        lambda array: array.transpose(order),
        lambda x: tw.permute_dims(x, order),
    )


def key_view(key: Any) -> View:
    return View(f"[{key}]", lambda array: array[key], lambda x: x[key])


def broadcast_view(shape: Shape) -> View:
    return View(
        f".broadcast_to({shape})",
        lambda array: np.broadcast_to(array, shape),
        lambda x: tw.broadcast_to(x, shape),
    )


def reshape_view(shape: Shape) -> View:
    return View(
        f".reshape({shape})",
        lambda array: array.reshape(shape),
        lambda x: tw.reshape(x, shape),
    )


def random_view(source: Source, shape: Shape) -> View:
    """A view that a tensor of `shape` has."""
    kind = source.choice(("slice", "permute", "repeat", "flip", "reshape", "flatten"))
    if kind == "permute":
        return permutation_view(source.permutation(len(shape)))
    if kind == "repeat" and math.prod(shape) * 3 <= MOST_ELEMENTS:
        repeated = tuple(source.choice((1, 2, 3)) if extent == 1 else extent for extent in shape)
        return broadcast_view((source.choice((2, 1, 3)), *repeated))
    if kind == "flip" and shape:
        axis = source.integer(0, len(shape) - 1)
        return key_view((slice(None),) * axis + (slice(None, None, -1),))
    if kind == "reshape":
        return reshape_view(other_shape(source, shape))
    if kind == "flatten":
        return reshape_view((math.prod(shape),))
    return key_view(random_key(source, shape))


def other_shape(source: Source, shape: Shape) -> Shape:
    """Another shape of as many elements."""
    rest = math.prod(shape)
    found: list[int] = []
    for _ in range(source.integer(0, 3)):
        divisors = [n for n in range(1, rest + 1) if rest % n == 0] or [0, 2]
        found.append(source.choice(divisors))
        rest = rest // found[-1] if found[-1] else rest
    if math.prod(found) * rest != math.prod(shape):
        return (*found, 0)
    return (*found, rest)


def random_key(source: Source, shape: Shape) -> tuple[Any, ...]:
    """Slices with any step and bounds, integers, new axes and an ellipsis."""
    key: list[Any] = []
    for extent in shape:
        kind = source.choice(("slice", "slice", "integer", "all", "new"))
        if kind == "integer" and extent:
            key.append(source.integer(-extent, extent - 1))
        elif kind == "slice":
            bounds = (None, *range(-extent - 2, extent + 3))
            step = source.choice((None, 2, -1, 3, -2, 1, -7, 7))
            key.append(slice(source.choice(bounds), source.choice(bounds), step))
        else:
            key.append(slice(None))
        if kind == "new" and len(key) < 5:
            key.append(None)
    if source.chance(20):
        key = [*key[: len(key) // 2], Ellipsis]
    return tuple(key)


def broadcasting_shapes(source: Source, count: int) -> Sequence[Shape]:
    """Shapes that broadcast together: axes dropped in front, or of extent 1."""
    full = random_shape(source)
    shapes = []
    for _ in range(count):
        kept = full[source.integer(0, len(full)) if source.chance(30) else 0 :]
        shapes.append(tuple(1 if source.chance(20) else extent for extent in kept))
    return shapes
