"""What to write in place of names that are not here, for the errors that say so.

Used by the package's namespace and by NumPy's functions called on tensors; it knows neither.
"""

from __future__ import annotations

import numpy as np

__all__ = ["INSTEAD", "instead_of"]

#: Names that people try first, of NumPy, PyTorch and JAX, and what does the same here.
INSTEAD = {
    "append": "use concatenate",
    "array": "use asarray(...), or runtime.constant_from(...)",
    "block": "use concatenate or stack",
    "cat": "use concatenate",
    "choose": "use where or take_along_axis",
    "compress": "use x[mask]",
    "copy": "tensors are immutable; x.numpy() is a copy on the host",
    "dsplit": "use split with an axis",
    "einsum": "use matmul, tensordot or dot_general",
    "extract": "use x[mask]",
    "fft": "Fourier transforms are not there; use NumPy's on x.numpy()",
    "grad": "call loss.backward() and read x.grad",
    "hsplit": "use split with an axis",
    "isneginf": "write x == -inf",
    "isposinf": "write x == inf",
    "jit": "there are no compiled functions; operations fuse as they are called",
    "linalg": "linear algebra beyond products is not there; use NumPy's on x.numpy()",
    "matvec": "use matmul",
    "nanargmax": "use argmax of where(isnan(x), -inf, x)",
    "nanargmin": "use argmin of where(isnan(x), inf, x)",
    "nancumprod": "use cumprod of where(isnan(x), 1, x)",
    "nancumsum": "use cumsum of where(isnan(x), 0, x)",
    "nanprod": "use prod of where(isnan(x), 1, x)",
    "random": "make random numbers with NumPy and runtime.constant_from(...)",
    "rint": "use round",
    "row_stack": "use vstack",
    "tril_indices": "use nonzero(tril(...)) or where with tril(...)",
    "triu_indices": "use nonzero(triu(...)) or where with triu(...)",
    "vdot": "use vecdot of ravel(x) and ravel(y)",
    "vmap": "write the batch as the first axes",
    "vsplit": "use split with an axis",
}


def instead_of(name: str) -> str | None:
    """What to write instead of `name`; of NumPy's other functions, how to call them."""
    hint = INSTEAD.get(name)
    if hint is None and not name.startswith("_") and callable(getattr(np, name, None)):
        hint = f"use numpy.{name} on x.numpy()"
    return hint
