"""`python -m tenferro_wgpu`: what it prints and its exit codes, on the CPU backend."""

import json
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tenferro_wgpu as tw
import tenferro_wgpu.__main__ as command
from tenferro_wgpu.backends.selection import FoundDevice
from tenferro_wgpu.demo import report

REPOSITORY = Path(__file__).resolve().parents[2]

needs_demo = pytest.mark.skipif(
    command.install_line() is not None, reason="the packages of the extra `demo` are not installed"
)


def run(*options: object) -> int:
    return command.main([str(option) for option in options])


@needs_demo
def test_a_photograph_is_restored(tmp_path: Path, capsys: Any) -> None:
    picture = tmp_path / "restored.png"
    assert run("--backend", "cpu", "--size", 128, "--steps", 60, "--output", picture) == 0
    assert picture.stat().st_size > 10_000
    printed = capsys.readouterr().out
    assert "NumPy" in printed
    assert str(picture) in printed


@needs_demo
def test_json_is_one_object_of_true_numbers(tmp_path: Path, capsys: Any) -> None:
    picture = tmp_path / "restored.png"
    options = ("--backend", "cpu", "--size", 128, "--steps", 60, "--json", "--output", picture)
    assert run(*options) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["psnr_restored"] - report["psnr_blurred"] > 3
    assert report["picture"] == {"height": 128, "width": 109, "channels": 3}
    assert report["steps"] == 60
    assert report["seconds_per_step"] > 0
    assert report["operations_per_second"] > 0
    assert report["output"] == str(picture)
    assert report["devices"]


@needs_demo
@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 2), (9, 9)])
def test_pictures_smaller_than_the_blur(size: tuple[int, int], tmp_path: Path) -> None:
    from PIL import Image

    Image.new("L", size, 99).save(tmp_path / "small.png")
    options = ("--image", tmp_path / "small.png", "--output", tmp_path / "out.png")
    assert run("--backend", "cpu", "--steps", 3, *options) == 0
    assert (tmp_path / "out.png").exists()


@needs_demo
def test_an_unreadable_file_is_one_line_and_exit_code_2(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "text.png").write_text("hello")
    assert run("--backend", "cpu", "--image", tmp_path / "text.png") == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert "text.png" in complaint


@pytest.mark.parametrize(
    "options",
    [
        ("--steps", 0),
        ("--size", 0),
        ("--output", "/no/such/f.png"),
        ("--backend", "abacus"),
        ("--output", "notes.txt"),
        ("--output", "."),
    ],
)
def test_options_without_sense_are_refused(options: tuple[object, ...], capsys: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*options)
    assert caught.value.code == 2
    assert str(options[0]) in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--devices", "--json"])
