"""float32 and float16 stay within their bounds on a device whose division and square root do not.

WGSL promises 2.5 units in the last place for a quotient, and the adapters of these tests round
correctly. So every quotient and root in the module is shifted by two units, and measured again.
"""

from __future__ import annotations

import re
from typing import Any

import base_functions
import f32_functions
import harness
import numpy as np
import pytest
from harness import evaluate
from measure_ulp import measure
from test_f16 import EVERY, assert_same, pairs

SHIFT = """
fn tf_shifted(x: f32) -> f32 {
  let field = bitcast<u32>(x) & 0x7f800000u;
  let units = select(0u, %s, field != 0u && field != 0x7f800000u);
  return bitcast<f32>(bitcast<u32>(x) + units);
}
fn tf_quotient_of_device(x: f32, y: f32) -> f32 { return tf_shifted(x / y); }
fn tf_root_of_device(x: f32) -> f32 { return tf_shifted(sqrt(x)); }
"""
#: Up on one adapter and down (modulo 2^32) on the other.
UNITS = {"lavapipe": "2u", "swiftshader": "0xfffffffeu"}


def _group(text: str, start: int, step: int) -> int:
    """Past the parenthesis that closes (`step` 1) or opens (-1) the one at `start`."""
    depth = 0
    while True:
        depth += {"(": 1, ")": -1}.get(text[start], 0)
        start += step
        if depth == 0:
            return start


def _operand(text: str, start: int, step: int) -> int:
    """The other end of the operand (a name, a call, an expression in parentheses) at `start`."""
    word = re.compile(r"[\w.<>]")
    if step > 0:
        while word.match(text[start]):
            start += 1
        return _group(text, start, 1) if text[start] == "(" else start
    if text[start] == ")":
        start = _group(text, start, -1)
    while word.match(text[start]):
        start -= 1
    return start


def with_shifted_quotients(wgsl: str, units: str) -> str:
    """The module with its float quotients and square roots shifted by `units`."""
    place = 0
    while (place := wgsl.find(" / ", place)) >= 0:
        left = _operand(wgsl, place - 1, -1) + 1
        right = _operand(wgsl, place + 3, 1)
        x, y = wgsl[left:place], wgsl[place + 3 : right]
        if re.fullmatch(r"\d+u|.*significand|divisor", y) or "params" in x + y:
            place += 3  # of integers
        else:
            wgsl = f"{wgsl[:left]}tf_quotient_of_device({x}, {y}){wgsl[right:]}"
            place = left
    return re.sub(r"\bsqrt\(", "tf_root_of_device(", wgsl) + SHIFT % units


@pytest.fixture(autouse=True)
def inexact_device(monkeypatch: pytest.MonkeyPatch, dialect_device: str) -> None:
    """Every module of the test is evaluated with shifted quotients and roots."""
    render = harness.render_source

    def rendered(*args: Any, **options: Any) -> str:
        return with_shifted_quotients(render(*args, **options), UNITS.get(dialect_device, "2u"))

    monkeypatch.setattr(harness, "render_source", rendered)


def test_the_shift_reaches_a_quotient() -> None:
    x = np.array([1.0, 3.0, 10.0], np.float32)
    got = evaluate("{{ f32.div }}(a, b)", x, x[::-1].copy(), result="f32")
    assert np.abs(got.view(np.int32) - (x / x[::-1]).view(np.int32)).tolist() == [2, 2, 2]


def test_functions_stay_within_four_units() -> None:
    rows = (*f32_functions.FUNCTIONS, *base_functions.FUNCTIONS)
    found = list(measure("f32", 4000, functions=rows))
    assert len(found) > 90
    assert not [each for each in found if each[2] > 4]


def test_whole_quotients_and_remainders_do_not_change() -> None:
    random = np.random.default_rng(3)
    x, y = random.uniform(-1000, 1000, (2, 20_000)).astype(np.float32)
    x[:5000] = np.round(x[:5000]) * np.round(y[:5000])
    for name in ("floor_divide", "remainder", "fmod"):
        got = evaluate(f"{{{{ f32.{name} }}}}(a, b)", x, y, result="f32")
        np.testing.assert_array_equal(got, getattr(np, name)(x, y))


def test_float16_is_rounded_correctly_all_the_same() -> None:
    x, y = pairs(100_000)
    with np.errstate(all="ignore"):
        quotient, root = x / y, np.sqrt(EVERY)
    inputs = ("f16s", "f16s")
    got = evaluate("{{ f16s.div }}(a, b)", x, y, result="f16s", inputs=inputs)
    assert_same(got, quotient, x, y)
    assert_same(evaluate("{{ f16s.sqrt }}(a)", EVERY, result="f16s", inputs=inputs[:1]), root)
