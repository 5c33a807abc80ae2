"""What the first operation of a process pays for, and what later ones must not pay again."""

from __future__ import annotations

import pytest
from driver_support import LAVAPIPE, run_python

from tenferro_wgpu.backends.webgpu.drivers import native, native_types

#: A little of every kernel family, on the adapter and limits that the environment names.
PROGRAM = """
import numpy as np
import tenferro_wgpu as tw

rt = tw.EagerRuntime("webgpu")
for dtype in (tw.float32, tw.int32, tw.float64):
    x = rt.constant_from(np.arange(1, 25).reshape(4, 6), dtype=dtype)
    y = tw.where(x > 3, x * x + 1, -x)
    z = (y @ x.T, y.sum(axis=1), y.max(), y.T + 0, x[:, ::2] - y[:, 1::2], x[[2, 0, 1]])
    for each in z:
        each.numpy()
v = rt.variable_from(np.ones((5, 7), np.float32))
tw.exp(tw.sin(v) * 2).sum().backward()
v.grad.numpy()
"""


def test_types_parsed_at_once_are_those_cffi_parses_one_by_one(monkeypatch):
    ffi = pytest.importorskip("wgpu.backends.wgpu_native").ffi
    monkeypatch.setattr(ffi, "_parsed_types", {})
    native_types.parse_types(ffi)
    at_once, ffi._parsed_types = ffi._parsed_types, {}
    names = (*native_types._POINTERS, *native_types._FUNCTIONS, *native_types._ARRAYS)
    assert set(names) < set(at_once)
    for name in names:
        with ffi._lock:
            assert ffi._typeof_locked(name) == at_once[name], name


def test_unknown_types_and_another_cffi_are_left_alone(monkeypatch):
    ffi = pytest.importorskip("wgpu.backends.wgpu_native").ffi
    monkeypatch.setattr(ffi, "_parsed_types", {})
    monkeypatch.setattr(native_types, "_POINTERS", ("WGPUNoSuchThing *",))
    native_types.parse_types(ffi)
    assert not ffi._parsed_types
    native_types.parse_types(object())


def test_the_fast_driver_asks_for_no_further_type():
    code = (
        "from wgpu.backends.wgpu_native import ffi\n"
        "before = set(ffi._parsed_types)\n" + PROGRAM + "from tenferro_wgpu.backends.webgpu."
        "drivers import native_types as types\n"
        "known = {*types._POINTERS, *types._FUNCTIONS, *types._ARRAYS}\n"
        "print([name for name in set(ffi._parsed_types) - before - known if len(name) < 999])\n"
    )
    result = run_python(code, TENFERRO_ADAPTER=LAVAPIPE)
    assert result.stdout.strip() == "[]", result.stdout + result.stderr


def test_only_types_with_a_native_dialect_are_probed():
    code = (
        "import numpy as np, tenferro_wgpu as tw\n"
        "rt = tw.EagerRuntime('webgpu')\n"
        "found = []\n"
        "for dtype in (np.float32, np.int64, np.bool_, np.float64, np.float16):\n"
        "    x = rt.constant_from(np.ones((2, 3), dtype)).T[::-1]\n"
        "    assert (x.numpy() == 1).all()\n"
        "assert not rt.backend.device._computes, 'moved, not computed with'\n"
        "for dtype in (np.float32, np.int64, np.bool_, np.float64, np.float16):\n"
        "    x = rt.constant_from(np.ones(3, dtype))\n"
        "    (x == x).numpy()\n"
        "    found.append(sorted(rt.backend.device._computes))\n"
        "print(found)\n"
    )
    result = run_python(code, TENFERRO_ADAPTER=LAVAPIPE)
    assert result.stdout.strip() == (
        "[[], ['i64n'], ['i64n'], ['f64n', 'i64n'], ['f16n', 'f64n', 'i64n']]"
    ), result.stderr


def test_the_package_imports_neither_asyncio_nor_jinja2():
    code = (
        "import numpy, sys; before = set(sys.modules); import tenferro_wgpu\n"
        "new = set(sys.modules) - before\n"
        "print(sorted(new & {'asyncio', 'jinja2', 'wgpu', 'cupy', 'js', 'cffi'}))\n"
    )
    assert run_python(code).stdout.strip() == "[]"


def test_modules_are_the_same_in_every_process(tmp_path):
    """A driver's cache of compiled kernels is keyed by their text, so it must not depend on
    the order of a set or on an address."""
    folders = []
    for seed in ("1", "20011"):
        folder = tmp_path / seed
        result = run_python(
            PROGRAM,
            TENFERRO_ADAPTER=LAVAPIPE,
            TENFERRO_LIMITS="browser",
            TENFERRO_WGSL_LOG=str(folder),
            PYTHONHASHSEED=seed,
        )
        assert result.returncode == 0, result.stderr
        folders.append({path.name: path.read_text() for path in folder.iterdir()})
    assert len(folders[0]) >= 20
    assert folders[0] == folders[1]


def test_adapters_are_listed_without_a_private_name(monkeypatch):
    import wgpu.backends.wgpu_native as library

    monkeypatch.delattr(library, "ffi")
    assert native.list_adapters()
