"""Element-wise programs: which scalar functions one generated kernel applies to each element.

An `Expression` is a short list of steps over numbered values: first the operands, then the
result of each step. A single primitive is an expression of one step; a fused chain is a longer
one with the same meaning, and several outputs are several value numbers. Kernels and fusion
build expressions; this module turns them into WGSL statements. It knows dialects and nothing of
buffers, layouts or devices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from tenferro_wgpu.backends.webgpu.dialects import Dialect, DialectView, dialect
from tenferro_wgpu.backends.webgpu.shaders import DECLARED_NAMES
from tenferro_wgpu.errors import UnsupportedOperationError

COMPARISONS = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})
LOGICAL = frozenset({"logical_and", "logical_or", "logical_not"})
#: Functions of many steps: their text is long where software computes it, and so is compiling it.
TRANSCENDENTAL = frozenset(
    ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "pow", "sigmoid")
    + ("cbrt", "hypot", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh")
    + ("tanh", "asinh", "acosh", "atanh", "fmod", "remainder", "floor_divide")
    + ("erf", "erfc", "lgamma", "digamma", "polygamma")
)
#: Functions that loop, by the kind of their operands: the loops of kernels leave them out, since
#: all iterations of an invocation count (`launch.LONGEST_LOOP`).
LOOPING_FLOATS = frozenset(
    {"fmod", "remainder", "floor_divide", "logaddexp", "lgamma", "digamma", "polygamma"}
)
#: Polynomials of two-word floats are loops as well (shaders/special.wgsl.j2).
LOOPING_WIDE_FLOATS = LOOPING_FLOATS | {"erf", "erfc"}
LOOPING_INTEGERS = frozenset({"pow", "gcd"})
LOOPING_COMPLEX = frozenset({"pow", "asin", "acos", "asinh", "acosh"})

#: Operations of bool values, as WGSL over the argument names {0}, {1}: NumPy's arithmetic on
#: bool is logic (add is or, mul is and), and its order is False < True.
_BOOL_TEXT = {
    "logical_and": "({0} && {1})",
    "logical_or": "({0} || {1})",
    "logical_not": "(!{0})",
    "bitwise_and": "({0} && {1})",
    "bitwise_or": "({0} || {1})",
    "bitwise_xor": "({0} != {1})",
    "bitwise_not": "(!{0})",
    "add": "({0} || {1})",
    "mul": "({0} && {1})",
    "maximum": "({0} || {1})",
    "minimum": "({0} && {1})",
    "abs": "{0}",
    "equal": "({0} == {1})",
    "not_equal": "({0} != {1})",
    "less": "((!{0}) && {1})",
    "less_equal": "((!{0}) || {1})",
    "greater": "({0} && (!{1}))",
    "greater_equal": "({0} || (!{1}))",
}

#: Floating-point dialects whose arithmetic is the compiler's own, so that it may fold x-x to 0.
_FOLDABLE = frozenset({"f32", "f16s", "f16n", "f64n", "c64", "c128n"})


@dataclass(frozen=True)
class Step:
    """One scalar function: `operation` of the values numbered `arguments`.

    Attributes:
        operation: name of an element-wise primitive.
        dialect: dialect of the arguments (of the last two for `select`).
        arguments: numbers of earlier values.
        result: dialect of the result.
    """

    operation: str
    dialect: str
    arguments: tuple[int, ...]
    result: str


@dataclass(frozen=True)
class Expression:
    """Steps over operands; hashed once, since it is a part of pipeline keys.

    Attributes:
        operands: dialect of each operand, which are the values 0, 1, ...
        steps: the following values, in order.
        outputs: numbers of the values that the kernel stores.
    """

    operands: tuple[str, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.operands, self.steps, self.outputs)))

    def __hash__(self) -> int:
        return self._hash

    def dialect_of(self, value: int) -> str:
        """Name of the dialect of value number `value`."""
        count = len(self.operands)
        return self.operands[value] if value < count else self.steps[value - count].result

    def output_dialects(self) -> tuple[Dialect, ...]:
        """Dialects of the stored values, in the order of the outputs."""
        return tuple(dialect(self.dialect_of(value)) for value in self.outputs)

    def statements(self, *, isolated: bool = True) -> tuple[str, ...]:
        """WGSL `let` statements for the steps, over operands named v0, v1, ...

        `isolated`: a single step meets no other arithmetic in its kernel, which therefore cannot
        change its rounding.

        Raises:
            UnsupportedOperationError: a dialect lacks a function that a step needs.
        """
        count = len(self.operands)
        fused = len(self.steps) > 1 or not isolated
        lines = []
        for number, step in enumerate(self.steps):
            text = _step_text(step, _argument_names(step))
            if fused and step.result in _FOLDABLE and step.operation != "select":
                text = f"tf_hide_{step.result}({text})"
            lines.append(f"let v{count + number} = {text};")
        return tuple(lines)


def _argument_names(step: Step) -> list[str]:
    """Names of a step's arguments; a repeated floating-point one is hidden from the compiler.

    x - x must stay NaN for infinities, so the two uses may not look like one value.
    """
    names = []
    seen: set[int] = set()
    for argument in step.arguments:
        name = f"v{argument}"
        if argument in seen and step.dialect in _FOLDABLE and step.operation != "select":
            name = f"tf_hide_{step.dialect}({name})"
        seen.add(argument)
        names.append(name)
    return names


def _view(name: str) -> DialectView:
    return DialectView(dialect(name), DECLARED_NAMES)


def _step_text(step: Step, names: list[str]) -> str:
    operation = step.operation
    view = _view(step.dialect)
    if operation == "copy" or (operation in ("conj", "real") and view.parts is None):
        return names[0]
    if operation == "imag" and view.parts is None:
        return f"{view.zero}()"
    if operation == "cast":
        return _cast_text(view, _view(step.result), names[0])
    if operation == "complex":
        return f"{_view(step.result).complex}({', '.join(names)})"
    if operation == "select":
        return f"select({names[2]}, {names[1]}, {names[0]})"
    if operation == "clip":
        return f"{view.minimum}({view.maximum}({names[0]}, {names[1]}), {names[2]})"
    if step.dialect == "bool":
        if operation not in _BOOL_TEXT:
            raise UnsupportedOperationError(operation, dtype="bool", backend="webgpu")
        return _BOOL_TEXT[operation].format(*names)
    if operation in LOGICAL:
        raise UnsupportedOperationError(
            operation, dtype=view.dialect.dtype_name, backend="webgpu", hint="cast to bool first"
        )
    return f"{getattr(view, operation)}({', '.join(names)})"


def _cast_text(source: DialectView, target: DialectView, name: str) -> str:
    """A cast; those of complex numbers are casts of their parts.

    As in NumPy a complex number loses its imaginary part, but is true if either part is.
    """
    if source.name == target.name:
        return name
    if source.parts is None and target.parts is None:
        return f"{source.cast_to(target)}({name})"
    if target.parts is None:
        assert source.parts is not None, "one of both is complex"
        real = _cast_text(source.parts, target, f"{source.real}({name})")
        if target.name != "bool":
            return real
        return f"({real} || {_cast_text(source.parts, target, f'{source.imag}({name})')})"
    if source.parts is None:
        real, imag = _cast_text(source, target.parts, name), f"{target.parts.zero}()"
    else:
        real, imag = (
            _cast_text(source.parts, target.parts, f"{part}({name})")
            for part in (source.real, source.imag)
        )
    return f"{target.complex}({real}, {imag})"


@lru_cache(maxsize=1024)
def primitive_expression(operation: str, operands: tuple[str, ...], result: str) -> Expression:
    """Expression of one primitive: operands of these dialects, result of dialect `result`."""
    step = Step(operation, operands[-1], tuple(range(len(operands))), result)
    return Expression(operands, (step,), (len(operands),))
