"""The primitives that scatter by replacing, multiplying and taking extrema, with their rules.

They go beside SCATTER_ADD of `gathering` and check shapes alone, as it does.  Entries are the
elements of `updates`; several may meet at one element of `x`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import bool_, int32
from ..tensor import ShapeDtype
from . import choice
from . import elementwise as arithmetic
from .gathering import SCATTER_ADD, gather_zero, scatter_shape
from .primitive import Primitive
from .value import Value, apply, constant_like

__all__ = [
    "REFUSED_KINDS", "SCATTERS", "SCATTER_MAX", "SCATTER_MIN", "SCATTER_MUL", "SCATTER_SET",
    "scatter_of",
]  # fmt: skip

Shape = tuple[int, ...]
#: Something of which only shape and dtype matter.
Like = ShapeDtype | Value


def _at_entries(x: Value, indices: Value, updates: Like, axes: Shape, mode: str) -> Any:
    """The element of `x` that each entry meets; 0 for an entry that is dropped."""
    return gather_zero(x, indices, axes, updates.shape[indices.ndim - 1 :], mode)


def _sums(entries: Value, x: Like, indices: Value, axes: Shape, mode: str) -> Any:
    """The sum of the entries at each element of `x`."""
    zeros = constant_like(entries, 0, shape=x.shape)
    return apply(SCATTER_ADD, zeros, indices, entries, axes=axes, mode=mode)


# -- the last entry replaces --------------------------------------------------------------------


def _replaced(x: Value, indices: Value, updates: Value, axes: Shape, mode: str) -> Any:
    return apply(SCATTER_SET, x, indices, updates, axes=axes, mode=mode)


def _cleared(g: Value, indices: Value, updates: ShapeDtype, axes: Shape, mode: str) -> Any:
    """`g` with zeros wherever an entry is."""
    zeros = constant_like(g, 0, shape=updates.shape)
    return _replaced(g, indices, zeros, axes, mode)


def _last_entries_vjp(
    g: Value, x: ShapeDtype, indices: Value, updates: ShapeDtype, axes: Shape, mode: str
) -> Any:
    """The cotangent of each entry that stayed; of entries that meet only the last one did."""
    numbers = g.interpreter.array(
        np.arange(1, 1 + int(np.prod(updates.shape)), dtype=np.int32).reshape(updates.shape)
    )
    none = constant_like(numbers, 0, shape=x.shape)
    stayed = _replaced(none, indices, numbers, axes, mode)
    wins = choice.equal(_at_entries(stayed, indices, updates, axes, mode), numbers)
    return choice.where(
        wins,
        _at_entries(g, indices, updates, axes, mode),
        constant_like(g, 0, shape=updates.shape),
    )


SCATTER_SET: Primitive = Primitive(
    "scatter_set", ("x", "indices", "updates"), scatter_shape("scatter_set"),
    vjp=(
        lambda g, indices, updates_like, *, axes, mode: _cleared(
            g, indices, updates_like, axes, mode
        ),
        None,
        lambda g, x_like, indices, updates_like, *, axes, mode: _last_entries_vjp(
            g, x_like, indices, updates_like, axes, mode
        ),
    ),
    jvp=(
        lambda t, indices, updates_like, *, axes, mode: _cleared(
            t, indices, updates_like, axes, mode
        ),
        None,
        lambda t, x_like, indices, *, axes, mode: _replaced(
            constant_like(t, 0, shape=x_like.shape), indices, t, axes, mode
        ),
    ),
)  # fmt: skip


# -- products -----------------------------------------------------------------------------------


def _multiplied(x: Value, indices: Value, updates: Value, axes: Shape, mode: str) -> Any:
    return apply(SCATTER_MUL, x, indices, updates, axes=axes, mode=mode)


def _products_of_others(x: Like, indices: Value, updates: Value, axes: Shape, mode: str) -> Any:
    """For each entry the product of all others that meet it, right with zeros among them.

    A product without zeros over the entry itself, times the one other zero if there is one: that
    factor is 0, but its derivative is not.
    """
    one, zero = constant_like(updates, 1), constant_like(updates, 0)
    is_zero = choice.equal(updates, 0)
    nonzero = choice.where(is_zero, one, updates)
    zeros = choice.where(is_zero, updates, zero)

    def met(per_element: Value) -> Any:
        return _at_entries(per_element, indices, updates, axes, mode)

    product = met(
        _multiplied(constant_like(updates, 1, shape=x.shape), indices, nonzero, axes, mode)
    )
    product = choice.where(is_zero, product, arithmetic.divide(product, nonzero))
    single = arithmetic.subtract(met(_sums(zeros, x, indices, axes, mode)), zeros)
    counted = choice.where(is_zero, constant_like(updates, 1, dtype=int32),
                           constant_like(updates, 0, dtype=int32))  # fmt: skip
    others = arithmetic.subtract(met(_sums(counted, x, indices, axes, mode)), counted)
    factor = choice.where(
        choice.equal(others, 0), one, choice.where(choice.equal(others, 1), single, zero)
    )
    return arithmetic.multiply(product, factor)


def _factor_vjp(g: Value, x: Value, indices: Value, updates: Value, axes: Shape, mode: str) -> Any:
    met = _at_entries(arithmetic.multiply(g, arithmetic.conj(x)), indices, updates, axes, mode)
    others = _products_of_others(x, indices, updates, axes, mode)
    return arithmetic.multiply(met, arithmetic.conj(others))


def _factor_jvp(t: Value, x: Value, indices: Value, updates: Value, axes: Shape, mode: str) -> Any:
    others = _products_of_others(x, indices, updates, axes, mode)
    return arithmetic.multiply(x, _sums(arithmetic.multiply(t, others), x, indices, axes, mode))


SCATTER_MUL: Primitive = Primitive(
    "scatter_mul", ("x", "indices", "updates"), scatter_shape("scatter_mul"),
    vjp=(
        lambda g, indices, updates, *, axes, mode: _multiplied(
            g, indices, arithmetic.conj(updates), axes, mode
        ),
        None,
        lambda g, x, indices, updates, *, axes, mode: _factor_vjp(
            g, x, indices, updates, axes, mode
        ),
    ),
    jvp=(
        lambda t, indices, updates, *, axes, mode: _multiplied(t, indices, updates, axes, mode),
        None,
        lambda t, x, indices, updates, *, axes, mode: _factor_jvp(
            t, x, indices, updates, axes, mode
        ),
    ),
)  # fmt: skip


# -- extrema ------------------------------------------------------------------------------------


def _winners(
    x: Value, indices: Value, updates: Value, out: Value, axes: Shape, mode: str
) -> tuple[Any, Any, Any]:
    """Which elements and which entries are the extremum, and how many share each one.

    Nothing wins where the result is NaN; shares are at least 1, so that they divide.
    """
    stays = choice.equal(x, out)
    wins = choice.equal(updates, _at_entries(out, indices, updates, axes, mode))
    count = arithmetic.add(
        choice.where(stays, constant_like(out, 1), constant_like(out, 0)),
        _sums(
            choice.where(wins, constant_like(updates, 1), constant_like(updates, 0)),
            x, indices, axes, mode,
        ),
    )  # fmt: skip
    return stays, wins, choice.maximum(count, 1)


def _element_share(g: Value, stays: Value, count: Value) -> Any:
    return choice.where(stays, arithmetic.divide(g, count), constant_like(g, 0))


def _extremum_rules() -> tuple[Any, Any]:
    """Rules that share a derivative equally among equal extrema, as `max` does."""

    def element(
        g: Value, x: Value, indices: Value, updates: Value, out: Value, *, axes: Shape, mode: str
    ) -> Any:
        stays, _, count = _winners(x, indices, updates, out, axes, mode)
        return _element_share(g, stays, count)

    def entry_vjp(
        g: Value, x: Value, indices: Value, updates: Value, out: Value, *, axes: Shape, mode: str
    ) -> Any:
        _, wins, count = _winners(x, indices, updates, out, axes, mode)
        share = _at_entries(arithmetic.divide(g, count), indices, updates, axes, mode)
        return choice.where(wins, share, constant_like(updates, 0))

    def entry_jvp(
        t: Value, x: Value, indices: Value, updates: Value, out: Value, *, axes: Shape, mode: str
    ) -> Any:
        _, wins, count = _winners(x, indices, updates, out, axes, mode)
        total = _sums(choice.where(wins, t, constant_like(t, 0)), x, indices, axes, mode)
        return arithmetic.divide(total, count)

    return (element, None, entry_vjp), (element, None, entry_jvp)


_VJP, _JVP = _extremum_rules()

SCATTER_MIN: Primitive = Primitive(
    "scatter_min", ("x", "indices", "updates"), scatter_shape("scatter_min"), vjp=_VJP, jvp=_JVP
)
SCATTER_MAX: Primitive = Primitive(
    "scatter_max", ("x", "indices", "updates"), scatter_shape("scatter_max"), vjp=_VJP, jvp=_JVP
)

#: Every way to combine an element with the entries that meet it.
SCATTERS: dict[str, Primitive] = {
    "set": SCATTER_SET,
    "add": SCATTER_ADD,
    "mul": SCATTER_MUL,
    "multiply": SCATTER_MUL,
    "min": SCATTER_MIN,
    "max": SCATTER_MAX,
}
#: Kinds of dtypes that have no such combination: complex numbers have no order.
REFUSED_KINDS = {"min": "c", "max": "c"}
#: What sums and products of bools are, as in NumPy: or, and.
_LOGIC = {"add": SCATTER_MAX, "mul": SCATTER_MIN, "multiply": SCATTER_MIN}


def scatter_of(combine: str, dtype: Any) -> Primitive:
    """The primitive that combines elements of a dtype in one of the ways of `SCATTERS`."""
    return _LOGIC.get(combine, SCATTERS[combine]) if dtype is bool_ else SCATTERS[combine]
