"""The gradient slots of a runtime, and what one backward pass returns.

Slots are found by the tape node's sequence number, never by the tensor itself, and hold the
tensor weakly: dropping a tensor drops its slot.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..autodiff import tape
from ..ops.elementwise import add

if TYPE_CHECKING:
    from ..ops.value import Value
    from .tensor import EagerTensor

__all__ = ["GradSlots", "Gradients"]


class GradSlots:
    """Live gradient slots: variables, and results that have received a gradient.

    Args:
        lock: the runtime's own lock.  It is held while gradients are added up, so that
            concurrent backward calls accumulate; one lock, because adding takes the runtime's.
    """

    def __init__(self, lock: threading.RLock) -> None:
        self._slots: dict[int, weakref.ref[EagerTensor]] = {}
        self.lock = lock

    def register(self, sequence: int, tensor: EagerTensor) -> None:
        """Count `tensor` among the live slots until it dies."""
        if sequence in self._slots:
            return
        slots = self._slots

        def drop(_: object, slots: dict[int, Any] = slots, sequence: int = sequence) -> None:
            slots.pop(sequence, None)

        self._slots[sequence] = weakref.ref(tensor, drop)

    def unregister(self, sequence: int) -> None:
        """Forget a slot whose tensor no longer tracks gradients."""
        self._slots.pop(sequence, None)

    def __len__(self) -> int:
        return len(self._slots)

    def live(self) -> list[EagerTensor]:
        """The tensors whose slots are live, held strongly by the list."""
        found = (reference() for reference in list(self._slots.values()))
        return [tensor for tensor in found if tensor is not None]

    def clear(self) -> None:
        """Set every live gradient to None; the tensors stay registered."""
        with self.lock:
            for tensor in self.live():
                tensor._grad = None

    def accumulate(self, arrived: list[tuple[int, EagerTensor, EagerTensor]]) -> None:
        """Add each gradient to its tensor's slot; all of them, or none if one fails.

        Entries are (sequence of the node, tensor, gradient).  Every slot gets an object of its
        own, since a user may do to one gradient what must not show in another.
        """
        with self.lock:
            totals = [
                g.detach() if tensor._grad is None else add(tensor._grad.detach(), g.detach())
                for _, tensor, g in arrived
            ]
            for (sequence, tensor, _), total in zip(arrived, totals, strict=True):
                tensor._grad = total
                self.register(sequence, tensor)


class LiveNodes:
    """Weak references to a runtime's recorded nodes, to count what the tape keeps alive."""

    def __init__(self) -> None:
        self._references: list[weakref.ref[tape.Node]] = []
        self._prune_at = 1024

    def add(self, node: tape.Node) -> None:
        """Remember `node` while it lives; dead references are dropped now and then."""
        self._references.append(weakref.ref(node))
        if len(self._references) > self._prune_at:
            self._references = [known for known in self._references if known() is not None]
            self._prune_at = 2 * len(self._references) + 1024

    def saved_bytes(self) -> int:
        """Bytes of the distinct buffers that residuals of live nodes keep alive."""
        return tape.saved_bytes(reference() for reference in list(self._references))


class Gradients:
    """The gradients one `backward` call computed, by tensor identity.

    ``g[x]`` is the gradient of this call alone (``x.grad`` accumulates); the loss is included.
    """

    def __init__(self) -> None:
        self._by_slot: dict[tuple[int, int], tuple[weakref.ref[EagerTensor], Value]] = {}

    def _put(self, tensor: EagerTensor, g: Value) -> None:
        assert tensor.node is not None
        key = (tensor.node.sequence, tensor.output_index)
        self._by_slot[key] = (weakref.ref(tensor), g)

    def get(self, tensor: Any, default: Any = None) -> Any:
        """The gradient with respect to `tensor`, or `default`."""
        node = getattr(tensor, "node", None)
        if node is None:
            return default
        found = self._by_slot.get((node.sequence, tensor.output_index))
        return default if found is None else found[1]

    def __getitem__(self, tensor: Any) -> Any:
        found = self.get(tensor)
        if found is None:
            raise KeyError("this backward call computed no gradient for the tensor")
        return found

    def __contains__(self, tensor: Any) -> bool:
        return self.get(tensor) is not None

    def __len__(self) -> int:
        return len(self._by_slot)

    def __iter__(self) -> Iterator[EagerTensor]:
        found = (reference() for reference, _ in list(self._by_slot.values()))
        return (tensor for tensor in found if tensor is not None)

    def __repr__(self) -> str:
        shapes = ", ".join(str(g.shape) for _, g in list(self._by_slot.values())[:8])
        more = ", ..." if len(self) > 8 else ""
        return f"Gradients({len(self)} tensors; shapes {shapes}{more})"
