"""Many threads on one runtime give serial values and gradients."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import tenferro_wgpu as tw


def _work(rt, seed):
    rng = np.random.default_rng(seed)
    x = rt.variable_from(rng.standard_normal((5, 4)).astype(np.float32))
    w = rt.constant_from(rng.standard_normal((4, 3)).astype(np.float32))
    for _ in range(10):
        loss = tw.tanh(x @ w).sum()
        x.clear_grad()
        loss.backward()
        with tw.no_grad():
            g = x.grad
            x = rt.variable_from(x - 0.1 * g)
    return x.numpy(), g.numpy()


def test_eight_threads_give_serial_results(rt):
    serial = [_work(rt, seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(lambda seed: _work(rt, seed), range(8)))
    for (x, g), (x_threaded, g_threaded) in zip(serial, threaded, strict=True):
        np.testing.assert_array_equal(x, x_threaded)
        np.testing.assert_array_equal(g, g_threaded)


def test_gradients_of_a_shared_variable_accumulate(rt):
    x = rt.variable_from(np.ones(3, np.float32))

    def one(_):
        for _ in range(5):
            (x * 2.0).sum().backward()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one, range(8)))
    assert x.grad.tolist() == [80.0, 80.0, 80.0]


def test_no_grad_does_not_enter_other_threads(rt):
    x = rt.variable_from([1.0])
    with tw.no_grad(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: (x * 2.0).requires_grad).result()
        assert not (x * 2.0).requires_grad
