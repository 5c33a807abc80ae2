"""The programs in eager PyTorch: on the CPU, or on Vulkan through `torchvulkan`."""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from protocol import serve

Array = np.ndarray[Any, Any]
Step = Callable[[], Any]


class Programs:
    """The programs of the catalogue on one device of PyTorch."""

    def __init__(self, device: str) -> None:
        self._device = device

    def _tensor(self, array: Array) -> torch.Tensor:
        return torch.from_numpy(array).to(self._device)

    def elementwise(self, x: Array) -> Step:
        t = self._tensor(x)
        return lambda: torch.exp(torch.sin(t)) * t + 1

    def multiply_add(self, x: Array) -> Step:
        t = self._tensor(x)
        return lambda: t * t + t

    def total(self, x: Array) -> Step:
        t = self._tensor(x)
        return lambda: t.sum().item()

    def sums(self, x: Array, axis: int) -> Step:
        t = self._tensor(x)
        return lambda: t.sum(dim=axis)

    def matmul(self, x: Array, y: Array) -> Step:
        a, b = self._tensor(x), self._tensor(y)
        return lambda: a @ b

    def adds(self, x: Array, count: int) -> Step:
        t = self._tensor(x)

        def step() -> torch.Tensor:
            y = t
            for _ in range(count):
                y = y + t
            return y

        return step

    def read(self, x: Array) -> Step:
        t = self._tensor(x)
        return lambda: (t + 1).item()

    def tanh_chain(self, t: Array, steps: int, a: float, b: float) -> Step:
        start = self._tensor(t)
        return lambda: _chain(start, steps, a, b)

    def tanh_chain_grad(self, t: Array, steps: int, a: float, b: float) -> Step:
        start = self._tensor(t).requires_grad_()
        return lambda: torch.autograd.grad(_chain(start, steps, a, b).sum(), start)[0]

    def grad_sum(self, x: Array, y: Array, operation: str) -> Step:
        a, b = self._tensor(x).requires_grad_(), self._tensor(y).requires_grad_()
        function = {
            "add": lambda a, b: a + b,
            "mul": lambda a, b: a * b,
            "exp": lambda a, b: torch.exp(a * b),
            "matmul": lambda a, b: a @ b,
        }[operation]

        def step() -> tuple[Any, Any]:
            function(a, b).sum().backward()
            gradients = a.grad, b.grad
            a.grad = b.grad = None
            return gradients

        return step

    def mlp(self, inputs: Array, targets: Array, *arrays: Array, rate: float) -> Step:
        x, classes = self._tensor(inputs), self._tensor(targets.argmax(axis=1))
        parameters = [self._tensor(array).requires_grad_() for array in arrays]

        def step() -> float:
            flowing = x
            for layer in range(0, len(parameters), 2):
                flowing = torch.addmm(parameters[layer + 1], flowing, parameters[layer])
                if layer + 2 < len(parameters):
                    flowing = torch.relu(flowing)
            loss = torch.nn.functional.cross_entropy(flowing, classes)
            loss.backward()
            with torch.no_grad():
                for parameter in parameters:
                    parameter.sub_(parameter.grad, alpha=rate)
                    parameter.grad = None
            return loss.item()

        return step


KINDS = (
    "elementwise", "multiply_add", "total", "sums", "matmul", "adds", "read", "tanh_chain",
    "tanh_chain_grad", "grad_sum", "mlp",
)  # fmt: skip


def _chain(t: torch.Tensor, steps: int, a: float, b: float) -> torch.Tensor:
    for _ in range(steps):
        t = torch.tanh(t * a + b)
    return t


def _read(result: Any) -> Any:
    if isinstance(result, tuple):
        return [each.detach().cpu().numpy() for each in result]
    return result if isinstance(result, float) else result.detach().cpu().numpy()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "vulkan"), default="cpu")
    device = parser.parse_args().device
    version, name, wait = torch.__version__, "CPU", lambda result: None
    if device == "vulkan":
        import torchvulkan

        version = importlib.metadata.version("torchvulkan")
        name = torchvulkan.get_device_name(0)

        def wait(result: Any) -> None:
            torchvulkan.synchronize()

    programs = Programs(device)
    table = {kind: getattr(programs, kind) for kind in KINDS}
    serve(table, version=version, device=name, read=_read, wait=wait)


if __name__ == "__main__":
    main()
