"""Functions of both binary64 dialects: errors in ulp over the whole domain, special values, powers.

The bounds are what the fixed-point algorithms reach (the contract is 2 ulp), so that a lost guard
bit shows.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import base_functions
import f64_functions
import mpmath
import numpy as np
import pytest
from f64_domains import NEAREST_MULTIPLES, around
from harness import evaluate
from measure_ulp import measure

COUNT = int(os.environ.get("TENFERRO_FUZZ_COUNT", "50000")) // 25
#: rsqrt is two rounded steps; functions with a quotient or a root of 55 bits inside add a quarter
#: of a place for each; everything else is one rounding of 60 bits or more.
BOUNDS = {
    "sqrt": 0.5,
    "hypot": 0.5,
    "rsqrt": 1.5,
    "asin": 1.25,
    "acos": 1.25,
    "acosh": 1.25,
    "logaddexp": 1.25,
    **dict.fromkeys(("atan", "atan2", "sinh", "cosh", "asinh", "atanh", "tan"), 0.85),
}
#: What native arithmetic reaches where the dialect f64n has functions of its own.
NATIVE_BOUNDS = {
    **dict.fromkeys(("log2", "log10"), 0.52),
    **dict.fromkeys(("exp", "exp2", "log", "log1p", "sin", "cos", "pow"), 0.95),
    **dict.fromkeys(("asin", "acos", "atan"), 0.95),
    **dict.fromkeys(("expm1", "cosh", "tan"), 1.4),
    **dict.fromkeys(("tanh", "sinh", "sigmoid"), 2.0),
}
USUAL_BOUND = 0.52

MEASURED = (*base_functions.FUNCTIONS, *f64_functions.FUNCTIONS)
FURTHER = {row.name for row in f64_functions.FUNCTIONS}
UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}
SPECIAL = np.array([0.0, 1.0, 0.5, 2.0, 3.0, 1e300, 5e-324, 1e-310, 2.0**-1022, np.inf])
SPECIAL = np.concatenate([SPECIAL, -SPECIAL, [np.nan, 2.0**53 + 1, 2.0**53, 2.0**54, 1e22]])

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def apply(f64: str, function: str, *operands: np.ndarray) -> np.ndarray:
    """Evaluate one function of the dialect."""
    call = f"{{{{ {f64}.{function} }}}}({', '.join('ab'[: len(operands)])})"
    return evaluate(call, *operands, result=f64, inputs=(f64,) * len(operands))


def assert_same_values(got: np.ndarray, wanted: np.ndarray, *operands: np.ndarray) -> None:
    """Compare values and the signs of zeros; every NaN is the same."""
    same = (got == wanted) & (np.signbit(got) == np.signbit(wanted))
    same |= np.isnan(got) & np.isnan(wanted)
    wrong = np.flatnonzero(~same)
    shown = [(*(float(each[i]) for each in operands), got[i], wanted[i]) for i in wrong[:5]]
    assert wrong.size == 0, f"{wrong.size} differ; operands, got, wanted: {shown}"


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs 80-bit long doubles")
def test_errors_in_ulp(f64: str) -> None:
    bounds = BOUNDS | NATIVE_BOUNDS if f64 == "f64n" else BOUNDS
    measured = list(measure(f64, COUNT, functions=MEASURED))
    too_large = [row for row in measured if not row[2] <= bounds.get(row[0], USUAL_BOUND)]
    assert not too_large
    assert {function for function, *_ in measured} >= {*UNARY, *FURTHER, "pow", "rsqrt", "sqrt"}


@pytest.mark.parametrize("function", UNARY)
def test_special_values(f64: str, function: str) -> None:
    """Zeros, infinities, NaN, negative arguments: the same kind and sign as NumPy, exactly."""
    got = apply(f64, function, SPECIAL)
    wanted = UNARY[function](SPECIAL)
    special = ~np.isfinite(wanted) | (wanted == 0) | (np.abs(wanted) == 1)
    assert_same_values(got[special], wanted[special], SPECIAL[special])
    np.testing.assert_array_max_ulp(got[~special], wanted[~special], 2)


def test_reciprocal_root_special_values(f64: str) -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 4.0, 5e-324])
    assert_same_values(apply(f64, "rsqrt", x), 1 / np.sqrt(x), x)


def test_power_table(f64: str) -> None:
    """Every pair of special operands: NumPy's value, sign included (C's Annex F)."""
    bases, exponents = (side.ravel() for side in np.meshgrid(SPECIAL, SPECIAL, indexing="ij"))
    got = apply(f64, "pow", bases, exponents)
    wanted = np.power(bases, exponents)
    assert_same_values(
        np.where(np.isfinite(wanted) & (wanted != 0), 1, got),
        np.where(np.isfinite(wanted) & (wanted != 0), 1, wanted),
        bases,
        exponents,
    )
    finite = np.isfinite(wanted) & (wanted != 0)
    np.testing.assert_array_max_ulp(got[finite], wanted[finite], 1)


def test_exact_powers(f64: str) -> None:
    """Powers of small integers that are doubles come out exactly."""
    bases, exponents = (
        side.ravel().astype(np.float64)
        for side in np.meshgrid(np.arange(-12, 13), np.arange(0, 15), indexing="ij")
    )
    wanted = np.array([int(b) ** int(e) for b, e in zip(bases, exponents, strict=True)], float)
    assert_same_values(apply(f64, "pow", bases, exponents), wanted, bases, exponents)


@pytest.mark.parametrize("function", ["sin", "cos"])
def test_nearest_multiples_of_half_pi(f64: str, function: str) -> None:
    got = apply(f64, function, NEAREST_MULTIPLES)
    with mpmath.workprec(1500):
        wanted = [float(getattr(mpmath, function)(mpmath.mpf(x))) for x in NEAREST_MULTIPLES]
    assert_same_values(got, np.array(wanted), NEAREST_MULTIPLES)


def test_functions_are_monotone_at_their_joints(f64: str) -> None:
    """Neighbours across the borders of cases and table rows keep their order."""
    joints = {
        "log": 1 + np.arange(-8, 33) / 32,
        "log1p": np.array([-0.5, -(2.0**-5), 2.0**-5, 1.0, 2.0**63, 2.0**64]),
        "expm1": np.array([-1, 1]) * np.log(2),
        "exp": np.array([-3, -2, -1, 1, 2, 3]) * np.log(2),
    }
    for function, centers in joints.items():
        for center in centers:
            bits = np.array([center]).view(np.int64) + np.arange(-200, 201)
            x = np.sort(bits.view(np.float64))
            assert np.all(np.diff(apply(f64, function, x)) >= 0), (function, center)


def test_dialects_agree_bit_for_bit(f64: str) -> None:
    x = np.concatenate([around(1, np.random.default_rng(1), 500), SPECIAL])
    for function in UNARY.keys() - NATIVE_BOUNDS.keys():
        assert_same_values(apply(f64, function, x), apply("f64s", function, x), x)
