"""The programs in JAX on the CPU, each compiled as a whole by `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from protocol import serve

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]


def _compiled(function: Callable[..., Any], *arrays: Array) -> Step:
    operands = [jnp.asarray(array) for array in arrays]
    program = jax.jit(function)
    return lambda: program(*operands)


def elementwise(x: Array) -> Step:
    return _compiled(lambda t: jnp.exp(jnp.sin(t)) * t + 1, x)


def multiply_add(x: Array) -> Step:
    return _compiled(lambda t: t * t + t, x)


def total(x: Array) -> Step:
    program = _compiled(jnp.sum, x)
    return lambda: float(program())


def sums(x: Array, axis: int) -> Step:
    return _compiled(lambda t: t.sum(axis=axis), x)


def matmul(x: Array, y: Array) -> Step:
    return _compiled(jnp.matmul, x, y)


def adds(x: Array, count: int) -> Step:
    def program(t: Any) -> Any:
        y = t
        for _ in range(count):
            y = y + t
        return y

    return _compiled(program, x)


def read(x: Array) -> Step:
    program = _compiled(lambda t: t + 1, x)
    return lambda: float(program())


def _chain(t: Any, steps: int, a: float, b: float) -> Any:
    for _ in range(steps):
        t = jnp.tanh(t * a + b)
    return t


def tanh_chain(t: Array, steps: int, a: float, b: float) -> Step:
    return _compiled(lambda x: _chain(x, steps, a, b), t)


def tanh_chain_grad(t: Array, steps: int, a: float, b: float) -> Step:
    return _compiled(jax.grad(lambda x: _chain(x, steps, a, b).sum()), t)


def grad_sum(x: Array, y: Array, operation: str) -> Step:
    function = {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "exp": lambda a, b: jnp.exp(a * b),
        "matmul": lambda a, b: a @ b,
    }[operation]
    return _compiled(jax.grad(lambda a, b: function(a, b).sum(), argnums=(0, 1)), x, y)


def mlp(inputs: Array, targets: Array, *arrays: Array, rate: float) -> Step:
    x, wanted = jnp.asarray(inputs), jnp.asarray(targets)
    parameters = [jnp.asarray(array) for array in arrays]

    def loss(parameters: list[Any]) -> Any:
        flowing = x
        for layer in range(0, len(parameters), 2):
            flowing = flowing @ parameters[layer] + parameters[layer + 1]
            if layer + 2 < len(parameters):
                flowing = jax.nn.relu(flowing)
        return -(jax.nn.log_softmax(flowing) * wanted).sum() / len(inputs)

    @jax.jit
    def update(parameters: list[Any]) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters)
        return value, [p - rate * g for p, g in zip(parameters, gradients, strict=True)]

    def step() -> float:
        nonlocal parameters
        value, parameters = update(parameters)
        return float(value)

    return step


PROGRAMS = {
    each.__name__: each
    for each in (
        elementwise, multiply_add, total, sums, matmul, adds, read, tanh_chain, tanh_chain_grad,
        grad_sum, mlp,
    )
}  # fmt: skip

if __name__ == "__main__":
    serve(
        PROGRAMS,
        version=jax.__version__,
        device="CPU",
        read=lambda result: result,
        wait=jax.block_until_ready,
    )
