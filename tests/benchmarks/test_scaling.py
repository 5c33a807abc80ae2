"""Slopes are fitted above the overhead of a call, and a step is seen where there is one."""

from __future__ import annotations

import doctest

import pytest

from benchmarks import scaling
from benchmarks.scaling import BOUNDARIES, Check, Series


def test_the_example_of_the_fit() -> None:
    assert doctest.testmod(scaling).failed == 0


@pytest.mark.parametrize("slope", [1.0, 3.0])
def test_overhead_does_not_count_into_the_slope(slope: float) -> None:
    sizes = [10**power for power in range(7)]
    times = [5.0 + 1e-3 * size**slope for size in sizes]
    found, factor, fitted, deviation = scaling.fit(sizes, times)
    assert found == pytest.approx(slope, rel=0.05)
    assert min(fitted) > 1 and max(fitted) == sizes[-1]
    assert factor == pytest.approx(1e-3, rel=0.5)
    assert deviation < 1.2


def series(**changes: float) -> Series:
    """A linear series over the real sizes, with the times of some sizes multiplied."""
    sizes = scaling.element_sizes()
    times = [1e-6 * size * changes.get(str(size), 1.0) for size in sizes]
    return Series("map", "elements", 1.0, "device", sizes, times)


def test_sizes_lie_on_both_sides_of_each_boundary() -> None:
    sizes = scaling.element_sizes()
    for boundary in BOUNDARIES.values():
        below = [size for size in sizes if boundary * 0.97 < size < boundary]
        above = [size for size in sizes if boundary < size < boundary * 1.03]
        assert below and above


def test_a_step_at_the_limit_of_workgroups_is_seen() -> None:
    assert all(check.passed for check in scaling.checks([series()], []))
    above = max(size for size in scaling.element_sizes() if size < 1 << 25)
    found = scaling.checks([series(**{str(above): 2.0})], [])
    assert [check.passed for check in found] == [True, False]


@pytest.mark.parametrize(("late", "passed"), [(1.0, True), (2.0, False)])
def test_training_steps_that_grow_are_seen(late: float, passed: bool) -> None:
    # The first block is slow: it compiles.
    (check,) = scaling.checks([], [9.0, *[1.0] * 15, *[late] * 4])
    assert check.passed is passed


def test_a_full_cache_is_seen() -> None:
    made = Series("sizes", "sizes", 1.0, "device", [1024, 4096, 8192], [1.0, 4.0, 24.0])
    assert [check.factor for check in scaling.checks([made], [])] == [1.0, 3.0]


def test_the_page_and_the_text_say_what_was_found() -> None:
    each = {
        "name": "map", "unit": "elements", "expected": 1.0, "device": "D", "sizes": [1000, 2000],
        "ms": [1.0, 2.0], "slope": 1.01, "factor": 1.0, "fitted_sizes": [1000, 2000],
        "deviation": 1.0,
    }  # fmt: skip
    found = {
        "date": "2026-01-02",
        "machine": {"processor": "P", "processors": 2},
        "series": [each],
        "checks": [{"what": "a place", "factor": 2.5, "tolerated": 1.6}],
    }
    assert "| a place | 2.50 x | yes |" in scaling.as_page(found)
    assert "| map | 1,000 to 2,000 elements | 1.00 to 2.00 ms | 1.01 | 1 | 1.00 x |" in (
        scaling.as_page(found)
    )
    assert "YES" in scaling.as_text(found)
    assert not Check("a place", 2.5).passed
