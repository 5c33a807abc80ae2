"""Products of vectors and matrices that are programs over `contraction` and multiplication."""

from __future__ import annotations

from typing import Any

from ..errors import ShapeError
from . import contraction, joining, structural, views
from .calling import broadcast_shapes, normalize_axis
from .elementwise import multiply, subtract
from .table import NUMERIC
from .value import Value, constant_like

__all__ = ["cross", "dot", "inner", "kron", "outer"]


def outer(x: Any, y: Any, /) -> Any:
    """Every element of `x` times every element of `y`; both are flattened.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.outer(tw.asarray([1, 2]), tw.asarray([3, 4, 5])).tolist()
    [[3, 4, 5], [6, 8, 10]]
    """
    first, second = contraction.factors("outer", x, y)
    column = views.reshaped(first, (first.size, 1))
    return multiply(column, views.reshaped(second, (second.size,)))


def kron(x: Any, y: Any, /) -> Any:
    """The Kronecker product: every element of `x` replaced by itself times `y`.

    With different numbers of axes the smaller gets axes of extent 1 in front.

    Raises:
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.kron(tw.asarray([[1, 2]]), tw.asarray([[1], [10]])).tolist()
    [[1, 2], [10, 20]]
    """
    first, second = contraction.factors("kron", x, y)
    ndim = max(first.ndim, second.ndim)
    left = (1,) * (ndim - first.ndim) + first.shape
    right = (1,) * (ndim - second.ndim) + second.shape
    # Axis i of the result runs over that of x, and within it over that of y.
    blocks = multiply(
        views.reshaped(first, tuple(extent for n in left for extent in (n, 1))),
        views.reshaped(second, tuple(extent for n in right for extent in (1, n))),
    )
    return views.reshaped(blocks, tuple(n * m for n, m in zip(left, right, strict=True)))


def inner(x: Any, y: Any, /) -> Any:
    """Sums of products over the last axes: of every vector of `x` with every one of `y`.

    Nothing is conjugated.  With a tensor of shape () it multiplies.

    Raises:
        ShapeError: if the last axes differ in extent.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.inner(tw.asarray([[1, 2], [3, 4]]), tw.asarray([1, 10])).tolist()
    [21, 43]
    """
    first, second = contraction.factors("inner", x, y)
    if not (first.ndim and second.ndim):
        return multiply(first, second)
    return contraction.tensordot(first, second, axes=((-1,), (-1,)))


def dot(x: Any, y: Any, /) -> Any:
    """NumPy's dot: over the last axis of `x` and the last but one of `y`, or its only one.

    Of matrices it is `matmul`; stacks are not paired, every matrix meets every other.  With a
    tensor of shape () it multiplies.

    Raises:
        ShapeError: if these axes differ in extent.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.dot(tw.ones((2, 3, 4)), tw.ones((5, 4, 6))).shape
    (2, 3, 5, 6)
    """
    first, second = contraction.factors("dot", x, y)
    if not (first.ndim and second.ndim):
        return multiply(first, second)
    return contraction.tensordot(first, second, axes=((-1,), (max(second.ndim - 2, 0),)))


def cross(x: Any, y: Any, /, *, axis: int = -1) -> Any:
    """Cross products of vectors along an axis of three elements; the other axes broadcast.

    A vector of two elements has a third of 0; of two such vectors the result is the third element
    alone, without the axis, as in NumPy.

    Raises:
        ShapeError: for other extents, or if the other axes do not broadcast.
        AxisError: if an operand has no such axis.
        DTypeError: for bools, ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> tw.cross(tw.asarray([1, 0, 0]), tw.asarray([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    first, second = contraction.factors("cross", x, y, NUMERIC)
    operands = []
    for value in (first, second):
        place = normalize_axis("cross", axis, value.ndim)
        if value.shape[place] not in (2, 3):
            raise ShapeError(
                "cross",
                f"axis {axis} of shape {value.shape} needs three elements, or two",
                (value.shape,),
            )
        operands.append(structural.moveaxis(value, place, -1))
    shape = broadcast_shapes("cross", *(value.shape[:-1] for value in operands))
    a, b = (_elements(value) for value in operands)
    third = subtract(multiply(a[0], b[1]), multiply(a[1], b[0]))
    if operands[0].shape[-1] == operands[1].shape[-1] == 2:
        return structural.broadcast_to(third, shape)
    parts = (
        subtract(multiply(a[1], b[2]), multiply(a[2], b[1])),
        subtract(multiply(a[2], b[0]), multiply(a[0], b[2])),
        third,
    )
    place = normalize_axis("cross", axis, len(shape) + 1)
    return joining.stack([structural.broadcast_to(each, shape) for each in parts], axis=place)


def _elements(x: Value) -> list[Any]:
    """The three elements of vectors along the last axis."""
    found: list[Any] = [views.picked(x, x.ndim - 1, index) for index in range(x.shape[-1])]
    return found if len(found) == 3 else [*found, constant_like(x, 0, shape=x.shape[:-1])]
