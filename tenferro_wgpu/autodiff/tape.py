"""The tape: what a program recorded, and the one reverse sweep over it.

A `Node` stands for one recorded primitive or one leaf.  Nodes hold what the rules named as
residuals and strong references to the nodes they came from, but only weak references to user
tensors: a dropped tensor frees its gradient slot and costs the sweep nothing.  The sweep visits
only nodes that receive a cotangent, newest first, so its cost depends on the differentiated
program alone, and it never recurses.  No backend is named here.
"""

from __future__ import annotations

import heapq
import itertools
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..errors import MissingRuleError
from ..ops.calling import project
from ..ops.elementwise import add
from ..ops.primitive import Primitive
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
        saved: tuple[Sequence[Any], ...],
        outputs: Sequence[ShapeDtype],
    ) -> None:
        self.sequence = next(_sequence)
        self.primitive = primitive
        self.params = params
        self.parents = parents
        self.saved = saved
        self.outputs = outputs
        #: Weak references to the user tensors of the outputs; filled by `attach`.
        self.tensors: list[weakref.ref[Any] | None] = [None] * len(outputs)

    def attach(self, index: int, tensor: Any) -> None:
        """Remember, weakly, the user tensor that shows output `index`."""
        self.tensors[index] = weakref.ref(tensor)


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
    saved: list[Sequence[Any]] = []
    for position, parent in enumerate(parents):
        rule = rules[position]
        if parent is None or rule is None:
            saved.append(NOTHING)
            if parent is not None:
                parents = (*parents[:position], None, *parents[position + 1 :])
            continue
        active = True
        if not rule.residuals:
            saved.append(NOTHING)
            continue
        kept = []
        for source, keeps_value in rule.residuals:
            residual = outputs[0] if source < 0 else inputs[source]
            kept.append(
                keep(residual) if keeps_value else ShapeDtype(residual.shape, residual.dtype)
            )
        saved.append(kept)
    return Node(primitive, params, parents, tuple(saved), avals) if active else None


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
    return any(reference is not None and reference() is not None for reference in node.tensors)


def _nodes_to_visit(root: Node, wanted: Callable[[Node], bool]) -> set[int]:
    """Sequences of the nodes through which a cotangent reaches something wanted."""
    found: dict[int, Node] = {root.sequence: root}
    pending = [root]
    while pending:
        for parent in pending.pop().parents:
            if parent is not None and parent[0].sequence not in found:
                found[parent[0].sequence] = parent[0]
                pending.append(parent[0])
    needed: set[int] = set()
    # Parents come before their children in recording order.
    for sequence in sorted(found):
        node = found[sequence]
        if wanted(node) or any(
            parent is not None and parent[0].sequence in needed for parent in node.parents
        ):
            needed.add(sequence)
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
    cotangents: dict[int, list[Value | None]] = {root.sequence: [None] * len(root.outputs)}
    cotangents[root.sequence][index] = seed
    queue: list[tuple[int, Node]] = [(-root.sequence, root)]
    while queue:
        _, node = heapq.heappop(queue)
        arrived = cotangents.pop(node.sequence)
        for position, cotangent in enumerate(arrived):
            if cotangent is not None:
                visit(node, position, cotangent)
        if node.primitive is None:
            continue
        for position, parent in enumerate(node.parents):
            if parent is None or parent[0].sequence not in needed:
                continue
            source, output = parent
            try:
                g = _pull_back(node, position, arrived, lift)
                if g is None:
                    continue
                g = _fit(g, source.outputs[output])
                slots = cotangents.get(source.sequence)
                if slots is None:
                    cotangents[source.sequence] = slots = [None] * len(source.outputs)
                    heapq.heappush(queue, (-source.sequence, source))
                existing = slots[output]
                slots[output] = g if existing is None else add(existing, g)
            except Exception as error:
                error.add_note(f"while differentiating {node.primitive.name} (vjp)")
                raise


def _fit(g: Value, aval: ShapeDtype) -> Value:
    """A cotangent in the dtype and shape of what it belongs to (rules ignore broadcasting)."""
    if g.dtype is not aval.dtype:
        g = project(g, aval.dtype)
    return g if g.shape == aval.shape else sum_to_shape(g, aval.shape)


def _pull_back(
    node: Node, position: int, arrived: list[Value | None], lift: Callable[[Any], Any]
) -> Value | None:
    """The cotangent of one input of a node from the cotangents of its outputs."""
    primitive = node.primitive
    assert primitive is not None
    g: Any = arrived[0] if len(arrived) == 1 else tuple(arrived)
    if primitive.variadic:
        result: Value | None = primitive.vjp(g, position, node.saved[0], **node.params)
        return result
    rule = primitive.vjp[position]
    if rule is None:
        raise MissingRuleError(primitive.name, "vjp")
    saved = [
        residual if isinstance(residual, ShapeDtype) else lift(residual)
        for residual in node.saved[position]
    ]
    pulled: Value | None = rule(g, saved, node.params)
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
