"""What wrong shapes, dtypes, axes and indices raise: at the call, on values without a backend."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu import errors
from tenferro_wgpu.ops.operators import Operators
from tenferro_wgpu.ops.value import AbstractInterpreter, AbstractValue

WORLD = AbstractInterpreter()


class Symbol(Operators, AbstractValue):
    """An abstract value with operators."""

    __slots__ = ()


def value(*shape: int, dtype: str = "float32") -> Symbol:
    return Symbol(WORLD, shape, np.dtype(dtype))


V, M, C = value(4), value(3, 4), value(2, 3, 4)
WHOLE, TRUTH, COMPLEX = value(4, dtype="int64"), value(4, dtype="bool"), value(4, dtype="complex64")
SCALAR, EMPTY = value(), value(0, 3)

ROWS = {
    "shapes that do not broadcast": (lambda: V + value(3), errors.ShapeError, "add"),
    "axis out of bounds": (lambda: M.sum(axis=2), errors.AxisError, "sum"),
    "axis named twice": (lambda: M.sum(axis=(0, -2)), errors.AxisError, "twice"),
    "axis that is no integer": (lambda: M.sum(axis=0.5), errors.DTypeError, "axis"),
    "largest of nothing": (lambda: EMPTY.max(axis=0), errors.ShapeError, "max"),
    "smallest of nothing": (lambda: EMPTY.min(), errors.ShapeError, "min"),
    "argmax of nothing": (lambda: EMPTY.argmax(), errors.ShapeError, "argmax"),
    "largest complex number": (lambda: COMPLEX.max(), errors.DTypeError, "order"),
    "dtype that does not exist": (lambda: V.sum(dtype="text"), errors.DTypeError, "sum"),
    "a point that is no sequence": (lambda: tw.jvp(tw.sin, V, V), errors.DTypeError, r"\(x,\)"),
    "bounds in a tensor": (lambda: tw.linspace(0, SCALAR, 3), errors.DTypeError, r"\.item\(\)"),
    "reshape to another size": (lambda: M.reshape((5, 2)), errors.ShapeError, "reshape"),
    "reshape with two unknowns": (lambda: M.reshape((-1, -1)), errors.ShapeError, "-1"),
    "reshape that does not divide": (lambda: M.reshape((5, -1)), errors.ShapeError, "-1"),
    "reshape to floats": (lambda: M.reshape((1.5, 8)), errors.DTypeError, "integers"),
    "reshape to negative extents": (lambda: M.reshape((-3, -4)), errors.ShapeError, "negative"),
    "reshape in another order": (lambda: M.reshape((4, 3), order="A"), ValueError, "order"),
    "a diagonal named by a tuple": (lambda: M.diagonal((1, 2)), errors.DTypeError, "^diagonal"),
    "a triangle named by a tuple": (lambda: tw.tril(M, k=(0, 1)), errors.DTypeError, "^tril"),
    "a turn by a list": (lambda: M.rot90([1]), errors.DTypeError, "^rot90"),
    "an eps that is no number": (lambda: tw.layer_norm(M, eps="1"), ValueError, "^layer_norm"),
    "a replacement that is no number": (
        lambda: tw.nan_to_num(V, posinf="1"), errors.DTypeError, "^nan_to_num",
    ),
    "isclose of shapes": (lambda: tw.isclose(V, value(3)), errors.ShapeError, "^isclose"),
    "fmax of integers' shapes": (
        lambda: tw.fmax(WHOLE, value(3, dtype="int64")), errors.ShapeError, "^fmax",
    ),
    "logical_xor of shapes": (lambda: tw.logical_xor(V, value(3)), errors.ShapeError, "^logical"),
    "divmod of shapes": (lambda: divmod(V, value(3)), errors.ShapeError, "^divmod"),
    "values that do not fit a slice": (
        lambda: V.at[:2].set(value(3)), errors.ShapeError, r"^at\[...\].set",
    ),
    "values that do not fit an index array": (
        lambda: V.at[[0, 1]].add(value(3)), errors.ShapeError, r"^at\[...\].add",
    ),
    "a shape given twice": (
        lambda: M.reshape((4, 3), shape=(4, 3)), errors.ArgumentError, "reshape.*twice",
    ),
    "axes given twice": (
        lambda: M.transpose(1, 0, axes=(1, 0)), errors.ArgumentError, "transpose.*twice",
    ),
    "no permutation": (lambda: M.transpose((0, 0)), errors.AxisError, "permutation"),
    "permutation of too few": (lambda: M.transpose((0,)), errors.AxisError, "permutation"),
    "T of a stack": (lambda: C.T, errors.ShapeError, "mT"),
    "mT of a vector": (lambda: V.mT, errors.ShapeError, "two axes"),
    "moveaxis of unequal lists": (lambda: C.moveaxis((0, 1), 0), errors.AxisError, "moveaxis"),
    "broadcast to fewer axes": (lambda: M.broadcast_to((4,)), errors.ShapeError, "broadcast_to"),
    "broadcast to other extents": (lambda: M.broadcast_to((3, 5)), errors.ShapeError, "broadcast"),
    "broadcast a long axis to 1": (lambda: V.broadcast_to((1,)), errors.ShapeError, "broadcast"),
    "broadcast along descending axes": (
        lambda: M.broadcast_in_dim((4, 3), (1, 0)), errors.AxisError, "ascending",
    ),
    "broadcast along the wrong axis": (
        lambda: V.broadcast_in_dim((3, 4), (0,)), errors.ShapeError, "broadcast_in_dim",
    ),
    "squeeze a long axis": (lambda: M.squeeze(0), errors.ShapeError, "squeeze"),
    "expand beyond the axes": (lambda: M.expand_dims(4), errors.AxisError, "expand_dims"),
    "flip an axis that is not there": (lambda: M.flip(2), errors.AxisError, "flip"),
    "concatenate unequal extents": (
        lambda: tw.concatenate([M, value(3, 5)]), errors.ShapeError, "concatenate",
    ),
    "concatenate nothing": (lambda: tw.concatenate([]), errors.ShapeError, "at least one"),
    "concatenate scalars": (lambda: tw.concatenate([SCALAR, SCALAR]), errors.AxisError, "axis"),
    "stack unequal shapes": (lambda: tw.stack([M, V]), errors.ShapeError, "stack"),
    "pad with too many pairs": (
        lambda: M.pad(((1, 1), (1, 1), (1, 1))), errors.ShapeError, "pad",
    ),
    "pad below nothing": (lambda: V.pad((-3, -2)), errors.ShapeError, "pad"),
    "pad in another mode": (
        lambda: V.pad(1, mode="mean"), errors.ArgumentError, "pad: mode.*reflect.*mean",
    ),
    "pad by repeating nothing": (lambda: EMPTY.pad(1, "edge"), errors.ShapeError, "no elements"),
    "pad by repeating after cropping all": (
        lambda: V.pad((-5, 1), "wrap"), errors.ShapeError, "crops",
    ),
    "pad between repeated elements": (
        lambda: V.pad(1, "edge", interior=1), errors.ShapeError, "interior",
    ),
    "pad by more elements than there are numbers": (
        lambda: V.pad(2**62, "reflect"), errors.TensorTooLargeError, "pad",
    ),
    "diagonal of one axis": (lambda: M.diagonal(0, 1, -1), errors.AxisError, "same"),
    "diagonal of a vector": (lambda: V.diagonal(), errors.AxisError, "diagonal"),
    "diagonal at half": (lambda: M.diagonal(0.5), errors.DTypeError, "offset"),
    "embed a number": (lambda: SCALAR.embed_diagonal(), errors.ShapeError, "one axis"),
    "diag of a stack": (lambda: C.diag(), errors.ShapeError, "diag"),
    "triangle of a vector": (lambda: V.tril(), errors.ShapeError, "two axes"),
    "roll along too many axes": (lambda: C.roll((1, 2), (0, 1, 2)), errors.ShapeError, "2 shifts"),
    "largest of no elements, no times": (
        lambda: value(0, 0).max(axis=1), errors.ShapeError, "max: no element",
    ),
    "smallest along several, one empty": (
        lambda: value(0, 2, 0).min(axis=(1, 2)), errors.ShapeError, "min: no element",
    ),
    "place of the largest of none": (
        lambda: value(2, 0).argmax(axis=1), errors.ShapeError, "argmax: no element",
    ),
    "place of the smallest of none, no times": (
        lambda: value(0, 0).argmin(axis=0), errors.ShapeError, "argmin: no element",
    ),
    "roll by half": (lambda: C.roll(0.5), errors.DTypeError, "shifts"),
    "roll along an axis that is not there": (lambda: V.roll(1, 1), errors.AxisError, "roll"),
    "slice of too few axes": (lambda: M.slice([0], [1]), errors.ShapeError, "2 axes"),
    "slice behind the end": (
        lambda: M.slice([0, 0], [3, 5]), errors.IndexOutOfBoundsError, "slice",
    ),
    "slice from the end": (lambda: V.slice([-1], [3]), errors.IndexOutOfBoundsError, "slice"),
    "slice backwards": (lambda: V.slice([0], [4], [-1]), errors.ArgumentError, "strides"),
    "slice by halves": (lambda: V.slice([0.5], [4]), errors.DTypeError, "starts"),
    "repeat with too few counts": (lambda: V.repeat([1, 2]), errors.ShapeError, "2 counts"),
    "repeat less than never": (lambda: V.repeat(-1), errors.ArgumentError, "negative"),
    "tile less than never": (lambda: V.tile((2, -1)), errors.ShapeError, "negative"),
    "split that does not divide": (lambda: V.split(3), errors.ShapeError, "array_split"),
    "split into nothing": (lambda: V.array_split(0), errors.ShapeError, "at least one"),
    "split into more than memory holds": (
        lambda: EMPTY.split(2**50), errors.ShapeError, "sections",
    ),
    "turn about one axis": (lambda: C.rot90(1, (0, 0)), errors.AxisError, "twice"),
    "turn about three axes": (lambda: C.rot90(1, (0, 1, 2)), errors.AxisError, "two axes"),
    "join rows of other lengths": (lambda: tw.vstack([V, M, C]), errors.ShapeError, "vstack"),
    "join no tensors": (lambda: tw.hstack([]), errors.ShapeError, "at least one"),
    "shapes alone that do not broadcast": (
        lambda: tw.broadcast_shapes((3,), (4,)), errors.ShapeError, "broadcast",
    ),
    "cross product of bools": (
        lambda: tw.cross(TRUTH[:3], TRUTH[:3]), errors.DTypeError, "cross",
    ),
    "inner product of other lengths": (lambda: tw.inner(V, value(3)), errors.ShapeError, "extents"),
    "cross product of four": (lambda: tw.cross(V, V), errors.ShapeError, "three elements"),
    "convolve matrices": (lambda: tw.convolve(M, V), errors.ShapeError, "one axis"),
    "convolve nothing": (lambda: tw.convolve(value(0), V), errors.ShapeError, "at least one"),
    "convolve in another mode": (
        lambda: tw.convolve(V, V, "half"), errors.ArgumentError, "valid",
    ),
    "interpolate unequal lists": (
        lambda: tw.interp(V, V, value(3)), errors.ShapeError, "same extent",
    ),
    "interpolate in no period": (
        lambda: tw.interp(V, V, V, period=0), errors.ArgumentError, "period",
    ),
    "interpolate at complex numbers": (
        lambda: tw.interp(COMPLEX, V, V), errors.DTypeError, "order",
    ),
    "convolve a matrix with a kernel": (lambda: tw.conv(M, M), errors.ShapeError, "spatial"),
    "convolve other channels": (
        lambda: tw.conv(C, value(5, 2, 1)), errors.ShapeError, "does not fit 3 channels",
    ),
    "convolve in groups that do not divide": (
        lambda: tw.conv(value(1, 4, 5), value(3, 2, 1), groups=2), errors.ShapeError, "2 groups",
    ),
    "convolve by no stride": (
        lambda: tw.conv(C, value(5, 3, 1), strides=0), errors.ArgumentError, "strides",
    ),
    "convolve by two strides on one axis": (
        lambda: tw.conv(C, value(5, 3, 1), strides=(1, 2)), errors.ArgumentError, "strides",
    ),
    "convolve with another padding": (
        lambda: tw.conv(C, value(5, 3, 1), padding="FULL"), errors.ArgumentError, "SAME",
    ),
    "convolve with too many paddings": (
        lambda: tw.conv(C, value(5, 3, 1), padding=(1, 2)), errors.ShapeError, "padding",
    ),
    "convolve in no groups": (
        lambda: tw.conv(C, value(5, 3, 1), groups=0), errors.ArgumentError, "groups",
    ),
    "transposed convolution of other channels": (
        lambda: tw.conv_transpose(C, value(5, 3, 1)), errors.ShapeError, "does not fit",
    ),
    "transposed convolution that loses places": (
        lambda: tw.conv_transpose(C, value(3, 5, 1), output_padding=-1),
        errors.ArgumentError, "output_padding",
    ),
    "pad by half": (lambda: V.pad(0.5), errors.DTypeError, "a width"),
    "index out of bounds": (lambda: V[4], errors.IndexOutOfBoundsError, "axis 0"),
    "negative index out of bounds": (lambda: V[-5], errors.IndexOutOfBoundsError, "-5"),
    "too many indices": (lambda: V[0, 0], errors.AxisError, "2 indices"),
    "two ellipses": (lambda: C[..., 0, ...], errors.AxisError, "ellipsis"),
    "index by a float": (lambda: V[1.0], errors.DTypeError, "indices"),
    "index by a list of floats": (lambda: V[[1.0]], errors.DTypeError, "integers"),
    "mask of another shape": (lambda: M[TRUTH], errors.MaskShapeError, "mask of shape"),
    "mask as a list": (lambda: V[[True, False]], IndexError, "from axis 0"),
    "step of 0": (lambda: V[::0], ValueError, "zero"),
    "index arrays that do not broadcast": (
        lambda: M[[0, 1], [0, 1, 2]], errors.ShapeError, "getitem",
    ),
    "index array out of bounds": (lambda: M[:, [0, 4]], errors.IndexOutOfBoundsError, "axis 1"),
    "take out of bounds": (lambda: V.take([0, 4]), errors.IndexOutOfBoundsError, "index 4"),
    "take from nothing": (lambda: EMPTY.take([0], axis=0), errors.IndexOutOfBoundsError, "take"),
    "take by floats": (lambda: V.take(V), errors.DTypeError, "integers"),
    "take in another mode": (lambda: V.take([0], mode="drop"), ValueError, "mode"),
    "take along with other axes": (
        lambda: M.take_along_axis(WHOLE, axis=1), errors.ShapeError, "take_along_axis",
    ),
    "gather slices that do not fit": (
        lambda: V.gather([[0]], axes=(0,), slice_sizes=(5,)), IndexError, "gather",
    ),
    "gather with too few columns": (
        lambda: M.gather([[0]], axes=(0, 1), slice_sizes=(1, 1)), errors.ShapeError, "gather",
    ),
    "scatter updates of another shape": (
        lambda: V.scatter_add([0, 1], value(3)), errors.ShapeError, "broadcast",
    ),
    "matmul of unequal extents": (lambda: M @ M, errors.ShapeError, "4 columns against 3 rows"),
    "matmul of a scalar": (lambda: M @ SCALAR, errors.ShapeError, "multiply"),
    "matmul of stacks that do not broadcast": (
        lambda: C @ value(3, 4, 2), errors.ShapeError, "matmul",
    ),
    "dot_general of unequal extents": (
        lambda: tw.dot_general(M, M, (((0,), (1,)), ((), ()))), errors.ShapeError, "contracting",
    ),
    "dot_general using an axis twice": (
        lambda: tw.dot_general(M, M, (((0,), (0,)), ((0,), (0,)))), errors.ShapeError, "twice",
    ),
    "tensordot over too many axes": (
        lambda: M.tensordot(M, axes=3), errors.ShapeError, "tensordot",
    ),
    "dot_general without batch axes": (
        lambda: tw.dot_general(M, M, ((1,), (0,))), errors.DTypeError, r"dot_general.*pair.*\(1,\)",
    ),
    "dot_general by a number": (
        lambda: tw.dot_general(M, M, 1), errors.DTypeError, "dimension_numbers",
    ),
    "dot_general by numbers": (
        lambda: tw.dot_general(M, M, ((1, 0), (0, 0))), errors.DTypeError, "integers, got 1",
    ),
    "tensordot by one list": (
        lambda: tw.tensordot(M, M, axes=((1,),)), errors.DTypeError, "tensordot.*pair",
    ),
    "tensordot by half": (lambda: tw.tensordot(M, M, axes=0.5), errors.DTypeError, "tensordot"),
    "argmax along two axes": (lambda: M.argmax(axis=(0, 1)), errors.DTypeError, r"argmax.*\(0, 1"),
    "transpose by a number": (lambda: tw.transpose(M, 3), errors.DTypeError, "transpose.*got 3"),
    "broadcast along a number": (
        lambda: tw.broadcast_in_dim(V, (4, 4), 1), errors.DTypeError, "broadcast_in_dim.*got 1",
    ),
    "reduce_sum along a number": (
        lambda: tw.reduce_sum(M, 0), errors.DTypeError, "reduce_sum.*got 0",
    ),
    "gather along a number": (
        lambda: V.gather([[0]], axes=0, slice_sizes=(1,)), errors.DTypeError, "gather.*got 0",
    ),
    "vecdot along no axis": (lambda: M.vecdot(M, axis=2), errors.AxisError, "vecdot: axis 2"),
    "vecdot of unequal vectors": (lambda: M.vecdot(value(3)), errors.ShapeError, "vecdot"),
    "ndarray on the right": (lambda: V + np.ones(4), errors.DTypeError, "constant_from"),
    "ndarray on the left": (lambda: np.ones(4) * V, errors.DTypeError, "constant_from"),
    "ndarray compared": (lambda: np.ones(4) == V, errors.DTypeError, "constant_from"),
    "ndarray in a function": (lambda: tw.matmul(M, np.ones(4)), errors.DTypeError, "constant_from"),
    "text": (lambda: V + "text", TypeError, "unsupported operand"),
    "bits of floats": (lambda: V & V, errors.DTypeError, "bitwise_and"),
    "exclusive or of floats": (lambda: V ^ 1, errors.DTypeError, "bitwise_xor"),
    "difference of bools": (lambda: TRUTH - TRUTH, errors.DTypeError, "logical"),
    "shift by a float": (lambda: WHOLE << 1.5, errors.DTypeError, "bitwise_left_shift"),
    "remainder of complex numbers": (lambda: COMPLEX % 2, errors.DTypeError, "remainder"),
    "rounding to a fraction of a place": (lambda: V.round(0.5), errors.DTypeError, "decimals"),
    "sigmoid of complex numbers": (lambda: COMPLEX.sigmoid(), errors.DTypeError, "sigmoid"),
    "order of complex numbers": (lambda: COMPLEX < COMPLEX, errors.DTypeError, "order"),
    "integer too large for the dtype": (
        lambda: value(4, dtype="int32") + 2**40, OverflowError, "int32",
    ),
    "comparison without a name": (lambda: V.compare(V, "near"), ValueError, "direction"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_error(name):
    call, kind, words = ROWS[name]
    with pytest.raises(kind, match=words):
        call()


def test_foreign_types_are_unequal_and_tensors_hash_by_identity():
    assert (V == "text") is False
    assert (V != None) is True  # noqa: E711
    assert hash(V) == object.__hash__(V)
    assert (V == V).dtype == np.bool_


@pytest.mark.parametrize(
    ("call", "shape", "dtype"),
    [
        (lambda: WHOLE.sum(), (), "int64"),
        (lambda: value(4, dtype="int8").sum(), (), "int64"),
        (lambda: value(4, dtype="uint8").prod(), (), "uint64"),
        (lambda: TRUTH.sum(), (), "int64"),
        (lambda: TRUTH.max(), (), "bool"),
        (lambda: WHOLE.mean(), (), "float32"),
        (lambda: value(4, dtype="float16").mean(), (), "float16"),
        (lambda: V.argmax(keepdims=True), (1,), "int64"),
        (lambda: V / WHOLE, (4,), "float32"),
        (lambda: WHOLE / WHOLE, (4,), "float32"),
        (lambda: V * 2j, (4,), "complex64"),
        (lambda: tw.concatenate([V, WHOLE]), (8,), "float32"),
        (lambda: tw.stack([V, COMPLEX]), (2, 4), "complex64"),
        (lambda: WHOLE.pad(1, constant_values=0.5), (6,), "float32"),
        (lambda: M @ WHOLE, (3,), "float32"),
        (lambda: C[None, ..., WHOLE], (1, 2, 3, 4), "float32"),
        (lambda: C[WHOLE, :, WHOLE], (4, 3), "float32"),
        (lambda: EMPTY.max(axis=1), (0,), "float32"),
        (lambda: tw.from_flat(V, (2, 2), order="F"), (2, 2), "float32"),
        (lambda: tw.ones_like(COMPLEX), (4,), "complex64"),
        (lambda: TRUTH ^ True, (4,), "bool"),
    ],
)
def test_signature_of_results(call, shape, dtype):
    out = call()
    assert out.shape == shape
    assert out.dtype == dtype
