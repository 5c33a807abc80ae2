"""Products that wait, so that the element-wise work behind them runs in the same kernel.

running.py makes and runs them.  A product (`dot_general`, and a `conv` that is not one of
matrices) is recorded like element-wise work, but alone: it is an operand of the groups that read
it.  The first of them to run takes it along as an epilogue where it can; whoever else needs the
product has it computed by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from tenferro_wgpu.backends.webgpu.expressions import Expression
from tenferro_wgpu.backends.webgpu.fusion.groups import Pending, Product
from tenferro_wgpu.backends.webgpu.fusion.kernels import drain, fill, leaf_tensors
from tenferro_wgpu.backends.webgpu.fusion.planning import Map, Plan
from tenferro_wgpu.backends.webgpu.fusion.selection import as_expression
from tenferro_wgpu.backends.webgpu.kernels.contraction import launch_contraction
from tenferro_wgpu.backends.webgpu.kernels.contraction_epilogue import launch_contraction_epilogue
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher
from tenferro_wgpu.backends.webgpu.kernels.registry import Kernel
from tenferro_wgpu.backends.webgpu.kernels.windows import launch_windows, launch_windows_epilogue
from tenferro_wgpu.layout import contiguous_layout
from tenferro_wgpu.tensor import Tensor

#: How what waits is computed by itself, and with what follows it.
LAUNCHES: dict[str, tuple[Kernel, Callable[..., tuple[Tensor, ...]]]] = {
    "dot_general": (launch_contraction, launch_contraction_epilogue),
    "conv": (launch_windows, launch_windows_epilogue),
}


@dataclass
class Epilogue:
    """The whole of a plan as what follows one of its operands, a product.

    `sources` are the operands of the expression after the product, `outputs` the numbers of the
    values it stores: the product itself among them where somebody holds it.
    """

    expression: Expression
    sources: tuple[int, ...]
    outputs: tuple[int, ...]
    #: Tensors of the sources; each run puts its own handles in.
    leaves: tuple[Tensor, ...]
    #: What its prepared launches are found by.
    key: object = field(default_factory=object)
    #: Whether it ran before.
    ready: bool = False

    @property
    def structure(self) -> tuple[Any, ...]:
        """What its pipeline depends on, besides the product."""
        return ("dot_general", self.expression)


def make_epilogue(
    launcher: Launcher, plan: Plan, slot: int, keeps_product: bool
) -> Epilogue | None:
    """The plan as an epilogue of its operand `slot`; None where it is not one map."""
    if len(plan.stages) > 1 or not all(isinstance(stage, Map) for stage in plan.stages):
        return None
    # An epilogue runs in a loop over the tile, which may hold no function that loops by itself.
    if any(operation.kind != "element" or operation.loops for operation in plan.operations):
        return None
    outputs = (slot, *plan.outputs) if keeps_product else plan.outputs
    first = [(slot, plan.leaves[slot].dialect)]
    expression, (_, *sources) = as_expression(plan.operations, outputs, first)
    scalar = contiguous_layout(()).broadcast_in_dim(plan.program.shape, ())
    layouts = [plan.leaves[source].layout or scalar for source in sources]
    leaves = leaf_tensors(launcher, expression.operands[1:], layouts)
    return Epilogue(expression, tuple(sources), outputs, leaves)


def run_epilogue(
    launcher: Launcher,
    plan: Plan,
    epilogue: Epilogue,
    product: Product,
    operands: tuple[Tensor, ...],
    values: dict[int, Any],
) -> None:
    """Compute a product and a plan in one kernel; `values` takes the results.

    Raises UnsupportedOperationError where there is no such kernel.
    """
    x, y = operands
    leaves = fill(epilogue.leaves, epilogue.sources, values)
    try:
        results = LAUNCHES[product.name][1](
            launcher,
            (x, y),
            product.params,
            epilogue.expression,
            leaves,
            product.spec,
            key=epilogue.key,
        )
    finally:
        drain(leaves)
    for slot, result in zip(epilogue.outputs, results, strict=True):
        values[slot] = result.handle


def make_product(
    name: str, operands: tuple[Tensor, ...], params: Mapping[str, Any], spec: Any
) -> tuple[Product, Pending]:
    """A product that waits, and the handle of its result."""
    product = Product(name, operands, params, spec)
    pending = Pending(product, 0)
    product.pending = ref(pending)
    return product, pending
