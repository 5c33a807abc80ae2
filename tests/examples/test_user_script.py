"""The user's program gives the numbers of NumPy and derivatives by hand, on every adapter."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import user_script

#: Five steps of training: errors of an ulp or so per operation, grown by the updates.
TOLERANCE = {"float32": 2e-5, "float64": 1e-13}


def train_by_hand(dtype: str, steps: int = 5) -> list[float]:
    """`user_script.train` in plain NumPy, in float64 throughout, with its gradients written out."""
    rng = np.random.default_rng(7)

    def rounded(values):
        return values.astype(dtype).astype(np.float64)

    inputs = rounded(rng.standard_normal((16, 8)))
    targets = rounded(np.tanh(rng.standard_normal((16, 2))))
    weights1 = rounded(rng.standard_normal((8, 12)) / 3)
    bias1 = np.zeros(12)
    weights2 = rounded(rng.standard_normal((12, 2)) / 3)
    losses = []
    for _ in range(steps):
        hidden = np.tanh(inputs @ weights1 + bias1)
        residual = hidden @ weights2 - targets
        losses.append(np.mean(residual * residual))
        g_residual = 2 * residual / residual.size
        g_hidden = (g_residual @ weights2.T) * (1 - hidden * hidden)
        weights2 = weights2 - 0.5 * hidden.T @ g_residual
        weights1 = weights1 - 0.5 * inputs.T @ g_hidden
        bias1 = bias1 - 0.5 * g_hidden.sum(axis=0)
    return [*losses, weights1.sum(), np.abs(bias1).sum(), weights2[0, 1]]


def test_the_user_script_gives_numpys_numbers(rt, monkeypatch):
    used = []
    make = rt.variable_from
    monkeypatch.setattr(rt, "variable_from", lambda *a, **k: (used.append(1), make(*a, **k))[1])
    numbers = user_script.run()
    assert used, "the script must run on the adapter under test"
    assert set(numbers) == {"float32", "float64"}
    for dtype, got in numbers.items():
        assert got == pytest.approx(train_by_hand(dtype), rel=TOLERANCE[dtype])


def test_the_script_names_no_backend():
    source = inspect.getsource(user_script).lower()
    assert not any(name in source for name in ("webgpu", "cuda", "cpu", "cupy", "adapter"))
