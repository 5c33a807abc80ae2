"""Random eager programs for the fusion tests: chains, reductions, scans, views, dropped results.

A program is a list of instructions over a growing list of tensors, made from a seed.  Running it
touches the public functions only, so that the same program runs with fusion on, off and in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro_wgpu as tw

#: Functions of each kind of dtype.
UNARY = {
    "f": (
        "exp", "sin", "tanh", "negative", "abs", "sqrt", "log1p", "sign", "floor", "round",
        "cbrt", "atan", "sigmoid", "exp2", "asinh", "reciprocal",
    ),
    "i": ("negative", "abs", "sign", "bitwise_not", "square"),
    "u": ("negative", "bitwise_not", "square"),
    "c": ("exp", "negative", "sqrt", "conj", "square", "sin"),
}  # fmt: skip
BINARY = {
    "f": (
        "add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "hypot",
        "atan2", "copysign", "fmax", "fmod", "floor_divide",
    ),
    "i": (
        "add", "subtract", "multiply", "maximum", "minimum", "floor_divide", "remainder",
        "bitwise_and", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
    ),
    "c": ("add", "subtract", "multiply", "divide"),
}  # fmt: skip
BINARY["u"] = BINARY["i"]
DTYPES = (
    "float32", "float32", "float32", "float64", "float64", "int32", "int32", "float16", "int8",
    "uint16", "uint64", "complex64",
)  # fmt: skip
COMPARE = ("less", "equal", "greater_equal")
REDUCE = ("sum", "max", "min")

#: Values at which arithmetic must not be simplified.
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e8, 1e-40, 3e38]


def leaves(rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> list[np.ndarray]:
    """Operands that broadcast against `shape`, some of them with special values."""
    rows, columns = shape
    found = []
    for each in (shape, shape, (1, columns), (rows, 1), (columns,), (columns, rows)):
        array = rng.uniform(-2, 2, each)
        if rng.random() < 0.3:
            array[rng.random(each) < 0.3] = rng.choice(SPECIAL)
        with np.errstate(over="ignore"):
            found.append(array.astype(dtype))
    return found


class RandomProgram:
    """Instructions from a seed; `run` gives the tensors that are still held at the end.

    Without a `dtype` the seed draws one.
    """

    def __init__(self, seed: int, length: int, dtype: str | None = None) -> None:
        self._seed = seed
        self._length = length
        self._dtype = dtype

    def run(self, runtime: Any) -> list[np.ndarray]:
        """Run on a runtime and read what is held at the end, in a random order."""
        rng = np.random.default_rng(self._seed)
        # With 64 rows, whole programs become one kernel on software adapters.
        is_long = rng.random() < 0.4
        rows = 64 + int(rng.integers(3)) if is_long else int(rng.integers(1, 7))
        shape = (rows, int(rng.integers(1, 9)))
        dtype = self._dtype or str(rng.choice(DTYPES))
        kind = np.dtype(dtype).kind
        arrays = leaves(rng, shape, "float32" if kind in "iu" else dtype)
        tensors = [runtime.constant_from(array) for array in arrays]
        if kind in "iu":
            tensors = [
                tw.astype(tw.where(tw.abs(x) < 100, tw.abs(x) if kind == "u" else x, 0.0), dtype)
                for x in tensors
            ]
        tensors[-1] = tensors[-1].T
        held: list[Any] = list(tensors)
        for _ in range(self._length):
            made = self._instruction(rng, held, shape, dtype)
            held.append(made)
            # Most results are used soon or never: an eager program's temporaries.
            if len(held) > 9:
                del held[int(rng.integers(6, len(held)))]
        return [held[index].numpy() for index in rng.permutation(len(held))]

    def _instruction(
        self, rng: np.random.Generator, held: list[Any], shape: tuple[int, int], dtype: str
    ) -> Any:
        def operand() -> Any:
            recent = held[-3:] if rng.random() < 0.6 else held
            return recent[int(rng.integers(len(recent)))]

        def number(x: Any) -> Any:
            return tw.astype(x, dtype) if x.dtype != np.dtype(dtype) else x

        kind = np.dtype(dtype).kind
        draw = rng.random()
        if draw < 0.25:
            return getattr(tw, str(rng.choice(UNARY[kind])))(number(operand()))
        if draw < 0.3:
            return tw.negative(number(operand()))
        if draw < 0.55:
            return getattr(tw, str(rng.choice(BINARY[kind])))(number(operand()), number(operand()))
        if draw < 0.65:
            if kind in "iu":
                return number(operand()) * int(rng.integers(5))
            return number(operand()) * float(rng.choice([0.5, -1.0, 2.0, 3.0]))
        if draw < 0.75:
            names = COMPARE if kind != "c" else ("equal", "not_equal")
            condition = getattr(tw, str(rng.choice(names)))(number(operand()), number(operand()))
            return tw.where(condition, number(operand()), number(operand()))
        if draw < 0.8:
            function = tw.less if kind != "c" else tw.not_equal
            return function(number(operand()), number(operand()))
        reductions = REDUCE if kind != "c" else ("sum",)
        x = number(operand())
        if draw < 0.84 and x.ndim and x.size:
            scans = ("cumsum", "cummax", "cummin") if kind != "c" else ("cumsum",)
            axis = int(rng.integers(x.ndim))
            return number(getattr(tw, str(rng.choice(scans)))(x, axis=axis))
        if draw < 0.92:
            axis = int(rng.integers(-x.ndim, x.ndim)) if x.ndim and rng.random() < 0.8 else None
            # Without the last axis a result would not broadcast any more.
            keepdims = bool(rng.random() < 0.6) or (x.ndim == 2 and axis in (1, -1))
            reduced = getattr(tw, str(rng.choice(reductions)))(x, axis=axis, keepdims=keepdims)
            return number(reduced)
        if draw < 0.98 and x.ndim:
            row = getattr(tw, str(rng.choice(reductions)))(x, axis=-1, keepdims=True)
            return number(operand()) - number(row)
        if x.shape == shape:
            return tw.flip(x, axis=0) if rng.random() < 0.5 else x[:, ::-1]
        return x + 1
