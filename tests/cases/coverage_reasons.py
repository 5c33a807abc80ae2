"""Why a public function refuses a dtype: what the coverage page says in the cell.

`reason` answers for every cell in which a call of `coverage_calls` raises DTypeError; a cell
without an answer is an error of the page, so that no hole is left unexplained.
"""

from __future__ import annotations

import numpy as np

NOT_OF_BOOLS = "NumPy refuses bools too"
RANGE_OF_BOOLS = "numbers only in the Array API; NumPy has no range of more than two bools"
NUMBERS_ONLY = "numbers only, as in JAX and PyTorch; NumPy has no such function"
BITS = "bits are of bools and integers; NumPy refuses too"
ORDER = "complex numbers have no order; real dtypes only in the Array API"
REAL = "NumPy refuses complex numbers too"
REAL_STATISTICS = "defined by comparisons or logarithms of real numbers; not in NumPy"
REAL_SPECIAL = "of real numbers; not in NumPy"
REAL_PARTS = "the parts of a complex number are real"

#: Reason -> the functions that refuse bools, floats or complex numbers for it.
_BOOLS = {
    NOT_OF_BOOLS: "subtract negative positive sign cross ptp unwrap",
    RANGE_OF_BOOLS: "arange",
    NUMBERS_ONLY: "conv conv_transpose relu",
}
_BITS = [
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_count", "gcd", "lcm",
    "bitwise_left_shift", "bitwise_right_shift",
]  # fmt: skip
_COMPLEX = {
    ORDER: (
        "maximum minimum fmax fmin clip less less_equal greater greater_equal max min argmax "
        "argmin reduce_max reduce_min nanmax nanmin cummax cummin median nanmedian quantile "
        "percentile nanquantile nanpercentile ptp histogram histogram2d histogramdd"
    ),
    REAL: (
        "floor ceil trunc floor_divide remainder fmod divmod atan2 hypot logaddexp copysign "
        "nextafter signbit cbrt deg2rad rad2deg digitize bincount heaviside unwrap"
    ),
    REAL_STATISTICS: (
        "logsumexp cumulative_logsumexp softmax log_softmax masked_softmax masked_log_softmax "
        "layer_norm rms_norm relu"
    ),
    REAL_PARTS: "complex",
    REAL_SPECIAL: "sigmoid softplus silu gelu erf erfc lgamma digamma polygamma",
}


def reason(function: str, dtype: str) -> str:
    """Why a function, under its first name, refuses a dtype; KeyError if nobody says."""
    kind = np.dtype(dtype).kind
    if kind in "fc" and function in _BITS:
        return BITS
    for why, functions in {"b": _BOOLS, "c": _COMPLEX}.get(kind, {}).items():
        if function in functions.split():
            return why
    raise KeyError(f"{function} of {dtype} is refused without a reason")
