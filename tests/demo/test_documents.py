"""The README and the guides: programs run as they stand, links and names lead somewhere."""

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


def _anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_pages_lead_somewhere() -> None:
    pages = [
        *REPOSITORY.glob("*.md"),
        *REPOSITORY.glob("docs/*.md"),
        *REPOSITORY.glob("examples/*.md"),
    ]
    found = 0
    for page in pages:
        text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
        for file, _, anchor in (
            link.partition("#") for link in re.findall(r"\]\(([^)\s]+)\)", text)
        ):
            if file.startswith("http"):
                continue
            target = page.parent / file if file else page
            assert target.exists(), (page.name, file)
            assert not anchor or anchor in _anchors(target.read_text(encoding="utf-8"))
            found += 1
    assert found > 20


def test_names_of_functions_on_the_pages_exist() -> None:
    import tenferro_wgpu as tw

    for page in [REPOSITORY / "README.md", *REPOSITORY.glob("docs/*.md")]:
        for name in re.findall(r"\btw\.(\w+)", page.read_text(encoding="utf-8")):
            assert hasattr(tw, name), (page.name, name)


def test_docstrings_leave_no_star_to_the_site() -> None:
    """`make docs` takes a warning for an error, as of ``(batch, *spatial)`` outside a literal."""
    import tenferro_wgpu as tw

    for name in tw.__all__:
        text = getattr(getattr(tw, name), "__doc__", None) or ""
        if callable(getattr(tw, name)):
            prose = re.sub(r"``.*?``|`[^`]*`|^\s*(>>>|\.\.\.)[^\n]*$", "", text, flags=re.M | re.S)
            assert not re.search(r"(?<![\w*)\]])\*{1,2}[\w(]", prose), name
