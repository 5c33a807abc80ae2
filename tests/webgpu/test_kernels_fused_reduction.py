"""Reductions of expressions, against the same primitives run one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from kernel_support import Kernels, sample

from tenferro_wgpu.backends.webgpu.expressions import Expression, Step
from tenferro_wgpu.backends.webgpu.kernels import registered_kernels
from tenferro_wgpu.backends.webgpu.kernels.reduction import launch_fused_reduction
from tenferro_wgpu.errors import ShapeError
from tenferro_wgpu.tensor import ShapeDtype, Tensor

#: (operation, numbers of its arguments, dtype of its result or None for that of the arguments)
Steps = Sequence[tuple[str, tuple[int, ...], str | None]]


def at_once(
    kernels: Kernels, name: str, operands: Sequence[Tensor], shape: Any, dtype: Any, **params: Any
) -> Tensor:
    """One primitive by the kernel that is its own, whatever the backend would fuse it with."""
    spec = ShapeDtype(tuple(shape), np.dtype(dtype))
    launch = registered_kernels()[name]
    return launch(kernels.backend._launcher, name, tuple(operands), params, (spec,))[0]


class Program:
    """Steps over operands, as one Expression and as primitives run one after another."""

    def __init__(self, dtypes: Sequence[str], steps: Steps) -> None:
        self.dtypes = [np.dtype(dtype) for dtype in dtypes]
        self.steps = steps
        self.results = list(self.dtypes)
        for _, arguments, dtype in steps:
            self.results.append(np.dtype(dtype) if dtype else self.results[arguments[-1]])

    def expression(self, kernels: Kernels) -> Expression:
        names = [kernels.backend._launcher.dialect(dtype).name for dtype in self.results]
        count = len(self.dtypes)
        return Expression(
            tuple(names[:count]),
            tuple(
                Step(operation, names[arguments[-1]], arguments, names[count + number])
                for number, (operation, arguments, _) in enumerate(self.steps)
            ),
            (len(names) - 1,),
        )

    def one_by_one(self, kernels: Kernels, leaves: Sequence[Tensor], shape: Any) -> Tensor:
        values = list(leaves)
        for number, (operation, arguments, _) in enumerate(self.steps):
            result = self.results[len(self.dtypes) + number]
            operands = [values[argument] for argument in arguments]
            values.append(at_once(kernels, operation, operands, shape, result))
        return values[-1]


def without(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def fused_and_not(
    kernels: Kernels,
    name: str,
    program: Program,
    leaves: Sequence[Tensor],
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    epilogue: Program | None = None,
    epilogue_leaves: Sequence[Tensor] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """The same values by one fused reduction and primitive by primitive."""
    kept = without(shape, axes)
    reduced = program.results[-1]
    dtype = epilogue.results[-1] if epilogue else reduced
    found = launch_fused_reduction(
        kernels.backend._launcher, name, program.expression(kernels), tuple(leaves), shape, axes,
        ShapeDtype(kept, dtype),
        epilogue=epilogue.expression(kernels) if epilogue else None,
        epilogue_leaves=tuple(epilogue_leaves),
    )  # fmt: skip
    assert found.layout.is_contiguous and found.shape == kept and found.dtype == dtype
    elements = program.one_by_one(kernels, leaves, shape)
    expected = at_once(kernels, name, (elements,), kept, reduced, axes=axes)
    if epilogue:
        expected = epilogue.one_by_one(kernels, (expected, *epilogue_leaves), kept)
    return kernels.backend.download(found), kernels.backend.download(expected)


def leaf(kernels: Kernels, array: np.ndarray, kind: str) -> Tensor:
    """A tensor of the array's shape whose elements lie in memory in a certain way."""
    if kind == "constant":
        return kernels.constant(array.flat[0], array.dtype, array.shape)
    axes = tuple(range(array.ndim))
    if kind == "contiguous":
        return kernels.tensor(array)
    if kind == "transposed":
        whole = kernels.tensor(np.ascontiguousarray(array.T))
        return whole.with_layout(whole.layout.transpose(axes[::-1]))
    if kind == "flipped":
        whole = kernels.tensor(np.flip(array))
        return whole.with_layout(whole.layout.flip(axes))
    if kind == "shifted":
        whole = kernels.tensor(np.concatenate([array.ravel()[:1], array.ravel()]))
        cut = whole.layout.slice([1], [array.size + 1], [1])
        reshaped = cut.reshape(array.shape)
        assert reshaped is not None
        return whole.with_layout(reshaped)
    kept = {"row": axes[-1:], "column": axes[:1], "scalar": (), "middle": axes[1:2]}[kind]
    index = tuple(slice(None) if axis in kept else 0 for axis in axes)
    part = kernels.tensor(np.array(array[index]))
    return part.with_layout(part.layout.broadcast_in_dim(array.shape, kept))


BROADCASTS = ("constant", "row", "column", "scalar", "middle")
LEAVES = ("contiguous", "transposed", "flipped", "shifted", *BROADCASTS)


