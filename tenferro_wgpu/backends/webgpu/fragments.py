"""The fragments of WGSL that modules are assembled from, read file by file as they are named.

A fragment is one top-level declaration of a dialect's files. shaders.py renders the files and asks
for what a kernel reaches; nothing here knows templates, dialects or kernels. Most kernels reach a
few files of many, and rendering and splitting all of them would be most of a process's first call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import RLock

#: What every module declares itself.
RUNTIME_ZERO = "tf_runtime_zero"

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_OUR_NAME = re.compile(r"\b(?:tf_|Tf)[A-Za-z0-9_]*")
_BRACKET = re.compile(r"[(){}\[\];]")
_DECLARATION = re.compile(
    r"(?:@\w+(?:\([^)]*\))?\s*)*(?:fn|struct|alias|const|var(?:<[^>]*>)?)\s+(\w+)"
)
_BLANK_LINES = re.compile(r"\s*\n(?:[ \t]*\n)*")


@dataclass(frozen=True)
class Fragment:
    """One top-level WGSL declaration.

    Attributes:
        name: what it declares.
        text: the declaration.
        order: its place among all fragments: that of its file, then its own there.
        needs: the names of ours that it uses.
        origin: where it comes from.
    """

    name: str
    text: str
    order: tuple[int, int]
    needs: frozenset[str]
    origin: str


@dataclass(frozen=True)
class Source:
    """A file of fragments.

    Attributes:
        origin: what errors call it.
        raw: returns its text before it is rendered: a hint of what it declares.
        render: returns its WGSL.
    """

    origin: str
    raw: Callable[[], str]
    render: Callable[[], str]


def strip_comments(wgsl: str) -> str:
    """Return `wgsl` without comments, trailing spaces and blank lines."""
    return _BLANK_LINES.sub("\n", _COMMENT.sub("", wgsl)).strip() + "\n"


def split_declarations(wgsl: str) -> list[tuple[str, str]]:
    """Split WGSL text into its top-level declarations, as (declared name, text) in file order.

    Raises:
        ValueError: the text holds something that is not a declaration, or ends inside one.
    """
    text = strip_comments(wgsl).strip()
    declarations = []
    start = depth = 0
    for bracket in _BRACKET.finditer(text):
        character = bracket.group()
        if character in "{([":
            depth += 1
        elif character in "})]":
            depth -= 1
        if depth == 0 and (character == ";" or character == "}"):
            declaration = text[start : bracket.end()].strip()
            start = bracket.end()
            if declaration == ";":  # the optional one behind a struct
                continue
            match = _DECLARATION.match(declaration)
            if match is None:
                raise ValueError(f"not a WGSL declaration: {declaration[:80]!r}")
            declarations.append((match.group(1), declaration))
    if text[start:].strip():
        raise ValueError(f"WGSL text ends inside a declaration: {text[start:][:80]!r}")
    return declarations


class Library:
    """Fragments in groups of files; a file is read when a name it may declare is first met.

    A fragment's name holds that of its group between underscores (`tf_add_f64s` in group `f64s`;
    `tf_cast_f32_i8` in either of two), which is how it is found.
    """

    def __init__(self, groups: Mapping[str, Sequence[Source]]) -> None:
        """Make a library of `groups`, in the order their fragments have in a module."""
        files = [(group, source) for group, sources in groups.items() for source in sources]
        self._groups = groups.keys()
        self._unread = dict(enumerate(files))
        self._found: dict[str, Fragment] = {}
        self._lock = RLock()  # a signal handler may compile a kernel while a file is being read

    @property
    def fragments(self) -> dict[str, Fragment]:
        """Every fragment by its name, in order; reads and checks all files.

        Raises:
            ValueError: as `find`, or a fragment uses a `tf_` name that no file declares.
        """
        for place in list(self._unread):
            self._read(place)
        for fragment in self._found.values():
            for name in sorted(fragment.needs):
                self._needed(name, fragment)
        ordered = sorted(self._found.values(), key=lambda each: each.order)
        return {fragment.name: fragment for fragment in ordered}

    @property
    def read_origins(self) -> frozenset[str]:
        """Which files were read and declare something."""
        return frozenset(fragment.origin for fragment in self._found.values())

    def find(self, name: str) -> Fragment | None:
        """Return the fragment that declares `name`, or None.

        Raises:
            ValueError: a file read for it declares a name twice, one that does not begin with
                `tf_` or `Tf`, or one that does not hold the group's name.
        """
        found = self._found.get(name)
        if found is None and name.startswith(("tf_", "Tf")):
            for place in self._candidates(name):
                self._read(place)
                found = self._found.get(name)
                if found is not None:
                    break
        return found

    def _candidates(self, name: str) -> list[int]:
        """Places of the unread files that may declare `name`, likely ones first."""
        words = set(name.split("_")) & self._groups
        # Written out in a template, or made by a loop over its first or its last part.
        hints = (name.rpartition("_")[0] + "_", "_".join(name.split("_")[:2]) + "_")

        def rank(place: int) -> int:
            raw = self._unread[place][1].raw()
            return next((number for number, hint in enumerate(hints) if hint in raw), len(hints))

        with self._lock:
            return sorted(
                (at for at, (group, _) in self._unread.items() if group in words), key=rank
            )

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name == RUNTIME_ZERO or self.find(name) is not None)

    def reached_from(self, wgsl: str) -> list[Fragment]:
        """Return the fragments that `wgsl` (without comments) needs, in their fixed order.

        Raises:
            ValueError: as `find`, or a fragment uses a `tf_` name that no file declares.
        """
        reached: dict[str, Fragment] = {}
        waiting = [found for name in set(_OUR_NAME.findall(wgsl)) if (found := self.find(name))]
        while waiting:
            fragment = waiting.pop()
            if fragment.name in reached:
                continue
            reached[fragment.name] = fragment
            for name in fragment.needs - reached.keys():
                needed = self._needed(name, fragment)
                if needed is not None:
                    waiting.append(needed)
        return sorted(reached.values(), key=lambda each: each.order)

    def _needed(self, name: str, by: Fragment) -> Fragment | None:
        found = self.find(name)
        if found is None and name.startswith("tf_") and name != RUNTIME_ZERO:
            raise ValueError(f"{by.origin}: {name} is declared nowhere")
        return found

    def _read(self, place: int) -> None:
        with self._lock:
            if place not in self._unread:
                return
            group, source = self._unread[place]
            new: dict[str, Fragment] = {}
            for name, text in split_declarations(source.render()):
                if not name.startswith(("tf_", "Tf")):
                    raise ValueError(f"{source.origin}: {name} does not begin with tf_ or Tf")
                if group not in name.split("_"):
                    raise ValueError(f"{source.origin}: {name} does not hold {group}")
                before = new.get(name) or self._found.get(name)
                if before is not None and (name in new or before.order[0] != place):
                    raise ValueError(
                        f"{source.origin}: {name} is already declared in {before.origin}"
                    )
                needs = frozenset(_OUR_NAME.findall(text)) - {name}
                new[name] = Fragment(name, text, (place, len(new)), needs, source.origin)
            self._found.update(new)
            # Only now: another thread that finds the file read must find its fragments.
            self._unread.pop(place, None)
