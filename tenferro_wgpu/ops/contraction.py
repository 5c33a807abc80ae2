"""Contractions: one primitive, `dot_general`, and the products that are special cases of it."""

from __future__ import annotations

import operator
from typing import Any

from ..errors import DTypeError, ShapeError
from ..tensor import ShapeDtype
from . import structural, views
from .calling import as_axes, broadcast_shapes, cast_to, normalize_axis, promote
from .elementwise import conj
from .primitive import Primitive
from .reduction_operands import widened
from .table import ANY
from .value import Value, apply

__all__ = ["dot_general", "matmul", "tensordot", "vecdot"]

Shape = tuple[int, ...]
Pair = tuple[Shape, Shape]

# -- the primitive ------------------------------------------------------------------------------


def _free(ndim: int, contracting: Shape, batch: Shape) -> Shape:
    return tuple(axis for axis in range(ndim) if axis not in contracting and axis not in batch)


def _dot_general_shape(
    x: ShapeDtype, y: ShapeDtype, *, contracting: Pair, batch: Pair
) -> ShapeDtype:
    for kind, (left, right) in (("contracting", contracting), ("batch", batch)):
        if len(left) != len(right) or [x.shape[a] for a in left] != [y.shape[a] for a in right]:
            raise ShapeError(
                "dot_general",
                f"{kind} axes {left} of shape {x.shape} and {right} of shape {y.shape} "
                "need equal extents",
                (x.shape, y.shape),
            )
    for operand, used in ((x, contracting[0] + batch[0]), (y, contracting[1] + batch[1])):
        if len(set(used)) != len(used):
            raise ShapeError(
                "dot_general", f"an axis of shape {operand.shape} is used twice: {used}"
            )
    return ShapeDtype(
        tuple(x.shape[axis] for axis in batch[0])
        + tuple(x.shape[axis] for axis in _free(x.ndim, contracting[0], batch[0]))
        + tuple(y.shape[axis] for axis in _free(y.ndim, contracting[1], batch[1])),
        x.dtype,
    )


def _dot_vjp_x(g: Value, x: ShapeDtype, y: Value, contracting: Pair, batch: Pair) -> Any:
    free_x = _free(x.ndim, contracting[0], batch[0])
    free_y = _free(y.ndim, contracting[1], batch[1])
    count = len(batch[0])
    first = count + len(free_x)
    out = apply(
        DOT_GENERAL, g, conj(y),
        contracting=(tuple(range(first, first + len(free_y))), free_y),
        batch=(tuple(range(count)), batch[1]),
    )  # fmt: skip
    # The contracted axes arrive in the order they have in y.
    summed = tuple(contracting[0][contracting[1].index(axis)] for axis in sorted(contracting[1]))
    return views.permuted(
        out, views.inverse_permutation(batch[0] + free_x + summed)
    )  # fmt: skip


def _dot_vjp_y(g: Value, x: Value, y: ShapeDtype, contracting: Pair, batch: Pair) -> Any:
    free_x = _free(x.ndim, contracting[0], batch[0])
    free_y = _free(y.ndim, contracting[1], batch[1])
    count = len(batch[0])
    out = apply(
        DOT_GENERAL, conj(x), g,
        contracting=(free_x, tuple(range(count, count + len(free_x)))),
        batch=(batch[0], tuple(range(count))),
    )  # fmt: skip
    summed = tuple(contracting[1][contracting[0].index(axis)] for axis in sorted(contracting[0]))
    return views.permuted(
        out, views.inverse_permutation(batch[1] + summed + free_y)
    )  # fmt: skip


def _contract(x: Value, y: Value, contracting: Pair, batch: Pair) -> Any:
    """The contraction; float16 is accumulated in float32 and rounded once, as in NumPy.

    Bools are counted: as in NumPy, their sum is whether any product is true.
    """
    out = apply(DOT_GENERAL, widened(x), widened(y), contracting=contracting, batch=batch)
    return cast_to(out, x.dtype)


DOT_GENERAL: Primitive = Primitive(
    "dot_general", ("x", "y"), _dot_general_shape,
    vjp=(
        lambda g, x_like, y, *, contracting, batch: _dot_vjp_x(g, x_like, y, contracting, batch),
        lambda g, x, y_like, *, contracting, batch: _dot_vjp_y(g, x, y_like, contracting, batch),
    ),
    jvp=(
        lambda t, y, *, contracting, batch: _contract(t, y, contracting, batch),
        lambda t, x, *, contracting, batch: _contract(x, t, contracting, batch),
    ),
)  # fmt: skip

# -- public functions ---------------------------------------------------------------------------


def factors(op: str, x: Any, y: Any, kinds: str = ANY) -> tuple[Value, Value]:
    """Two tensors of one dtype that has sums of products; raises DTypeError for other kinds."""
    first, second = promote(op, (x, y))
    if first.dtype.kind not in kinds:
        raise DTypeError(
            op, f"{first.dtype} tensors have no product; use astype(...) first", (first.dtype,)
        )
    return first, second


def dot_general(x: Any, y: Any, /, dimension_numbers: Any) -> Any:
    """Contract and batch any axes of two tensors, with JAX's dimension numbers.

    `dimension_numbers` is ``((x_contracting, y_contracting), (x_batch, y_batch))``.  The result
    has the batch axes, then the free axes of `x`, then those of `y`.  Dtypes promote.

    Raises:
        ShapeError: if paired axes differ in extent, or an axis is used twice.
        AxisError: if an axis does not exist.
        DTypeError: if `dimension_numbers` are no pairs of lists.

    >>> import tenferro_wgpu as tw
    >>> x, y = tw.ones((2, 3, 4)), tw.ones((2, 4, 5))
    >>> tw.dot_general(x, y, (((2,), (1,)), ((0,), (0,)))).shape
    (2, 3, 5)
    """
    first, second = factors("dot_general", x, y)
    contracting, batch = _two("dot_general", "dimension_numbers", dimension_numbers)
    return _contract(
        first,
        second,
        _axis_pair("dot_general", "the contracting axes", contracting, first, second),
        _axis_pair("dot_general", "the batch axes", batch, first, second),
    )


