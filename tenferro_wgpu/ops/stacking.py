"""Functions of several tensors: broadcast together, given more axes, joined along a given axis.

Composites over `joining` and views.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import DTypeError
from . import calling, joining, structural, views
from .calling import lift
from .value import Value

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "column_stack",
    "dstack",
    "hstack",
    "vstack",
]

Shape = tuple[int, ...]


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape that tensors of the given shapes broadcast to.

    Raises:
        ShapeError: if they do not broadcast.
        DTypeError: for shapes that are not of integers.

    >>> import tenferro_wgpu as tw
    >>> tw.broadcast_shapes((3, 1), (4,), ())
    (3, 4)
    """
    checked = [views.as_shape("broadcast_shapes", shape) for shape in shapes]
    return calling.broadcast_shapes("broadcast_shapes", *checked) if checked else ()


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """Tensors repeated to the shape that they broadcast to together; views.

    Raises:
        ShapeError: if they do not broadcast.
        DTypeError: for anything but tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> [x.shape for x in tw.broadcast_arrays(tw.ones((3, 1)), tw.ones(4))]
    [(3, 4), (3, 4)]
    """
    values = _lifted("broadcast_arrays", arrays)
    if not values:
        return ()
    shape = calling.broadcast_shapes("broadcast_arrays", *(value.shape for value in values))
    return tuple(structural.broadcast_to(value, shape) for value in values)


def _lifted(op: str, arrays: Sequence[Any]) -> list[Value]:
    anchor = next((each for each in arrays if isinstance(each, Value)), None)
    return [lift(op, each, anchor) for each in arrays]


def _one_or_all(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


def atleast_1d(*arrays: Any) -> Any:
    """Tensors of at least one axis; a tuple of them for several arguments.

    Raises:
        DTypeError: for anything but tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> tw.atleast_1d(tw.asarray(3.0)).shape
    (1,)
    """
    values = _lifted("atleast_1d", arrays)
    return _one_or_all([views.reshaped(x, x.shape or (1,)) for x in values])


def atleast_2d(*arrays: Any) -> Any:
    """Tensors of at least two axes, new ones in front; a tuple of them for several arguments.

    Raises:
        DTypeError: for anything but tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> tw.atleast_2d(tw.ones(3)).shape
    (1, 3)
    """
    values = _lifted("atleast_2d", arrays)
    return _one_or_all([views.reshaped(x, (1,) * (2 - x.ndim) + x.shape) for x in values])


def atleast_3d(*arrays: Any) -> Any:
    """Tensors of at least three axes as NumPy adds them: (n,) is (1, n, 1), (m, n) is (m, n, 1).

    A tuple of them for several arguments.

    Raises:
        DTypeError: for anything but tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> tw.atleast_3d(tw.ones((2, 3))).shape
    (2, 3, 1)
    """
    shapes = {0: (1, 1, 1), 1: (1, -1, 1), 2: (-2, -1, 1)}
    made = []
    for x in _lifted("atleast_3d", arrays):
        places = shapes.get(x.ndim, ())
        shape = tuple(x.shape[place] if place < 0 else 1 for place in places) or x.shape
        made.append(views.reshaped(x, shape))
    return _one_or_all(made)


def _tensors(op: str, xs: Any) -> list[Value]:
    if isinstance(xs, Value):
        return list(joining.unstack(xs))
    if not isinstance(xs, (tuple, list)):
        raise DTypeError(op, f"expected a list or tuple of tensors, got {type(xs).__name__}")
    return _lifted(op, xs)


def hstack(xs: Any, /) -> Any:
    """Join tensors along the second axis, those of one axis along it.

    Raises:
        ShapeError: if the list is empty, or shapes differ elsewhere.
        DTypeError: for anything but a list or tuple of tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> tw.hstack([tw.asarray([1, 2]), tw.asarray([3])]).tolist()
    [1, 2, 3]
    """
    values = [views.reshaped(x, x.shape or (1,)) for x in _tensors("hstack", xs)]
    return joining.concatenate(values, axis=0 if values and values[0].ndim == 1 else 1)


def vstack(xs: Any, /) -> Any:
    """Join tensors along the first axis, those of one axis as rows.

    Raises:
        ShapeError: if the list is empty, or shapes differ elsewhere.
        DTypeError: for anything but a list or tuple of tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> tw.vstack([tw.asarray([1, 2]), tw.asarray([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """
    values = _tensors("vstack", xs)
    return joining.concatenate([atleast_2d(x) for x in values])


def dstack(xs: Any, /) -> Any:
    """Join tensors along the third axis, after `atleast_3d`.

    Raises:
        ShapeError: if the list is empty, or shapes differ elsewhere.
        DTypeError: for anything but a list or tuple of tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> tw.dstack([tw.asarray([1, 2]), tw.asarray([3, 4])]).tolist()
    [[[1, 3], [2, 4]]]
    """
    values = _tensors("dstack", xs)
    return joining.concatenate([atleast_3d(x) for x in values], axis=2)


def column_stack(xs: Any, /) -> Any:
    """Join tensors along the second axis, those of one axis as columns.

    Raises:
        ShapeError: if the list is empty, or shapes differ elsewhere.
        DTypeError: for anything but a list or tuple of tensors and scalars.

    >>> import tenferro_wgpu as tw
    >>> tw.column_stack([tw.asarray([1, 2]), tw.asarray([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """
    values = _tensors("column_stack", xs)
    columns = [x if x.ndim > 1 else views.reshaped(x, (x.size, 1)) for x in values]
    return joining.concatenate(columns, axis=1)
