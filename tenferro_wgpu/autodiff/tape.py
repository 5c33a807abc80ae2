"""The tape: what a program recorded, and the one reverse sweep over it.

A `Node` stands for one recorded primitive or one leaf.  Nodes hold what the rules named as
residuals and strong references to the nodes they came from, but only weak references to user
tensors: a dropped tensor frees its gradient slot and costs the sweep nothing.  The sweep visits
only nodes that receive a cotangent, newest first, so its cost depends on the differentiated
program alone, and it never recurses.  No backend is named here.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import MissingRuleError
from ..ops.calling import project
from ..ops.elementwise import add
from ..ops.primitive import Primitive, Rule
from ..ops.reduction import sum as sum_over
from ..ops.structural import reshape
from ..ops.value import Value
from ..tensor import ShapeDtype, Tensor

__all__ = ["Node", "reverse_sweep", "sum_to_shape"]

_sequence = itertools.count(1)

NOTHING: tuple[Any, ...] = ()

#: What a node came from: (node, index of its output), or None for an inactive input.
Parent = tuple["Node", int] | None


class Node:
    """One recorded application of a primitive, or a leaf (`primitive` is None).

    `sequence` grows with recording order and is never reused, so it serves as the identity of
    a gradient slot and as the order of the sweep.
    """

    __slots__ = (
        "__weakref__",
        "outputs",
        "params",
        "parents",
        "primitive",
        "saved",
        "sequence",
        "tensors",
    )

    def __init__(
        self,
        primitive: Primitive | None,
        params: Mapping[str, Any],
        parents: tuple[Parent, ...],
        saved: Sequence[Sequence[Any]],
        outputs: Sequence[ShapeDtype],
    ) -> None:
        self.sequence = next(_sequence)
        self.primitive = primitive
        self.params = params
        self.parents = parents
        self.saved = saved
        self.outputs = outputs
        #: Weak references to the user tensors of the outputs; whoever makes these fills it.
        self.tensors: list[weakref.ref[Any] | None] = [None] * len(outputs)


def leaf(aval: ShapeDtype) -> Node:
    """A node without parents: a variable."""
    return Node(None, {}, (), (), (aval,))


def record(
    primitive: Primitive,
    params: Mapping[str, Any],
    parents: tuple[Parent, ...],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    avals: Sequence[ShapeDtype],
    keep: Callable[[Any], Any],
) -> Node | None:
    """A node for an application with at least one active input, or None if no rule applies.

    `inputs` and `outputs` are what `keep` turns into residuals where a rule asks for a value;
    only what the rules of active inputs name is kept.
    """
    rules = primitive.vjp
    if rules is None:
        return None
    if primitive.variadic:
        likes = tuple([ShapeDtype(x.shape, x.dtype) for x in inputs])
        return Node(primitive, params, parents, (likes,), avals)
    active = False
    saved = [NOTHING] * len(parents)
    for position, parent in enumerate(parents):
        if parent is None:
            continue
        rule = rules[position]
        if rule is None:
            parents = (*parents[:position], None, *parents[position + 1 :])
            continue
        active = True
        if rule.only_value is not None:  # the commonest case, spelled out
            source = rule.only_value
            saved[position] = (keep(outputs[0] if source < 0 else inputs[source]),)
        elif rule.residuals:
            kept = []
            for source, keeps_value in rule.residuals:
                residual = outputs[0] if source < 0 else inputs[source]
                kept.append(
                    keep(residual) if keeps_value else ShapeDtype(residual.shape, residual.dtype)
                )
            saved[position] = tuple(kept)
    return Node(primitive, params, parents, saved, avals) if active else None


def sum_to_shape(g: Value, shape: tuple[int, ...]) -> Value:
    """Sum a cotangent over the axes along which an operand of `shape` was repeated."""
    if g.shape == shape:
        return g
    added = g.ndim - len(shape)
    axes = tuple(range(added)) + tuple(
        axis + added
        for axis, extent in enumerate(shape)
        if extent == 1 and g.shape[axis + added] != 1
    )
    result: Value = reshape(sum_over(g, axis=axes), shape)
    return result


def has_live_tensor(node: Node) -> bool:
    """Whether a user tensor of one of the node's outputs is alive."""
    for reference in node.tensors:  # noqa: SIM110 - a generator would cost twice as much
        if reference is not None and reference() is not None:
            return True
    return False


