"""`check_backend` passes our backends and sees a broken one."""

from __future__ import annotations

import tenferro_wgpu as tw
from tenferro_wgpu.testing import check_backend


def test_cpu_backend_passes():
    report = check_backend(tw.CpuBackend())
    assert not report.failures and report.passed > 900, str(report)


def test_a_broken_and_an_incomplete_backend_are_seen():
    class Broken(tw.CpuBackend):
        def execute(self, primitive, operands, params, outputs):
            if primitive.name == "tanh":
                raise tw.errors.UnsupportedOperationError("tanh", backend="broken")
            (result,) = super().execute(primitive, operands, params, outputs)
            if primitive.name == "exp" and result.size:
                result.handle.flat[0] += 1
            return (result,)

    report = check_backend(Broken())
    assert report.failures and all(name.startswith("exp") for name in report.failures)
    assert report.unsupported and all(name.startswith("tanh") for name in report.unsupported)
