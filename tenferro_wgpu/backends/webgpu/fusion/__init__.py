"""Element-wise operations that wait for one another, so that one kernel runs many of them.

`fuser.Fuser` is what backend.py talks to: it records, and its base in `running` decides when to
compute.  `programs` holds the structure of what was recorded, `planning` makes kernels of it
(`row_planning` where rows are reduced and spread again), `kernels` and `products` run them.
Nothing here knows gradients or drivers.
"""
