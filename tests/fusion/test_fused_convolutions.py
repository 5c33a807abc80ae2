"""What follows a convolution runs in the kernel of its product, or of the copy into order."""

from __future__ import annotations

import numpy as np
import pytest
from fusion.test_fusion import kernels_of

import tenferro_wgpu as tw

#: Inputs, kernels and options, and the kernels of a convolution that nothing follows.
CASES = {
    "one image": ((1, 3, 12, 12), (4, 3, 3, 3), {}, 1),
    "images": ((2, 3, 12, 12), (4, 3, 3, 3), {}, 1),
    "few places": ((3, 3, 5, 5), (4, 3, 3, 3), {}, 2),
    "padded": ((1, 3, 12, 12), (4, 3, 3, 3), {"padding": 1}, 3),
    "depthwise": ((2, 4, 12, 12), (4, 1, 3, 3), {"groups": 4, "padding": 1}, 1),
    "two per group": ((2, 4, 9, 7), (8, 1, 3, 3), {"groups": 4, "strides": 2}, 1),
    "one output": ((1, 2, 30), (1, 2, 5), {}, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_bias_and_relu_cost_no_kernel(fused, name):
    shape, kernel, options, alone = CASES[name]
    rng = np.random.default_rng(4)
    x = fused.constant_from(rng.uniform(-1, 1, shape).astype(np.float32))
    w = fused.constant_from(rng.uniform(-1, 1, kernel).astype(np.float32))
    bias = fused.constant_from(
        rng.uniform(-1, 1, (kernel[0], *[1] * (len(shape) - 2))).astype(np.float32)
    )

    def convolved():
        return tw.conv(x, w, **options)

    def layer():
        return tw.relu(convolved() + bias)

    assert kernels_of(fused, convolved) == alone
    assert kernels_of(fused, layer) == alone
    plain = np.maximum(convolved().numpy() + bias.numpy(), 0)
    np.testing.assert_allclose(layer().numpy(), plain, rtol=1e-6, atol=1e-6)


def test_what_is_computed_before_is_one_kernel(fused):
    x = fused.constant_from(np.ones((1, 3, 12, 12), np.float32))
    w = fused.constant_from(np.ones((4, 3, 3, 3), np.float32))
    assert kernels_of(fused, lambda: tw.relu(tw.conv(tw.sin(x) * 2 + 1, w))) == 2
