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
