"""The inputs that ship with the package, under the name the tests use."""

from tenferro_wgpu.testing.values import *  # noqa: F403
