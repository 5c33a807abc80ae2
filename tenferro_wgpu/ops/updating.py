"""Changed copies by index: ``x.at[key].set(v)`` and its relatives, as programs over primitives.

Tensors are immutable; what assignment does elsewhere is a new tensor here.  Because these are
programs over differentiable operations, gradients reach both `x` and `v`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import bool_
from ..errors import UnsupportedOperationError
from . import choice
from . import elementwise as arithmetic
from .calling import cast_to, check_scalar, is_scalar, lift
from .getitem import parse_key
from .indexing import scattered
from .structural import broadcast_to
from .value import Value, constant_like

__all__ = ["IndexedTensor", "TensorIndexer"]


class TensorIndexer:
    """What ``x.at`` is: it waits for the index in brackets."""

    __slots__ = ("_x",)

    def __init__(self, x: Value) -> None:
        self._x = x

    def __getitem__(self, key: Any) -> IndexedTensor:
        return IndexedTensor(self._x, key)


class IndexedTensor:
    """A tensor with an index: methods return the whole tensor, changed at that index.

    The index is of integers, slices of any step, None and Ellipsis.  Values broadcast to the
    shape of ``x[key]`` and take the dtype of `x`, as in an assignment.

    >>> import tenferro_wgpu as tw
    >>> x = tw.zeros((2, 3))
    >>> x.at[:, ::2].set(1.0).tolist()
    [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    >>> x.at[1, -1].add(5.0).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 5.0]]
    """

    __slots__ = ("_key", "_x")

    def __init__(self, x: Value, key: Any) -> None:
        self._x = x
        self._key = key

    def set(self, value: Any) -> Any:
        """`x` with `value` at the index."""
        return self._changed("set", value, lambda old, new: new)

    def add(self, value: Any) -> Any:
        """`x` with `value` added at the index; repeated indices of an index array accumulate."""
        key = self._key
        if isinstance(key, (list, np.ndarray)) or (isinstance(key, Value) and key.dtype != bool_):
            new = cast_to(self._value("add", value), self._x.dtype)
            return scattered("at[...].add", self._x, key, new, 0, "raise")
        return self._changed("add", value, arithmetic.add)

    def multiply(self, value: Any) -> Any:
        """`x` multiplied by `value` at the index."""
        return self._changed("multiply", value, arithmetic.multiply)

    mul = multiply

    def min(self, value: Any) -> Any:
        """The smaller of `x` and `value` at the index, `x` elsewhere."""
        return self._changed("min", value, choice.minimum)

    def max(self, value: Any) -> Any:
        """The larger of `x` and `value` at the index, `x` elsewhere."""
        return self._changed("max", value, choice.maximum)

    def _value(self, name: str, value: Any) -> Value:
        if isinstance(value, Value):
            return value
        op = f"at[...].{name}"
        if not is_scalar(value):
            return lift(op, value)  # raises, saying what to do with an ndarray or a list
        check_scalar(op, value, self._x.dtype)
        return constant_like(self._x, value, shape=())  # type: ignore[no-any-return]

    def _changed(self, name: str, value: Any, combine: Callable[[Any, Any], Any]) -> Any:
        x = self._x
        op = f"at[...].{name}"
        selection = parse_key(op, x, self._key)
        if selection.is_advanced:
            raise UnsupportedOperationError(
                op, hint="index arrays work with at[indices].add(...) alone"
            )
        new = cast_to(self._value(name, value), x.dtype)
        placed = selection.placed(broadcast_to(new, selection.shape))
        inside = constant_like(x, True, shape=selection.shape, dtype=bool_)
        return choice.where(selection.placed(inside), combine(x, placed), x)
