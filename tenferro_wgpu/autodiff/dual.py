"""Forward mode: values that carry a tangent, and `jvp` built on them.

A `DualInterpreter` sits above the interpreters of the primals it wraps, so forward mode nests
with itself and with the tape: primals may be tracked tensors or duals of an outer `jvp`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import is_inexact
from ..errors import DTypeError, MissingRuleError, ShapeError
from ..ops.calling import lift, project
from ..ops.elementwise import add
from ..ops.operators import Operators
from ..ops.primitive import Primitive
from ..ops.structural import broadcast_to
from ..ops.value import (
    Interpreter,
    Value,
    apply_multiple,
    constant_like,
    innermost,
    transform_level,
)
from ..tensor import ShapeDtype

__all__ = ["DualInterpreter", "DualValue", "jvp"]


class DualValue(Operators):
    """A primal value with the tangent that one `jvp` follows."""

    __slots__ = ("interpreter", "primal", "tangent")

    interpreter: DualInterpreter
    primal: Value
    tangent: Value

    def __init__(self, interpreter: DualInterpreter, primal: Value, tangent: Value) -> None:
        self.interpreter = interpreter
        self.primal = primal
        self.tangent = tangent

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        return self.primal.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the elements."""
        return self.primal.dtype

    # Control flow may look at the primal; a number taken out would silently lose its tangent.

    def __bool__(self) -> bool:
        return bool(self.primal)

    def __int__(self) -> int:
        return int(self.primal)  # type: ignore[call-overload, no-any-return]

    def __len__(self) -> int:
        return len(self.primal)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("iteration over a tensor of shape ()")
        return (self[i] for i in range(self.shape[0]))

    def __float__(self) -> float:
        raise self._no_reading("float")

    def __complex__(self) -> complex:
        raise self._no_reading("complex")

    def item(self) -> Any:
        """Refuse: reading a value inside jvp would lose its derivative."""
        raise self._no_reading("item")

    def numpy(self) -> Any:
        """Refuse: reading a value inside jvp would lose its derivative."""
        raise self._no_reading("numpy")

    def detach(self) -> Value:
        """The primal without its tangent."""
        return self.primal

    def _no_reading(self, op: str) -> DTypeError:
        return DTypeError(
            op, "a value inside jvp cannot be read, its derivative would be lost; use .detach()"
        )

    def __repr__(self) -> str:
        return f"DualValue(level={self.interpreter.level}, primal={self.primal!r})"


class DualInterpreter(Interpreter):
    """Applies a primitive to primals and its jvp rules to tangents, for one `jvp` call."""

    __slots__ = ("_base", "level")

    def __init__(self, base: Interpreter, level: int) -> None:
        self._base = base
        self.level = level

    @property
    def default_dtype(self) -> np.dtype[Any]:
        """The floating-point dtype of results that integers cannot hold."""
        return self._base.default_dtype

    def constant(self, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...] = ()) -> Value:
        """A constant of the world below: it has no tangent."""
        return self._base.constant(value, dtype, shape)

    def array(self, array: np.ndarray[Any, Any]) -> Value:
        """A host array as a constant of the world below."""
        return self._base.array(array)

    def bind(
        self, primitive: Primitive, inputs: Sequence[Value], params: Mapping[str, Any]
    ) -> tuple[Value, ...]:
        """Primal outputs, each with the sum of the tangents of the active inputs."""
        primals = [
            x.primal if isinstance(x, DualValue) and x.interpreter is self else x for x in inputs
        ]
        tangents = [
            x.tangent if isinstance(x, DualValue) and x.interpreter is self else None
            for x in inputs
        ]
        outputs = apply_multiple(primitive, primals, params)
        if not is_inexact(outputs[0].dtype):
            return outputs
        try:
            pushed = _push_forward(primitive, primals, tangents, outputs, params)
        except Exception as error:
            error.add_note(f"while differentiating {primitive.name} (jvp)")
            raise
        return tuple(
            out if t is None else DualValue(self, out, _fit(t, out))
            for out, t in zip(outputs, pushed, strict=True)
        )


