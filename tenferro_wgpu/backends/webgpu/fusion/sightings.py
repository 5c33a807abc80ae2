"""Which structures are worth compiling: those seen before, while compiled ones are used again.

`Sightings` is the base of running.Runner, which asks before it compiles a kernel of a structure's
own; nobody else makes one.  It knows nothing of what a structure is, or of kernels.
"""

from __future__ import annotations

from collections.abc import Hashable

from tenferro_wgpu.backends.webgpu.cache import GenerationalCache

#: Kernel structures whose number of uses is remembered.
MOST_SIGHTINGS = 4096
#: Structures that may be compiled before compiled ones are used again: enough for all of a
#: training step at once.  Beyond, compiling waits for further sightings.
MOST_CREDIT = 48.0
CREDIT_PER_RUN = 0.5


class Sightings:
    """Counts the uses of structures, and pays for compiling with the uses of what is compiled."""

    def __init__(self, patience: int) -> None:
        self._sightings = GenerationalCache(MOST_SIGHTINGS)
        #: Sightings of a structure before it is compiled; 0 compiles at once.
        self.patience = patience
        #: Compiling a structure costs one, running a compiled one earns some back.
        self.credit = MOST_CREDIT

    def _is_worth_compiling(self, structure: Hashable) -> bool:
        """Whether a structure was seen often enough; counts this time.

        Where few of the kernels compiled lately were used again, it takes more.
        """
        sightings: int = self._sightings.find(structure) or 0
        self._sightings.store(structure, sightings + 1)
        if sightings < self.patience:
            return False
        if self.patience and self.credit < 1 and sightings < self.patience + 1 - self.credit // 8:
            return False
        self.credit -= 1
        return True

    def _earn(self) -> None:
        """A compiled structure ran."""
        self.credit = min(self.credit + CREDIT_PER_RUN, MOST_CREDIT)
