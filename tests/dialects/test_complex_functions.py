"""Complex functions: accuracy by mpmath, and special values against NumPy part by part.

Every pair of special parts is an operand.  Where C leaves a sign open, beside a NaN part, any sign
will do.  NumPy's own values are poor in three functions that C does not have: its expm1 multiplies
infinities by zero, its log1p loses small real parts, and its exp2 rounds large angles.
"""

from __future__ import annotations

import harness
import mpmath
import numpy as np
import pytest
from cases.complex_values import pairs_of_parts, same_specials
from complex_domains import power
from complex_functions import FUNCTIONS
from harness import evaluate
from measure_ulp import measure
from samples import WIDER

from tenferro_wgpu.backends.webgpu.dialects import dialect

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

NAMES = list(dict.fromkeys(row.name for row in FUNCTIONS))
#: Largest error in places of the modulus, each half an epsilon to one; NumPy's may be more.
BOUND = 8.0
NUMPY_EPS = 16.0
PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.7, np.inf, -np.inf, np.nan, 1e-20, -1e-20, 1e20, -1e20]
#: NumPy's names where they are others.
NUMPY_NAMES = {
    **{name: name.replace("a", "arc", 1) for name in NAMES if name[0] == "a"},
}


@pytest.fixture(params=["c64", "c128"])
def complex_dialect(request: pytest.FixtureRequest, dialect_device: str) -> str:
    """Each dialect that the adapter runs: of complex128, native or software."""
    if request.param == "c64":
        return "c64"
    return "c128n" if harness.has_native_f64() else "c128s"


def apply(name: str, function: str, *operands: np.ndarray) -> np.ndarray:
    """Evaluate one function of the dialect."""
    call = f"{{{{ {name}.{function} }}}}({', '.join('ab'[: len(operands)])})"
    return evaluate(call, *operands, result=name, inputs=(name,) * len(operands))


def special_numbers(name: str) -> np.ndarray:
    dtype = dialect(name).dtype_name
    return pairs_of_parts(np.array(PARTS, np.finfo(dtype).dtype), dtype)


@pytest.mark.parametrize("function", NAMES)
def test_accuracy_and_special_values(complex_dialect: str, function: str) -> None:
    rows = tuple(row for row in FUNCTIONS if row.name == function)
    for _, domain, error, where in measure(complex_dialect, 240, seed=7, functions=rows):
        assert error < BOUND, f"{domain}: {error:.2f} places at {where}"

    if rows[0].operands == 2:
        return
    z = special_numbers(complex_dialect)
    got = apply(complex_dialect, function, z)
    if function == "rsqrt":
        want = 1 / np.sqrt(z)
    else:
        want = getattr(np, NUMPY_NAMES.get(function, function))(z)
    if function == "expm1":
        kept = np.isfinite(z) & (z.real < 1e10)
        z, got, want = (each[kept] for each in (z, got, want))
    elif function == "exp2":
        kept = ~np.isfinite(z.imag) | (np.abs(z.imag) < 1e10)
        z, got, want = (each[kept] for each in (z, got, want))
    elif function == "log1p":
        kept = ~(np.abs(z.real) < 1e-10)
        z, got, want = (each[kept] for each in (z, got, want))
    bad = ~same_specials(got, want, NUMPY_EPS)
    assert not bad.any(), (z[bad][0], got[bad][0], want[bad][0], bad.sum())


def test_small_numbers_keep_their_digits_in_log1p_and_expm1(complex_dialect: str) -> None:
    """What NumPy loses: both functions are their argument there."""
    part = np.finfo(dialect(complex_dialect).dtype).dtype
    z = pairs_of_parts(np.array([1e-20, -1e-20, 0.0, -0.0], part), dialect(complex_dialect).dtype)
    for function in ("log1p", "expm1"):
        got = apply(complex_dialect, function, z)
        np.testing.assert_allclose(got, z, rtol=8 * np.finfo(part).eps)
        np.testing.assert_array_equal(np.signbit(got.imag), np.signbit(z.imag))


