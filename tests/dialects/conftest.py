"""Every test of this folder runs once on lavapipe and once on SwiftShader, in one process.

`TENFERRO_TEST_ADAPTERS` selects adapters as it does for the other tests.
"""

from __future__ import annotations

import os

import harness
import pytest
from conftest import leave_out

ADAPTERS = {"lavapipe": "llvmpipe", "swiftshader": "SwiftShader", "default": ""}
SELECTED = os.environ.get("TENFERRO_TEST_ADAPTERS", "lavapipe,swiftshader").split(",")


@pytest.fixture(params=[name for name in ADAPTERS if name in SELECTED], autouse=True)
def dialect_device(request: pytest.FixtureRequest) -> str:
    """Name of an adapter on which `harness.evaluate` runs during the test.

    Without the adapter the test fails in CI and is skipped with a warning elsewhere.
    """
    try:
        harness.use_adapter(ADAPTERS[request.param])
    except LookupError as error:
        leave_out(str(error))
    return str(request.param)


@pytest.fixture(params=["f64s", "f64n"])
def f64(request: pytest.FixtureRequest, dialect_device: str) -> str:
    """Name of a binary64 dialect the adapter can run."""
    if request.param == "f64n" and not harness.has_native_f64():
        pytest.skip(f"{dialect_device} has no native f64")
    return str(request.param)
