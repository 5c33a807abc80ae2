"""Writes docs/coverage.md: every function x dtype x backend, run and compared with NumPy's arrays.

    make coverage-page

Functions come from the public names, their calls from tests/cases/coverage_calls.py, native and
software dtypes from the devices themselves.  Nothing on the page is written by hand.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from cases.coverage_calls import CALLS, NO_TENSORS  # noqa: E402
from cases.coverage_reasons import reason as why_not  # noqa: E402
from conftest import ADAPTERS as DRIVERS  # noqa: E402

import tenferro_wgpu as tw  # noqa: E402
from tenferro_wgpu.errors import DTypeError, TenferroError, UnsupportedOperationError  # noqa: E402

PAGE = REPOSITORY / "docs" / "coverage.md"
ADAPTERS = ("numpy", "lavapipe", "swiftshader")
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
SHORT = {name: name[0] + name.lstrip("abcdefghijklmnopqrstuvwxyz") for name in DTYPES}
#: A cell of the page that has nothing to explain; the others have a letter.
RUNS = "●"
NOTES = "abcdefghijklmnopqrstuvwxyz"


def make_runtime(adapter: str) -> Any:
    """A runtime that runs operation by operation, so that functions share their kernels."""
    if adapter == "numpy":
        return tw.EagerRuntime("cpu")
    limits = "browser" if adapter == "swiftshader" else None
    return tw.EagerRuntime(tw.WebGpuBackend(adapter=DRIVERS[adapter], limits=limits, fusion=False))


@dataclass
class Row:
    """What was found for one function."""

    names: list[str]
    cells: dict[str, str] = field(default_factory=dict)
    reverse: bool = False
    forward: bool = False


def functions() -> dict[str, list[str]]:
    """Public functions of tensors with their aliases: {first name in CALLS: every name}."""
    groups: dict[int, list[str]] = {}
    for name in sorted(tw.__all__):
        function = getattr(tw, name)
        if callable(function) and not isinstance(function, type) and name not in NO_TENSORS:
            groups.setdefault(id(function), []).append(name)
    found = {}
    for names in groups.values():
        called = [name for name in names if name in CALLS]
        found[called[0] if called else names[0]] = names
    return found


def operands(runtime: Any, dtype: str, tracked: bool = False) -> SimpleNamespace:
    """The tensors of a call: small numbers that every function is defined for."""
    base = np.array(
        [[0.25, 0.5, 0.75, 0.375], [0.625, 0.125, 0.5, 0.25], [0.375, 0.25, 0.125, 0.75]]
    )
    scale = 4 if np.dtype(dtype).kind in "iu" else 1
    make = runtime.variable_from if tracked else runtime.constant_from
    first, second = base * scale, base[::-1] * scale
    if np.dtype(dtype).kind == "b":
        first, second = first > 0.3, second > 0.4
    if np.dtype(dtype).kind == "c":
        first, second = first + 0.5j * second, second - 0.25j
    return SimpleNamespace(
        x=make(first.astype(dtype)),
        y=make(second.astype(dtype)),
        i=runtime.constant_from(np.array([2, 0, 1, 0], np.int32)),
        m=runtime.constant_from(base > 0.3),
    )


def leaves(result: Any) -> list[Any]:
    """The tensors of a result, in order; other values stay as they are."""
    if isinstance(result, (list, tuple)):
        return [leaf for item in result for leaf in leaves(item)]
    return [result]


def evaluate(runtime: Any, name: str, dtype: str) -> list[np.ndarray]:
    """The result of a call as arrays."""
    with runtime.as_default():
        result = leaves(CALLS[name](operands(runtime, dtype)))
        return [np.asarray(x.numpy() if hasattr(x, "numpy") else x) for x in result]


def agree(found: list[np.ndarray], expected: list[np.ndarray]) -> bool:
    """Whether two results have the same shapes and dtypes and nearly the same values."""
    for got, want in zip(found, expected, strict=True):
        if got.dtype != want.dtype or got.shape != want.shape:
            return False
        close = 32 * float(np.finfo(want.dtype).eps) if want.dtype.kind in "fc" else 0.0
        if not np.allclose(got, want, rtol=close, atol=close, equal_nan=True):
            return False
    return True


def derivatives(runtime: Any, name: str, dtype: str) -> tuple[bool, bool]:
    """Whether reverse and forward mode go through a call."""
    with runtime.as_default():
        tensors = operands(runtime, dtype, tracked=True)
        try:
            results = [
                x for x in leaves(CALLS[name](tensors)) if getattr(x, "requires_grad", False)
            ]
            if not results:
                return False, False
            results[0].backward(gradient=tw.ones_like(results[0].detach()))
        except TenferroError:
            return False, False
        plain = operands(runtime, dtype)

        def function(x: Any) -> Any:
            plain.x = x
            found = leaves(CALLS[name](plain))
            return next(each for each in found if each.dtype.kind in "fc")

        try:
            tw.jvp(function, [plain.x], [tw.ones_like(plain.x)])
        except TenferroError:
            return True, False
        return True, True


def _note(notes: dict[str, str], reason: str) -> str:
    """The letter of a reason, a new one for a new reason."""
    return notes.setdefault(reason, NOTES[len(notes) % 26] * (len(notes) // 26 + 1))


def measure() -> tuple[list[Row], dict[str, str]]:
    """Every row, and the reasons of the cells that do not run everywhere, by note."""
    runtimes = {adapter: make_runtime(adapter) for adapter in ADAPTERS}
    rows: list[Row] = []
    notes: dict[str, str] = {}
    for name, names in functions().items():
        row = Row(names)
        rows.append(row)
        for dtype in DTYPES:
            try:
                expected = evaluate(runtimes["numpy"], name, dtype)
            except DTypeError:
                row.cells[dtype] = _note(notes, why_not(name, dtype))
                continue
            problems = []
            for adapter in ADAPTERS[1:]:
                try:
                    if not agree(evaluate(runtimes[adapter], name, dtype), expected):
                        problems.append(f"{adapter}: another value")
                except UnsupportedOperationError as error:
                    problems.append(f"{adapter}: {error}")
            row.cells[dtype] = _note(notes, "; ".join(problems)) if problems else RUNS
        for dtype in ("float64", "complex128"):
            reverse, forward = derivatives(runtimes["numpy"], name, dtype)
            row.reverse |= reverse
            row.forward |= forward
        print(name, "".join(row.cells.values()), row.reverse, row.forward, flush=True)
    return rows, {note: reason for reason, note in notes.items()}


def dialects() -> list[str]:
    """How each adapter computes each dtype, as the lines of a table."""
    lines = [f"| | {' | '.join(SHORT.values())} |", "|---" * (len(DTYPES) + 1) + "|"]
    for adapter in ADAPTERS:
        runtime = make_runtime(adapter)
        support = runtime.backend.capabilities().dtypes
        cells = [str(support.get(dtype, "")) for dtype in DTYPES]
        lines.append(f"| {adapter} | {' | '.join(cells)} |")
        runtime.close()
    return lines


def page(rows: list[Row], notes: dict[str, str]) -> str:
    """The text of the page."""
    cells = [cell for row in rows for cell in row.cells.values()]
    count = cells.count(RUNS)
    lines = [
        "# Coverage",
        "",
        "Made by `make coverage-page`, which runs a call of every function on every dtype on",
        "NumPy, lavapipe and SwiftShader and compares the results. A dot: it runs on all three and",
        "they agree. A letter: the function refuses the dtype with `DTypeError`, and why.",
        f"{len(rows)} functions, {count} cells with a dot, {len(cells) - count} with a letter.",
        "",
        "Columns: b bool, i and u integers with and without a sign, f floats, c complex numbers,",
        "each with its bits; vjp and jvp: whether reverse and forward mode go through it.",
        "",
        f"| function | {' | '.join(SHORT.values())} | vjp | jvp |",
        "|---" * (len(DTYPES) + 3) + "|",
    ]
    for row in rows:
        names = ", ".join(f"`{name}`" for name in row.names)
        cells = " | ".join(row.cells[dtype] for dtype in DTYPES)
        marks = " | ".join(RUNS if each else " " for each in (row.reverse, row.forward))
        lines.append(f"| {names} | {cells} | {marks} |")
    lines += ["", *(f"- {note}: {reason}" for note, reason in notes.items())]
    lines += ["", "## How adapters compute each dtype", "", *dialects(), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(*measure()), encoding="utf-8")
