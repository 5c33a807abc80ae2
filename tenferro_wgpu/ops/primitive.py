"""What an operation means: name, arguments, shape and dtype rule, derivative rules, residuals.

The tables of this package are made of `Primitive` objects.  No arithmetic happens here and no
backend is named.  Rules are programs over other primitives; they never read values, so they run
alike on eager tensors, inside transforms and on abstract values.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..tensor import ShapeDtype

if TYPE_CHECKING:
    from ..layout import Layout
    from .value import Value

__all__ = ["Primitive", "Rule"]


class HasShapeDtype(Protocol):
    """Anything with a shape and a dtype: an abstract value, a concrete tensor, a user tensor."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the elements."""
        ...


class Rule:
    """One derivative rule of one argument, with what it needs declared by its own signature.

    The first parameter is the cotangent (vjp) or tangent (jvp).  Each further positional
    parameter names a residual: an argument of the primitive (``x``), its result (``out``), or
    the shape and dtype only (``x_like``, ``out_like``).  Keyword-only parameters receive the
    primitive's params of that name.  Naming residuals in the signature means that what a rule
    uses and what the tape saves cannot disagree.
    """

    __slots__ = ("function", "only_value", "params", "residuals")

    function: Callable[..., Any]
    #: (position, keeps_value): position indexes the arguments, -1 is the result.
    residuals: tuple[tuple[int, bool], ...]
    params: tuple[str, ...]

    def __init__(self, function: Callable[..., Any], arguments: Sequence[str]) -> None:
        self.function = function
        residuals = []
        params = []
        parameters = list(inspect.signature(function).parameters.values())
        for parameter in parameters[1:]:
            if parameter.kind is parameter.KEYWORD_ONLY:
                params.append(parameter.name)
                continue
            name = parameter.name.removesuffix("_like")
            position = -1 if name == "out" else list(arguments).index(name)
            residuals.append((position, name == parameter.name))
        self.residuals = tuple(residuals)
        self.params = tuple(params)
        #: The position of the one residual, if there is only one and its value is kept.
        self.only_value: int | None = None
        if len(residuals) == 1 and residuals[0][1]:
            self.only_value = residuals[0][0]

    def __call__(self, g: Any, saved: Sequence[Any], params: Mapping[str, Any]) -> Any:
        """Evaluate the rule for cotangent or tangent `g`."""
        if self.params:
            return self.function(g, *saved, **{name: params[name] for name in self.params})
        return self.function(g, *saved)


#: (x_avals, params) -> output abstract values
ShapeRule = Callable[..., ShapeDtype | tuple[ShapeDtype, ...]]
RuleFunction = Callable[..., Any]


class Primitive:
    """One operation that interpreters and backends know by name.

    Args:
        name: the name kernels register under.
        arguments: names of the tensor arguments, in order; a single name starting with ``*``
            declares any number of them.
        shape_rule: from abstract arguments and params to the abstract output (or a tuple).
        vjp: per argument a function of the cotangent, or None where no derivative flows.  For a
            variadic primitive one function ``(g, index, likes, **params)``.
        jvp: per argument a function of the tangent.  For a variadic primitive one function
            ``(tangents, likes, **params)`` in which absent tangents are None.
        view: for operations that only change the layout: from a layout and params to the new
            layout, or None where a copy must be made first.  Views never reach a backend.
        elementwise: arguments broadcast against each other; the interpreters broadcast operands
            before a kernel sees them and sum cotangents back, so rules need not.
        value_dependent: the output's shape depends on values.
    """

    __slots__ = (
        "arguments",
        "elementwise",
        "jvp",
        "name",
        "shape_rule",
        "value_dependent",
        "variadic",
        "view",
        "vjp",
    )

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        shape_rule: ShapeRule,
        *,
        vjp: Sequence[RuleFunction | None] | RuleFunction | None = None,
        jvp: Sequence[RuleFunction | None] | RuleFunction | None = None,
        view: Callable[..., Layout | None] | None = None,
        elementwise: bool = False,
        value_dependent: bool = False,
    ) -> None:
        self.name = name
        self.arguments = tuple(argument.removeprefix("*") for argument in arguments)
        self.variadic = len(arguments) == 1 and arguments[0].startswith("*")
        self.shape_rule = shape_rule
        self.view = view
        self.elementwise = elementwise
        self.value_dependent = value_dependent
        self.vjp: Any = vjp if self.variadic else self._rules(vjp)
        self.jvp: Any = jvp if self.variadic else self._rules(jvp)

    def _rules(
        self, functions: Sequence[RuleFunction | None] | RuleFunction | None
    ) -> tuple[Rule | None, ...] | None:
        if functions is None:
            return None
        if callable(functions):
            functions = (functions,)
        if len(functions) != len(self.arguments):
            raise TypeError(f"{self.name}: one rule per argument, got {len(functions)}")
        return tuple(
            None if function is None else Rule(function, self.arguments) for function in functions
        )

    def infer(
        self, inputs: Sequence[HasShapeDtype | Value], params: Mapping[str, Any]
    ) -> tuple[ShapeDtype, ...]:
        """Shapes and dtypes of the outputs; raises ShapeError, DTypeError or AxisError."""
        out = self.shape_rule(*inputs, **params)
        return out if isinstance(out, tuple) else (out,)

    def __repr__(self) -> str:
        return f"Primitive({self.name})"
