"""Joining tensors and padding them: the structural operations that write new elements."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ..dtypes import bool_
from ..errors import DTypeError, ShapeError
from ..tensor import ShapeDtype
from . import choice, reduction_rules, structural, views
from .calling import lift, normalize_axis, promote
from .primitive import Primitive
from .value import Value, apply, constant_like

__all__ = ["concat", "concatenate", "stack", "unstack"]

Shape = tuple[int, ...]

# -- primitives ---------------------------------------------------------------------------------


def _concatenate_shape(*xs: ShapeDtype, axis: int) -> ShapeDtype:
    first = xs[0].shape
    for x in xs:
        if len(x.shape) != len(first) or x.shape[:axis] + x.shape[axis + 1 :] != (
            first[:axis] + first[axis + 1 :]
        ):
            shapes = [one.shape for one in xs]
            raise ShapeError(
                "concatenate",
                f"shapes {shapes} differ outside axis {axis}; make them equal there",
                shapes,
            )
    total = builtins.sum(x.shape[axis] for x in xs)
    return ShapeDtype(first[:axis] + (total,) + first[axis + 1 :], xs[0].dtype)


def _concatenate_vjp(g: Value, index: int, likes: Sequence[ShapeDtype], *, axis: int) -> Any:
    start = builtins.sum(like.shape[axis] for like in likes[:index])
    starts = [0] * g.ndim
    stops = list(g.shape)
    starts[axis], stops[axis] = start, start + likes[index].shape[axis]
    return views.sliced(g, tuple(starts), tuple(stops), (1,) * g.ndim)


def _concatenate_jvp(
    tangents: Sequence[Value | None], likes: Sequence[ShapeDtype], *, axis: int
) -> Any:
    anchor = next(t for t in tangents if t is not None)
    parts = [
        constant_like(anchor, 0, shape=like.shape, dtype=like.dtype) if t is None else t
        for t, like in zip(tangents, likes, strict=True)
    ]
    return apply(CONCATENATE, *parts, axis=axis)


CONCATENATE: Primitive = Primitive(
    "concatenate", ("*xs",), _concatenate_shape, vjp=_concatenate_vjp, jvp=_concatenate_jvp
)


def _pad_shape(
    x: ShapeDtype, fill: ShapeDtype, *, low: Shape, high: Shape, interior: Shape
) -> ShapeDtype:
    if fill.shape != ():
        raise ShapeError("pad", f"the fill value must have shape (), got {fill.shape}")
    shape = tuple(
        before + after + extent + builtins.max(extent - 1, 0) * between
        for extent, before, after, between in zip(x.shape, low, high, interior, strict=True)
    )
    if any(extent < 0 for extent in shape) or any(between < 0 for between in interior):
        raise ShapeError(
            "pad",
            f"low {low}, high {high}, interior {interior} do not pad shape {x.shape}",
            (x.shape,),
        )
    return ShapeDtype(shape, x.dtype)


def _unpadded(g: Value, low: Shape, high: Shape, interior: Shape) -> Any:
    """The elements that came from the padded tensor; zeros where it was cropped."""
    if any(amount < 0 for amount in (*low, *high)):
        g = zero_padded(
            g,
            tuple(builtins.max(-amount, 0) for amount in low),
            tuple(builtins.max(-amount, 0) for amount in high),
            (0,) * g.ndim,
        )
    starts = tuple(builtins.max(amount, 0) for amount in low)
    stops = tuple(n - builtins.max(amount, 0) for n, amount in zip(g.shape, high, strict=True))
    return views.sliced(g, starts, stops, tuple(between + 1 for between in interior))


def _at_fill(g: Value, x: ShapeDtype, low: Shape, high: Shape, interior: Shape) -> Any:
    """`g` where the fill value stands in the padded tensor, true zeros elsewhere."""
    inside = constant_like(g, False, shape=x.shape, dtype=bool_)
    outside = constant_like(g, True, shape=(), dtype=bool_)
    filled = apply(PAD, inside, outside, low=low, high=high, interior=interior)
    return choice.where(filled, g, constant_like(g, 0))


def _pad_fill_vjp(g: Value, x: ShapeDtype, low: Shape, high: Shape, interior: Shape) -> Any:
    return reduction_rules.summed(_at_fill(g, x, low, high, interior), tuple(range(g.ndim)))


def _pad_fill_jvp(
    t: Value, x: ShapeDtype, out: ShapeDtype, low: Shape, high: Shape, interior: Shape
) -> Any:
    return _at_fill(structural.broadcast_to(t, out.shape), x, low, high, interior)


PAD: Primitive = Primitive(
    "pad", ("x", "fill"), _pad_shape,
    vjp=(
        lambda g, *, low, high, interior: _unpadded(g, low, high, interior),
        lambda g, x_like, *, low, high, interior: _pad_fill_vjp(g, x_like, low, high, interior),
    ),
    jvp=(
        lambda t, *, low, high, interior: zero_padded(t, low, high, interior),
        lambda t, x_like, out_like, *, low, high, interior: _pad_fill_jvp(
            t, x_like, out_like, low, high, interior
        ),
    ),
)  # fmt: skip


def zero_padded(x: Value, low: Shape, high: Shape, interior: Shape) -> Any:
    """`x` with zeros around and between its elements; itself if there are none."""
    if not (any(low) or any(high) or any(interior)):
        return x
    fill = constant_like(x, 0, shape=())
    return apply(PAD, x, fill, low=low, high=high, interior=interior)


# -- public functions ---------------------------------------------------------------------------


def concatenate(xs: Sequence[Any], /, axis: int | None = 0) -> Any:
    """Join tensors along an existing axis; ``axis=None`` joins them flattened.

    Dtypes promote; the other extents must be equal.

    Raises:
        ShapeError: if the list is empty, or shapes differ outside `axis`.
        AxisError: if the axis does not exist.
        DTypeError: for anything but a list or tuple of tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> tw.concatenate([tw.asarray([1.0]), tw.asarray([2.0, 3.0])]).tolist()
    [1.0, 2.0, 3.0]
    """
    values = _several("concatenate", xs)
    if axis is None:
        values = [structural.ravel(value) for value in values]
    place = normalize_axis("concatenate", 0 if axis is None else axis, values[0].ndim)
    return values[0] if len(values) == 1 else apply(CONCATENATE, *values, axis=place)


def concat(xs: Sequence[Any], /, axis: int | None = 0) -> Any:
    """Join tensors along an existing axis: the Array API's name of `concatenate`.

    Raises:
        ShapeError, AxisError, DTypeError: as `concatenate`.

    >>> import tenferro_wgpu as tw
    >>> tw.concat([tw.ones((2, 3)), tw.zeros((1, 3))]).shape
    (3, 3)
    """
    return concatenate(xs, axis=axis)


def _several(op: str, xs: Any) -> list[Value]:
    if isinstance(xs, Value):
        xs = unstack(xs)
    elif not isinstance(xs, (tuple, list)):
        raise DTypeError(op, f"expected a list or tuple of tensors, got {type(xs).__name__}")
    if not xs:
        raise ShapeError(op, "at least one tensor is needed")
    return promote(op, xs)


def stack(xs: Sequence[Any], /, axis: int = 0) -> Any:
    """Join tensors of one shape along a new axis, at position `axis` of the result.

    Dtypes promote.

    Raises:
        ShapeError: if the list is empty, or the shapes differ.
        AxisError: if the result has no such axis.
        DTypeError: for anything but a list or tuple of tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> tw.stack([tw.asarray([1.0, 2.0]), tw.asarray([3.0, 4.0])], axis=1).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    values = _several("stack", xs)
    if any(value.shape != values[0].shape for value in values):
        shapes = [value.shape for value in values]
        raise ShapeError("stack", f"all tensors need one shape, got {shapes}", shapes)
    place = normalize_axis("stack", axis, values[0].ndim + 1)
    return concatenate([structural.expand_dims(value, place) for value in values], axis=place)


