"""The C types of wgpu-py, parsed in one go instead of one by one.

Called by native.py once wgpu's library is loaded, before anything else asks for a type.  cffi
parses a type's name the first time it is used, and parses every typedef of wgpu's header with it:
13 ms each, measured, for the three dozen names between the first adapter and the first result.
One parse of a function that takes them all as arguments costs as much as one name.

This only saves time.  Where cffi keeps its types elsewhere than expected, nothing happens and each
type is parsed when it is used.
"""

from __future__ import annotations

from typing import Any

#: Names as wgpu-py and our fast driver write them: the text is the key.
_POINTERS = (
    "WGPUInstanceExtras *",
    "WGPUInstanceDescriptor *",
    "WGPUChainedStruct *",
    "WGPUChainedStruct * ",
    "WGPUAdapterInfo *",
    "WGPUNativeLimits *",
    "WGPULimits *",
    "WGPUQueueDescriptor *",
    "WGPUDeviceExtras *",
    "WGPUDeviceLostCallbackInfo *",
    "WGPUUncapturedErrorCallbackInfo *",
    "WGPUDeviceDescriptor *",
    "WGPURequestDeviceCallbackInfo *",
    "WGPUBufferDescriptor *",
    "WGPUBindGroupDescriptor *",
    "WGPUShaderSourceWGSL *",
    "WGPUShaderModuleDescriptor *",
    "WGPUBufferBindingLayout *",
    "WGPUBindGroupLayoutEntry *",
    "WGPUBindGroupLayoutDescriptor *",
    "WGPUPipelineLayoutDescriptor *",
    "WGPUComputeState *",
    "WGPUComputePipelineDescriptor *",
    "WGPUBufferMapCallbackInfo *",
    "void *",
    "intptr_t",
)
_FUNCTIONS = (
    "void(WGPUDevice const *, WGPUDeviceLostReason, WGPUStringView, void *, void *)",
    "void(WGPUDevice const *, WGPUErrorType, WGPUStringView, void *, void *)",
    "void(WGPURequestDeviceStatus, WGPUDevice, WGPUStringView, void *, void *)",
    "void(WGPUMapAsyncStatus, WGPUStringView, void *, void *)",
)
_ARRAYS = (
    "WGPUAdapter[]",
    "char []",
    "WGPUFeatureName[]",
    "WGPUBindGroupEntry[]",
    "WGPUBindGroupLayoutEntry[]",
    "WGPUBindGroupLayout[]",
    "WGPUCommandBuffer[1]",
    "uint32_t[1]",
)


def parse_types(ffi: Any) -> None:
    """Put the types above where ``ffi`` looks for those it has parsed."""
    parsed = getattr(ffi, "_parsed_types", None)
    if not isinstance(parsed, dict) or _POINTERS[0] in parsed:
        return
    # An array is no argument, a pointer to one is.
    behind = [name.replace("[", "(*)[", 1) for name in _ARRAYS]
    try:
        takes_all = ffi.typeof(f"void(*)({', '.join((*_POINTERS, *_FUNCTIONS, *behind))})")
        found = list(takes_all.args)
    except Exception:
        return  # a header without one of them: each is parsed when it is used
    arrays = [pointer.item for pointer in found[-len(_ARRAYS) :]]
    names = (*_POINTERS, *_FUNCTIONS, *_ARRAYS)
    types = (*found[: -len(_ARRAYS)], *arrays)
    for name, ctype in zip(names, types, strict=True):
        # cffi's entry: the type, a function's as a pointer to it, and whether it is a function.
        parsed.setdefault(name, (ctype, name in _FUNCTIONS))
