"""What a function of the elements costs a reduction to compile, and whether it must be rounded.

Pure functions of expressions, for the kernels that compute elements as they reduce them.
"""

from __future__ import annotations

from tenferro_wgpu.backends.webgpu.dialects import dialect
from tenferro_wgpu.backends.webgpu.expressions import COMPARISONS, LOGICAL, Expression, Step

#: Dialects whose products a compiler may round together with a following sum, and operations
#: after which there is nothing to round.
_CONTRACTED = frozenset({"f32", "f64n", "c64", "c128n"})
_EXACT = frozenset(
    {"copy", "complex", "conj", "real", "neg", "abs", "sign", "select", "maximum", "minimum"}
)
#: Operations of which a kernel may hold many copies.
_CHEAP = _EXACT | {"add", "sub", "mul", "div", "sqrt"}
#: Operations of which a kernel may hold some copies.
_MODEST = frozenset({"exp", "expm1", "log", "log1p", "tanh", "rsqrt", "sin", "cos", "sigmoid"})
#: What takes no part in the time that compiling takes, unless it is arithmetic in software.
_PLAIN = _CHEAP | COMPARISONS | LOGICAL | {"cast", "clip", "imag", "is_nan"}
_COMPARED = COMPARISONS | LOGICAL | {"clip", "imag", "is_nan"}
_IN_SOFTWARE = frozenset({"f64s", "c128s"})
#: From this weight of operations on, elements are computed in a loop, by one copy of the code.
#: Compilers take more than proportionally long for many copies: for one `pow` in four copies
#: SwiftShader took minutes, in one 0.2 s.
_DEAR = 4


def _is_exact(step: Step) -> bool:
    """Whether a step does not round; the modulus and the sign of complex numbers are computed."""
    return step.operation in _EXACT and not (
        step.operation in ("abs", "sign") and dialect(step.dialect).parts
    )


def may_be_contracted(elements: Expression, name: str) -> bool:
    """Whether a compiler might round an element together with its sum, in dialect `name`.

    Longer expressions hide each step themselves.
    """
    return name in _CONTRACTED and len(elements.steps) == 1 and not _is_exact(elements.steps[0])


def is_cheap(elements: Expression) -> bool:
    """Whether many copies of an expression still compile fast."""
    return len(elements.steps) <= 4 and all(step.operation in _CHEAP for step in elements.steps)


def is_dear(elements: Expression) -> bool:
    """Whether there should be one copy of an expression's code in a kernel, in a loop."""
    weight = 0
    for step in elements.steps:
        if step.operation in _PLAIN:
            in_software = step.dialect in _IN_SOFTWARE or step.result in _IN_SOFTWARE
            weight += in_software and step.operation not in _COMPARED and not _is_exact(step)
        else:
            modest = step.operation in _MODEST and dialect(step.dialect).words == 1
            weight += 1 if modest else _DEAR
    return weight >= _DEAR
