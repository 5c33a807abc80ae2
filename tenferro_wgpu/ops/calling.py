"""From a user's call to a primitive: scalars become constants, dtypes are promoted, errors named.

Every public function of the operation tables goes through here, so that mixing rules are the
same everywhere.  Knows values and dtypes; knows no backend and no derivative.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import (
    common_dtype,
    default_complex,
    int64,
    is_inexact,
    weak_scalar_dtype,
)
from ..errors import ArgumentError, AxisError, DTypeError, RangeError, ShapeError
from ..tensor import ShapeDtype
from .primitive import Primitive
from .value import NO_PARAMS, Interpreter, Value, apply, apply_multiple

__all__ = [
    "as_any_integer",
    "as_axes",
    "as_integer",
    "check_choice",
    "check_flag",
    "broadcast_shapes",
    "check_scalar",
    "constants",
    "elementwise",
    "lift",
    "normalize_axes",
    "normalize_axis",
    "promote",
    "promote_broadcast",
    "to_inexact",
]

SCALARS = (bool, int, float, complex, np.generic)
#: Kinds of dtypes that tensors can have; NumPy's scalars include dates and text.
ANY_KIND = "biufc"
#: Integers up to this are exact in every floating-point dtype.
EXACT_IN_F16 = 2048

#: From a device, or None, to where things are computed; the layer above puts it here.
_default_interpreter: Callable[[Any], Any] | None = None


def set_default_interpreter(provider: Callable[[Any], Any]) -> None:
    """Say where calls without any tensor argument (``add(1, 2)``, ``zeros(3)``) are computed."""
    global _default_interpreter
    _default_interpreter = provider


def interpreter_of(op: str, device: Any = None) -> Any:
    """The interpreter of a device, or the current one without."""
    if _default_interpreter is None:
        raise DTypeError(op, "expected at least one tensor argument")
    return _default_interpreter(device)


def is_scalar(x: Any) -> bool:
    """Whether `x` is a Python or NumPy number or bool."""
    if isinstance(x, np.generic):
        return x.dtype.kind in ANY_KIND
    return isinstance(x, SCALARS)


def lift(op: str, x: Any, anchor: Value | None = None) -> Value:
    """`x` itself if it is a tensor; a scalar becomes a constant in the world of `anchor`.

    Without an anchor the world is the default runtime's.
    """
    if isinstance(x, Value):
        return x
    return _lift_all(op, (x,) if anchor is None else (anchor, x))[-1]


def _lift_all(op: str, operands: Sequence[Any]) -> list[Value]:
    anchor: Interpreter | None = None
    for operand in operands:
        if isinstance(operand, Value):
            if anchor is None or operand.interpreter.level > anchor.level:
                anchor = operand.interpreter
        elif not is_scalar(operand):
            raise _not_a_tensor(op, operand)
    if anchor is None:
        return constants(op, interpreter_of(op), operands)
    dtype = common_dtype(op, [each.dtype for each in operands if isinstance(each, Value)])
    for operand in operands:
        if not isinstance(operand, Value):
            dtype = weak_scalar_dtype(op, operand, dtype, anchor.default_dtype)
    return [
        operand
        if isinstance(operand, Value)
        else anchor.constant(check_scalar(op, operand, dtype), dtype)
        for operand in operands
    ]


def constants(op: str, interpreter: Interpreter, scalars: Sequence[Any]) -> list[Value]:
    """Scalars alone as constants of the dtype they have together, with the default precision."""
    dtype = np.result_type(*scalars)
    if dtype.kind == "f":
        dtype = interpreter.default_dtype
    elif dtype.kind == "c":
        dtype = default_complex(interpreter.default_dtype)
    elif dtype.kind not in ANY_KIND:
        dtype = int64  # some integer is too large for NumPy; the check below says which
    return [interpreter.constant(check_scalar(op, x, dtype), dtype) for x in scalars]


def check_scalar(op: str, scalar: Any, dtype: np.dtype[Any]) -> Any:
    """`scalar` itself if `dtype` can hold it: no device may wrap or clamp it silently.

    Raises:
        DTypeError: if it is no scalar, or complex where `dtype` is real.
        ArgumentError: for NaN where `dtype` is an integer.
        RangeError: for a number out of the range of `dtype`.
    """
    if isinstance(scalar, Value):
        raise DTypeError(op, "expected a scalar, got a tensor; read it with .item()")
    if not is_scalar(scalar):
        raise DTypeError(op, f"expected a scalar, got {scalar!r}")
    if isinstance(scalar, (complex, np.complexfloating)) and dtype.kind not in "cb":
        raise DTypeError(op, f"{scalar} does not fit {dtype}; take its real part first", (dtype,))
    if dtype.kind in "iu":
        if scalar != scalar:
            raise ArgumentError(op, f"NaN does not fit {dtype}")
        limits = np.iinfo(dtype)
        # NumPy's scalars cannot be compared with limits beyond their own width.
        number = scalar.item() if isinstance(scalar, np.generic) else scalar
        if not limits.min <= number <= limits.max:
            raise RangeError(op, scalar, dtype)
    elif isinstance(scalar, int) and dtype.kind in "fc":
        try:
            float(scalar)
        except OverflowError:
            raise RangeError(op, scalar, dtype) from None
    return scalar


def _not_a_tensor(op: str, x: Any) -> DTypeError:
    kind = type(x).__name__
    if isinstance(x, np.ndarray) or hasattr(x, "__array__") or isinstance(x, (list, tuple)):
        return DTypeError(
            op,
            f"{'an' if kind == 'ndarray' else 'a'} {kind} does not mix with tensors by itself; "
            "put it on the device with runtime.constant_from(...) first",
        )
    return DTypeError(op, f"expected a tensor or a scalar, got {kind}")


def promote(op: str, operands: Sequence[Any]) -> list[Value]:
    """Tensors of one dtype from tensors and scalars, by the promotion rules."""
    dtype = getattr(operands[0], "dtype", None)
    for operand in operands:
        if not isinstance(operand, Value) or operand.dtype is not dtype:
            break
    else:
        return list(operands)  # nothing to promote
    values = _lift_all(op, operands)
    dtype = common_dtype(op, [value.dtype for value in values])
    return [cast_to(value, dtype) for value in values]


def promote_broadcast(op: str, operands: Sequence[Any]) -> list[Value]:
    """`promote` of operands whose shapes broadcast, or ShapeError.

    For functions made of others: what they are made of would name itself in the error.
    """
    values = promote(op, operands)
    broadcast_shapes(op, *(value.shape for value in values))
    return values


def cast_to(x: Value, dtype: np.dtype[Any]) -> Value:
    """`x` in another dtype (itself if it has it)."""
    result: Value = x if x.dtype is dtype else apply(CAST, x, dtype=dtype)
    return result


def to_inexact(x: Value) -> Value:
    """`x` as a floating-point tensor: integers and bools take the default float."""
    return x if is_inexact(x.dtype) else cast_to(x, x.interpreter.default_dtype)


def elementwise(primitive: Primitive, operands: Sequence[Any], kinds: str) -> Any:
    """Promote the operands of an element-wise primitive and apply it.

    `kinds` are the NumPy dtype kinds it takes.  A primitive that takes only floating point
    converts integers and bools to the default float.
    """
    if len(operands) == 2:
        # A float or small integer with a float tensor takes its dtype: no promotion to decide.
        x, y = operands
        tensor, scalar = (x, y) if isinstance(x, Value) else (y, x)
        if (
            (scalar.__class__ is float or (scalar.__class__ is int and abs(scalar) <= EXACT_IN_F16))
            and isinstance(tensor, Value)
            and tensor.dtype.kind in kinds
            and tensor.dtype.kind in "fc"
        ):
            interpreter = tensor.interpreter
            constant = interpreter.constant(scalar, tensor.dtype, tensor.shape)
            pair = (tensor, constant) if tensor is x else (constant, tensor)
            return interpreter.bind(primitive, pair, NO_PARAMS)[0]
    values = promote(primitive.name, operands)
    dtype = values[0].dtype
    if dtype.kind not in kinds:
        if dtype.kind in "biu" and kinds in ("f", "fc"):
            values = [to_inexact(value) for value in values]
        else:
            name = _PUBLIC_NAMES.get(primitive.name, primitive.name)
            raise DTypeError(
                name, f"{dtype} tensors are not supported{_dtype_hint(name, dtype)}", (dtype,)
            )
    return apply_multiple(primitive, values)[0]


#: Primitives whose functions have other names than they.
_PUBLIC_NAMES = {
    "shift_left": "bitwise_left_shift", "shift_right": "bitwise_right_shift",
    "sign_bit": "signbit",
}  # fmt: skip
#: Functions that ask which of two numbers is the larger one.
_ORDERING = frozenset(
    ["less", "less_equal", "greater", "greater_equal", "maximum", "minimum", "fmax", "fmin", "clip"]
)


def _dtype_hint(name: str, dtype: np.dtype[Any]) -> str:
    if dtype.kind == "b":
        return "; use logical_and, logical_or or logical_not, or astype(...) first"
    if dtype.kind == "c":
        why = "complex numbers have no order, " if name in _ORDERING else ""
        return f"; {why}take .real, .imag or abs(...) first"
    return "; convert with astype(...) first"


def broadcast_shapes(op: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The NumPy broadcast of shapes; raises ShapeError naming `op`."""
    first = shapes[0]
    for shape in shapes:
        if shape != first:
            break
    else:
        return first
    ndim = max(len(shape) for shape in shapes)
    result = [1] * ndim
    for shape in shapes:
        for axis in range(-1, -len(shape) - 1, -1):
            extent = shape[axis]
            if extent != 1:
                if result[axis] not in (1, extent):
                    raise ShapeError(
                        op,
                        "shapes " + " and ".join(str(s) for s in shapes) + " do not broadcast; "
                        "extents must be equal or 1, aligned from the last axis",
                        shapes,
                    )
                result[axis] = extent
    return tuple(result)


