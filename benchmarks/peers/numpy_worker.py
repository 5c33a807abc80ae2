"""The programs in plain NumPy, with gradients written by hand: the reference of every result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from protocol import serve

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]


def elementwise(x: Array) -> Step:
    return lambda: np.exp(np.sin(x)) * x + 1


def multiply_add(x: Array) -> Step:
    return lambda: x * x + x


def double(x: Array) -> Step:
    return lambda: x + x


def square(x: Array) -> Step:
    return lambda: x * x


def total(x: Array) -> Step:
    return lambda: float(x.sum())


def sums(x: Array, axis: int) -> Step:
    return lambda: x.sum(axis=axis)


def matmul(x: Array, y: Array) -> Step:
    return lambda: x @ y


def adds(x: Array, count: int) -> Step:
    def step() -> Array:
        y = x
        for _ in range(count):
            y = y + x
        return y

    return step


def many_sizes(x: Array, count: int) -> Step:
    return lambda: [x[:size] + x[:size] for size in range(1, count + 1)][-1]


def read(x: Array) -> Step:
    return lambda: float(x + 1)


def tanh_chain(t: Array, steps: int, a: float, b: float) -> Step:
    scale, shift = t.dtype.type(a), t.dtype.type(b)

    def step() -> Array:
        y = t
        for _ in range(steps):
            y = np.tanh(y * scale + shift)
        return y

    return step


def tanh_chain_grad(t: Array, steps: int, a: float, b: float) -> Step:
    scale, shift = t.dtype.type(a), t.dtype.type(b)

    def step() -> Array:
        outputs, y = [], t
        for _ in range(steps):
            y = np.tanh(y * scale + shift)
            outputs.append(y)
        y.sum()
        gradient = np.ones_like(t)
        for out in reversed(outputs):
            gradient = gradient * (1 - out * out) * scale
        return gradient

    return step


def grad_sum(x: Array, y: Array, operation: str) -> Step:
    def step() -> tuple[Array, Array]:
        if operation == "matmul":
            (x @ y).sum()
            g = np.ones((*x.shape[:-1], y.shape[-1]), x.dtype)
            return g @ y.swapaxes(-1, -2), x.swapaxes(-1, -2) @ g
        g = np.ones_like(x)
        if operation == "add":
            (x + y).sum()
            return g, g.copy()
        if operation == "mul":
            (x * y).sum()
            return g * y, g * x
        powers = np.exp(x * y)
        powers.sum()
        return g * powers * y, g * powers * x

    return step


def conv(x: Array, kernel: Array, bias: Array, depthwise: bool) -> Step:
    """Sums over windows as one product, or of a window's places one after another."""
    rows, columns = x.shape[2] - 2, x.shape[3] - 2

    def step() -> Array:
        if depthwise:
            sums = np.zeros((x.shape[1], rows, columns), x.dtype)
            for i in range(3):
                for j in range(3):
                    part = x[0, :, i : i + rows, j : j + columns]
                    sums += kernel[:, 0, i, j, None, None] * part
        else:
            windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), (1, 2))
            sums = np.tensordot(kernel, windows, ((1, 2, 3), (0, 3, 4)))
        return np.maximum(sums + bias, 0)[None]

    return step


def sort(x: Array) -> Step:
    return lambda: np.sort(x)


def cumsum(x: Array) -> Step:
    return lambda: np.cumsum(x * x)


def mask(x: Array) -> Step:
    return lambda: x[x > 0]


def mlp(inputs: Array, targets: Array, *arrays: Array, rate: float) -> Step:
    parameters, batch = list(arrays), np.float32(len(inputs))
    learning_rate = np.float32(rate)

    def step() -> float:
        activations = [inputs]
        for layer in range(0, len(parameters), 2):
            sums = activations[-1] @ parameters[layer] + parameters[layer + 1]
            last = layer + 2 == len(parameters)
            activations.append(sums if last else np.maximum(sums, 0))
        shifted = activations[-1] - activations[-1].max(axis=1, keepdims=True)
        powers = np.exp(shifted)
        totals = powers.sum(axis=1, keepdims=True)
        loss = ((np.log(totals) - shifted) * targets).sum() / batch
        flowing = (powers / totals - targets) / batch
        for layer in range(len(parameters) - 2, -1, -2):
            entering = activations[layer // 2]
            steps = entering.T @ flowing, flowing.sum(axis=0)
            if layer:
                flowing = (flowing @ parameters[layer].T) * (entering > 0)
            for offset, gradient in enumerate(steps):
                parameters[layer + offset] = parameters[layer + offset] - learning_rate * gradient
        return float(loss)

    return step


PROGRAMS = {
    each.__name__: each
    for each in (
        elementwise, multiply_add, double, square, total, sums, matmul, adds, many_sizes, read,
        tanh_chain, tanh_chain_grad, grad_sum, conv, sort, cumsum, mask, mlp,
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(PROGRAMS, version=np.__version__, device="CPU", read=lambda result: result)
