"""The demonstration that `python -m tenferro_wgpu` runs: a photograph is blurred and restored.

It is a user of the package like any other: it imports the public names alone, and nothing in the
package imports it but `__main__`. It needs the extra `demo` (tqdm, pillow, matplotlib).
"""
