"""Diagonals, triangles and traces of matrices and of stacks of matrices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..dtypes import as_dtype, int32
from ..errors import AxisError, ShapeError
from ..layout import Layout
from ..tensor import ShapeDtype
from . import choice, joining, reduction, views
from .calling import as_any_integer, as_integer, interpreter_of, lift, normalize_axis
from .creation import on_host
from .primitive import Primitive
from .value import Value, apply, constant_like

__all__ = ["diag", "diagonal", "embed_diagonal", "trace", "tri", "tril", "triu"]

Shape = tuple[int, ...]

# -- the primitive ------------------------------------------------------------------------------


def _length(rows: int, columns: int, offset: int) -> int:
    return max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))


def _diagonal_shape(x: ShapeDtype, *, offset: int, axes: Shape) -> ShapeDtype:
    rows, columns = axes
    rest = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
    return ShapeDtype((*rest, _length(x.shape[rows], x.shape[columns], offset)), x.dtype)


def _diagonal_view(layout: Layout, *, offset: int, axes: Shape) -> Layout:
    return layout.diagonal(offset, *axes)


def _embedded(g: Value, x: ShapeDtype, offset: int, axes: Shape) -> Any:
    """`g` on the diagonal of zeros of the shape of `x`: one padding of the flattened matrices.

    In a matrix of n columns, neighbours on a diagonal lie n + 1 elements apart.
    """
    rows, columns = (x.shape[axis] for axis in axes)
    rest = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
    count = g.shape[-1]
    start = (offset if offset >= 0 else -offset * columns) if count else 0
    reach = start + (count - 1) * (columns + 1) + 1 if count else 0
    none = (0,) * len(rest)
    flat = joining.zero_padded(g, (*none, start), (*none, rows * columns - reach), (*none, columns))
    matrices = views.reshaped(flat, (*rest, rows, columns))
    kept = [axis for axis in range(len(x.shape)) if axis not in axes]
    return views.permuted(matrices, views.inverse_permutation((*kept, *axes)))


DIAGONAL: Primitive = Primitive(
    "diagonal", ("x",), _diagonal_shape,
    vjp=lambda g, x_like, *, offset, axes: _embedded(g, x_like, offset, axes),
    jvp=lambda t, *, offset, axes: apply(DIAGONAL, t, offset=offset, axes=axes),
    view=_diagonal_view,
)  # fmt: skip

# -- public functions ---------------------------------------------------------------------------


def _plane(op: str, ndim: int, axis1: int, axis2: int) -> Shape:
    axes = (normalize_axis(op, axis1, ndim), normalize_axis(op, axis2, ndim))
    if axes[0] == axes[1]:
        raise AxisError(op, f"axes {axis1} and {axis2} are the same", axis=axis1, ndim=ndim)
    return axes


def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of matrices along two axes, as the last axis of the result.  A view.

    `offset` counts columns to the right of the main diagonal, negative ones rows below.  (The
    Array API's ``linalg.diagonal`` takes the last two axes: ``axis1=-2, axis2=-1``.)

    Raises:
        AxisError: if an axis does not exist, or both are the same.
        DTypeError: for an offset or axes that are no integers.

    >>> import tenferro_wgpu as tw
    >>> tw.diagonal(tw.asarray([[1, 2, 3], [4, 5, 6]]), 1).tolist()
    [2, 6]
    """
    value = lift("diagonal", x)
    axes = _plane("diagonal", value.ndim, axis1, axis2)
    place = as_integer("diagonal", "offset", offset)
    return apply(DIAGONAL, value, offset=place, axes=axes)


