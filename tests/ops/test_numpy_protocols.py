"""NumPy's functions on tensors: its parameter order, values and gradients, or a clear refusal."""

from __future__ import annotations

import inspect
import operator

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.elsewhere import INSTEAD
from tenferro_wgpu.ops.numpy_protocols import FUNCTIONS, UFUNCS

#: Each is called with the tensor and with the array it was made from, of shape (2, 3).
CALLS = {
    "sum": lambda x: np.sum(x, 1),
    "sum of all": lambda x: np.sum(a=x),
    "sum in a dtype": lambda x: np.sum(x, 0, np.float64, None, True),
    "prod": lambda x: np.prod(x, -1, keepdims=True),
    "mean": lambda x: np.mean(x, 1),
    "max": lambda x: np.max(x, 0),
    "amin": lambda x: np.amin(x, 1, keepdims=True),
    "argmax": lambda x: np.argmax(x, 1),
    "argmin": lambda x: np.argmin(x, 0, keepdims=True),
    "any": lambda x: np.any(x, 1),
    "all": lambda x: np.all(x > -9),
    "count_nonzero": lambda x: np.count_nonzero(x, 1),
    "var": lambda x: np.var(x, 1, ddof=1),
    "std": lambda x: np.std(x, axis=0, correction=0.5, keepdims=True),
    "average": lambda x: np.average(x, 1),
    "cov": lambda x: np.cov(x, None, False, dtype=np.float32),
    "nansum": lambda x: np.nansum(x, 0),
    "nanmean": lambda x: np.nanmean(x, 1),
    "nanmax": lambda x: np.nanmax(x),
    "nanmin": lambda x: np.nanmin(x, 1),
    "diff": lambda x: np.diff(x, 1, 0),
    "cumsum": lambda x: np.cumsum(x, 1),
    "cumsum, flattened": lambda x: np.cumsum(x),
    "cumprod": lambda x: np.cumprod(x, axis=0),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
    "cumulative_prod": lambda x: np.cumulative_prod(x, axis=0),
    "sum of some": lambda x: np.sum(x, 1, initial=2),
    "stack": lambda x: np.stack([x, x], 1),
    "concatenate": lambda x: np.concatenate([x, x], 1),
    "concatenate flattened": lambda x: np.concatenate((x, x), axis=None),
    "tensordot": lambda x: np.tensordot(x, x, ((0, 1), (0, 1))),
    "tensordot by a count": lambda x: np.tensordot(x, x, 2),
    "clip": lambda x: np.clip(x, 0, 1),
    "clip by old names": lambda x: np.clip(x, a_min=0, a_max=1),
    "clip by new names": lambda x: np.clip(x, min=0, max=1),
    "clip below": lambda x: np.clip(x, 0, None),
    "reshape": lambda x: np.reshape(x, (3, 2), "F"),
    "transpose": lambda x: np.transpose(x, (1, 0)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "expand_dims": lambda x: np.expand_dims(x, 1),
    "squeeze": lambda x: np.squeeze(x[:1], 0),
    "flip": lambda x: np.flip(x, 1),
    "broadcast_to": lambda x: np.broadcast_to(x, (4, 2, 3)),
    "ravel": lambda x: np.ravel(x, "F"),
    "roll": lambda x: np.roll(x, 1, 1),
    "unstack": lambda x: np.unstack(x, axis=1)[2],
    "unique_all": lambda x: np.unique_all(x)[1],
    "unique_counts": lambda x: np.unique_counts(x).counts,
    "unique_inverse": lambda x: np.unique_inverse(x).inverse_indices,
    "unique_values": lambda x: np.unique_values(x),
    "vecdot": lambda x: np.vecdot(x, x),
    "vecdot of columns": lambda x: np.vecdot(x, x, axis=0),
    "repeat": lambda x: np.repeat(x, [1, 2], 0),
    "tile": lambda x: np.tile(x, (2, 2)),
    "rot90": lambda x: np.rot90(x),
    "diagonal": lambda x: np.diagonal(x, 1),
    "trace": lambda x: np.trace(x),
    "triu": lambda x: np.triu(x, k=1),
    "hstack": lambda x: np.hstack([x, x]),
    "pad by repeating": lambda x: np.pad(x, 1, "edge"),
    "part of a split": lambda x: np.split(x, [1], 1)[1],
    "take": lambda x: np.take(x, [2, 0], 1),
    "take in a mode": lambda x: np.take(x, [7, 0], 1, None, "clip"),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([[2], [0]]), 1),
    "pad": lambda x: np.pad(x, ((0, 1), (2, 0)), "constant", constant_values=9),
    "where": lambda x: np.where(x > 0, x, 0),
    "zeros_like": lambda x: np.zeros_like(x),
    "ones_like": lambda x: np.ones_like(x, np.int32),
    "full_like": lambda x: np.full_like(x, 7),
    "real": lambda x: np.real(x),
    "imag": lambda x: np.imag(x),
    "sort": lambda x: np.sort(x, 0),
    "median": lambda x: np.median(x, 1),
    "percentile": lambda x: np.percentile(x, [25, 50], 0, method="lower"),
    "unique": lambda x: np.unique(x),
    "digitize": lambda x: np.digitize(x, x[0, 1:]),
    "histogram": lambda x: np.histogram(x, 3, (-1, 2))[0],
    "sort of all": lambda x: np.sort(x, axis=None),
    "argsort": lambda x: np.argsort(x, 1, kind="stable"),
    "rint": lambda x: np.rint(x),
    "round": lambda x: np.round(x, 1),
    "arcsinh": lambda x: np.arcsinh(x),
    "arctan2": lambda x: np.arctan2(x, x),
    "floor_divide": lambda x: np.floor_divide(x, 2),
    "isfinite": lambda x: np.isfinite(x),
    "isclose": lambda x: np.isclose(x, 0.5, atol=0.1),
    "nan_to_num": lambda x: np.nan_to_num(x),
    "angle": lambda x: np.angle(x),
    "outer": lambda x: np.outer(x, x),
    "atleast_3d": lambda x: np.atleast_3d(x),
    "one of two with at least two axes": lambda x: np.atleast_2d(x[0], x)[0],
    "broadcast_arrays": lambda x: np.broadcast_arrays(x[0], x)[0],
    "meshgrid": lambda x: np.meshgrid(x[0], x[1], indexing="ij")[1],
    "kron": lambda x: np.kron(x, x),
    "dot": lambda x: np.dot(x, x[0]),
    "inner": lambda x: np.inner(x, x),
    "cross": lambda x: np.cross(x, x[0]),
    "convolve": lambda x: np.convolve(x[0], x[1], "same"),
    "correlate": lambda x: np.correlate(x[0], x[1], "full"),
    "power": lambda x: np.power(x, 2),
    "delete": lambda x: np.delete(x, 1, 1),
    "insert": lambda x: np.insert(x, [0, 2], np.float32(7), axis=1),
    "union1d": lambda x: np.union1d(x[0], x[1]),
    "intersect1d": lambda x: np.intersect1d(x, x[0]),
    "setdiff1d": lambda x: np.setdiff1d(x, x[0]),
    "setxor1d": lambda x: np.setxor1d(x, x[0]),
    "lexsort": lambda x: np.lexsort((x, x[::-1])),
    "partition": lambda x: np.partition(x, [0, 1, 2], axis=1),
    "argpartition": lambda x: np.argpartition(x, [0, 1, 2], axis=1),
    "histogram2d": lambda x: np.histogram2d(x[0], x[1], 2)[1],
    "histogramdd": lambda x: np.histogramdd(x, 2)[1][0],
    "corrcoef": lambda x: np.corrcoef(x, rowvar=False, dtype=np.float32),
    "gradient": lambda x: np.gradient(x, 0.5, axis=1),
    "gradients": lambda x: np.gradient(x)[0],
    "heaviside": lambda x: np.heaviside(x, np.float32(0.5)),
    "nanvar": lambda x: np.nanvar(x, 1, ddof=1),
    "nanstd": lambda x: np.nanstd(x, 0),
    "nanquantile": lambda x: np.nanquantile(x, np.float32(0.25), 1),
    "nanpercentile": lambda x: np.nanpercentile(x, np.float32(25), 0),
    "norm": lambda x: np.linalg.norm(x, 1),
    "norm of rows": lambda x: np.linalg.norm(x, axis=1, keepdims=True),
    "polyval": lambda x: np.polyval(x[0], x),
    "ptp": lambda x: np.ptp(x, 1),
    "sinc": lambda x: np.sinc(x / 8),
    "trapezoid": lambda x: np.trapezoid(x, x[0], axis=1),
    "unwrap": lambda x: np.unwrap(x, axis=1, period=2.0),
    "scalar on the left": lambda x: np.float32(2) * x,
    "copy": lambda x: np.copy(x),
    "vector_norm": lambda x: np.linalg.vector_norm(x, ord=1),
    "matmul of linalg": lambda x: np.linalg.matmul(x, x.T),
    "outer of linalg": lambda x: np.linalg.outer(x[0], x[1]),
    "cross of linalg": lambda x: np.linalg.cross(x, x[::-1]),
    "vecdot of linalg": lambda x: np.linalg.vecdot(x, x, axis=0),
    "tensordot of linalg": lambda x: np.linalg.tensordot(x, x, axes=((0,), (0,))),
    "trace of linalg": lambda x: np.linalg.trace(np.stack([x, x, x]), offset=1),
    "diagonal of linalg": lambda x: np.linalg.diagonal(np.stack([x, x, x])),
    "matrix_transpose of linalg": lambda x: np.linalg.matrix_transpose(x),
    "add.reduce": lambda x: np.add.reduce(x),
    "multiply.reduce": lambda x: np.multiply.reduce(x, axis=None),
    "maximum.reduce": lambda x: np.maximum.reduce(x, 1, keepdims=True),
    "logical_or.reduce": lambda x: np.logical_or.reduce(x > 0, axis=1),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=1),
    "add.accumulate": lambda x: np.add.accumulate(x),
    "minimum.accumulate": lambda x: np.minimum.accumulate(x, axis=1),
    "subtract.outer": lambda x: np.subtract.outer(x, x[0]),
    "subtract.outer of a scalar": lambda x: np.subtract.outer(2, x).astype(np.float32),
    "multiply.outer with a scalar": lambda x: np.multiply.outer(x, 0.5).astype(np.float32),
    "NumPy scalar": lambda x: np.multiply(x, np.float64(2)).astype(np.float32),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys(rt, name):
    host = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]], np.float32)
    got, expected = CALLS[name](rt.constant_from(host)), CALLS[name](host)
    assert isinstance(got, tw.EagerTensor)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6)


