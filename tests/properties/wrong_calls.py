"""How the fuzz runner makes calls wrong, and calls that only it makes.

`spoil` replaces an argument, changes an operand's dtype or shape, or adds an option.  `CALLS`
are creation functions, Python's operators, conversions and gradients, which have no single
meaning in NumPy: the backends are compared with each other alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import tenferro_wgpu as tw

from .calls import Call, Maker
from .operands import ALL, FLOATS, Operand, random_operand, random_shape
from .sources import Source

CALLS: dict[str, Maker] = {}

#: Sizes are small, or so large that no machine tries to allocate them.
ODD_VALUES: list[Any] = [
    None, -1, 0, 1, 2, 3, -2, 7, 5.5, float("nan"), float("inf"), -0.0, True, False, 1j, 2**50,
    -(2**31) - 1, 2**62, 2**63, -(2**63) - 1, 10**30, "text", "", "float32", "raise", b"x",
    (), [], {}, (0,), (-1,), (1, 1), (0, 0), [[]], [[1, 2], [3]], (2, 3), (2**62,), (2**40, 2**40),
    (1.5,), ("a",), slice(None), slice(0, None, 0), slice("a"), Ellipsis, NotImplemented, object(),
    int, np.float64, np.dtype("int8"), np.dtype("complex64"), np.int64(2), np.float32(0.5),
    np.bool_(True), np.datetime64("2020-01-01"), np.timedelta64(3, "s"), np.zeros(0), np.arange(3),
    np.ones((2, 2), bool),
    np.array(1.5), np.array(["a"]), np.array([None]), {0: 1}, {1, 2}, range(3), lambda: None,
]  # fmt: skip

ODD_ARRAYS: list[Any] = [
    np.arange(6, dtype=">f4"), np.arange(6, dtype=">i8"), np.asfortranarray(np.ones((2, 3))),
    np.arange(12)[::-2], np.broadcast_to(np.float32(2), (3, 4)), np.ones((2, 0, 3), np.float32),
    np.ma.masked_array([1.0, 2.0], [True, False]), np.arange(4).reshape(2, 2).view(np.matrix),
    np.ones(3, np.longdouble), np.ones(3, np.float16), np.ones(3, np.complex128),
    np.ones(2, [("a", "f4")]), np.array([1, None]), np.array(["1"]), np.array(b"1"),
    np.array(["2020"], "M8[Y]"), np.array(7, np.uint64), np.array([2**63], np.uint64),
    memoryview(b"abc"), bytearray(b"abc"), range(4), {1: 2}, iter([1.0]), "12", b"12",
    [np.ones(2), np.zeros(2)], [1, 2.5, True], [[True], [False]], [1, 1j], [2**63, 1], [[], []],
    [None], ["a"], [[1], 2], [np.float32(1), 2], (1, (2,)), np.rec.array([(1, 2.0)]), float, len,
    np.ones((1,) * 40), np.ones((1,) * 9, np.float32), np.zeros((0,) * 6),
]  # fmt: skip

OTHER_DTYPES = [
    *ALL, "complex64", "float16", "int8", "uint64", "U3", "O", None, int, "nonsense", 7, "M8[s]",
]  # fmt: skip


class PreparedTensor:
    """Stands for a tensor of a closed runtime or of another open one."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def on(self, runtime: Any) -> Any:
        return _prepared[id(runtime), self.kind]

    def __repr__(self) -> str:
        return f"<tensor of a {self.kind} runtime>"


_prepared: dict[tuple[int, str], Any] = {}


def prepare(runtime: Any, make_runtime: Callable[[], Any]) -> None:
    """Make the tensors of other runtimes that calls on `runtime` may be given."""
    other = make_runtime()
    _prepared[id(runtime), "closed"] = other.constant_from(np.ones((2, 3), np.float32))
    other.close()
    foreign = tw.EagerRuntime("cpu")
    _prepared[id(runtime), "foreign"] = foreign.constant_from(np.ones((2, 3), np.float32))


