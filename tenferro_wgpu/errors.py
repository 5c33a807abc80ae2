"""Every exception of the library, each with structured fields and its message built here.

Any layer may raise these.  Each class also subclasses the built-in exception a NumPy user
already catches, so ``except ValueError`` keeps working.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .naming import called

__all__ = [
    "ArgumentError",
    "AxisError",
    "ContextMismatchError",
    "DTypeError",
    "DeviceLostError",
    "DeviceOutOfMemoryError",
    "DuplicateRuleError",
    "EnvironmentVariableError",
    "ExtensionRegistryError",
    "InPlaceOnVariableError",
    "IndexOutOfBoundsError",
    "IndexShapeError",
    "IndexTypeError",
    "LossyConversionError",
    "MaskShapeError",
    "MalformedFamilyIdError",
    "MissingRuleError",
    "NoAdapterError",
    "NanError",
    "NonScalarGradError",
    "NotDetachedError",
    "NotTrackedError",
    "RangeError",
    "RuntimeClosedError",
    "ShaderError",
    "ShapeError",
    "SyncUnavailableError",
    "TenferroError",
    "TensorTooLargeError",
    "UnregisteredExtensionError",
    "UnsupportedOperationError",
]


class TenferroError(Exception):
    """Base class of every exception this library raises on purpose.

    Exceptions keep their message and fields when pickled, so they cross processes.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__))


