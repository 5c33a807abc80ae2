"""Every name and keyword the shared kernels and the CUDA backend use exists in CuPy.

Needs the package, which imports without a GPU, but no CUDA device: the sources are read, not run.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tenferro_wgpu.backends import (
    array_indexing_kernels,
    array_kernels,
    array_ordering_kernels,
    array_scan_kernels,
    cupy_backend,
    cupy_elementwise_kernels,
    special_functions,
)

MODULES = (
    array_kernels,
    array_indexing_kernels,
    array_ordering_kernels,
    array_scan_kernels,
    cupy_backend,
    cupy_elementwise_kernels,
    special_functions,
)
#: Those whose namespace is an argument.
SHARED = (
    array_kernels,
    array_indexing_kernels,
    array_ordering_kernels,
    array_scan_kernels,
    special_functions,
)
#: What a namespace is called in those modules.
NAMESPACES = {"xp", "cupy", "self._cupy"}


class Use:
    """One dotted name under the namespace, with the keywords it is called with."""

    def __init__(self, path: str, keywords: tuple[str, ...], line: int) -> None:
        self.path = path
        self.keywords = keywords
        self.line = line


def uses(source: str) -> list[Use]:
    """Every ``xp.a.b`` in `source`; called ones carry their keywords."""
    found = []
    called: dict[int, tuple[str, ...]] = {}
    inner: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called[id(node.func)] = tuple(k.arg for k in node.keywords if k.arg is not None)
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            inner.add(id(node.value))
            if id(node) in inner or not re.fullmatch(r"[\w.]+", name):
                continue
            for namespace in NAMESPACES:
                if name.startswith(f"{namespace}."):
                    path = name.removeprefix(f"{namespace}.")
                    found.append(Use(path, called.get(id(node), ()), node.lineno))
    return found


def array_method_uses(source: str) -> set[str]:
    """Names of methods and attributes read from arrays in the kernels (``x.reshape`` ...)."""
    arrays = {"x", "y", "windows", "source", "left", "right", "updates", "indices", "product"}
    return {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in arrays
    }


def accepts(function: Any, keyword: str) -> bool:
    """Whether a call of `function` may name `keyword`."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        # Universal functions and compiled classes: their docstring begins with the signature,
        # after a line for the type in some cases.
        head = (function.__doc__ or "").partition("\n\n")[0]
        return f"{keyword}=" in head
    return keyword in parameters or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
    )


def missing(namespace: Any, source: str) -> list[str]:
    """What `source` uses that `namespace` lacks, as readable lines."""
    lacking = []
    for use in uses(source):
        found = namespace
        for part in use.path.split("."):
            if not hasattr(found, part):
                lacking.append(f"line {use.line}: {use.path}")
                break
            found = getattr(found, part)
        else:
            lacking += [
                f"line {use.line}: {use.path}({keyword}=)"
                for keyword in use.keywords
                if not accepts(found, keyword)
            ]
    return lacking


def source_of(module: Any) -> str:
    return Path(module.__file__).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cupy() -> Any:
    """CuPy, or a loud skip; on Linux CI a failure, since it is installed there."""
    with warnings.catch_warnings():
        # Without a driver CuPy warns on import.
        warnings.simplefilter("ignore")
        try:
            import cupy
        except ImportError as error:
            message = f"CuPy is not installed, its namespace is not checked: {error}"
            if os.environ.get("CI") and sys.platform == "linux":
                pytest.fail(message)
            pytest.skip(message)
    return cupy


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_cupy_has_everything(cupy: Any, module: Any) -> None:
    assert missing(cupy, source_of(module)) == []


def test_cupy_has_the_universal_functions(cupy: Any) -> None:
    for name in array_kernels.UFUNCS.values():
        ufunc = getattr(cupy, name)
        assert isinstance(ufunc, cupy.ufunc), name
        assert accepts(ufunc, "out"), name
    for name in ("log1p", "expm1", "tanh", "sign", "sqrt", "exp"):
        types = {signature.partition("->")[0] for signature in getattr(cupy, name).types}
        assert set("efdFD") <= types, name


def test_cupy_arrays_have_the_methods(cupy: Any) -> None:
    used = {name for module in SHARED for name in array_method_uses(source_of(module))}
    assert {name for name in used if not hasattr(cupy.ndarray, name)} == set()
    assert {"astype", "transpose", "shape"} <= used


def test_numpy_has_everything_the_shared_kernels_use() -> None:
    for module in SHARED:
        found = uses(source_of(module))
        assert len(found) > 5
        assert missing(np, source_of(module)) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("xp.frobnicate(x)", ["line 1: frobnicate"]),
        ("xp.sum(x, axis=0, bogus=1)", ["line 1: sum(bogus=)"]),
        ("xp.add.frobnicate(x)", ["line 1: add.frobnicate"]),
        ("xp.add(x, y, out=z)", []),
        ("self._cupy.nowhere.at(x)", ["line 1: nowhere.at"]),
    ],
)
def test_the_check_finds_what_is_missing(source: str, expected: list[str]) -> None:
    assert missing(np, source) == expected