def test_names_and_parameters_are_numpys():
    for name in UFUNCS:
        assert getattr(np, name).__name__ == name
    for name, counterpart in FUNCTIONS.items():
        function = operator.attrgetter(name)(np)
        assert function.__name__ == name.rpartition(".")[2]
        if name in ("can_cast", "result_type"):  # NumPy says no parameters of these
            continue
        parameters = list(inspect.signature(function).parameters)
        if name != "pad":  # its constants are **kwargs there
            assert counterpart.names == parameters[: len(counterpart.names)], name


def test_questions_about_tensors_are_answered(rt):
    x = rt.constant_from(np.ones((2, 3), np.float32))
    assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, -1)) == ((2, 3), 2, 6, 3)
    assert np.isrealobj(x) and not np.iscomplexobj(x) and np.iscomplexobj(x * 1j)
    assert np.result_type(x, np.int64) == np.float32 and np.can_cast(x, np.float64)


def test_where_of_a_condition_alone_finds_places(rt):
    host = np.array([[0.0, 2.0, 3.0], [4.0, 0.0, 0.0]], np.float32)
    x = rt.constant_from(host)
    for got, expected in zip(np.where(x > 2.5), np.where(host > 2.5), strict=True):
        np.testing.assert_array_equal(got.numpy(), expected)
    with pytest.raises(errors.ArgumentError, match="where: x and y"):
        np.where(x > 0, x)


