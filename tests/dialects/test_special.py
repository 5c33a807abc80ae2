"""Special functions on the device: units in the last place by mpmath, and special values."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from harness import evaluate, has_native_f64
from measure_ulp import measure
from special_functions import FUNCTIONS

from tenferro_wgpu.backends.webgpu.dialects import dialect

NAN, INFINITY = np.nan, np.inf
#: Units in the last place that results may be off by (absolute errors near negative zeros apart).
BOUNDS = {"erf": {"f32": 4, "f64": 2}, "erfc": {}, "lgamma": {}, "digamma": {}}
LOOSE = 16
SPECIAL = {
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INFINITY, 1.0), (-INFINITY, -1.0), (NAN, NAN)],
    "erfc": [(0.0, 1.0), (INFINITY, 0.0), (-INFINITY, 2.0), (NAN, NAN), (100.0, 0.0)],
    "lgamma": [
        (0.0, INFINITY), (-0.0, INFINITY), (1.0, 0.0), (2.0, 0.0), (-1.0, INFINITY),
        (-7.0, INFINITY), (INFINITY, INFINITY), (-INFINITY, INFINITY), (NAN, NAN),
    ],
    "digamma": [
        (0.0, -INFINITY), (-0.0, INFINITY), (-1.0, NAN), (-9.0, NAN), (INFINITY, INFINITY),
        (-INFINITY, NAN), (NAN, NAN),
    ],
}  # fmt: skip


@pytest.fixture(params=["f32", "f64s", "f64n"])
def floats(request: pytest.FixtureRequest, dialect_device: str) -> str:
    """Name of a floating dialect the adapter can run."""
    if request.param == "f64n" and not has_native_f64():
        pytest.skip(f"{dialect_device} has no native f64")
    return str(request.param)


@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_units_in_the_last_place_and_special_values(floats: str, name: str) -> None:
    rows = [row for row in FUNCTIONS if row.name == name]
    errors = {domain: error for _, domain, error, _ in measure(floats, 60, seed=3, functions=rows)}
    assert len(errors) > 3
    bound = BOUNDS[name].get(floats[:3], LOOSE)
    assert max(errors.values()) <= bound, errors
    x, expected = np.array(SPECIAL[name], dialect(floats).dtype).T
    got = evaluate(f"{{{{ {floats}.{name} }}}}(a)", x, result=floats, inputs=(floats,))
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[:2]), np.signbit(expected[:2]))


def test_lgamma_next_to_halves_and_whole_numbers(floats: str) -> None:
    dtype = dialect(floats).dtype
    halves = np.arange(-12, 24, dtype=dtype) / 2 + dtype.type(0)
    x = np.concatenate([np.nextafter(halves, dtype.type(end)) for end in (-30, 30)])
    x = x[np.abs(x) > 0.4]
    with mpmath.workprec(200):
        exact = [mpmath.re(mpmath.loggamma(mpmath.mpf(float(at)))) for at in x]
    got = evaluate(f"{{{{ {floats}.lgamma }}}}(a)", x, result=floats, inputs=(floats,))
    np.testing.assert_allclose(
        got, np.array(exact, float), rtol=16 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps
    )


def test_polygamma_of_every_order(floats: str) -> None:
    dtype = dialect(floats).dtype
    random = np.random.default_rng(5)
    places = [(1, 0.02, 3), (2, 0.1, 40), (3, -3, 0), (4, 50, 5000), (20, 1, 30), (1, -30, -20)]
    if floats != "f32":  # even orders have zeros between their poles: only the long sums are right
        places += [(2, -2.5, -2.4), (4, -9.5, -9.49), (2, -300, -299), (500, 100, 300)]
    # Far out the powers leave the range unless the sum, which is as large, is divided first.
    far = float(np.finfo(dtype).max) ** 0.49
    places += [(1, far, 2 * far), (2, far / 8, far / 4), (1, far**2 / 4, far**2 / 2), (130, 89, 92)]
    orders = np.repeat([order for order, _, _ in places], 8).astype(dtype)
    x = np.concatenate([random.uniform(low, high, 8) for _, low, high in places]).astype(dtype)
    with mpmath.workprec(200):
        exact = np.array(
            [float(mpmath.psi(int(n), float(at))) for n, at in zip(orders, x, strict=True)]
        )
    got = evaluate(
        f"{{{{ {floats}.polygamma }}}}(a, b)", orders, x, result=floats, inputs=(floats, floats)
    )
    # float32 rounds a product for each order.
    bound = np.maximum(orders, 40) if floats == "f32" else 1
    excess = np.abs(got / exact - 1) / (bound * np.finfo(dtype).eps)
    assert excess.max() <= 1, (orders[excess > 1], x[excess > 1], got[excess > 1])
    edges = np.array([0.0, -2.0, INFINITY, NAN], dtype)
    for order, expected in ((1, [INFINITY, INFINITY, 0, NAN]), (2, [NAN, NAN, 0, NAN])):
        n = np.full(4, order, dtype)
        got = evaluate(
            f"{{{{ {floats}.polygamma }}}}(a, b)", n, edges, result=floats, inputs=(floats, floats)
        )
        np.testing.assert_array_equal(got, np.array(expected, dtype))
