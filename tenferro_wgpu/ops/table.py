"""How a row of an element-wise table becomes a primitive and the public function that calls it.

Used by the table modules of this package only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..dtypes import bool_, int8
from ..tensor import ShapeDtype
from .calling import broadcast_shapes, cast_to, elementwise, lift, promote
from .primitive import Primitive
from .value import NO_PARAMS, Value

NUMERIC = "iufc"
ORDERED = "biuf"
FLOATING = "fc"
REAL_FLOATING = "f"
ANY = "biufc"
REAL_NUMBERS = "iuf"
INTEGERS = "iu"
#: Kinds that another function answers, and that function: the primitive never sees them.
Elsewhere = tuple[str, Callable[..., Any]]

NOWHERE: Elsewhere = ("", lambda *operands: None)


def in_int8(function: Callable[..., Any]) -> Elsewhere:
    """How NumPy counts with bools where it has no logic for them: as int8 0 and 1."""
    return "b", lambda *operands: function(*[cast_to(x, int8) for x in operands])


def _may_be(others: str, x: Any, y: Any) -> bool:
    """Whether operands can promote to one of `others`: two bools alone make bools."""
    if others != "b":
        return True
    return (not isinstance(x, Value) or x.dtype is bool_) and (
        not isinstance(y, Value) or y.dtype is bool_
    )


#: name -> primitive, for the tests that run every row.
TABLE: dict[str, Primitive] = {}


def same(name: str) -> Callable[..., ShapeDtype]:
    """The shape rule of operations that keep their operands' dtype."""

    def shape_rule(x: Any, *others: Any) -> ShapeDtype:
        shape = x.shape
        for other in others:
            if other.shape != shape:
                shape = broadcast_shapes(name, shape, other.shape)
        return ShapeDtype(shape, x.dtype)

    return shape_rule


def to_bool(name: str) -> Callable[..., ShapeDtype]:
    """The shape rule of operations that answer true or false."""
    broadcast = same(name)

    def shape_rule(*operands: Any) -> ShapeDtype:
        return ShapeDtype(broadcast(*operands).shape, bool_)

    return shape_rule


def row(
    name: str,
    arguments: Sequence[str],
    shape_rule: Callable[..., Any],
    vjp: Any = None,
    jvp: Any = None,
) -> Primitive:
    TABLE[name] = primitive = Primitive(
        name, arguments, shape_rule, vjp=vjp, jvp=jvp, elementwise=True
    )
    return primitive


#: Kinds -> the dtypes a function takes, and those for which it raises.
_DTYPES = {
    NUMERIC: ("integers, floats or complex numbers", "bools"),
    ORDERED: ("bools, integers or floats", "complex numbers"),
    FLOATING: ("floats or complex numbers, integers as the default float", ""),
    REAL_FLOATING: ("floats, integers as the default float", "complex numbers"),
    ANY: ("any dtype", ""),
    "b": ("bools", "integers, floats and complex numbers"),
    REAL_NUMBERS: ("integers or floats", "bools and complex numbers"),
    INTEGERS: ("integers", "bools, floats and complex numbers"),
    "biu": ("bools or integers", "floats and complex numbers"),
}


def _documented(doc: str, arguments: Sequence[str], kinds: str) -> str:
    """`doc` with what follows from the kinds and the number of operands, before its example."""
    takes, refuses = _DTYPES["".join(kind for kind in ANY if kind in kinds)]
    several = len(arguments) > 1
    what = "tensors or scalars whose shapes broadcast" if several else "a tensor of any shape"
    also = f", and for {refuses}" if refuses else ""
    lines = [
        "Args:",
        f"    {', '.join(arguments)}: {what}: {takes}.",
        "",
        "Raises:",
        f"    DTypeError: for ndarrays and lists{also}.",
    ]
    if several:
        lines.append("    ShapeError: if the shapes do not broadcast.")
    section = "".join(f"    {line}".rstrip() + "\n" for line in lines)
    text, mark, example = doc.partition("    >>> ")
    return f"{text}{section}\n{mark}{example}"


def _finish(
    function: Any, name: str, primitive: Primitive, doc: str, arguments: Sequence[str], kinds: str
) -> Any:
    function.__name__ = function.__qualname__ = name
    # Code of its own, by which errors and tracebacks know the function.
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    function.__doc__ = _documented(doc, arguments, kinds)
    function.primitive = primitive
    return function


def unary(
    name: str,
    kinds: str,
    *,
    vjp: Any = None,
    jvp: Any = None,
    shape_rule: Callable[..., ShapeDtype] | None = None,
    public_name: str = "",
    elsewhere: Elsewhere = NOWHERE,
    doc: str,
) -> Any:
    """A row with one operand and the public function that calls it."""
    primitive = row(name, ("x",), shape_rule or same(name), vjp, jvp)
    others, answer = elsewhere

    def function(x: Any, /) -> Any:
        if isinstance(x, Value) and x.dtype.kind in kinds:  # spares `elementwise` its loops
            return x.interpreter.bind(primitive, (x,), NO_PARAMS)[0]
        if others:
            x = lift(name, x)
            if x.dtype.kind in others:
                return answer(x)
        return elementwise(primitive, (x,), kinds)

    return _finish(function, public_name or name, primitive, doc, ("x",), kinds + others)


def binary(
    name: str,
    kinds: str,
    *,
    vjp: Any = None,
    jvp: Any = None,
    shape_rule: Callable[..., ShapeDtype] | None = None,
    public_name: str = "",
    elsewhere: Elsewhere = NOWHERE,
    doc: str,
) -> Any:
    """A row with two broadcasting operands and the public function that calls it."""
    primitive = row(name, ("x", "y"), shape_rule or same(name), vjp, jvp)
    others, answer = elsewhere

    def function(x: Any, y: Any, /) -> Any:
        if isinstance(x, Value) and isinstance(y, Value):
            # Two tensors of one dtype in one world, the usual case, spare `elementwise` its loops.
            interpreter = x.interpreter
            dtype = x.dtype
            if y.interpreter is interpreter and y.dtype is dtype and dtype.kind in kinds:
                return interpreter.bind(primitive, (x, y), NO_PARAMS)[0]
        if others and _may_be(others, x, y):
            x, y = promote(name, (x, y))
            if x.dtype.kind in others:
                broadcast_shapes(name, x.shape, y.shape)
                return answer(x, y)
        return elementwise(primitive, (x, y), kinds)

    return _finish(function, public_name or name, primitive, doc, ("x", "y"), kinds + others)