def test_functions_stay_on_the_tape(rt):
    x = rt.variable_from([[1.0, 2.0], [3.0, 4.0]])
    np.sum(np.sum(np.exp(x) * np.float32(2), 1)).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(x.numpy()), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: np.linalg.svd(x), r"numpy\.linalg\.svd.*x\.numpy\(\)"),
        (lambda x: np.vander(x[0]), r"numpy\.vander.*x\.numpy\(\)"),
        (lambda x: np.append(x, x), r"numpy\.append.*use concatenate, or .*x\.numpy\(\)"),
        (lambda x: np.sum(x, 1, where=np.ones(2, bool)), r"sum: .*constant_from"),
        (lambda x: np.sum(x, out=x), r"numpy\.sum.*with out"),
        (lambda x: np.hypot.reduce(x), r"numpy\.hypot\.reduce"),
        (lambda x: np.add.reduceat(x, [0, 1]), r"numpy\.add\.reduceat"),
        (lambda x: np.add.accumulate(x, out=x), r"numpy\.add\.accumulate.*with out"),
        (lambda x: np.add(x, x, dtype=np.float64), r"numpy\.add.*with dtype"),
        (lambda x: np.broadcast_arrays(x, x, subok=True), r"numpy\.broadcast_arrays.*with subok"),
        (lambda x: np.float_power(x, 0.5), r"numpy\.float_power"),
    ],
)
def test_no_counterpart(rt, call, words):
    with pytest.raises(TypeError, match=words) as caught:
        call(rt.constant_from(np.ones((2, 3), np.float32)))
    assert isinstance(caught.value, errors.DTypeError)


