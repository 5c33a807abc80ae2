"""Derivative rules of operation families, handed to a runtime when it is made.

There is no process-global registry: a runtime takes a snapshot of the context it was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import DuplicateRuleError, MalformedFamilyIdError

__all__ = ["AdContext", "check_family_id"]

_FAMILY_ID = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)+\.v[0-9]+")


def check_family_id(family: str) -> str:
    """`family` itself if it reads ``<package>.<op>.v<major>``; raises MalformedFamilyIdError."""
    if not isinstance(family, str) or not _FAMILY_ID.fullmatch(family):
        raise MalformedFamilyIdError(str(family))
    return family


class AdContext:
    """The derivative rules of extension families, by family id.

    Args:
        rules: pairs or a mapping of family id to rule object; empty by default.

    Raises:
        MalformedFamilyIdError, DuplicateRuleError: for ids that are malformed or named twice.

    >>> import tenferro_wgpu as tw
    >>> len(tw.AdContext())
    0
    """

    def __init__(
        self, rules: Mapping[str, Callable[..., Any]] | list[tuple[str, Any]] | tuple[()] = ()
    ) -> None:
        pairs = rules.items() if isinstance(rules, Mapping) else rules
        self._rules: dict[str, Any] = {}
        for family, rule in pairs:
            if check_family_id(family) in self._rules:
                raise DuplicateRuleError(family)
            self._rules[family] = rule

    def snapshot(self) -> AdContext:
        """An independent copy."""
        return AdContext(dict(self._rules))

    def __len__(self) -> int:
        return len(self._rules)

    def __contains__(self, family: str) -> bool:
        return family in self._rules
