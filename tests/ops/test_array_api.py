"""The Python Array API standard, version 2025.12: signatures and the namespace, by its text.

Functions may take more than the standard says; what it says must be accepted as it says it.
"""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors

#: Functions of one tensor, ``(x, /)``.
UNARY = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj",
    "cos", "cosh", "exp", "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log1p",
    "log2", "log10", "logical_not", "negative", "positive", "real", "reciprocal", "round", "sign",
    "signbit", "sin", "sinh", "square", "sqrt", "tan", "tanh", "trunc", "matrix_transpose",
    "nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip
#: Functions of two tensors, ``(x1, x2, /)``.
BINARY = [
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal",
    "hypot", "less", "less_equal", "logaddexp", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract",
    "matmul",
]  # fmt: skip

#: The standard's signatures of the others.
SIGNATURES = {
    "arange": "start, /, stop=None, step=1, *, dtype=None, device=None",
    "asarray": "obj, /, *, dtype=None, device=None, copy=None",
    "empty": "shape, *, dtype=None, device=None",
    "ones": "shape, *, dtype=None, device=None",
    "zeros": "shape, *, dtype=None, device=None",
    "empty_like": "x, /, *, dtype=None, device=None",
    "ones_like": "x, /, *, dtype=None, device=None",
    "zeros_like": "x, /, *, dtype=None, device=None",
    "eye": "n_rows, n_cols=None, /, *, k=0, dtype=None, device=None",
    "from_dlpack": "x, /, *, device=None, copy=None",
    "full": "shape, fill_value, *, dtype=None, device=None",
    "full_like": "x, /, fill_value, *, dtype=None, device=None",
    "linspace": "start, stop, /, num, *, dtype=None, device=None, endpoint=True",
    "meshgrid": "*arrays, indexing='xy'",
    "tril": "x, /, *, k=0",
    "triu": "x, /, *, k=0",
    "astype": "x, dtype, /, *, copy=True, device=None",
    "can_cast": "from_, to, /",
    "finfo": "type, /",
    "iinfo": "type, /",
    "isdtype": "dtype, kind",
    "result_type": "*arrays_and_dtypes",
    "clip": "x, /, min=None, max=None",
    "take": "x, indices, /, *, axis=None",
    "take_along_axis": "x, indices, /, *, axis=-1",
    "tensordot": "x1, x2, /, *, axes=2",
    "vecdot": "x1, x2, /, *, axis=-1",
    "broadcast_arrays": "*arrays",
    "broadcast_shapes": "*shapes",
    "broadcast_to": "x, /, shape",
    "concat": "arrays, /, *, axis=0",
    "stack": "arrays, /, *, axis=0",
    "expand_dims": "x, /, axis",
    "squeeze": "x, /, axis",
    "flip": "x, /, *, axis=None",
    "moveaxis": "x, source, destination, /",
    "permute_dims": "x, /, axes",
    "repeat": "x, repeats, /, *, axis=None",
    "reshape": "x, /, shape, *, copy=None",
    "roll": "x, /, shift, *, axis=None",
    "tile": "x, repetitions, /",
    "unstack": "x, /, *, axis=0",
    "argmax": "x, /, *, axis=None, keepdims=False",
    "argmin": "x, /, *, axis=None, keepdims=False",
    "count_nonzero": "x, /, *, axis=None, keepdims=False",
    "searchsorted": "x1, x2, /, *, side='left', sorter=None",
    "where": "condition, x1, x2, /",
    "isin": "x1, x2, /, *, invert=False",
    "argsort": "x, /, *, axis=-1, descending=False, stable=True",
    "sort": "x, /, *, axis=-1, descending=False, stable=True",
    "cumulative_prod": "x, /, *, axis=None, dtype=None, include_initial=False",
    "cumulative_sum": "x, /, *, axis=None, dtype=None, include_initial=False",
    "max": "x, /, *, axis=None, keepdims=False",
    "mean": "x, /, *, axis=None, keepdims=False",
    "min": "x, /, *, axis=None, keepdims=False",
    "prod": "x, /, *, axis=None, dtype=None, keepdims=False",
    "sum": "x, /, *, axis=None, dtype=None, keepdims=False",
    "std": "x, /, *, axis=None, correction=0.0, keepdims=False",
    "var": "x, /, *, axis=None, correction=0.0, keepdims=False",
    "all": "x, /, *, axis=None, keepdims=False",
    "any": "x, /, *, axis=None, keepdims=False",
    "diff": "x, /, *, axis=-1, n=1, prepend=None, append=None",
    **dict.fromkeys(UNARY, "x, /"),
    **dict.fromkeys(BINARY, "x1, x2, /"),
}

