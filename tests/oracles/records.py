"""Records of derivatives that another library computed: reading them, and comparing with ours.

The records are the public tensor-ad-oracles database: inputs, directions, cotangents, and the JVP,
VJP and HVP that PyTorch gave for them, checked by central differences.  They are read from the
folder that TENFERRO_TEST_ORACLES names, or from beside the checkout; they are no part of it.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(
    os.environ.get("TENFERRO_TEST_ORACLES")
    or Path(__file__).resolve().parents[3] / "shared" / "oracles"
)
#: Records allow what differences of values can tell apart; two exact rules agree much better.
CLOSE = {"float32": 2e-4, "complex64": 2e-4, "float64": 1e-8, "complex128": 1e-8}


def families() -> dict[str, Path]:
    """The files of the database by operation and observable: ``{"add.identity": ...}``."""
    return {path.name.removesuffix(".jsonl.gz"): path for path in sorted(FOLDER.glob("*.jsonl.gz"))}


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of one file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def array(tensor: dict[str, Any]) -> np.ndarray:
    """A tensor of a record; complex numbers are pairs there."""
    dtype = np.dtype(tensor["dtype"])
    data = np.array(tensor["data"], np.float64 if dtype.kind in "fc" else dtype)
    if dtype.kind == "c":
        data = data.reshape(-1, 2) @ np.array([1, 1j])
    return data.astype(dtype).reshape(tensor["shape"])


def assert_agrees(
    got: np.ndarray, tensor: dict[str, Any], tolerance: dict[str, Any], dtype: str, what: str
) -> None:
    """A derivative of ours is that of the record, within its tolerance and within ours.

    `dtype` is that of the inputs.
    """
    want = array(tensor)
    assert got.shape == want.shape, what
    assert got.dtype == want.dtype, what
    close = CLOSE[dtype]
    scale = float(np.max(np.abs(want[np.isfinite(want)]), initial=1.0))
    np.testing.assert_allclose(
        got,
        want,
        rtol=min(tolerance["rtol"] + close * 1e-3, close),
        atol=min(tolerance["atol"] + close * 1e-3, close) * scale,
        err_msg=what,
    )