def _push_forward(
    primitive: Primitive,
    primals: Sequence[Value],
    tangents: Sequence[Value | None],
    outputs: Sequence[Value],
    params: Mapping[str, Any],
) -> Sequence[Value | None]:
    if primitive.jvp is None:
        if primitive.vjp is not None:
            raise MissingRuleError(primitive.name, "jvp")
        return [None] * len(outputs)
    if primitive.variadic:
        likes = tuple(ShapeDtype(x.shape, x.dtype) for x in primals)
        return (primitive.jvp(tangents, likes, **params),)
    total: list[Value | None] = [None] * len(outputs)
    for tangent, rule in zip(tangents, primitive.jvp, strict=True):
        if tangent is None or rule is None:
            continue
        saved = []
        for position, keeps_value in rule.residuals:
            x = outputs[0] if position < 0 else primals[position]
            saved.append(x if keeps_value else ShapeDtype(x.shape, x.dtype))
        pushed = rule(tangent, saved, params)
        parts = pushed if isinstance(pushed, tuple) else (pushed,)
        total = [
            part if known is None else add(_fit(known, out), _fit(part, out))
            for known, part, out in zip(total, parts, outputs, strict=True)
        ]
    return total


def _fit(t: Value, out: Value) -> Value:
    """A tangent in the shape and dtype of its output (rules ignore broadcasting)."""
    if t.dtype is not out.dtype:
        t = project(t, out.dtype)
    return t if t.shape == out.shape else broadcast_to(t, out.shape)


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Evaluate `f` and its directional derivative at once, by forward mode.

    Args:
        f: a function of tensors that returns a tensor or a tuple of tensors.
        primals: the point, one tensor per argument of `f`.
        tangents: the direction, of the same shapes and dtypes.

    Returns:
        ``(f(*primals), derivative of f along tangents)``.

    Second derivatives: `f` may call `jvp` itself, and the derivative of a variable has a
    ``backward`` like any other tensor: it gives the matrix of second derivatives times the
    direction.

    Raises:
        ShapeError, DTypeError: if a tangent does not fit its primal, or a primal is not a
            floating-point tensor.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray(3.0)
    >>> y, dy = tw.jvp(lambda x: x * x, (x,), (tw.asarray(1.0),))
    >>> y.item(), dy.item()
    (9.0, 6.0)
    >>> w = tw.asarray([1.0, 2.0]).requires_grad_()
    >>> _, dw = tw.jvp(lambda w: (w**3).sum(), (w,), (tw.asarray([1.0, 0.0]),))
    >>> dw.backward()[w].tolist()
    [6.0, 0.0]
    """
    if isinstance(primals, Value) or isinstance(tangents, Value):
        # A tensor is a sequence of its rows, which nobody means.
        raise DTypeError("jvp", "a tensor for each argument, in a sequence: jvp(f, (x,), (t,))")
    values = [lift("jvp", x) for x in primals]
    directions = [lift("jvp", t) for t in tangents]
    if len(values) != len(directions) or not values:
        raise ShapeError("jvp", f"{len(values)} primals need as many tangents, got {len(tangents)}")
    for x, t in zip(values, directions, strict=True):
        if not is_inexact(x.dtype):
            raise DTypeError("jvp", f"primals must be floating point, got {x.dtype}", (x.dtype,))
        if x.shape != t.shape:
            raise ShapeError(
                "jvp", f"a tangent of shape {t.shape} does not fit {x.shape}", (x.shape, t.shape)
            )
        if x.dtype is not t.dtype:
            raise DTypeError(
                "jvp", f"a tangent of dtype {t.dtype} does not fit {x.dtype}", (x.dtype, t.dtype)
            )
    with transform_level([*values, *directions]) as level:
        interpreter = DualInterpreter(innermost([*values, *directions]), level)
        out = f(*(DualValue(interpreter, x, t) for x, t in zip(values, directions, strict=True)))
    if isinstance(out, (tuple, list)):
        pairs = [_split(interpreter, one, values[0]) for one in out]
        make = getattr(type(out), "_make", type(out))  # a named tuple takes no iterable
        return make([p for p, _ in pairs]), make([t for _, t in pairs])
    return _split(interpreter, out, values[0])


def _split(interpreter: DualInterpreter, out: Any, primal: Value) -> tuple[Value, Value]:
    value = lift("jvp", out, primal)
    if isinstance(value, DualValue) and value.interpreter is interpreter:
        return value.primal, value.tangent
    return value, constant_like(value, 0)
