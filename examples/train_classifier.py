"""Train a classifier on points of two interleaved spirals: a list of parameters, data in batches.

    python examples/train_classifier.py

Prints the loss as it falls and the share of fresh points it gets right.  Names no backend.
"""

from __future__ import annotations

import numpy as np

import tenferro_wgpu as tw

LAYERS = (2, 32, 32, 2)
BATCH = 64
EPOCHS = 60
RATE = 0.1
MOMENTUM = 0.9


def spirals(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of shape (count, 2) and their classes, 0 or 1."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(2, size=count)
    radius = rng.uniform(0.2, 2.0, size=count)
    angle = 2.5 * radius + np.pi * classes
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    points += 0.05 * rng.standard_normal(points.shape)
    return points.astype(np.float32), classes


def new_parameters(runtime: tw.EagerRuntime) -> list[tw.EagerTensor]:
    """Weights and biases in turn, as variables: gradients reach them."""
    rng = np.random.default_rng(0)
    parameters = []
    for width, following in zip(LAYERS, LAYERS[1:], strict=False):
        weights = rng.standard_normal((width, following)) * np.sqrt(2 / width)
        parameters.append(runtime.variable_from(weights, dtype="float32"))
        parameters.append(runtime.variable_from(np.zeros(following), dtype="float32"))
    return parameters


def scores(parameters: list[tw.EagerTensor], points: tw.EagerTensor) -> tw.EagerTensor:
    """One score per point and class."""
    flowing = points
    for layer in range(0, len(parameters), 2):
        flowing = flowing @ parameters[layer] + parameters[layer + 1]
        if layer + 2 < len(parameters):
            flowing = tw.maximum(flowing, 0)
    return flowing


def cross_entropy(found: tw.EagerTensor, one_hot: tw.EagerTensor) -> tw.EagerTensor:
    """The mean of -log(softmax) at the right class."""
    shifted = found - found.detach().max(axis=1, keepdims=True)
    logarithm = tw.log(tw.exp(shifted).sum(axis=1, keepdims=True))
    return ((logarithm - shifted) * one_hot).sum(axis=1).mean()


def main() -> None:
    """Train, and count what is right on points that were not trained on."""
    runtime = tw.default_runtime()
    print(runtime)
    points, classes = spirals(512, seed=1)
    one_hot = np.eye(2, dtype=np.float32)[classes]
    parameters = new_parameters(runtime)
    velocities = [runtime.zeros(p.shape) for p in parameters]
    shuffled = np.random.default_rng(2)

    for epoch in range(EPOCHS):
        order = shuffled.permutation(len(points))
        total = runtime.zeros(())
        for first in range(0, len(points), BATCH):
            batch = order[first : first + BATCH]
            found = scores(parameters, runtime.constant_from(points[batch]))
            loss = cross_entropy(found, runtime.constant_from(one_hot[batch]))
            loss.backward()
            with tw.no_grad():
                for i, parameter in enumerate(parameters):
                    velocities[i] = MOMENTUM * velocities[i] - RATE * parameter.grad
                    # Into the list: `parameter += ...` would change the loop's name alone.
                    parameters[i] += velocities[i]
            total += loss.detach()  # stays on the device: nothing waits inside the epoch
        if epoch % 10 == 0 or epoch == EPOCHS - 1:
            print(f"epoch {epoch:2}  loss {total.item() * BATCH / len(points):.4f}")

    fresh, expected = spirals(512, seed=3)
    with tw.no_grad():
        right = scores(parameters, runtime.constant_from(fresh)).argmax(axis=1).numpy() == expected
    print(f"right on fresh points: {right.mean():.1%}")
    if not right.mean() > 0.9:
        raise SystemExit("the classifier did not learn as it should")


if __name__ == "__main__":
    main()
