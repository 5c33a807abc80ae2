"""Convolutions over one to three axes: one primitive, whose derivatives are convolutions as well.

The meaning is that of JAX's ``conv_general_dilated`` with layouts N C spatial for the tensor and
O I spatial for the kernel: a correlation, as everywhere in machine learning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ArgumentError, ShapeError
from ..tensor import ShapeDtype
from . import structural, views
from .calling import as_integer, cast_to
from .contraction import factors
from .elementwise import conj
from .primitive import Primitive
from .rearranging import integers
from .reduction_operands import widened
from .table import NUMERIC
from .value import Value, apply

__all__ = ["conv", "conv_transpose"]

Shape = tuple[int, ...]

MOST_SPATIAL_AXES = 3

# -- the primitive ------------------------------------------------------------------------------


def _dilated(extent: int, dilation: int) -> int:
    return extent + (extent - 1) * (dilation - 1) if extent else 0


def _spread(extents: Sequence[int], dilations: Sequence[int]) -> Shape:
    """Extents with ``dilation - 1`` zeros between neighbours."""
    return tuple(_dilated(n, d) for n, d in zip(extents, dilations, strict=True))


def _conv_shape(
    x: ShapeDtype, kernel: ShapeDtype, *, strides: Shape, low: Shape, high: Shape,
    x_dilation: Shape, kernel_dilation: Shape, groups: int,
) -> ShapeDtype:  # fmt: skip
    if x.shape[1] != kernel.shape[1] * groups or kernel.shape[0] % groups:
        raise ShapeError(
            "conv",
            f"a kernel of shape {kernel.shape} in {groups} groups does not fit {x.shape[1]} "
            "channels; it is (outputs, channels / groups, ...), outputs a multiple of groups",
            (x.shape, kernel.shape),
        )
    extents = _spread(x.shape[2:], x_dilation)
    windows = _spread(kernel.shape[2:], kernel_dilation)
    places = zip(extents, windows, strides, low, high, strict=True)
    spatial = tuple(max(0, (n + a + b - k) // s + 1) for n, k, s, a, b in places)
    return ShapeDtype((x.shape[0], kernel.shape[0], *spatial), x.dtype)


def _vjp_x(g: Value, x: ShapeDtype, kernel: Value, p: dict[str, Any]) -> Any:
    """The convolution that spreads `g` over `x`: with the kernel reversed, inputs and outputs
    exchanged, and the strides as dilation."""
    strides, low, groups = p["strides"], p["low"], p["groups"]
    windows = _spread(kernel.shape[2:], p["kernel_dilation"])
    before = tuple(k - 1 - a for k, a in zip(windows, low, strict=True))
    extents = _spread(x.shape[2:], p["x_dilation"])
    given = _spread(g.shape[2:], strides)
    after = tuple(
        n + k - 1 - m - a for n, k, m, a in zip(extents, windows, given, before, strict=True)
    )
    return apply(
        CONV, g, conj(_exchanged(kernel, groups)),
        strides=p["x_dilation"], low=before, high=after, x_dilation=strides,
        kernel_dilation=p["kernel_dilation"], groups=groups,
    )  # fmt: skip


def _exchanged(kernel: Value, groups: int) -> Any:
    """The kernel reversed in space, its inputs and outputs exchanged within each group."""
    outputs, inputs, *spatial = kernel.shape
    grouped = views.reshaped(kernel, (groups, outputs // groups, inputs, *spatial))
    swapped = structural.swapaxes(grouped, 1, 2)
    turned = structural.flip(swapped, tuple(range(3, swapped.ndim)))
    return views.reshaped(turned, (groups * inputs, outputs // groups, *spatial))


def _vjp_kernel(g: Value, x: Value, kernel: ShapeDtype, p: dict[str, Any]) -> Any:
    """The convolution of `x` with `g`, in which what was the batch is summed over."""
    groups = p["groups"]
    windows = _spread(kernel.shape[2:], p["kernel_dilation"])
    extents = _spread(x.shape[2:], p["x_dilation"])
    taken = _spread(g.shape[2:], p["strides"])
    high = tuple(
        k - 1 + m - n - a for k, m, n, a in zip(windows, taken, extents, p["low"], strict=True)
    )
    batch, channels, *spatial = x.shape
    if groups == 1:
        images = structural.swapaxes(x, 0, 1)
    else:
        grouped = views.reshaped(x, (batch, groups, channels // groups, *spatial))
        images = views.reshaped(
            structural.moveaxis(grouped, (2, 1, 0), (0, 1, 2)),
            (channels // groups, groups * batch, *spatial),
        )
    out = apply(
        CONV, conj(images), structural.swapaxes(g, 0, 1),
        strides=p["kernel_dilation"], low=p["low"], high=high, x_dilation=p["x_dilation"],
        kernel_dilation=p["strides"], groups=groups,
    )  # fmt: skip
    return structural.swapaxes(out, 0, 1)


def _params(strides: Shape, low: Shape, high: Shape, x_dilation: Shape,
            kernel_dilation: Shape, groups: int) -> dict[str, Any]:  # fmt: skip
    return {
        "strides": strides, "low": low, "high": high, "x_dilation": x_dilation,
        "kernel_dilation": kernel_dilation, "groups": groups,
    }  # fmt: skip


CONV: Primitive = Primitive(
    "conv", ("x", "kernel"), _conv_shape,
    vjp=(
        lambda g, x_like, kernel, *, strides, low, high, x_dilation, kernel_dilation, groups:
        _vjp_x(g, x_like, kernel,
               _params(strides, low, high, x_dilation, kernel_dilation, groups)),
        lambda g, x, kernel_like, *, strides, low, high, x_dilation, kernel_dilation, groups:
        _vjp_kernel(g, x, kernel_like,
                    _params(strides, low, high, x_dilation, kernel_dilation, groups)),
    ),
    jvp=(
        lambda t, kernel, *, strides, low, high, x_dilation, kernel_dilation, groups:
        apply(CONV, t, kernel,
              **_params(strides, low, high, x_dilation, kernel_dilation, groups)),
        lambda t, x, *, strides, low, high, x_dilation, kernel_dilation, groups:
        apply(CONV, x, t,
              **_params(strides, low, high, x_dilation, kernel_dilation, groups)),
    ),
)  # fmt: skip

# -- public functions ---------------------------------------------------------------------------


def _operands(op: str, x: Any, kernel: Any) -> tuple[Value, Value, int]:
    first, second = factors(op, x, kernel, NUMERIC)
    spatial = first.ndim - 2
    if not 1 <= spatial <= MOST_SPATIAL_AXES or second.ndim != first.ndim:
        raise ShapeError(
            op,
            f"shapes {first.shape} and {second.shape}: a batch, channels and the same one to "
            f"{MOST_SPATIAL_AXES} spatial axes are needed in both",
            (first.shape, second.shape),
        )
    return first, second, spatial


def _each(op: str, name: str, amounts: Any, spatial: int) -> Shape:
    """One positive integer for every spatial axis."""
    found = integers(op, name, amounts)
    if len(found) == 1:
        found = found * spatial
    if len(found) != spatial or min(found) < 1 or max(found) >= 2**31:
        raise ArgumentError(
            op, f"{name} are one or {spatial} integers of at least 1, got {amounts!r}"
        )
    return found


def _pairs(op: str, padding: Any, spatial: int) -> tuple[Shape, Shape]:
    """Padding before and after every spatial axis, from an integer, one or pairs for each."""
    each = padding if isinstance(padding, (tuple, list)) else (padding,) * spatial
    if len(each) != spatial:
        raise ShapeError(op, f"padding {padding!r} is not for {spatial} spatial axes")
    pairs = [integers(op, "paddings", one) for one in each]
    pairs = [pair * 2 if len(pair) == 1 else pair for pair in pairs]
    if any(len(pair) != 2 for pair in pairs):
        raise ShapeError(op, f"padding is an integer or (before, after) for each axis: {padding!r}")
    return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)


def _named_padding(op: str, padding: str) -> str:
    name = padding.upper()
    if name not in ("SAME", "VALID"):
        raise ArgumentError(op, f'padding is "SAME", "VALID" or integers, got {padding!r}')
    return name


def _groups(op: str, groups: Any) -> int:
    count = as_integer(op, "groups", groups)
    if count < 1:
        raise ArgumentError(op, f"groups must be at least 1, got {groups}")
    return count


def conv(
    x: Any, kernel: Any, /, *, strides: Any = 1, padding: Any = "VALID", input_dilation: Any = 1,
    kernel_dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Convolution of images with kernels, over one, two or three spatial axes.

    `x` has shape ``(batch, channels, *spatial)``, `kernel`
    ``(outputs, channels / groups, *window)``, the result ``(batch, outputs, *places)``.  Every
    output is the sum over channels and window of products, the window not reversed.  Dtypes
    promote.

    Args:
        x, kernel: tensors of integers, floats or complex numbers.
        strides: steps between windows, one or one for every spatial axis, as the dilations.
        padding: zeros around the input: "VALID" none; "SAME" so many that there are as many
            places as elements, divided by the strides and rounded up; an integer; or for every
            spatial axis an integer or a pair (before, after), of which negative ones crop.
        input_dilation: places from one element of the input to the next, with zeros between.
        kernel_dilation: places from one element of the window to the next.
        groups: the channels, and outputs, are cut into so many parts that do not mix.

    Raises:
        ShapeError: for other numbers of axes, or channels, outputs and groups that do not fit.
        ArgumentError: for strides, dilations or groups below 1, or another word as padding.
        DTypeError: for bools, and for amounts that are no integers.

    >>> import tenferro_wgpu as tw
    >>> x = tw.reshape(tw.arange(5), (1, 1, 5))
    >>> tw.conv(x, tw.asarray([[[1, 0, -1]]])).tolist()
    [[[-2, -2, -2]]]
    >>> tw.conv(x, tw.asarray([[[1, 1]]]), strides=2, padding="SAME").tolist()
    [[[1, 5, 4]]]
    """
    first, second, spatial = _operands("conv", x, kernel)
    steps = _each("conv", "strides", strides, spatial)
    spread = _each("conv", "input dilations", input_dilation, spatial)
    apart = _each("conv", "kernel dilations", kernel_dilation, spatial)
    if isinstance(padding, str):
        low = high = (0,) * spatial
        if _named_padding("conv", padding) == "SAME":
            extents, windows = _spread(first.shape[2:], spread), _spread(second.shape[2:], apart)
            low, high = _same(extents, windows, steps)
    else:
        low, high = _pairs("conv", padding, spatial)
    return _convolved(
        first, second, strides=steps, low=low, high=high, x_dilation=spread,
        kernel_dilation=apart, groups=_groups("conv", groups),
    )  # fmt: skip


