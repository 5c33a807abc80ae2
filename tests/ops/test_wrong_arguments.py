"""Every public function with something odd for each argument: an error of ours that names it.

No argument may end in an error of Python's or NumPy's, or in one that names what the function is
made of.  `BASES` are calls that succeed; one argument at a time is replaced.
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.coverage_calls import NO_TENSORS

import tenferro_wgpu as tw
from tenferro_wgpu import errors

#: What is not meant anywhere, or almost nowhere.
ODD: list[Any] = [
    "matrix", "vector", "text", None, 2.5, 2**70, -(2**70), object(), [], (1, "a"), np.arange(3),
    -1, float("nan"), float("inf"), 1j, {}, np.float32(0.5), len, b"x", (0, 0), slice(1),
    np.array(["a"]), [[1], [2, 3]], (2**70,), True, np.datetime64("2020"), (1.5, 2.5),
]  # fmt: skip
#: Options that are true or false.
FLAGS = {
    "keepdims", "descending", "stable", "largest", "sorted", "equal_nan", "invert", "density",
    "returned", "rowvar", "bias", "endpoint", "return_index", "return_inverse", "return_counts",
    "sparse", "deg", "include_initial", "assume_unique", "return_indices",
}  # fmt: skip
#: Sizes are limits of memory, which its own operation names.
OF_SIZES = (errors.TensorTooLargeError, errors.DeviceOutOfMemoryError)


class Tensors:
    """The tensors of the calls."""

    def __init__(self, rt: Any) -> None:
        host = np.arange(1, 13, dtype=np.float32).reshape(3, 4) / 16
        self.x = rt.constant_from(host)
        self.y = rt.constant_from(host[::-1].copy())
        self.v = rt.constant_from(np.arange(5, dtype=np.float32))
        self.i = rt.constant_from(np.array([2, 0, 1, 0]))
        self.k = rt.constant_from(np.array([[1, 2], [3, 1], [0, 0]]))
        self.m = self.x > 0.3


def bases(c: Tensors) -> dict[str, tuple[Any, ...]]:
    """Positional arguments, and named ones in a dict at the end, where two matrices do not do."""
    x, y, v, i, k, m = c.x, c.y, c.v, c.i, c.k, c.m
    rows = tw.stack([y[:1]] * 2)
    return {
        "arange": (5,), "argpartition": (x, 1), "array_split": (x, 2), "asarray": ([0, 1],),
        "astype": (x, "float32"),
        "bincount": (i,), "bitwise_and": (i, i), "bitwise_left_shift": (i, i), "bitwise_not": (i,),
        "bitwise_count": (i,), "gcd": (i, i), "lcm": (i, i),
        "bitwise_or": (i, i), "bitwise_right_shift": (i, i), "bitwise_xor": (i, i),
        "broadcast_in_dim": (x, (3, 2, 4), (0, 2)), "broadcast_to": (x, (2, 3, 4)),
        "atleast_1d": (x,), "atleast_2d": (x,), "atleast_3d": (x,), "broadcast_arrays": (x, y),
        "clip": (x,), "column_stack": ([x, y],), "compare": (x, y, "lt"), "concat": ([x, y],),
        "concatenate": ([x, y],), "conv": (x[None], y[:2, None, :2].repeat(3, axis=1)),
        "conv_transpose": (x[None], y[:, None, :2].repeat(2, axis=1)), "convolve": (v, v),
        "correlate": (v, v), "cross": (x[:, :3], y[:, :3]),
        "cumulative_logsumexp": (x, {"axis": 0}), "cumulative_prod": (x, {"axis": 0}),
        "cumulative_sum": (x, {"axis": 0}), "delete": (x, 1), "digitize": (x, v), "dot": (x, y.T),
        "dot_general": (x, y, (((1,), (1,)), ((), ()))), "dstack": ([x, y],),
        "dynamic_slice": (x, (1, 1), (2, 2)), "dynamic_update_slice": (x, y[:2, :2], (1, 1)),
        "empty": (3,), "expand_dims": (x, {"axis": 0}), "eye": (3,),
        "from_flat": ([0, 1, 1, 0], (2, 2)), "full": (3, 1), "full_like": (x, 1),
        "gather": (x, [[1], [0]], {"axes": (0,), "slice_sizes": (1, 4)}), "geomspace": (1, 8, 4),
        "getitem": (x, (0,)), "histogram2d": (v, v), "histogramdd": (x,),
        "hstack": ([x, y],), "insert": (x, 1, 0.5), "lexsort": (x,), "partition": (x, 1),
        "indices": ((2, 2),), "interp": (x, v, v),
        "linspace": (0, 1, 5), "logspace": (0, 1, 5), "masked_log_softmax": (x, m),
        "masked_softmax": (x, m), "matmul": (x, y.T), "meshgrid": (v, v), "moveaxis": (x, 0, 1),
        "nanpercentile": (x, 30), "nanquantile": (x, 0.3), "ones": (3,), "pad": (x, 1),
        "percentile": (x, 30), "permute_dims": (x, (1, 0)), "polygamma": (1, x),
        "polyval": (v, x), "put_along_axis": (x, k, 0.5), "quantile": (x, 0.3),
        "reduce_max": (x, (0,)), "reduce_min": (x, (0,)), "reduce_prod": (x, (0,)),
        "reduce_sum": (x, (0,)), "repeat": (x, 2), "reshape": (x, (4, 3)), "roll": (x, 2),
        "scatter": (x, [[1], [0]], rows, {"axes": (0,)}), "scatter_add": (x, i[:3], y),
        "scatter_add_slices": (x, [[1], [0]], rows, {"axes": (0,)}), "searchsorted": (v, y),
        "slice": (x, (0, 1), (2, 4)), "split": (x, 3), "squeeze": (x[None],), "stack": ([x, y],),
        "swapaxes": (x, 0, 1), "take": (x, i), "take_along_axis": (x, k),
        "tensordot": (x, y.T, {"axes": 1}), "tile": (x, (2, 1)), "topk": (x, 2), "tri": (3,),
        "vstack": ([x, y],), "where": (m, x, y), "zeros": (3,),
    }  # fmt: skip


FUNCTIONS = sorted(
    {
        function.__name__: function
        for name in tw.__all__
        if inspect.isfunction(function := getattr(tw, name))
        and name not in NO_TENSORS
        and not inspect.iscoroutinefunction(function)
    }.items()
)


def spoiled(function: Any, given: tuple[Any, ...], c: Tensors) -> Iterator[tuple[str, Any, Any]]:
    """Calls with one argument replaced: (name of the parameter, value, call)."""
    options = given[-1] if given and isinstance(given[-1], dict) else {}
    args = given[:-1] if options else given
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        name, kind = parameter.name, parameter.kind
        for odd in ODD:
            value = {"matrix": c.x, "vector": c.v}.get(odd, odd) if isinstance(odd, str) else odd
            if place < len(args) and kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD):
                changed = (*args[:place], value, *args[place + 1 :])
                yield name, value, lambda a=changed: function(*a, **options)
            elif kind in (kind.VAR_POSITIONAL, kind.POSITIONAL_ONLY):
                yield name, value, lambda v=value: function(*args, v, **options)
            elif name != "device":
                named = {**options, name: value}
                yield name, value, lambda o=named: function(*args, **o)


def problem(function: Any, parameter: str, value: Any, call: Any) -> str:
    """What is wrong with the outcome of a call, or nothing."""
    names = {name for name in tw.__all__ if getattr(tw, name) is function} | {function.__name__}
    try:
        call()
    except OF_SIZES:
        return ""
    except errors.TenferroError as error:
        named = any(str(error).startswith((f"{name}:", f"{name} ")) for name in names)
        return "" if named else f"{type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__} of Python: {error}"
    is_flag = isinstance(value, (bool, int, np.bool_)) or value is None
    return "" if parameter not in FLAGS or is_flag else "is taken"


@pytest.mark.parametrize("name", [name for name, _ in FUNCTIONS])
def test_errors_name_the_function_called(cpu, name):
    function = dict(FUNCTIONS)[name]
    c = Tensors(cpu)
    count = sum(
        p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        for p in inspect.signature(function).parameters.values()
    )
    given = bases(c).get(name, (c.x, c.y)[:count])
    with warnings.catch_warnings(), cpu.as_default():
        warnings.simplefilter("ignore")
        options = given[-1] if isinstance(given[-1], dict) else {}
        function(*given[: len(given) - bool(options)], **options)
        found = {
            f"{parameter}={value!r:.40}: {wrong}"
            for parameter, value, call in spoiled(function, given, c)
            if (wrong := problem(function, parameter, value, call))
        }
    assert not found, "\n".join(sorted(found))


def test_methods_and_operators_name_what_was_written(cpu):
    x = cpu.constant_from(np.ones((2, 3), np.float32))
    for call, words in (
        (lambda: x.sum(keepdims="no"), "sum: keepdims is True or False, got 'no'"),
        (lambda: x.sort(descending=x), "sort: descending is True or False"),
        (lambda: x["a"], "getitem: "),
        (lambda: x.at[0].set(x), r"at\[\.\.\.\]\.set: "),
        (lambda: x.at[0, 0].multiply([1]), r"at\[\.\.\.\]\.multiply: "),
        (lambda: x + cpu.constant_from(np.ones(2, np.float32)), "add: "),
        (lambda: x.std(axis=2), "std: axis 2"),
        (lambda: tw.softmax(x, axis=5), "softmax: axis 5"),
        (lambda: tw.round(x, 2**70), "round: "),
        (lambda: tw.isnan(np.ones(2)), "isnan: "),
        (lambda: tw.pad(x, 1, "x"), "pad: mode must be one of"),
    ):
        with pytest.raises(errors.TenferroError, match=f"^{words}"):
            call()


def test_names_are_found_where_the_package_is_reached_by_a_link(tmp_path):
    (tmp_path / "tenferro_wgpu").symlink_to(Path(tw.__file__).parent, target_is_directory=True)
    program = """
import tenferro_wgpu as tw
rt = tw.EagerRuntime("cpu")
try:
    tw.vstack([rt.ones(2), rt.ones(3)])
except tw.errors.ShapeError as error:
    print(error)
"""
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert found.stdout.startswith("vstack: ")


def test_functions_of_a_program_inside_a_transform_are_named(cpu):
    x = cpu.constant_from(np.ones(3, np.float32))
    with pytest.raises(errors.AxisError, match="^softmax: "):
        tw.jvp(lambda v: tw.softmax(v, axis=4), [x], [x])


def test_late_faults_name_the_function_called(rt):
    x = rt.constant_from(np.arange(6, dtype=np.float32).reshape(2, 3))
    far = rt.constant_from(np.array([[7], [0]]))
    for call, name in (
        (lambda: tw.take_along_axis(x, far, axis=1), "take_along_axis"),
        (lambda: x[far[:, 0]], "getitem"),
        (lambda: tw.take(x, far[:, 0], axis=1), "take"),
        (lambda: x.at[far[:, 0]].set(1.0), r"at\[\.\.\.\]\.set"),
    ):
        with pytest.raises(errors.IndexOutOfBoundsError, match=f"^{name}: index 7"):
            call().numpy()
