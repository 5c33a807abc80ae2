"""Random programs of float16 keep their bits when they are fused."""

from __future__ import annotations

import pytest
from conftest import SOFTWARE
from fusion.random_programs import RandomProgram
from fusion.test_random_programs import runtime, same_bits

PROGRAMS = {"lavapipe": 12, "swiftshader": 8}


@pytest.mark.parametrize("adapter", SOFTWARE)
def test_random_programs_of_float16_keep_their_bits(adapter):
    with runtime(adapter, True) as fused, runtime(adapter, False) as plain:
        for seed in range(PROGRAMS[adapter]):
            program = RandomProgram(seed, 4 + seed % 16, dtype="float16")
            expected = program.run(plain)
            for position, (x, y) in enumerate(zip(program.run(fused), expected, strict=True)):
                assert same_bits(x, y), f"seed {seed}, result {position}:\n{x}\n{y}"
        counters = fused.backend.stats()["fusion"]
    assert counters["fused"] > 3 * PROGRAMS[adapter]
    assert counters["refused"] == 0
