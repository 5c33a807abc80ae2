"""Runs one WGSL expression of dialect functions over arrays, on a chosen adapter.

Tests of dialects and `measure_ulp.py` use it. It knows the assembler and public wgpu only, so that
a wrong result here is the dialect's and not the backend's.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import wgpu

from tenferro_wgpu.backends.webgpu.dialects import DIALECTS, dialect, dialect_for
from tenferro_wgpu.backends.webgpu.shaders import render_source, required_features

WORKGROUP_SIZE = 64
MOST_WORKGROUPS = 65535

KERNEL = """
{% for operand in operands %}
@group(0) @binding({{ loop.index0 }})
var<storage, read> operand_{{ loop.index0 }}: array<{{ operand.storage }}>;
{% endfor %}
@group(0) @binding({{ operands | length }})
var<storage, read_write> output: array<{{ result.storage }}>;
@compute @workgroup_size({{ workgroup_size }})
fn main(
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) lane: u32,
) {
  let index = {{ macros.linear_invocation("group", "groups", "lane", workgroup_size) }};
  if (index < {{ param(1) }}) {
{% for operand in operands %}
    let {{ "abcd"[loop.index0] }} = {{ operand.load }}(operand_{{ loop.index0 }}[index]);
{% endfor %}
    output[index] = {{ result.store }}(EXPRESSION);
  }
}
"""


_chosen_adapter = ""


def use_adapter(name_part: str) -> None:
    """Run what follows on the first adapter whose name holds `name_part` ("llvmpipe"); "": any.

    Raises:
        LookupError: there is no such adapter.
    """
    global _chosen_adapter
    _device(name_part)
    _chosen_adapter = name_part


@cache
def _device(name_part: str) -> Any:
    for adapter in wgpu.gpu.enumerate_adapters_sync():
        if name_part in adapter.info["device"]:
            wanted = {"shader-f16", "shader-f64", "shader-int64"} & set(adapter.features)
            return adapter.request_device_sync(required_features=sorted(wanted))
    raise LookupError(f"no adapter called {name_part!r}")


def device() -> Any:
    """Return the device of the chosen adapter, with the features that dialects may need."""
    return _device(_chosen_adapter)


def adapter_name() -> str:
    """Return the name of the adapter the expressions run on."""
    return str(device().adapter_info["device"])


def has_native_f64() -> bool:
    """Return whether the device compiles what the dialect f64n uses."""
    return {"shader-f64", "shader-int64"} <= set(device().features)


def has_native_i64() -> bool:
    """Return whether the device compiles what the dialects i64n and u64n use."""
    return "shader-int64" in device().features


def has_native_f16() -> bool:
    """Return whether the device compiles what the dialect f16n uses."""
    return "shader-f16" in device().features


def evaluate(
    expression: str, *operands: np.ndarray, result: str, inputs: tuple[str, ...] | None = None
) -> np.ndarray:
    """Evaluate a WGSL expression element by element.

    Args:
        expression: template text; operands are `a`, `b`, `c`, `d`, dialects go by their names:
            `"{{ f32.add }}(a, b)"`. WGSL booleans are results of the dialect `bool`.
        operands: one-dimensional arrays of equal length.
        result: name of the dialect of the result.
        inputs: names of the operands' dialects; software dialects of their dtypes if left out.

    Returns:
        A one-dimensional array of the result dialect's dtype.
    """
    names = inputs or tuple(dialect_for(each.dtype, frozenset()).name for each in operands)
    wgsl = render_source(
        _dialects_by_name(KERNEL.replace("EXPRESSION", expression)),
        params_words=2,
        params_space="uniform",
        operands=[dialect(name) for name in names],
        result=dialect(result),
        workgroup_size=WORKGROUP_SIZE,
    )
    return _run(wgsl, operands, names, result)


def _dialects_by_name(source: str) -> str:
    lines = [f"{{% set {each.name} = dialects['{each.name}'] %}}\n" for each in DIALECTS]
    return "".join(lines) + source


@cache
def _pipeline(name_part: str, wgsl: str) -> Any:
    prelude = "enable f16;\n" if required_features(wgsl) else ""
    module = _device(name_part).create_shader_module(code=prelude + wgsl)
    return _device(name_part).create_compute_pipeline(
        layout="auto", compute={"module": module, "entry_point": "main"}
    )


def _run(
    wgsl: str, operands: tuple[np.ndarray, ...], names: tuple[str, ...], result: str
) -> np.ndarray:
    size = operands[0].size
    storage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
    buffers = []
    for array, name in zip(operands, names, strict=True):
        if array.shape != (size,):
            raise ValueError(f"operands are one-dimensional and of equal length: {array.shape}")
        words = dialect(name).to_storage(array)
        buffers.append(device().create_buffer_with_data(data=words, usage=storage))
    buffers.append(device().create_buffer(size=size * 4 * dialect(result).words, usage=storage))
    params = np.array([0, size, 0, 0], dtype=np.uint32)
    uniform = device().create_buffer_with_data(data=params, usage=wgpu.BufferUsage.UNIFORM)
    pipeline = _pipeline(_chosen_adapter, wgsl)
    groups = [
        device().create_bind_group(
            layout=pipeline.get_bind_group_layout(index),
            entries=[
                {"binding": place, "resource": {"buffer": each, "offset": 0, "size": each.size}}
                for place, each in enumerate(bound)
            ],
        )
        for index, bound in enumerate((buffers, [uniform]))
    ]
    encoder = device().create_command_encoder()
    compute_pass = encoder.begin_compute_pass()
    compute_pass.set_pipeline(pipeline)
    for index, group in enumerate(groups):
        compute_pass.set_bind_group(index, group)
    workgroups = -(-size // WORKGROUP_SIZE)
    rows = -(-workgroups // MOST_WORKGROUPS)
    compute_pass.dispatch_workgroups(-(-workgroups // rows), rows, 1)
    compute_pass.end()
    device().queue.submit([encoder.finish()])
    raw = device().queue.read_buffer(buffers[-1])
    return dialect(result).from_storage(np.frombuffer(raw, np.uint8)).copy()
