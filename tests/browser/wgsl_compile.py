"""Compiles WGSL modules with a real browser's compiler (Tint) under the default WebGPU limits.

wgpu's compiler accepts modules that browsers refuse, so what it says is not enough.

    python tests/browser/wgsl_compile.py FOLDER...   # every *.wgsl below; exits 1 on errors
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path

from chromium import open_chromium, run_javascript, serve

#: Modules per call into the page: they compile side by side, and a call has a time limit.
BATCH = 32

_COMPILE = """
const adapter = await navigator.gpu?.requestAdapter();
if (!adapter) throw new Error('the page has no WebGPU adapter');
const optional = ['subgroups'];
const device = globalThis.tenferroCompiler ??= await adapter.requestDevice(
  { requiredFeatures: optional.filter((name) => adapter.features.has(name)) });

async function problems([code, withPipelines]) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code });
  const scope = device.popErrorScope();
  const { messages } = await module.getCompilationInfo();
  const errors = messages.filter((message) => message.type === 'error')
    .map((message) => `${message.lineNum}:${message.linePos} ${message.message}`);
  const refused = await scope;
  if (errors.length === 0 && refused) errors.push(refused.message);
  if (errors.length > 0 || !withPipelines) return errors;
  const entries = [...code.matchAll(/@compute[^{]*?fn\\s+(\\w+)/g)].map((match) => match[1]);
  for (const entryPoint of entries) {
    try {
      await device.createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint } });
    } catch (error) {
      errors.push(`pipeline ${entryPoint}: ${error.message}`);
    }
  }
  return errors;
}
return await Promise.all(A[0].map(problems));
"""


def compile_in_chromium(
    modules: Mapping[str, str], pipelines: Collection[str] | None = None
) -> dict[str, list[str]]:
    """Compile each module and, for each compute entry point, a pipeline, in headless Chromium.

    Args:
        modules: a name of your choice to its WGSL text.
        pipelines: the names of those that get pipelines; None: all.

    Returns:
        For every name its error messages ("line:column text"); an empty list means accepted.

    Raises:
        FileNotFoundError: Chromium or chromedriver is not installed.
        PageError: the page has no WebGPU adapter.
    """
    found: dict[str, list[str]] = {}
    remaining = iter(modules.items())
    with serve() as address, open_chromium(script_timeout=300) as driver:
        driver.get(address)
        while batch := dict(islice(remaining, BATCH)):
            given = [[code, pipelines is None or name in pipelines] for name, code in batch.items()]
            found.update(zip(batch, run_javascript(driver, _COMPILE, given), strict=True))
    return found


def worth_a_pipeline(modules: Mapping[str, str]) -> set[str]:
    """Return names of modules that between them show a pipeline all that it can refuse.

    A module is checked as a whole when it is made, in two milliseconds.  A pipeline compares the
    interface (bindings, parameters, workgroup size and memory) with the limits of the device, and
    translates each function for the driver, which takes a hundred times as long.  Every interface,
    and every function of the dialects, is that of one of the chosen modules.
    """
    chosen, seen = set(), set()
    for name, code in sorted(modules.items(), key=lambda item: (len(item[1]), item[0])):
        functions, interface = set(), []
        for declaration in _declarations(code):
            if declaration.startswith("fn tf_"):
                functions.add(declaration)
            elif "@compute" in declaration:
                interface.append(declaration.partition("{")[0])
            elif not declaration.startswith("fn "):
                interface.append(_ELEMENT_TYPE.sub("T", declaration))
        new = {*functions, "\n".join(interface)} - seen
        if new:
            chosen.add(name)
            seen |= new
    return chosen


_ELEMENT_TYPE = re.compile(r"\b(vec\d<\w+>|f32|u32|i32|bool)")


def _declarations(code: str) -> list[str]:
    """The top-level declarations of a module of ours, each from the first of its lines."""
    found, lines, depth = [], [], 0
    for line in code.splitlines():
        lines.append(line)
        depth += line.count("{") - line.count("}")
        if depth == 0 and line.rstrip().endswith(("}", ";")):
            found.append("\n".join(lines).strip())
            lines = []
    return found


def read_modules(folders: list[Path]) -> dict[str, str]:
    """Return every `*.wgsl` file below the folders, by path."""
    files = sorted(file for folder in folders for file in folder.rglob("*.wgsl"))
    return {str(file): file.read_text() for file in files}


def main() -> int:
    """Compile the folders on the command line and print what the browser refused."""
    modules = read_modules([Path(argument) for argument in sys.argv[1:]])
    if not modules:
        print("no *.wgsl files found", file=sys.stderr)
        return 2
    refused = {name: errors for name, errors in compile_in_chromium(modules).items() if errors}
    for name, errors in refused.items():
        print(name, *(f"  {error}" for error in errors), sep="\n")
    print(f"{len(modules) - len(refused)} of {len(modules)} modules accepted")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
