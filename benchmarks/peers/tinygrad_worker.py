"""The programs in tinygrad, each captured by `TinyJit`, on the device that ``DEV`` names."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np
from protocol import Unsupported, serve
from tinygrad import Context, Device, Tensor, TinyJit

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]


def _tensors(*arrays: Array) -> list[Tensor]:
    return [Tensor(array).realize() for array in arrays]


def _captured(function: Callable[..., Tensor], *arrays: Array) -> Step:
    operands = _tensors(*arrays)
    program = TinyJit(lambda *t: function(*t).realize())
    return lambda: program(*operands)


def elementwise(x: Array) -> Step:
    return _captured(lambda t: t.sin().exp() * t + 1, x)


def multiply_add(x: Array) -> Step:
    return _captured(lambda t: t * t + t, x)


def total(x: Array) -> Step:
    program = _captured(lambda t: t.sum(), x)
    return lambda: float(program().item())


def sums(x: Array, axis: int) -> Step:
    return _captured(lambda t: t.sum(axis=axis), x)


def matmul(x: Array, y: Array) -> Step:
    return _captured(lambda a, b: a @ b, x, y)


def adds(x: Array, count: int) -> Step:
    def program(t: Tensor) -> Tensor:
        y = t
        for _ in range(count):
            y = y + t
        return y

    return _captured(program, x)


def read(x: Array) -> Step:
    # A tensor without dimensions would be a constant, which a capture does not take.
    program = _captured(lambda t: t + 1, x.reshape(1))
    return lambda: float(program().item())


def _chain(t: Tensor, steps: int, a: float, b: float) -> Tensor:
    for _ in range(steps):
        t = (t * a + b).tanh()
    return t


def tanh_chain(t: Array, steps: int, a: float, b: float) -> Step:
    return _captured(lambda x: _chain(x, steps, a, b), t)


def tanh_chain_grad(t: Array, steps: int, a: float, b: float) -> Step:
    return _captured(lambda x: _chain(x, steps, a, b).sum().gradient(x)[0], t)


def grad_sum(x: Array, y: Array, operation: str) -> Step:
    if operation == "add":
        raise Unsupported("these gradients are constants, and a capture of no kernel is refused")
    function = {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "exp": lambda a, b: (a * b).exp(),
        "matmul": lambda a, b: a @ b,
    }[operation]
    operands = _tensors(x, y)

    @TinyJit
    def program(a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
        gradients = function(a, b).sum().gradient(a, b)
        Tensor.realize(*gradients)
        return tuple(gradients)

    return lambda: program(*operands)


def mlp(inputs: Array, targets: Array, *arrays: Array, rate: float) -> Step:
    x, wanted = _tensors(inputs, targets)
    parameters = _tensors(*arrays)

    @TinyJit
    def update() -> Tensor:
        flowing = x
        for layer in range(0, len(parameters), 2):
            flowing = flowing @ parameters[layer] + parameters[layer + 1]
            if layer + 2 < len(parameters):
                flowing = flowing.relu()
        loss = -(flowing.log_softmax() * wanted).sum() / len(inputs)
        gradients = loss.gradient(*parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.assign(parameter - rate * gradient)
        Tensor.realize(loss, *parameters)
        return loss

    return lambda: float(update().item())


PROGRAMS = {
    each.__name__: each
    for each in (
        elementwise, multiply_add, total, sums, matmul, adds, read, tanh_chain, tanh_chain_grad,
        grad_sum, mlp,
    )
}  # fmt: skip


def _read(result: Any) -> Any:
    if isinstance(result, tuple):
        return [each.numpy() for each in result]
    return result if isinstance(result, float) else result.numpy()


if __name__ == "__main__":
    with Context(TRAINING=1):
        serve(
            PROGRAMS,
            version=importlib.metadata.version("tinygrad"),
            device=Device.DEFAULT,
            read=_read,
            wait=lambda result: Device[Device.DEFAULT].synchronize(),
        )
