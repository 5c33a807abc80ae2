"""The WebGPU backend: WGSL kernels over a queue, on a native or a browser driver."""
