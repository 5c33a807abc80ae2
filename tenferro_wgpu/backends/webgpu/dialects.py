"""Dialects: how each dtype is stored, held in registers and computed with in WGSL.

A dialect is a named set of scalar WGSL functions (`tf_add_f32`, `tf_mul_f64s`, ...) over one
storage type; the WGSL itself lies in `shaders/dtypes/`. This module only knows the names, the
WGSL types and which NumPy dtype each one carries. Kernels pick dialects with `dialect_for` and
hand them to `shaders.render_module`; nothing here knows templates, devices or kernels.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tenferro_wgpu.errors import UnsupportedOperationError


@dataclass(frozen=True)
class Dialect:
    """One way to hold a dtype in WGSL.

    Attributes:
        name: suffix of every WGSL function of the dialect (`f32`, `i64s`, ...).
        dtype_name: NumPy name of the dtype whose bits a storage element carries.
        storage: WGSL element type in storage buffers.
        value: WGSL type in registers.
        words: 32-bit words of one storage element.  Types of less than 32 bits take a whole word
            on the device, and there alone: tensors count their bytes as NumPy does.
        family: name that template files shared by several dialects begin with.
        native: whether the device must be able to run the dialect (`dialect_for` asks for it).
        parts: of complex numbers, the dialect of the real and the imaginary part; "" of others.
    """

    name: str
    dtype_name: str
    storage: str
    value: str
    words: int
    family: str
    native: bool = False
    parts: str = ""

    @cached_property
    def dtype(self) -> np.dtype:
        """The NumPy dtype of a tensor held in this dialect."""
        return np.dtype(self.dtype_name)

    @property
    def constant_words(self) -> int:
        """Params words that hold the bits of a scalar constant."""
        return max(self.words, 2)

    @cached_property
    def storage_dtype(self) -> np.dtype:
        """The NumPy dtype with the bits of one storage element: at least 32."""
        if self.dtype.itemsize >= 4:
            return self.dtype
        return np.dtype(np.int32 if self.dtype.kind == "i" else np.uint32)

    def to_storage(self, array: np.ndarray) -> np.ndarray:
        """The values of `array` as the device stores them, in C order.

        Integers are extended to a word by their value, bool is 0 or 1, and the 16 bits of a
        float16 fill the low half of a word.

        Args:
            array: of any dtype that converts to the dialect's, any layout and byte order.

        Returns:
            An array of `storage_dtype`; one that needs no change may be `array` itself.

        >>> dialect("i8").to_storage(np.array([-1, 5], np.int8)).view(np.uint32)
        array([4294967295,          5], dtype=uint32)
        """
        if self.dtype is self.storage_dtype:
            return np.ascontiguousarray(array, self.dtype)
        if self.dtype.kind == "f":
            array = np.ascontiguousarray(array, self.dtype).view(np.uint16)
        elif array.dtype != self.dtype:
            array = array.astype(self.dtype)
        return np.ascontiguousarray(array, self.storage_dtype)

    def from_storage(self, stored: np.ndarray) -> np.ndarray:
        """The values of elements that the device stored: the inverse of `to_storage`.

        Args:
            stored: a C-order array of any dtype (bytes as read, or words) whose bits are a number
                of storage elements.

        Returns:
            A one-dimensional array of the dialect's dtype; a view of `stored` where nothing has
            to be converted.
        """
        words = stored.reshape(-1).view(self.storage_dtype)
        if self.dtype is self.storage_dtype:
            return words
        if self.dtype.kind == "f":
            return words.astype(np.uint16).view(self.dtype)
        return words.astype(self.dtype)


# The order is the order of the fragments in a module: it must never depend on what a module uses.
DIALECTS: tuple[Dialect, ...] = (
    Dialect("f32", "float32", "f32", "f32", 1, "f32"),
    Dialect("i32", "int32", "i32", "i32", 1, "word"),
    Dialect("u32", "uint32", "u32", "u32", 1, "word"),
    Dialect("bool", "bool", "u32", "bool", 1, "bool"),
    Dialect("i8", "int8", "i32", "i32", 1, "word"),
    Dialect("i16", "int16", "i32", "i32", 1, "word"),
    Dialect("u8", "uint8", "u32", "u32", 1, "word"),
    Dialect("u16", "uint16", "u32", "u32", 1, "word"),
    Dialect("f16s", "float16", "u32", "f32", 1, "f16"),
    Dialect("f16n", "float16", "u32", "f16", 1, "f16", native=True),
    Dialect("i64s", "int64", "vec2<u32>", "vec2<u32>", 2, "pair"),
    Dialect("u64s", "uint64", "vec2<u32>", "vec2<u32>", 2, "pair"),
    Dialect("i64n", "int64", "i64", "i64", 2, "word", native=True),
    Dialect("u64n", "uint64", "u64", "u64", 2, "word", native=True),
    Dialect("c64", "complex64", "vec2<f32>", "vec2<f32>", 2, "complex", parts="f32"),
    Dialect("f64s", "float64", "vec2<u32>", "vec2<u32>", 2, "f64"),
    Dialect("f64n", "float64", "f64", "f64", 2, "f64", native=True),
    Dialect("c128s", "complex128", "vec4<u32>", "vec4<u32>", 4, "complex", parts="f64s"),
    Dialect(
        "c128n", "complex128", "vec2<f64>", "vec2<f64>", 4, "complex", native=True, parts="f64n"
    ),
)

_BY_NAME = {entry.name: entry for entry in DIALECTS}


def dialect(name: str) -> Dialect:
    """Return the dialect called `name`.

    Raises:
        UnsupportedOperationError: there is no such dialect.
    """
    found = _BY_NAME.get(name)
    if found is None:
        raise UnsupportedOperationError(
            op="dialect", dtype=name, backend="webgpu", hint=f"dialects are {', '.join(_BY_NAME)}"
        )
    return found


def dialect_for(
    dtype: np.dtype, native_features: frozenset[str], operation: str = "storage"
) -> Dialect:
    """Return the dialect that carries `dtype` on a device.

    Args:
        dtype: a NumPy dtype.
        native_features: names of the native dialects the device's probe allows (`{"f64n"}`).
            A native dialect is preferred to the software one of the same dtype.
        operation: what the dialect is for, named by the error.

    Raises:
        UnsupportedOperationError: no dialect carries `dtype`.
    """
    software = None
    for entry in DIALECTS:
        if entry.dtype == dtype:
            if entry.native and (entry.parts or entry.name) in native_features:
                return entry
            if not entry.native:
                software = entry
    if software is None:
        raise UnsupportedOperationError(
            op=operation,
            dtype=str(dtype),
            backend="webgpu",
            hint=f"its dtypes are {', '.join(sorted({entry.dtype_name for entry in DIALECTS}))}: "
            "convert with astype(...) first, or choose dtype=..., as in sum(dtype=int64)",
        )
    return software


def native_names(dtype: np.dtype) -> frozenset[str]:
    """Names of the native dialects that `dialect_for` depends on: few types have one."""
    return frozenset(
        entry.parts or entry.name for entry in DIALECTS if entry.native and entry.dtype == dtype
    )


def dtype_support(native_dialects: frozenset[str]) -> dict[str, str]:
    """How a device with these native dialects computes each dtype: "native" or "software".

    A dialect whose name ends in s computes with integers what the hardware may lack.
    """
    found: dict[str, str] = {}
    for entry in DIALECTS:
        if not entry.native:
            found[entry.dtype_name] = "software" if entry.name.endswith("s") else "native"
    for entry in DIALECTS:
        if entry.native and (entry.parts or entry.name) in native_dialects:
            found[entry.dtype_name] = "native"
    return found


class DialectView:
    """A dialect as a template sees it: `T.storage`, `T.value`, `T.add`, `T.cast_to("f64s")`.

    Any other attribute is the name of the WGSL function `tf_<attribute>_<dialect>`, checked
    against `known`, so that a template asking for what the dialect lacks fails when it is
    rendered and not when the module is compiled.
    """

    def __init__(self, entry: Dialect, known: Container[str] | None) -> None:
        """Make a view of `entry`; `known` are all declared names, None inside dialect files."""
        self.dialect = entry
        self.name = entry.name
        self.storage = entry.storage
        self.value = entry.value
        self.words = entry.words
        self.native = entry.native
        #: The view of the dialect of the parts of a complex number; None of other dialects.
        self.parts = DialectView(dialect(entry.parts), known) if entry.parts else None
        self._known = known

    def __getattr__(self, attribute: str) -> str:
        if attribute.startswith("__"):  # Python and Jinja ask for protocol methods
            raise AttributeError(attribute)
        return self._checked(f"tf_{attribute}_{self.name}", attribute)

    def cast_to(self, target: str | Dialect | DialectView) -> str:
        """Return the name of the function that casts a value of this dialect to `target`'s."""
        name = target if isinstance(target, str) else target.name
        return self._checked(f"tf_cast_{self.name}_{name}", f"cast to {name}")

    def _checked(self, function: str, operation: str) -> str:
        if self._known is not None and function not in self._known:
            raise UnsupportedOperationError(
                op=operation,
                dtype=self.dialect.dtype_name,
                backend="webgpu",
                hint=f"the WGSL dialect {self.name} declares no {function}",
            )
        return function

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DialectView({self.name})"
