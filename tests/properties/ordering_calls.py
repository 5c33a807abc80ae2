"""Random valid calls of sorts, masks, changed copies and counts, continuing `calls`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro_wgpu as tw
from tenferro_wgpu.ops.quantiles import METHODS
from tenferro_wgpu.testing.ordering import argsort_descending

from .calls import Call, maker, random_axis
from .operands import ALL, NUMBERS, Operand, View, random_operand, random_shape
from .sources import Source

SORTABLE = (*ALL, "float16", "complex64", "complex128")


def _with_axes(source: Source, dtype: str, kind: str = "any", most: int = 4) -> Operand:
    operand = random_operand(source, dtype, kind=kind, most_axes=most)
    return operand if operand.ndim else random_operand(source, dtype, kind=kind, shape=(3,))


# -- order --------------------------------------------------------------------------------------


@maker("sort")
def _sort(source: Source) -> Call:
    operand = _with_axes(source, source.choice(SORTABLE))
    axis = None if source.chance(20) else source.integer(-operand.ndim, operand.ndim - 1)
    return Call(
        "sort", tw.sort, lambda array, axis: np.sort(array, axis, kind="stable"), [operand],
        {"axis": axis},
    )  # fmt: skip


@maker("argsort")
def _argsort(source: Source) -> Call:
    operand = _with_axes(source, source.choice(SORTABLE))
    axis = source.integer(-operand.ndim, operand.ndim - 1)

    def reference(array: np.ndarray, axis: int, descending: bool) -> np.ndarray:
        if descending:
            return argsort_descending(array, axis)
        return np.argsort(array, axis, kind="stable")

    options = {"axis": axis, "descending": source.chance(40)}
    return Call("argsort", tw.argsort, reference, [operand], options)


@maker("topk")
def _topk(source: Source) -> Call:
    operand = _with_axes(source, source.choice(SORTABLE))
    axis = source.integer(-operand.ndim, operand.ndim - 1)
    k = source.integer(0, min(operand.shape[axis], 9))

    def reference(array: np.ndarray, k: int, axis: int) -> tuple[np.ndarray, ...]:
        order = np.take(argsort_descending(array, axis), range(k), axis)
        return np.take_along_axis(array, order, axis), order

    return Call("topk", lambda *a, **o: tuple(tw.topk(*a, **o)), reference, [operand, k],
                {"axis": axis})  # fmt: skip


@maker("searchsorted")
def _searchsorted(source: Source) -> Call:
    dtype = source.choice(SORTABLE)
    known = random_operand(source, dtype, shape=(source.choice((5, 0, 1, 40)),))
    known = Operand(np.sort(known.host(), kind="stable"))
    values = random_operand(source, dtype)
    options = {"side": source.choice(("left", "right"))}

    def in_order(x: Any, values: Any, side: str) -> Any:
        return tw.searchsorted(tw.sort(x), values, side=side)  # fuzzing puts others in its place

    return Call("searchsorted", in_order, np.searchsorted, [known, values], options)


def _in_our_float(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return np.asarray(array).astype(dtype if dtype.kind == "f" else np.float32)


@maker("median")
def _median(source: Source) -> Call:
    shape = tuple(n or 1 for n in random_shape(source, 4)) or (3,)  # NumPy fails on empty ones
    operand = random_operand(source, source.choice(ALL), shape=shape, kind="small")
    axis = random_axis(source, operand.ndim)
    if axis == ():
        axis = None
    function, reference = (
        (tw.median, np.median) if source.chance(50) else (tw.nanmedian, np.nanmedian)
    )

    def on_host(array: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
        found = reference(array.astype(np.float64), axis=axis, keepdims=keepdims)
        return _in_our_float(found, array.dtype)

    options = {"axis": axis, "keepdims": source.chance(30)}
    return Call("median", function, on_host, [operand], options, any_zero=True)


@maker("quantile")
def _quantile(source: Source) -> Call:
    shape = tuple(n or 1 for n in random_shape(source, 3)) or (4,)
    dtype = source.choice(("float32", "float64"))
    operand = random_operand(source, dtype, shape=shape, kind="small")
    axis = source.integer(-operand.ndim, operand.ndim - 1) if source.chance(70) else None
    # Fractions whose products with counts are exact: a rounding must not choose another element.
    q = source.choice((0.5, 0.0, [0.25, 0.75], 1.0, [[0.125], [0.625]]))
    options = {"axis": axis, "method": source.choice(METHODS), "keepdims": source.chance(30)}

    def reference(array: np.ndarray, q: Any, **options: Any) -> np.ndarray:
        return _in_our_float(np.quantile(array.astype(np.float64), q, **options), array.dtype)

    return Call("quantile", tw.quantile, reference, [operand, q], options, ulps=4, any_zero=True,
                absolute=4)  # fmt: skip


@maker("unique")
def _unique(source: Source) -> Call:
    operand = random_operand(source, source.choice(SORTABLE))

    def reference(array: np.ndarray, equal_nan: bool) -> tuple[np.ndarray, ...]:
        found = np.unique(array, True, True, True, equal_nan=equal_nan)
        return found[0], found[1], found[2].reshape(array.shape), found[3]

    return Call(
        "unique", lambda x, equal_nan: tw.unique(x, True, True, True, equal_nan=equal_nan),
        reference, [operand], {"equal_nan": source.chance(50)},
    )  # fmt: skip


# -- masks and changed copies -------------------------------------------------------------------


@maker("nonzero")
def _nonzero(source: Source) -> Call:
    return Call("nonzero", tw.nonzero, np.nonzero, [_with_axes(source, source.choice(SORTABLE))])


def _mask(source: Source, shape: tuple[int, ...]) -> Any:
    """A mask on the host or on the device, sometimes seen through a view."""
    flags = source.generator().random(shape) < source.choice((0.5, 0.0, 1.0, 0.2))
    if source.chance(40):
        return flags
    if source.chance(30) and shape:
        turned = View("[::-1]", lambda a: a[::-1], lambda x: x[::-1])
        return Operand(flags[::-1].copy(), [turned])
    return Operand(flags)


def _key(source: Source, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A key with index arrays or a mask among slices, integers and new axes."""
    key: list[Any] = []
    batch = source.choice(((3,), (2, 2), (1,), (), (0,)))
    masked = source.chance(50)
    axis = 0
    while axis < len(shape):
        extent = shape[axis]
        kind = source.choice(("array", "mask", "slice", "all", "integer", "back"))
        if kind == "mask" and masked:
            count = source.integer(0, min(2, len(shape) - axis))
            key.append(_mask(source, shape[axis : axis + count]))
            masked, batch = False, (1,)
            axis += count
            continue
        if kind in ("array", "integer") and extent:
            if kind == "integer" or (batch != (1,) and masked):
                key.append(source.integer(-extent, extent - 1))
            else:
                array = source.generator().integers(-extent, extent, batch)
                key.append(array if source.chance(50) else Operand(array))
        elif kind == "slice":
            key.append(slice(1, None, 2))
        elif kind == "back":
            key.append(slice(None, None, -1))
        else:
            key.append(slice(None))
        if source.chance(10):
            key.append(None)
        axis += 1
    return tuple(key)


