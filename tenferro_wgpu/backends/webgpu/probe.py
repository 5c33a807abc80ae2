"""The probes that decide which types a device computes natively and exactly.

Called by device.py, once per device and type and only when a kernel first asks.  Drivers compile
native f64 and f16 without complaint and still flush subnormals or divide inexactly, and few
programs use their 64-bit integers; a device that fails one case gets the software dialect instead,
so results never depend on the adapter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tenferro_wgpu.backends.webgpu.drivers.protocol import (
    Access,
    BatchRejectedError,
    Command,
    Driver,
    ReadRequest,
)
from tenferro_wgpu.errors import DeviceLostError, TenferroError

# Nothing is a constant the compiler could fold.
_WGSL = """
@group(0) @binding(0) var<storage, read> x: array<{stored}>;
@group(0) @binding(1) var<storage, read> y: array<{stored}>;
@group(0) @binding(2) var<storage, read_write> z: array<{stored}>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
  let i = id.x;
  if (i < arrayLength(&x)) {{
    let a = {load_x};
    let b = {load_y};
{lines}
  }}
}}
"""
_FLOAT_RESULTS = ("a + b", "a - b", "a * b", "a / b", "sqrt(a)")
_INTEGER_RESULTS = (
    "a + b", "a - b", "a * b", "a / b", "a % b", "a & b", "a | b", "a ^ b", "~a", "min(a, b)",
    "max(a, b)", "a << u32(b & {held}(63))", "a >> u32(b & {held}(63))",
    "select({held}(0), {held}(1), a < b)", "select({held}(0), {held}(1), a == b)",
    "bitcast<{held}>(u64(u32(bitcast<u64>(a) >> 32u)))",
)  # fmt: skip


def probe_cases() -> tuple[np.ndarray, np.ndarray]:
    """Operands that catch the usual shortcuts: subnormals, halfway cases, cancellation, extremes.

    NaN operands and negative square roots are left out: NaN payloads are free.
    """
    tiny, subnormal = np.finfo(np.float64).tiny, np.finfo(np.float64).smallest_subnormal
    huge, epsilon = np.finfo(np.float64).max, np.finfo(np.float64).eps
    values = np.array(
        [0.0, subnormal, 3 * subnormal, tiny, tiny / 2, 1.5 * tiny, epsilon / 2, 1.0]
        + [1 + epsilon, 1 / 3, 2 / 3, 3.0, 7.0, 10.0, np.pi, 1e17, 2.0**53 + 2, huge / 2, huge]
    )
    first, second = (side.reshape(-1) for side in np.meshgrid(values, values, indexing="ij"))
    random = np.random.default_rng(20260101)
    exponents = random.integers(-1022, 1023, (2, 411))
    wide = np.ldexp(random.uniform(1, 2, (2, 411)), exponents)
    x = np.concatenate([first, first, wide[0]])
    y = np.concatenate([second, -second, wide[1]])
    # Zeros as divisors give NaN for 0/0; infinities of x/0 stay.
    keep = (x != 0) | (y != 0)
    return x[keep], y[keep]


def expected_results(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What IEEE-754 says for each case: sum, difference, product, quotient, square root."""
    with np.errstate(all="ignore"):
        return np.stack([x + y, x - y, x * y, x / y, np.sqrt(x)], axis=1)


def integer_cases(dtype: type[np.generic]) -> tuple[np.ndarray, np.ndarray]:
    """Operands of 64-bit integers: carries, the ends of the range, numbers of every length.

    Divisors are not 0, and not -1 for the lowest number: kernels divide magnitudes by at least 1.
    """
    ends = [0, 1, 2, 3, 5, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**53 + 1]
    ends += [2**62 + 12345, 2**63 - 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]
    special = np.array(ends, np.uint64).view(dtype)
    first, second = (side.reshape(-1) for side in np.meshgrid(special, special, indexing="ij"))
    random = np.random.default_rng(20260103)
    bits = random.integers(0, 2**64, (2, 2048), dtype=np.uint64)
    bits >>= random.integers(0, 64, (2, 2048), dtype=np.uint64)
    x = np.concatenate([first, bits[0].view(dtype)])
    y = np.concatenate([second, bits[1].view(dtype)])
    # Negative signed numbers of every length as well.
    y[1::3] = np.negative(y[1::3])
    lowest = np.array([2**63], np.uint64).view(dtype)[0]
    keep = (y != 0) & ~((x == lowest) & (y == np.array(-1).astype(dtype)))
    return x[keep], y[keep]


