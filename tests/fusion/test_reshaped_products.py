"""Results that wait and are seen in another shape meanwhile: what follows must not mix up rows."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.testing.products import small

#: Programs of matrices (8, 6), (6, 8) and a tensor of 64 elements.
PROGRAMS = {
    "other rows": lambda a, b, c: tw.maximum((a @ b).reshape(4, 16), 0.5) * c.reshape(4, 16),
    "one axis": lambda a, b, c: (a @ b).reshape(64) * c,
    "an axis more": lambda a, b, c: (a @ b)[None] * c.reshape(1, 8, 8) + 1,
    "blocks": lambda a, b, c: (a @ b).reshape(2, 4, 8) * c.reshape(2, 4, 8) - c[0],
    "transposed": lambda a, b, c: (a @ b).T * c.reshape(8, 8),
    "reversed": lambda a, b, c: (a @ b)[::-1] * c.reshape(8, 8),
    "as it is": lambda a, b, c: (a @ b) * c.reshape(8, 8),
    "sums": lambda a, b, c: (a * a).sum(axis=1).reshape(2, 4) * c[:8].reshape(2, 4),
    "sums as a column": lambda a, b, c: (a * a).sum(axis=1)[:, None] * c.reshape(8, 8),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_and_sums(fused, name):
    arrays = [small("float32", shape, n) for n, shape in enumerate([(8, 6), (6, 8), (64,)])]
    operands = [fused.constant_from(each) for each in arrays]
    with tw.EagerRuntime("cpu") as cpu:
        expected = PROGRAMS[name](*(cpu.constant_from(each) for each in arrays)).numpy()
    for _ in range(3):
        np.testing.assert_array_equal(PROGRAMS[name](*operands).numpy(), expected)


def test_convolutions_in_groups(fused):
    x, kernel = small("float32", (2, 6, 12, 12)), small("float32", (8, 3, 3, 3), 1)
    factor = small("float32", (2, 8, 10, 10), 2)
    operands = [fused.constant_from(each) for each in (x, kernel, factor)]
    product = tw.conv(*operands[:2], groups=2).materialize().numpy()
    for _ in range(3):
        got = tw.maximum(tw.conv(*operands[:2], groups=2), 0.5) * operands[2]
        np.testing.assert_array_equal(got.numpy(), np.maximum(product, 0.5) * factor)
