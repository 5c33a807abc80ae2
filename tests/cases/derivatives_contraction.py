"""Differentiable products and convolutions, appended to `derivative_cases`."""

from __future__ import annotations

import numpy as np

import tenferro_wgpu as tw


def spread(*shape: int, salt: int = 0) -> np.ndarray:
    count = int(np.prod(shape))
    order = np.random.default_rng([31, salt, count]).permutation(count)
    return (-2 + 4 * (order + 0.5) / count).reshape(shape)


A, B, C = spread(3, 4), spread(4, 3, salt=1), spread(5, salt=2)
Z, W = A + 1j * spread(3, 4, salt=3), spread(5, salt=4) + 1j * C
PICTURE, KERNEL = spread(2, 4, 5, 4), spread(6, 2, 3, 2, salt=1)
#: Away from the points, where the derivative jumps.
PLACES, POINTS = np.array([-1.0, 0.3, 0.8, 1.7, 3.1, 5.2]), np.array([0.0, 0.5, 2.0, 4.0])

#: (name, function, inputs) of each.
CASES = [
    ("outer", tw.outer, (A, C)),
    ("kron", tw.kron, (A, B)),
    ("inner", tw.inner, (A, spread(2, 4))),
    ("dot", tw.dot, (A, spread(2, 4, 3))),
    ("cross", tw.cross, (B, spread(3, salt=5))),
    ("convolve", lambda x, y: tw.convolve(x, y, "same"), (C, A[0])),
    ("convolve, complex", tw.convolve, (Z[0], W)),
    ("correlate", lambda x, y: tw.correlate(x, y, "full"), (A[0], C)),
    ("correlate, complex", lambda x, y: tw.correlate(x, y, "full"), (Z[0], W)),
    ("conv", tw.conv, (spread(2, 3, 6), spread(4, 3, 3, salt=1))),
    (
        "conv, strides, dilations and groups",
        lambda x, k: tw.conv(
            x, k, strides=(2, 1), padding=((1, 2), (-1, 3)), input_dilation=(1, 2),
            kernel_dilation=(2, 1), groups=2,
        ),
        (PICTURE, KERNEL),
    ),
    ("conv, same", lambda x, k: tw.conv(x, k, strides=2, padding="SAME"), (PICTURE[:, :2], KERNEL)),
    ("conv, volume", tw.conv, (spread(1, 2, 3, 3, 4), spread(2, 2, 2, 2, 2, salt=1))),
    ("conv, complex", tw.conv, (Z.reshape(1, 2, 6), W[:4].reshape(1, 2, 2))),
    (
        "conv_transpose",
        lambda x, k: tw.conv_transpose(x, k, strides=2, padding=1, output_padding=1, groups=2),
        (spread(1, 4, 3), spread(4, 2, 3, salt=1)),
    ),
    ("interp", tw.interp, (PLACES, POINTS, A[0])),
    ("interp, period", lambda x, p, f: tw.interp(x, p, f, period=4.5), (PLACES, POINTS, A[0])),
]  # fmt: skip