def normalize_axis(op: str, axis: Any, ndim: int) -> int:
    """A non-negative axis; raises AxisError."""
    try:
        index = operator.index(axis)
    except TypeError:
        raise DTypeError(op, f"axis must be an integer, got {axis!r}") from None
    if not -ndim <= index < ndim:
        raise AxisError(
            op,
            f"axis {index} is out of bounds for a tensor of {ndim} axes"
            + (f"; use {-ndim} to {ndim - 1}" if ndim else ""),
            axis=index,
            ndim=ndim,
        )
    return int(index) % ndim


def normalize_axes(op: str, axis: Any, ndim: int) -> tuple[int, ...]:
    """Ascending non-negative axes from None (all), one axis or several; raises AxisError."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, (tuple, list)):
        return (normalize_axis(op, axis, ndim),)
    axes = sorted(normalize_axis(op, one, ndim) for one in axis)
    for first, second in zip(axes, axes[1:], strict=False):
        if first == second:
            raise AxisError(op, f"axis {first} is named twice in {axis!r}", axis=first, ndim=ndim)
    return tuple(axes)


def as_integer(op: str, name: str, value: Any) -> int:
    """An argument that must be an integer of 64 bits, as a Python one.

    Raises DTypeError for anything else, and ArgumentError for a larger one.
    """
    found = as_any_integer(op, name, value)
    if not -(2**63) <= found < 2**63:
        raise ArgumentError(op, f"{name} must fit in 64 bits, got one of {found.bit_length()}")
    return found


def as_any_integer(op: str, name: str, value: Any) -> int:
    """An argument that must be an integer, however large, as a Python one; raises DTypeError."""
    try:
        return operator.index(value)
    except TypeError:
        raise DTypeError(op, f"{name} must be an integer, got {value!r}") from None


def check_flag(op: str, name: str, value: Any) -> None:
    """Refuse an option that is neither true nor false; raises DTypeError.

    Everything has a truth value in Python, that of a tensor by a read: a tensor or a string in the
    wrong place would be taken for true.
    """
    if value.__class__ is not bool and not isinstance(value, (int, np.integer, np.bool_)):
        raise DTypeError(op, f"{name} is True or False, got {value!r}")


def check_choice(op: str, name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a word that is none of `choices`, and what is no word; raises ArgumentError."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(op, f"{name} must be one of {', '.join(choices)}, got {value!r}")


def as_axes(op: str, axes: Any) -> tuple[Any, ...]:
    """The items of a sequence of axes; raises DTypeError for anything else."""
    if isinstance(axes, np.ndarray):
        axes = axes.tolist()
    if not isinstance(axes, Sequence) or isinstance(axes, str):
        raise DTypeError(op, f"axes are a tuple or list of integers, got {axes!r}")
    return tuple(axes)


def _cast_shape(x: ShapeDtype, *, dtype: np.dtype[Any]) -> ShapeDtype:
    return ShapeDtype(x.shape, dtype)


def _cast_back(g: Value, x: ShapeDtype) -> Value:
    """The cotangent in the dtype it came from; a real source takes the real part."""
    return project(g, x.dtype)


def _cast_forward(t: Value, out: ShapeDtype) -> Value:
    return project(t, out.dtype)


def project(g: Value, dtype: np.dtype[Any]) -> Value:
    """A cotangent or tangent in `dtype`: complex to real keeps the real part."""
    if g.dtype.kind == "c" and dtype.kind != "c":
        g = apply(REAL, g)
    return cast_to(g, dtype)


def _real_shape(x: ShapeDtype) -> ShapeDtype:
    return ShapeDtype(x.shape, np.dtype(f"f{x.dtype.itemsize // 2}"))


CAST: Primitive = Primitive(
    "cast",
    ("x",),
    _cast_shape,
    vjp=lambda g, x_like: _cast_back(g, x_like),
    jvp=lambda t, out_like: _cast_forward(t, out_like),
    elementwise=True,
)
REAL: Primitive = Primitive(
    "real", ("x",), _real_shape, vjp=lambda g: g, jvp=lambda t: apply(REAL, t), elementwise=True
)