@pytest.mark.parametrize("kind", LEAVES)
@pytest.mark.parametrize("shape", [(6, 5, 8), (4, 7, 5), (33, 4, 20)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_two_operands_of_any_layout(kernels, dtype, shape, kind):
    x = kernels.tensor(sample(dtype, shape, 1))
    y = leaf(kernels, sample(dtype, shape, 2), kind)
    program = Program((dtype, dtype), [("mul", (0, 1), None)])
    every = [(0,), (2,), (0, 1), (0, 1, 2), (1,), (1, 2), (0, 2), ()]
    for axes in every if dtype == "float32" else every[:4]:
        found, expected = fused_and_not(kernels, "reduce_sum", program, (x, y), shape, axes)
        np.testing.assert_array_equal(found, expected, err_msg=str(axes))


@pytest.mark.parametrize("kinds", [("row", "column"), ("constant", "row"), ("constant",) * 2])
def test_broadcast_operands_alone(kernels, kinds):
    shape = (12, 36)
    leaves = [leaf(kernels, sample("float32", shape, i), kind) for i, kind in enumerate(kinds)]
    program = Program(("float32",) * 2, [("sub", (0, 1), None), ("mul", (2, 2), None)])
    for axes in [(0,), (1,), (0, 1)]:
        found, expected = fused_and_not(kernels, "reduce_sum", program, leaves, shape, axes)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["transposed", "flipped"])
def test_operands_that_all_lie_otherwise_differ_in_rounding_alone(kernels, kind):
    shape = (40, 52)
    x = sample("float32", shape)
    leaves = (leaf(kernels, x, kind),)
    program = Program(("float32",), [("abs", (0,), None), ("sqrt", (1,), None)])
    for axes in [(0,), (1,), (0, 1)]:
        found, expected = fused_and_not(kernels, "reduce_sum", program, leaves, shape, axes)
        np.testing.assert_allclose(found, expected, 1e-6)
        found, expected = fused_and_not(kernels, "reduce_max", program, leaves, shape, axes)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod", "reduce_max", "reduce_min"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values(kernels, dtype, name):
    inf, nan = np.inf, np.nan
    rows = [[1, -0.0], [-0.0, -0.0], [inf, -inf], [inf, inf], [nan, 1], [1, nan], [1e300, 1e300]]
    with np.errstate(over="ignore"):
        x = np.repeat(np.array(rows).astype(dtype), 6, axis=1)
    scale = kernels.tensor(np.array(1, dtype))
    scale = scale.with_layout(scale.layout.broadcast_in_dim(x.shape, ()))
    minus = Program((dtype, dtype), [("mul", (0, 1), None), ("sub", (2, 0), None)])
    times = Program((dtype, dtype), [("mul", (0, 1), None)])
    for program in (minus, times):
        for axes in [(0,), (1,)]:
            leaves = (kernels.tensor(x), scale)
            found, expected = fused_and_not(kernels, name, program, leaves, x.shape, axes)
            np.testing.assert_array_equal(found, expected)
            zeros = found == 0
            np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize(
    "shape, axes", [((70_001, 2), (0,)), ((3, 66_000), (1,)), ((1 << 17,), (0,))]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_reductions_apply_each_expression_once(kernels, dtype, shape, axes):
    # Longer than the loop of an invocation: in several steps.
    x = kernels.tensor(np.abs(sample(dtype, shape)))
    half = kernels.constant(0.5, dtype, shape)
    kept = without(shape, axes)
    bias = kernels.tensor(sample(dtype, kept, 3))
    program = Program((dtype, dtype), [("mul", (0, 0), None), ("sub", (2, 1), None)])
    epilogue = Program((dtype, dtype), [("add", (0, 1), None), ("mul", (2, 2), None)])
    found, expected = fused_and_not(
        kernels, "reduce_sum", program, (x, half), shape, axes, epilogue, (bias,)
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(5, 3, 8), (4, 6, 5), (7, 20)])
@pytest.mark.parametrize("kind", ["contiguous", "transposed", "shifted", "row", "constant"])
def test_epilogue_operands_of_any_layout(kernels, shape, kind):
    x = kernels.tensor(sample("float32", shape))
    program = Program(("float32",), [("exp", (0,), None)])
    epilogue = Program(("float32",) * 2, [("div", (0, 1), None), ("copy", (2,), None)])
    for axes in [(0,), (1,)]:
        kept = without(shape, axes)
        divisor = leaf(kernels, sample("float32", kept, 5), kind)
        found, expected = fused_and_not(
            kernels, "reduce_sum", program, (x,), shape, axes, epilogue, (divisor,)
        )
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["contiguous", "transposed", "shifted", "row", "column"])
def test_many_columns(kernels, kind):
    # Enough for 16 results per invocation.
    shape = (257, 4096)
    x = kernels.tensor(sample("float32", shape))
    y = leaf(kernels, sample("float32", shape, 1), kind)
    z = leaf(kernels, sample("float32", shape[1:], 2), "shifted")
    program = Program(("float32",) * 2, [("mul", (0, 1), None)])
    to_float64 = Program(("float32",) * 2, [("add", (0, 1), None), ("cast", (2,), "float64")])
    for epilogue in (None, to_float64):
        found, expected = fused_and_not(
            kernels, "reduce_sum", program, (x, y), shape, (0,), epilogue, (z,) if epilogue else ()
        )
        np.testing.assert_array_equal(found, expected)