def _rebuild(kind: type[TenferroError], args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    """An exception from its parts: its own constructor would write the message again."""
    error = BaseException.__new__(kind, *args)
    error.args = args
    error.__dict__.update(fields)
    return error


class ArgumentError(TenferroError, ValueError):
    """An argument whose value an operation does not take."""

    def __init__(self, op: str, message: str) -> None:
        self.op = op = called(op)
        super().__init__(f"{op}: {message}")


class RangeError(TenferroError, OverflowError):
    """A number that the wanted dtype cannot hold."""

    def __init__(self, op: str, value: Any, dtype: Any) -> None:
        self.op = op = called(op)
        self.value = value
        self.dtype = dtype
        shown = value
        if isinstance(value, int) and value.bit_length() > 128:
            shown = f"an integer of {value.bit_length()} bits"  # Python refuses to print long ones
        super().__init__(
            f"{op}: {shown} is out of range for {dtype}; use a wider dtype, or astype(...) first"
        )


class ShapeError(TenferroError, ValueError):
    """Shapes that do not fit an operation."""

    def __init__(self, op: str, message: str, shapes: Iterable[Sequence[int]] = ()) -> None:
        self.op = op = called(op)
        self.shapes = tuple(tuple(shape) for shape in shapes)
        super().__init__(f"{op}: {message}")


class AxisError(TenferroError, np.exceptions.AxisError):
    """An axis outside the tensor's dimensions, or named twice."""

    def __init__(self, op: str, message: str, *, axis: Any = None, ndim: int | None = None) -> None:
        self.op = op = called(op)
        self.message = f"{op}: {message}"
        np.exceptions.AxisError.__init__(self, self.message)
        self.axis = axis
        self.ndim = ndim

    def __str__(self) -> str:
        return self.message


class DTypeError(TenferroError, TypeError):
    """A data type that an operation does not take."""

    def __init__(self, op: str, message: str, dtypes: Iterable[Any] = ()) -> None:
        self.op = op = called(op)
        self.dtypes = tuple(dtypes)
        super().__init__(f"{op}: {message}")


class LossyConversionError(TenferroError, TypeError):
    """A checked conversion that would lose information."""

    def __init__(self, source: Any, target: Any) -> None:
        self.source = source
        self.target = target
        super().__init__(
            f"convert: {source} to {target} can lose information; "
            f"astype({target}) does it explicitly"
        )


#: Operations that can allow an index out of bounds.
_WITH_MODE = (
    "gather", "put_along_axis", "scatter", "scatter_add", "scatter_add_slices", "take",
    "take_along_axis",
)  # fmt: skip


class IndexOutOfBoundsError(TenferroError, IndexError):
    """An index outside its axis, found at the call or later on the device."""

    def __init__(
        self, op: str, *, index: int | None = None, axis: int | None = None, size: int | None = None
    ) -> None:
        self.op = op
        self.index = index
        self.axis = axis
        self.size = size
        found = "an index" if index is None else f"index {index}"
        where = "" if axis is None else f" on axis {axis}"
        bound = "its axis" if size is None else f"an axis of size {size}"
        super().__init__(f"{op}: {found} is out of bounds for {bound}{where}{self._hint()}")

    def _hint(self) -> str:
        """What allows such an index, if anything does."""
        if self.op == "bincount":
            return "; numbers are counted from 0 up"
        if self.size == 0:
            return ""
        return '; use mode="clip", "wrap" or "fill" to allow it' if self.op in _WITH_MODE else ""


class IndexShapeError(ShapeError, IndexError):
    """Index arrays of one key, or masks among them, that do not broadcast to one shape."""

    def __init__(self, op: str, shapes: Iterable[Sequence[int]]) -> None:
        several = tuple(tuple(shape) for shape in shapes)
        shown = " and ".join(map(str, several))
        super().__init__(op, f"index arrays of shapes {shown} do not broadcast", several)


class IndexTypeError(DTypeError, IndexError):
    """An index that is no integer, slice, None, ellipsis, mask or array of integers."""


class MaskShapeError(ShapeError, IndexError):
    """A boolean mask whose shape is not that of the axes it indexes."""

    def __init__(self, op: str, mask: Sequence[int], shape: Sequence[int], axis: int) -> None:
        super().__init__(
            op,
            f"a mask of shape {tuple(mask)} does not fit shape {tuple(shape)} from axis {axis} on",
            (tuple(mask), tuple(shape)),
        )


class NonScalarGradError(TenferroError, ValueError):
    """``backward()`` on a tensor that is not rank 0."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        super().__init__(
            f"backward: gradients start from a tensor of shape (), got shape {self.shape}; "
            "reduce it first (for example .sum()) or pass backward(gradient=...)"
        )


class NotTrackedError(TenferroError, ValueError):
    """A derivative was asked of a tensor that does not track gradients."""

    def __init__(self, op: str) -> None:
        self.op = op
        super().__init__(
            f"{op}: the tensor does not track gradients; make its inputs with "
            "runtime.variable_from(...) and compute outside no_grad()"
        )


class NotDetachedError(TenferroError, ValueError):
    """A tracked tensor where gradients cannot follow."""

    def __init__(self, op: str) -> None:
        self.op = op = called(op)
        super().__init__(
            f"{op}: gradients do not cross runtimes; use detach_into(runtime) to move the values"
        )


class ContextMismatchError(TenferroError, ValueError):
    """Tensors of two runtimes met in one operation."""

    def __init__(self, op: str, lhs: Any, rhs: Any) -> None:
        self.op = op = called(op)
        self.lhs = lhs
        self.rhs = rhs
        super().__init__(
            f"{op}: tensors belong to different eager AD contexts ({lhs} and {rhs}); "
            "detach into the target context before combining them "
            "(x.detach_into(runtime)); creation functions take device=runtime"
        )


class InPlaceOnVariableError(TenferroError, RuntimeError):
    """An in-place operator on a tracked tensor outside ``no_grad()``."""

    def __init__(self, op: str, detail: str) -> None:
        self.op = op
        super().__init__(f"{op}: {detail}")


class MissingRuleError(TenferroError, NotImplementedError):
    """An operation has no derivative rule for the mode that was asked."""

    def __init__(self, family: str, mode: str) -> None:
        self.family = family
        self.mode = mode
        super().__init__(f"{family}: no {mode} rule is registered for this operation")


class UnsupportedOperationError(TenferroError, NotImplementedError):
    """A backend has no kernel for an operation or data type."""

    def __init__(self, op: str, *, dtype: Any = None, backend: str = "", hint: str = "") -> None:
        self.op = op
        self.dtype = dtype
        self.backend = backend
        self.hint = hint
        what = op if dtype is None else f"{op} on {dtype}"
        where = f" by the {backend} backend" if backend else ""
        super().__init__(f"{what} is not supported{where}" + (f"; {hint}" if hint else ""))


class ExtensionRegistryError(TenferroError, ValueError):
    """An extension could not be registered."""


class MalformedFamilyIdError(ExtensionRegistryError):
    """A family id that is not ``<package>.<op>.v<major>``."""

    def __init__(self, family: str) -> None:
        self.family = family
        super().__init__(f"{family!r} is not a family id of the form <package>.<op>.v<major>")


class DuplicateRuleError(ExtensionRegistryError):
    """Two derivative rules for one family."""

    def __init__(self, family: str) -> None:
        self.family = family
        super().__init__(f"{family}: a derivative rule is already registered for this family")


class UnregisteredExtensionError(TenferroError, LookupError):
    """An extension operation whose family the runtime does not know."""

    def __init__(self, family: str) -> None:
        self.family = family
        super().__init__(
            f"{family}: this family is not registered; "
            "call runtime.register_extension(...) with its module first"
        )


class RuntimeClosedError(TenferroError, RuntimeError):
    """A runtime, or a tensor of it, was used after ``close()``."""

    def __init__(self, op: str, message: str = "") -> None:
        self.op = op
        super().__init__(
            f"{op}: {message or 'the runtime of this tensor is closed; make a new EagerRuntime'}"
        )


class DeviceLostError(TenferroError, RuntimeError):
    """The GPU device was lost; every runtime that shares it is affected."""

    def __init__(self, op: str, reason: str = "") -> None:
        self.op = op
        self.reason = reason
        because = f" ({reason})" if reason else ""
        super().__init__(
            f"{op}: the GPU device was lost{because}; its tensors are gone, make a new EagerRuntime"
        )


class ShaderError(TenferroError, RuntimeError):
    """A WGSL module or pipeline that the device refused."""

    def __init__(
        self, label: str, message: str, *, wgsl: str = "", line: int | None = None
    ) -> None:
        self.label = label
        self.wgsl = wgsl
        self.line = line
        where = "" if line is None else f" at line {line}"
        super().__init__(f"{label}: the device refused this WGSL module{where}: {message}")


class DeviceOutOfMemoryError(TenferroError, MemoryError):
    """The device, or the runtime's memory limit, has no room for an allocation."""

    def __init__(self, op: str, nbytes: int, detail: str = "") -> None:
        self.op = op
        self.nbytes = nbytes
        super().__init__(
            f"{op}: out of device memory asking for {nbytes:,} bytes"
            + (f" ({detail})" if detail else "")
            + "; drop tensors you no longer need or work on smaller pieces"
        )


class TensorTooLargeError(TenferroError, MemoryError):
    """A tensor larger than the device can bind or address."""

    def __init__(self, op: str, nbytes: int, limit: int, limit_name: str) -> None:
        self.op = op
        self.nbytes = nbytes
        self.limit = limit
        self.limit_name = limit_name
        super().__init__(
            f"{op}: a tensor of {nbytes:,} bytes exceeds this device's {limit_name} "
            f"of {limit:,} bytes; split it along an axis"
        )


class SyncUnavailableError(TenferroError, RuntimeError):
    """A blocking wait where the platform cannot block."""

    def __init__(self, op: str, async_form: str) -> None:
        self.op = op
        self.async_form = async_form
        super().__init__(
            f"{op}: this environment cannot wait synchronously; use `{async_form}` "
            "(in Pyodide also run the program with runPythonAsync)"
        )


class NoAdapterError(TenferroError, RuntimeError):
    """No device of the wanted kind was found."""

    def __init__(self, backend: str, reason: str, hint: str = "") -> None:
        self.backend = backend
        self.reason = reason
        self.hint = hint
        super().__init__(f"{backend}: no adapter: {reason}" + (f"; {hint}" if hint else ""))


class EnvironmentVariableError(TenferroError, ValueError):
    """A ``TENFERRO_*`` environment variable with a value that is not understood."""

    def __init__(self, variable: str, value: str, choices: Sequence[str]) -> None:
        self.variable = variable
        self.value = value
        self.choices = tuple(choices)
        super().__init__(f"{variable}={value!r} is not understood; choose {', '.join(choices)}")


class NanError(TenferroError, FloatingPointError):
    """`check_nans` saw an operation turn NaN-free inputs into NaN."""

    def __init__(self, op: str, shape: Sequence[int]) -> None:
        self.op = op
        self.shape = tuple(shape)
        super().__init__(
            f"{op}: first made a NaN, in a result of shape {self.shape}; look at its inputs"
        )
