"""docs/accuracy.md has a row for every measured function, none beyond what is promised."""

from __future__ import annotations

import re

import base_functions
import f64_functions
from measure_ulp import BEGIN, DOCUMENT, END, table

ROW = re.compile(r"\| `(\w+)` \|(.*)\|")


def printed() -> tuple[list[str], dict[str, dict[str, str]]]:
    """Return the dtypes of the table's columns and its cells by function."""
    text = DOCUMENT.read_text().partition(BEGIN)[2].partition(END)[0]
    head, _, *rows = text.splitlines()
    dtypes = [cell.strip() for cell in head.split("|")[2:-1]]
    found = {}
    for row in rows:
        match = ROW.fullmatch(row)
        assert match is not None, row
        cells = [cell.strip() for cell in match[2].split("|")]
        found[match[1]] = dict(zip(dtypes, cells, strict=True))
    return dtypes, found


def test_every_function_of_real_numbers_is_in_the_table() -> None:
    dtypes, rows = printed()
    assert dtypes == ["float16", "float32", "float64", "complex64", "complex128"]
    names = {row.name for row in (*base_functions.FUNCTIONS, *f64_functions.FUNCTIONS)}
    assert {name for name, cells in rows.items() if cells["float64"]} >= names


def test_no_error_of_the_table_is_large() -> None:
    """2 units in float64, 16 for the gamma family and erfc; 8 for complex numbers."""
    _, rows = printed()
    errors = {
        (name, dtype): float(cell)
        for name, cells in rows.items()
        for dtype, cell in cells.items()
        if cell
    }
    limits = {"float64": 2.0, "complex64": 8.0, "complex128": 8.0}
    special = dict.fromkeys(("erfc", "lgamma", "digamma"), 16.0)
    for (name, dtype), error in errors.items():
        assert error <= special.get(name, limits.get(dtype, 4.0)), (name, dtype)


def test_a_table_has_columns_for_what_was_measured() -> None:
    made = table({("exp", "float32"): 1.234, ("exp", "float64"): 0.5006, ("pow", "float64"): 0.5})
    assert made.splitlines() == [
        "| function | float32 | float64 |",
        "|---|---|---|",
        "| `exp` | 1.23 | 0.501 |",
        "| `pow` |  | 0.500 |",
    ]
