"""The transfer benchmark measures what it says, at sizes that tests can afford."""

from __future__ import annotations

import pytest
from conftest import shared_runtime

from benchmarks import transfers


def test_every_transfer_is_measured_and_shown(monkeypatch):
    shared_runtime("lavapipe")
    monkeypatch.setenv("TENFERRO_ADAPTER", "llvmpipe")
    rows = transfers.run(rounds=1, sizes=(4, 4096))
    assert [(row.direction, row.nbytes) for row in rows] == [
        ("scalar", 4),
        ("100 tensors", 25600),
        ("upload", 4),
        ("download", 4),
        ("upload", 4096),
        ("download", 4096),
    ]
    for row in rows:
        assert all(0 < row.fastest_us[name] <= row.median_us[name] for name in row.median_us)
        assert set(row.median_us) >= {"ours", "wgpu-py"}
    text = transfers.as_text(rows)
    assert "llvmpipe" in text
    assert "60 us" in text


@pytest.mark.parametrize(
    ("direction", "ours", "theirs", "target", "verdict"),
    [
        ("upload", 10.0, 20.0, 1.5, "pass"),
        ("upload", 10.0, 14.0, 1.5, "miss"),
        ("scalar", 59.0, 20.0, 60.0, "pass"),
        ("scalar", 61.0, 200.0, 60.0, "miss"),
        ("download", 10.0, 20.0, None, ""),
    ],
)
def test_verdicts(direction, ours, theirs, target, verdict):
    times = {"ours": ours, "wgpu-py": theirs}
    row = transfers.Row("a device", direction, 4, times, times, target)
    assert row.verdict == verdict
    assert row.ratio == theirs / ours


def test_without_wgpu_there_is_no_verdict():
    row = transfers.Row("a device", "upload", 4, {"ours": 1.0}, {"ours": 1.0}, 1.5)
    assert (row.ratio, row.verdict) == (None, "")
    assert "no adapter" in transfers.as_text([])
