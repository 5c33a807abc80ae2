"""Element-wise operations that wait for one another, so that one kernel runs many of them.

`fuser.Fuser` is what backend.py talks to; `programs` holds the structure of what was recorded,
`parts` turns a structure into kernels.  Nothing here knows gradients or drivers.
"""