@pytest.mark.parametrize("function", ["log", "sqrt", "asin", "acosh", "atan", "atanh"])
def test_functions_of_a_conjugate_are_conjugates(complex_dialect: str, function: str) -> None:
    """On branch cuts too, where the sign of a zero says on which side a number lies."""
    z = special_numbers(complex_dialect)
    z = z[np.isfinite(z)]
    got = apply(complex_dialect, function, z)
    mirrored = apply(complex_dialect, function, np.conj(z))
    np.testing.assert_array_equal(got.real, mirrored.real)
    np.testing.assert_array_equal(got.imag, -mirrored.imag)


def test_powers(complex_dialect: str) -> None:
    """Zeros and whole exponents as NumPy has them, computed there in a wider format."""
    dtype = dialect(complex_dialect).dtype
    z = pairs_of_parts(np.array(PARTS[:7], np.finfo(dtype).dtype), dtype)
    extra = np.array([2, 3, -1, 7, -12, 16, 17, -40, 99, 100, 0.25 - 0.5j], z.dtype)
    exponents = np.concatenate([z, extra])
    base, exponent = np.repeat(z, len(exponents)), np.tile(exponents, len(z))
    got = apply(complex_dialect, "pow", base, exponent)
    wide = WIDER[dtype.name]
    want = np.power(base.astype(wide), exponent.astype(wide)).astype(dtype)
    bad = (got != want) & ~(np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        bad &= ~(np.abs(got - want) <= 8 * np.finfo(dtype).eps * np.abs(want))
    bad &= np.isfinite(want) | (base == 0)
    assert not bad.any(), (base[bad][0], exponent[bad][0], got[bad][0], want[bad][0], bad.sum())
    exact = np.array([2, 1j, 1 + 2j, -3], dtype)
    for count in (2, 3, 4, 5):
        powers = apply(complex_dialect, "pow", exact, np.full(4, count, dtype))
        np.testing.assert_array_equal(powers, exact**count)


#: Bases and exponents of binary64 with results in range and angles of 100 to 1,000 bits. The third
#: base has the modulus 1 + 2^-107: a divisor of 2^106 + 1 among Gaussian integers.
HARD_POWERS = [
    (1 + 2.0**-300 * 1j, 2.0**600),
    (2, 1e300j),
    ((5404319552844596 + 7205759403792793j) * 2.0**-53, 300.25 * 2.0**107),
    (0.6 + 0.8j, 1.5e19),
    (-1, 1e17 + 1 + 2j),
    (-1j, 2.0**1000),
    (3, 0.25 + 1e17j),
]


def test_powers_that_take_more_than_64_bits(complex_dialect: str) -> None:
    if complex_dialect == "c64":
        pytest.skip("these are numbers of complex128")
    base, exponent = (np.array(each, complex) for each in zip(*HARD_POWERS, strict=True))
    got = apply(complex_dialect, "pow", base, exponent)
    for index, found in enumerate(got):
        point = (mpmath.mpc(complex(each[index])) for each in (base, exponent))
        exact = power(*point)
        assert np.isfinite(complex(exact)), HARD_POWERS[index]
        distance = abs(mpmath.mpc(complex(found)) - exact)
        assert distance <= 4 * 2.0**-52 * abs(exact), HARD_POWERS[index]


def test_powers_of_infinite_numbers(complex_dialect: str) -> None:
    """Limits along the real axis of exponents; C leaves the rest open, and it is NaN."""
    dtype = dialect(complex_dialect).dtype
    base = np.array([np.inf, -np.inf, np.inf, 0.5, 2, 1, 0.5j, np.inf, np.nan], dtype)
    exponent = np.array([0.5, 2, -0.5, np.inf, np.inf, np.inf, -np.inf, 1j, 0.5], dtype)
    got = apply(complex_dialect, "pow", base, exponent)
    assert got[0] == np.inf and np.isinf(got[1].real) and got[2] == 0 and got[3] == 0
    assert np.isinf(got[4].real) and np.isinf(got[6].real)
    assert np.isnan(got[[5, 7, 8]]).all()
