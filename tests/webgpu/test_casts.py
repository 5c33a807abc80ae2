"""Casts where values do not survive: floats out of an integer's range, integers that round."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tenferro_wgpu.testing.values import INTEGERS

#: Ends of every integer range and what lies next to them, halves, infinities, NaN.
EDGES = [
    0.0, 0.5, 0.999, 1.5, 2.5, 127.5, 128.0, 255.9, 256.0, 300.0, 32767.9, 32768.0, 65535.5,
    65536.0, 2.0**24 + 2, 2.0**31 - 128, 2.0**31, 2.0**31 + 256, 2.0**32 - 256, 2.0**32,
    2.0**32 + 512, 1e15, 2.0**62, 2.0**63 - 2.0**39, 2.0**63, 2.0**63 + 2.0**40,
    2.0**64 - 2.0**40, 2.0**64, 2.0**65, 1e30, 1e-40, np.inf,
]  # fmt: skip


def float_values(dtype: str) -> np.ndarray:
    """The edges, their negatives, NaN, and numbers of every size."""
    random = np.random.default_rng(4)
    sizes = np.ldexp(random.uniform(-1, 1, 500), random.integers(-3, 66, 500))
    fine = [
        2.0**31 - 0.5,
        2.0**31 + 0.5,
        2.0**32 - 0.25,
        2.0**53 + 2,
        2.0**63 + 2048,
        2.0**64 - 2048,
    ]
    more = fine if dtype == "float64" else []
    return np.array([*EDGES, *(-each for each in EDGES), np.nan, *more, *sizes], dtype)


def as_documented(value: float, target: np.dtype) -> int:
    """What `docs/deviations.md` says a float becomes."""
    bits = 8 * target.itemsize
    wide = max(bits, 32)  # smaller integers keep the low bits of an int32
    half = 2 ** (wide - 1)
    unsigned = target.kind == "u" and bits >= 32
    if -half <= value < (2 * half if unsigned else half):
        whole = int(value)
    elif unsigned and value > 0:
        whole = 0
    else:
        whole = -half
    whole %= 2**bits
    return whole - 2**bits if target.kind == "i" and whole >= 2 ** (bits - 1) else whole


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_floats_become_integers_as_documented(rt, adapter, source):
    if adapter in ("numpy", "cupy"):
        pytest.skip("it is the processor's choice there")
    values = float_values(source)
    tensor = rt.constant_from(values)
    for target in INTEGERS:
        want = [as_documented(value, np.dtype(target)) for value in values.tolist()]
        assert tensor.astype(target).tolist() == want, target


@pytest.mark.parametrize("target", ["float32", "float64"])
def test_integers_round_once_to_nearest_even(rt, target):
    """One more and one less than a tie, at every place of the last bit that is kept."""
    place = 24 if target == "float32" else 53
    random = np.random.default_rng(6)
    for source in INTEGERS:
        limits = np.iinfo(source)
        kept = [2**place - 1, 2**place + 1, 2**place + 2, 3 * 2 ** (place - 1) + 1]
        ties = [(each << 1 | 1) << shift for each in kept for shift in range(64 - place)]
        near = [tie + step for tie in ties for step in (-1, 0, 1)]
        near += [-each for each in near] + [limits.min, limits.max, limits.max - 1, 0, 1]
        inside = [each for each in near if limits.min <= each <= limits.max]
        wide = random.integers(limits.min, limits.max, 300, dtype=source, endpoint=True)
        values = np.concatenate([np.array(inside, source), wide])
        got = rt.constant_from(values).astype(target).numpy()
        np.testing.assert_array_equal(got, values.astype(target), err_msg=source)


@pytest.mark.parametrize("source", [*INTEGERS, "bool"])
def test_casts_in_chains_keep_their_values(rt, source):
    """Through a third dtype and back, in one kernel: nothing is folded away."""
    values = (
        np.array([True, False])
        if source == "bool"
        else np.array([np.iinfo(source).min, np.iinfo(source).max, 0, 1, 77, 100], source)
    )
    tensor = rt.constant_from(values)
    for first, second in itertools.product(["int8", "uint16", "uint64", "bool"], INTEGERS):
        got = tensor.astype(first).astype(second).astype(source).numpy()
        want = values.astype(first).astype(second).astype(source)
        np.testing.assert_array_equal(got, want, err_msg=f"{first} {second}")
