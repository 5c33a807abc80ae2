"""Differentiable programs that sort and pick by order; continued by `derivative_cases`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.ops.permuting import SORT, unpermuted_rows
from tenferro_wgpu.ops.value import apply

CASES: list[tuple[str, Callable[..., Any], tuple[np.ndarray, ...]]] = []


def _spread(*shape: int, salt: int = 0) -> np.ndarray:
    """Distinct values in a shuffled order."""
    count = int(np.prod(shape))
    steps = (np.arange(count) + 0.5) / count
    return (4 * steps[np.random.default_rng([salt, 9]).permutation(count)] - 2).reshape(shape)


def case(name: str, function: Callable[..., Any], *inputs: np.ndarray) -> None:
    CASES.append((name, function, inputs))


X = _spread(3, 4)
CUBE = _spread(2, 3, 4, salt=1)
Z = _spread(3, 4, salt=2) + 1j * _spread(3, 4, salt=3)
TIES = np.array([[1.0, 1.0, 0.5, 1.0], [2.0, -1.0, 2.0, -1.0], [0.0, 0.0, 0.0, 0.0]])

case("sort", tw.sort, X)
case("sort, squared", lambda x: tw.sort(x * x, axis=0) * x, X)
case("sort, axis 1 of 3", lambda x: tw.sort(x, axis=1, descending=True) ** 2, CUBE)
case("sort, all", lambda x: tw.sort(x, axis=None), X)
case("sort, complex", tw.sort, Z)
case("sort by its rule", lambda x: apply(SORT, x * 2, descending=True, places=None) * x, X)
case("topk", lambda x: tw.topk(x, 2).values, X)
case("topk, smallest", lambda x: tw.topk(x * x, 2, axis=0, largest=False).values, X)
case("partition", lambda x: tw.partition(x * x, 2, axis=0) * x, X)
case("delete", lambda x: tw.delete(x * x, [0, -1], axis=1) ** 2, X)
case("insert", lambda x, v: tw.insert(x, [1, 0, 1], v * v, axis=0), X, _spread(3, 1, salt=12))
case("union1d", lambda x, v: tw.union1d(x, v) ** 2, X, _spread(5, salt=13))
case("setdiff1d", lambda x: tw.setdiff1d(x, x[0]) ** 2, X)
case("unpermute", lambda x: unpermuted_rows(x * x, tw.argsort(x)), X)

# -- masks and changed copies -------------------------------------------------------------------

MASK = np.array([[True, False, False, True], [False, False, True, True], [False] * 4])
ROWS = [2, 0, 2]
U = _spread(3, 4, salt=5)
C = _spread(3, salt=6)

case("mask", lambda x: x[MASK] ** 2, X)
case("mask of a device", lambda x: x[x > 0.1] ** 2, X)
case("mask beside a slice", lambda x: x[:, MASK[:, :2].T[0], ::-1] ** 3, CUBE)
case("mask beside an array", lambda x: x[MASK[:, 0], [1, 0, 1][:1]] ** 2, X)
case("mask, set by a scalar", lambda x: x.at[MASK].set(2.0) * x, X)
case("mask, set", lambda x, v: x.at[x > 0.1].set(v[: int(np.sum(X > 0.1))] ** 2), X, _spread(12))
case("mask, multiply", lambda x, v: x.at[MASK].multiply(v), X, _spread(4, salt=7))
case("at, divide", lambda x, v: x.at[1:, ::2].divide(v), X, C[:2])
case("at, power", lambda x, v: (x * x).at[ROWS, 1].power(v), X, C + 0.7)
for _name in ("set", "add", "subtract", "multiply", "divide", "min", "max"):
    case(
        f"at, {_name} elements",
        lambda x, v, _n=_name: getattr(x.at[[0, 1, 0], [3, 3, 3]], _n)(v) ** 2,
        X, C + 0.7 if _name == "divide" else C,
    )  # fmt: skip
for _name in ("set", "multiply", "max"):
    case(f"at, {_name}", lambda x, v, _n=_name: getattr(x.at[1:, ::2], _n)(v), X, C[:2])
    case(f"at, {_name} rows", lambda x, v, _n=_name: getattr(x.at[ROWS], _n)(v * v), X, U)
for _name in ("set", "min"):
    case(
        f"at, {_name} beside slices",
        lambda x, v, _n=_name: getattr(x.at[1, :, [0, 2, 0]], _n)(v), CUBE, _spread(3, 3, salt=8),
    )  # fmt: skip
case("at, multiply, complex", lambda z, v: z.at[ROWS].multiply(v), Z, Z[::-1] + 0.5)
case("at, set, complex", lambda z, v: z.at[ROWS].set(v * v), Z, Z[::-1] + 0.5)
ZEROS = np.array([[0.0, 0.0, 2.0, 1.0], [1.0, 3.0, 0.0, 0.0], [0.0, 4.0, -1.0, 0.0]])
case("at, multiply by zeros", lambda x, v: x.at[ROWS].multiply(v), X, ZEROS)

# -- quantiles, distinct elements, windows, counts ----------------------------------------------

case("median", lambda x: tw.median(x, axis=1), _spread(3, 5, salt=10))
case("median of an even number", lambda x: tw.median(x**3, axis=(0, 2)), CUBE)
case("nanmedian", lambda x: tw.nanmedian(x, axis=1, keepdims=True) * x, X)
case("quantile", lambda x: tw.quantile(x, [0.1, 0.5, 0.77], axis=1), X)
case("quantile, midpoint", lambda x: tw.quantile(x, 0.4, axis=0, method="midpoint") ** 2, X)
case("unique", lambda x: tw.unique(x) ** 2, X)
case("unique, slices", lambda x: tw.unique(x, axis=1) ** 2, X)
case("dynamic_slice", lambda x: tw.dynamic_slice(x, tw.asarray([1, 9]), (2, 2)) ** 2, X)
case("dynamic_slice, host", lambda x: tw.dynamic_slice(x, [1, 9], (2, 2)) ** 2, X)
case(
    "dynamic_update_slice",
    lambda x, v: tw.dynamic_update_slice(x * x, v, tw.asarray([1, 9])), X, _spread(2, 3),
)  # fmt: skip
case(
    "put_along_axis", lambda x, v: tw.put_along_axis(x, [[0, 0], [2, 1], [3, 0]], v * v, axis=1),
    X, _spread(3, 2),
)  # fmt: skip
for _name in ("set", "add", "multiply", "min", "max"):
    case(
        f"scatter, {_name}",
        lambda x, v, _n=_name: tw.scatter(
            x, [[0], [9], [1]], v, axes=(1,), combine=_n, mode="fill"
        ),
        X, _spread(3, 3, 2, salt=11),
    )  # fmt: skip
case("bincount", lambda w: tw.bincount(tw.asarray([0, 2, 2, 1]), w * w), _spread(4))
case("histogram", lambda w: tw.histogram(tw.asarray([0.0, 2.0, 2.5, 1.0]), 3, weights=w)[0] ** 2,
     _spread(4))  # fmt: skip
