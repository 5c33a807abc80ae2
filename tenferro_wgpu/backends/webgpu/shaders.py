"""The module assembler: one kernel template plus the dialect fragments it reaches, as WGSL text.

Kernel modules call `render_module`; the driver compiles the result. A fragment is one top-level
declaration of a file in `shaders/dtypes/`. The assembler scans the rendered template for names of
fragments, follows what those use, and emits each once in a fixed order: WGSL has no overloads, an
unused function costs compile time, and driver caches want byte-stable text. Nothing here knows
devices, buffers or what a kernel computes.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from tenferro_wgpu import approximations
from tenferro_wgpu.backends.webgpu.dialects import DIALECTS, Dialect, DialectView
from tenferro_wgpu.backends.webgpu.fragments import Library, Source, strip_comments
from tenferro_wgpu.caching import CacheLimits, LruCache

ParamsSpace = Literal["immediate", "uniform"]

SUFFIX = ".wgsl.j2"
#: Rendered modules of the process, by what `render_module` was given: devices that compile the
#: same kernel, and one that has lost its pipelines, share the text.
MODULES = LruCache(CacheLimits(512))


def shaders_root() -> Path:
    """Return the folder of the WGSL templates.

    In a wheel it lies in the package, in a checkout at the top level.
    """
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "shaders", package.parent / "shaders"):
        if (folder / "dtypes").is_dir():
            return folder
    raise FileNotFoundError(f"the WGSL templates are missing: no shaders folder near {package}")


def parameter_name(word: int) -> str:
    """Return the WGSL expression (a u32) of word `word` of the params block; word 0 is the zero."""
    return f"params.p{word // 4}.{'xyzw'[word % 4]}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(shaders_root()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
    )
    environment.globals["param"] = parameter_name
    environment.globals["approximations"] = approximations
    environment.globals["macros"] = environment.get_template("macros" + SUFFIX).module
    return environment


def _dialect_templates(entry: Dialect) -> list[str]:
    """Template names of a dialect: its own file, its own others, those of its family and kind."""
    names = _dialect_files()
    own = entry.name + SUFFIX
    mine = [own] if own in names else []
    mine += [name for name in names if name.startswith(entry.name + "_")]
    if entry.family != entry.name:
        mine += [name for name in names if name.startswith(entry.family + "_")]
    if entry.dtype.kind in "iu":
        mine += [name for name in names if name.startswith("integer_")]
    return ["dtypes/" + name for name in mine]


@cache
def library() -> Library:
    """Return the fragments of all dialects, each file rendered and split when first needed."""
    return Library({entry.name: _sources(entry) for entry in DIALECTS})


class _DeclaredNames:
    """The names of all fragments, as a container that reads no more than it must."""

    def __contains__(self, name: object) -> bool:
        return name in library()


#: What dialect views check their functions against.
DECLARED_NAMES = _DeclaredNames()


def _sources(entry: Dialect) -> list[Source]:
    """The files of a dialect."""

    def render(name: str) -> str:
        return _environment().get_template(name).render(T=DialectView(entry, None), all=DIALECTS)

    return [
        Source(f"{name} for {entry.name}", partial(_raw, name), partial(render, name))
        for name in _dialect_templates(entry)
    ]


@cache
def _raw(name: str) -> str:
    return (shaders_root() / name).read_text()


@cache
def _dialect_files() -> list[str]:
    return sorted(path.name for path in (shaders_root() / "dtypes").glob("*" + SUFFIX))


def required_features(wgsl: str) -> tuple[str, ...]:
    """Return the device features that a module has to enable, by WebGPU's names."""
    return ("shader-f16",) if "_f16n" in wgsl else ()


def _wrapped(value: Any) -> Any:
    """Replace dialects by views, also inside lists, tuples and dicts."""
    if isinstance(value, Dialect):
        return DialectView(value, DECLARED_NAMES)
    if isinstance(value, list | tuple):
        return [_wrapped(each) for each in value]
    if isinstance(value, dict):
        return {key: _wrapped(each) for key, each in value.items()}
    return value


def _assemble(
    template: Template, params_words: int, params_space: str, context: dict[str, Any]
) -> str:
    if params_space not in ("immediate", "uniform"):
        raise ValueError(f"params_space is 'immediate' or 'uniform', not {params_space!r}")
    views = {entry.name: DialectView(entry, DECLARED_NAMES) for entry in DIALECTS}
    values = {key: _wrapped(value) for key, value in context.items()}
    main = strip_comments(template.render({"dialects": views, **values}))
    vectors = max(1, -(-params_words // 4))
    macros: Any = _environment().globals["macros"]
    params = strip_comments(macros.params_block(vectors, params_space))
    fragments = library().reached_from(main)
    return params + "".join(fragment.text + "\n" for fragment in fragments) + main


def render_module(
    template: str, *, params_words: int, params_space: ParamsSpace, **context: Any
) -> str:
    """Render a kernel template into a complete WGSL module.

    Args:
        template: path under the shaders folder, with or without `.wgsl.j2`
            (`"elementwise/map"`).
        params_words: 32-bit words of the params block, counting word 0, which is always zero
            at run time. Templates read word `i` as `{{ param(i) }}`.
        params_space: whether the driver passes params as immediates or in a uniform buffer
            at group 1, binding 0.
        context: what the template uses. Dialects (also inside tuples, lists and dicts) become
            `DialectView`s. Besides, `dialects` maps each name to its view.

    Returns:
        WGSL without comments; equal arguments give equal bytes in every process.

    Raises:
        UnsupportedOperationError: the template asks a dialect for a function it lacks.
        jinja2.UndefinedError: the template uses a name that `context` lacks.
        jinja2.TemplateNotFound: there is no such template.
    """
    name = template if template.endswith(SUFFIX) else template + SUFFIX
    # True, 1 and 1.0 are one dictionary key and three texts: the type belongs to the key.
    items = tuple((key, type(value), value) for key, value in sorted(context.items()))
    key = (name, params_words, params_space, items)
    try:
        text: str | None = MODULES.get(key)
    except TypeError:  # lists and dicts in the context: rendered each time
        return _assemble(_environment().get_template(name), params_words, params_space, context)
    if text is None:
        text = _assemble(_environment().get_template(name), params_words, params_space, context)
        MODULES.put(key, text, len(text))
    return text


def render_source(
    source: str, *, params_words: int, params_space: ParamsSpace, **context: Any
) -> str:
    """Render template text that is not a file of ours; as `render_module`, without its cache."""
    template = _environment().from_string(source)
    return _assemble(template, params_words, params_space, context)