# -- making calls wrong -------------------------------------------------------------------------


def spoil(source: Source, call: Call) -> None:
    """Make one thing of a call probably wrong."""
    # Conversions of NaN and of floats out of range are left to the processor.
    call.undefined |= call.name == "astype"
    kind = source.choice(("argument", "argument", "dtype", "shape", "option", "drop", "nested"))
    if kind == "dtype" or kind == "shape":
        places = [i for i, a in enumerate(call.arguments) if isinstance(a, Operand)]
        if places:
            place = source.choice(places)
            old = call.arguments[place].base
            dtype = source.choice(ALL) if kind == "dtype" else str(old.dtype)
            shape = call.arguments[place].shape if kind == "dtype" else random_shape(source, 4)
            call.arguments[place] = random_operand(source, dtype, shape=shape, kind="small")
            return
    if kind == "option":
        name = source.choice(("axis", "dtype", "keepdims", "mode", "axes", "order", "copy"))
        call.options[name] = odd_value(source)
    elif kind == "drop" and call.arguments:
        call.arguments.pop()
    elif call.options and source.chance(30):
        call.options[source.choice(list(call.options))] = odd_value(source)
    elif call.arguments:
        place = source.integer(0, len(call.arguments) - 1)
        nested = call.arguments[place]
        if kind == "nested" and isinstance(nested, (list, tuple)) and nested:
            items = list(nested)
            items[source.integer(0, len(items) - 1)] = odd_value(source)
            call.arguments[place] = type(nested)(items)
        else:
            call.arguments[place] = odd_value(source)


def odd_value(source: Source) -> Any:
    """Something an argument may not be."""
    kind = source.choice(("value", "value", "value", "tensor", "prepared", "dtype"))
    if kind == "tensor":
        return random_operand(source, source.choice(ALL), kind="small", most_axes=3)
    if kind == "prepared":
        return PreparedTensor(source.choice(("closed", "foreign")))
    return source.choice(ODD_VALUES if kind == "value" else OTHER_DTYPES)


# -- calls of the fuzz runner alone -------------------------------------------------------------


def _add(name: str, function: Callable[..., Any], *makers: Callable[[Source], Any]) -> None:
    def make(source: Source) -> Call:
        return Call(name, function, function, [one(source) for one in makers], ulps=4)

    CALLS[name] = make


def _add_method(name: str, function: Callable[..., Any], *makers: Callable[[Source], Any]) -> None:
    """A call that is an attribute of a tensor: anything else in its place is Python's error."""

    def checked(x: Any, *rest: Any) -> Any:
        if not isinstance(x, tw.EagerTensor):
            raise TypeError(f"{name} is a method of tensors")
        return function(x, *rest)

    _add(name, checked, *makers)


def _tensor(source: Source) -> Any:
    return random_operand(source, source.choice(ALL), kind="small", most_axes=3)


def _float_tensor(source: Source) -> Any:
    return random_operand(source, source.choice(FLOATS), kind="small", most_axes=3)


def _element(source: Source) -> Any:
    shape = source.choice(((), (1,), (1, 1), (2,), (0,)))
    return random_operand(source, source.choice(ALL), kind="small", shape=shape)


def _shape(source: Source) -> Any:
    return odd_value(source) if source.chance(30) else random_shape(source, 4)


def _dtype(source: Source) -> Any:
    return source.choice(OTHER_DTYPES)


def _number(source: Source) -> Any:
    return source.choice((0, 1, 5, -3, 2.5, True, float("nan"), 3, 7, -0.5, 2**40))


def _count(source: Source) -> Any:
    return source.choice((0, 1, 3, 10, -1, 2.5, None, 2**62, 10**30, "3", True))


def _step(source: Source) -> Any:
    return source.choice((1, -2, 0.5, 0, 3, float("nan"), 1e-300, 10**30, None))


