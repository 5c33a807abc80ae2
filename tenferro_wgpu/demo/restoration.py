"""Restoring a photograph: blur and noise are undone by gradient descent.

The picture x is sought whose blurred version is closest to what the camera saw, y, among those
that are smooth except at edges:

    minimise over x   |B x - y|^2 / 2  +  weight * sum over pixels of sqrt(|grad x|^2 + eps^2)

B, the blur, is a banded matrix along each axis. The gradient comes from the tape; steps are
accelerated as in Nesterov (1983), with the step length that the curvature of both terms allows.
The program names no backend: it runs on whatever runtime it is given.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .picture import Picture

__all__ = ["Observation", "Restoration", "observe", "psnr", "restore"]

#: Width in pixels of the square over which the camera smears every point.
BLUR_WIDTH = 9
#: Standard deviation of the camera's noise; the picture's values go from 0 to 1.
NOISE = 0.005
#: Weight of the total variation, and the slope below which it counts as smooth.
WEIGHT = 5e-4
SMOOTHING = 0.01
#: The progress bar shows the loss this often: a value that Python reads empties the queue.
READ_EVERY = 10

Matrix = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Observation:
    """What the camera saw, and its blur along the two axes."""

    picture: Picture
    row_blur: Matrix
    column_blur: Matrix


@dataclass(frozen=True)
class Restoration:
    """The restored picture and what it cost; counts are of all steps but the first.

    `operations` is 0 on a backend that counts kernels only.
    """

    picture: Picture
    loss: float
    steps: int
    first_step_seconds: float
    seconds: float
    operations: int
    kernels: int

    @property
    def seconds_per_step(self) -> float:
        """Mean time of a step after the first, which also compiles the kernels."""
        return self.seconds / (self.steps - 1) if self.steps > 1 else self.first_step_seconds


def blur_matrix(size: int, width: int) -> Matrix:
    """The matrix that averages `width` neighbours along an axis, mirrored at its two ends."""
    matrix = np.zeros((size, size))
    for row in range(size):
        for column in range(row - width // 2, row + width // 2 + 1):
            mirrored = column % (2 * size)
            matrix[row, min(mirrored, 2 * size - 1 - mirrored)] += 1 / width
    return matrix.astype(np.float32)


def observe(original: Picture, seed: int = 0) -> Observation:
    """Blurs a picture and adds noise, as a camera out of focus does."""
    _, height, width = original.shape
    row_blur, column_blur = blur_matrix(height, BLUR_WIDTH), blur_matrix(width, BLUR_WIDTH)
    noise = np.random.default_rng(seed).standard_normal(original.shape, dtype=np.float32)
    seen = row_blur @ original @ column_blur.T + np.float32(NOISE) * noise
    return Observation(seen.astype(np.float32), row_blur, column_blur)


def psnr(picture: Picture, original: Picture) -> float:
    """Peak signal-to-noise ratio in decibel; 140 for pictures equal up to float32's rounding."""
    error = float(np.mean((np.clip(picture, 0, 1) - original) ** 2, dtype=np.float64))
    return -10 * math.log10(max(error, 1e-14))


def objective(
    estimate: tw.EagerTensor,
    observed: tw.EagerTensor,
    row_blur: tw.EagerTensor,
    column_blur: tw.EagerTensor,
) -> tw.EagerTensor:
    """Data misfit plus smoothed total variation, the channels of a pixel taken together."""
    misfit = row_blur @ estimate @ column_blur.T - observed
    pixel = estimate[:, :-1, :-1]
    across = estimate[:, :-1, 1:] - pixel
    down = estimate[:, 1:, :-1] - pixel
    slope = (across * across + down * down).sum(axis=0)
    variation = tw.sqrt(slope + SMOOTHING**2).sum()
    loss: tw.EagerTensor = 0.5 * (misfit * misfit).sum() + WEIGHT * variation
    return loss


def restore(
    runtime: tw.EagerRuntime,
    observation: Observation,
    steps: int,
    progress: Callable[[int, float | None], None],
) -> Restoration:
    """Runs `steps` steps from the observed picture on; calls `progress` after each.

    `progress` gets the number of steps done and, every few steps, the loss.
    """
    observed = runtime.constant_from(observation.picture)
    row_blur = runtime.constant_from(observation.row_blur)
    column_blur = runtime.constant_from(observation.column_blur)
    # The misfit's curvature is at most 1 (B averages), the variation's at most 8 / eps.
    step_length = 1 / (1 + 8 * WEIGHT / SMOOTHING)
    momentum = 1.0

    estimate = observed
    ahead = runtime.variable_from(observed)
    before = _counters(runtime)
    runtime.synchronize()
    began = first_done = time.perf_counter()
    for step in range(steps):
        loss = objective(ahead, observed, row_blur, column_blur)
        loss.backward()
        gradient = ahead.grad
        assert gradient is not None
        with tw.no_grad():
            improved = ahead - step_length * gradient
            next_momentum = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            carried = (momentum - 1) / next_momentum
            ahead = runtime.variable_from(improved + carried * (improved - estimate))
        estimate, momentum = improved, next_momentum
        if step == 0:
            runtime.synchronize()
            first_done = time.perf_counter()
            before = _counters(runtime)
        progress(step + 1, loss.item() if step % READ_EVERY == 0 else None)
    runtime.synchronize()
    done = time.perf_counter()
    after = _counters(runtime)
    return Restoration(
        picture=estimate.numpy(),
        loss=objective(estimate, observed, row_blur, column_blur).item(),
        steps=steps,
        first_step_seconds=first_done - began,
        seconds=done - first_done,
        operations=after[0] - before[0],
        kernels=after[1] - before[1],
    )


def _counters(runtime: tw.EagerRuntime) -> tuple[int, int]:
    """Operations that the backend ran so far and kernels it launched; 0 for one not counted."""
    backend = runtime.stats()["backend"]
    operations = int(backend.get("executed", {}).get("total", 0))
    # On NumPy every operation is one kernel.
    return operations, int(backend.get("queue", {}).get("dispatches", operations))
