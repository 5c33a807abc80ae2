"""The Array API standard's special cases of element-wise functions, by its text, as data."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tenferro_wgpu as tw

INF, NAN, PI = math.inf, math.nan, math.pi
ZEROS = [(0.0, 0.0), (-0.0, -0.0)]
KEPT = [*ZEROS, (INF, INF), (-INF, -INF), (NAN, NAN)]

#: Function -> (argument, result) pairs.
UNARY = {
    "abs": [(NAN, NAN), (-0.0, 0.0), (-INF, INF)],
    "acos": [(NAN, NAN), (1.5, NAN), (-1.5, NAN), (1.0, 0.0)],
    "acosh": [(NAN, NAN), (0.5, NAN), (1.0, 0.0), (INF, INF)],
    "asin": [(NAN, NAN), (1.5, NAN), (-1.5, NAN), *ZEROS],
    "asinh": KEPT,
    "atan": [(NAN, NAN), *ZEROS, (INF, PI / 2), (-INF, -PI / 2)],
    "atanh": [(NAN, NAN), (-2.0, NAN), (2.0, NAN), (-1.0, -INF), (1.0, INF), *ZEROS],
    "ceil": [*KEPT, (-0.5, -0.0), (2.0, 2.0)],
    "cos": [(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)],
    "cosh": [(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF)],
    "exp": [(NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0)],
    "expm1": [(NAN, NAN), *ZEROS, (INF, INF), (-INF, -1.0)],
    "floor": [*KEPT, (0.5, 0.0), (-2.0, -2.0)],
    "log": [(NAN, NAN), (-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)],
    "log1p": [(NAN, NAN), (-2.0, NAN), (-1.0, -INF), *ZEROS, (INF, INF)],
    "log2": [(NAN, NAN), (-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)],
    "log10": [(NAN, NAN), (-1.0, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)],
    "reciprocal": [(NAN, NAN), (0.0, INF), (-0.0, -INF), (INF, 0.0), (-INF, -0.0)],
    "round": [*KEPT, (0.5, 0.0), (-0.5, -0.0), (1.5, 2.0), (2.5, 2.0), (3.0, 3.0)],
    "sign": [(NAN, NAN), (-3.0, -1.0), (0.0, 0.0), (-0.0, 0.0), (3.0, 1.0)],
    "signbit": [(0.0, 0), (-0.0, 1), (INF, 0), (-INF, 1), (3.0, 0), (-3.0, 1)],
    "sin": [(NAN, NAN), *ZEROS, (INF, NAN), (-INF, NAN)],
    "sinh": KEPT,
    "sqrt": [(NAN, NAN), (-1.0, NAN), *ZEROS, (INF, INF)],
    "square": [(NAN, NAN), (-0.0, 0.0), (-INF, INF)],
    "tan": [(NAN, NAN), *ZEROS, (INF, NAN), (-INF, NAN)],
    "tanh": [(NAN, NAN), *ZEROS, (INF, 1.0), (-INF, -1.0)],
    "trunc": [*KEPT, (0.5, 0.0), (-0.5, -0.0), (-2.0, -2.0)],
    "isnan": [(NAN, 1), (INF, 0), (0.0, 0)],
    "isinf": [(NAN, 0), (INF, 1), (-INF, 1), (0.0, 0)],
    "isfinite": [(NAN, 0), (INF, 0), (-INF, 0), (0.0, 1)],
}

_NAN_FIRST_OR_SECOND = [(NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, NAN, NAN)]
#: Function -> (first argument, second argument, result).
BINARY = {
    "add": [*_NAN_FIRST_OR_SECOND, (INF, -INF, NAN), (-INF, INF, NAN), (INF, INF, INF),
            (-0.0, -0.0, -0.0), (-0.0, 0.0, 0.0), (0.0, -0.0, 0.0), (3.0, -3.0, 0.0)],
    "atan2": [*_NAN_FIRST_OR_SECOND, (1.0, 0.0, PI / 2), (1.0, -0.0, PI / 2), (0.0, 1.0, 0.0),
              (0.0, 0.0, 0.0), (0.0, -0.0, PI), (0.0, -1.0, PI), (-0.0, 1.0, -0.0),
              (-0.0, 0.0, -0.0), (-0.0, -0.0, -PI), (-0.0, -1.0, -PI), (-1.0, 0.0, -PI / 2),
              (1.0, INF, 0.0), (1.0, -INF, PI), (-1.0, INF, -0.0), (-1.0, -INF, -PI),
              (INF, 1.0, PI / 2), (-INF, 1.0, -PI / 2), (INF, INF, PI / 4),
              (INF, -INF, 3 * PI / 4), (-INF, INF, -PI / 4), (-INF, -INF, -3 * PI / 4)],
    "copysign": [(3.0, -0.0, -3.0), (-3.0, 0.0, 3.0), (INF, -1.0, -INF), (0.0, -INF, -0.0)],
    "divide": [*_NAN_FIRST_OR_SECOND, (INF, INF, NAN), (0.0, 0.0, NAN), (0.0, -0.0, NAN),
               (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0), (2.0, 0.0, INF),
               (2.0, -0.0, -INF), (-2.0, 0.0, -INF), (INF, 2.0, INF), (INF, -2.0, -INF),
               (2.0, INF, 0.0), (-2.0, INF, -0.0)],
    "floor_divide": [*_NAN_FIRST_OR_SECOND, (INF, INF, NAN), (0.0, 0.0, NAN), (-0.0, 0.0, NAN),
                     (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0), (-0.0, -2.0, 0.0),
                     (2.0, 0.0, INF), (2.0, -0.0, -INF), (-2.0, 0.0, -INF), (-2.0, -0.0, INF),
                     (INF, 2.0, INF), (INF, -2.0, -INF), (-INF, 2.0, -INF), (-INF, -2.0, INF),
                     (2.0, INF, 0.0), (2.0, -INF, -0.0), (-2.0, INF, -0.0), (-2.0, -INF, 0.0)],
    "hypot": [(INF, NAN, INF), (NAN, -INF, INF), (NAN, 1.0, NAN), (1.0, NAN, NAN)],
    "logaddexp": [*_NAN_FIRST_OR_SECOND, (INF, 1.0, INF), (1.0, INF, INF)],
    "maximum": [*_NAN_FIRST_OR_SECOND, (INF, -INF, INF)],
    "minimum": [*_NAN_FIRST_OR_SECOND, (INF, -INF, -INF)],
    "multiply": [*_NAN_FIRST_OR_SECOND, (INF, 0.0, NAN), (0.0, -INF, NAN), (INF, -INF, -INF),
                 (-INF, -2.0, INF), (-0.0, 3.0, -0.0), (-0.0, -3.0, 0.0)],
    "nextafter": [(NAN, 1.0, NAN), (1.0, NAN, NAN), (0.0, -0.0, -0.0), (-0.0, 0.0, 0.0)],
    "pow": [(2.0, NAN, NAN), (NAN, 0.0, 1.0), (NAN, -0.0, 1.0), (NAN, 2.0, NAN),
            (2.0, INF, INF), (2.0, -INF, 0.0), (1.0, INF, 1.0), (1.0, NAN, 1.0),
            (-1.0, INF, 1.0), (0.5, INF, 0.0), (0.5, -INF, INF), (INF, 2.0, INF),
            (INF, -2.0, 0.0), (-INF, 3.0, -INF), (-INF, 2.0, INF), (-INF, -3.0, -0.0),
            (-INF, -2.0, 0.0), (0.0, 2.0, 0.0), (0.0, -2.0, INF), (-0.0, 3.0, -0.0),
            (-0.0, 2.0, 0.0), (-0.0, -3.0, -INF), (-0.0, -2.0, INF), (-2.0, 0.5, NAN)],
    "remainder": [*_NAN_FIRST_OR_SECOND, (INF, 2.0, NAN), (-INF, INF, NAN), (0.0, 0.0, NAN),
                  (2.0, 0.0, NAN), (-2.0, -0.0, NAN), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0),
                  (0.0, -2.0, -0.0), (-0.0, -2.0, -0.0), (2.0, INF, 2.0), (2.0, -INF, -INF),
                  (-2.0, INF, INF), (-2.0, -INF, -2.0)],
    "subtract": [*_NAN_FIRST_OR_SECOND, (INF, INF, NAN), (-0.0, 0.0, -0.0), (0.0, 0.0, 0.0)],
}  # fmt: skip

#: Complex functions: (argument, result), of which signs are compared elsewhere.
COMPLEX = {
    "exp": [(complex(0, 0), complex(1, 0)), (complex(INF, 0), complex(INF, 0)),
            (complex(-INF, INF), complex(0, 0)), (complex(-INF, NAN), complex(0, 0)),
            (complex(1, INF), complex(NAN, NAN)), (complex(NAN, 0), complex(NAN, 0))],
    "expm1": [(complex(0, 0), complex(0, 0)), (complex(INF, 0), complex(INF, 0)),
              (complex(-INF, INF), complex(-1, 0)), (complex(-INF, NAN), complex(-1, 0)),
              (complex(INF, INF), complex(INF, NAN)), (complex(INF, NAN), complex(INF, NAN)),
              (complex(1, INF), complex(NAN, NAN)), (complex(NAN, 0), complex(NAN, 0))],
    "log": [(complex(-0.0, 0), complex(-INF, PI)), (complex(0, 0), complex(-INF, 0)),
            (complex(1, INF), complex(INF, PI / 2)), (complex(-INF, 1), complex(INF, PI)),
            (complex(INF, NAN), complex(INF, NAN)), (complex(NAN, 1), complex(NAN, NAN))],
    "sqrt": [(complex(0, 0), complex(0, 0)), (complex(1, INF), complex(INF, INF)),
             (complex(-INF, 1), complex(0, INF)), (complex(INF, 1), complex(INF, 0)),
             (complex(1, NAN), complex(NAN, NAN)), (complex(INF, NAN), complex(INF, NAN))],
    "tanh": [(complex(0, 0), complex(0, 0)), (complex(1, INF), complex(NAN, NAN)),
             (complex(INF, INF), complex(1, 0)), (complex(NAN, 0), complex(NAN, 0))],
    "sinh": [(complex(0, 0), complex(0, 0)), (complex(INF, 0), complex(INF, 0)),
             (complex(NAN, 0), complex(NAN, 0)), (complex(1, INF), complex(NAN, NAN))],
    "cosh": [(complex(0, 0), complex(1, 0)), (complex(INF, 0), complex(INF, 0)),
             (complex(NAN, 0), complex(NAN, 0)), (complex(1, INF), complex(NAN, NAN))],
}  # fmt: skip


def same(got: np.ndarray, expected: np.ndarray, rounds: float) -> np.ndarray:
    """Equal with the sign of zeros; NaN equals NaN; `rounds` is a relative difference."""
    with np.errstate(all="ignore"):
        close = np.abs(got - expected) <= rounds * np.abs(expected)
        zeros = (got == 0) & (expected == 0)
        signs = ~zeros | (np.signbit(got) == np.signbit(expected))
        return (np.isnan(got) & np.isnan(expected)) | ((close | (got == expected)) & signs)


def leave_out_software(adapter: str, dtype: str) -> None:
    """The dialects have tests of their own; here dozens of their functions would be compiled."""
    if adapter == "swiftshader" and dtype in ("float64", "complex128"):
        pytest.skip("software float64 is compared in tests/dialects")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unary(rt, adapter, dtype):
    leave_out_software(adapter, dtype)
    for name, rows in UNARY.items():
        x, expected = (np.array(column) for column in zip(*rows, strict=True))
        got = getattr(tw, name)(rt.constant_from(x.astype(dtype))).numpy().astype(float)
        bad = ~same(got, expected, 4e-7)
        assert not bad.any(), (name, x[bad], got[bad], expected[bad])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary(rt, dtype):
    for name, rows in BINARY.items():
        x, y, expected = (np.array(column) for column in zip(*rows, strict=True))
        operands = (rt.constant_from(each.astype(dtype)) for each in (x, y))
        got = getattr(tw, name)(*operands).numpy().astype(float)
        bad = ~same(got, expected, 4e-7)
        assert not bad.any(), (name, x[bad], y[bad], got[bad], expected[bad])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex(rt, adapter, dtype):
    leave_out_software(adapter, dtype)
    for name, rows in COMPLEX.items():
        x, expected = (np.array(column) for column in zip(*rows, strict=True))
        got = getattr(tw, name)(rt.constant_from(x.astype(dtype))).numpy()
        for mine, theirs in ((got.real, expected.real), (got.imag, expected.imag)):
            bad = ~same(np.abs(mine), np.abs(theirs), 4e-7)
            assert not bad.any(), (name, x[bad], got[bad], expected[bad])
