"""The probe that decides which 64-bit types a device computes natively and exactly.

Called by device.py, once per device and only when a kernel first asks.  Drivers compile native
f64 without complaint and still flush subnormals or divide inexactly; a device that fails one case
gets the integer software dialect instead, so results never depend on the adapter.
"""

from __future__ import annotations

import numpy as np

from tenferro_wgpu.backends.webgpu.drivers.protocol import (
    Access,
    BatchRejectedError,
    Command,
    Driver,
    ReadRequest,
)
from tenferro_wgpu.errors import DeviceLostError, TenferroError

# Five results per pair.  Nothing is a constant the compiler could fold.
_WGSL = """
@group(0) @binding(0) var<storage, read> x: array<f64>;
@group(0) @binding(1) var<storage, read> y: array<f64>;
@group(0) @binding(2) var<storage, read_write> z: array<f64>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x;
  if (i < arrayLength(&x)) {
    z[5u * i] = x[i] + y[i];
    z[5u * i + 1u] = x[i] - y[i];
    z[5u * i + 2u] = x[i] * y[i];
    z[5u * i + 3u] = x[i] / y[i];
    z[5u * i + 4u] = sqrt(x[i]);
  }
}
"""


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


#: Features behind each native dialect.  f64n reaches the bits of an f64 through u64: WGSL
#: compilers know no other way.
_REQUIREMENTS = {"f64n": frozenset({"shader-f64", "shader-int64"})}


def possible_dialects(features: frozenset[str]) -> frozenset[str]:
    """The native dialects that a device with these features may pass the probe for."""
    return frozenset(name for name, needed in _REQUIREMENTS.items() if features >= needed)


def native_dialects(driver: Driver) -> frozenset[str]:
    """The dialects whose arithmetic the device does itself: "f64n" or nothing."""
    if "f64n" not in possible_dialects(driver.features):
        return frozenset()
    x, y = probe_cases()
    expected = expected_results(x, y)
    try:
        found = _run(driver, x, y, expected.nbytes).view(np.float64).reshape(expected.shape)
    except DeviceLostError:
        raise
    except (TenferroError, BatchRejectedError):
        return frozenset()
    exact = np.array_equal(found.view(np.uint64), expected.view(np.uint64))
    return frozenset({"f64n"}) if exact else frozenset()


def _run(driver: Driver, x: np.ndarray, y: np.ndarray, nbytes: int) -> np.ndarray:
    access: tuple[Access, ...] = ("read", "read", "read_write")
    pipeline = driver.create_pipeline(_WGSL, access, driver.params_space(0), 0, "f64 probe")
    raws = []
    for array in (x, y):
        raw = driver.create_buffer(array.nbytes + 15 & ~15)
        driver.write_buffer(raw, 0, array.view(np.uint8).data)
        raws.append((raw, 0, array.nbytes))
    output = driver.create_buffer(nbytes + 15 & ~15)
    raws.append((output, 0, nbytes))
    group = driver.create_bind_group(access, raws)
    groups = (-(-x.size // 64), 1, 1)
    command: Command = (pipeline, group, b"", groups, "f64 probe", (), ())
    token = driver.begin_read([command], [ReadRequest(output, 0, nbytes)])
    (result,) = driver.finish_read(token)
    for raw, _, _ in raws:
        driver.release_buffer(raw)
    return result
