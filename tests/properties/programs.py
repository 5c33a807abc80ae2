"""Random small programs: a few operations over a growing list of tensors.

A program is data (steps with their parameters), drawn while its shapes are followed on zeros;
it runs on any runtime, inside `jvp` and inside `vjp` alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .calls import random_axis
from .operands import other_shape, random_key
from .sources import Source

#: Elements of any value of a program at most.
MOST_ELEMENTS = 200
MOST_AXES = 4


@dataclass(frozen=True)
class Step:
    """One operation on earlier values, given by their positions."""

    text: str
    function: Callable[..., Any]
    operands: tuple[int, ...]


@dataclass
class Program:
    """Shapes of the inputs and the steps; the last value is the result."""

    shapes: list[tuple[int, ...]]
    steps: list[Step] = field(default_factory=list)

    def __call__(self, *inputs: Any) -> Any:
        values = list(inputs)
        for step in self.steps:
            values.append(step.function(*(values[place] for place in step.operands)))
        return values[-1]

    def __repr__(self) -> str:
        lines = [f"v{i} = input of shape {shape}" for i, shape in enumerate(self.shapes)]
        for step in self.steps:
            arguments = ", ".join(f"v{place}" for place in step.operands)
            lines.append(f"v{len(lines)} = {step.text}({arguments})")
        return "\n" + "\n".join(lines)


#: Steps of one operand that are smooth and keep values moderate.
SMOOTH: dict[str, Callable[[Any], Any]] = {
    "sin": tw.sin,
    "tanh": tw.tanh,
    "cos": tw.cos,
    "exp(tanh)": lambda x: tw.exp(tw.tanh(x)),
    "log1p(square)": lambda x: tw.log1p(x * x),
    "sqrt(square + 1)": lambda x: tw.sqrt(x * x + 1),
    "rsqrt(square + 0.5)": lambda x: tw.rsqrt(x * x + 0.5),
    "expm1(-square)": lambda x: tw.expm1(-x * x),
    "log(square + 2)": lambda x: tw.log(x * x + 2.0),
    "tanh ** 3": lambda x: tw.tanh(x) ** 3,
}
LINEAR: dict[str, Callable[[Any], Any]] = {
    "negative": tw.negative,
    "half": lambda x: x * 0.5,
    "third": lambda x: x / 3.0,
}
KINKED: dict[str, Callable[[Any], Any]] = {
    "abs": tw.abs,
    "clip": lambda x: tw.clip(x, -0.7, 0.9),
    "where positive": lambda x: tw.where(x > 0, x, x * 0.1),
}
SMOOTH_PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "multiply(tanh)": lambda x, y: x * tw.tanh(y),
    "divide(square + 1)": lambda x, y: x / (y * y + 1),
    "pow": lambda x, y: (x * x + 1.0) ** tw.tanh(y),
}
LINEAR_PAIRS: dict[str, Callable[[Any, Any], Any]] = {"add": tw.add, "subtract": tw.subtract}
KINKED_PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "maximum": tw.maximum,
    "minimum": tw.minimum,
    "where less": lambda x, y: tw.where(x < y, x, y * 2.0),
}


#: Follows the shapes while a program is drawn.
_shapes_world = tw.EagerRuntime("cpu", default_dtype="float64")


def random_program(
    source: Source, *, least: int = 3, most: int = 8, linear: bool = False
) -> Program:
    """A program of `least` to `most` steps; a linear one is homogeneous in its inputs."""
    shapes = [_input_shape(source) for _ in range(source.integer(1, 3))]
    program = Program(shapes)
    values = [tw.zeros(shape, device=_shapes_world) for shape in shapes]
    for _ in range(source.integer(least, most)):
        step = _random_step(source, values, linear)
        result = step.function(*(values[place] for place in step.operands))
        if result.size > MOST_ELEMENTS or result.ndim > MOST_AXES:
            continue
        program.steps.append(step)
        values.append(result)
    if not program.steps:
        program.steps.append(Step("half", LINEAR["half"], (0,)))
    return program


def random_inputs(source: Source, program: Program) -> list[np.ndarray]:
    """Points away from 0, in the order of the program's inputs."""
    rng = source.generator()
    return [rng.uniform(-2, 2, shape) for shape in program.shapes]


def _input_shape(source: Source) -> tuple[int, ...]:
    count = source.choice((2, 1, 3, 0))
    return tuple(source.choice((3, 2, 4, 1, 5)) for _ in range(count))


def _random_step(source: Source, values: list[Any], linear: bool) -> Step:
    place = source.integer(0, len(values) - 1)
    if source.chance(60):
        place = len(values) - 1
    makers = [_unary, _binary, _reduction, _structural, _indexing, _contraction]
    return source.choice(makers)(source, values, place, linear)


def _unary(source: Source, values: list[Any], place: int, linear: bool) -> Step:
    table = LINEAR if linear else SMOOTH | LINEAR | KINKED
    name = source.choice(list(table))
    return Step(name, table[name], (place,))


def _binary(source: Source, values: list[Any], place: int, linear: bool) -> Step:
    table = LINEAR_PAIRS if linear else SMOOTH_PAIRS | LINEAR_PAIRS | KINKED_PAIRS
    name = source.choice(list(table))
    partners = [i for i, value in enumerate(values) if _broadcast(values[place], value)]
    return Step(name, table[name], (place, source.choice(partners)))


