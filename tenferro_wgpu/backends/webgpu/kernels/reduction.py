"""Reductions: sums, products, maxima and minima of element-wise functions over any axes.

One template reduces any expression over operands of any layout and applies another to the
results: a single primitive is the case of a copy. The backend calls `launch_reduction`, fusion
`launch_fused_reduction`. Plans are in reduction_plan.py; the values, in the template.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tenferro_wgpu.backends.webgpu.commands import Pipeline
from tenferro_wgpu.backends.webgpu.dialects import Dialect, dialect
from tenferro_wgpu.backends.webgpu.expressions import Expression, primitive_expression
from tenferro_wgpu.backends.webgpu.kernels.element_costs import (
    is_cheap,
    is_dear,
    may_be_contracted,
)
from tenferro_wgpu.backends.webgpu.kernels.elementwise import (
    MAX_RANK,
    launch_elementwise,
    prepare_map,
    run_map,
)
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    WORKGROUP,
    Constant,
    Launcher,
    accesses,
    with_constants,
)
from tenferro_wgpu.backends.webgpu.kernels.reduction_plan import (
    ReductionStep,
    memory_order,
    plan_addressing,
    plan_reduction,
)
from tenferro_wgpu.backends.webgpu.kernels.registry import kernel
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts, words
from tenferro_wgpu.errors import DTypeError, ShapeError, UnsupportedOperationError
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: Neighbouring loads of results per invocation on a software renderer: 16 results are a cache line,
#: and rows of memory are read in runs of several lines (1.8 to 2.8 times as fast as one load).
WIDE = 4
#: Elements (or loads) added in sequence before their sum joins the compensated total.
BLOCK = 32
#: Software numbers that are added at once, and the block of as many roundings.
GROUP = 8
GROUPED_BLOCK = 4 * BLOCK

COMBINERS = {
    "reduce_sum": "sum",
    "reduce_prod": "prod",
    "reduce_max": "max",
    "reduce_min": "min",
}
_IDENTITIES = {"reduce_sum": 0, "reduce_prod": 1}


def value_dialect(launcher: Launcher, dtype: np.dtype[Any], name: str) -> Dialect:
    """Dialect that `name` compares or combines elements of `dtype` in.

    The order of bool is that of its stored 0 and 1.  Raises DTypeError for a sum or product of
    bool, UnsupportedOperationError for a dtype that the device does not carry.
    """
    if dtype.kind != "b":
        return launcher.dialect(dtype)
    return _combined_in(launcher.dialect(dtype), name)


def adds_groups(combiner: str, name: str) -> bool:
    """Whether elements of dialect `name` are added by its sum8, `GROUP` at once."""
    return combiner == "sum" and name == "f64s"


def _combined_in(element: Dialect, name: str) -> Dialect:
    if element.name != "bool":
        return element
    if name in _IDENTITIES:
        raise DTypeError(
            name, "takes no bool; cast it to an integer first", (np.dtype(element.dtype_name),)
        )
    return dialect("u32")


@dataclass(frozen=True)
class _Launch:
    """One prepared dispatch.

    Attributes:
        bound: positions of the operands that are buffers; the first step's are the leaves and
            the last step's end with the epilogue's.
        constants: (position, byte offset of its bits in the params) of those that are constants.
        nbytes: size of its result.
    """

    pipeline: Pipeline
    params: bytes
    workgroups: tuple[int, int, int]
    bound: tuple[int, ...]
    constants: tuple[tuple[int, int], ...]
    nbytes: int


@kernel(*COMBINERS)
def launch_reduction(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """Reduce one operand over `params["axes"]`."""
    (operand,) = operands
    (spec,) = outputs
    axes = tuple(params["axes"])
    if not axes:
        return launch_elementwise(launcher, "copy", operands, {}, outputs)
    key = (name, operand.layout, axes, operand.dtype.num, type(operand.handle))
    launches = launcher.young_plans.get(key)
    if launches is not None:
        return (_run(launcher, launches, operands, (), spec, name),)
    held = launcher.dialect(operand.dtype).name
    return (
        launch_fused_reduction(
            launcher, name, primitive_expression("copy", (held,), held),
            operands, operand.shape, axes, spec, key=key,
        ),
    )  # fmt: skip


def launch_fused_reduction(
    launcher: Launcher,
    name: str,
    prologue: Expression,
    leaves: tuple[Tensor, ...],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    spec: ShapeDtype,
    *,
    epilogue: Expression | None = None,
    epilogue_leaves: tuple[Tensor, ...] = (),
    key: Any = None,
) -> Tensor:
    """Queue the reduction of an element-wise function, and a function of its results.

    Values are those of the prologue, the reduction and the epilogue run one after another, bit
    for bit: an operand alone is reduced in the order it has in memory, a function of operands in
    the order of `shape`, in which its results would have been stored.

    Args:
        launcher: of the backend that holds the operands.
        name: "reduce_sum", "reduce_prod", "reduce_max" or "reduce_min".
        prologue: maps one element of each leaf to one value.
        leaves: its operands: buffers with any layout of `shape`, and constants (whose layout
            does not matter).  No handle is pending.
        shape: the index space.
        axes: ascending axes to reduce; none are allowed too.
        spec: shape (`shape` without `axes`) and dtype of the result.
        epilogue: maps the reduced value and one element of each of `epilogue_leaves` to the
            result; None leaves the reduced value as it is.
        epilogue_leaves: buffers with any layout of ``spec.shape``, and constants.
        key: what the prepared launches are stored under in ``launcher.plans``: it must tell
            apart name, expressions, axes, and each operand's layout and type of handle.  By
            default it is built from them.

    Returns:
        A contiguous tensor.

    Raises:
        ShapeError: no element to take a maximum or minimum of.
        DTypeError: a sum or product of bool.
        TensorTooLargeError: the result or the index space is larger than kernels can count.
        UnsupportedOperationError: too many axes, or a function that a dialect lacks.
    """
    if key is None:
        key = (
            name, prologue, epilogue, axes, shape,
            *[(type(leaf.handle), leaf.layout) for leaf in leaves],
            *[(type(leaf.handle), leaf.layout) for leaf in epilogue_leaves],
        )  # fmt: skip
    launches = launcher.young_plans.get(key) or launcher.plans.find(key)
    if launches is None:
        if prod(spec.shape) == 0:
            return launcher.empty(spec, name)
        if prod(shape) == 0:
            return _reduced_nothing(launcher, name, prologue, spec, epilogue, epilogue_leaves)
        launches = _prepare(
            launcher, name, prologue, _layouts(leaves), shape, axes,
            spec, epilogue, _layouts(epilogue_leaves),
        )  # fmt: skip
        launcher.plans.store(key, launches)
    return _run(launcher, launches, leaves, epilogue_leaves, spec, name)


def _layouts(leaves: Sequence[Tensor]) -> list[Layout | None]:
    return [None if type(leaf.handle) is Constant else leaf.layout for leaf in leaves]


def _run(
    launcher: Launcher,
    launches: tuple[_Launch, ...],
    leaves: tuple[Tensor, ...],
    epilogue_leaves: tuple[Tensor, ...],
    spec: ShapeDtype,
    name: str,
) -> Tensor:
    """Allocate and dispatch prepared launches."""
    queue = launcher.queue
    handles = [leaf.handle for leaf in leaves]
    last = launches[-1]
    for launch in launches:
        if launch is last and epilogue_leaves:
            handles += [leaf.handle for leaf in epilogue_leaves]
        params = launch.params
        if launch.constants:
            params = with_constants(params, launch.constants, handles)
        bindings = [handles[position] for position in launch.bound]
        buffer = queue.compute(
            launch.pipeline, bindings, launch.nbytes, params, launch.workgroups, name
        )
        handles = [buffer]
    return Tensor(spec.dtype, contiguous_layout(spec.shape), buffer, launcher.backend)


def _reduced_nothing(
    launcher: Launcher,
    name: str,
    prologue: Expression,
    spec: ShapeDtype,
    epilogue: Expression | None,
    epilogue_leaves: tuple[Tensor, ...],
) -> Tensor:
    """The result where every output has no element: the identity, through the epilogue."""
    if name not in _IDENTITIES:
        raise ShapeError(name, f"no element to reduce for a result of shape {spec.shape}")
    element = dialect(prologue.dialect_of(prologue.outputs[0]))
    constant = launcher.backend.scalar(_IDENTITIES[name], element.dtype)
    if epilogue is None:
        epilogue = primitive_expression("copy", (element.name,), element.name)
    operands = (constant, *epilogue_leaves)
    launch = prepare_map(launcher, epilogue, _layouts(operands), spec.shape)
    (buffer,) = run_map(launcher, launch, operands, name)
    return Tensor(spec.dtype, contiguous_layout(spec.shape), buffer, launcher.backend)


def _prepare(
    launcher: Launcher,
    name: str,
    prologue: Expression,
    layouts: Sequence[Layout | None],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    spec: ShapeDtype,
    epilogue: Expression | None,
    epilogue_layouts: Sequence[Layout | None],
) -> tuple[_Launch, ...]:
    """Plan and compile every dispatch of a reduction of at least one element."""
    check_counts(name, prod(spec.shape), prod(shape[axis] for axis in axes))
    T = _combined_in(dialect(prologue.dialect_of(prologue.outputs[0])), name)
    order: Sequence[int] | None = None
    backwards: frozenset[int] = frozenset()
    if [step.operation for step in prologue.steps] == ["copy"]:
        order, backwards = memory_order(layouts, shape)
    steps = plan_reduction(shape, axes, order, is_cpu=launcher.is_cpu, packable=T.words == 1)
    launches = []
    for number, step in enumerate(steps):
        is_last = number == len(steps) - 1
        if number:
            held = dialect(prologue.dialect_of(prologue.outputs[0])).name
            prologue = primitive_expression("copy", (held,), held)
            shape, axes = (steps[number - 1].splits, *spec.shape), (0,)
            layouts, order, backwards = [contiguous_layout(shape)], None, frozenset()
        launches.append(
            _prepare_step(
                launcher, name, step, T, prologue, layouts, shape, axes, order, backwards,
                epilogue if is_last else None, epilogue_layouts if is_last else (),
            )
        )  # fmt: skip
    return tuple(launches)


def _prepare_step(
    launcher: Launcher,
    name: str,
    step: ReductionStep,
    T: Dialect,
    prologue: Expression,
    layouts: Sequence[Layout | None],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    order: Sequence[int] | None,
    backwards: frozenset[int],
    epilogue: Expression | None,
    epilogue_layouts: Sequence[Layout | None],
) -> _Launch:
    names = [*prologue.operands, *(epilogue.operands[1:] if epilogue else ())]
    found = plan_addressing(
        step, shape, axes, layouts, epilogue_layouts, order, backwards,
        vectors=WIDE if launcher.is_cpu and is_cheap(prologue) else 1,
        wide_leaves=frozenset(i for i, each in enumerate(names) if dialect(each).words > 1),
        constant_words=[dialect(each).constant_words for each in names],
    )  # fmt: skip
    step = found.step
    if max(found.outer_rank, found.inner_rank) > MAX_RANK:
        raise UnsupportedOperationError(
            name, backend="webgpu", hint=f"more than {MAX_RANK} separate axes; reshape to fewer"
        )
    bound = tuple(i for i, kind in enumerate(found.kinds) if kind != "constant")
    operands = tuple(
        (kind, found.invariant[i], dialect(names[i]), bound.index(i) if i in bound else -1,
         found.operand_words[i])
        for i, kind in enumerate(found.kinds)
    )  # fmt: skip
    element = prologue.dialect_of(prologue.outputs[0])
    result = dialect(epilogue.dialect_of(epilogue.outputs[0])) if epilogue else T
    combiner = COMBINERS[name]
    grouped = adds_groups(combiner, T.name)
    leaves = len(prologue.operands)
    context = {
        "T": T,
        "R": result,
        "lanes": step.lanes,
        "pack": step.pack,
        "vectors": step.vectors,
        "scattered": found.scattered,
        "outer_rank": found.outer_rank,
        "inner_rank": found.inner_rank,
        "combiner": combiner,
        "compensated": combiner == "sum" and T.dtype.kind in "fc",
        "block": GROUPED_BLOCK if grouped else BLOCK,
        "group": GROUP if grouped else 1,
        "in_turn": (grouped or step.pack != "none") and step.vectors == 1 and is_dear(prologue),
        "leaves": operands[:leaves],
        "epilogue_leaves": operands[leaves:],
        "result_binding": len(bound),
        "statements": prologue.statements(),
        "element": prologue.outputs[0],
        "element_dialect": dialect(element),
        # Longer expressions hide each step themselves.
        "hidden": may_be_contracted(prologue, T.name),
        "epilogue_statements": epilogue.statements() if epilogue else None,
        "total_dialect": dialect(epilogue.operands[0]) if epilogue else T,
        "result": epilogue.outputs[0] if epilogue else 0,
    }
    pipeline = launcher.pipeline(
        "reduction/reduce",
        (
            combiner, prologue, epilogue, found.kinds, found.invariant, found.outer_rank,
            found.inner_rank, step.lanes, step.pack, step.vectors, found.scattered,
        ),
        context,
        bindings=accesses(len(bound), 1),
        params_words=len(found.words),
        workgroup_size=WORKGROUP if step.lanes == 1 else step.lanes,
    )  # fmt: skip
    nbytes = step.results * 4 * result.words
    launcher.check_bindable(nbytes, name)
    return _Launch(
        pipeline,
        words(found.words).ljust(pipeline.params_size, b"\0"),
        launcher.groups(step.workgroups),
        bound,
        tuple(
            (i, 4 * found.operand_words[i])
            for i, kind in enumerate(found.kinds)
            if kind == "constant"
        ),
        nbytes,
    )