def test_dtypes_change_on_the_way(kernels):
    shape = (9, 24)
    x, y = (kernels.tensor(sample("float32", shape, seed)) for seed in (1, 2))
    compared = Program(("float32", "float32"), [("greater", (0, 1), "bool")])
    counted = Program(
        ("float32", "float32"), [("greater", (0, 1), "bool"), ("cast", (2,), "int64")]
    )
    negated = Program(("bool",), [("logical_not", (0,), None)])
    widened = Program(("float32", "float32"), [("mul", (0, 1), None), ("cast", (2,), "float64")])
    narrowed = Program(("float64",), [("cast", (0,), "float32"), ("sqrt", (1,), None)])
    halves = Program(("int64",), [("cast", (0,), "float64")])
    wide = [kernels.tensor(sample(dtype, shape)) for dtype in ("float64", "int64")]
    shortened = Program(
        ("float64", "int64"),
        [("cast", (0,), "float32"), ("cast", (1,), "float32"), ("mul", (2, 3), None)],
    )
    for axes in [(0,), (1,), (0, 1)]:
        for name, program, epilogue in [
            ("reduce_max", compared, None),
            ("reduce_min", compared, negated),
            ("reduce_sum", counted, None),
            ("reduce_sum", counted, halves),
            ("reduce_sum", widened, narrowed),
        ]:
            found, expected = fused_and_not(kernels, name, program, (x, y), shape, axes, epilogue)
            np.testing.assert_array_equal(found, expected)
        found, expected = fused_and_not(kernels, "reduce_sum", shortened, wide, shape, axes)
        np.testing.assert_array_equal(found, expected)


def test_reducing_nothing_yields_the_identity_through_the_epilogue(kernels):
    x = kernels.tensor(np.zeros((0, 3), "f4"))
    program = Program(("float32",), [("exp", (0,), None)])
    epilogue = Program(("float32", "float32"), [("add", (0, 1), None)])
    two = kernels.constant(2, "f4", (3,))
    for name, value in (("reduce_sum", 2), ("reduce_prod", 3)):
        found = launch_fused_reduction(
            kernels.backend._launcher, name, program.expression(kernels), (x,), (0, 3), (0,),
            ShapeDtype((3,), np.dtype("f4")),
            epilogue=epilogue.expression(kernels), epilogue_leaves=(two,),
        )  # fmt: skip
        assert kernels.backend.download(found).tolist() == [value] * 3
    with pytest.raises(ShapeError, match="no element"):
        launch_fused_reduction(
            kernels.backend._launcher, "reduce_max", program.expression(kernels), (x,), (0, 3),
            (0,), ShapeDtype((3,), np.dtype("f4")),
        )  # fmt: skip


def test_new_sizes_and_scalars_make_no_pipelines(kernels):
    program = Program(("float32", "float32"), [("mul", (0, 1), None)])
    built = None
    for rows, columns, scale in ((8, 24, 0.5), (16, 40, 2), (64, 8, -1)):
        x = kernels.tensor(sample("float32", (rows, columns)))
        y = kernels.constant(scale, "f4", (rows, columns))
        found, expected = fused_and_not(
            kernels, "reduce_sum", program, (x, y), (rows, columns), (1,)
        )
        np.testing.assert_array_equal(found, expected)
        assert built in (None, kernels.pipelines())
        built = kernels.pipelines()


@pytest.mark.parametrize("is_cpu", [True, False])
def test_both_schemes_take_expressions(kernels, is_cpu, monkeypatch):
    launcher = kernels.backend._launcher
    launcher.clear_caches()
    monkeypatch.setattr(launcher, "is_cpu", is_cpu)
    program = Program(("float32", "float32"), [("add", (0, 1), None), ("mul", (2, 2), None)])
    epilogue = Program(("float32", "float32"), [("mul", (0, 1), None)])
    for shape, axes in (((3, 5000), (1,)), ((40, 50, 64), (0, 2)), ((9, 300, 7), (1, 2))):
        x = kernels.tensor(sample("float32", shape))
        for kind in ("row", "column", "transposed"):
            y = leaf(kernels, sample("float32", shape, 1), kind)
            z = kernels.tensor(sample("float32", without(shape, axes), 2))
            found, expected = fused_and_not(
                kernels, "reduce_sum", program, (x, y), shape, axes, epilogue, (z,)
            )
            np.testing.assert_array_equal(found, expected)
    launcher.clear_caches()
