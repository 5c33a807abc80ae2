"""Creation functions as methods of the runtime: `ops.creation` with ``device=`` filled in.

Mixed into `EagerRuntime`.  Signatures are those of the functions without `device`; what they do
is documented and decided there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops import creation, diagonals, grids

if TYPE_CHECKING:
    from .tensor import EagerTensor

__all__ = ["Creating"]


class Creating:
    """New tensors of this runtime, whichever runtime is current.

    >>> import tenferro_wgpu as tw
    >>> rt = tw.default_runtime()
    >>> rt.arange(3).tolist()
    [0, 1, 2]
    """

    __slots__ = ()

    def zeros(self, shape: Any, dtype: Any = None) -> EagerTensor:
        """Zeros; see `tenferro_wgpu.zeros`."""
        return creation.zeros(shape, dtype=dtype, device=self)  # type: ignore[no-any-return]

    def ones(self, shape: Any, dtype: Any = None) -> EagerTensor:
        """Ones; see `tenferro_wgpu.ones`."""
        return creation.ones(shape, dtype=dtype, device=self)  # type: ignore[no-any-return]

    def empty(self, shape: Any, dtype: Any = None) -> EagerTensor:
        """Unspecified values; see `tenferro_wgpu.empty`."""
        return creation.empty(shape, dtype=dtype, device=self)  # type: ignore[no-any-return]

    def full(self, shape: Any, fill_value: Any, dtype: Any = None) -> EagerTensor:
        """One scalar everywhere; see `tenferro_wgpu.full`."""
        return creation.full(  # type: ignore[no-any-return]
            shape, fill_value, dtype=dtype, device=self
        )

    def arange(
        self, start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None
    ) -> EagerTensor:
        """Evenly spaced numbers by a step; see `tenferro_wgpu.arange`."""
        return creation.arange(  # type: ignore[no-any-return]
            start, stop, step, dtype=dtype, device=self
        )

    def linspace(
        self, start: Any, stop: Any, /, num: int, *, dtype: Any = None, endpoint: bool = True,
        retstep: bool = False,
    ) -> Any:  # fmt: skip
        """Evenly spaced numbers by their count; see `tenferro_wgpu.linspace`."""
        return grids.linspace(
            start, stop, num, dtype=dtype, device=self, endpoint=endpoint, retstep=retstep
        )

    def eye(
        self, n_rows: int, n_cols: int | None = None, /, k: int = 0, *, dtype: Any = None
    ) -> EagerTensor:
        """A matrix with ones on a diagonal; see `tenferro_wgpu.eye`."""
        return creation.eye(  # type: ignore[no-any-return]
            n_rows, n_cols, k=k, dtype=dtype, device=self
        )

    def tri(
        self, n_rows: int, n_cols: int | None = None, /, k: int = 0, *, dtype: Any = None
    ) -> EagerTensor:
        """A triangle of ones; see `tenferro_wgpu.tri`."""
        return diagonals.tri(  # type: ignore[no-any-return]
            n_rows, n_cols, k, dtype=dtype, device=self
        )

    def from_flat(
        self, values: Any, /, shape: Any, order: str = "C", *, dtype: Any = None
    ) -> EagerTensor:
        """A shape given to elements in a row; see `tenferro_wgpu.from_flat`."""
        return creation.from_flat(  # type: ignore[no-any-return]
            values, shape, order, dtype=dtype, device=self
        )

    def zeros_like(self, x: Any, /, dtype: Any = None) -> EagerTensor:
        """Zeros of a tensor's shape and dtype; see `tenferro_wgpu.zeros_like`."""
        return creation.zeros_like(x, dtype=dtype, device=self)  # type: ignore[no-any-return]

    def ones_like(self, x: Any, /, dtype: Any = None) -> EagerTensor:
        """Ones of a tensor's shape and dtype; see `tenferro_wgpu.ones_like`."""
        return creation.ones_like(x, dtype=dtype, device=self)  # type: ignore[no-any-return]

    def empty_like(self, x: Any, /, dtype: Any = None) -> EagerTensor:
        """Unspecified values of a tensor's shape and dtype; see `tenferro_wgpu.empty_like`."""
        return creation.empty_like(x, dtype=dtype, device=self)  # type: ignore[no-any-return]

    def full_like(self, x: Any, /, fill_value: Any, dtype: Any = None) -> EagerTensor:
        """One scalar in a tensor's shape and dtype; see `tenferro_wgpu.full_like`."""
        return creation.full_like(  # type: ignore[no-any-return]
            x, fill_value, dtype=dtype, device=self
        )
