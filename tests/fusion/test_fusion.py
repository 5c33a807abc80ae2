"""What fusion saves, when it runs what, and that nobody notices otherwise."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from fusion.test_random_programs import same_bits

import tenferro_wgpu as tw
from tenferro_wgpu.backends.webgpu.fusion.groups import Pending
from tenferro_wgpu.errors import DTypeError, RuntimeClosedError


def dispatches(runtime) -> int:
    return runtime.backend.stats()["queue"]["dispatches"]


def kernels_of(runtime, function) -> int:
    """Dispatches of one call whose result is read, warm."""
    for _ in range(2):
        function().numpy()
    before = dispatches(runtime)
    function().numpy()
    return dispatches(runtime) - before


def test_a_chain_is_one_kernel(fused):
    x = fused.constant_from(np.linspace(0, 3, 1001, dtype=np.float32))
    assert kernels_of(fused, lambda: tw.exp(tw.sin(x)) * x + 1) == 1


def test_a_reduction_takes_what_is_before_and_after(fused):
    x = fused.constant_from(np.ones((20, 6), np.float32))
    assert kernels_of(fused, lambda: (tw.sin(x) * x).sum()) == 1
    assert kernels_of(fused, lambda: tw.sqrt((x * x).mean(axis=1) + 1.0)) == 1
    assert kernels_of(fused, lambda: -tw.log((x * x).sum(axis=0, keepdims=True)) * 2) == 1


def test_a_value_used_twice_is_computed_once(fused):
    x = fused.constant_from(np.linspace(1, 2, 64, dtype=np.float32))
    before = fused.backend.stats()["fusion"]["recorded"]
    y = tw.exp(x)
    ((y + 1) * (y + 2)).numpy()
    after = fused.backend.stats()["fusion"]
    assert after["recorded"] - before == 4 and after["fused"] >= 4


def test_dead_results_are_never_computed(fused):
    x = fused.constant_from(np.ones(64, np.float32))
    fused.synchronize()
    before = dispatches(fused)
    for _ in range(10):
        y = tw.exp(x) + 1
        y.sum()
    del y
    fused.synchronize()
    assert dispatches(fused) == before


def test_tanh_chain_and_its_gradient_take_two_kernels_each(fused):
    """Under browser limits 8 residuals do not fit one kernel's bindings, so that it takes two."""
    v = fused.variable_from(np.linspace(-1, 1, 1000, dtype=np.float32))

    def forward_and_backward():
        y = v
        for _ in range(8):
            y = tw.tanh(y)
        loss = y.sum()
        value = loss.item()
        forward = dispatches(fused)
        loss.backward()
        gradient = v.grad.numpy()
        fused.clear_grads()
        return value, gradient, forward

    for _ in range(2):
        forward_and_backward()
    before = dispatches(fused)
    _, gradient, between = forward_and_backward()
    limit = fused.backend.capabilities().limits["max_storage_buffers_per_shader_stage"]
    assert between - before <= (2 if limit > 9 else 3)
    assert dispatches(fused) - between <= 2
    expected = np.ones(1000)
    y = np.linspace(-1, 1, 1000)
    for _ in range(8):
        y = np.tanh(y)
        expected *= 1 - y * y
    np.testing.assert_allclose(gradient, expected, rtol=2e-5)


def test_identities_that_a_compiler_would_fold_stay_as_computed(fused):
    x = np.array([np.inf, -np.inf, np.nan, 1e8, 3e38, -0.0, 1.0], np.float32)
    t = fused.constant_from(x)
    zero = t * 0.0
    with np.errstate(all="ignore"):
        for ours, theirs in (
            ((t + 1.0) - t, (x + np.float32(1)) - x),
            (t - t, x - x),
            (t / t, x / x),
            (zero + 1.0, x * np.float32(0) + np.float32(1)),
            ((t * 2.0) / 2.0, x * np.float32(2) / np.float32(2)),
            (tw.negative(-t), x),
            (tw.where(t == t, t - t, t), np.where(x == x, x - x, x)),
        ):
            got = (ours + 0.0).numpy()
            np.testing.assert_array_equal(got, theirs + np.float32(0))


def test_new_sizes_and_scalars_compile_nothing(fused):
    def run(n, scalar):
        x = fused.constant_from(np.ones((n, 12), np.float32))
        return (tw.exp(x * scalar) + 1).sum(axis=1).numpy(), (tw.exp(x) - scalar).numpy()

    run(8, 0.5), run(12, 0.25)
    built = fused.stats()["backend"]["pipelines"]["built"]
    for n in range(20, 60, 4):
        run(n, n / 7)
    assert fused.stats()["backend"]["pipelines"]["built"] == built


