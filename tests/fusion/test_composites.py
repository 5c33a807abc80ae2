"""How many kernels the composites of the library are once they are known, and that they keep bits.

Statistics, norms and activations of rows are one kernel each: the fused programs walk a row once
per level of reductions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import SOFTWARE
from fusion.test_rows import dispatches, runtime_of

import tenferro_wgpu as tw

#: Function of rows, operands of one axis, and its kernels.
ROWS: dict[str, tuple[Callable[..., Any], int, int]] = {
    "softmax": (tw.softmax, 0, 1),
    "log_softmax": (tw.log_softmax, 0, 1),
    "masked_softmax": (lambda x: tw.masked_softmax(x, x < 1), 0, 1),
    "layer_norm": (tw.layer_norm, 2, 1),
    "rms_norm": (tw.rms_norm, 1, 1),
    "var": (lambda x: tw.var(x, axis=-1, correction=1), 0, 1),
    "std": (lambda x: tw.std(x, axis=-1), 0, 1),
    "logsumexp": (lambda x: tw.logsumexp(x, axis=-1), 0, 1),
    "norm": (lambda x: tw.norm(x, axis=-1), 0, 1),
    "norm, ord 3": (lambda x: tw.norm(x, 3, axis=-1), 0, 1),
    "any": (lambda x: tw.any(x > 2, axis=-1), 0, 1),
    "all": (lambda x: tw.all(x > -3, axis=-1), 0, 1),
    "count_nonzero": (lambda x: tw.count_nonzero(x > 0, axis=-1), 0, 1),
    "nansum": (lambda x: tw.nansum(x, axis=-1), 0, 1),
    "nanmean": (lambda x: tw.nanmean(x, axis=-1), 0, 1),
    "nanmax": (lambda x: tw.nanmax(x, axis=-1), 0, 1),
    "average": (lambda x, w: tw.average(x, -1, w), 1, 1),
    "sum, where and initial": (lambda x: tw.sum(x, axis=-1, where=x > 0, initial=1), 0, 1),
    "silu": (tw.silu, 0, 1),
    "softplus": (tw.softplus, 0, 1),
    "relu": (tw.relu, 0, 1),
}
#: The same along columns, each reduction in two: the mean, then the squares of what is left.
COLUMNS = {"var": (lambda x: tw.var(x, axis=0), 4), "any": (lambda x: tw.any(x > 2, axis=0), 2)}


def operands(columns: int, weights: int) -> list[np.ndarray]:
    rng = np.random.default_rng(columns)
    arrays = [rng.standard_normal((256, columns)).astype("f4")]
    return arrays + [rng.random(columns).astype("f4") for _ in range(weights)]


@pytest.mark.parametrize("adapter", SOFTWARE)
def test_kernels_of_rows(adapter):
    with runtime_of(adapter, True) as fused, runtime_of(adapter, False) as plain:
        for name, (function, weights, kernels) in ROWS.items():
            for columns in (24, 12):  # the second with the pipelines of the first
                arrays = operands(columns, weights)
                tensors = [fused.constant_from(array) for array in arrays]
                found = dispatches(fused, lambda f=function, t=tensors: f(*t))
                assert found == kernels, f"{name}: {found} kernels"
            got = function(*tensors).numpy()
            expected = function(*(plain.constant_from(array) for array in arrays)).numpy()
            np.testing.assert_array_equal(got, expected, err_msg=name)


@pytest.mark.parametrize("adapter", SOFTWARE)
def test_kernels_of_columns(adapter):
    with runtime_of(adapter, True) as fused:
        x = fused.constant_from(operands(24, 0)[0])
        for name, (function, kernels) in COLUMNS.items():
            found = dispatches(fused, lambda f=function: f(x))
            assert found == kernels, f"{name}: {found} kernels"


#: Views of a square matrix: loads of four elements, four loads, and one of all.
VIEWS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.T,
    "odd": lambda x: x[:, 1:-2],
    "every other": lambda x: x[::2, ::2],
    "backwards": lambda x: x[::-1, ::-1],
    "a column": lambda x: tw.broadcast_to(x[:, :1], x.shape),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("adapter", SOFTWARE)
def test_costly_functions_keep_their_bits(adapter, dtype):
    """A kernel computes neighbours of them in a loop, by one copy of the code."""

    def programs(x, y):
        for axis in (0, 1, None):
            yield tw.sum(tw.pow(x, y), axis=axis)
        power = tw.pow(x, y)
        yield power - tw.max(power, axis=1, keepdims=True)

    array = np.random.default_rng(8).random((68, 68)).astype(dtype)
    with runtime_of(adapter, True) as fused, runtime_of(adapter, False) as plain:
        fused.backend.fuser.patience = 0
        for name, view in VIEWS.items():
            if dtype == "float64" and name not in ("contiguous", "every other"):
                continue
            results = []
            for runtime in (fused, plain):
                x = runtime.constant_from(array)
                results.append([each.numpy() for each in programs(view(x), x[: len(view(x)), :1])])
            for got, expected in zip(*results, strict=True):
                np.testing.assert_array_equal(got, expected, err_msg=name)


@pytest.mark.parametrize("adapter", SOFTWARE)
def test_new_numbers_compile_nothing(adapter):
    """Exponents, corrections and eps are data."""
    with runtime_of(adapter, True) as runtime:
        x = runtime.constant_from(operands(24, 0)[0])

        def program(number):
            return (
                tw.vector_norm(x, axis=1, ord=2.5 + number),
                tw.var(x, axis=1, correction=number),
                tw.layer_norm(x, eps=1e-3 + number),
            )

        for number in (0.1, 0.2, 0.3):
            program(number)[0].numpy()
            runtime.synchronize()
        built = runtime.stats()["backend"]["pipelines"]["built"]
        for number in np.linspace(0.4, 0.9, 20):
            program(float(number))[0].numpy()
            runtime.synchronize()
        assert runtime.stats()["backend"]["pipelines"]["built"] == built
