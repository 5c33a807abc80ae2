"""Creation methods of a runtime: the functions' signatures and values, always in that runtime."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.ops import creation

CALLS = {
    "zeros": ((2, 3),),
    "ones": ((2, 3),),
    "empty": ((2,),),
    "full": ((2,), 7),
    "arange": (1, 6, 2),
    "linspace": (0.0, 1.0, 5),
    "eye": (2, 3),
    "from_flat": ([1.0, 2.0, 3.0, 4.0], (2, 2), "F"),
    "asarray": ([1.0, 2.0],),
    "zeros_like": (np.float32(2.0),),
    "ones_like": (np.float32(2.0),),
    "empty_like": (np.float32(2.0),),
    "full_like": (np.float32(2.0), 3.0),
}


def test_every_creation_function_is_called():
    assert set(CALLS) == {*creation.__all__, "linspace"}


@pytest.mark.parametrize("name", CALLS)
def test_method_makes_a_tensor_of_its_runtime(rt, name):
    with tw.EagerRuntime("cpu") as current:
        got = getattr(rt, name)(*CALLS[name])
        expected = getattr(tw, name)(*CALLS[name])
        assert expected.runtime is current
        assert got.runtime is rt
        assert got.dtype == expected.dtype
        assert got.tolist() == expected.tolist()


@pytest.mark.parametrize("name", CALLS)
def test_signature_is_the_function_without_device(name):
    function = inspect.signature(getattr(tw, name)).parameters
    method = inspect.signature(getattr(tw.EagerRuntime, name)).parameters
    described = [
        [(one.name, one.kind, one.default) for one in parameters.values()]
        for parameters in (function, method)
    ]
    # What the method `asarray` takes has the name that `constant_from` gives it.
    first = 1 if name == "asarray" else 0
    wanted = [one for one in described[0] if one[0] != "device"]
    assert wanted[first:] == described[1][1 + first :]