def test_a_structure_is_compiled_when_it_comes_back(fused):
    fused.backend.fuser.patience = 1
    x = fused.constant_from(np.ones(5, np.float32))

    def kernels():
        before = dispatches(fused)
        (tw.log1p(tw.cos(x)) * 3.0 - 0.5).numpy()
        return dispatches(fused) - before

    assert [kernels() for _ in range(3)] == [4, 1, 1]


def test_long_chains_are_cut_and_right(fused):
    x = fused.constant_from(np.zeros(10, np.float32))
    y = x
    for _ in range(1000):
        y = y + 1.0
    before = dispatches(fused)
    assert y.numpy().tolist() == [1000.0] * 10
    assert dispatches(fused) - before <= 1


def test_many_operands_are_split(fused):
    arrays = [np.full(9, 2.0**-k, np.float32) for k in range(40)]
    tensors = [fused.constant_from(a) for a in arrays]

    def total():
        found = tensors[0]
        for each in tensors[1:]:
            found = found + each
        return found

    np.testing.assert_array_equal(total().numpy(), np.cumsum(arrays, axis=0, dtype="f4")[-1])
    assert kernels_of(fused, total) <= 39 // 5


def test_many_results_are_split(fused):
    x = fused.constant_from(np.arange(7, dtype=np.float32))
    held = [x + float(k) for k in range(60)]
    for k, each in enumerate(held):
        np.testing.assert_array_equal(each.numpy(), np.arange(7) + np.float32(k))


def test_errors_are_raised_at_the_call(fused):
    x = fused.constant_from(np.ones((3, 4), np.float32))
    y = tw.exp(x)
    with pytest.raises(ValueError, match="add"):
        y + fused.constant_from(np.ones((5,), np.float32))
    with pytest.raises(DTypeError, match="maximum"):
        tw.maximum(tw.astype(y, "complex64"), 2)
    np.testing.assert_allclose((y + 1).numpy(), np.e + 1, rtol=1e-6)


def test_closing_leaves_pending_results_unusable_and_says_so(fused):
    x = tw.exp(fused.constant_from(np.ones(3, np.float32)))
    assert type(x.tensor.handle) is Pending
    fused.close()
    with pytest.raises(RuntimeClosedError):
        x.numpy()
    with pytest.raises(RuntimeClosedError):
        x + 1


def test_operands_of_results_nobody_wants_are_freed(fused):
    backend = fused.backend
    fused.synchronize()
    before = backend.stats()["memory"]["live_bytes"]
    x = fused.constant_from(np.ones(1 << 20, np.float32))
    y = tw.exp(x)
    del x, y
    gc.collect()
    assert backend.stats()["memory"]["live_bytes"] == before


def test_views_of_pending_results(fused):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = fused.constant_from(a) + 1.0
    np.testing.assert_array_equal((y.T * 2.0).numpy(), (a + 1).T * 2)
    y = fused.constant_from(a) + 1.0
    np.testing.assert_array_equal((y[:, ::-1] + y).numpy(), (a + 1)[:, ::-1] + a + 1)
    y = fused.constant_from(a) + 1.0
    np.testing.assert_array_equal((y.reshape(12) - 1.0).numpy(), a.reshape(12))


def test_flush_hands_deferred_work_over(fused):
    y = tw.exp(fused.constant_from(np.ones(3, np.float32)))
    before = dispatches(fused)
    fused.flush()
    assert dispatches(fused) == before + 1 and fused.backend.stats()["fusion"]["waiting"] == 0
    assert y.numpy()[0] == pytest.approx(np.e)


def test_threads_share_groups(fused):
    x = fused.constant_from(np.ones(100, np.float32))
    failures = []

    def work(number):
        for k in range(50):
            y = x * float(number)
            for _ in range(k % 5):
                y = y + x
            if not (y.numpy() == number + k % 5).all():
                failures.append((number, k))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_profile_names_fused_kernels(fused):
    x = fused.constant_from(np.ones(8, np.float32))
    with fused.profile() as measured:
        (tw.exp(x) * 2.0).numpy()
    assert measured.operations["exp+mul"].kernels == 1
    assert measured.operations["exp"].calls == 1


def test_the_tree_of_structures_is_bounded(fused, monkeypatch):
    from tenferro_wgpu.backends.webgpu.fusion import recording

    monkeypatch.setattr(recording, "MOST_PROGRAMS", 50)
    for n in range(1, 200):
        (fused.constant_from(np.ones(n, np.float32)) + 1.0).numpy()
    assert fused.backend.stats()["fusion"]["programs"] <= 60
    fused.clear_caches()
    assert fused.backend.stats()["fusion"]["programs"] == 0


def test_more_shapes_than_may_wait(fused):
    xs = [fused.constant_from(np.full(n, 2.0, np.float32)) for n in range(1, 60)]
    ys = [x * x for x in xs]
    assert all(same_bits(y.numpy(), np.full(n + 1, 4.0, "f4")) for n, y in enumerate(ys))


