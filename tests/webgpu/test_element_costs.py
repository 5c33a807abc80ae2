"""Which elements a reduction computes by one copy of their code."""

from __future__ import annotations

import pytest

from tenferro_wgpu.backends.webgpu.expressions import Expression, Step
from tenferro_wgpu.backends.webgpu.kernels.element_costs import is_dear


def closeness(dialect: str) -> Expression:
    """|x - y| <= tolerance + factor |y| of two operands that are cast to `dialect`."""
    steps = (
        Step("cast", "i16", (0,), dialect),
        Step("cast", "i16", (1,), dialect),
        Step("sub", dialect, (4, 5), dialect),
        Step("abs", dialect, (6,), dialect),
        Step("mul", dialect, (5, 3), dialect),
        Step("add", dialect, (2, 8), dialect),
        Step("less_equal", dialect, (7, 9), "bool"),
    )
    return Expression(("i16", "i16", dialect, dialect), steps, (10,))


@pytest.mark.parametrize(("dialect", "expected"), [("f64s", True), ("f64n", False), ("f32", False)])
def test_copies_of_software_arithmetic_add_up(dialect: str, expected: bool) -> None:
    # In sixteen copies a compiler took a minute and a half for it.
    assert is_dear(closeness(dialect)) is expected


def test_a_product_in_software_is_not_dear() -> None:
    product = Expression(("f64s", "f64s"), (Step("mul", "f64s", (0, 1), "f64s"),), (2,))
    assert not is_dear(product)
