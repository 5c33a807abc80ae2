"""Convolution as a matrix product that reads windows of the input in place: an implicit GEMM.

The windows of a padded input are a view with overlapping strides, and `contraction` reads such
views without copying them.  Nothing is ever written through one.

Measured on llvmpipe in processor time, with the windows read in place and copied first: 3 x 3 over
64 channels of 56 x 56, 22 and 25 ms; 7 x 7 with strides over 3 channels of 224 x 224, 14 and 20 ms;
5 x 5 over one channel of 512 x 512, 16 and 38 ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from tenferro_wgpu.backends.webgpu.kernels.contraction import launch_contraction
from tenferro_wgpu.backends.webgpu.kernels.elementwise import launch_elementwise
from tenferro_wgpu.backends.webgpu.kernels.launch import Launcher
from tenferro_wgpu.backends.webgpu.kernels.registry import Kernel, kernel
from tenferro_wgpu.backends.webgpu.kernels.structural import launch_pad
from tenferro_wgpu.backends.webgpu.kernels.windows import launch_windows, suits_windows
from tenferro_wgpu.layout import Layout, contiguous_layout
from tenferro_wgpu.tensor import ShapeDtype, Tensor

__all__ = ["convolve", "convolving", "launch_convolution"]

#: Places of the result from which each image is a product of its own; with fewer, the columns of
#: all images are those of one product, whose result is copied into order.
FEWEST_PLACES = 64


@dataclass(frozen=True)
class ConvolutionPlan:
    """A convolution as a product of views.

    Attributes:
        kernel: layout of the kernel, the left operand.
        windows: layout of the padded input, the right operand.
        contracting, batch: axes as of `dot_general`.
        shape: of the product.
        order: of the product's axes in the result, or None where they are in order.
    """

    kernel: Layout
    windows: Layout
    contracting: tuple[tuple[int, ...], tuple[int, ...]]
    batch: tuple[tuple[int, ...], tuple[int, ...]]
    shape: tuple[int, ...]
    order: tuple[int, ...] | None


def plan_convolution(
    x: Layout,
    kernel: Layout,
    places: tuple[int, ...],
    strides: tuple[int, ...],
    kernel_dilation: tuple[int, ...],
    groups: int,
) -> ConvolutionPlan:
    """The product that convolves an input, padded and dilated already, with a kernel.

    Args:
        x: the input (batch, channels, *spatial).
        kernel: (outputs, channels / groups, *window).
        places: spatial extents of the result.
        strides, kernel_dilation: by spatial axis.
        groups: of the channels.
    """
    images = x.shape[0]
    outputs, channels, *window = kernel.shape
    rows = outputs // groups
    apart = zip(x.strides[2:], kernel_dilation, strict=True)
    steps = zip(x.strides[2:], strides, strict=True)
    image_step, channel_step = x.strides[:2]
    inner_shape = (channels, *window)
    inner_strides = (channel_step, *(step * each for step, each in apart))
    place_strides = tuple(step * each for step, each in steps)
    group = () if groups == 1 else (groups,)
    group_step = () if groups == 1 else (channels * channel_step,)
    kernel_shape = (*group, rows, channels, *window)
    kernel_strides = (*(rows * kernel.strides[0] for _ in group), *kernel.strides)
    depth, grouped = len(inner_shape), len(group)
    if images > 1 and prod(places) < FEWEST_PLACES:
        windows = Layout(
            (*group, *inner_shape, images, *places),
            (*group_step, *inner_strides, image_step, *place_strides),
            x.offset,
        )
        first, shift = grouped, grouped + 1
        batch = tuple(range(grouped))
        shape = (*group, rows, images, *places)
        order = (grouped + 1, *range(grouped + 1), *range(grouped + 2, len(shape)))
        left = Layout(kernel_shape, kernel_strides, kernel.offset)
        return ConvolutionPlan(
            left, windows,
            (tuple(range(shift, shift + depth)), tuple(range(first, first + depth))),
            (batch, batch), shape, order,
        )  # fmt: skip
    windows = Layout(
        (images, *group, *inner_shape, *places),
        (image_step, *group_step, *inner_strides, *place_strides),
        x.offset,
    )
    left = Layout((images, *kernel_shape), (0, *kernel_strides), kernel.offset)
    first = 1 + grouped
    batch = tuple(range(first))
    return ConvolutionPlan(
        left, windows,
        (tuple(range(first + 1, first + 1 + depth)), tuple(range(first, first + depth))),
        (batch, batch), (images, *group, rows, *places), None,
    )  # fmt: skip


def convolving(contract: Kernel, slide: Kernel, copy: Kernel) -> Kernel:
    """A launch function that leaves the product of a padded input to `contract`.

    Where windows.py is faster, it leaves all to `slide`; where the product's axes have another
    order, `copy` puts them into theirs.
    """

    def launch(
        launcher: Launcher,
        name: str,
        operands: tuple[Tensor, ...],
        params: Mapping[str, Any],
        outputs: tuple[ShapeDtype, ...],
    ) -> tuple[Tensor, ...]:
        return (convolve(launcher, operands, params, outputs[0], contract, slide, copy),)

    return launch


#: Convolves an input with a kernel; see `tenferro_wgpu.ops.convolution`.
launch_convolution = kernel("conv")(
    convolving(launch_contraction, launch_windows, launch_elementwise)
)


def convolve(
    launcher: Launcher,
    operands: tuple[Tensor, ...],
    params: Mapping[str, Any],
    spec: ShapeDtype,
    contract: Kernel,
    slide: Kernel,
    copy: Kernel,
) -> Tensor:
    """The convolution, computed or recorded by one of three functions: see `convolving`.

    A recorded product has the shape of the result, so that what follows can run in its kernel;
    and so can what follows a copy.
    """
    x, weights = operands
    layout = contiguous_layout(spec.shape)
    if layout.size == 0:
        return launcher.empty(spec, "conv")
    if x.size == 0 or weights.size == 0:
        zero = launcher.backend.scalar(0, spec.dtype)
        filled = zero.with_layout(zero.layout.broadcast_in_dim(spec.shape, ()))
        return launch_elementwise(launcher, "copy", (filled,), {}, (spec,))[0]
    if suits_windows(launcher, x, weights, params):
        return slide(launcher, "conv", operands, params, (spec,))[0]
    x = _padded(launcher, x, params)
    plan = plan_convolution(
        x.layout, weights.layout, spec.shape[2:], params["strides"],
        params["kernel_dilation"], params["groups"],
    )  # fmt: skip
    multiply = contract if plan.order is None else launch_contraction
    (product,) = multiply(
        launcher,
        "dot_general",
        (weights.with_layout(plan.kernel), x.with_layout(plan.windows)),
        {"contracting": plan.contracting, "batch": plan.batch},
        (ShapeDtype(plan.shape, spec.dtype),),
    )
    if plan.order is None:
        return product if plan.shape == spec.shape else product.with_layout(layout)
    turned = product.with_layout(product.layout.transpose(plan.order))
    ordered = ShapeDtype(turned.shape, spec.dtype)
    (copied,) = copy(launcher, "copy", (turned,), {}, (ordered,))
    return copied if ordered.shape == spec.shape else copied.with_layout(layout)


def _padded(launcher: Launcher, x: Tensor, params: Mapping[str, Any]) -> Tensor:
    """The input with zeros around and between its elements; itself, or a view, without any."""
    gaps = tuple(step - 1 for step in params["x_dilation"])
    low, high = params["low"], params["high"]
    if not any(gaps) and max(low) <= 0 and max(high) <= 0:
        starts = (0, 0, *(-before for before in low))
        stops = (*x.shape[:2], *(n + b for n, b in zip(x.shape[2:], high, strict=True)))
        return x.with_layout(x.layout.slice(starts, stops, (1,) * x.ndim))
    extents = tuple(
        n + (n - 1) * gap + a + b for n, gap, a, b in zip(x.shape[2:], gaps, low, high, strict=True)
    )
    zero = launcher.backend.scalar(0, x.dtype)
    around = {"low": (0, 0, *low), "high": (0, 0, *high), "interior": (0, 0, *gaps)}
    spec = ShapeDtype((*x.shape[:2], *extents), x.dtype)
    return launch_pad(launcher, "pad", (x, zero), around, (spec,))[0]
