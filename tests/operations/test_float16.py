"""float16 in every family of operations: NumPy's bits, sums in float32, derivatives, warm-up."""

from __future__ import annotations

import numpy as np
import pytest
from cases.values import special

import tenferro_wgpu as tw
from tenferro_wgpu.testing.cases import assert_close

HALF = np.float16


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(HALF)


@pytest.fixture
def eager_kernels(rt):
    """A runtime whose fused kernels are compiled at once."""
    if getattr(rt.backend, "fuser", None) is not None:
        rt.backend.fuser.patience = 0
    return rt


def test_chains_of_arithmetic_have_the_bits_of_numpy(eager_kernels):
    values = special("float16")
    a, b = (side.reshape(-1) for side in np.meshgrid(values, values))
    x, y = eager_kernels.constant_from(a), eager_kernels.constant_from(b)
    with np.errstate(all="ignore"):
        root = np.sqrt(np.abs(a * b + a))
        expected = [a - a, a * HALF(0), (a + b) - a, a / b * b, root - b / HALF(3), -root * root]
    ours = tw.sqrt(tw.abs(x * y + x))
    got = [x - x, x * 0.0, (x + y) - x, x / y * y, ours - y / 3.0, -ours * ours]
    for number, (one, other) in enumerate(zip(tw.device_get(got), expected, strict=True)):
        assert_close(one, other, 0, f"chain {number}")


def test_sums_and_products_are_accumulated_in_float32(rt):
    """In float16 alone a sum of ones ends at 2048."""
    ones = rt.constant_from(np.ones((5000, 3), HALF))
    assert ones.sum(axis=0).numpy().tolist() == [5000.0] * 3
    assert ones.mean().item() == 1.0
    assert (ones.T @ ones).numpy().tolist() == [[5000.0] * 3] * 3
    assert tw.vecdot(ones, ones, axis=0).dtype == HALF
    assert tw.conv(ones.T[None], ones.T[None]).numpy().tolist() == [[[15000.0]]]
    large = rt.constant_from(np.full(9, 60000, HALF))
    assert large.mean().item() == 60000.0 and np.isinf(large.sum().item())
    # 1 + 2^-11 rounds to 1 in float16, so that a running product would stay at 1.
    near = rt.constant_from(np.full(64, 1 + 2.0**-10, HALF))
    assert near.prod().item() == HALF((1 + 2.0**-10) ** 64)


def test_gradients_of_repeated_operands_are_accumulated_in_float32(rt):
    x = rt.variable_from(np.ones(1, HALF))
    (x * rt.constant_from(np.ones(5000, HALF))).sum().backward()
    assert x.grad.dtype == HALF and x.grad.item() == 5000.0


def test_matrix_products_round_once(rt):
    a, b = normal(33, 70), normal(70, 21, seed=1)
    expected = (a.astype(np.float64) @ b.astype(np.float64)).astype(HALF)
    got = (rt.constant_from(a) @ rt.constant_from(b)).numpy()
    # The float32 sum may lie on the other side of a tie.
    error = np.abs(got.astype(np.float64) - expected) / np.spacing(np.abs(expected))
    assert got.dtype == HALF and error.max() <= 1 and (error > 0).mean() < 0.02
    bias = normal(21, seed=2)
    after = tw.maximum(rt.constant_from(a) @ rt.constant_from(b) + rt.constant_from(bias), 0.0)
    np.testing.assert_array_equal(after.numpy(), np.maximum(got + bias, HALF(0)))


def test_moves_and_choices(rt):
    a = normal(6, 7)
    a[2, 3] = np.nan
    index = np.array([2, 0, 2, 5])
    x = rt.constant_from(a)
    places = rt.constant_from(index)
    expected = np.zeros((6, 7), HALF)
    np.add.at(expected, index, a[:4])
    pairs = [
        (x[places], a[index]),
        (tw.zeros((6, 7), dtype="float16", device=rt).at[places].add(x[:4]), expected),
        (tw.pad(x, ((1, 2), (0, 1))), np.pad(a, ((1, 2), (0, 1)))),
        (tw.concatenate([x, x.T.reshape(6, 7)], axis=1)[::-1, 1::3],
         np.concatenate([a, a.T.reshape(6, 7)], axis=1)[::-1, 1::3]),
        (tw.sort(x, axis=0), np.sort(a, axis=0)),
        (x.argmax(axis=1), a.argmax(axis=1)),
        (x.max(axis=0), a.max(axis=0)),
        (tw.where(x > 0, x, -x), np.where(a > 0, a, -a)),
        (tw.clip(x, -1, 1), np.clip(a, -1, 1)),
        (x.astype("int32").astype("float16")[:2], a[:2].astype(np.int32).astype(HALF)),
        (x.astype("complex64").real.astype("float16"), a),
        (x.astype("float64").astype("float16"), a),
    ]  # fmt: skip
    for number, (got, wanted) in enumerate(pairs):
        found = got.numpy()
        assert found.dtype == wanted.dtype, number
        np.testing.assert_array_equal(found, wanted, err_msg=str(number))


def loss(x, w, b):
    """A small network, its activations normalised, with a softmax at the end."""
    hidden = tw.tanh(x @ w + b)
    centred = hidden - hidden.mean(axis=1, keepdims=True)
    scores = centred / tw.sqrt((centred * centred).mean(axis=1, keepdims=True) + 0.01)
    return -(tw.log(tw.softmax(scores, axis=1))[:, 0]).mean() + (tw.exp(b) * tw.sin(b)).sum()


def test_derivatives_of_a_program(eager_kernels):
    arrays = normal(8, 5), normal(5, 4, seed=1), normal(4, seed=2)
    with tw.EagerRuntime("cpu") as exact, exact.as_default():
        wide = [exact.variable_from(each.astype(np.float64)) for each in arrays]
        loss(*wide).backward()
        expected = [each.grad.numpy() for each in wide]
    with eager_kernels.as_default():
        for _ in range(2):  # the second time by kernels of the whole program
            leaves = [eager_kernels.variable_from(each) for each in arrays]
            result = loss(*leaves)
            result.backward()
            for leaf, gradient in zip(leaves, expected, strict=True):
                found = leaf.grad.numpy()
                assert found.dtype == HALF
                assert np.abs(found - gradient).max() <= 0.01 * np.abs(gradient).max()
        assert result.dtype == HALF


def test_a_warm_program_compiles_nothing(rt):
    specs = (((8, 5), "float16"), ((5, 4), "float16"), ((4,), "float16"))
    tw.warmup(loss, *specs, grad=True, device=rt)
    assert tw.warmup(loss, *specs, grad=True, device=rt).pipelines == 0
