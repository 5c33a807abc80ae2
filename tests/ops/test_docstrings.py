"""Every public function has an example that runs, and every method is its function."""

from __future__ import annotations

import doctest
import re
import types

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.ops.operators import METHODS
from tenferro_wgpu.ops.value import AbstractInterpreter

FUNCTIONS = {
    name: function
    for name, function in vars(tw).items()
    if isinstance(function, types.FunctionType) and ".ops." in function.__module__
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_example(cpu, name):
    found = doctest.DocTestFinder(recurse=False).find(FUNCTIONS[name], name, globs={})
    examples = [test for test in found if test.examples]
    assert examples, f"{name} has no example in its docstring"
    runner = doctest.DocTestRunner()
    for test in examples:
        assert runner.run(test).failed == 0


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_what_it_raises_is_written(name):
    _, _, section = (FUNCTIONS[name].__doc__ or "").partition("    Raises:\n")
    raised = re.findall(r"^        (\w+(?:, \w+)*):", section.partition("\n\n")[0], re.MULTILINE)
    assert raised, f"{name} says nothing of what it raises"
    for kind in ", ".join(raised).split(", "):
        assert issubclass(getattr(errors, kind), errors.TenferroError)


KINDS = {"bools": "bool", "integers": "int32", "floats": "float32", "complex numbers": "complex64"}


@pytest.mark.parametrize(
    "name", sorted(name for name, function in FUNCTIONS.items() if hasattr(function, "primitive"))
)
def test_a_table_function_refuses_the_dtypes_it_says(name):
    function = FUNCTIONS[name]
    refused = re.search(r"DTypeError: for ndarrays and lists(.*)\.", function.__doc__).group(1)
    world = AbstractInterpreter()
    for words, dtype in KINDS.items():
        operands = [world.value((3,), dtype)] * len(function.primitive.arguments)
        if words in refused:
            with pytest.raises(errors.DTypeError):
                function(*operands)
        else:
            assert function(*operands).shape == (3,)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_method_is_the_public_function(name):
    function = METHODS[name]
    assert getattr(tw.EagerTensor, name) is function
    assert getattr(tw, name) is function


@pytest.mark.parametrize(
    ("method", "function"),
    [
        (lambda x: x.reshape((3, 2), "F"), lambda x: tw.reshape(x, (3, 2), "F")),
        (lambda x: x.reshape(3, 2), lambda x: tw.reshape(x, (3, 2))),
        (lambda x: x.reshape(shape=(3, -1), order="F"), lambda x: tw.reshape(x, (3, -1), "F")),
        (lambda x: x.reshape(6), lambda x: tw.reshape(x, 6)),
        (lambda x: x.transpose(axes=(1, 0)), lambda x: tw.transpose(x, axes=(1, 0))),
        (lambda x: x.transpose([1, 0]), lambda x: tw.transpose(x, [1, 0])),
        (lambda x: x.transpose(1, 0), lambda x: tw.transpose(x, (1, 0))),
        (lambda x: x.transpose(), lambda x: tw.transpose(x)),
        (lambda x: x.transpose(None), lambda x: tw.transpose(x, None)),
        (lambda x: x[0].transpose(np.int64(0)), lambda x: tw.transpose(x[0], (0,))),
    ],
)
def test_reshape_and_transpose_take_the_forms_of_functions_and_of_numpy(cpu, method, function):
    x = tw.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert method(x).tolist() == function(x).tolist()


def test_every_function_of_one_tensor_is_a_method():
    creation = {
        "arange", "asarray", "empty", "eye", "from_flat", "full", "linspace", "ones", "zeros",
        "empty_like", "full_like", "ones_like", "zeros_like", "tri",
        "meshgrid", "indices", "logspace", "geomspace", "from_dlpack",
        "can_cast", "finfo", "iinfo", "isdtype", "result_type",
    }  # fmt: skip
    of_lists = {
        "concat", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack",
        "broadcast_arrays", "broadcast_shapes",
    }  # fmt: skip
    of_an_order_first = {"polygamma"}
    of_their_own = {"reshape", "transpose"}
    as_properties = {"real", "imag"}
    as_operators = {"getitem", "getitem_async"}
    methods = set(METHODS) | of_their_own
    assert (
        set(FUNCTIONS) - creation - of_lists - as_properties - as_operators - of_an_order_first
        <= methods
    )
