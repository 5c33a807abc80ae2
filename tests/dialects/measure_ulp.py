"""Prints the largest error of each floating-point function of a dialect in units of the last place.

Run by hand and by tests of dialects (in small):

    python tests/dialects/measure_ulp.py [--dialect f32] [--function tan] [--samples 1000000]
    python tests/dialects/measure_ulp.py --table [--function tan]     # rows of docs/accuracy.md

All samples are compared with NumPy in the next wider format; the worst of them are computed again
with mpmath, and those errors are the ones printed. What is measured is in the rows of
`base_functions.py` and of one file per family of dialects (`functions.py` says what a row is).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import base_functions
import complex_functions
import f32_functions
import f64_functions
import mpmath
import numpy as np
import special_functions
from functions import Function
from harness import (
    adapter_name,
    evaluate,
    has_native_f16,
    has_native_f64,
    use_adapter,
)
from samples import WIDER, random_bits, uniform

from tenferro_wgpu.backends.webgpu.dialects import DIALECTS, dialect
from tenferro_wgpu.backends.webgpu.shaders import library

#: Every row. A family of dialects adds its file here.
FUNCTIONS: tuple[Function, ...] = (
    *base_functions.FUNCTIONS,
    *f32_functions.FUNCTIONS,
    *f64_functions.FUNCTIONS,
    *special_functions.FUNCTIONS,
    *complex_functions.FUNCTIONS,
)

WORST_POINTS = 40
#: Samples of a function that only mpmath can compute: each costs about a millisecond.
EXACT_SAMPLES = 2000
PRECISION = 1200

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"
BEGIN = "<!-- table of measure_ulp.py: begin -->\n"
END = "<!-- end -->\n"
#: Adapters of the table, by a part of their names.
ADAPTERS = ("llvmpipe", "SwiftShader")


def domains_of(
    function: Function, random: np.random.Generator, count: int, dtype: Any
) -> Iterator[tuple[str, tuple[np.ndarray, ...]]]:
    """Yield (name of the domain, operands): random bits, each range, then the row's own."""
    number = count if function.wide is not None else min(count, EXACT_SAMPLES)
    places = range(function.operands)
    if function.all_bits:
        bits = tuple(random_bits(random, number, dtype) for _ in places)
        yield "all bits", tuple(np.abs(each) for each in bits) if function.positive else bits
    for low, high in function.ranges:
        operands = tuple(uniform(random, low, high, number, dtype) for _ in places)
        yield f"[{low:g}, {high:g}]", operands
    if function.domains is not None:
        yield from function.domains(random, number, dtype)


def last_place(exact: np.ndarray, dtype: Any) -> np.ndarray:
    """Return the unit in the last place of `dtype` at `exact` (in the wider format)."""
    limits = np.finfo(dtype)
    magnitude = np.abs(exact)
    exponents = np.maximum(np.frexp(magnitude)[1] - 1, limits.minexp)
    return np.ldexp(np.ones_like(magnitude), exponents - limits.nmant)


def errors_in_ulp(
    got: np.ndarray, exact: np.ndarray, dtype: Any, *, flushes: bool = False
) -> np.ndarray:
    """Return |got - exact| in units of the last place of `dtype`; infinite where kinds differ.

    Results and exact values past the largest finite number by less than half a place agree. With
    `flushes`, an exact value below the normal numbers may also come out as zero. A complex error is
    a distance, in places of the modulus; where a part of the exact value is not finite, it is 0,
    and with `flushes` also where it is no more than what parts below the normal numbers may lose.
    """
    wide = got.astype(exact.dtype)
    limits = np.finfo(dtype)
    with np.errstate(all="ignore"):
        if exact.dtype.kind == "c":
            inside = np.isfinite(exact) & (np.abs(exact) < limits.max)
            unit = last_place(np.where(inside, exact, 0), dtype)
            distance = np.abs(wide - exact)
            error = np.where(inside, distance / unit, 0)
            if flushes:  # a part beside one that is not subnormal, too
                error = np.where(distance <= 2 * limits.tiny, 0, error)
            return np.where(inside & ~np.isfinite(wide), np.inf, error)
        unit = last_place(np.where(np.isfinite(exact), exact, 0), dtype)
        error = np.abs(wide - exact) / unit
        top = limits.max.astype(exact.dtype) * (1 + limits.eps.astype(exact.dtype) / 4)
        overflows = np.abs(exact) >= top
        fits = np.isinf(wide) & (np.sign(wide) == np.sign(exact))
        error = np.where(overflows, np.where(fits, 0, np.inf), error)
        both_nan = np.isnan(exact) & np.isnan(wide)
        error = np.where(np.isnan(exact) | np.isnan(wide), np.where(both_nan, 0, np.inf), error)
        if flushes:
            error = np.where((np.abs(exact) < limits.tiny) & (wide == 0), 0, error)
    return np.asarray(error)