def test_scalars_of_every_dtype_in_a_kernel(fused):
    a = np.array([1, 2, 3])
    for dtype in ("float32", "float64", "int32", "int64", "uint32", "int8", "uint64"):
        x = fused.constant_from(a.astype(dtype))
        y = tw.where(x > 1, x * 3, x) + 2
        np.testing.assert_array_equal(y.numpy(), np.where(a > 1, a * 3, a) + 2)
        assert y.dtype == np.dtype(dtype)
    flags = fused.constant_from(a) > 1
    np.testing.assert_array_equal(tw.logical_and(flags, True).numpy(), a > 1)


def test_fusion_can_be_turned_off(monkeypatch, fused):
    monkeypatch.setenv("TENFERRO_FUSION", "0")
    backend = tw.WebGpuBackend(adapter=fused.backend.device_name)
    assert backend.fuser is None and "fusion" not in backend.stats()
    backend.close()


def matrices(runtime, *shapes):
    rng = np.random.default_rng(3)
    arrays = [rng.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    return arrays, [runtime.constant_from(array) for array in arrays]


def test_a_product_takes_bias_activation_and_residual(fused):
    (a, b, bias, rest), (x, y, c, r) = matrices(fused, (17, 20), (20, 9), (9,), (17, 9))

    def layer():
        return tw.maximum(x @ y + c, 0.0) * 0.5 + r

    expected = np.maximum(a @ b + bias, 0) * np.float32(0.5) + rest
    np.testing.assert_array_equal(layer().numpy(), expected)
    assert kernels_of(fused, layer) == 1


def test_a_product_that_is_held_is_stored_by_the_same_kernel(fused):
    (a, b), (x, y) = matrices(fused, (5, 6), (6, 7))
    for _ in range(3):
        fused.synchronize()
        before = dispatches(fused)
        product = x @ y
        activated = tw.maximum(product, 0.0)
        np.testing.assert_array_equal(activated.numpy(), np.maximum(a @ b, 0))
        np.testing.assert_array_equal(product.numpy(), a @ b)
        after = dispatches(fused)
    assert after - before == 1


def test_a_product_with_several_readers_is_computed_once(fused):
    (a, b, c), (x, y, z) = matrices(fused, (6, 6), (6, 6), (12, 6))
    for _ in range(3):
        product = x @ y
        one, two = product + 1.0, (product * 2.0).sum()
        three = z @ product
        np.testing.assert_array_equal(one.numpy(), a @ b + 1)
        assert two.item() == (a @ b * 2).sum()
        np.testing.assert_array_equal(three.numpy(), c @ (a @ b))
        fused.synchronize()
        before = fused.backend.stats()["queue"]["dispatches"]
        product = x @ y
        del product
        fused.synchronize()
        assert dispatches(fused) == before


def test_products_that_nothing_follows_run_when_needed(fused):
    (a, b), (x, y) = matrices(fused, (4, 4), (4, 4))
    held = [x @ y for _ in range(20)]
    before = fused.backend.stats()["queue"]["dispatches"]
    fused.flush()
    assert dispatches(fused) - before <= 8
    assert all((each.numpy() == a @ b).all() for each in held)


def test_a_product_of_products(fused):
    (a, b), (x, y) = matrices(fused, (4, 4), (4, 4))
    got = (tw.maximum(x @ y, 0.0) @ y + 1.0) @ x
    np.testing.assert_array_equal(got.numpy(), (np.maximum(a @ b, 0) @ b + 1) @ a)


def test_classifier_step_costs_few_kernels(fused):
    """Three layers forward and backward with update: 8 products, and not one kernel per step."""
    rng = np.random.default_rng(0)
    layers = (12, 10, 8, 5)
    x = fused.constant_from(rng.standard_normal((16, 12)).astype(np.float32))
    targets = fused.constant_from(np.eye(5, dtype=np.float32)[rng.integers(5, size=16)])
    weights = [
        fused.variable_from(rng.standard_normal(shape).astype(np.float32) * 0.3)
        for width, following in zip(layers, layers[1:], strict=False)
        for shape in ((width, following), (following,))
    ]

    def step():
        flowing = x
        for layer in range(0, 6, 2):
            flowing = flowing @ weights[layer] + weights[layer + 1]
            if layer < 4:
                flowing = tw.maximum(flowing, 0)
        shifted = flowing - flowing.detach().max(axis=1, keepdims=True)
        total = tw.exp(shifted).sum(axis=1, keepdims=True)
        loss = ((tw.log(total) - shifted) * targets).sum() / 16
        loss.backward()
        with tw.no_grad():
            for position in range(6):
                weights[position] -= 0.1 * weights[position].grad
        return loss

    losses = [step().item() for _ in range(30)]
    assert losses[-1] < losses[0]
    fused.synchronize()
    before = dispatches(fused)
    step()
    fused.synchronize()
    assert dispatches(fused) - before <= 32
