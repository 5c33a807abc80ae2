"""Differentiable structural programs, appended to `derivative_cases`."""

from __future__ import annotations

import numpy as np

import tenferro_wgpu as tw

_STEPS = np.random.default_rng(11).permutation(24) / 7 - 1.6
CUBE = _STEPS.reshape(2, 3, 4)
MATRIX = _STEPS[:12].reshape(3, 4)
ROW = _STEPS[12:16]

#: (name, function, inputs) of each.
CASES = [
    ("roll", lambda x: tw.roll(x, (1, -2), (0, 2)) * x, (CUBE,)),
    ("roll, flat", lambda x: tw.roll(x, 5) * x, (MATRIX,)),
    ("repeat", lambda x: tw.repeat(x, 3, axis=1), (CUBE,)),
    ("repeat, counts", lambda x: tw.repeat(x, [2, 0, 1], axis=1), (CUBE,)),
    ("tile", lambda x: tw.tile(x, (2, 1, 3)), (MATRIX,)),
    ("split", lambda x: tw.multiply(*tw.split(x, 2, axis=2)), (CUBE,)),
    ("rot90", lambda x: tw.rot90(x, 1, (0, 2)), (CUBE,)),
    ("diagonal", lambda x: tw.diagonal(x, 1, 2, 1) ** 2, (CUBE,)),
    ("diagonal, below", lambda x: tw.diagonal(x, -1), (MATRIX,)),
    ("diagonal, nothing", lambda x: tw.diagonal(x, 9), (MATRIX,)),
    ("embed_diagonal", lambda x: tw.embed_diagonal(x, -1, 0, 2), (MATRIX,)),
    ("trace", lambda x: tw.trace(x, 1, 1, 2), (CUBE,)),
    ("tril", lambda x: tw.tril(x, k=1), (CUBE,)),
    ("triu", lambda x: tw.triu(x * x), (CUBE,)),
    ("pad, edge", lambda x: tw.pad(x, ((1, 2), (0, 3)), "edge"), (MATRIX,)),
    ("pad, reflect", lambda x: tw.pad(x, (2, 1), "reflect"), (MATRIX,)),
    ("pad, wrap", lambda x: tw.pad(x, ((4, 1), (0, -1)), "wrap"), (MATRIX,)),
    ("pad, symmetric far", lambda x: tw.pad(x, (30, 40), "symmetric"), (ROW,)),
    ("hstack", lambda x, y: tw.hstack([x, x * y]), (MATRIX, ROW)),
    ("broadcast_arrays", lambda x, y: tw.multiply(*tw.broadcast_arrays(x, y)), (CUBE, ROW)),
]
