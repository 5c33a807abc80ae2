"""Fit a small network to a noisy curve, in float32 and float64, on whatever device is here.

    python examples/fit_network.py

Prints the loss as it falls and checks that it fell.  Names no backend.
"""

from __future__ import annotations

import numpy as np

import tenferro_wgpu as tw


def fit(dtype: str, steps: int = 300) -> list[float]:
    """Fit a sine with one hidden layer by gradient descent; returns the loss every 50 steps."""
    rng = np.random.default_rng(0)
    runtime = tw.current_runtime()
    grid = np.linspace(-3, 3, 64)[:, None]
    inputs = runtime.constant_from(grid.astype(dtype))
    targets = runtime.constant_from(
        (np.sin(grid) + 0.05 * rng.standard_normal(grid.shape)).astype(dtype)
    )
    hidden_weights = runtime.variable_from(rng.standard_normal((1, 32)).astype(dtype))
    hidden_bias = runtime.variable_from(rng.standard_normal(32).astype(dtype))
    weights = runtime.variable_from((rng.standard_normal((32, 1)) / 8).astype(dtype))
    losses = []
    for step in range(steps):
        hidden = tw.tanh(inputs @ hidden_weights + hidden_bias)
        residual = hidden @ weights - targets
        loss = tw.mean(residual * residual)
        loss.backward()
        with tw.no_grad():
            hidden_weights -= 0.05 * hidden_weights.grad
            hidden_bias -= 0.05 * hidden_bias.grad
            weights -= 0.05 * weights.grad
        if step % 50 == 0 or step == steps - 1:
            losses.append(loss.item())
    return losses


def main() -> None:
    """Fit in both precisions and show the losses."""
    print(tw.default_runtime())
    for dtype in ("float32", "float64"):
        losses = fit(dtype)
        print(dtype, " ".join(f"{loss:.4f}" for loss in losses))
        if not losses[-1] < 0.1 * losses[0]:
            raise SystemExit("the loss did not fall as it should")


if __name__ == "__main__":
    main()
