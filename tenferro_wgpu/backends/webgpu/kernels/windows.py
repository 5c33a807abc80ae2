"""Convolution with few channels and outputs per group, and an expression of it, in one kernel.

A matrix product shares its loads between rows and columns of a tile; a depthwise convolution has
one row per group and would load every element anew for each place of the window.  Here an
invocation computes neighbouring places and slides along the input; zeros around it are not
stored.  convolution.py chooses; fusion calls `launch_windows_epilogue` with what follows.

Measured on llvmpipe in processor time, 3 x 3 windows over 64 channels of 112 x 112, as a product
and here: 25 and 10 ms with zeros around the input, 16 and 10 ms without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

from tenferro_wgpu.backends.webgpu.dialects import Dialect, dialect
from tenferro_wgpu.backends.webgpu.expressions import Expression
from tenferro_wgpu.backends.webgpu.kernels.epilogue import PreparedEpilogue, run_epilogue
from tenferro_wgpu.backends.webgpu.kernels.launch import (
    Constant,
    Launcher,
    accesses,
    workgroup_count,
)
from tenferro_wgpu.backends.webgpu.kernels.strides import check_counts, words
from tenferro_wgpu.errors import UnsupportedOperationError
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

__all__ = ["launch_windows", "launch_windows_epilogue", "suits_windows"]

#: Dialects whose sums of products need no more than adding in order: for others the product's
#: kernels know better ways.
_PLAIN = frozenset({"f32", "f64n", "i32", "u32", "i8", "i16", "u8", "u16", "c64", "i64n", "u64n"})
#: The most outputs of a group, and elements of one window.
MOST_ROWS = 3
MOST_DEPTH = 512
#: What a run costs besides its places.
EXTRA_LOADS = 4


def suits_windows(
    launcher: Launcher, x: Tensor, weights: Tensor, params: Mapping[str, Any]
) -> bool:  # fmt: skip
    """Whether a convolution, which is not empty, is faster here than as a matrix product."""
    rows = weights.shape[0] // params["groups"]
    depth = prod(weights.shape[1:])
    return (
        rows <= MOST_ROWS
        and depth <= MOST_DEPTH
        and all(step == 1 for step in params["x_dilation"])
        and x.dtype.kind != "b"
        and launcher.dialect(x.dtype).name in _PLAIN
    )


@lru_cache(maxsize=64)
def _itself(name: str) -> Expression:
    return Expression((name,), (), (0,))


def launch_windows(
    launcher: Launcher,
    name: str,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    outputs: tuple[ShapeDtype, ...],
) -> tuple[Tensor, ...]:
    """The convolution of an input with a kernel; see `tenferro_wgpu.ops.convolution`."""
    x, weights = operands
    expression = _itself(launcher.dialect(x.dtype).name)
    return launch_windows_epilogue(launcher, (x, weights), params, expression, (), outputs[0])


def launch_windows_epilogue(
    launcher: Launcher,
    operands: tuple[Tensor, Tensor],
    params: Mapping[str, Any],
    expression: Expression,
    leaves: Sequence[Tensor],
    spec: ShapeDtype,
    *,
    key: Any = None,
) -> tuple[Tensor, ...]:
    """Convolve, and evaluate an expression of every element of the result.

    Args:
        launcher: of the backend.
        operands: input and kernel.
        params: those of the primitive "conv".
        expression: its value 0 is an element of the result, values 1, 2, ... of the leaves; it
            may store several values, the result among them.
        leaves: buffers or constants, broadcast to the shape of the result.
        spec: shape and dtype of the result.
        key: what stands for the expression and its leaves' layouts and kinds of handle in
            ``launcher.plans``; by default it is built from them.

    Returns:
        One contiguous tensor of the result's shape for each output of the expression.

    Raises:
        UnsupportedOperationError: too many buffers, or a function that a dialect lacks.
        TensorTooLargeError: beyond the limits of the device.
    """
    x, weights = operands
    if key is None:
        key = (expression, *[part for leaf in leaves for part in (type(leaf.handle), leaf.layout)])
    key = (
        "windows", key, x.spec, weights.spec, params["strides"], params["low"], params["high"],
        params["kernel_dilation"], params["groups"],
    )  # fmt: skip
    found: PreparedEpilogue | None = launcher.plan(key)
    if found is None:
        found = _prepare(launcher, x, weights, params, expression, leaves, spec)
        launcher.plans.store(key, found)
    return run_epilogue(launcher, "conv", found, (x, weights), leaves, spec.shape)


def run_length(places: int, width: int) -> int:
    """Neighbouring places of one invocation, for elements of `width` words.

    Each run loads a few elements more than it has places.
    """
    choices = (16, 8, 4, 2, 1) if width == 1 else (4, 2, 1)
    return min(choices, key=lambda run: -(-places // run) * (run + EXTRA_LOADS))


def _prepare(
    launcher: Launcher,
    x: Tensor,
    weights: Tensor,
    params: Mapping[str, Any],
    expression: Expression,
    leaves: Sequence[Tensor],
    spec: ShapeDtype,
) -> PreparedEpilogue:
    size = contiguous_layout(spec.shape).size
    check_counts("conv", size, prod(weights.shape))
    T = launcher.dialect(x.dtype)
    own = expression.output_dialects()
    bound = tuple(i for i, leaf in enumerate(leaves) if type(leaf.handle) is not Constant)
    limit = launcher.limits.max_storage_buffers_per_shader_stage
    if 2 + len(bound) + len(own) > limit:
        raise UnsupportedOperationError(
            "conv", backend="webgpu", hint=f"no fused kernel: more than {limit} buffers"
        )
    rank = x.ndim - 2
    places = spec.shape[2:]
    run = run_length(places[-1], T.words)
    runs = -(-places[-1] // run)
    items = size // places[-1] * runs
    groups = params["groups"]
    block = [
        0, items, weights.shape[0], weights.shape[0] // groups, weights.shape[1], runs,
        x.layout.offset, *x.layout.strides[:2], weights.layout.offset, *weights.layout.strides[:2],
    ]  # fmt: skip
    for axis in range(rank):
        block += [
            places[axis], x.shape[2 + axis], x.layout.strides[2 + axis], params["strides"][axis],
            params["kernel_dilation"][axis], params["low"][axis], weights.shape[2 + axis],
            weights.layout.strides[2 + axis],
        ]  # fmt: skip
    described: list[tuple[str, Dialect, int, int]] = []
    constants: list[tuple[int, int]] = []
    for position, leaf in enumerate(leaves):
        L, word = dialect(expression.operands[1 + position]), len(block)
        if position in bound:
            kind = _kind(leaf.layout)
            described.append((kind, L, 2 + bound.index(position), word))
            block += [leaf.layout.offset, *leaf.layout.strides]
        else:
            described.append(("constant", L, -1, word))
            constants.append((position, 4 * word))
            block += [0] * L.constant_words
    kinds = tuple([leaf[0] for leaf in described])
    quads = run >= 4 and places[-1] % 4 == 0 and all(R.words == 1 for R in own)
    sliding = params["strides"][-1] == params["kernel_dilation"][-1] == 1
    pipeline = launcher.pipeline(
        "matmul/windows",
        (T.name, rank, run, sliding, quads, expression, kinds),
        {
            "T": T,
            "rank": rank,
            "run": run,
            "sliding": sliding,
            "quads": quads,
            "leaves": described,
            "plain_numbers": [1 + i for i, kind in enumerate(kinds) if kind == "plain"],
            "statements": expression.statements(isolated=False),
            "outputs": [
                (number, R, 2 + len(bound) + index)
                for index, (number, R) in enumerate(zip(expression.outputs, own, strict=True))
            ],
        },
        bindings=accesses(2 + len(bound), len(own)),
        params_words=len(block),
    )
    output_bytes = tuple(size * 4 * R.words for R in own)
    for nbytes in output_bytes:
        launcher.check_bindable(nbytes, "conv")
    return PreparedEpilogue(
        pipeline, words(block).ljust(pipeline.params_size, b"\0"),
        launcher.groups(workgroup_count(items)), bound, tuple(constants), output_bytes, own,
    )  # fmt: skip


def _kind(layout: Layout) -> str:
    return "plain" if layout.strides[-1] else "same"
