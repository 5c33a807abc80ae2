"""The programs in tenferro_wgpu: plain eager code, on the backend that ``--backend`` names."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from protocol import serve

import tenferro_wgpu as tw

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]


class Programs:
    """The programs of the catalogue on one runtime."""

    def __init__(self, runtime: tw.EagerRuntime) -> None:
        self._runtime = runtime

    def elementwise(self, x: Array) -> Step:
        t = self._runtime.constant_from(x)
        return lambda: tw.exp(tw.sin(t)) * t + 1

    def multiply_add(self, x: Array) -> Step:
        t = self._runtime.constant_from(x)
        return lambda: t * t + t

    def double(self, x: Array) -> Step:
        t = self._runtime.constant_from(x)
        return lambda: t + t

    def square(self, x: Array) -> Step:
        t = self._runtime.constant_from(x)
        return lambda: t * t

    def total(self, x: Array) -> Step:
        t = self._runtime.constant_from(x)
        return lambda: float(t.sum())

    def sums(self, x: Array, axis: int) -> Step:
        t = self._runtime.constant_from(x)
        return lambda: t.sum(axis=axis)

    def matmul(self, x: Array, y: Array) -> Step:
        a, b = self._runtime.constant_from(x), self._runtime.constant_from(y)
        return lambda: a @ b

    def adds(self, x: Array, count: int) -> Step:
        t = self._runtime.constant_from(x)

        def step() -> Any:
            y = t
            for _ in range(count):
                y = y + t
            return y

        return step

    def many_sizes(self, x: Array, count: int) -> Step:
        t = self._runtime.constant_from(x)

        def step() -> Any:
            made = [t[:size] + t[:size] for size in range(1, count + 1)]
            # While all of them are there: what nobody holds is never computed.
            self._runtime.synchronize()
            return made[-1]

        return step

    def read(self, x: Array) -> Step:
        t = self._runtime.constant_from(x)
        return lambda: float(t + 1)

    def tanh_chain(self, t: Array, steps: int, a: float, b: float) -> Step:
        start = self._runtime.constant_from(t)
        return lambda: _chain(start, steps, a, b)

    def tanh_chain_grad(self, t: Array, steps: int, a: float, b: float) -> Step:
        start = self._runtime.variable_from(t)

        def step() -> Any:
            _chain(start, steps, a, b).sum().backward()
            gradient = start.grad
            start.clear_grad()
            return gradient

        return step

    def grad_sum(self, x: Array, y: Array, operation: str) -> Step:
        a, b = self._runtime.variable_from(x), self._runtime.variable_from(y)
        function = {
            "add": lambda a, b: a + b,
            "mul": lambda a, b: a * b,
            "exp": lambda a, b: tw.exp(a * b),
            "matmul": lambda a, b: a @ b,
        }[operation]

        def step() -> tuple[Any, Any]:
            function(a, b).sum().backward()
            gradients = a.grad, b.grad
            a.clear_grad()
            b.clear_grad()
            return gradients

        return step

    def conv(self, x: Array, kernel: Array, bias: Array, depthwise: bool) -> Step:
        image, weights, added = (self._runtime.constant_from(each) for each in (x, kernel, bias))
        groups = len(kernel) if depthwise else 1
        return lambda: tw.relu(tw.conv(image, weights, groups=groups) + added)

    def sort(self, x: Array) -> Step:
        t = self._runtime.constant_from(x)
        return lambda: tw.sort(t)

    def cumsum(self, x: Array) -> Step:
        t = self._runtime.constant_from(x)
        return lambda: tw.cumsum(t * t)

    def mask(self, x: Array) -> Step:
        t = self._runtime.constant_from(x)
        return lambda: t[t > 0]

    def mlp(self, inputs: Array, targets: Array, *arrays: Array, rate: float) -> Step:
        runtime = self._runtime
        x, wanted = runtime.constant_from(inputs), runtime.constant_from(targets)
        parameters = [runtime.variable_from(array) for array in arrays]

        def step() -> float:
            flowing = x
            for layer in range(0, len(parameters), 2):
                sums = flowing @ parameters[layer] + parameters[layer + 1]
                last = layer + 2 == len(parameters)
                flowing = sums if last else tw.maximum(sums, 0)
            shifted = flowing - flowing.detach().max(axis=1, keepdims=True)
            totals = tw.exp(shifted).sum(axis=1, keepdims=True)
            loss = ((tw.log(totals) - shifted) * wanted).sum() / len(inputs)
            loss.backward()
            with tw.no_grad():
                for position in range(len(parameters)):
                    gradient = parameters[position].grad
                    assert gradient is not None
                    parameters[position] -= rate * gradient
            return float(loss)

        return step


KINDS = (
    "elementwise", "multiply_add", "double", "square", "total", "sums", "matmul", "adds",
    "many_sizes", "read", "tanh_chain", "tanh_chain_grad", "grad_sum", "conv", "sort", "cumsum",
    "mask", "mlp",
)  # fmt: skip


def _chain(t: Any, steps: int, a: float, b: float) -> Any:
    for _ in range(steps):
        t = tw.tanh(t * a + b)
    return t


def _read(result: Any) -> Any:
    if isinstance(result, tuple):
        return [each.numpy() for each in result]
    return result if isinstance(result, float) else result.numpy()


def counters(runtime: tw.EagerRuntime) -> dict[str, float]:
    """What the runtime has counted so far; empty where the backend is no WebGPU."""
    stats = runtime.stats()["backend"]
    if "queue" not in stats:
        return {}
    return {
        "dispatches": stats["queue"]["dispatches"],
        "submits": stats["queue"]["submits"],
        "pipelines": stats["pipelines"]["built"],
        "allocations": stats["memory"]["allocations"],
        "bind groups": stats["bind_groups"]["built"],
        "bytes up": stats["queue"]["bytes_up"],
        "bytes down": stats["queue"]["bytes_down"],
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="webgpu", choices=("webgpu", "cpu", "cuda"))
    runtime = tw.EagerRuntime(parser.parse_args().backend)
    programs, capabilities = Programs(runtime), runtime.backend.capabilities()
    serve(
        {kind: getattr(programs, kind) for kind in KINDS},
        version=tw.__version__,
        device=runtime.device.name,
        read=_read,
        wait=lambda result: runtime.synchronize(),
        counters=lambda: counters(runtime),
        details={"float64": capabilities.dtypes["float64"], "driver": capabilities.driver},
    )


if __name__ == "__main__":
    main()