def _some_scalar(source: Source) -> Any:
    if source.chance(40):
        return _tensor(source)
    return source.choice((0, 1, 2, -1, 0.5, True, 2**31, 2**40, 2**64, 1j, float("inf"), None, "a"))


def _in_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda first, dtype: function(first, dtype=dtype)


for _name in ("zeros", "ones", "empty"):
    _add(_name, _in_dtype(getattr(tw, _name)), _shape, _dtype)
for _name in ("zeros_like", "ones_like"):
    _add(_name, _in_dtype(getattr(tw, _name)), _tensor, _dtype)
_add("elements of a huge tensor", lambda shape: tw.zeros(shape) + 1.5,
     lambda s: s.choice(((2**62,), (2**40, 2**40), (2**50,), (2**31, 0), (10**30,))))  # fmt: skip
_add("full", tw.full, _shape, _some_scalar)
_add("full_like", tw.full_like, _tensor, _some_scalar)
_add("eye", lambda n, m, k: tw.eye(n, m, k=k), _count, _count, _number)
_add("linspace", tw.linspace, _number, _number, _count)
_add("digamma", tw.digamma, _tensor)
_add("polygamma", tw.polygamma, lambda s: s.choice((1, 2, 3, -1, 0.5)), _tensor)
_add("from_flat", tw.from_flat, _tensor, _shape)
_add("asarray", _in_dtype(tw.asarray), _tensor, _dtype)
_add("asarray of anything", tw.asarray, odd_value)
_add("asarray of an odd array", tw.asarray, lambda s: s.choice(ODD_ARRAYS))
_add("mixing with an odd array", lambda x, a: x + a, _tensor, lambda s: s.choice(ODD_ARRAYS))
_add("indexing by an odd array", tw.getitem, _tensor, lambda s: s.choice(ODD_ARRAYS))
_add_method("convert", lambda x, dtype: x.convert(dtype), _tensor, _dtype)
_add("compare", tw.compare, _tensor, _some_scalar, lambda s: s.choice(("lt", "EQ", "", 3)))
_add("broadcast_in_dim", tw.broadcast_in_dim, _tensor, _shape, lambda s: odd_value(s))
_add("matrix_transpose", tw.matrix_transpose, _tensor)
for _name in ("bool", "int", "float", "complex"):
    _add(f"{_name}()", {"bool": bool, "int": int, "float": float, "complex": complex}[_name],
         _element)  # fmt: skip
_add("index()", operator.index, _element)
_add("len()", len, _element)
_add_method("item", lambda x: x.item(), _element)
_add_method("tolist", lambda x: str(x.tolist()), _element)
_add("unpacking", lambda x: tuple(x), _tensor)


def _operator(name: str) -> Callable[..., Any]:
    def operate(x: Any, y: Any) -> Any:
        if not isinstance(x, tw.EagerTensor) and not isinstance(y, tw.EagerTensor):
            raise TypeError(f"{name} of two foreign objects is not ours")
        return getattr(operator, name)(x, y)

    return operate


for _name in ("add", "sub", "mul", "truediv", "pow", "matmul", "and_", "or_", "xor", "lt", "eq"):
    _add(f"operator {_name}", _operator(_name), _tensor, _some_scalar)
    _add(f"reflected {_name}", _operator(_name), _some_scalar, _tensor)
for _name in ("neg", "pos", "invert", "abs"):
    _add_method(f"operator {_name}", getattr(operator, _name), _tensor)
_add_method("T", lambda x: x.T, _tensor)
_add_method("mT", lambda x: x.mT, _tensor)
_add_method("getitem of anything", lambda x, key: x[key], _tensor, odd_value)
_add_method("getitem of two", lambda x, a, b: x[a, b], _tensor, odd_value, odd_value)
_add("pad of anything", lambda x, width: tw.pad(x, width), _tensor, odd_value)
_add_method("at of anything", lambda x, key, v: x.at[key].set(v), _tensor, odd_value, _some_scalar)
_add_method("at of two", lambda x, a, b, v: x.at[a, b].min(v), _tensor, odd_value, odd_value,
            _some_scalar)  # fmt: skip