def _nodes_to_visit(root: Node, wanted: Callable[[Node], bool]) -> dict[int, Node]:
    """The nodes through which a cotangent reaches something wanted, oldest first, by sequence."""
    found: dict[int, Node] = {root.sequence: root}
    pending = [root]
    while pending:
        for parent in pending.pop().parents:
            if parent is not None:
                source = parent[0]
                if source.sequence not in found:
                    found[source.sequence] = source
                    pending.append(source)
    needed: dict[int, Node] = {}
    # Parents come before their children in recording order.
    for sequence in sorted(found):
        node = found[sequence]
        for parent in node.parents:
            if parent is not None and parent[0].sequence in needed:
                needed[sequence] = node
                break
        else:
            if wanted(node):
                needed[sequence] = node
    return needed


def reverse_sweep(
    root: Node,
    index: int,
    seed: Value,
    lift: Callable[[Any], Any],
    visit: Callable[[Node, int, Value], None],
    wanted: Callable[[Node], bool] = has_live_tensor,
) -> None:
    """Propagate `seed` from output `index` of `root` to every node it depends on.

    `lift` turns a kept residual into a value the rules can compute with.  `visit` is called once
    for each node output with its complete cotangent, newest first.  No rule is evaluated for an
    input behind which nothing is `wanted`.  Raises what a rule raises, with a note naming the
    operation, and MissingRuleError.
    """
    needed = _nodes_to_visit(root, wanted)
    needed[root.sequence] = root
    cotangents: dict[int, list[Value | None]] = {root.sequence: [None] * len(root.outputs)}
    cotangents[root.sequence][index] = seed
    for sequence in reversed(needed):
        arrived = cotangents.pop(sequence, None)
        if arrived is None:
            continue
        node = needed[sequence]
        for position, cotangent in enumerate(arrived):
            if cotangent is not None:
                visit(node, position, cotangent)
        primitive = node.primitive
        if primitive is None:
            continue
        for position, parent in enumerate(node.parents):
            if parent is None:
                continue
            source, output = parent
            if source.sequence not in needed:
                continue
            try:
                g = _pull_back(node, primitive, position, arrived, lift)
                if g is None:
                    continue
                aval = source.outputs[output]
                if g.dtype is not aval.dtype:
                    g = project(g, aval.dtype)
                if g.shape != aval.shape:  # rules ignore broadcasting
                    g = sum_to_shape(g, aval.shape)
                slots = cotangents.get(source.sequence)
                if slots is None:
                    cotangents[source.sequence] = slots = [None] * len(source.outputs)
                existing = slots[output]
                slots[output] = g if existing is None else add(existing, g)
            except Exception as error:
                error.add_note(f"while differentiating {primitive.name} (vjp)")
                raise


def _pull_back(
    node: Node,
    primitive: Primitive,
    position: int,
    arrived: list[Value | None],
    lift: Callable[[Any], Any],
) -> Value | None:
    """The cotangent of one input of a node from the cotangents of its outputs."""
    g: Any = arrived[0] if len(arrived) == 1 else tuple(arrived)
    if primitive.variadic:
        result: Value | None = primitive.vjp(g, position, node.saved[0], **node.params)
        return result
    rule: Rule | None = primitive.vjp[position]
    if rule is None:
        raise MissingRuleError(primitive.name, "vjp")
    saved = node.saved[position]
    pulled: Value | None
    if rule.only_value is not None and not rule.params:
        pulled = rule.function(g, lift(saved[0]))
    else:
        values = [kept if isinstance(kept, ShapeDtype) else lift(kept) for kept in saved]
        pulled = rule(g, values, node.params)
    return pulled


def saved_bytes(nodes: Iterable[Node | None]) -> int:
    """Bytes of the distinct buffers that the residuals of `nodes` keep alive."""
    buffers: dict[int, int] = {}
    for node in nodes:
        if node is None:
            continue
        for kept in node.saved:
            for residual in kept:
                if isinstance(residual, Tensor):
                    buffers[id(residual.handle)] = residual.buffer_size * residual.dtype.itemsize
    return sum(buffers.values())
