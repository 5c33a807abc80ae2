"""The values a program computes with, and the interpreters that give an operation its effect.

Every user-visible tensor, eager or inside a transform, is a `Value`.  `apply` hands an
operation to the innermost interpreter among its inputs.  Nothing here knows a backend.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import as_dtype
from ..errors import UnsupportedOperationError

if TYPE_CHECKING:
    from .primitive import Primitive

__all__ = ["AbstractInterpreter", "AbstractValue", "Interpreter", "Value", "apply", "constant_like"]


class Value:
    """A tensor as programs see it: a shape, a dtype and the interpreter it belongs to."""

    __slots__ = ()

    interpreter: Interpreter

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the elements."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


class Interpreter:
    """Gives primitives their effect on one kind of value.

    `level` orders nested interpreters: the eager runtime is 0, every transform in progress is
    above the interpreters of the values it wraps.
    """

    __slots__ = ()

    level: int

    @property
    def default_dtype(self) -> np.dtype[Any]:
        """The floating-point dtype of results that integers cannot hold."""
        raise NotImplementedError

    def bind(
        self, primitive: Primitive, inputs: Sequence[Value], params: Mapping[str, Any]
    ) -> tuple[Value, ...]:
        """Apply a primitive and return its outputs."""
        raise NotImplementedError

    def constant(self, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] = ()) -> Value:
        """A tensor of `shape` filled with one scalar, without derivative."""
        raise NotImplementedError

    def array(self, array: np.ndarray[Any, Any]) -> Value:
        """A host array as a tensor without derivative."""
        raise NotImplementedError

    def follows(self, x: Value) -> bool:
        """Whether a derivative may be asked for of what is made of a value of its own."""
        return True

    def read(self, x: Value) -> int:
        """The number in an integer tensor of shape (), waiting for it: see `reading`."""
        raise UnsupportedOperationError("read", hint="this shape depends on values")

    async def read_async(self, x: Value) -> int:
        """Like `read`, without blocking."""
        return self.read(x)


NO_PARAMS: dict[str, Any] = {}


def apply_multiple(
    primitive: Primitive, inputs: Sequence[Value], params: Mapping[str, Any] = NO_PARAMS
) -> tuple[Value, ...]:
    """Apply a primitive by the innermost interpreter among its inputs; returns all outputs."""
    interpreter = inputs[0].interpreter
    for value in inputs:
        other = value.interpreter
        if other is not interpreter and other.level > interpreter.level:
            interpreter = other
    return interpreter.bind(primitive, inputs, params)


def apply(primitive: Primitive, *inputs: Value, **params: Any) -> Any:
    """Apply a single-output primitive by the innermost interpreter among its inputs."""
    return apply_multiple(primitive, inputs, params)[0]


def innermost(values: Sequence[Value]) -> Interpreter:
    """The interpreter with the highest level among `values`."""
    return max((value.interpreter for value in values), key=lambda found: found.level)


def constant_like(
    x: Value, value: Any, *, shape: tuple[int, ...] | None = None, dtype: Any = None
) -> Any:
    """A constant tensor in the world of `x`: its shape and dtype unless given."""
    return x.interpreter.constant(
        value,
        x.dtype if dtype is None else as_dtype(dtype),
        x.shape if shape is None else shape,
    )


_deepest_transform: ContextVar[int] = ContextVar("tenferro_transform_level", default=0)


@contextmanager
def transform_level(values: Sequence[Value]) -> Iterator[int]:
    """The level of a new transform over `values`, above every transform it runs inside.

    Without counting the transforms in progress, an inner one over values of a closure would
    share the outer one's level and the two derivatives would be confused.
    """
    level = 1 + max(innermost(values).level, _deepest_transform.get())
    token = _deepest_transform.set(level)
    try:
        yield level
    finally:
        _deepest_transform.reset(token)


class AbstractValue(Value):
    """A value of which only shape and dtype are known."""

    __slots__ = ("_dtype", "_shape", "interpreter")

    def __init__(
        self, interpreter: AbstractInterpreter, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.interpreter = interpreter
        self._shape = shape
        self._dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the elements."""
        return self._dtype

    def __repr__(self) -> str:
        return f"AbstractValue(shape={self.shape}, dtype={self.dtype})"


class AbstractInterpreter(Interpreter):
    """Runs only shape and dtype rules: a program's signature without computing anything."""

    __slots__ = ("_default_dtype", "level")

    def __init__(self, default_dtype: Any = np.float32) -> None:
        self.level = 0
        self._default_dtype = as_dtype(default_dtype)

    @property
    def default_dtype(self) -> np.dtype[Any]:
        """The floating-point dtype of results that integers cannot hold."""
        return self._default_dtype

    def value(self, shape: tuple[int, ...], dtype: Any) -> AbstractValue:
        """An abstract tensor of the given shape and dtype."""
        return AbstractValue(self, shape, as_dtype(dtype))

    def bind(
        self, primitive: Primitive, inputs: Sequence[Value], params: Mapping[str, Any]
    ) -> tuple[Value, ...]:
        """The abstract outputs of a primitive."""
        return tuple(
            AbstractValue(self, out.shape, out.dtype) for out in primitive.infer(inputs, params)
        )

    def constant(self, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] = ()) -> Value:
        """An abstract constant."""
        return AbstractValue(self, shape, dtype)

    def array(self, array: np.ndarray[Any, Any]) -> Value:
        """The signature of a host array."""
        return AbstractValue(self, array.shape, array.dtype)
