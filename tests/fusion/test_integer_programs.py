"""Random programs of integers, in fused kernels compiled at once, give NumPy's bits.

Every function and every pair of neighbouring dtypes meets in them: casts inside a kernel,
division by zero, shifts of any count, sums that wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.testing.values import INTEGERS

PROGRAMS = 12
LENGTH = 14

#: (with NumPy, with this library), of operands of one dtype.
UNARY: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (np.negative, tw.negative),
    (np.abs, tw.abs),
    (np.sign, tw.sign),
    (np.invert, tw.bitwise_invert),
    (lambda x: np.clip(x, *np.array([2, 90], x.dtype)), lambda x: tw.clip(x, 2, 90)),
]
BINARY: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (np.add, tw.add),
    (np.subtract, tw.subtract),
    (np.multiply, tw.multiply),
    (np.floor_divide, tw.floor_divide),
    (np.remainder, tw.remainder),
    (np.fmod, tw.fmod),
    (np.maximum, tw.maximum),
    (np.minimum, tw.minimum),
    (np.bitwise_and, tw.bitwise_and),
    (np.bitwise_or, tw.bitwise_or),
    (np.bitwise_xor, tw.bitwise_xor),
    (np.left_shift, lambda x, y: x << y),
    (np.right_shift, lambda x, y: x >> y),
    (
        lambda x, y: np.where(x < y, x, y * np.array(3, y.dtype)),
        lambda x, y: tw.where(x < y, x, y * 3),
    ),
    (lambda x, y: x ** (y & np.array(7, y.dtype)), lambda x, y: x ** (y & 7)),
]
REDUCTIONS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (
        lambda x, axis: np.sum(x, axis=axis, keepdims=True, dtype=x.dtype),
        lambda x, axis: tw.sum(x, axis=axis, keepdims=True, dtype=x.dtype),
    ),
    (
        lambda x, axis: np.max(x, axis=axis, keepdims=True),
        lambda x, axis: tw.max(x, axis=axis, keepdims=True),
    ),
    (
        lambda x, axis: np.min(x, axis=axis, keepdims=True),
        lambda x, axis: tw.min(x, axis=axis, keepdims=True),
    ),
]


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Integers of every length, the ends of the range and zeros among them."""
    limits = np.iinfo(dtype)
    found = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    found >>= rng.integers(0, limits.bits, shape).astype(dtype)
    ends = np.array([limits.min, limits.max, 0, 1], dtype)
    return np.where(rng.random(shape) < 0.2, rng.choice(ends, shape), found)


def choice(rng: np.random.Generator, items: list[Any]) -> Any:
    return items[int(rng.integers(len(items)))]


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_programs_of_integers_have_numpys_bits(fused, seed):
    rng = np.random.default_rng(seed)
    shape = (64 + seed % 3, 5) if seed % 2 else (4, 6)
    dtypes = [choice(rng, list(INTEGERS)) for _ in range(3)]
    hosts = [values(rng, shape, dtype) for dtype in dtypes]
    tensors = [fused.constant_from(host) for host in hosts]
    for _ in range(LENGTH):
        kind = rng.random()
        at = int(rng.integers(len(hosts)))
        host, tensor = hosts[at], tensors[at]
        with np.errstate(all="ignore"):
            if kind < 0.2:
                on_host, on_device = choice(rng, UNARY)
                made, ours = on_host(host), on_device(tensor)
            elif kind < 0.35:
                target = choice(rng, [*INTEGERS, "bool"])
                target = "int64" if target == "bool" and rng.random() < 0.5 else target
                made, ours = host.astype(target), tensor.astype(target)
                if target == "bool":
                    made, ours = made.astype(host.dtype), ours.astype(host.dtype)
            elif kind < 0.45:
                on_host, on_device = choice(rng, REDUCTIONS)
                axis = int(rng.integers(2))
                made, ours = on_host(host, axis), on_device(tensor, axis)
            else:
                other = int(rng.integers(len(hosts)))
                on_host, on_device = choice(rng, BINARY)
                second = hosts[other].astype(host.dtype)
                made = on_host(host, second)
                ours = on_device(tensor, tensors[other].astype(host.dtype))
        assert ours.dtype == made.dtype
        hosts.append(made)
        tensors.append(ours)
    for number, (host, tensor) in enumerate(zip(hosts, tensors, strict=True)):
        np.testing.assert_array_equal(tensor.numpy(), host, err_msg=f"value {number}")


def test_the_programs_are_fused(fused):
    x = fused.constant_from(np.arange(-6, 6, dtype=np.int8))
    before = fused.backend.stats()["fusion"]["kernels"]
    y = ((x // 3 << 2) % 5 ^ x).astype("uint64") + 1
    want = ((np.arange(-6, 6, dtype=np.int8) // 3 << 2) % 5 ^ x.numpy()).astype("uint64") + 1
    np.testing.assert_array_equal(y.numpy(), want)
    assert fused.backend.stats()["fusion"]["kernels"] == before + 1
