"""The programs in ferrotensor on its wgpu device; it has no wait, so one number is read."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import ferrotensor as ft
import numpy as np
from protocol import serve

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]

DEVICE = ft.Device("gpu")


def _tensor(array: Array, requires_grad: bool = False) -> Any:
    return ft.Tensor(array, device=DEVICE, requires_grad=requires_grad)


def elementwise(x: Array) -> Step:
    t = _tensor(x)
    return lambda: t.sin().exp() * t + 1


def multiply_add(x: Array) -> Step:
    t = _tensor(x)
    return lambda: t * t + t


def total(x: Array) -> Step:
    t = _tensor(x)
    return lambda: t.sum().item()


def sums(x: Array, axis: int) -> Step:
    t = _tensor(x)
    return lambda: t.sum(axis)


def matmul(x: Array, y: Array) -> Step:
    a, b = _tensor(x), _tensor(y)
    return lambda: a @ b


def adds(x: Array, count: int) -> Step:
    t = _tensor(x)

    def step() -> Any:
        y = t
        for _ in range(count):
            y = y + t
        return y

    return step


def read(x: Array) -> Step:
    t = _tensor(x)
    return lambda: (t + 1).item()


def _chain(t: Any, steps: int, a: float, b: float) -> Any:
    for _ in range(steps):
        t = (t * a + b).tanh()
    return t


def tanh_chain(t: Array, steps: int, a: float, b: float) -> Step:
    start = _tensor(t)
    return lambda: _chain(start, steps, a, b)


def tanh_chain_grad(t: Array, steps: int, a: float, b: float) -> Step:
    start = _tensor(t, requires_grad=True)

    def step() -> Any:
        _chain(start, steps, a, b).sum().backward()
        gradient = start.grad
        start.grad = None
        return gradient

    return step


def grad_sum(x: Array, y: Array, operation: str) -> Step:
    a, b = _tensor(x, requires_grad=True), _tensor(y, requires_grad=True)
    function = {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "exp": lambda a, b: (a * b).exp(),
        "matmul": lambda a, b: a @ b,
    }[operation]

    def step() -> tuple[Any, Any]:
        function(a, b).sum().backward()
        gradients = a.grad, b.grad
        a.grad = b.grad = None
        return gradients

    return step


def mlp(inputs: Array, targets: Array, *arrays: Array, rate: float) -> Step:
    x = _tensor(inputs)
    classes = targets.argmax(axis=1).tolist()
    parameters = [_tensor(array, requires_grad=True) for array in arrays]
    optimizer = ft.optim.SGD(parameters, lr=rate)

    def step() -> float:
        optimizer.zero_grad()
        flowing = x
        for layer in range(0, len(parameters), 2):
            flowing = flowing @ parameters[layer] + parameters[layer + 1]
            if layer + 2 < len(parameters):
                flowing = flowing.relu()
        loss = ft.nn.functional.cross_entropy(flowing, classes)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


PROGRAMS = {
    each.__name__: each
    for each in (
        elementwise, multiply_add, total, sums, matmul, adds, read, tanh_chain, tanh_chain_grad,
        grad_sum, mlp,
    )
}  # fmt: skip


def _read(result: Any) -> Any:
    if isinstance(result, tuple):
        return [each.tolist() for each in result]
    return result if isinstance(result, float) else result.tolist()


def _wait(result: Any) -> None:
    if isinstance(result, float):
        return
    last = result[-1] if isinstance(result, tuple) else result
    for _ in range(last.ndim):
        last = last.narrow(0, 0, 1).squeeze(0)
    last.item()


if __name__ == "__main__":
    serve(
        PROGRAMS,
        version=importlib.metadata.version("ferrotensor"),
        device=DEVICE.name,
        read=_read,
        wait=_wait,
    )