#: Methods of tensors beside those that Python's data model fixes.
METHODS = {
    "__array_namespace__": "self, /, *, api_version=None",
    "__dlpack__": "self, /, *, stream=None, max_version=None, dl_device=None, copy=None",
    "__dlpack_device__": "self, /",
    "to_device": "self, device, /, *, stream=None",
}

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
BY_NAME = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def standard(text: str) -> inspect.Signature:
    scope: dict[str, object] = {}
    exec(f"def function({text}): pass", scope)
    return inspect.signature(scope["function"])


def check_signature(ours: inspect.Signature, theirs: inspect.Signature) -> None:
    own = list(ours.parameters.values())
    count = 0
    for parameter in theirs.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            assert any(each.kind is each.VAR_POSITIONAL for each in own)
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            assert own[count].kind in POSITIONAL
            assert own[count].default == parameter.default
            count += 1
        else:
            found = ours.parameters[parameter.name]
            assert found.kind in BY_NAME
            if parameter.default is not parameter.empty:
                # False, None and 0 of an argument may all mean that it is not given.
                assert found.default == parameter.default or not found.default
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                assert own[count].name == parameter.name and own[count].kind in POSITIONAL
                count += 1
    taken = set(theirs.parameters)
    for extra in own[count:]:
        if extra.name not in taken and extra.kind in POSITIONAL:
            assert extra.default is not extra.empty


@pytest.mark.parametrize("name", SIGNATURES)
def test_function_takes_what_the_standard_says(name):
    check_signature(inspect.signature(getattr(tw, name)), standard(SIGNATURES[name]))
    assert name in tw.__all__


@pytest.mark.parametrize("name", METHODS)
def test_method_takes_what_the_standard_says(name):
    check_signature(inspect.signature(getattr(tw.EagerTensor, name)), standard(METHODS[name]))


def test_operators_are_there():
    names = [
        "abs", "add", "and", "bool", "complex", "eq", "float", "floordiv", "ge", "getitem",
        "gt", "index", "int", "invert", "le", "lshift", "lt", "matmul", "mod", "mul", "ne",
        "neg", "or", "pos", "pow", "rshift", "setitem", "sub", "truediv", "xor",
    ]  # fmt: skip
    for name in names:
        assert callable(getattr(tw.EagerTensor, f"__{name}__"))


def test_constants_are_pythons():
    assert (tw.e, tw.pi, tw.inf, tw.newaxis) == (math.e, math.pi, math.inf, None)
    assert math.isnan(tw.nan)


def test_namespace(rt):
    x = rt.ones(2)
    assert x.__array_namespace__() is tw
    assert x.__array_namespace__(api_version=tw.__array_api_version__) is tw
    with pytest.raises(ValueError, match="2025.12"):
        x.__array_namespace__(api_version="1066.10")


def test_what_the_namespace_says_of_itself(rt):
    info = tw.__array_namespace_info__()
    assert info.default_device() == rt.device
    assert info.devices() == (rt.device,)
    assert set(info.capabilities()) == {
        "boolean indexing", "data-dependent shapes", "max dimensions",
    }  # fmt: skip
    assert info.default_dtypes() == {
        "real floating": tw.float32,
        "complex floating": tw.complex64,
        "integral": tw.int64,
        "indexing": tw.int64,
    }
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert set(info.dtypes(kind=("bool", "complex floating"))) == {
        "bool", "complex64", "complex128",
    }  # fmt: skip
    assert len(info.dtypes(device=rt.device)) == 13
    for name, dtype in info.dtypes().items():
        assert getattr(tw, name) is dtype


def test_a_tensor_moves_between_devices(rt):
    with tw.EagerRuntime("cpu") as other:
        x = rt.constant_from([1.0, 2.0])
        assert x.to_device(rt.device) is x
        moved = x.to_device(other.device)
        assert moved.device == other.device and moved.tolist() == [1.0, 2.0]
        assert tw.astype(x, tw.int32, device=other.device).device == other.device
        with pytest.raises(errors.ArgumentError, match="stream"):
            x.to_device(other.device, stream=1)
        with pytest.raises(errors.NotDetachedError, match="detach_into"):
            rt.variable_from([1.0]).to_device(other.device)