def holds_tensor(nested: Any) -> bool:
    """Whether nested lists have a tensor among their elements."""
    kinds = set(map(type, nested))
    if any(issubclass(kind, Value) for kind in kinds):
        return True
    return any(issubclass(kind, (list, tuple)) for kind in kinds) and any(
        holds_tensor(item) for item in nested if isinstance(item, (list, tuple))
    )


def stack_nested(op: str, nested: Any) -> Any:
    """Nested lists of tensors and scalars as one tensor, where the tensors are.

    Dtypes promote as in `stack`: scalars take the tensors' dtype.
    """
    parts = [
        stack_nested(op, item) if isinstance(item, (list, tuple)) and holds_tensor(item) else item
        for item in nested
    ]
    anchor = next(item for item in parts if isinstance(item, Value))
    values = promote(op, [_lifted(op, item, anchor) for item in parts])
    shapes = [value.shape for value in values]
    if any(shape != shapes[0] for shape in shapes):
        raise ShapeError(op, f"elements of one list need one shape, got {shapes}", shapes)
    return stack(values)


def _lifted(op: str, item: Any, anchor: Value) -> Any:
    if not isinstance(item, (list, tuple)):
        return lift(op, item, anchor)
    if not item:
        return constant_like(anchor, 0, shape=(0,))
    return stack_nested(op, [_lifted(op, each, anchor) for each in item])


def unstack(x: Any, /, axis: int = 0) -> tuple[Any, ...]:
    """The tensors that lie along one axis, as a tuple of views.

    Raises:
        AxisError: if the axis does not exist.

    >>> import tenferro_wgpu as tw
    >>> [part.tolist() for part in tw.unstack(tw.asarray([[1.0, 2.0], [3.0, 4.0]]))]
    [[1.0, 2.0], [3.0, 4.0]]
    """
    value = lift("unstack", x)
    place = normalize_axis("unstack", axis, value.ndim)
    rest = value.shape[:place] + value.shape[place + 1 :]
    starts = [0] * value.ndim
    stops = list(value.shape)
    parts = []
    for index in range(value.shape[place]):
        starts[place], stops[place] = index, index + 1
        part = views.sliced(value, tuple(starts), tuple(stops), (1,) * value.ndim)
        parts.append(views.reshaped(part, rest))
    return tuple(parts)