@pytest.mark.parametrize("variable", ["TENFERRO_BACKEND", "TENFERRO_ADAPTER"])
def test_environment_variables_without_sense_are_one_line(
    variable: str, option: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    if variable == "TENFERRO_ADAPTER" and not any(
        device.backend == "webgpu" and device.name for device in tw.devices()
    ):
        pytest.skip("no adapter whose name could be misspelt")
    monkeypatch.setenv(variable, "nonsense")
    assert run(option) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert f"{variable}='nonsense'" in complaint


@needs_demo
@pytest.mark.parametrize(
    ("name", "written"), [("sheet", "sheet.png"), ("sheet.jpg", "sheet.jpg"), ("a.b.webp", None)]
)
def test_the_output_s_ending_says_its_format(
    name: str, written: str | None, tmp_path: Path, capsys: Any
) -> None:
    from PIL import Image

    assert run("--backend", "cpu", "--size", 16, "--steps", 1, "--output", tmp_path / name) == 0
    file = tmp_path / (written or name)
    assert str(file) in capsys.readouterr().out
    with Image.open(file) as sheet:
        assert sheet.format == {".png": "PNG", ".jpg": "JPEG", ".webp": "WEBP"}[file.suffix]


@needs_demo
def test_it_says_when_the_picture_was_scaled(tmp_path: Path, capsys: Any) -> None:
    from PIL import Image

    Image.new("L", (40, 30), 99).save(tmp_path / "grey.png")
    options = ("--image", tmp_path / "grey.png", "--output", tmp_path / "out.png")
    for size, scaled in ((20, True), (40, False)):
        assert run("--backend", "cpu", "--steps", 1, "--size", size, *options) == 0
        printed = capsys.readouterr().out
        assert ("scaled down from 40 x 30" in printed) is scaled
        assert ("--size" in printed) is scaled


def found(*, cuda: bool) -> list[FoundDevice]:
    return [
        FoundDevice("webgpu", reason="no adapter was found"),
        FoundDevice("cuda", "Some GPU" if cuda else "", reason="cuda: no adapter: no CuPy"),
        FoundDevice("cpu", "Some CPU", chosen=True),
    ]


def test_a_list_names_what_will_fail_and_only_once() -> None:
    text = report.devices_as_text(found(cuda=False), report.Asked.by(None, "cuda"))
    assert "TENFERRO_BACKEND=cuda will fail" in text
    assert "No GPU" not in text
    assert text.count("no adapter") == 1
    assert "cuda    none: no CuPy" in text
    there = report.devices_as_text(found(cuda=True), report.Asked.by("cuda", "cpu"))
    assert "will fail" not in there
    assert "No GPU" in report.devices_as_text(found(cuda=False), None)


def test_a_backend_that_is_not_here_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def no_cuda(backend: str) -> None:
        raise tw.errors.NoAdapterError(backend, "no CuPy")

    monkeypatch.setattr(tw, "devices", lambda: found(cuda=False))
    monkeypatch.setattr(tw, "EagerRuntime", no_cuda)
    assert run("--backend", "cuda") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "no CuPy" in printed.err


@needs_demo
def test_that_there_is_no_gpu_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, caplog: Any
) -> None:
    monkeypatch.delenv("TENFERRO_BACKEND", raising=False)
    monkeypatch.setattr(tw, "devices", lambda: found(cuda=False))
    assert run("--size", 16, "--steps", 1, "--output", tmp_path / "out.png") == 0
    assert capsys.readouterr().out.count("No GPU") == 1
    assert "no GPU" not in caplog.text


def test_without_the_extra_it_prints_devices_and_the_pip_line(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert run() == 0
    printed = capsys.readouterr().out
    assert "cpu" in printed
    assert "-m pip install" in printed
    for requirement in command.DEMO_REQUIREMENTS.values():
        assert requirement in printed


def test_the_pip_line_names_what_is_missing_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace()
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "PIL" else found)
    line = command.install_line()
    assert line is not None
    assert "pillow" in line
    assert "tqdm" not in line


def test_the_pip_line_agrees_with_the_extra() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    extra = settings["project"]["optional-dependencies"]["demo"]
    assert sorted(command.DEMO_REQUIREMENTS.values()) == sorted(extra)


def test_devices_are_listed_without_a_demonstration(capsys: Any) -> None:
    assert run("--devices", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"devices"}
    assert any(device["backend"] == "cpu" for device in report["devices"])


@needs_demo
def test_the_gradient_of_the_objective_is_its_slope() -> None:
    from tenferro_wgpu.demo.restoration import objective, observe

    original = np.random.default_rng(3).random((3, 9, 7), dtype=np.float32)
    observation = observe(original)
    direction = np.random.default_rng(4).standard_normal(original.shape)
    with tw.EagerRuntime("cpu", default_dtype="float64") as runtime:
        seen = runtime.constant_from(observation.picture.astype(np.float64))
        rows = runtime.constant_from(observation.row_blur.astype(np.float64))
        columns = runtime.constant_from(observation.column_blur.astype(np.float64))

        def value(values: np.ndarray) -> float:
            return objective(runtime.constant_from(values), seen, rows, columns).item()

        start = original.astype(np.float64)
        estimate = runtime.variable_from(start)
        objective(estimate, seen, rows, columns).backward()
        assert estimate.grad is not None
        slope = float((estimate.grad.numpy() * direction).sum())
        step = 1e-6
        measured = (value(start + step * direction) - value(start - step * direction)) / (2 * step)
    assert slope == pytest.approx(measured, rel=1e-6)


def test_the_demonstration_s_packages_are_only_imported_when_it_runs() -> None:
    assert find_spec("tenferro_wgpu.demo") is not None
    source = (REPOSITORY / "tenferro_wgpu" / "__init__.py").read_text()
    assert "demo" not in source
