"""Reading many tensors at once: their copies are queued together and waited for once.

Called by users.  It groups tensors by backend and keeps the shape of the containers; how a
backend overlaps its reads is the backend's matter.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..backends.protocol import Backend, DownloadsTogether
from ..errors import RuntimeClosedError
from ..ops.value import Value
from ..tensor import Tensor
from .tensor import EagerTensor

__all__ = ["device_get", "device_get_async"]


def device_get(tree: Any) -> Any:
    """The values of tensors as NumPy arrays: one wait, however many there are.

    Reading tensors one by one waits for the device each time.  Here all copies of a device go
    with one submission (large ones in pieces that overlap), so a hundred small tensors cost
    little more than one.

    Args:
        tree: a tensor, or lists, tuples, named tuples and dicts of tensors, nested at will.
            Tensors of several runtimes may be mixed.  Anything with ``__array__`` becomes an
            array as well; other leaves (numbers, text, None) stay as they are.

    Returns:
        The same containers with a fresh C-order array of each tensor's shape and dtype in the
        place of the tensor.

    Raises:
        RuntimeClosedError: a tensor's runtime is closed.
        DTypeError: a tensor inside a transform has no values to read.
        SyncUnavailableError: in a browser that cannot block; use `device_get_async`.
        Whatever reading one of the tensors raises; then nothing is returned.

    >>> import tenferro_wgpu as tw
    >>> with tw.EagerRuntime("cpu") as rt:
    ...     x = rt.constant_from([1.0, 2.0])
    ...     tw.device_get({"twice": 2 * x, "parts": [x.sum(), 7]})
    {'twice': array([2., 4.], dtype=float32), 'parts': [array(3., dtype=float32), 7]}
    """
    tensors = list(_tensors(tree, "device_get"))
    groups = _by_backend(tensors)
    if len(groups) > 1:
        for backend, _ in groups:
            backend.flush()  # every device works while the first is waited for
    arrays: list[Any] = [None] * len(tensors)
    for backend, positions in groups:
        wanted = [tensors[position] for position in positions]
        if isinstance(backend, DownloadsTogether):
            found = backend.download_many(wanted)
        else:
            found = [backend.download(tensor) for tensor in wanted]
        for position, array in zip(positions, found, strict=True):
            arrays[position] = array
    return _rebuilt(tree, iter(arrays))


async def device_get_async(tree: Any) -> Any:
    """`device_get` without blocking the event loop (browsers without JSPI).

    >>> import asyncio
    >>> import tenferro_wgpu as tw
    >>> with tw.EagerRuntime("cpu") as rt:
    ...     asyncio.run(tw.device_get_async((rt.constant_from([1, 2]), None)))
    (array([1, 2]), None)
    """
    tensors = list(_tensors(tree, "device_get_async"))
    groups = _by_backend(tensors)
    if len(groups) > 1:
        for backend, _ in groups:
            backend.flush()
    arrays: list[Any] = [None] * len(tensors)
    for backend, positions in groups:
        wanted = [tensors[position] for position in positions]
        if isinstance(backend, DownloadsTogether):
            found = await backend.download_many_async(wanted)
        else:
            found = [await backend.download_async(tensor) for tensor in wanted]
        for position, array in zip(positions, found, strict=True):
            arrays[position] = array
    return _rebuilt(tree, iter(arrays))


def _tensors(tree: Any, op: str) -> Iterator[Tensor]:
    """The concrete tensors of a tree, from the left."""
    if isinstance(tree, EagerTensor):
        runtime = tree.interpreter
        with runtime._lock:  # waits for a session of another thread
            if runtime.closed:
                raise RuntimeClosedError(op)
        yield tree.tensor
    elif isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from _tensors(item, op)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from _tensors(item, op)


def _by_backend(tensors: Sequence[Tensor]) -> list[tuple[Backend, list[int]]]:
    groups: dict[int, tuple[Backend, list[int]]] = {}
    for position, tensor in enumerate(tensors):
        groups.setdefault(id(tensor.backend), (tensor.backend, []))[1].append(position)
    return list(groups.values())


def _rebuilt(tree: Any, arrays: Iterator[np.ndarray[Any, Any]]) -> Any:
    """The containers of `tree` with the arrays in the places of its tensors."""
    if isinstance(tree, (EagerTensor, Tensor)):
        return next(arrays)
    if isinstance(tree, list):
        return [_rebuilt(item, arrays) for item in tree]
    if isinstance(tree, tuple):
        items = [_rebuilt(item, arrays) for item in tree]
        return type(tree)(*items) if hasattr(tree, "_fields") else tuple(items)
    if isinstance(tree, dict):
        rebuilt = copy.copy(tree)  # keeps the kind of dict, and what it does for missing keys
        for key, item in tree.items():
            rebuilt[key] = _rebuilt(item, arrays)
        return rebuilt
    if isinstance(tree, Value):
        return tree.numpy()  # type: ignore[attr-defined]  # raises: it has no values
    return np.asarray(tree) if hasattr(tree, "__array__") else tree