def embed_diagonal(x: Any, /, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    """Square matrices of zeros with the last axis of `x` on a diagonal: undoes `diagonal`.

    `axis1` and `axis2` are those of the result where the rows and columns go.

    Raises:
        ShapeError: for a tensor of shape ().
        AxisError: if the result has no such axis, or both are the same.
        DTypeError: for an offset or axes that are no integers.

    >>> import tenferro_wgpu as tw
    >>> tw.embed_diagonal(tw.asarray([1, 2]), offset=1).tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    value = lift("embed_diagonal", x)
    if not value.ndim:
        raise ShapeError("embed_diagonal", "at least one axis is needed, got shape ()", ((),))
    axes = _plane("embed_diagonal", value.ndim + 1, axis1, axis2)
    place = as_integer("embed_diagonal", "offset", offset)
    extent = value.shape[-1] + abs(place)
    rest = iter(value.shape[:-1])
    shape = tuple(extent if axis in axes else next(rest) for axis in range(value.ndim + 1))
    return _embedded(value, ShapeDtype(shape, value.dtype), place, axes)


def diag(x: Any, /, k: int = 0) -> Any:
    """The matrix with a vector on diagonal `k`, or diagonal `k` of a matrix.

    Raises:
        ShapeError: for a tensor of other than one or two axes.
        DTypeError: for a `k` that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.diag(tw.asarray([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    value = lift("diag", x)
    if value.ndim not in (1, 2):
        raise ShapeError(
            "diag", f"one or two axes are needed, got shape {value.shape}", (value.shape,)
        )
    return embed_diagonal(value, k) if value.ndim == 1 else diagonal(value, k)


def trace(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dtype: Any = None) -> Any:
    """The sum along the diagonals of matrices; the dtype as in `sum`.

    Raises:
        AxisError: if an axis does not exist, or both are the same.
        DTypeError: for an offset or axes that are no integers, or an unknown dtype.

    >>> import tenferro_wgpu as tw
    >>> tw.trace(tw.asarray([[1, 2], [3, 4]])).tolist()
    5
    """
    return reduction.sum(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype)


def _below(op: str, interpreter: Any, rows: int, columns: int, k: int) -> Any:
    """The mask of a triangle: whether a column is at most its row + k."""
    place = as_any_integer(op, "k", k)
    # Beyond the corners nothing changes, and int32 holds the numbers.
    place = max(-rows - 1, min(place, columns))
    row = on_host(op, rows, int32, lambda: np.arange(place, rows + place, dtype=int32))
    column = on_host(op, columns, int32, lambda: np.arange(columns, dtype=int32))
    return choice.less_equal(interpreter.array(column), interpreter.array(row.reshape(rows, 1)))


def _matrices(op: str, x: Any) -> Value:
    value = lift(op, x)
    if value.ndim < 2:
        raise ShapeError(
            op, f"at least two axes are needed, got shape {value.shape}", (value.shape,)
        )
    return value


def tril(x: Any, /, k: int = 0) -> Any:
    """Matrices with zeros above diagonal `k`.

    Raises:
        ShapeError: for fewer than two axes.
        DTypeError: for a `k` that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.tril(tw.asarray([[1, 2], [3, 4]])).tolist()
    [[1, 0], [3, 4]]
    """
    value = _matrices("tril", x)
    rows, columns = value.shape[-2:]
    below = _below("tril", value.interpreter, rows, columns, k)
    return choice.where(below, value, constant_like(value, 0, shape=()))


def triu(x: Any, /, k: int = 0) -> Any:
    """Matrices with zeros below diagonal `k`.

    Raises:
        ShapeError: for fewer than two axes.
        DTypeError: for a `k` that is no integer.

    >>> import tenferro_wgpu as tw
    >>> tw.triu(tw.asarray([[1, 2], [3, 4]])).tolist()
    [[1, 2], [0, 4]]
    """
    value = _matrices("triu", x)
    place = as_any_integer("triu", "k", k)
    rows, columns = value.shape[-2:]
    below = _below("triu", value.interpreter, rows, columns, place - 1)
    return choice.where(below, constant_like(value, 0, shape=()), value)


def tri(
    n_rows: int, n_cols: int | None = None, /, k: int = 0, *, dtype: Any = None, device: Any = None
) -> Any:
    """A matrix with ones at and below diagonal `k`, zeros above.

    Raises:
        DTypeError: for sizes or a `k` that are no integers, or an unknown dtype.
        ShapeError: for a negative size.

    >>> import tenferro_wgpu as tw
    >>> tw.tri(2, 3).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    runtime = interpreter_of("device", device)
    target = runtime.default_dtype if dtype is None else as_dtype(dtype, "tri")
    rows, columns = views.as_shape("tri", (n_rows, n_rows if n_cols is None else n_cols))
    if not prod((rows, columns)):
        return runtime.constant(0, target, (rows, columns))
    below = _below("tri", runtime, rows, columns, k)
    one, zero = (runtime.constant(number, target) for number in (1, 0))
    return choice.where(below, one, zero)
