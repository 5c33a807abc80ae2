"""Compiles the kernels that row_planning.py plans.

Called by kernels.py.  The template is shaders/reduction/rows.wgsl.j2.
"""

from __future__ import annotations

from tenferro_wgpu.backends.webgpu.dialects import dialect
from tenferro_wgpu.backends.webgpu.fusion.row_passes import (
    Pass,
    adds_some_groups,
    shared_arrays,
)
from tenferro_wgpu.backends.webgpu.fusion.row_planning import Rows, RowStructure
from tenferro_wgpu.backends.webgpu.kernels.element_costs import is_dear
from tenferro_wgpu.backends.webgpu.kernels.elementwise import MapLaunch
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher, accesses, workgroup_count
from tenferro_wgpu.backends.webgpu.kernels.reduction import (
    BLOCK,
    GROUP,
    GROUPED_BLOCK,
    adds_groups,
)
from tenferro_wgpu.backends.webgpu.kernels.strides import words


def prepare_rows(launcher: Launcher, stage: Rows) -> MapLaunch:
    """Compile a row kernel.

    Raises UnsupportedOperationError for a function that a dialect lacks, TensorTooLargeError for
    an output beyond the binding limit.
    """
    structure = stage.structure
    kinds = [kind for kind, _ in structure.leaves]
    bound = tuple([position for position, kind in enumerate(kinds) if kind != "constant"])
    pipeline = launcher.pipeline(
        "reduction/rows",
        (structure,),
        _context(structure, bound),
        bindings=accesses(len(bound), len(structure.outputs)),
        params_words=len(stage.words),
        workgroup_size=structure.workgroup_size,
    )
    nbytes = []
    for name, row in structure.outputs:
        elements = stage.rows * (stage.columns if row is None else 1)
        nbytes.append(elements * 4 * dialect(name).words)
        launcher.check_bindable(nbytes[-1], stage.name)
    count = stage.rows
    if structure.lanes == 1:
        count = workgroup_count(stage.rows, structure.workgroup_size)
    return MapLaunch(
        pipeline,
        words(stage.words).ljust(pipeline.params_size, b"\0"),
        launcher.groups(count),
        bound,
        tuple(
            (position, 4 * word)
            for position, word in enumerate(structure.leaf_words())
            if kinds[position] == "constant"
        ),
        tuple(nbytes),
    )


def _context(structure: RowStructure, bound: tuple[int, ...]) -> dict[str, object]:
    """What the template reads; dialects in place of their names."""
    summed = {
        name for each in structure.passes for combiner, name, _ in each.reductions
        if combiner == "sum" and dialect(name).dtype.kind in "fc"
    }  # fmt: skip
    outputs = [
        (dialect(name), len(bound) + number, row)
        for number, (name, row) in enumerate(structure.outputs)
    ]
    leaf_words = structure.leaf_words()
    return {
        "leaves": [
            (kind, dialect(name), bound.index(position) if position in bound else -1,
             leaf_words[position])
            for position, (kind, name) in enumerate(structure.leaves)
        ],
        "outputs": outputs,
        "passes": _numbered(structure.passes),
        "summed": [dialect(name) for name in sorted(summed)],
        "shared": [(dialect(name), number) for name, number in shared_arrays(structure.passes)],
        "row_rank": structure.row_rank,
        "width": structure.width,
        "lanes": structure.lanes,
        "is_split": structure.is_split,
    }  # fmt: skip


def _numbered(passes: tuple[Pass, ...]) -> list[dict[str, object]]:
    """Passes as the template reads them: `first_row` is the number of the first row it makes."""
    found: list[dict[str, object]] = []
    first_row = 0
    for each in passes:
        elements, rows = each.elements, each.rows
        found.append(
            {
                "statements": elements.statements(isolated=False),
                "dialects": [dialect(name) for name in elements.operands],
                "operands": each.operands,
                "results": list(zip(elements.outputs, elements.output_dialects(), strict=True)),
                "reductions": [
                    (combiner, dialect(name), position, adds_groups(combiner, name))
                    for combiner, name, position in each.reductions
                ],
                "block": GROUPED_BLOCK if adds_some_groups(each) else BLOCK,
                "group": GROUP if adds_some_groups(each) else 1,
                "in_turn": is_dear(elements),
                "stores": each.stores,
                "row_statements": rows.statements(isolated=False),
                "row_dialects": [dialect(name) for name in rows.operands],
                "row_operands": each.row_operands,
                "row_results": list(zip(rows.outputs, rows.output_dialects(), strict=True)),
                "first_row": first_row,
            }
        )
        first_row += len(each.reductions) + len(rows.outputs)
    return found
