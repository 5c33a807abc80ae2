"""Element-wise kernels: one template evaluates any expression over operands of any layout.

Called by the backend for element-wise primitives and by other families for copies and fills.
The plan of an expression and its layouts is a pure function; shapes, strides, offsets and scalar
constants travel as params, so that a pipeline depends on structure alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from tenferro_wgpu.backends.webgpu.commands import Pipeline
from tenferro_wgpu.backends.webgpu.dialects import dialect
from tenferro_wgpu.backends.webgpu.expressions import (
    COMPARISONS,
    LOGICAL,
    Expression,
    primitive_expression,
)
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    Constant,
    Launcher,
    accesses,
    with_constants,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.movement import prepare_copy
from tenferro_wgpu.backends.webgpu.kernels.pairs import prepare_pairs
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.strides import coalesce, words
from tenferro_wgpu.backends.webgpu.memory import Buffer
from tenferro_wgpu.errors import UnsupportedOperationError
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor, TensorSpec, contiguous_spec

OperandKind: TypeAlias = Literal["constant", "single", "contiguous", "strided", "packed", "splat"]

#: Invocations per workgroup: on software adapters, whose cost per workgroup shows, a tenth
#: (llvmpipe) to two fifths (SwiftShader) faster than 64 at a million elements; 256 gains little
#: more and makes small arrays slower.
WORKGROUP = 128
#: Axes left after merging that the template may walk: with 2 elements along each, more than any
#: device can bind.  NumPy code rarely has more than five.
MAX_RANK = 32

UNARY = (
    "neg", "abs", "sign", "sqrt", "rsqrt", "cbrt",
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sigmoid",
    "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "floor", "ceil", "round", "trunc", "bitwise_not", "bitwise_count",
)  # fmt: skip
BINARY = (
    "add", "sub", "mul", "div", "pow", "maximum", "minimum", "fmax", "fmin", "clip",
    "floor_divide", "remainder", "fmod", "atan2", "hypot", "logaddexp", "copysign", "nextafter",
    "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right", "gcd",
)  # fmt: skip
SPECIAL = ("erf", "erfc", "lgamma", "digamma", "polygamma")
#: Questions about floats, which give bools.
PREDICATES = ("is_nan", "is_inf", "is_finite", "sign_bit")
#: Operations that only move bits, conj and real those of real numbers: NaN payloads and
#: subnormals must come through.
MOVES = frozenset({"copy", "conj", "real"})


@dataclass(frozen=True)
class MapPlan:
    """How one expression runs over one combination of layouts.

    Attributes:
        kinds: how each operand is addressed.
        width: elements per invocation, 1 or 4.
        rank: merged axes that strided operands walk.
        invocations: work items of the dispatch.
        words: params words, constants left 0.
        operand_words: where the params of each operand begin.
    """

    kinds: tuple[OperandKind, ...]
    width: int
    rank: int
    invocations: int
    words: tuple[int, ...]
    operand_words: tuple[int, ...]


def plan_map(
    layouts: Sequence[Layout | None],
    shape: tuple[int, ...],
    packable: bool,
    constant_words: Sequence[int] = (),
) -> MapPlan:
    """Plan a map over a non-empty index space.

    Args:
        layouts: layout of each operand, all of `shape`; None for a constant.
        shape: the index space, which is also the shape of the contiguous outputs.
        packable: whether every operand and output is one word per element, so that four
            elements may be loaded at once.
        constant_words: params words of each operand if it is a constant; 2 by default.
    """
    size = 1
    for extent in shape:
        size *= extent
    kinds: list[OperandKind] = []
    walked: list[Layout] = []
    for layout in layouts:
        if layout is None:
            kinds.append("constant")
        elif layout.is_contiguous:
            kinds.append("contiguous")
        elif all(s == 0 or n == 1 for n, s in zip(layout.shape, layout.strides, strict=True)):
            kinds.append("single")
        else:
            kinds.append("strided")
            walked.append(layout)
    extents, strides = (
        coalesce(shape, [layout.strides for layout in walked]) if walked else ((), ())
    )
    rank = len(extents)
    width = 1
    if packable and (not walked or extents[-1] % 4 == 0):
        offsets = [
            layout.offset
            for layout, kind in zip(layouts, kinds, strict=True)
            if layout is not None and kind == "contiguous"
        ]
        if all(offset % 4 == 0 for offset in offsets):
            width = 4
    if width == 4 and walked:
        extents = (*extents[:-1], extents[-1] // 4)
    params = [0, -(-size // width), *extents]
    operand_words = []
    remaining = iter(strides)
    for position, layout in enumerate(layouts):
        operand_words.append(len(params))
        if layout is None:
            params += [0] * (constant_words[position] if constant_words else 2)
        elif kinds[position] == "single":
            params.append(layout.offset)
        elif kinds[position] == "contiguous":
            params.append(layout.offset // width)
        else:
            own = next(remaining)
            offset = layout.offset
            if width == 4 and own[-1] == 0:
                kinds[position] = "splat"
            elif width == 4 and own[-1] == 1 and all(s % 4 == 0 for s in (offset, *own[:-1])):
                kinds[position] = "packed"
                offset //= 4
                own = (*(s // 4 for s in own[:-1]), 1)
            params += [offset, *own]
    return MapPlan(
        tuple(kinds), width, rank, -(-size // width), tuple(params), tuple(operand_words)
    )


class MapLaunch:
    """A plan made ready: everything of a dispatch but its buffers and constants."""

    __slots__ = (
        "binds_two",
        "bound",
        "constants",
        "filled",
        "output_bytes",
        "params",
        "pipeline",
        "workgroups",
    )

    def __init__(
        self,
        pipeline: Pipeline | None,
        params: bytes,
        workgroups: tuple[int, int, int],
        bound: tuple[int, ...],
        constants: tuple[tuple[int, int], ...],
        output_bytes: tuple[int, ...],
    ) -> None:
        #: None for an empty index space.
        self.pipeline = pipeline
        self.params = params
        self.workgroups = workgroups
        #: Positions of the operands that are buffers.
        self.bound = bound
        #: Whether it takes two buffers, gives one and reads no constants.
        self.binds_two = (
            pipeline is not None and bound == (0, 1) and not constants and len(output_bytes) == 1
        )
        #: (position, byte offset of its bits in the params) of the operands that are constants.
        self.constants = constants
        self.output_bytes = output_bytes
        #: The constants of the last run, and the params with them.
        self.filled: tuple[tuple[Constant, ...], bytes] = ((), b"")


def prepare_map(
    launcher: Launcher, expression: Expression, layouts: Sequence[Layout | None], shape: Any
) -> MapLaunch:
    """Compile and plan `expression` over `layouts` (None for constants).

    Raises UnsupportedOperationError for a function a dialect lacks or too many axes or buffers,
    TensorTooLargeError for an output beyond the binding limit.
    """
    operands = [dialect(name) for name in expression.operands]
    outputs = expression.output_dialects()
    bound = tuple(i for i, layout in enumerate(layouts) if layout is not None)
    constants = [i for i, layout in enumerate(layouts) if layout is None]
    size = contiguous_layout(tuple(shape)).size
    output_bytes = tuple(size * 4 * each.words for each in outputs)
    operation = expression.steps[0].operation
    for nbytes in output_bytes:
        launcher.check_bindable(nbytes, operation)
    statements = expression.statements()
    if size == 0:
        return MapLaunch(None, b"", (0, 1, 1), bound, (), output_bytes)
    if bound and len(expression.steps) == 1 and operation == "copy" and layouts[0] is not None:
        moved = prepare_copy(launcher, outputs[0].words, layouts[0], operation)
        if moved is not None:
            return MapLaunch(*moved, bound, (), output_bytes)
    pairs = prepare_pairs(launcher, expression, layouts, shape)
    if pairs is not None:
        return MapLaunch(*pairs, output_bytes)
    packable = all(each.words == 1 for each in (*operands, *outputs))
    plan = plan_map(layouts, shape, packable, [each.constant_words for each in operands])
    if plan.rank > MAX_RANK:
        raise UnsupportedOperationError(
            operation,
            backend="webgpu",
            hint=f"operands with {plan.rank} separate axes; copy them to C order first",
        )
    inputs = []
    for position, (kind, each) in enumerate(zip(plan.kinds, operands, strict=True)):
        binding = bound.index(position) if kind != "constant" else -1
        inputs.append((kind, each, binding, plan.operand_words[position]))
    results = tuple(
        (number, each, len(bound) + position)
        for position, (number, each) in enumerate(zip(expression.outputs, outputs, strict=True))
    )
    pipeline = launcher.pipeline(
        "elementwise/map",
        (expression, plan.kinds, plan.width, plan.rank),
        {
            "inputs": tuple(inputs),
            "results": results,
            "statements": statements,
            "width": plan.width,
            "rank": plan.rank,
            "extents_word": 2,
        },
        bindings=accesses(len(bound), len(outputs)),
        params_words=len(plan.words),
        workgroup_size=WORKGROUP,
    )
    return MapLaunch(
        pipeline,
        words(plan.words).ljust(pipeline.params_size, b"\0"),
        launcher.groups(workgroup_count(plan.invocations, WORKGROUP)),
        bound,
        tuple((i, 4 * plan.operand_words[i]) for i in constants),
        output_bytes,
    )


def run_map(
    launcher: Launcher, launch: MapLaunch, operands: Sequence[Tensor], operation: str
) -> list[Buffer]:
    """Allocate the outputs of a prepared map and dispatch it."""
    pipeline = launch.pipeline
    if pipeline is None:
        return [launcher.queue.allocate(nbytes, operation) for nbytes in launch.output_bytes]
    params = launch.params
    if launch.constants:
        params = _with_constants(launch, operands)
    bindings = [operands[position].handle for position in launch.bound]
    if len(launch.output_bytes) == 1:
        nbytes = launch.output_bytes[0]
        return [
            launcher.queue.compute(pipeline, bindings, nbytes, params, launch.workgroups, operation)
        ]
    results = [launcher.queue.allocate(nbytes, operation) for nbytes in launch.output_bytes]
    bindings += results
    launcher.queue.dispatch(pipeline, bindings, params, launch.workgroups, operation, results)
    return results


def _with_constants(launch: MapLaunch, operands: Sequence[Tensor]) -> bytes:
    """The params with the bits of the constants; the same object while these stay the same."""
    handles = [operand.handle for operand in operands]
    bits = tuple([handles[position] for position, _ in launch.constants])
    known, params = launch.filled  # looked at once: another thread may put its own there
    if known == bits:
        return params
    params = with_constants(launch.params, launch.constants, handles)
    launch.filled = (bits, params)
    return params


def primitive_to_expression(
    launcher: Launcher, name: str, operands: Sequence[Tensor], result: Any
) -> Expression:
    """The expression of an element-wise primitive over operands of these dtypes."""
    if name == "copy" or (name in MOVES and operands[0].dtype.kind != "c"):
        bits = launcher.bits_dialect(operands[0].dtype).name
        return primitive_expression("copy", (bits,), bits)
    if name == "select":
        bits = launcher.bits_dialect(operands[1].dtype).name
        return primitive_expression("select", ("bool", bits, bits), bits)
    names = tuple(launcher.dialect(operand.dtype).name for operand in operands)
    return primitive_expression(name, names, launcher.dialect(result, name).name)


@kernel(
    "cast",
    "complex",
    "imag",
    "select",
    *MOVES,
    *UNARY,
    *BINARY,
    *SPECIAL,
    *PREDICATES,
    *COMPARISONS,
    *LOGICAL,
)
def launch_elementwise(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Run one element-wise primitive: a look-up, an allocation and a dispatch when warm."""
    key: Any
    if len(operands) == 2:
        x, y = operands
        key = (name, x.spec, x.handle.__class__, y.spec, y.handle.__class__)
    else:
        parts = [part for x in operands for part in (x.spec, x.handle.__class__)]
        key = (name, outputs[0].dtype, *parts)
    plan: tuple[MapLaunch, TensorSpec] | None
    plan = launcher.young_plans.get(key) or launcher.plans.find(key)
    if plan is None:
        plan = _prepare_primitive(launcher, name, operands, outputs[0])
        launcher.plans.store(key, plan)
    launch, spec = plan
    if launch.binds_two:
        # `run_map` spelled out for the commonest case, which saves a tenth of the call.
        buffer = launcher.queue.compute(
            launch.pipeline,  # type: ignore[arg-type]
            [x.handle, y.handle],
            launch.output_bytes[0],
            launch.params,
            launch.workgroups,
            name,
        )
    else:
        (buffer,) = run_map(launcher, launch, operands, name)
    return (Tensor(spec.dtype, spec.layout, buffer, launcher.backend, None, spec),)


def _prepare_primitive(
    launcher: Launcher, name: str, operands: tuple[Tensor, ...], output: ShapeDtype
) -> tuple[MapLaunch, TensorSpec]:
    expression = primitive_to_expression(launcher, name, operands, output.dtype)
    layouts = [None if type(x.handle) is Constant else x.layout for x in operands]
    try:
        launch = prepare_map(launcher, expression, layouts, output.shape)
    except UnsupportedOperationError as error:
        raise UnsupportedOperationError(
            name, dtype=operands[-1].dtype, backend="webgpu", hint=error.hint
        ) from error
    return launch, contiguous_spec(output)