def flushed(x: np.ndarray) -> np.ndarray:
    """Return `x` with subnormal numbers as zeros of their sign, as flushing hardware sees them."""
    if x.dtype.kind == "c":
        return flushed(x.view(x.real.dtype)).view(x.dtype)
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def _scalar(value: Any) -> Any:
    """Return a NumPy scalar as Python's: mpmath takes those."""
    return complex(value) if np.iscomplexobj(value) else float(value)


def _exact_value(function: Function, point: tuple[Any, ...]) -> Any:
    """Return the function of Python numbers in mpmath; NaN where it has no real value."""
    try:
        exact = mpmath.mpmathify(function.exact(*(mpmath.mpmathify(each) for each in point)))
    except (ValueError, ZeroDivisionError):
        return mpmath.nan
    if isinstance(exact, mpmath.mpc) and not any(isinstance(each, complex) for each in point):
        return mpmath.nan
    return exact


def worst_with_mpmath(
    function: Function,
    operands: tuple[np.ndarray, ...],
    got: np.ndarray,
    errors: np.ndarray,
) -> tuple[float, tuple[Any, ...]]:
    """Return the largest error among the worst points, by mpmath, and its operands."""
    largest, where = 0.0, tuple(_scalar(each[0]) for each in operands)
    candidates = np.argsort(np.where(np.isfinite(errors), errors, np.inf))[-WORST_POINTS:]
    for index in candidates:
        point = tuple(_scalar(each[index]) for each in operands)
        error = float(errors[index])
        if error == 0:  # with what the device may flush
            continue
        if np.isfinite(error) and np.isfinite(got[index]) and np.all(np.isfinite(point)):
            with mpmath.workprec(PRECISION):
                exact = _exact_value(function, point)
                unit = mpmath.mpf(float(last_place(np.array([float(abs(exact))]), got.dtype)[0]))
                distance = abs(mpmath.mpmathify(_scalar(got[index])) - exact)
                error = float(distance / unit) if unit else error
                if distance <= function.absolute * float(np.finfo(got.dtype).eps):
                    error = 0.0
        if error > largest:
            largest, where = error, point
    return largest, where


def exactly(function: Function, operands: tuple[np.ndarray, ...], dtype: Any) -> np.ndarray:
    """Return the function by mpmath, rounded to the wider format; NaN at complex infinities."""
    wide = np.dtype(WIDER[np.dtype(dtype).name])
    values = np.empty(operands[0].size, wide)
    with mpmath.workprec(PRECISION):
        for index in range(values.size):
            point = tuple(_scalar(each[index]) for each in operands)
            if wide.kind == "c" and not np.all(np.isfinite(point)):
                values[index] = np.nan
                continue
            value = _exact_value(function, point)
            if wide.kind == "c":
                parts = mpmath.mpc(value)
                values[index] = complex(0)
                values.real[index] = _rounded(parts.real, values.real.dtype)
                values.imag[index] = _rounded(parts.imag, values.imag.dtype)
            else:
                values[index] = _rounded(value, wide)
    return values


def _rounded(value: mpmath.mpf, wide: np.dtype) -> Any:
    """Return a number of mpmath in a format of up to 64 bits."""
    upper = float(value)
    return wide.type(upper) + wide.type(float(value - upper)) if np.isfinite(upper) else upper


def device_flushes(name: str) -> bool:
    """Return whether the adapter flushes subnormal results of the dialect's arithmetic."""
    dtype = dialect(name).dtype
    if dtype.kind == "c":  # complex128 flushes nowhere: its parts are float64
        return name == "c64" and device_flushes("f32")
    tiny = np.full(4, np.finfo(dtype).tiny, dtype)
    half = np.full(4, 0.5, dtype)
    product = evaluate(f"{{{{ {name}.mul }}}}(a, b)", tiny, half, result=name, inputs=(name, name))
    return bool(product[0] == 0)


def declares(name: str, function: str) -> bool:
    """Return whether the dialect has the function."""
    return f"tf_{function}_{name}" in library()


