"""Contents of a disk after a power cut at any moment of a run: every state that its synchronisations allow.

A recorder looks at a directory at every step that writes, synchronises or names something, as CrashMonkey and ALICE do (Mohan et
al. 2018, Pillai et al. 2014). What is on the disk for certain is what was synchronised: a file's content, a directory's names.
Of what came later any part may be there: of names each change or not, of a file that grew any of its blocks, the others reading
as zeros, or only a beginning. SQLite is trusted with what it has synchronised: a ledger is as it was after the last transaction
that ended, and a journal holds what it held after its last ``sync``; of a log that grew since then any blocks may be there.
"""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from adept.release.flow.journal import SIDE_FILES, Journal
from adept.release.ledger.claims import Ledger

BLOCK = 512  # bytes that reach a disk together

Names = dict[str, int]  # names to files, which are numbered
Contents = dict[int, bytes]
State = tuple[Names, Contents]


@dataclass
class Moment:
    """Contents of kernel and disk at a step, and the part that a reader may have seen."""

    names: Names
    contents: Contents
    safe_names: Names
    safe_contents: Contents
    seen: bytes


@dataclass
class Recorder:
    """Looks at a directory whenever something in it changes; SQLite cares for ``ledger``, and for the journal."""

    directory: Path
    ledger: str
    seen: Callable[[], bytes]
    moments: list[Moment] = field(default_factory=list)
    _safe_names: Names = field(default_factory=dict)
    _safe_contents: Contents = field(default_factory=dict)

    def begin(self) -> None:
        """Take what is there for safe."""
        self._safe_names, self._safe_contents = self._look()
        self._step()

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """Record from here on."""
        for owner, name in (
            (os, "link"),
            (os, "open"),
            (Path, "unlink"),
            (Path, "write_text"),
            (Journal, "append"),
        ):
            patch.setattr(owner, name, self._followed(getattr(owner, name)))
        patch.setattr(os, "fsync", self._synchronised(os.fsync))
        for name in ("begin", "claim", "show", "forget", "finish"):
            patch.setattr(Ledger, name, self._followed(getattr(Ledger, name), kept=(self.ledger,)))
        for name in ("begin", "sync", "remove"):
            patch.setattr(
                Journal, name, self._followed(getattr(Journal, name), kept=("s.json.journal", "out.jsonl.journal"))
            )

    def _followed(self, action: Callable[..., Any], *, kept: tuple[str, ...] = ()) -> Callable[..., Any]:
        def run(*arguments: Any, **options: Any) -> Any:
            try:
                return action(*arguments, **options)
            finally:
                self._keep(kept)
                self._step()

        return run

    def _synchronised(self, fsync: Callable[[int], None]) -> Callable[[int], None]:
        def run(handle: int) -> None:
            fsync(handle)
            names, contents = self._look()
            if os.path.isdir(f"/proc/self/fd/{handle}"):  # noqa: PTH112
                self._safe_names = names
            else:
                number = os.fstat(handle).st_ino
                self._safe_contents[number] = contents.get(number, b"")
            self._step()

        return run

    def _keep(self, databases: tuple[str, ...]) -> None:
        names, contents = self._look()
        for name in (database + suffix for database in databases for suffix in ("", *SIDE_FILES)):
            self._safe_names.pop(name, None)
            if name in names:
                self._safe_names[name] = names[name]
                self._safe_contents[names[name]] = contents[names[name]]

    def _look(self) -> tuple[Names, Contents]:
        names = {path.name: path.stat().st_ino for path in self.directory.iterdir()}
        return names, {number: (self.directory / name).read_bytes() for name, number in names.items()}

    def _step(self) -> None:
        names, contents = self._look()
        kept = {*names.values(), *self._safe_names.values()}  # a number may be given again
        self._safe_contents = {number: content for number, content in self._safe_contents.items() if number in kept}
        self.moments.append(Moment(names, contents, dict(self._safe_names), dict(self._safe_contents), self.seen()))


def states(moment: Moment, rng: random.Random, *, most: int) -> Iterator[State]:
    """Yield possible contents of the disk after a cut: all of them, or ``most`` of them at random."""
    changed = sorted(
        {
            name
            for name in moment.names.keys() | moment.safe_names.keys()
            if moment.names.get(name) != moment.safe_names.get(name)
        }
    )
    found = []
    for kept in product((False, True), repeat=len(changed)):
        names = dict(moment.safe_names)
        for name, late in zip(changed, kept, strict=True):
            if late:
                names.pop(name, None)
                names.update({name: moment.names[name]} if name in moment.names else {})
        numbers = sorted(set(names.values()))
        variants = [
            list(_contents(moment.safe_contents.get(number, b""), moment.contents.get(number), rng))
            for number in numbers
        ]
        for chosen in product(*variants):
            found.append((names, dict(zip(numbers, chosen, strict=True))))
    yield from found if len(found) <= most else rng.sample(found, most)


def _contents(safe: bytes, late: bytes | None, rng: random.Random) -> Iterator[bytes]:
    """Return possible contents of a file with a safe content and a later one; None: it has no name any more."""
    yield safe
    if late is None or late == safe:
        return
    yield late
    if late.startswith(safe):
        yield late[: rng.randrange(len(safe), len(late))]
        blocks = range(len(safe) // BLOCK, -(-len(late) // BLOCK))
        lost = {block for block in blocks if rng.random() < 0.5} or {rng.choice(blocks)}
        holed = bytearray(late)
        for block in lost:
            begin = max(len(safe), block * BLOCK)
            end = min(len(late), (block + 1) * BLOCK)
            holed[begin:end] = bytes(max(0, end - begin))
        yield bytes(holed)


def restore(state: State, directory: Path) -> None:
    """Make a directory hold a state: files of their owner's, some of them under two names."""
    names, contents = state
    directory.mkdir()
    for number, content in contents.items():
        first, *others = [directory / name for name, file in names.items() if file == number]
        first.write_bytes(content)
        first.chmod(0o600)
        for other in others:
            os.link(first, other)
