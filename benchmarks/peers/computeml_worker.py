"""The programs in computeml, captured and replayed; it has no sine and no sums along an axis."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import Any

import computeml as cml
import numpy as np
from protocol import Unsupported, serve

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]

CONTEXT = cml.Context()


def _captured(function: Callable[..., Any], *arrays: Array) -> Step:
    operands = [CONTEXT.asarray(array) for array in arrays]
    program = CONTEXT.capture(function)
    return lambda: program(*operands)


def multiply_add(x: Array) -> Step:
    return _captured(lambda t: t * t + t, x)


def total(x: Array) -> Step:
    program = _captured(cml.ops.sum, x)
    return lambda: float(program())


def matmul(x: Array, y: Array) -> Step:
    return _captured(cml.ops.matmul_batched if x.ndim == 3 else cml.ops.matmul, x, y)


def adds(x: Array, count: int) -> Step:
    def program(t: Any) -> Any:
        y = t
        for _ in range(count):
            y = y + t
        return y

    return _captured(program, x)


def read(x: Array) -> Step:
    program = _captured(lambda t, one: t + one, x.reshape(1), np.ones(1, np.float32))
    return lambda: float(program())


def _chain(t: Any, shift: Any, steps: int, a: float) -> Any:
    # A number cannot be added: a tensor of it can.
    for _ in range(steps):
        t = cml.ops.tanh(t * a + shift)
    return t


def tanh_chain(t: Array, steps: int, a: float, b: float) -> Step:
    shift = np.full_like(t, b)
    return _captured(lambda x, y: _chain(x, y, steps, a), t, shift)


def tanh_chain_grad(t: Array, steps: int, a: float, b: float) -> Step:
    start = CONTEXT.asarray(t, requires_grad=True)
    # The scale as a tensor too: a product with a number has no derivative.
    scale, shift = CONTEXT.asarray(np.full_like(t, a)), CONTEXT.asarray(np.full_like(t, b))

    def step() -> Any:
        y = start
        for _ in range(steps):
            y = cml.ops.tanh(y * scale + shift)
        if start.grad is not None:
            start.grad.fill_(0.0)
        cml.ops.sum(y).backward()
        return start.grad

    return step


def grad_sum(x: Array, y: Array, operation: str) -> Step:
    if operation == "exp":
        raise Unsupported("exp has no derivative")
    a, b = (CONTEXT.asarray(array, requires_grad=True) for array in (x, y))
    product = cml.ops.matmul_batched if x.ndim == 3 else cml.ops.matmul
    function = {"add": cml.ops.add, "mul": cml.ops.mul, "matmul": product}[operation]

    def step() -> tuple[Any, Any]:
        for operand in (a, b):
            if operand.grad is not None:
                operand.grad.fill_(0.0)
        cml.ops.sum(function(a, b)).backward()
        return a.grad, b.grad

    return step


def mlp(inputs: Array, targets: Array, *arrays: Array, rate: float) -> Step:
    x = CONTEXT.asarray(inputs)
    classes = CONTEXT.asarray(targets.argmax(axis=1).astype(np.float32))
    # Weights lie as (out, in) here.
    parameters = [CONTEXT.asarray(each.T.copy(), requires_grad=True) for each in arrays]
    optimizer = cml.optim.SGD(parameters, lr=rate)

    @CONTEXT.capture
    def update() -> Any:
        flowing = x
        for layer in range(0, len(parameters), 2):
            flowing = cml.ops.linear(flowing, parameters[layer], parameters[layer + 1])
            if layer + 2 < len(parameters):
                flowing = cml.ops.relu(flowing)
        loss = cml.ops.cross_entropy(flowing, classes)
        loss.backward()
        optimizer.step()
        # Last, not first: the call that records has no gradients yet to set to zero.
        optimizer.zero_grad()
        return loss

    return lambda: float(update())


PROGRAMS = {
    each.__name__: each
    for each in (
        multiply_add, total, matmul, adds, read, tanh_chain, tanh_chain_grad, grad_sum, mlp,
    )
}  # fmt: skip


def _read(result: Any) -> Any:
    if isinstance(result, tuple):
        return [each.numpy() for each in result]
    return result if isinstance(result, float) else result.numpy()


if __name__ == "__main__":
    serve(
        PROGRAMS,
        version=importlib.metadata.version("computeml"),
        device=CONTEXT.device_name,
        read=_read,
        wait=lambda result: CONTEXT.flush(),
    )
