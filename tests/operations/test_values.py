"""Values of every element-wise operation against NumPy: adapters x dtypes x special values."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from cases.operations import BINARY, UNARY, assert_close, check, operands
from cases.values import ALL, COMPLEX, EVERY, LAYOUTS, NUMBERS, matrix, pairs, vector

import tenferro_wgpu as tw

UNARY_ROWS = [(name, dtype) for name, case in UNARY.items() for dtype in case.dtypes]
BINARY_ROWS = [(name, dtype) for name, case in BINARY.items() for dtype in case.dtypes]
#: Layouts are the template's business and dtypes the dialect's: these rows show that they meet.
ROWS_OF_LAYOUTS = [
    *[(UNARY, "abs" if dtype != "bool" else "logical_not", dtype) for dtype in ALL],
    *[(UNARY, "negative", dtype) for dtype in COMPLEX],
    *[(BINARY, "add" if dtype != "bool" else "logical_and", dtype) for dtype in EVERY],
    *[(BINARY, "equal", dtype) for dtype in EVERY],
]


def computed(rt, case, arrays, view=lambda x: x):
    """The result on a runtime of a case applied to views of tensors."""
    return case.ours(*[view(rt.constant_from(array)) for array in arrays]).numpy()


@pytest.mark.parametrize(("name", "dtype"), UNARY_ROWS)
def test_unary(rt, adapter, name, dtype):
    case = UNARY[name]
    arrays = operands(case, vector(dtype))
    check(adapter, case, computed(rt, case, arrays), *arrays)


@pytest.mark.parametrize(("name", "dtype"), BINARY_ROWS)
def test_binary(rt, adapter, name, dtype):
    case = BINARY[name]
    arrays = operands(case, *pairs(dtype))
    check(adapter, case, computed(rt, case, arrays), *arrays)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("table", "name", "dtype"), ROWS_OF_LAYOUTS)
def test_layouts(rt, adapter, table, name, dtype, layout):
    case = table[name]
    on_host, on_device = LAYOUTS[layout]
    arrays = [matrix(dtype, 3), matrix(dtype, 4)][: 1 if table is UNARY else 2]
    got = computed(rt, case, arrays, on_device)
    check(adapter, case, got, *[on_host(array) for array in arrays])


@pytest.mark.parametrize(
    ("name", "dtype"), [row for row in BINARY_ROWS if row[0] in ("add", "less", "logical_and")]
)
def test_binary_broadcasts(rt, adapter, name, dtype):
    case = BINARY[name]
    arrays = operands(case, matrix(dtype, 3)[:, :1], matrix(dtype, 4)[1])
    check(adapter, case, computed(rt, case, arrays), *arrays)


@pytest.mark.parametrize("target", EVERY)
@pytest.mark.parametrize("source", EVERY)
def test_astype(rt, source, target):
    values = vector(source)
    if np.dtype(source).kind in "fc" and np.dtype(target).kind in "iu":
        limits = np.iinfo(target)
        whole = np.trunc(values.real.astype(np.float64))
        # NumPy leaves the rest to the processor.
        values = values[(whole >= limits.min) & (whole <= limits.max) & (whole < float(limits.max))]
    got = tw.astype(rt.constant_from(values), target).numpy()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        assert_close(got, values.astype(target), 0, f"{source} to {target}")


@pytest.mark.parametrize("dtype", EVERY)
def test_where(rt, dtype):
    first, second = pairs(dtype)
    condition = np.arange(len(first)) % 3 == 0
    got = tw.where(
        rt.constant_from(condition), rt.constant_from(first), rt.constant_from(second)
    ).numpy()
    assert_close(got, np.where(condition, first, second), 0)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_clip(rt, dtype):
    values = vector(dtype)
    got = tw.clip(rt.constant_from(values), 1, 3).numpy()
    assert_close(got, np.clip(values, *np.array([1, 3], dtype)), 0)


def test_a_missing_bound_is_no_bound_of_the_wider_dtype(rt):
    x, wide = np.array([-100, 5, 100], np.int8), np.array([-1000, 1000, 7], np.int32)
    narrow, bounds = rt.constant_from(x), rt.constant_from(wide)
    assert_close(tw.clip(narrow, bounds).numpy(), np.maximum(x, wide), 0)
    assert_close(tw.clip(narrow, None, bounds).numpy(), np.minimum(x, wide), 0)
    assert tw.clip(narrow, 150.5).tolist() == [150.5] * 3
    assert tw.clip(narrow > 0, bounds).tolist() == [0, 1000, 7]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_signs_are_changed_in_bits_and_moves_keep_them(rt, adapter, dtype):
    width = np.finfo(dtype).bits
    word = np.dtype(f"u{width // 8}")
    nan = int(np.array(np.inf, dtype).view(word))
    quiet = int(np.array(np.nan, dtype).view(word))
    bits = np.array([nan + 1, nan + 0x155, quiet, quiet + 3, 0], word)
    sign = np.array(1 << (width - 1), word)
    bits = np.concatenate([bits, bits | sign])
    x = rt.constant_from(bits.view(dtype))
    found = {
        "negative": (-x, bits ^ sign),
        "abs": (abs(x), bits & ~sign),
        "copysign": (tw.copysign(x, -1.0), bits | sign),
        "where": (tw.where(x == x, x, x), bits),
        "reversed": (x[::-1], bits[::-1]),
        "rolled": (tw.roll(x, 3), np.roll(bits, 3)),
        "taken": (tw.take(x, rt.constant_from(np.arange(10))), bits),
    }
    # A device's own f16 keeps the sign alone of a NaN it computes with.
    of_device = adapter != "numpy" and rt.backend.capabilities().dtypes["float16"] == "native"
    for name, (got, want) in found.items():
        words = got.numpy().view(word)
        if dtype == "float16" and of_device:
            words, want = words & sign, want & sign
        np.testing.assert_array_equal(words, want, name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_guards_keep_infinities_and_rounding(rt, dtype):
    """What compilers like to fold: x - x, x * 0, x / x and (x + a) - x are not constants."""
    values = np.array([1.0, np.inf, -np.inf, np.nan, 1e8, 1e17], dtype)
    x = rt.constant_from(values)
    with np.errstate(all="ignore"):
        assert_close((x - x).numpy(), values - values, 0)
        assert_close((x * 0.0).numpy(), values * np.dtype(dtype).type(0), 0)
        assert_close((x / x).numpy(), values / values, 0)
        assert_close(((x + 1.0) - x).numpy(), (values + np.dtype(dtype).type(1)) - values, 0)
