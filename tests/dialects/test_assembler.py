"""The module assembler: which fragments a module gets, in which order, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jinja2
import numpy as np
import pytest
from harness import device, has_native_f16, has_native_f64, has_native_i64

from tenferro_wgpu.backends.webgpu import shaders
from tenferro_wgpu.backends.webgpu.dialects import DIALECTS, dialect, dialect_for
from tenferro_wgpu.backends.webgpu.fragments import (
    Library,
    Source,
    split_declarations,
    strip_comments,
)
from tenferro_wgpu.backends.webgpu.shaders import (
    MODULES,
    library,
    parameter_name,
    render_module,
    render_source,
    shaders_root,
)
from tenferro_wgpu.errors import UnsupportedOperationError

KERNEL = """
@group(0) @binding(0) var<storage, read_write> output: array<{{ T.storage }}>;
@compute @workgroup_size(1)
fn main() { output[0] = {{ T.store }}({{ T.exp }}({{ T.load }}(output[0]))); }
"""


def rendered(space: str = "uniform", source: str = KERNEL, **context: object) -> str:
    context = {"T": dialect("f32"), **context}
    return render_source(source, params_words=6, params_space=space, **context)  # type: ignore[arg-type]


def names(wgsl: str) -> list[str]:
    return [name for name, _ in split_declarations(wgsl)]


def test_only_what_is_reached_is_emitted_once_in_library_order() -> None:
    declared = names(rendered())
    assert declared[:3] == ["Params", "params", "tf_runtime_zero"]
    fragments = declared[3:-2]
    assert "tf_exp_f32" in fragments and "tf_scale_f32" in fragments  # reached through tf_exp_f32
    assert "tf_log_f32" not in fragments
    assert len(set(declared)) == len(declared)
    order = [library().fragments[name].order for name in fragments]
    assert order == sorted(order)


def test_text_is_the_same_in_every_process() -> None:
    script = (
        "from tenferro_wgpu.backends.webgpu.shaders import render_source\n"
        "from tenferro_wgpu.backends.webgpu.dialects import dialect\n"
        f"print(render_source({KERNEL!r}, params_words=6, params_space='uniform', "
        "T=dialect('f32')), end='')"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(shaders_root().parent)},
        ).stdout
        for seed in ("1", "2")
    }
    assert texts == {rendered()}


def test_both_params_spaces() -> None:
    assert "var<immediate> params: Params;" in rendered("immediate")
    assert "@group(1) @binding(0) var<uniform> params: Params;" in rendered()
    assert "p1: vec4<u32>" in rendered() and "p2:" not in rendered()
    with pytest.raises(ValueError, match="params_space"):
        rendered("storage")


def test_params_always_hold_the_zero() -> None:
    text = render_source("const tf_unused = 1u;", params_words=0, params_space="uniform")
    assert "p0: vec4<u32>" in text


@pytest.mark.parametrize(("word", "name"), [(0, "params.p0.x"), (7, "params.p1.w")])
def test_parameter_names(word: int, name: str) -> None:
    assert parameter_name(word) == name
    assert name in rendered(source=f"fn main() {{ let x = {{{{ param({word}) }}}}; }}")


def test_a_function_the_dialect_lacks_is_named() -> None:
    with pytest.raises(UnsupportedOperationError, match="tf_exp_bool") as caught:
        rendered(T=dialect("bool"))
    assert caught.value.dtype == "bool"
    with pytest.raises(UnsupportedOperationError, match="nothing"):
        dialect("nothing")


def test_a_name_the_context_lacks_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="absent"):
        rendered(source="{{ absent }}")
    with pytest.raises(jinja2.TemplateNotFound):
        render_module("no/such", params_words=1, params_space="uniform")


def test_dialects_inside_containers_become_views() -> None:
    source = "fn main() { {{ pair[0].add }}(x); {{ table.y.neg }}(x); }"
    text = rendered(source=source, pair=[dialect("f32")], table={"y": dialect("i32")})
    assert "tf_add_f32(x); tf_neg_i32(x);" in text


def test_comments_are_gone_and_name_nothing() -> None:
    text = rendered(source="// tf_log_f32\n/* tf_sin_f32 */ fn main() {} // end\n")
    assert "//" not in text and "tf_log_f32" not in text and "tf_sin_f32" not in text
    assert strip_comments("a; // b\n\n\n  c;\n") == "a;\n  c;\n"


def test_declarations_are_split() -> None:
    text = """
    struct TfPair { first: u32, second: array<u32, 2> };
    const tf_table = array<u32, 2>(1u, 2u);
    alias TfWord = u32;
    @must_use fn tf_f(x: u32) -> u32 { if (x > 1u) { return 2u; } return x; }
    var<private> tf_state: u32;
    """
    assert names(text) == ["TfPair", "tf_table", "TfWord", "tf_f", "tf_state"]
    with pytest.raises(ValueError, match="ends inside"):
        split_declarations("fn tf_f() { return; ")
    with pytest.raises(ValueError, match="not a WGSL declaration"):
        split_declarations("return 1u;")


def test_names_are_unique_and_ours() -> None:
    for text, message in (
        ("fn tf_f_x() {} fn tf_f_x() {}", "already declared in file x"),
        ("fn tf_to_y_x() {}", "already declared in file y"),
        ("fn exp() {}", "exp does not begin"),
        ("fn tf_f() {}", "tf_f does not hold x"),
        ("fn tf_f_x() { tf_g_x(); }", "file x: tf_g_x is declared nowhere"),
    ):
        with pytest.raises(ValueError, match=message):
            _ = library_of(y="fn tf_to_y_x() {}", x=text).fragments
    with pytest.raises(ValueError, match="tf_g_x is declared nowhere"):
        library_of(x="fn tf_f_x() { tf_g_x(); }").reached_from("tf_f_x()")


def library_of(**groups: str) -> Library:
    """A library of groups, each of one file."""
    return Library(
        {
            name: [Source(f"file {name}", lambda: "", lambda text=text: text)]
            for name, text in groups.items()
        }
    )


def test_files_are_read_when_they_are_named() -> None:
    made = Library(
        {
            "x": [
                Source("x1", lambda: "tf_{{ name }}_{{ T }}", lambda: "fn tf_e_x() {}"),
                Source("x2", lambda: "tf_f_{{ T }}", lambda: "fn tf_f_x() { tf_g_y(); }"),
            ],
            "y": [
                Source("y", lambda: "", lambda: "struct TfP_y { a: u32 } fn tf_g_y() { TfP_y(); }")
            ],
            "z": [Source("z", lambda: "", lambda: "fn tf_h_z() { tf_runtime_zero(); }")],
        }
    )
    assert "exp" not in made and "tf_f_w" not in made and "tf_runtime_zero" in made
    assert made.read_origins == set()
    assert [each.name for each in made.reached_from("tf_f_x() + f()")] == [
        "tf_f_x",
        "TfP_y",
        "tf_g_y",
    ]
    assert made.read_origins == {"x2", "y"}
    assert "tf_no_such_x" not in made and made.read_origins == {"x1", "x2", "y"}
    assert list(made.fragments) == ["tf_e_x", "tf_f_x", "TfP_y", "tf_g_y", "tf_h_z"]


def test_a_file_read_again_inside_its_reading_is_one() -> None:
    """As a signal handler may do that compiles a kernel of its own."""
    depth = []

    def text() -> str:
        depth.append(1)
        if len(depth) == 1:
            assert "tf_f_x" in made
        return "fn tf_f_x() {}"

    made = Library({"x": [Source("file", lambda: "", text)]})
    assert "tf_f_x" in made and len(depth) == 2


def test_a_module_reads_few_files(tmp_path: Path) -> None:
    """float32 arithmetic must not wait for the special functions and the other dialects."""
    code = (
        "from tenferro_wgpu.backends.webgpu.shaders import library\n"
        "library().reached_from('tf_add_f32 tf_load_f32 tf_cast_f32_i32 tf_cast_i32_f32')\n"
        "print(sorted(library().read_origins))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "special" not in result.stdout and "f64" not in result.stdout


def test_every_pair_of_dialects_has_a_cast() -> None:
    # Casts of complex numbers are casts of their parts.
    names = [entry.name for entry in DIALECTS if not entry.parts]
    missing = [
        (source, target)
        for source in names
        for target in names
        if f"tf_cast_{source}_{target}" not in library()
        and {source, target} != {"f64s", "f64n"}  # no device holds both
    ]
    assert missing == []


def test_dtypes_find_their_dialects() -> None:
    assert dialect_for(np.dtype(np.float32), frozenset()).name == "f32"
    assert dialect_for(np.dtype(np.int64), frozenset()).name == "i64s"
    assert dialect_for(np.dtype(np.float64), frozenset()).name == "f64s"
    assert dialect_for(np.dtype(np.float64), frozenset({"f64n"})).name == "f64n"
    assert dialect("bool").storage_dtype == np.uint32 and dialect("bool").dtype == np.bool_
    assert dialect_for(np.dtype(np.complex64), frozenset()).name == "c64"
    assert dialect_for(np.dtype(np.complex128), frozenset()).name == "c128s"
    assert dialect_for(np.dtype(np.complex128), frozenset({"f64n"})).name == "c128n"
    with pytest.raises(UnsupportedOperationError, match="datetime64"):
        dialect_for(np.dtype("datetime64[s]"), frozenset())


def test_rendered_modules_are_cached_and_cleared() -> None:
    MODULES.clear()
    before = MODULES.stats()
    template = next(
        path.relative_to(shaders_root()).as_posix()
        for path in sorted((shaders_root() / "dtypes").glob("u32.wgsl.j2"))
    )
    for _ in range(3):
        text = render_module(template, params_words=1, params_space="uniform", T=dialect("u32"))
    found = MODULES.stats()
    assert (found.hits - before.hits, found.misses - before.misses, found.entries) == (2, 1, 1)
    assert found.retained_bytes == len(text) > 0
    MODULES.clear()
    assert MODULES.stats().entries == 0


def test_equal_values_of_different_types_are_different_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = jinja2.FileSystemLoader([tmp_path, shaders_root()])
    (tmp_path / "flag.wgsl.j2").write_text("const flag = {{ flag }};")
    monkeypatch.setattr(shaders._environment(), "loader", loader)
    texts = [
        render_module("flag", params_words=1, params_space="uniform", flag=flag)
        for flag in (1, True)
    ]
    assert texts[0].endswith("const flag = 1;\n") and texts[1].endswith("const flag = True;\n")
    MODULES.clear()


def test_all_fragments_compile_together(dialect_device: str) -> None:
    absent = {"f64n": not has_native_f64(), "c128n": not has_native_f64()}
    absent["f16n"] = not has_native_f16()
    absent["i64n"] = absent["u64n"] = not has_native_i64()
    lacking = [name for name, is_absent in absent.items() if is_absent]
    fragments = [
        each
        for each in library().fragments.values()
        if not any(name in each.text for name in lacking)
    ]
    prelude = "enable f16;\n" if has_native_f16() else ""
    prelude += "struct Params { p0: vec4<u32> }\nvar<private> params: Params;\n"
    zero = "fn tf_runtime_zero() -> u32 { return params.p0.x; }\n"
    device().create_shader_module(code=prelude + zero + "\n".join(each.text for each in fragments))
