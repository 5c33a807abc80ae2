"""The measured functions of binary64 that are not in `base_functions.py`.

Rows for `measure_ulp.py`; see `functions.py`.
"""

from __future__ import annotations

from functions import Function

FUNCTIONS: tuple[Function, ...] = ()
