"""Types of less than a word: stored as words on the device, and their own size to the user."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.backends.webgpu.dialects import DIALECTS, Dialect, dialect, dialect_for

DTYPES = sorted({each.dtype_name for each in DIALECTS})
NARROW = ["bool", "int8", "int16", "uint8", "uint16"]


def every_pattern(dtype: str) -> np.ndarray:
    """All values of a narrow dtype."""
    if dtype == "bool":
        return np.array([False, True])
    size = np.dtype(dtype).itemsize
    return np.arange(2 ** (8 * size), dtype=f"u{size}").view(dtype)


@pytest.mark.parametrize("dtype", NARROW)
def test_a_word_holds_the_value(dtype):
    values = every_pattern(dtype)
    words = dialect_for(np.dtype(dtype), frozenset()).to_storage(values)
    assert words.dtype.itemsize == 4 and words.tolist() == values.tolist()


def test_float16_fills_the_low_half_of_a_word():
    half = Dialect("f16x", "float16", "u32", "f32", 1, "f16")
    values = every_pattern("float16")
    words = half.to_storage(values)
    assert words.dtype == np.uint32
    assert words.tolist() == list(range(65536))
    back = half.from_storage(words)
    assert back.dtype == np.float16 and back.view(np.uint16).tolist() == list(range(65536))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_are_stored_as_they_are(dtype):
    values = np.array([1 + 2j, -0.5j], dtype)
    entry = Dialect("c", dtype, "vec2<f32>", "vec2<f32>", values.itemsize // 4, "c")
    assert entry.to_storage(values) is values
    assert entry.from_storage(values.view(np.uint8)).tobytes() == values.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_storage_comes_back_in_any_layout_and_byte_order(dtype):
    entry = dialect_for(np.dtype(dtype), frozenset())
    values = np.arange(24).reshape(4, 6).astype(dtype)
    for array in (values.T, values[::-2], values.astype(np.dtype(dtype).newbyteorder(">"))):
        stored = entry.to_storage(array)
        assert stored.dtype == entry.storage_dtype and stored.flags.c_contiguous
        assert stored.nbytes == 4 * entry.words * array.size
        back = entry.from_storage(stored.reshape(-1).view(np.uint8))
        np.testing.assert_array_equal(back, array.reshape(-1))
        assert back.dtype == dtype


def test_a_word_needs_no_copy():
    values = np.arange(5, dtype=np.int32)
    assert dialect("i32").to_storage(values) is values
    assert np.shares_memory(dialect("i32").from_storage(values), values)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_count_bytes_as_numpy_does(rt, dtype):
    values = np.arange(24).astype(dtype)[::-1]
    x = rt.constant_from(values)
    assert (x.nbytes, x.dtype) == (values.nbytes, values.dtype)
    np.testing.assert_array_equal(x.numpy(), values)
    np.testing.assert_array_equal(x[3:17:2].numpy(), values[3:17:2])
    together = tw.device_get([x[4], x.reshape(4, 6).T])
    np.testing.assert_array_equal(together[1], values.reshape(4, 6).T)
    constant = tw.full((2, 3), values[1], dtype=dtype, device=rt)
    np.testing.assert_array_equal(constant.numpy(), np.full((2, 3), values[1]))
    assert constant.numpy().dtype == dtype
    assert x[:0].numpy().dtype == dtype
