"""Drivers: the only modules that talk to a WebGPU implementation.

``native`` reaches the GPU through wgpu-py, ``browser`` through the page's JavaScript API.  Both
implement :class:`.protocol.Driver`; :mod:`..device` picks one and everything above sees only the
protocol.  Importing this package imports neither ``wgpu`` nor ``js``.
"""
