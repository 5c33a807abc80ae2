"""One training step of a small classifier, in plain NumPy and on a runtime: the same numbers.

A network of 784-256-128-10 units with ReLU, softmax cross-entropy and gradient descent on one
batch of random data.  A step returns its loss; the parameters go on from step to step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenferro_wgpu as tw

__all__ = ["numpy_step", "our_step"]

LAYERS = (784, 256, 128, 10)
BATCH = 128
RATE = np.float32(0.05)


def _data() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], list[np.ndarray[Any, Any]]]:
    """Inputs, one-hot targets, and weights and biases in turn."""
    rng = np.random.default_rng(1)
    inputs = rng.standard_normal((BATCH, LAYERS[0]), dtype=np.float32)
    targets = np.eye(LAYERS[-1], dtype=np.float32)[rng.integers(LAYERS[-1], size=BATCH)]
    parameters = []
    for width, following in zip(LAYERS, LAYERS[1:], strict=False):
        weights = rng.standard_normal((width, following), dtype=np.float32)
        parameters += [weights / np.float32(width**0.5), np.zeros(following, np.float32)]
    return inputs, targets, parameters


def numpy_step() -> Callable[[], Any]:
    """The step with gradients written by hand."""
    inputs, targets, parameters = _data()

    def step() -> Any:
        activations = [inputs]
        for layer in range(0, len(parameters), 2):
            sums = activations[-1] @ parameters[layer] + parameters[layer + 1]
            last = layer + 2 == len(parameters)
            activations.append(sums if last else np.maximum(sums, 0))
        shifted = activations[-1] - activations[-1].max(axis=1, keepdims=True)
        powers = np.exp(shifted)
        totals = powers.sum(axis=1, keepdims=True)
        loss = ((np.log(totals) - shifted) * targets).sum() / BATCH
        flowing = (powers / totals - targets) / BATCH
        for layer in range(len(parameters) - 2, -1, -2):
            entering = activations[layer // 2]
            steps = entering.T @ flowing, flowing.sum(axis=0)
            if layer:
                flowing = (flowing @ parameters[layer].T) * (entering > 0)
            for offset, gradient in enumerate(steps):
                parameters[layer + offset] = parameters[layer + offset] - RATE * gradient
        return loss

    return step


def our_step(runtime: tw.EagerRuntime) -> Callable[[], Any]:
    """The step with gradients from the tape."""
    arrays = _data()
    inputs, targets = (runtime.constant_from(array) for array in arrays[:2])
    parameters = [runtime.variable_from(array) for array in arrays[2]]

    def step() -> Any:
        flowing = inputs
        for layer in range(0, len(parameters), 2):
            sums = flowing @ parameters[layer] + parameters[layer + 1]
            last = layer + 2 == len(parameters)
            flowing = sums if last else tw.maximum(sums, 0)
        shifted = flowing - flowing.detach().max(axis=1, keepdims=True)
        totals = tw.exp(shifted).sum(axis=1, keepdims=True)
        loss = ((tw.log(totals) - shifted) * targets).sum() / BATCH
        loss.backward()
        with tw.no_grad():
            for position in range(len(parameters)):
                gradient = parameters[position].grad
                assert gradient is not None
                parameters[position] -= RATE * gradient
        return loss

    return step
