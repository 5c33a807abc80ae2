"""Python's operators, and every public operation as a method, for all tensor classes.

A mixin: eager tensors and the values inside transforms take it alike.  A method is the public
function itself, so both have one signature and one documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from . import (
    activation,
    aliases,
    binning,
    bits,
    calculus,
    choice,
    closeness,
    contraction,
    convolution,
    covariance,
    curves,
    diagonals,
    divisors,
    editing,
    exponential,
    finding,
    floats,
    histograms,
    hyperbolic,
    indexing,
    joining,
    membership,
    norms,
    ordering,
    padding,
    partitions,
    powers,
    products,
    quantiles,
    rearranging,
    reduction,
    rounding,
    scanning,
    sets,
    signals,
    special,
    spread,
    stacking,
    statistics,
    structural,
    trigonometry,
    truth,
    uniqueness,
    windows,
)
from . import elementwise as arithmetic
from .calling import SCALARS
from .data_types import astype
from .getitem import getitem
from .numpy_protocols import NumpyProtocols
from .updating import TensorIndexer
from .value import Value

__all__ = ["METHODS", "Operators", "compare"]

_DIRECTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": choice.equal,
    "ne": choice.not_equal,
    "lt": choice.less,
    "le": choice.less_equal,
    "gt": choice.greater,
    "ge": choice.greater_equal,
}


def compare(x: Any, y: Any, /, direction: str) -> Any:
    """Compare two tensors element by element: "eq", "ne", "lt", "le", "gt" or "ge".

    Raises:
        ArgumentError: for another direction.
        DTypeError: for an order of complex numbers.
        ShapeError: if the shapes do not broadcast.

    >>> import tenferro_wgpu as tw
    >>> tw.compare(tw.asarray([1.0, 2.0]), 1.5, "lt").tolist()
    [True, False]
    """
    function = _DIRECTIONS.get(direction.lower()) if isinstance(direction, str) else None
    if function is None:
        raise ArgumentError(
            "compare", f"direction must be one of {', '.join(_DIRECTIONS)}, got {direction!r}"
        )
    return function(x, y)


#: What operators have something to say about, a result or their own error, besides arrays of
#: other libraries.  Of lists it is an error: left to Python, `x == [1, 2]` would be False.
_TAKEN = (Value, *SCALARS, np.ndarray, list, tuple)


def _forward(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, _TAKEN) or hasattr(other, "__array__"):
            return function(self, other)
        return NotImplemented

    return method


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if isinstance(other, _TAKEN) or hasattr(other, "__array__"):
            return function(other, self)
        return NotImplemented

    return method


class Operators(NumpyProtocols, Value):
    """A value with Python's operators and the public operations as methods."""

    __slots__ = ()

    __hash__ = object.__hash__

    __add__ = _forward(arithmetic.add)
    __radd__ = _reflected(arithmetic.add)
    __sub__ = _forward(arithmetic.subtract)
    __rsub__ = _reflected(arithmetic.subtract)
    __mul__ = _forward(arithmetic.multiply)
    __rmul__ = _reflected(arithmetic.multiply)
    __truediv__ = _forward(arithmetic.divide)
    __rtruediv__ = _reflected(arithmetic.divide)
    __floordiv__ = _forward(rounding.floor_divide)
    __rfloordiv__ = _reflected(rounding.floor_divide)
    __mod__ = _forward(rounding.remainder)
    __rmod__ = _reflected(rounding.remainder)
    __divmod__ = _forward(rounding.divmod)
    __rdivmod__ = _reflected(rounding.divmod)
    __pow__ = _forward(powers.pow)
    __rpow__ = _reflected(powers.pow)
    __matmul__ = _forward(contraction.matmul)
    __rmatmul__ = _reflected(contraction.matmul)
    __and__ = _forward(bits.bitwise_and)
    __rand__ = _reflected(bits.bitwise_and)
    __or__ = _forward(bits.bitwise_or)
    __ror__ = _reflected(bits.bitwise_or)
    __xor__ = _forward(bits.bitwise_xor)
    __rxor__ = _reflected(bits.bitwise_xor)
    __lshift__ = _forward(bits.bitwise_left_shift)
    __rlshift__ = _reflected(bits.bitwise_left_shift)
    __rshift__ = _forward(bits.bitwise_right_shift)
    __rrshift__ = _reflected(bits.bitwise_right_shift)
    __eq__ = _forward(choice.equal)
    __ne__ = _forward(choice.not_equal)
    __lt__ = _forward(choice.less)
    __le__ = _forward(choice.less_equal)
    __gt__ = _forward(choice.greater)
    __ge__ = _forward(choice.greater_equal)

    def __neg__(self) -> Any:
        return arithmetic.negative(self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return arithmetic.abs(self)

    def __invert__(self) -> Any:
        return bits.bitwise_not(self)

    def __round__(self, ndigits: int | None = None) -> Any:
        return rounding.round(self, 0 if ndigits is None else ndigits)

    def __floor__(self) -> Any:
        return rounding.floor(self)

    def __ceil__(self) -> Any:
        return rounding.ceil(self)

    def __trunc__(self) -> Any:
        return rounding.trunc(self)

    def __getitem__(self, key: Any) -> Any:
        return getitem(self, key)

    @property
    def at(self) -> TensorIndexer:
        """Changed copies by index: ``x.at[key].set(v)``, add, multiply and others; or ``get()``."""
        return TensorIndexer(self)

    def reshape(
        self, *extents: Any, shape: Any = None, order: str = "C", copy: bool | None = None
    ) -> Any:
        """`tenferro_wgpu.reshape`; the extents may also be given one by one, as in NumPy."""
        if len(extents) == 2 and isinstance(extents[1], str):
            order = extents[1]
            extents = extents[:1]
        if shape is None:
            shape = extents[0] if len(extents) == 1 else extents
        elif extents:
            raise ArgumentError("reshape", f"the shape is given twice: {extents} and {shape}")
        return structural.reshape(self, shape, order, copy=copy)

    def transpose(self, *places: Any, axes: Any = None) -> Any:
        """`tenferro_wgpu.transpose`; the axes may also be given one by one, as in NumPy."""
        if places and axes is not None:
            raise ArgumentError("transpose", f"the axes are given twice: {places} and {axes}")
        if len(places) == 1 and not isinstance(places[0], (int, np.integer)):
            axes = places[0]
        elif places:
            axes = places
        return structural.transpose(self, axes)

    def copy(self, order: str = "C") -> Any:
        """The tensor itself: it is immutable, so that nothing ever needs a copy."""
        del order
        return self

    @property
    def T(self) -> Any:
        """The transpose of a matrix; other tensors have `mT` and `permute_dims`."""
        if self.ndim != 2:
            raise ShapeError(
                "T",
                f"a tensor of two axes is needed, got shape {self.shape}; use .mT for stacks of "
                "matrices or permute_dims(...)",
                (self.shape,),
            )
        return structural.transpose(self)

    @property
    def mT(self) -> Any:
        """The transpose of every matrix of a stack: the last two axes exchanged."""
        return structural.matrix_transpose(self)

    @property
    def real(self) -> Any:
        """The real part; a real tensor itself."""
        return arithmetic.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part; zeros for a real tensor."""
        return arithmetic.imag(self)

    if TYPE_CHECKING:
        # The methods of METHODS, which are set on the class below.
        def __getattr__(self, name: str) -> Any: ...


#: Modules all of whose public functions take a tensor first, and are methods.
_MODULES: tuple[ModuleType, ...] = (
    activation, aliases, arithmetic, binning, bits, calculus, choice, closeness, convolution,
    covariance, curves, divisors, editing, exponential, finding, floats, histograms, hyperbolic,
    membership, norms, ordering, partitions, powers, products, quantiles, reduction, rounding,
    scanning, sets, signals, spread, statistics, trigonometry, truth, uniqueness, windows,
)  # fmt: skip
#: The parts of complex numbers are properties.
_PROPERTIES = frozenset({"real", "imag"})

#: Method name -> function; the first argument of the function is the tensor.
METHODS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        compare, astype, special.erf, special.erfc, special.lgamma, special.digamma,
        structural.ravel, structural.flatten,
        structural.permute_dims, structural.matrix_transpose, structural.swapaxes,
        structural.moveaxis, structural.broadcast_in_dim, structural.broadcast_to,
        structural.expand_dims, structural.squeeze, structural.flip,
        joining.unstack, padding.pad,
        rearranging.roll, rearranging.repeat, rearranging.tile, rearranging.split,
        rearranging.array_split, rearranging.rot90, rearranging.flipud, rearranging.fliplr,
        stacking.atleast_1d, stacking.atleast_2d, stacking.atleast_3d,
        diagonals.diag, diagonals.diagonal, diagonals.embed_diagonal, diagonals.trace,
        diagonals.tril, diagonals.triu,
        indexing.gather, indexing.scatter_add, indexing.scatter_add_slices, indexing.take,
        indexing.take_along_axis,
        contraction.dot_general, contraction.matmul, contraction.tensordot, contraction.vecdot,
    )
}  # fmt: skip
METHODS.update(
    (name, getattr(module, name))
    for module in _MODULES
    for name in module.__all__
    if name not in _PROPERTIES
)

for _name, _function in METHODS.items():
    setattr(Operators, _name, _function)
