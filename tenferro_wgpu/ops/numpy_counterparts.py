"""How a call of a NumPy function becomes one of ours: its parameters, by position and by name.

`numpy_protocols` has the table of them; this knows nothing of particular functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..elsewhere import INSTEAD
from ..errors import DTypeError

__all__ = ["Counterpart", "Several", "no_counterpart"]


class Counterpart:
    """A function of ours under NumPy's parameter names and order.

    `parameters` are NumPy's, first the `count` required ones; "theirs=ours" renames one.  Those
    that our function does not have may only be left out.
    """

    def __init__(self, function: Callable[..., Any], count: int, parameters: str) -> None:
        self._function = function
        self._count = count
        self.names = [name.partition("=")[0] for name in parameters.split()]
        own = list(inspect.signature(function).parameters)[count:]
        self._own = {}
        for pair in parameters.split()[count:]:
            theirs, _, ours = pair.partition("=")
            if (ours or theirs) in own:
                self._own[theirs] = ours or theirs

    def __call__(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call our function with the arguments of a call of NumPy's."""
        given = {**dict(zip(self.names, args, strict=False)), **kwargs}
        given = {key: value for key, value in given.items() if value is not np._NoValue}
        if len(args) > len(self.names) or any(one not in given for one in self._required):
            raise no_counterpart(name, {})
        given.pop("kind", None)  # an algorithm: results are the same
        required = [given.pop(one) for one in self._required]
        options: dict[str, Any] = {}
        for key, value in given.items():
            if key in self._own:
                options[self._own[key]] = value
            elif value is not None:
                raise no_counterpart(name, (key,))
        return self._function(*required, **options)

    @property
    def _required(self) -> list[str]:
        return self.names[: self._count]


class Several(Counterpart):
    """A function of any number of tensors, the first parameter of NumPy's; options follow."""

    def __call__(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call our function with the arguments of a call of NumPy's."""
        unknown = [key for key, value in kwargs.items() if key not in self._own and value]
        if unknown:
            raise no_counterpart(name, unknown)
        options = {self._own[key]: value for key, value in kwargs.items() if key in self._own}
        return self._function(*args, **options)


def no_counterpart(name: str, options: Collection[str]) -> DTypeError:
    """The error for a function of NumPy's that has none of ours, or not with these options."""
    with_options = f" with {', '.join(options)}" if options else ""
    ours = None if options else INSTEAD.get(name)
    return DTypeError(
        f"numpy.{name}",
        f"there is no counterpart for tensors{with_options}; "
        + (f"{ours}, or " if ours else "")
        + f"use numpy.{name} on x.numpy()"
        + ("" if ours else ", or a function of tenferro_wgpu"),
    )
