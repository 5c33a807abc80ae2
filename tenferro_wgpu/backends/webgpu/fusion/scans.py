"""Running combinations as parts of programs: what they are to a plan, and running them.

planning.py makes a `Scan` of a recorded scan and of the elements that it computes as it reads;
kernels.py runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tenferro_wgpu.backends.webgpu.dialects import dialect
from tenferro_wgpu.backends.webgpu.expressions import Expression
from tenferro_wgpu.backends.webgpu.fusion.programs import Along, Operation
from tenferro_wgpu.backends.webgpu.fusion.selection import as_expression
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher
from tenferro_wgpu.backends.webgpu.kernels.scanning import launch_fused_scan
from tenferro_wgpu.layout import Layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: Bindings of a scan besides its operands: what blocks carry, and its result.
OWN_BUFFERS = 2


@dataclass
class Scan:
    """A scan of elements that it computes as it reads; it stores the elements `output`.

    `sources` are the operands of the function `elements`, `layouts` how they are walked (None for
    constants); `leaves` are tensors for them, once it has run.
    """

    name: str
    along: Along
    elements: Expression
    sources: tuple[int, ...]
    layouts: tuple[Layout | None, ...]
    output: int
    dialect: str
    structure: tuple[Any, ...]
    leaves: tuple[Tensor, ...] | None = None
    #: What its prepared launches are found by.
    key: object = field(default_factory=object)


def make_scan(
    operation: Operation,
    needed: Sequence[Operation],
    layout_of: Callable[[int], Layout | None],
) -> Scan:
    """The kernel for a recorded scan; the operations `needed` make what it does not read."""
    made = {each.slot for each in needed}
    arguments = zip(operation.arguments, operation.taken, strict=True)
    read = [(slot, taken) for slot, taken in arguments if slot not in made]
    elements, sources = as_expression(needed, operation.arguments, read)
    layouts = tuple([layout_of(slot) for slot in sources])
    assert operation.along is not None, "a scan has an axis"
    structure = (operation.name, elements)
    return Scan(
        operation.name, operation.along, elements, sources, layouts, operation.slot,
        operation.dialect, structure,
    )  # fmt: skip


def run_scan(
    launcher: Launcher, scan: Scan, leaves: tuple[Tensor, ...], shape: tuple[int, ...]
) -> Tensor:
    """Queue the dispatches of a scan over filled leaves."""
    spec = ShapeDtype(shape, dialect(scan.dialect).dtype)
    return launch_fused_scan(
        launcher, scan.name, scan.elements, leaves, asdict(scan.along), spec, key=scan.key
    )
