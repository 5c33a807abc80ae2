"""Differentiable statistics, norms and activations, appended to `derivative_cases`."""

from __future__ import annotations

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.ops.scanning_rules import recurrence

_STEPS = np.random.default_rng(12).permutation(24) / 6 - 1.9
CUBE = _STEPS.reshape(2, 3, 4)
MATRIX = _STEPS[:12].reshape(3, 4)
ROW = _STEPS[12:16]
OTHER = np.random.default_rng(13).permutation(24).reshape(2, 3, 4) / 7 - 1.6
POSITIVE = np.abs(CUBE) + 0.3
COMPLEX = CUBE + 1j * OTHER

ZEROS = np.array([[1.5, -2.0, 0.5, 3.0], [0.0, 2.0, -1.0, 0.7], [0.3, 0.0, 0.0, -0.4]])

#: (name, function, inputs) of each.
CASES = [
    ("var", lambda x: tw.var(x, axis=1), (CUBE,)),
    ("var, all", lambda x: tw.var(x, correction=1.5) * x, (MATRIX,)),
    ("var, two axes", lambda x: tw.var(x, axis=(0, 2), keepdims=True) * x, (CUBE,)),
    ("var, complex", lambda z: tw.var(z, axis=2), (COMPLEX,)),
    ("std", lambda x: tw.std(x, axis=-1), (CUBE,)),
    ("sum_of_squares", lambda x: tw.sum_of_squares(x, axis=(0, 1)), (CUBE,)),
    ("sum_of_squares, complex", lambda z: tw.sum_of_squares(z, axis=1), (COMPLEX,)),
    ("logsumexp", lambda x: tw.logsumexp(x, axis=1) * 2, (CUBE,)),
    ("logsumexp, all", lambda x: tw.logsumexp(x, keepdims=True) * x, (MATRIX,)),
    *(
        (
            f"vector_norm, ord {order}",
            lambda x, order=order: tw.vector_norm(x, axis=(0, 2), ord=order) ** 2,
            (CUBE,),
        )
        for order in (2, 1, np.inf, -np.inf, 3.5)
    ),
    ("vector_norm, complex", lambda z: tw.vector_norm(z, axis=1, ord=3), (COMPLEX,)),
    ("norm", lambda x: tw.norm(x) * x, (MATRIX,)),
    ("average", lambda x, w: tw.average(x, 1, w), (CUBE, POSITIVE)),
    ("average, returned", lambda x, w: tw.multiply(*tw.average(x, 2, w, True)), (CUBE, ROW + 3)),
    ("cov", lambda x, y: tw.cov(x, y), (MATRIX, ROW)),
    ("cov, weights", lambda x, w: tw.cov(x, aweights=w), (MATRIX, ROW + 3)),
    ("nansum", lambda x: tw.nansum(tw.where(x > 1.55, np.nan, x * x), axis=1), (CUBE,)),
    ("nanmean", lambda x: tw.nanmean(tw.where(x > 1.55, np.nan, x * x), axis=1), (CUBE,)),
    ("nanmax", lambda x: tw.nanmax(tw.where(x > 1.55, np.nan, x * x), axis=1), (CUBE,)),
    ("nanmin", lambda x: tw.nanmin(tw.where(x > 1.55, np.nan, x * x), axis=1), (CUBE,)),
    ("diff", lambda x: tw.diff(x, 2, 1) ** 2, (CUBE,)),
    ("diff, edges", lambda x, y: tw.diff(x, axis=0, prepend=y[None], append=0.5), (MATRIX, ROW)),
    ("sum, initial and where", lambda x: tw.sum(x * x, axis=1, initial=2, where=x > 0), (CUBE,)),
    ("max, initial and where", lambda x: tw.max(x, axis=1, initial=0.4, where=x < 1), (CUBE,)),
    ("cumsum", lambda x: tw.cumsum(x, axis=1) * x, (CUBE,)),
    ("cumsum, flat", tw.cumsum, (MATRIX,)),
    (
        "cumulative_sum, initial",
        lambda x: tw.cumulative_sum(x * x, axis=0, include_initial=True),
        (MATRIX,),
    ),
    ("linear recurrence", lambda a, b: recurrence(a, b, 1), (CUBE, OTHER)),
    ("linear recurrence, from the end", lambda a, b: recurrence(a, b, 1, True), (ZEROS, MATRIX)),
    ("cumprod", lambda x: tw.cumprod(x, axis=1), (CUBE,)),
    ("cumprod, zeros", lambda x: tw.cumprod(x, axis=1), (ZEROS,)),
    ("cumprod, complex", lambda z: tw.cumprod(z, axis=2), (COMPLEX,)),
    ("cummax", lambda x: tw.cummax(x, axis=1) ** 2, (CUBE,)),
    ("cummin", lambda x: tw.cummin(x) * x.reshape(-1), (MATRIX,)),
    ("cumulative_logsumexp", lambda x: tw.cumulative_logsumexp(3 * x, axis=1), (CUBE,)),
    ("relu", lambda x: tw.relu(x) * x, (CUBE,)),
    ("softplus", lambda x: tw.softplus(3 * x), (CUBE,)),
    ("gelu", tw.gelu, (CUBE,)),
    ("gelu, tanh", lambda x: tw.gelu(x, approximate="tanh"), (CUBE,)),
    ("silu", lambda x: tw.silu(2 * x), (CUBE,)),
    ("softmax", lambda x: tw.softmax(x) * x, (CUBE,)),
    ("softmax, two axes", lambda x: tw.softmax(x, axis=(0, 2)), (CUBE,)),
    ("log_softmax", lambda x: tw.log_softmax(x, axis=1), (CUBE,)),
    ("masked_softmax", lambda x: tw.masked_softmax(x, x < 1.2), (CUBE,)),
    (
        "masked_log_softmax",
        lambda x: tw.where(x < 1.2, tw.masked_log_softmax(x, x < 1.2, axis=0), 0.0),
        (CUBE,),
    ),
    ("layer_norm", tw.layer_norm, (CUBE, ROW, ROW * ROW)),
    ("layer_norm, columns", lambda x: tw.layer_norm(x, axis=1, eps=0.1), (CUBE,)),
    ("rms_norm", lambda x, w: tw.rms_norm(x, w), (CUBE, ROW)),
]
