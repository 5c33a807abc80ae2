"""Every test of this folder runs once on each software Vulkan adapter."""

from __future__ import annotations

import os

import pytest
from harness import use_adapter

NAME_PARTS = {"lavapipe": "llvmpipe", "swiftshader": "SwiftShader", "default": ""}
SELECTED = os.environ.get("TENFERRO_TEST_ADAPTERS", "lavapipe,swiftshader").split(",")


@pytest.fixture(params=[name for name in NAME_PARTS if name in SELECTED], autouse=True)
def dialect_adapter(request: pytest.FixtureRequest) -> str:
    """Make `harness.evaluate` run on the adapter; skips where it is missing, fails in CI."""
    try:
        use_adapter(NAME_PARTS[request.param])
    except LookupError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error))
        pytest.skip(str(error))
    return str(request.param)