def test_errors_of_our_functions_are_their_own(rt):
    x = rt.constant_from(np.ones((2, 3), np.float32))
    with pytest.raises(errors.AxisError, match="sum: axis 2"):
        np.sum(x, 2)
    with pytest.raises(errors.DTypeError, match="concatenate.*constant_from"):
        np.concatenate([x, np.ones((1, 3))])
    with pytest.raises(errors.DTypeError, match="axis must be an integer"):
        np.argmax(x, (0, 1))


@pytest.mark.parametrize("scalar", [np.float32(2), np.float64(2), np.int8(2), np.bool_(True)])
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_numpy_scalars_compare_on_both_sides(rt, name, scalar):
    compare, host = getattr(operator, name), np.array([1, 2, 3], np.float32)
    x = rt.constant_from(host)
    for got, expected in (
        (compare(scalar, x), compare(scalar, host)),
        (compare(x, scalar), compare(host, scalar)),
    ):
        assert got.dtype == bool
        np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("array", [np.array(2.0), np.ones(3), np.ones((2, 3))])
def test_ndarrays_of_any_rank_mix_in_on_neither_side(rt, array):
    x = rt.constant_from(np.ones((2, 3), np.float32))
    for mixed in (lambda: array * x, lambda: x * array, lambda: np.multiply(x, array)):
        with pytest.raises(errors.DTypeError, match="constant_from"):
            mixed()
    with pytest.raises(errors.DTypeError, match="constant_from"):
        np.where(x > 0, x, array)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("einsum", "tensordot"),
        ("hsplit", "split with an axis"),
        ("polyfit", r"numpy\.polyfit on x\.numpy\(\)"),
        ("vmap", "first axes"),
    ],
)
def test_names_that_are_missing_say_what_to_write(name, words):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; .*{words}"):
        getattr(tw, name)


def test_hints_are_for_names_that_are_missing():
    assert not [name for name in INSTEAD if hasattr(tw, name)]


#: Programs of a namespace: NumPy's and ours take these options by position alike.
BY_POSITION = {
    "zeros": lambda xp, x: xp.zeros((2, 3), "int8"),
    "ones": lambda xp, x: xp.ones(3, np.float16),
    "empty": lambda xp, x: xp.empty((0, 2), "int8"),
    "full": lambda xp, x: xp.full((2, 2), 7, "int16"),
    "eye": lambda xp, x: xp.eye(3, 4, 1, dtype="float32"),
    "asarray": lambda xp, x: xp.asarray([1, 2], "float64"),
    "zeros_like": lambda xp, x: xp.zeros_like(x, "int8"),
    "ones_like": lambda xp, x: xp.ones_like(x, "int8"),
    "full_like": lambda xp, x: xp.full_like(x, 2, "int8"),
    "tril": lambda xp, x: xp.tril(x, -1),
    "triu": lambda xp, x: xp.triu(x, 1),
    "tensordot": lambda xp, x: xp.tensordot(x, x, 2),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.ravel(x), x, "right"),
}


@pytest.mark.parametrize("name", BY_POSITION)
def test_options_stand_where_numpy_has_them(rt, name):
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    with rt.as_default():
        got = BY_POSITION[name](tw, rt.constant_from(host, "float32"))
    expected = BY_POSITION[name](np, host)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.numpy(), expected)
