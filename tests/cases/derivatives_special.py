"""Derivatives of the special functions, appended to `derivative_cases`."""

from __future__ import annotations

import numpy as np

import tenferro_wgpu as tw

SYMMETRIC = np.linspace(-2.2, 1.9, 12).reshape(3, 4)
POSITIVE = np.linspace(0.2, 13.0, 12).reshape(3, 4)
#: Between two poles, away from the zeros of lgamma and digamma.
NEGATIVE = np.linspace(-1.9, -1.1, 5)

#: (name, function, inputs) of each.
CASES = [
    ("erf", tw.erf, (SYMMETRIC,)),
    ("erfc", tw.erfc, (SYMMETRIC,)),
    ("lgamma", tw.lgamma, (POSITIVE,)),
    ("lgamma, negative", tw.lgamma, (NEGATIVE,)),
    ("digamma", tw.digamma, (POSITIVE,)),
    ("digamma, negative", tw.digamma, (NEGATIVE,)),
    ("polygamma", lambda x: tw.polygamma(2, x), (POSITIVE,)),
]
