"""The programs printed in the README and the guides run as they stand."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "docs/index.md", "docs/getting-started.md"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_programs_run(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (REPOSITORY / document).read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert programs
    for program in programs:
        exec(compile(program, document, "exec"), {})
        assert capsys.readouterr().out


def test_every_exception_is_documented() -> None:
    from tenferro_wgpu import errors

    text = (REPOSITORY / "docs" / "errors.md").read_text(encoding="utf-8")
    for name in errors.__all__:
        assert f"`{name}`" in text


def test_every_environment_variable_is_documented() -> None:
    text = (REPOSITORY / "docs" / "environment.md").read_text(encoding="utf-8")
    used: set[str] = set()
    for source in (REPOSITORY / "tenferro_wgpu").rglob("*.py"):
        used |= set(re.findall(r'"(TENFERRO_[A-Z_]+)"', source.read_text(encoding="utf-8")))
    assert used
    assert not {name for name in used if f"`{name}`" not in text}


def test_every_public_name_is_on_the_api_page() -> None:
    import tenferro_wgpu as tw

    words = set(re.findall(r"\w+", (REPOSITORY / "docs" / "api.md").read_text(encoding="utf-8")))
    assert not {name for name in tw.__all__ if name not in words}


def test_the_readme_lists_as_missing_only_what_is_missing() -> None:
    import tenferro_wgpu as tw

    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    listed = re.search(r"- functions: (.*?);", text, re.DOTALL)
    assert listed
    names = set(re.findall(r"`(\w+)`", listed[1]))
    assert names
    assert not {name for name in names if hasattr(tw, name)}


def test_every_module_is_in_the_architecture_s_file_layout() -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    for source in (REPOSITORY / "tenferro_wgpu").rglob("*.py"):
        folder = source.parent.name
        if folder in ("drivers", "kernels", "demo"):
            assert f"{folder}/" in text
        elif source.name != "__init__.py":
            assert re.search(rf"\b{source.stem}\b", text), source
