"""A user's program: train a small network in float32 and float64, and return its numbers.

It names no backend.  Run it anywhere: ``python tests/user_script.py``.
"""

import numpy as np

import tenferro_wgpu as tw


def train(dtype, steps=5):
    """A few gradient steps of a two-layer network; the losses and a summary of the weights."""
    rng = np.random.default_rng(7)
    rt = tw.current_runtime()
    inputs = rt.constant_from(rng.standard_normal((16, 8)).astype(dtype))
    targets = rt.constant_from(np.tanh(rng.standard_normal((16, 2))).astype(dtype))
    weights1 = rt.variable_from((rng.standard_normal((8, 12)) / 3).astype(dtype))
    bias1 = rt.variable_from(np.zeros(12, dtype))
    weights2 = rt.variable_from((rng.standard_normal((12, 2)) / 3).astype(dtype))
    losses = []
    for _ in range(steps):
        hidden = tw.tanh(inputs @ weights1 + bias1)
        residual = hidden @ weights2 - targets
        loss = tw.mean(residual * residual)
        loss.backward()
        losses.append(loss.item())
        with tw.no_grad():
            weights1 -= 0.5 * weights1.grad
            bias1 -= 0.5 * bias1.grad
            weights2 -= 0.5 * weights2.grad
    return losses + [tw.sum(weights1).item(), tw.sum(tw.abs(bias1)).item(), weights2[0, 1].item()]


def run():
    """The numbers of both precisions, by dtype name."""
    return {name: train(np.dtype(name)) for name in ("float32", "float64")}


if __name__ == "__main__":
    print(run())