def _broadcast(x: Any, y: Any) -> bool:
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return True


def _reduction(source: Source, values: list[Any], place: int, linear: bool) -> Step:
    x = values[place]
    axis, kept = random_axis(source, x.ndim), source.chance(50)
    names = ("sum", "mean") if linear else ("sum", "mean", "max", "min", "prod")
    if 0 in x.shape:
        names = ("sum",)
    name = source.choice(names)
    function = getattr(tw, name)
    if name == "prod":
        return Step(
            f"prod(tanh, {axis}, {kept})",
            lambda x: tw.prod(tw.tanh(x) + 0.5, axis=axis, keepdims=kept),
            (place,),
        )
    return Step(
        f"{name}({axis}, {kept})", lambda x: function(x, axis=axis, keepdims=kept), (place,)
    )


def _structural(source: Source, values: list[Any], place: int, linear: bool) -> Step:
    x = values[place]
    kind = source.choice(("key", "permute", "reshape", "repeat", "pad", "stack", "concatenate"))
    if kind == "key":
        key = random_key(source, x.shape)
        return Step(f"[{key}]", lambda x: x[key], (place,))
    if kind == "permute":
        order = source.permutation(x.ndim)
        return Step(f"permute_dims({order})", lambda x: tw.permute_dims(x, order), (place,))
    if kind == "reshape":
        shape = other_shape(source, x.shape)
        return Step(f"reshape({shape})", lambda x: tw.reshape(x, shape), (place,))
    if kind == "repeat":
        shape = (source.choice((2, 1)), *x.shape)
        return Step(f"broadcast_to({shape})", lambda x: tw.broadcast_to(x, shape), (place,))
    if kind == "pad":
        widths = [(source.integer(-(n // 2), 2), source.integer(-(n // 2), 2)) for n in x.shape]
        gaps = tuple(source.choice((0, 1)) for _ in x.shape)
        return Step(
            f"pad({widths}, interior={gaps})", lambda x: tw.pad(x, widths, interior=gaps), (place,)
        )
    partners = [i for i, value in enumerate(values) if value.shape == x.shape]
    partner = source.choice(partners)
    axis = source.integer(0, x.ndim if kind == "stack" else max(x.ndim - 1, 0))
    if kind == "stack" or x.ndim == 0:
        return Step(f"stack({axis})", lambda x, y: tw.stack([x, y], axis=axis), (place, partner))
    return Step(
        f"concatenate({axis})", lambda x, y: tw.concatenate([x, y, x], axis=axis), (place, partner)
    )


def _indexing(source: Source, values: list[Any], place: int, linear: bool) -> Step:
    x = values[place]
    if x.ndim == 0 or 0 in x.shape:
        return _unary(source, values, place, linear)
    axis = source.integer(0, x.ndim - 1)
    size = x.shape[axis]
    indices = [source.integer(-size, size - 1) for _ in range(source.integer(1, 4))]
    kind = source.choice(("take", "scatter_add", "take_along_axis", "gather"))
    if kind == "take":
        return Step(f"take({indices}, {axis})", lambda x: tw.take(x, indices, axis=axis), (place,))
    if kind == "scatter_add":
        return Step(
            f"scatter_add({indices}, axis={axis})",
            lambda x: tw.scatter_add(x, indices, tw.take(x, indices, axis=axis) * 0.25, axis=axis),
            (place,),
        )
    if kind == "take_along_axis":
        shape = [1] * x.ndim
        shape[axis] = len(indices)
        array = np.array(indices).reshape(shape)
        return Step(
            f"take_along_axis({indices}, {axis})",
            lambda x: tw.take_along_axis(x, array, axis=axis),
            (place,),
        )
    sizes = tuple(source.integer(1, extent) for extent in x.shape)
    starts = np.array([[index % (size - sizes[axis] + 1)] for index in indices])
    return Step(
        f"gather({starts.tolist()}, {axis}, {sizes})",
        lambda x: tw.gather(x, starts, axes=(axis,), slice_sizes=sizes),
        (place,),
    )


def _contraction(source: Source, values: list[Any], place: int, linear: bool) -> Step:
    x = values[place]
    if linear or x.ndim == 0:
        return _structural(source, values, place, linear)
    scale = 1.0 / max(math.prod(x.shape[-1:]), 1)
    if x.ndim == 1:
        return Step("dot itself", lambda x: tw.matmul(x, tw.sin(x)) * scale, (place,))
    kind = source.choice(("gram", "vecdot", "tensordot"))
    if kind == "gram":
        return Step("x @ sin(x).mT", lambda x: tw.matmul(x, tw.sin(x).mT) * scale, (place,))
    if kind == "vecdot":
        axis = source.integer(-x.ndim, -1)
        return Step(f"vecdot({axis})", lambda x: tw.vecdot(x, tw.cos(x), axis=axis), (place,))
    return Step(
        "tensordot over the first axis",
        lambda x: tw.tensordot(x, tw.tanh(x), axes=((0,), (0,))) * scale,
        (place,),
    )
