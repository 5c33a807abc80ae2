"""Programs that reduce rows and spread the result again run in one kernel, with the same values.

Softmax, normalisations and their gradients, the ways users write them: how many kernels a call
takes once it is known, and its values against the same program without fusion, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import ADAPTERS, SOFTWARE, shared_runtime
from fusion.test_random_programs import same_bits

import tenferro_wgpu as tw

#: SwiftShader once more, taken for a GPU: a workgroup to each row.
PLACES = [*SOFTWARE, *(f"{name} as a GPU" for name in SOFTWARE if name == "swiftshader")]
EPSILON = 1e-5


def runtime_of(adapter: str, fusion: bool) -> tw.EagerRuntime:
    shared_runtime(adapter)
    limits = "browser" if adapter == "swiftshader" else None
    return tw.EagerRuntime(
        tw.WebGpuBackend(adapter=ADAPTERS[adapter], limits=limits, fusion=fusion)
    )


@pytest.fixture(scope="module", params=PLACES)
def pair(request):
    """A runtime with fusion that compiles at once, and one without."""
    adapter, *as_gpu = request.param.split(maxsplit=1)
    fused, plain = runtime_of(adapter, True), runtime_of(adapter, False)
    fused.backend.fuser.patience = 0
    if as_gpu:  # a workgroup to a row of many elements
        for runtime in (fused, plain):
            runtime.backend._launcher.is_cpu = False
    yield fused, plain
    fused.close()
    plain.close()


def softmax(x):
    exponentials = tw.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax_without_keepdims(x):
    exponentials = tw.exp(x - tw.expand_dims(tw.max(x, axis=-1), -1))
    return exponentials / tw.expand_dims(tw.sum(exponentials, axis=-1), -1)


def log_softmax(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - tw.log(tw.exp(shifted).sum(axis=-1, keepdims=True))


def log_sum_exp(x):
    largest = x.max(axis=-1, keepdims=True)
    return tw.log(tw.exp(x - largest).sum(axis=-1, keepdims=True)) + largest


def standardized(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / tw.sqrt(variance + EPSILON)


def layer_norm(x, gamma, beta):
    return standardized(x) * gamma + beta


def root_mean_square_norm(x, gamma):
    return x / tw.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * gamma


def masked_softmax(x, mask):
    return softmax(tw.where(mask > 0, x, -np.inf))


def scaled_by_extremes(x):
    low, high = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
    return (x - low) / (high - low)


def two_last_axes(x):
    centred = x - x.mean(axis=(-2, -1), keepdims=True)
    return centred / tw.sqrt((centred * centred).mean(axis=(-2, -1), keepdims=True) + EPSILON)


def several_results(x):
    largest = x.max(axis=-1, keepdims=True)
    exponentials = tw.exp(x - largest)
    total = exponentials.sum(axis=-1, keepdims=True)
    return largest, exponentials, total, exponentials / total


#: Function, and the shapes of its operands behind the first, as parts of the shape of the first:
#: "columns" one value per element of a row, "elements" all.
FUNCTIONS: dict[Callable[..., Any], tuple[str, ...]] = {
    softmax: (),
    softmax_without_keepdims: (),
    log_softmax: (),
    log_sum_exp: (),
    layer_norm: ("columns", "columns"),
    root_mean_square_norm: ("columns",),
    masked_softmax: ("elements",),
    scaled_by_extremes: (),
    several_results: (),
}
SHAPES = [(64, 1), (64, 3), (64, 4), (65, 1000), (64, 5000), (1000, 4), (63, 8), (1, 1000),
          (3, 513), (2, 256),           (5, 16, 3), (4, 3, 20, 8)]  # fmt: skip


def operands_of(function: Callable[..., Any], shape: tuple[int, ...], dtype: str) -> list[Any]:
    rng = np.random.default_rng(len(shape) * shape[-1])
    arrays = [rng.standard_normal(shape).astype(dtype)]
    for kind in FUNCTIONS.get(function, ()):
        own = shape[-1:] if kind == "columns" else shape
        arrays.append(rng.standard_normal(own).astype(dtype))
    return arrays


def results_of(function: Callable[..., Any], tensors: list[Any]) -> list[np.ndarray]:
    results = function(*tensors)
    results = results if isinstance(results, tuple) else (results,)
    return [result.numpy() for result in results]


def dispatches(runtime: tw.EagerRuntime, program: Callable[[], Any], warm_up: int = 3) -> int:
    """Kernels of one call, once it has run before; what it returns lives until they ran."""
    for _ in range(warm_up):
        held = program()
        runtime.synchronize()
        del held

    def count() -> int:
        return runtime.stats()["backend"]["queue"]["dispatches"]

    before = count()
    held = program()
    runtime.synchronize()
    del held
    return count() - before


def check(pair: Any, function: Callable[..., Any], arrays: list[np.ndarray]) -> None:
    """Fused, it gives the bits of the unfused program, and close to what NumPy gives."""
    fused, plain = pair
    found = results_of(function, [fused.constant_from(array) for array in arrays])
    expected = results_of(function, [plain.constant_from(array) for array in arrays])
    for position, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert same_bits(x, y), f"result {position}:\n{x}\n{y}"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_do_not_change(pair, function):
    for shape in SHAPES:
        check(pair, function, operands_of(function, shape, "float32"))


@pytest.mark.parametrize("function", [softmax, layer_norm, several_results])
def test_values_do_not_change_in_float64(pair, function):
    for shape in ((64, 3), (65, 1000), (4, 3, 20, 8), (3, 513)):
        check(pair, function, operands_of(function, shape, "float64"))


@pytest.mark.parametrize("function", [softmax, log_softmax, scaled_by_extremes, several_results])
@pytest.mark.parametrize("columns", [5, 8])
def test_rows_with_special_values(pair, function, columns):
    x = np.random.default_rng(3).standard_normal((80, columns)).astype(np.float32)
    for row, values in enumerate(
        [[np.nan], [np.inf], [-np.inf], [np.inf, -np.inf], [np.nan, np.inf], [-0.0, 0.0],
         [0.0, -0.0], [3e38, -3e38], [1e-45], [88.8, -104.0], [3e38, 3e38, 3e38]]
    ):  # fmt: skip
        x[row, : len(values)] = values
        x[row + 20] = np.resize(values, columns)
        x[row + 40, 1::2] = values[0]
    check(pair, function, [x])


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "int8", "uint64"])
@pytest.mark.parametrize("columns", [3, 8])
def test_integers(pair, dtype, columns):
    def program(x):
        centred = x - x.max(axis=1, keepdims=True)
        total = (centred * centred).sum(axis=1, keepdims=True, dtype=dtype)
        sums = x.sum(axis=1, keepdims=True, dtype=dtype)
        return centred + total, total, tw.astype(centred, "float32") / sums

    x = np.random.default_rng(4).integers(0, 1 << 30, (70, columns)).astype(dtype)
    check(pair, program, [x])


def test_two_axes(pair):
    for shape in ((64, 3, 5), (70, 4, 2), (8, 9, 5, 4), (64, 1, 7), (64, 7, 1)):
        check(pair, two_last_axes, operands_of(two_last_axes, shape, "float32"))


def test_slices_as_operands(pair):
    def slices(x, y):
        return softmax(x[1:, 2:10]) + y[0], standardized(x[:, 1:9]) * y, softmax(x[::-1, 4:8])

    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((90, 70), np.float32), rng.standard_normal((90, 8), np.float32)
    check(pair, slices, [x, y])


def test_operands_that_do_not_lie_row_after_row(pair):
    """They are reduced by kernels of their own, in the order in which they lie in memory."""

    def transposed(x, y):
        return softmax(x.T), standardized(tw.flip(x, axis=1)), softmax(y[:, :, None] + x[:, None])

    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((90, 70), np.float32), rng.standard_normal((90, 8), np.float32)
    fused, plain = pair
    found = results_of(transposed, [fused.constant_from(x), fused.constant_from(y)])
    expected = results_of(transposed, [plain.constant_from(x), plain.constant_from(y)])
    for position, (own, other) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(own, other, rtol=1e-6, atol=1e-6, err_msg=f"{position}")


@pytest.mark.parametrize("adapter", SOFTWARE)
def test_masks_of_attention_are_part_of_the_kernel(adapter):
    """Operands broadcast over some of the axes of rows, and rows that lie in another order."""

    def attention(scores, causal, padding, values):
        weights = softmax(scores * 0.5 + causal + padding)
        return weights * tw.permute_dims(values, (0, 2, 1, 3))

    rng = np.random.default_rng(7)
    shapes = ((2, 3, 16, 8), (16, 8), (2, 1, 1, 8), (2, 16, 3, 8))
    arrays = [rng.standard_normal(shape, np.float32) for shape in shapes]
    with runtime_of(adapter, True) as fused, runtime_of(adapter, False) as plain:
        tensors = [fused.constant_from(array) for array in arrays]
        assert dispatches(fused, lambda: attention(*tensors)) == 1
        check((fused, plain), attention, arrays)


@pytest.mark.parametrize("adapter", SOFTWARE)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_one_kernel(adapter, function):
    with runtime_of(adapter, True) as runtime:
        for shape in ((64, 12), (256, 24)):  # the second with the pipeline of the first
            arrays = operands_of(function, shape, "float32")
            tensors = [runtime.constant_from(array) for array in arrays]
            built = runtime.stats()["backend"]["pipelines"]["built"]
            assert dispatches(runtime, lambda tensors=tensors: function(*tensors)) == 1
        assert runtime.stats()["backend"]["pipelines"]["built"] == built


#: Functions, and the most kernels of a call and its gradients: forward, a sum of all elements in
#: two, backward; sums over rows for weights and biases in two each.
GRADIENTS = {
    softmax: 4,
    log_softmax: 6,
    log_sum_exp: 8,
    layer_norm: 11,
    root_mean_square_norm: 9,
    scaled_by_extremes: 4,
}


@pytest.mark.parametrize("adapter", SOFTWARE)
@pytest.mark.parametrize("function", GRADIENTS)
def test_kernels_of_gradients(adapter, function):
    with runtime_of(adapter, True) as runtime, runtime_of(adapter, False) as plain:
        arrays = operands_of(function, (256, 24), "float32")
        weights = np.random.default_rng(6).standard_normal((256, 24), np.float32)
        weights = weights[:, :1] if function is log_sum_exp else weights

        def gradients(runtime, tensors, weights):
            (function(*tensors) * weights).sum().backward()
            found = [tensor.grad for tensor in tensors]
            for tensor in tensors:
                tensor.grad = None
            return found

        calls = [
            (each, [each.variable_from(array) for array in arrays], each.constant_from(weights))
            for each in (runtime, plain)
        ]
        assert dispatches(runtime, lambda: gradients(*calls[0])) <= GRADIENTS[function]
        for x, y in zip(gradients(*calls[0]), gradients(*calls[1]), strict=True):
            assert same_bits(x.numpy(), y.numpy())