_add_method("at of a mask", lambda x, m, v: x.at[m].add(v), _tensor, _tensor, _some_scalar)
_add("sort of anything", tw.sort, _tensor, odd_value)
_add("topk of anything", lambda x, k: tuple(tw.topk(x, k)), _tensor, odd_value)
_add("quantile of anything", tw.quantile, _tensor, odd_value)
_add("unique of anything", lambda x: tuple(tw.unique_all(x)), _tensor)
_add("bincount of anything", lambda x, w: tw.bincount(x, w, length=4), _tensor, _some_scalar)
_add("digitize of anything", lambda x, e: tw.digitize(x, tw.sort(e)), _tensor, _tensor)
_add("dynamic_slice", tw.dynamic_slice, _tensor, _shape, _shape)
_add("nanmedian", tw.nanmedian, _tensor, lambda s: s.choice((None, 0, -1, 5, "a")))
_add("histogram of anything", lambda x, b: tw.histogram(x, b)[0], _tensor, _count)
_add("window of anything", tw.dynamic_slice, _tensor, odd_value, _shape)
_add("put of a tensor", lambda x, i, v: tw.put_along_axis(x, i, v, axis=0), _tensor, _tensor,
     _some_scalar)  # fmt: skip
_add("scatter of a tensor", lambda x, i, v, c: tw.scatter(x, i, v, axes=(0,), combine=c),
     *[_tensor] * 3, lambda s: s.choice(("set", "add", "multiply", "min", "")))  # fmt: skip
_add("take of a tensor", lambda x, i, mode: tw.take(x, i, axis=0, mode=mode), _tensor, _tensor,
     lambda s: s.choice(("raise", "clip", "wrap", "fill")))  # fmt: skip
_add("scatter_add of a tensor", lambda x, i, mode: tw.scatter_add(x, i, 1, mode=mode), _tensor,
     _tensor, lambda s: s.choice(("raise", "clip", "wrap", "fill")))  # fmt: skip
_add("gather of a tensor", lambda x, i, axes, sizes, mode: tw.gather(
    x, i, axes=axes, slice_sizes=sizes, mode=mode), _tensor, _tensor, _shape, _shape,
    lambda s: s.choice(("raise", "clip", "wrap", "fill")))  # fmt: skip


def _runtime_of(x: Any) -> Any:
    return x.runtime if isinstance(x, tw.EagerTensor) else tw.current_runtime()


def _gradient(x: Any, seed: Any) -> Any:
    v = _runtime_of(x).variable_from(x)
    tw.sum(tw.tanh(v) * v).backward(seed)
    return v.grad


def _assign_gradient(x: Any, g: Any) -> Any:
    v = _runtime_of(x).variable_from(x)
    v.grad = g
    return v.grad if v.grad is not None else "none"


def _forward(x: Any, t: Any) -> Any:
    return tw.jvp(lambda v: tw.sin(v) * v, [x], [t])


def _update(x: Any, other: Any) -> Any:
    v = _runtime_of(x).variable_from(x)
    with tw.no_grad():
        v += other
    return v


_add("backward", _gradient, _tensor, lambda s: None if s.chance(70) else odd_value(s))
_add("grad", _assign_gradient, _float_tensor, odd_value)
_add("jvp", _forward, _float_tensor, _tensor)
_add("jvp of anything", tw.jvp, lambda s: tw.sin, odd_value, odd_value)
_add_method("in-place", _update, _float_tensor, _some_scalar)
_add_method(
    "requires_grad_", lambda x, flag: x.requires_grad_(flag), _tensor, lambda s: s.chance(50)
)
_add_method("detach_into", lambda x, other: x.detach_into(_runtime_of(other)), _tensor, odd_value)