def test_dlpack(rt):
    x = rt.constant_from(np.float32([[1, 2], [3, 4]]))
    np.testing.assert_array_equal(np.from_dlpack(x.T), [[1, 3], [2, 4]])
    back = tw.from_dlpack(np.arange(3), device=rt.device)
    assert back.tolist() == [0, 1, 2] and back.device == rt.device
    assert tw.from_dlpack(x, copy=False).tensor.handle is x.tensor.handle
    with pytest.raises(errors.DTypeError, match="__dlpack__"):
        tw.from_dlpack([1.0])


def test_dlpack_shares_memory_of_the_host_alone(cpu):
    x = cpu.constant_from(np.float32([1, 2]))
    shared = np.from_dlpack(x, copy=False)
    assert not shared.flags.writeable and np.shares_memory(shared, x.numpy(copy=False))
    with pytest.raises(BufferError):  # a consumer that does not know read-only memory
        x.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="detach"):
        cpu.variable_from([1.0]).__dlpack__()


KINDS = {
    "bool": "bool",
    "signed integer": "int8 int16 int32 int64",
    "unsigned integer": "uint8 uint16 uint32 uint64",
    "integral": "int8 int16 int32 int64 uint8 uint16 uint32 uint64",
    "real floating": "float16 float32 float64",
    "complex floating": "complex64 complex128",
}
NAMES = [name for kind in KINDS if kind != "integral" for name in KINDS[kind].split()]


def test_kinds_of_dtypes():
    for name in NAMES:
        dtype = getattr(tw, name)
        for kind, members in KINDS.items():
            assert tw.isdtype(dtype, kind) is (name in members.split())
        assert tw.isdtype(dtype, "numeric") is (name != "bool")
        assert tw.isdtype(dtype, ("bool", dtype)) and not tw.isdtype(dtype, ())
    with pytest.raises(errors.ArgumentError, match="real floating"):
        tw.isdtype(tw.float32, "real")


def test_result_types_are_those_of_operations(cpu):
    """What `result_type` says is what adding gives, for tensors, scalars and dtypes."""
    for first in NAMES:
        x = cpu.ones(1, dtype=first)
        for second in NAMES:
            y = cpu.ones(1, dtype=second)
            try:
                expected = tw.where(True, x, y).dtype
            except errors.DTypeError:
                with pytest.raises(errors.DTypeError):
                    tw.result_type(x, y.dtype)
                assert not tw.can_cast(x, y.dtype)
                continue
            assert tw.result_type(x, y.dtype) is expected
            assert tw.can_cast(x, expected) and tw.can_cast(second, expected)
            assert tw.can_cast(first, second) is (expected is y.dtype)
        for scalar in (True, 1, 1.5, 2j, np.float64(1)):
            assert tw.result_type(scalar, x) is tw.where(True, x, scalar).dtype
    assert tw.result_type(1, 2.5) is tw.float32
    assert tw.result_type(1) is tw.int64 and tw.result_type(True) is tw.bool
    with pytest.raises(errors.DTypeError, match="at least one"):
        tw.result_type()


def test_limits_of_dtypes(cpu):
    for name in NAMES:
        dtype = getattr(tw, name)
        if dtype.kind in "fc":
            limits, expected = tw.finfo(dtype), np.finfo(dtype)
            for name in ("tiny", "smallest_subnormal", "resolution", "precision"):
                assert getattr(limits, name) == getattr(expected, name)
            assert limits == tw.finfo(cpu.ones(1, dtype=dtype))
            for attribute in ("eps", "max", "min", "smallest_normal"):
                value = getattr(limits, attribute)
                assert type(value) is float and value == float(getattr(expected, attribute))
            assert limits.bits == expected.bits and limits.dtype == expected.dtype
            with pytest.raises(errors.DTypeError, match="finfo"):
                tw.iinfo(dtype)
        elif dtype.kind in "iu":
            limits = tw.iinfo(dtype)
            assert (limits.min, limits.max) == (np.iinfo(dtype).min, np.iinfo(dtype).max)
            assert limits.bits == 8 * dtype.itemsize and limits.dtype is dtype
            with pytest.raises(errors.DTypeError, match="iinfo"):
                tw.finfo(dtype)


def test_completion_offers_what_is_public() -> None:
    names = {name for name in dir(tw) if not name.startswith("_")}
    assert names == {name for name in tw.__all__ if not name.startswith("_")}
    with pytest.raises(AttributeError, match="runtime.constant_from"):
        tw.random  # noqa: B018
    assert not hasattr(tw, "linalg")
