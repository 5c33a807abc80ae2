"""Structural operations with their NumPy references: programs of a namespace and a tensor.

Each is called with NumPy and with this library; the tensor has shape (4, 6) or what a layout of
`values.LAYOUTS` makes of it, or is the cube of `CUBE_SHAPE`.  They move elements alone, so every
dtype must come out bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = ["CUBES", "CUBE_SHAPE", "MATRICES", "REFERENCE"]

Program = Callable[[Any, Any], Any]

CUBE_SHAPE = (2, 3, 4)


def _embed_diagonal(x: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Any:
    extent = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], extent, extent), x.dtype)
    places = np.arange(x.shape[-1])
    out[..., places + max(0, -offset), places + max(0, offset)] = x
    return np.moveaxis(out, (-2, -1), (axis1, axis2))


#: NumPy with what it lacks or spells differently.
REFERENCE: Any = SimpleNamespace(
    **{name: getattr(np, name) for name in np.__all__ if hasattr(np, name)},
)
REFERENCE.embed_diagonal = _embed_diagonal
REFERENCE.tril = lambda x, *, k=0: np.tril(x, k)
REFERENCE.triu = lambda x, *, k=0: np.triu(x, k)

#: Programs of a matrix, of any extents above 0.
MATRICES: dict[str, Program] = {
    "reshape, column-major": lambda xp, x: xp.reshape(x, (-1, 2), order="F"),
    "roll": lambda xp, x: xp.roll(x, 5),
    "roll, axis": lambda xp, x: xp.roll(x, -1, axis=1),
    "roll, axes": lambda xp, x: xp.roll(x, (1, 7, 2), axis=(0, 1, 0)),
    "repeat": lambda xp, x: xp.repeat(x, 3),
    "repeat, axis": lambda xp, x: xp.repeat(x, 2, axis=1),
    "repeat, counts": lambda xp, x: xp.repeat(x, [n % 3 for n in range(x.shape[0])], axis=0),
    "repeat, never": lambda xp, x: xp.repeat(x, 0, axis=0),
    "tile": lambda xp, x: xp.tile(x, (2, 3)),
    "tile, one": lambda xp, x: xp.tile(x, 2),
    "tile, new axes": lambda xp, x: xp.tile(x, (2, 1, 1, 2)),
    "split": lambda xp, x: xp.split(x, [1, 3, -1, 9], axis=1),
    "array_split": lambda xp, x: xp.array_split(x, 4, axis=1),
    "rot90": lambda xp, x: xp.rot90(x),
    "rot90, thrice": lambda xp, x: xp.rot90(x, -1),
    "rot90, twice": lambda xp, x: xp.rot90(x, 2),
    "flipud": lambda xp, x: xp.flipud(x),
    "fliplr": lambda xp, x: xp.fliplr(x),
    "diagonal": lambda xp, x: xp.diagonal(x),
    "diagonal, above": lambda xp, x: xp.diagonal(x, 1),
    "diagonal, below": lambda xp, x: xp.diagonal(x, -1),
    "diagonal, nothing": lambda xp, x: xp.diagonal(x, 99),
    "embed_diagonal": lambda xp, x: xp.embed_diagonal(x, 1),
    "embed_diagonal, axes": lambda xp, x: xp.embed_diagonal(x, -2, 0, 2),
    "diag": lambda xp, x: xp.diag(x[0], -1),
    "diag of a matrix": lambda xp, x: xp.diag(x, 2),
    "tril": lambda xp, x: xp.tril(x),
    "tril, shifted": lambda xp, x: xp.tril(x, k=2),
    "tril, all": lambda xp, x: xp.tril(x, k=99),
    "triu": lambda xp, x: xp.triu(x),
    "triu, shifted": lambda xp, x: xp.triu(x, k=-2),
    "triu, nothing": lambda xp, x: xp.triu(x, k=99),
    "pad, edge": lambda xp, x: xp.pad(x, ((1, 2), (0, 3)), "edge"),
    "pad, reflect": lambda xp, x: xp.pad(x, ((1, 0), (2, 1)), "reflect"),
    "pad, reflect often": lambda xp, x: xp.pad(x, 41, "reflect"),
    "pad, symmetric": lambda xp, x: xp.pad(x, (3, 2), "symmetric"),
    "pad, wrap": lambda xp, x: xp.pad(x, (3, 7), "wrap"),
    "pad, sides": lambda xp, x: xp.pad(x, 2, constant_values=((False, True), (True, False))),
    "atleast_3d": lambda xp, x: xp.atleast_3d(x),
    "hstack": lambda xp, x: xp.hstack([x, x[:, :1]]),
    "vstack": lambda xp, x: xp.vstack([x, x[0], x[:1]]),
    "dstack": lambda xp, x: xp.dstack([x, xp.flip(x)]),
    "column_stack": lambda xp, x: xp.column_stack([x, x[:, 0]]),
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[0], x[:, :1]),
}

#: Programs of a tensor of shape `CUBE_SHAPE`.
CUBES: dict[str, Program] = {
    "roll": lambda xp, x: xp.roll(x, (1, -1), axis=(0, 2)),
    "tile": lambda xp, x: xp.tile(x, (2, 1, 2)),
    "repeat": lambda xp, x: xp.repeat(x, [2, 0, 1], axis=1),
    "split": lambda xp, x: xp.split(x, 2, axis=2),
    "rot90": lambda xp, x: xp.rot90(x, 1, (2, 0)),
    "diagonal": lambda xp, x: xp.diagonal(x, 1, 2, 0),
    "diagonal of a view": lambda xp, x: xp.diagonal(xp.flip(x, 1)[:, ::2], 0, 1, 2),
    "embed_diagonal": lambda xp, x: xp.embed_diagonal(x, 0, 1, 0),
    "tril": lambda xp, x: xp.tril(x, k=-1),
    "triu": lambda xp, x: xp.triu(xp.swapaxes(x, 0, 2), k=1),
    "pad, wrap": lambda xp, x: xp.pad(x, ((0, 1), (2, 0), (1, 1)), "wrap"),
    "stacks of scalars": lambda xp, x: xp.hstack([x[0, 0, 0], x[1, 2]]),
    "atleast": lambda xp, x: (
        xp.atleast_1d(x[0, 0, 0]), xp.atleast_2d(x[0, 0]), *xp.atleast_3d(x[0, 0], x[0], x),
    ),
    "eight axes": lambda xp, x: xp.tile(
        xp.roll(xp.reshape(x, (2, 1, 3, 1, 2, 1, 2, 1)), 1, 4), (1, 2, 1, 1, 2, 3, 1, 2)
    ),
}  # fmt: skip
