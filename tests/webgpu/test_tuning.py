"""Tuning: what is searched, what is kept between processes, and what is ignored."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tenferro_wgpu as tw
from tenferro_wgpu.backends.webgpu import tuning
from tenferro_wgpu.backends.webgpu.kernels import contraction, contraction_search
from tenferro_wgpu.backends.webgpu.kernels.contraction_tiles import (
    Adapter,
    Size,
    Tile,
    TileTable,
)
from tenferro_wgpu.errors import ArgumentError, EnvironmentVariableError, UnsupportedOperationError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tenferro_wgpu"


@pytest.fixture
def device(kernels, folder, monkeypatch):
    """A device whose table is fresh, before and after the test."""
    launcher = kernels.backend._launcher
    found = launcher.queue.device
    contraction._tables.pop(found, None)
    launcher.plans.clear()
    yield found
    contraction._tables.pop(found, None)
    launcher.plans.clear()


def chosen(kernels) -> dict:
    return contraction.tile_table(kernels.backend._launcher).measured


KEY = ("f32", Size(1, 64, 64, 64).bucket)
TILE = Tile("registers", 4, 8)


def test_tune_measures_chooses_and_keeps(kernels, device, folder):
    report = kernels.backend.tune([(64, 64, 64)], [np.dtype("float32")], 30.0)
    assert report.complete and report.adapter == device.name
    (product,) = report.products
    assert product.size == (1, 64, 64, 64) and product.dtype == "float32"
    assert 2 <= len(product.timed) <= 8
    fastest = min(product.timed, key=lambda each: each.milliseconds)
    assert product.choice == fastest.tile and fastest.milliseconds > 0
    assert str(chosen(kernels)[KEY]) == product.choice
    assert report.path and Path(report.path).parent == folder
    assert product.choice in str(report) and report.path in str(report)
    assert tuning.load(device) == chosen(kernels)
    # No other file is left behind.
    assert [path.name for path in folder.iterdir()] == [Path(report.path).name]


def test_measured_tiles_are_used_and_results_stay_right(kernels, device):
    contraction.tile_table(kernels.backend._launcher).measured[KEY] = TILE
    x = np.random.default_rng(0).standard_normal((64, 64)).astype("f4")
    found = kernels.run(
        "dot_general", x, x, shape=(64, 64), dtype="f4", contracting=((1,), (0,)), batch=((), ())
    )
    np.testing.assert_allclose(found, x @ x, 1e-4, 1e-4)
    plans = kernels.backend._launcher.plans.values()
    assert any(getattr(each, "plan", None) and each.plan.tile == TILE for each in plans)


def test_time_is_bounded(kernels, device):
    report = kernels.backend.tune(None, [np.dtype("float32")], 0.0)
    assert not report.complete and report.products == () and report.path is None
    assert "time was up" in str(report)


def test_software_adapters_are_not_tuned_unless_asked(kernels, device, monkeypatch):
    tuning.store(device, {KEY: TILE})
    monkeypatch.delenv("TENFERRO_TUNING", raising=False)
    assert chosen(kernels) == {}
    assert contraction.tile_table(kernels.backend._launcher).search is None
    for value, expected in (("0", {}), ("1", {KEY: TILE})):
        monkeypatch.setenv("TENFERRO_TUNING", value)
        contraction._tables.pop(device, None)
        assert chosen(kernels) == expected


def test_large_products_are_searched_once(kernels, device, monkeypatch):
    monkeypatch.setenv("TENFERRO_TUNING", "1")
    monkeypatch.setattr("tenferro_wgpu.backends.webgpu.kernels.contraction_tiles.SEARCHED_WORK", 1)
    calls = []
    search = contraction_search.search
    monkeypatch.setattr(
        contraction_search, "search", lambda *args: calls.append(args[2]) or search(*args)
    )
    x = np.ones((48, 48), "f4")
    for _ in range(2):
        kernels.backend._launcher.plans.clear()
        found = kernels.run(
            "dot_general", x, x, shape=(48, 48), dtype="f4",
            contracting=((1,), (0,)), batch=((), ()),
        )  # fmt: skip
        assert (found == 48).all()
    assert calls == [Size(1, 48, 48, 48)]
    assert tuning.load(device) == chosen(kernels) != {}


def test_a_search_that_fails_is_no_failure_of_the_product(kernels, device, monkeypatch):
    monkeypatch.setenv("TENFERRO_TUNING", "1")
    monkeypatch.setattr("tenferro_wgpu.backends.webgpu.kernels.contraction_tiles.SEARCHED_WORK", 1)

    def fail(*args):
        raise UnsupportedOperationError("tune")

    monkeypatch.setattr(contraction_search, "search", fail)
    x = np.ones((48, 48), "f4")
    found = kernels.run(
        "dot_general", x, x, shape=(48, 48), dtype="f4", contracting=((1,), (0,)), batch=((), ())
    )
    assert (found == 48).all()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[" * 100_000,
        lambda text: "[1, 2]",
        lambda text: "\x00\xff",
        lambda text: text.replace('"format": 1', '"format": 2'),
        lambda text: text.replace('"library": "', '"library": "0.0.0-'),
        lambda text: text.replace('"driver": "', '"driver": "other '),
        lambda text: text.replace('"adapter": "', '"adapter": "other '),
        lambda text: text.replace('"rows": 4', '"rows": 4096'),
        lambda text: text.replace('"rows": 4', '"rows": "4"'),
        lambda text: text.replace('"rows": 4', '"rows": true'),
        lambda text: text.replace('"rows": 4', '"height": 4'),
        lambda text: text.replace('"registers"', '"unheard of"'),
        lambda text: text.replace('"columns": 8', '"columns": 7'),
        lambda text: text.replace("{", " " * 2**20 + "{", 1),
    ],
)
def test_corrupt_stale_and_foreign_files_are_ignored(kernels, device, damage, monkeypatch):
    monkeypatch.setenv("TENFERRO_TUNING", "1")
    path = tuning.store(device, {KEY: TILE})
    text = path.read_text()
    assert chosen(kernels) == {KEY: TILE}
    damaged = damage(text)
    assert damaged != text
    path.write_text(damaged, encoding="utf-8")
    contraction._tables.pop(device, None)
    assert chosen(kernels) == {}


def test_folders_that_cannot_be_written_are_no_error(device, folder, monkeypatch):
    folder.parent.joinpath("tenferro_wgpu").write_text("a file where the folder should be")
    assert tuning.store(device, {KEY: TILE}) is None
    assert tuning.load(device) == {}
    monkeypatch.setattr("sys.platform", "emscripten")
    assert tuning.path_of(device) is None and not tuning.is_on(device)


def test_writing_replaces_the_file_at_once(device, folder, monkeypatch):
    path = tuning.store(device, {KEY: TILE})
    before = path.read_text()

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    assert tuning.store(device, {}) is None
    assert path.read_text() == before
    assert [each.name for each in folder.iterdir()] == [path.name]


def test_cache_folders_of_each_platform(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setattr("pathlib.Path.home", classmethod(lambda cls: tmp_path))
    for platform, expected in (
        ("linux", tmp_path / ".cache"),
        ("darwin", tmp_path / "Library" / "Caches"),
    ):
        monkeypatch.setattr("sys.platform", platform)
        assert tuning.cache_folder() == expected / "tenferro_wgpu"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert tuning.cache_folder() == tmp_path / "tenferro_wgpu"


def test_the_file_is_plain_json(device):
    content = json.loads(tuning.store(device, {KEY: TILE}).read_text())
    assert set(content) == {"format", "identity", "choices"}
    assert content["identity"]["library"] == tw.__version__


@pytest.mark.parametrize("kind", ["cpu", "integrated", "discrete"])
@pytest.mark.parametrize("dialect", ["f32", "u32", "f64n", "f64s", "i64s"])
def test_four_to_eight_candidates(kind, dialect):
    table = TileTable(Adapter(kind, 8 if kind == "cpu" else 0))
    for size in contraction_search.COMMON_SIZES:
        words = 2 if "64" in dialect else 1
        found = table.candidates(size, dialect, words)
        assert 3 <= len(found) <= 8 and len(set(found)) == len(found)
        assert found[0] == table.choose(size, dialect, words, False)
        assert all(table.can_compute(tile, dialect, words) for tile in found)


def test_the_switch_takes_0_and_1(monkeypatch):
    monkeypatch.setenv("TENFERRO_TUNING", "yes")
    with pytest.raises(EnvironmentVariableError, match="TENFERRO_TUNING"):
        tw.EagerRuntime("cpu")


def test_public_function(rt, folder):
    if rt.backend.name != "webgpu":
        with pytest.raises(UnsupportedOperationError, match="only WebGPU"):
            tw.tune()
        return
    launcher = rt.backend._launcher
    report = tw.tune([(20, 20, 20)], ["int32"], seconds=5, device=rt)
    assert isinstance(report, tw.TuningReport) and len(report.products) == 1
    contraction._tables.pop(launcher.queue.device, None)
    with pytest.raises(ArgumentError, match="seconds"):
        tw.tune(seconds=-1)
    for bad in (5, (1, 2), (1, 2, 0), (1, 2, 3.0)):
        with pytest.raises(ArgumentError, match="tune"):
            tw.tune([bad])
