"""The same user program, from our wheel: the page's WebGPU gives NumPy's numbers."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from pyodide_page import Page

pytestmark = pytest.mark.browser

#: Chromium's software adapter counts as a CPU, so WebGPU has to be asked for by name.
CHOOSE_WEBGPU = "import os; os.environ['TENFERRO_BACKEND'] = 'webgpu'\n"

#: Five steps of training: errors of an ulp or so per operation, grown by the updates.
TOLERANCE = {"float32": 2e-5, "float64": 1e-13}


def test_the_user_script_gives_numpys_numbers(py):
    backend, numbers = py(
        CHOOSE_WEBGPU
        + """
import tenferro_wgpu as tw
await tw.init_async()
import user_script
[tw.default_runtime().backend.name, user_script.run()]
"""
    )
    assert backend == "webgpu"
    reference = py(
        """
import tenferro_wgpu as tw
import user_script
with tw.EagerRuntime('cpu').as_default():
    numbers = user_script.run()
numbers
"""
    )
    assert set(numbers) == {"float32", "float64"}
    for dtype, got in numbers.items():
        np.testing.assert_allclose(got, reference[dtype], rtol=TOLERANCE[dtype], err_msg=dtype)
        assert got[0] > got[4] > 0, "the loss falls"


def test_the_numbers_are_those_of_the_desktop(py):
    import user_script

    import tenferro_wgpu as tw

    with tw.EagerRuntime("cpu").as_default():
        reference = user_script.run()
    numbers = py(
        CHOOSE_WEBGPU
        + """
import tenferro_wgpu as tw
await tw.init_async()
import user_script
user_script.run()
"""
    )
    for dtype, got in numbers.items():
        np.testing.assert_allclose(got, reference[dtype], rtol=TOLERANCE[dtype], err_msg=dtype)


def test_a_page_that_cannot_wait_computes_and_reads_with_await(py_async_only):
    can_wait, error, gradient = py_async_only(
        CHOOSE_WEBGPU
        + """
import tenferro_wgpu as tw
await tw.init_async()
rt = tw.EagerRuntime()
x = rt.variable_from([1.0, 2.0, 3.0])
tw.sum(x * x).backward()
try:
    x.grad.numpy()
    error = ''
except tw.errors.SyncUnavailableError as raised:
    error = str(raised)
[tw.can_wait(), error, (await x.grad.numpy_async()).tolist()]
"""
    )
    assert can_wait is False
    assert "numpy_async" in error
    assert gradient == [2.0, 4.0, 6.0]


def test_without_webgpu_the_page_computes_on_the_cpu(browser, pyodide_server, wheel):
    page = Page(browser, pyodide_server, wheel, suspendable=True)
    assert page("""
import js
js.Object.defineProperty(js.navigator, 'gpu', js.JSON.parse('{"configurable": true}'))
import tenferro_wgpu as tw
await tw.init_async()
rt = tw.EagerRuntime()
[rt.backend.name, tw.sum(rt.constant_from([1.0, 2.0])).item()]
""") == ["cpu", 3.0]


def test_the_wheel_asks_for_no_native_library_in_a_browser(wheel):
    from packaging.requirements import Requirement

    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = opened.read(name).decode()
    lines = [line for line in metadata.splitlines() if line.startswith("Requires-Dist: ")]
    required = [Requirement(line.removeprefix("Requires-Dist: ")) for line in lines]
    page = {"sys_platform": "emscripten", "extra": ""}
    names = {one.name for one in required if one.marker is None or one.marker.evaluate(page)}
    assert names == {"numpy", "jinja2"}