@maker("getitem with masks")
def _getitem_masks(source: Source) -> Call:
    operand = _with_axes(source, source.choice(ALL))
    key = _key(source, operand.shape)
    return Call("getitem with masks", tw.getitem, lambda array, key: array[key], [operand, key])


CHANGES = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def _host_key(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(part.host() if isinstance(part, Operand) else part for part in key)


@maker("at")
def _at(source: Source) -> Call:
    change = source.choice(("set", "add", "subtract", "multiply", "min", "max"))
    dtype = source.choice(ALL if change in ("set", "min", "max") else NUMBERS)
    operand = _with_axes(source, dtype, "small" if change in CHANGES else "any")
    key = _key(source, operand.shape)
    shape = operand.host()[_host_key(key)].shape
    if source.chance(30):
        shape = ()
    values = random_operand(source, dtype, shape=shape, kind="small")

    def reference(array: np.ndarray, key: Any, values: np.ndarray) -> np.ndarray:
        result = array.copy()
        if change == "set":
            result[key] = values
        else:
            CHANGES[change].at(result, key, values)
        return result

    return Call(
        # A number in the tensor's place is made one: it has no `at` of its own.
        f"at.{change}", lambda x, *rest: _changed(tw.asarray(x), change, *rest), reference,
        [operand, key, values], any_zero=True,
    )  # fmt: skip


def _changed(x: Any, change: str, key: Any, values: Any) -> Any:
    return getattr(x.at[key], change)(values)


@maker("put_along_axis")
def _put_along_axis(source: Source) -> Call:
    dtype = source.choice(ALL)
    shape = tuple(n or 1 for n in random_shape(source, 4)) or (3,)
    operand = random_operand(source, dtype, shape=shape)
    axis = source.integer(-len(shape), len(shape) - 1)
    places = list(shape)
    places[axis] = source.choice((1, 3, 0))
    index = source.generator().integers(-shape[axis], shape[axis], places)
    values = random_operand(source, dtype, shape=tuple(places) if source.chance(70) else ())

    def reference(array: np.ndarray, index: Any, values: Any, axis: int) -> np.ndarray:
        result = array.copy()
        np.put_along_axis(result, index, values, axis)
        return result

    given = index if source.chance(50) else Operand(index)
    return Call("put_along_axis", tw.put_along_axis, reference, [operand, given, values],
                {"axis": axis})  # fmt: skip


@maker("dynamic_update_slice")
def _dynamic_update_slice(source: Source) -> Call:
    dtype = source.choice(ALL)
    operand = random_operand(source, dtype, most_axes=4)
    sizes = tuple(source.integer(0, extent) for extent in operand.shape)
    update = random_operand(source, dtype, shape=sizes)
    starts = np.array([source.integer(-2, n + 2) for n in operand.shape], np.int64)

    def reference(array: np.ndarray, update: np.ndarray, starts: Any) -> tuple[np.ndarray, ...]:
        first = [
            min(max(int(s), 0), n - k)
            for s, n, k in zip(starts, array.shape, update.shape, strict=True)
        ]
        key = tuple(slice(f, f + k) for f, k in zip(first, update.shape, strict=True))
        result = array.copy()
        result[key] = update
        return result, array[key]

    given = Operand(starts) if source.chance(50) else starts.tolist()
    return Call(
        "dynamic_update_slice",
        lambda x, u, s: (
            tw.dynamic_update_slice(x, u, s), tw.dynamic_slice(x, s, getattr(u, "shape", ())),
        ),
        reference, [operand, update, given],
    )  # fmt: skip


# -- counts -------------------------------------------------------------------------------------


@maker("bincount")
def _bincount(source: Source) -> Call:
    count = source.choice((6, 0, 1, 300))
    array = source.generator().integers(0, source.choice((5, 1, 70)), count)
    operand = Operand(array.astype(source.choice(("int64", "int32", "uint32", "uint8"))))
    weights = random_operand(source, "float32", shape=(count,), kind="small")
    options = {"minlength": source.integer(0, 9)}
    if source.chance(50):
        options["weights"] = weights

    def reference(array: np.ndarray, **options: Any) -> np.ndarray:
        found = np.bincount(array, **options)
        return found.astype(np.float32) if "weights" in options else found

    return Call("bincount", tw.bincount, reference, [operand], options, any_zero=True)


@maker("digitize and histogram")
def _digitize(source: Source) -> Call:
    operand = random_operand(source, "float32")
    edges = np.sort(source.generator().integers(-4, 5, source.integer(2, 6))).astype(np.float32)
    edges = np.unique(edges) if len(np.unique(edges)) > 1 else np.array([0, 1], np.float32)

    def reference(array: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            return np.digitize(array, edges), np.histogram(array, edges)[0]

    def ours(x: Any, edges: Any) -> tuple[Any, ...]:
        edges = tw.sort(edges)
        return tw.digitize(x, edges), tw.histogram(x, edges)[0]

    return Call("digitize and histogram", ours, reference, [operand, Operand(edges)])
