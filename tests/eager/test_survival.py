"""No input to the public API ends the process: each attempt runs in one of its own.

A case passes when the process ends by itself with the expected Python exception, and a later
computation on the runtime (or a new one) still works.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from conftest import ADAPTERS, SELECTED

PREAMBLE = """
import os, threading
import numpy as np
import tenferro_wgpu as tw
from tenferro_wgpu import errors
def make():
    if {adapter!r} == "numpy":
        return tw.EagerRuntime("cpu")
    return tw.EagerRuntime(tw.WebGpuBackend(adapter={adapter_name!r}))
def attempt(expected, f):
    try:
        f()
    except expected as error:
        print("raised", type(error).__name__, str(error)[:100])
    else:
        raise SystemExit("nothing was raised")
rt = make()
x = rt.constant_from(np.ones((4, 4), np.float32))
"""
EPILOGUE = """
again = rt if not rt.closed else make()
assert (again.constant_from([1.0]) + 1.0).tolist() == [2.0]
print("alive")
"""

CASES = {
    "huge shape": "attempt(MemoryError, lambda: (tw.zeros((1 << 40,), device=rt) + 1.0).numpy())",
    "overflowing shape": (
        "attempt((MemoryError, ValueError, OverflowError), "
        "lambda: (tw.zeros((1 << 62, 1 << 62), device=rt) + 1.0).numpy())"
    ),
    "negative shape": "attempt(ValueError, lambda: tw.zeros((-1,), device=rt))",
    "float shape": "attempt(TypeError, lambda: tw.zeros((1.5,), device=rt))",
    "closed tensor": """
        rt.close()
        attempt(errors.RuntimeClosedError, lambda: x + x)
        attempt(errors.RuntimeClosedError, lambda: x.numpy())
    """,
    "close while other threads compute": """
        seen = []
        def work():
            y = x
            try:
                for _ in range(2000):
                    y = y * 1.0
                y.numpy()
            except errors.RuntimeClosedError as error:
                seen.append(error)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads: t.start()
        rt.close()
        for t in threads: t.join()
    """,
    "tensors dropped in other threads": """
        def work():
            for _ in range(500):
                (x * 2.0 + x).sum()
        threads = [threading.Thread(target=work) for _ in range(6)]
        for t in threads: t.start()
        for t in threads: t.join()
        rt.synchronize()
    """,
    "fork": """
        (x + x).numpy()
        child = os.fork()
        if child == 0:
            try:
                (x + x).numpy()
            except errors.RuntimeClosedError:
                os._exit(7)
            except BaseException:
                os._exit(8)
            os._exit(7 if rt.backend.name == "cpu" else 9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    """,
    "device lost": """
        if rt.backend.name == "webgpu":
            tw.set_default_runtime(rt)
            y = x + 1.0
            rt.synchronize()
            rt.backend.device.driver._device.destroy()
            attempt(errors.DeviceLostError, lambda: (y + x).numpy())
            attempt(errors.DeviceLostError, lambda: y.numpy())
            assert rt.lost and "Runtime" in repr(rt) and "unreadable" in repr(y)
            rt = make()
    """,
    "junk arguments": """
        for junk in (None, "text", object(), {}, [x], b"bytes", lambda: 0):
            for f in (tw.exp, tw.sum, rt.variable_from, lambda j: x + j, lambda j: x[j],
                      lambda j: tw.reshape(x, j), lambda j: tw.concatenate(j),
                      lambda j: x.astype(j), lambda j: tw.where(j, x, x)):
                try:
                    f(junk)
                except (TypeError, ValueError, IndexError, AttributeError, NotImplementedError):
                    pass
    """,
    "many axes": "attempt((ValueError, NotImplementedError), "
    "lambda: tw.reshape(x, (1,) * 70).T + tw.zeros((2,) * 20 + (1,) * 50, device=rt))",
    "deep recursion": """
        import sys
        sys.setrecursionlimit(200)
        y = rt.variable_from(1.0)
        for _ in range(5000):
            y = y * 1.0
        y.backward()
    """,
    "zero workgroups": """
        e = tw.zeros((0, 5), device=rt)
        assert (e + 1.0).numpy().shape == (0, 5)
        assert (e.T @ e).numpy().tolist() == [[0.0] * 5] * 5
        assert tw.concatenate([e, e]).shape == (0, 5)
    """,
    "exception inside a session": """
        def fail(backend): raise KeyError("mine")
        attempt(KeyError, lambda: rt.with_backend(fail))
    """,
}

ROWS = [(a, c) for a in ADAPTERS if a in SELECTED and a != "cupy" for c in CASES]


@pytest.mark.parametrize(("adapter", "case"), ROWS)
def test_process_survives(adapter, case):
    preamble = PREAMBLE.format(adapter=adapter, adapter_name=ADAPTERS[adapter])
    program = preamble + textwrap.dedent(CASES[case]) + EPILOGUE
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, f"{case}: code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.stdout.rstrip().endswith("alive")