def measure(
    name: str, count: int, seed: int = 1, functions: Iterable[Function] = FUNCTIONS
) -> Iterator[tuple[str, str, float, tuple[Any, ...]]]:
    """Yield (function, domain, largest error in ulp, operands there) for a dialect.

    Functions that the dialect does not declare are left out.
    """
    dtype = dialect(name).dtype
    wide = WIDER[dtype.name]
    random = np.random.default_rng(seed)
    flushes = device_flushes(name)
    for function in functions:
        if name not in function.dialects or not declares(name, function.name):
            continue
        letters = ", ".join("abcd"[: function.operands])
        call = f"{{{{ {name}.{function.name} }}}}({letters})"
        inputs = (name,) * function.operands
        for domain, operands in domains_of(function, random, count, dtype):
            got = evaluate(call, *operands, result=name, inputs=inputs)

            def reference(*at: np.ndarray, function: Function = function) -> np.ndarray:
                if function.wide is None:
                    return exactly(function, at, dtype)
                return np.asarray(function.wide(*(each.astype(wide) for each in at)))

            with np.errstate(all="ignore"):
                points = operands
                expected = reference(*operands)
                errors = errors_in_ulp(got, expected, dtype, flushes=flushes)
                if function.absolute:
                    distance = np.abs(got.astype(wide) - expected)
                    errors[distance <= function.absolute * np.finfo(dtype).eps] = 0
                if flushes:
                    small_as_zero = tuple(flushed(each) for each in operands)
                    other = reference(*small_as_zero)
                    with_zeros = errors_in_ulp(got, other, dtype, flushes=True)
                    # mpmath is asked about the operands that the device has seen.
                    points = tuple(
                        np.where(with_zeros < errors, zeros, each)
                        for zeros, each in zip(small_as_zero, operands, strict=True)
                    )
                    errors = np.minimum(errors, with_zeros)
                    # Poles at zero: mpmath has no signed zeros to tell which infinity is meant.
                    small = np.any([flushed(each) != each for each in operands], axis=0)
                    errors[small & ~np.isfinite(other)] = 0
                    if dtype.kind == "c":  # steps in between may flush, or not, as they like
                        errors[small] = 0
            yield function.name, domain, *worst_with_mpmath(function, points, got, errors)


def dialects_here() -> list[str]:
    """Return the names of the measured dialects that the adapter can run."""
    measured = {name for function in FUNCTIONS for name in function.dialects}
    can_run = [entry for entry in DIALECTS if not entry.native or has_native(entry.name)]
    return [entry.name for entry in can_run if entry.name in measured]


def has_native(name: str) -> bool:
    """Return whether the adapter compiles a native dialect."""
    if name == "f16n":
        return has_native_f16()
    return has_native_f64() if name in ("f64n", "c128n") else False


def largest_errors(
    count: int, functions: Iterable[Function] = FUNCTIONS
) -> dict[tuple[str, str], float]:
    """Return {(function, dtype): largest error} over the adapters of the table."""
    found: dict[tuple[str, str], float] = {}
    for adapter in ADAPTERS:
        use_adapter(adapter)
        for name in dialects_here():
            for function, domain, error, where in measure(name, count, functions=functions):
                key = (function, dialect(name).dtype_name)
                found[key] = max(found.get(key, 0.0), error)
                print(f"{adapter:12}{name:6}{function:12}{domain:28}{error:10.3f}  {where}")
    return found


def table(errors: dict[tuple[str, str], float], *, all_dtypes: bool = False) -> str:
    """Return the errors as a Markdown table: a row for each function, a column for each dtype.

    Dtypes that were not measured have a column with `all_dtypes` only.
    """
    dtypes = [each for each in WIDER if all_dtypes or any(dtype == each for _, dtype in errors)]
    rows = [f"| function | {' | '.join(dtypes)} |", "|---" * (len(dtypes) + 1) + "|"]
    for name in dict.fromkeys(function.name for function in FUNCTIONS):
        cells = [errors.get((name, dtype)) for dtype in dtypes]
        shown = ["" if each is None else _shown(each) for each in cells]
        if any(shown):
            rows.append(f"| `{name}` | {' | '.join(shown)} |")
    return "\n".join(rows) + "\n"


def _shown(error: float) -> str:
    return f"{error:.3f}" if error < 1 else f"{error:.2f}"


def write_table(text: str, document: Path = DOCUMENT) -> None:
    """Put `text` between the marks of the document; rows of functions it lacks are kept."""
    before, _, rest = document.read_text().partition(BEGIN)
    former, _, after = rest.partition(END)
    new = {line.split("|")[1]: line for line in text.splitlines()}
    kept = [new.pop(line.split("|")[1], line) for line in former.splitlines()]
    text = "\n".join([*kept, *new.values()]) + "\n"
    document.write_text(before + BEGIN + text + END + after)


def main() -> None:
    """Measure the dialects named on the command line and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = sorted({name for function in FUNCTIONS for name in function.dialects})
    parser.add_argument("--dialect", action="append", choices=names)
    parser.add_argument("--function", action="append", help="default: every one")
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--adapter", default="", help='part of its name ("llvmpipe"); default: any')
    parser.add_argument("--table", action="store_true", help="write the table of docs/accuracy.md")
    chosen = parser.parse_args()
    wanted = [row for row in FUNCTIONS if not chosen.function or row.name in chosen.function]
    if chosen.table:
        write_table(table(largest_errors(chosen.samples, wanted), all_dtypes=True))
        return
    use_adapter(chosen.adapter)
    print(f"adapter: {adapter_name()}; {chosen.samples} samples per domain")
    print(f"{'dialect':8}{'function':12}{'domain':28}{'max ulp':>10}  at")
    for name in chosen.dialect or ["f32"]:
        for function, domain, error, where in measure(name, chosen.samples, functions=wanted):
            place = ", ".join(f"{each:.9g}" for each in where)
            print(f"{name:8}{function:12}{domain:28}{error:10.3f}  {place}")


if __name__ == "__main__":
    main()