def integer_results(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What NumPy says for each case, division towards zero."""
    with np.errstate(all="ignore"):
        rest = np.fmod(x, y)
        count = y & np.array(63, y.dtype)
        return np.stack(
            [x + y, x - y, x * y, (x - rest) // y, rest, x & y, x | y, x ^ y, ~x]
            + [np.minimum(x, y), np.maximum(x, y), x << count, x >> count]
            + [(x < y).astype(x.dtype), (x == y).astype(x.dtype)]
            + [(x.view(np.uint64) >> np.uint64(32)).view(x.dtype)],
            axis=1,
        )


def half_cases() -> tuple[np.ndarray, np.ndarray]:
    """A float16 and a float32 that is to be rounded to one: special numbers, any bits, ties."""
    limits = np.finfo(np.float16)
    special = np.array(
        [0.0, *(k * float(limits.smallest_subnormal) for k in (1, 2, 3, 1023)), limits.tiny]
        + [1.5 * float(limits.tiny), limits.eps / 2, 1.0, 1 + limits.eps, 1 / 3, 3.0, 10.0]
        + [2048.0, 2049.0, 32768.0, limits.max],
        np.float16,
    )
    first, second = (side.reshape(-1) for side in np.meshgrid(special, special, indexing="ij"))
    random = np.random.default_rng(20260102)
    bits = random.integers(0, 0x7C00, (2, 4096), dtype=np.uint16).view(np.float16)
    # The middle between two neighbours is a tie; one unit of float32 off, it is none.
    middle = bits[1].astype(np.float32) + np.spacing(bits[1]).astype(np.float32) / 2
    beside = np.nextafter(middle, np.resize(np.array([0, np.inf, 0.25], np.float32), middle.shape))
    near = np.where(random.random(4096) < 0.3, middle, beside)
    x = np.concatenate([first, first, bits[0], bits[0]])
    y = np.concatenate([second, -second, bits[1], near], dtype=np.float32)
    keep = ~np.isnan(half_results(x, y)).any(axis=1)
    return x[keep], y[keep]


def half_results(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`expected_results` of a float16 and a rounded float32, then both operands."""
    rounded = y.astype(np.float16)
    both = np.stack([x, rounded], axis=1)
    return np.concatenate([expected_results(x, rounded), both], axis=1)


@dataclass(frozen=True)
class Probe:
    """How one native dialect is put to the test.

    Attributes:
        features: what the device must have.
        held, stored: WGSL types of registers and of buffers.
        stored_dtype: NumPy's type of the buffers.
        cases: makes the operands.
        requires: features that a module has to enable.
        results: WGSL over the operands a and b, and expected their values, in columns.
    """

    features: frozenset[str]
    held: str
    stored: str
    stored_dtype: type[np.generic]
    cases: Callable[[], tuple[np.ndarray, np.ndarray]]
    requires: tuple[str, ...] = ()
    results: tuple[str, ...] = _FLOAT_RESULTS
    expected: Callable[[np.ndarray, np.ndarray], np.ndarray] = expected_results

    #: How an operand is read from a buffer's element `raw`, and a result made one.
    load_x: str = "{held}({raw})"
    load_y: str = "{held}({raw})"
    store: str = "{stored}({text})"

    @property
    def wgsl(self) -> str:
        """The module that computes the results."""
        names = {"held": self.held, "stored": self.stored}
        texts = [self.store.format(text=text.format(**names), **names) for text in self.results]
        lines = "\n".join(
            f"    z[{len(texts)}u * i + {number}u] = {text};" for number, text in enumerate(texts)
        )
        loads = {
            "load_x": self.load_x.format(raw="x[i]", **names),
            "load_y": self.load_y.format(raw="y[i]", **names),
        }
        return _WGSL.format(stored=self.stored, lines=lines, **loads)

    def run_cases(self) -> tuple[list[np.ndarray], np.ndarray]:
        """The operands as stored, and the bytes of the right results."""
        x, y = self.cases()
        right = self._as_stored(self.expected(x, y))
        return [self._as_stored(side) for side in (x, y)], right.view(np.uint8).reshape(-1)

    def _as_stored(self, array: np.ndarray) -> np.ndarray:
        """Elements as buffers hold them: their bits, those of float16 in the low half of a word."""
        if array.dtype == np.float16:
            array = array.view(np.uint16).astype(self.stored_dtype)
        return array.view(self.stored_dtype)


def _integer_probe(held: str, dtype: type[np.generic]) -> Probe:
    return Probe(
        frozenset({"shader-int64"}),
        held,
        held,
        dtype,
        lambda: integer_cases(dtype),
        results=_INTEGER_RESULTS,
        expected=integer_results,
    )


#: f64n reaches the bits of an f64 through u64: WGSL compilers know no other way.
PROBES = {
    "f64n": Probe(frozenset({"shader-f64", "shader-int64"}), "f64", "f64", np.float64, probe_cases),
    "f16n": Probe(
        frozenset({"shader-f16"}),
        "f16",
        "u32",
        np.uint32,
        half_cases,
        requires=("shader-f16",),
        results=(*_FLOAT_RESULTS, "a", "b"),
        expected=half_results,
        load_x="f16(unpack2x16float({raw}).x)",
        load_y="f16(bitcast<f32>({raw}))",
        store="pack2x16float(vec2<f32>(f32({text}), 0.0))",
    ),
    "i64n": _integer_probe("i64", np.int64),
    "u64n": _integer_probe("u64", np.uint64),
}


def possible_dialects(features: frozenset[str]) -> frozenset[str]:
    """The native dialects that a device with these features may pass the probe for."""
    return frozenset(name for name, probe in PROBES.items() if features >= probe.features)


def is_exact(driver: Driver, name: str) -> bool:
    """Whether the device has what the native dialect `name` needs and rounds as IEEE-754 says."""
    probe = PROBES[name]
    if not driver.features >= probe.features:
        return False
    operands, expected = probe.run_cases()
    try:
        found = _run(driver, name, operands, expected.nbytes)
    except DeviceLostError:
        raise
    except (TenferroError, BatchRejectedError):
        return False
    return bool(np.array_equal(found, expected))


def _run(driver: Driver, name: str, operands: list[np.ndarray], nbytes: int) -> np.ndarray:
    """The bytes of the results."""
    probe = PROBES[name]
    access: tuple[Access, ...] = ("read", "read", "read_write")
    label = f"{name} probe"
    pipeline = driver.create_pipeline(
        probe.wgsl, access, driver.params_space(0), 0, label, probe.requires
    )
    raws = []
    for array in operands:
        raw = driver.create_buffer(array.nbytes + 15 & ~15)
        driver.write_buffer(raw, 0, array.view(np.uint8).data)
        raws.append((raw, 0, array.nbytes))
    output = driver.create_buffer(nbytes + 15 & ~15)
    raws.append((output, 0, nbytes))
    group = driver.create_bind_group(access, raws)
    groups = (-(-operands[0].size // 64), 1, 1)
    command: Command = (pipeline, group, b"", groups, label, (), ())
    token = driver.begin_read([command], [ReadRequest(output, 0, nbytes)])
    (result,) = driver.finish_read(token)
    for raw, _, _ in raws:
        driver.release_buffer(raw)
    return result.view(np.uint8).reshape(-1)[:nbytes]
