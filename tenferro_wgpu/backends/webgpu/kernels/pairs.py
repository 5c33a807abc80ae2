"""Element-wise kernels over contiguous operands of which some have elements of two words.

Loads of four words make them a quarter to a third faster than loads of one element. elementwise.py
asks here first; whatever this module does not take, its own template runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tenferro_wgpu.backends.webgpu.commands import Pipeline
from tenferro_wgpu.backends.webgpu.dialects import dialect
from tenferro_wgpu.backends.webgpu.expressions import TRANSCENDENTAL, Expression
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    WORKGROUP,
    Launcher,
    accesses,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.strides import words
from tenferro_wgpu.layout import Layout

#: Pipeline, params, workgroups, positions of the buffers, and of each constant (position, byte
#: offset of its bits in the params).
PreparedPairs = tuple[
    Pipeline, bytes, tuple[int, int, int], tuple[int, ...], tuple[tuple[int, int], ...]
]
#: The longest expression of which a kernel holds two copies rather than one, and the operations of
#: which it never does: they take longer than the loads, and long to compile.
MOST_STEPS = 8
_LONG_IN_SOFTWARE = TRANSCENDENTAL | {"div", "sqrt", "rsqrt"}


def _is_short(expression: Expression) -> bool:
    return len(expression.steps) <= MOST_STEPS and not any(
        step.operation in (TRANSCENDENTAL if step.dialect == "f64n" else _LONG_IN_SOFTWARE)
        for step in expression.steps
    )


def prepare_pairs(
    launcher: Launcher,
    expression: Expression,
    layouts: Sequence[Layout | None],
    shape: Sequence[int],
) -> PreparedPairs | None:
    """Compile `expression` over a non-empty `shape`, two elements per invocation.

    None unless some type has two words, the expression is short, and every operand is a constant (a
    layout of None), one element, or contiguous from an even offset.
    """
    operands = [dialect(name) for name in expression.operands]
    outputs = expression.output_dialects()
    words_each = {each.words for each in (*operands, *outputs)}
    if words_each not in ({2}, {1, 2}) or not _is_short(expression):
        return None
    params = [0, -(-prod(shape) // 2)]
    inputs = []
    bound: list[int] = []
    constants = []
    for position, (layout, each) in enumerate(zip(layouts, operands, strict=True)):
        word = len(params)
        if layout is None:
            inputs.append(("constant", each, -1, word))
            constants.append((position, 4 * word))
            params += [0, 0]
            continue
        if layout.is_contiguous and layout.offset % 2 == 0:
            kind, offset = "contiguous", layout.offset // 2
        elif not any(layout.strides):
            kind, offset = "single", layout.offset
        else:
            return None
        inputs.append((kind, each, len(bound), word))
        bound.append(position)
        params.append(offset)
    results = tuple(
        (number, each, len(bound) + position)
        for position, (number, each) in enumerate(zip(expression.outputs, outputs, strict=True))
    )
    pipeline = launcher.pipeline(
        "elementwise/pairs",
        (expression, tuple(kind for kind, *_ in inputs)),
        {"inputs": tuple(inputs), "results": results, "statements": expression.statements()},
        bindings=accesses(len(bound), len(outputs)),
        params_words=len(params),
    )
    return (
        pipeline,
        words(params).ljust(pipeline.params_size, b"\0"),
        launcher.groups(workgroup_count(params[1], WORKGROUP)),
        tuple(bound),
        tuple(constants),
    )
