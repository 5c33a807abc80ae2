"""The case tables that ship with the package, under the name the tests use."""

from tenferro_wgpu.testing.operations import *  # noqa: F403
