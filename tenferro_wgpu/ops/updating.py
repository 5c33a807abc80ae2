"""Changed copies by index: ``x.at[key].set(v)`` and its relatives, as programs over primitives.

Tensors are immutable; what assignment does elsewhere is a new tensor here.  Because these are
programs over differentiable operations, gradients reach both `x` and `v`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import bool_
from ..errors import DTypeError
from . import choice, powers
from . import elementwise as arithmetic
from .calling import cast_to, check_scalar, is_scalar, lift
from .getitem import getitem, getitem_async
from .reading import Reading, run, run_async
from .scattering import REFUSED_KINDS, SCATTERS, scatter_of
from .selection import Selection, fitted, parse_key
from .structural import broadcast_to
from .value import Value, constant_like
from .views import reshaped

__all__ = ["IndexedTensor", "TensorIndexer"]

#: What each method makes of an old and a new element.
_COMBINATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, new: new,
    "add": arithmetic.add,
    "subtract": arithmetic.subtract,
    "multiply": arithmetic.multiply,
    "divide": arithmetic.divide,
    "power": powers.pow,
    "min": choice.minimum,
    "max": choice.maximum,
}
#: Kinds of dtypes that a combination does not take: quotients of integers are not integers.
_REFUSED = {**REFUSED_KINDS, "subtract": "b", "divide": "biu", "power": "b"}
#: What to write for methods of JAX that are not here.
_ELSEWHERE = {
    "apply": "x.at[key].set(f(x[key]))",
    "sub": "x.at[key].subtract(v)",
    "div": "x.at[key].divide(v)",
    "pow": "x.at[key].power(v)",
}


class TensorIndexer:
    """What ``x.at`` is: it waits for the index in brackets."""

    __slots__ = ("_x",)

    def __init__(self, x: Value) -> None:
        self._x = x

    def __getitem__(self, key: Any) -> IndexedTensor:
        return IndexedTensor(self._x, key)


class IndexedTensor:
    """A tensor with an index: methods return the whole tensor, changed at that index.

    `set`, `add`, `subtract`, `multiply`, `divide`, `power`, `min` and `max` change it; `get` gives
    ``x[key]``.

    The index is anything that ``x[key]`` takes.  Values broadcast to the shape of ``x[key]`` and
    take the dtype of `x`, as in an assignment.  Where an index array names an element several
    times, `set` keeps the last value, as NumPy does; the others accumulate: divisors and exponents
    are multiplied first.  A mask with a scalar reads nothing from the device; a mask with a tensor
    reads how many elements it chooses (`set_async` and its like wait for that where nothing can
    block).

    >>> import tenferro_wgpu as tw
    >>> x = tw.zeros((2, 3))
    >>> x.at[:, ::2].set(1.0).tolist()
    [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]
    >>> x.at[1, -1].add(5.0).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 5.0]]
    >>> x.at[[0, 0, 1], 2].add(1.0).tolist()
    [[0.0, 0.0, 2.0], [0.0, 0.0, 1.0]]
    >>> x.at[x == 0].set(7.0).tolist()
    [[7.0, 7.0, 7.0], [7.0, 7.0, 7.0]]
    """

    __slots__ = ("_key", "_x")

    def __init__(self, x: Value, key: Any) -> None:
        self._x = x
        self._key = key

    def set(self, value: Any) -> Any:
        """`x` with `value` at the index."""
        return run(self._changed("set", value), "at[...].set", "at[...].set_async")

    def add(self, value: Any) -> Any:
        """`x` with `value` added at the index; repeated indices of an index array accumulate."""
        return run(self._changed("add", value), "at[...].add", "at[...].add_async")

    def multiply(self, value: Any) -> Any:
        """`x` multiplied by `value` at the index; repeated indices accumulate."""
        return run(self._changed("multiply", value), "at[...].multiply", "at[...].multiply_async")

    mul = multiply

    def subtract(self, value: Any) -> Any:
        """`x` less `value` at the index; repeated indices accumulate."""
        return run(self._changed("subtract", value), "at[...].subtract", "at[...].subtract_async")

    def divide(self, value: Any) -> Any:
        """`x` divided by `value` at the index; repeated indices accumulate."""
        return run(self._changed("divide", value), "at[...].divide", "at[...].divide_async")

    def power(self, value: Any) -> Any:
        """`x` to the power of `value` at the index; exponents of repeated indices multiply."""
        return run(self._changed("power", value), "at[...].power", "at[...].power_async")

    def min(self, value: Any) -> Any:
        """The smaller of `x` and `value` at the index, `x` elsewhere; NaN if either is."""
        return run(self._changed("min", value), "at[...].min", "at[...].min_async")

    def max(self, value: Any) -> Any:
        """The larger of `x` and `value` at the index, `x` elsewhere; NaN if either is."""
        return run(self._changed("max", value), "at[...].max", "at[...].max_async")

    def get(self) -> Any:
        """``x[key]``."""
        return getitem(self._x, self._key)

    async def get_async(self) -> Any:
        """Like `get`, without blocking."""
        return await getitem_async(self._x, self._key)

    async def set_async(self, value: Any) -> Any:
        """Like `set`, without blocking."""
        return await run_async(self._changed("set", value))

    async def add_async(self, value: Any) -> Any:
        """Like `add`, without blocking."""
        return await run_async(self._changed("add", value))

    async def multiply_async(self, value: Any) -> Any:
        """Like `multiply`, without blocking."""
        return await run_async(self._changed("multiply", value))

    mul_async = multiply_async

    async def subtract_async(self, value: Any) -> Any:
        """Like `subtract`, without blocking."""
        return await run_async(self._changed("subtract", value))

    async def divide_async(self, value: Any) -> Any:
        """Like `divide`, without blocking."""
        return await run_async(self._changed("divide", value))

    async def power_async(self, value: Any) -> Any:
        """Like `power`, without blocking."""
        return await run_async(self._changed("power", value))

    async def min_async(self, value: Any) -> Any:
        """Like `min`, without blocking."""
        return await run_async(self._changed("min", value))

    async def max_async(self, value: Any) -> Any:
        """Like `max`, without blocking."""
        return await run_async(self._changed("max", value))

    def __getattr__(self, name: str) -> Any:
        hint = f"; write {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
        raise AttributeError(f"x.at[...] has no attribute {name!r}{hint}", name=name, obj=self)

    def _value(self, op: str, value: Any) -> Value:
        if isinstance(value, Value):
            return value
        if not is_scalar(value):
            return lift(op, value)  # raises, saying what to do with an ndarray or a list
        check_scalar(op, value, self._x.dtype)
        return constant_like(self._x, value, shape=())  # type: ignore[no-any-return]

    def _changed(self, name: str, value: Any) -> Reading[Any]:
        x, op = self._x, f"at[...].{name}"
        selection = parse_key(op, x, self._key)
        new = cast_to(self._value(op, value), x.dtype)
        _check_dtype(op, name, x)
        combine = _COMBINATIONS[name]
        mask = selection.mask
        if mask is not None and new.size == 1:
            # The same for every element: nothing depends on how many there are.
            old = selection.sliced()
            changed = combine(old, broadcast_to(reshaped(new, ()), old.shape))
            return selection.restored(
                choice.where(mask.along(old.shape, selection.place), changed, old)
            )
        yield from selection.counting()
        if mask is not None:
            return _masked(op, selection, combine, new)
        if selection.is_advanced:
            if name == "subtract":
                name, new = "add", arithmetic.negative(new)
            if name in SCATTERS:
                return selection.restored(selection.scattered(scatter_of(name, x.dtype), new))
            # One change by the product of what meets at an element, where something does.
            factors = yield from self._scattered(op, constant_like(x, 1), "multiply", new)
            flags = constant_like(x, False, dtype=bool_)
            found = constant_like(new, True, shape=(), dtype=bool_)
            named = yield from self._scattered(op, flags, "set", found)
            return choice.where(named, combine(x, factors), x)
        new = fitted(op, new, selection.shape)
        return selection.restored(combine(selection.sliced(), new))

    def _scattered(self, op: str, target: Value, name: str, new: Value) -> Reading[Any]:
        """Another tensor of the shape of `x`, changed at the same index."""
        selection = parse_key(op, target, self._key)
        yield from selection.counting()
        return selection.restored(selection.scattered(SCATTERS[name], new))


def _masked(op: str, selection: Selection, combine: Callable[[Any, Any], Any], new: Value) -> Any:
    """The whole tensor, changed where the mask of a selection chooses."""
    mask, place = selection.mask, selection.place
    assert mask is not None, "the caller looked"
    old = selection.sliced()
    shape = (*old.shape[:place], mask.count, *old.shape[place + 1 :])
    spread = mask.spread(fitted(op, new, shape), place)
    chosen = mask.along(old.shape, place)
    return selection.restored(choice.where(chosen, combine(old, spread), old))


def _check_dtype(op: str, name: str, x: Value) -> None:
    if x.dtype.kind in _REFUSED.get(name, ""):
        hint = (
            "take .real, .imag or abs(...)" if x.dtype.kind == "c" else "convert with astype(...)"
        )
        raise DTypeError(op, f"{x.dtype} tensors are not supported; {hint} first", (x.dtype,))