def _two(op: str, what: str, pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise DTypeError(op, f"{what} must be a pair (of x, of y), got {pair!r}")
    return pair[0], pair[1]


def _axis_pair(op: str, what: str, pair: Any, x: Value, y: Value) -> Pair:
    left, right = _two(op, what, pair)
    return (
        tuple(normalize_axis(op, axis, x.ndim) for axis in as_axes(op, left)),
        tuple(normalize_axis(op, axis, y.ndim) for axis in as_axes(op, right)),
    )


def matmul(x: Any, y: Any, /) -> Any:
    """Matrix product over the last two axes; the axes before broadcast.

    A tensor of one axis is a row on the left and a column on the right, and that axis is
    dropped.  Dtypes promote; of bools it is whether any product is true.

    Raises:
        ShapeError: if an operand has shape (), or the extents do not match.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> tw.matmul(x, tw.asarray([1.0, 1.0])).tolist()
    [3.0, 7.0]
    """
    first, second = factors("matmul", x, y)
    if not first.ndim or not second.ndim:
        raise ShapeError(
            "matmul",
            f"shapes {first.shape} and {second.shape}: a scalar is no matrix, use multiply",
            (first.shape, second.shape),
        )
    row = 0 if second.ndim == 1 else second.ndim - 2
    if first.shape[-1] != second.shape[row]:
        raise ShapeError(
            "matmul",
            f"shapes {first.shape} and {second.shape} do not fit: {first.shape[-1]} columns "
            f"against {second.shape[row]} rows",
            (first.shape, second.shape),
        )
    last = first.ndim - 1
    if second.ndim <= 2:
        return _contract(first, second, ((last,), (row,)), ((), ()))
    left_batch = first.shape[:-2]
    shared = broadcast_shapes("matmul", left_batch, second.shape[:-2])
    count = len(shared)
    first = structural.broadcast_to(first, shared + first.shape[-2:]) if last else first
    second = structural.broadcast_to(second, shared + second.shape[-2:])
    if not last:
        # One vector against every matrix: batch only its repetition, sum over its axis.
        first = structural.broadcast_to(first, shared + first.shape)
    pairs = tuple(range(count))
    return _contract(first, second, ((first.ndim - 1,), (count,)), (pairs, pairs))


def tensordot(x: Any, y: Any, /, axes: Any = 2) -> Any:
    """Sum over pairs of axes: the last `axes` of `x` with the first of `y`, or two lists.

    Any dtypes, which promote.

    Raises:
        ShapeError: if paired axes differ in extent, or there are fewer axes.
        AxisError: if an axis does not exist.
        DTypeError: if `axes` is neither a number nor two lists.

    >>> import tenferro_wgpu as tw
    >>> tw.tensordot(tw.ones((2, 3, 4)), tw.ones((4, 3)), axes=((1, 2), (1, 0))).tolist()
    [12.0, 12.0]
    """
    first, second = factors("tensordot", x, y)
    pair: Any
    if isinstance(axes, (tuple, list)):
        pair = tuple(one if isinstance(one, (tuple, list)) else (one,) for one in axes)
    else:
        try:
            count = operator.index(axes)
        except TypeError:
            raise DTypeError(
                "tensordot", f"axes must be an integer or two lists of integers, got {axes!r}"
            ) from None
        if not 0 <= count <= min(first.ndim, second.ndim):
            raise ShapeError(
                "tensordot",
                f"{count} axes do not exist in shapes {first.shape} and {second.shape}",
                (first.shape, second.shape),
            )
        pair = (range(first.ndim - count, first.ndim), range(count))
    contracting = _axis_pair("tensordot", "axes", pair, first, second)
    return _contract(first, second, contracting, ((), ()))


def vecdot(x: Any, y: Any, /, *, axis: int = -1) -> Any:
    """Dot products of vectors along an axis, the first conjugated; other axes broadcast.

    Any dtypes, which promote.

    Raises:
        ShapeError: if the vectors differ in length, or the other axes do not broadcast.
        AxisError: if an operand has no such axis.
        DTypeError: for ndarrays and lists.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> tw.vecdot(x, tw.asarray([1.0, 10.0])).tolist()
    [21.0, 43.0]
    """
    first, second = factors("vecdot", x, y)
    first = structural.moveaxis(conj(first), normalize_axis("vecdot", axis, first.ndim), -1)
    second = structural.moveaxis(second, normalize_axis("vecdot", axis, second.ndim), -1)
    if first.shape[-1] != second.shape[-1]:
        raise ShapeError(
            "vecdot",
            f"vectors of {first.shape[-1]} and {second.shape[-1]} elements do not fit",
            (first.shape, second.shape),
        )
    shape = broadcast_shapes("vecdot", first.shape[:-1], second.shape[:-1])
    pairs = tuple(range(len(shape)))
    contracting = ((len(shape),), (len(shape),))
    first = structural.broadcast_to(first, shape + first.shape[-1:])
    second = structural.broadcast_to(second, shape + second.shape[-1:])
    return _contract(first, second, contracting, (pairs, pairs))
