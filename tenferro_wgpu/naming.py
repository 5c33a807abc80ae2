"""Which public function a program called, so that an error names it and not what it is made of.

Errors ask when they are made: the frames from there up to the program's own code are looked at, and
the outermost public function among them is the one that was called.  The package registers its
functions once all are there.
"""

from __future__ import annotations

import os
import sys
from types import CodeType, FrameType, FunctionType
from typing import Any

__all__ = ["called", "register"]

#: As the names of files in code objects have it: links are not followed.
_PACKAGE = os.path.join(os.path.dirname(__file__), "")
#: Code of a public function -> (the name that errors give it, all of its names).
_NAMES: dict[CodeType, tuple[str, frozenset[str]]] = {}


def register(functions: dict[str, Any]) -> None:
    """Take the functions among public objects by their names, of which one may have several."""
    names: dict[CodeType, set[str]] = {}
    for name, function in functions.items():
        if not isinstance(function, FunctionType):
            continue
        names.setdefault(function.__code__, set()).add(name)
        if function.__code__ not in _NAMES:
            _NAMES[function.__code__] = (getattr(function, "__name__", name), frozenset())
    for code, several in names.items():
        name, known = _NAMES[code]
        shown = name if name in several or known else min(several)
        _NAMES[code] = (shown, known | several)


def called(op: str) -> str:
    """The public function that was called, or `op` if it is a name of that, or there is none."""
    found = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        found = _NAMES.get(frame.f_code, found)
        frame = frame.f_back
    if found is None or op in found[1]:
        return op
    return found[0]