def _convolved(x: Value, kernel: Value, **params: Any) -> Any:
    """The convolution; float16 is accumulated in float32 and rounded once."""
    return cast_to(apply(CONV, widened(x), widened(kernel), **params), x.dtype)


def _same(extents: Shape, windows: Shape, strides: Shape) -> tuple[Shape, Shape]:
    totals = [
        max(0, (-(-n // s) - 1) * s + k - n)
        for n, k, s in zip(extents, windows, strides, strict=True)
    ]
    return tuple(total // 2 for total in totals), tuple(total - total // 2 for total in totals)


def conv_transpose(
    x: Any, kernel: Any, /, *, strides: Any = 1, padding: Any = "VALID", output_padding: Any = 0,
    kernel_dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """The transpose of `conv`: what its derivative makes of a cotangent `x`, as PyTorch has it.

    `x` has shape ``(batch, channels, *spatial)``, `kernel`
    ``(channels, outputs / groups, *window)``: the kernel of the convolution that is transposed, of
    which `strides`, `padding` and `kernel_dilation` are.  Every axis has
    ``(n - 1) * stride + window - before - after`` places, the window dilated, and
    `output_padding` more at its end; with "SAME" ``n * stride``.

    Raises:
        ShapeError: for other numbers of axes, or channels and groups that do not fit.
        ArgumentError: for strides, dilations or groups below 1, another word as padding, or a
            negative output padding.
        DTypeError: for bools, and for amounts that are no integers.

    >>> import tenferro_wgpu as tw
    >>> x = tw.asarray([[[1, 2]]])
    >>> tw.conv_transpose(x, tw.asarray([[[1, 1, 1]]]), strides=2).tolist()
    [[[1, 1, 3, 2, 2]]]
    """
    op = "conv_transpose"
    first, second, spatial = _operands(op, x, kernel)
    count = _groups(op, groups)
    if first.shape[1] != second.shape[0] or second.shape[0] % count:
        raise ShapeError(
            op,
            f"a kernel of shape {second.shape} in {count} groups does not fit {first.shape[1]} "
            "channels; it is (channels, outputs / groups, ...), channels a multiple of groups",
            (first.shape, second.shape),
        )
    steps = _each(op, "strides", strides, spatial)
    apart = _each(op, "kernel dilations", kernel_dilation, spatial)
    more = integers(op, "output paddings", output_padding)
    more = more * spatial if len(more) == 1 else more
    if len(more) != spatial or min(more) < 0:
        raise ArgumentError(op, f"output_padding is not negative, got {output_padding!r}")
    windows = _spread(second.shape[2:], apart)
    if isinstance(padding, str):
        low = high = (0,) * spatial
        if _named_padding(op, padding) == "SAME":
            totals = [k - s for k, s in zip(windows, steps, strict=True)]
            # A window shorter than a step leaves elements behind it: `conv` pads nothing there.
            low = tuple(max(total, 0) // 2 for total in totals)
            high = tuple(total - before for total, before in zip(totals, low, strict=True))
    else:
        low, high = _pairs(op, padding, spatial)
    before = tuple(k - 1 - a for k, a in zip(windows, low, strict=True))
    after = tuple(k - 1 - b + m for k, b, m in zip(windows, high, more, strict=True))
    return _convolved(
        first, _exchanged(second, count), strides=(1,) * spatial, low=before, high=after,
        x_dilation=steps, kernel_dilation=apart, groups=count,
    )  # fmt: skip
