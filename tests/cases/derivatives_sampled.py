"""Differentiable programs of samples, polynomials and spread, appended to `derivative_cases`."""

from __future__ import annotations

import numpy as np

import tenferro_wgpu as tw

_STEPS = np.random.default_rng(32).permutation(24) / 6 - 1.9
CUBE = _STEPS.reshape(2, 3, 4)
MATRIX = _STEPS[:12].reshape(3, 4)
ROW = _STEPS[12:16]
COMPLEX = CUBE + 1j * np.random.default_rng(33).permutation(24).reshape(2, 3, 4) / 7
PLACES = np.array([-1.0, -0.3, 0.9, 1.4])
#: Samples of which several are NaN, once squared.
HOLES = 1.55


def _holed(x):
    return tw.where(x > HOLES, np.nan, x * x)


#: (name, function, inputs) of each.
CASES = [
    ("gradient", lambda x: tw.gradient(x, axis=1) ** 2, (CUBE,)),
    ("gradient, all axes", lambda x: tw.multiply(*tw.gradient(x, 0.5, 2.0)), (MATRIX,)),
    ("gradient, places", lambda x, p: tw.gradient(x, p, axis=-1) ** 2, (MATRIX, PLACES)),
    (
        "gradient, second order at the ends",
        lambda x, p: tw.gradient(x, p, axis=2, edge_order=2) * tw.gradient(x, axis=1, edge_order=2),
        (CUBE, PLACES),
    ),
    ("trapezoid", lambda x: tw.trapezoid(x * x, dx=0.3, axis=1), (CUBE,)),
    ("trapezoid, places", lambda x, p: tw.trapezoid(x, p) ** 2, (CUBE, PLACES)),
    ("polyval", lambda p, x: tw.polyval(p, x), (PLACES, MATRIX)),
    ("heaviside", lambda x, y: tw.heaviside(x, y) * y, (MATRIX, ROW)),
    ("sinc", tw.sinc, (MATRIX,)),
    ("sinc near 0", tw.sinc, (MATRIX / 50,)),
    ("sinc, complex", tw.sinc, (COMPLEX[0] / 4,)),
    ("unwrap", lambda x: tw.unwrap(3 * x, axis=1) ** 2, (CUBE,)),
    ("ptp", lambda x: tw.ptp(x, axis=(0, 2)) ** 2, (CUBE,)),
    ("corrcoef", lambda x, y: tw.corrcoef(x, y) ** 2, (MATRIX, ROW)),
    ("corrcoef, complex", lambda z: tw.corrcoef(z), (COMPLEX[0],)),
    ("nanvar", lambda x: tw.nanvar(_holed(x), axis=1, ddof=0.5), (CUBE,)),
    ("nanstd", lambda x: tw.nanstd(_holed(x), axis=2, keepdims=True) * x, (CUBE,)),
    ("nanquantile", lambda x: tw.nanquantile(_holed(x), [0.1, 0.6], axis=1), (CUBE,)),
    ("mean, where", lambda x: tw.mean(x * x, axis=1, where=x > -1), (CUBE,)),
    ("var, where", lambda x: tw.var(x * x, axis=2, where=x > -1.7), (CUBE,)),
    ("norm, 1", lambda x: tw.norm(x, 1, (0, 2)) ** 2, (CUBE,)),
    ("norm, inf", lambda x: tw.norm(x, np.inf, (0, 2), keepdims=True) * x, (CUBE,)),
    ("norm, fro, complex", lambda z: tw.norm(z, "fro", (2, 1)), (COMPLEX,)),
]
