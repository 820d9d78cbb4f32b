"""The annotation file: every step is in it, safely, before anybody is told that the step was made.

After a step the whole file is written beside the old one, forced to the disk and renamed, so whenever the server is
killed the file holds every confirmed step and at most one more. Records keep their encoded text, so writing is a
single pass over bytes. A file that somebody else changed in the meantime is not overwritten.
"""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from spectragram.errors import InputError, SpectragramError
from spectragram.files import atomic_write
from spectragram.serve.formats import Contents
from spectragram.serve.records import Record, Step

__all__ = ["AnnotationFile", "Change", "StaleError"]

MAX_UNDO = 1000
"""Steps that can be undone. Chosen by hand: a day of work; each keeps two sentences in memory."""


class StaleError(SpectragramError):
    """A step that was made on a sentence, or a file, that has changed since."""


class Stamp(NamedTuple):
    """What identifies a version of a file: its inode, size and time."""

    inode: int
    size: int
    time: int

    @classmethod
    def of(cls, path: Path) -> Stamp | None:
        """The stamp of the file at ``path``; None if there is none."""
        try:
            found = path.stat()
        except FileNotFoundError:
            return None
        return cls(found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass(frozen=True)
class Change:
    """A sentence before and after a step."""

    number: int
    before: Record
    after: Record

    def reversed(self) -> Change:
        """The change that undoes this one."""
        return Change(self.number, self.after, self.before)


class AnnotationFile:
    """The sentences of a file, changed step by step. All methods may be called from several threads."""

    def __init__(self, contents: Contents) -> None:
        self.kind = contents.kind
        self.path = contents.path
        self.records: list[Record] = list(contents.records)
        self.statuses = [record.status for record in self.records]
        self.versions = [0] * len(self.records)
        """How often each sentence was changed: a step names the version that it was made on."""
        self._texts = [record.text().encode() for record in self.records]
        self._tail = contents.tail.encode()
        self._stamp = Stamp.of(self.path)
        self._done: list[Change] = []
        self._undone: list[Change] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.records)

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to undo."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether there is an undone step to make again."""
        return bool(self._undone)

    def require(self, number: int) -> Record:
        """The sentence with this number, counted from 0."""
        if not 0 <= number < len(self.records):
            raise InputError(f"no sentence {number}", remedy=f"there are {len(self.records)}, counted from 0")
        return self.records[number]

    def step(self, number: int, step: Step, version: int | None = None) -> Change:
        """Make a step, save it, and return the change; ``version`` is that of the sentence it was made on."""
        with self._lock:
            before = self.require(number)
            if version is not None and version != self.versions[number]:
                raise StaleError("this sentence was changed elsewhere in the meantime; reload the page")
            change = Change(number, before, before.after(step))
            if change.after != before:
                self._make(change)
                self._done.append(change)
                del self._done[:-MAX_UNDO]
                self._undone.clear()
            return change

    def undo(self) -> Change | None:
        """Take back the last step; None if there is none."""
        return self._move(self._done, self._undone)

    def redo(self) -> Change | None:
        """Make the step again that was undone last; None if there is none."""
        return self._move(self._undone, self._done)

    def _move(self, taken: list[Change], given: list[Change]) -> Change | None:
        with self._lock:
            if not taken:
                return None
            change = taken[-1].reversed()
            self._make(change)
            taken.pop()
            given.append(change)
            return change

    def _make(self, change: Change) -> None:
        """Save the file with a sentence replaced; only then does anybody see it."""
        texts = [*self._texts]
        texts[change.number] = change.after.text().encode()
        if Stamp.of(self.path) != self._stamp:
            raise StaleError(f"{self.path.name} was changed by another program; start the server again to read it")
        with atomic_write(self.path) as stream:
            stream.write(b"".join(texts) + self._tail)
        _sync_folder(self.path.parent)
        self._stamp = Stamp.of(self.path)
        self._texts = texts
        self.records[change.number] = change.after
        self.statuses[change.number] = change.after.status
        self.versions[change.number] += 1

    def snapshot(self) -> list[Record]:
        """The sentences as they are at one moment, for training."""
        with self._lock:
            return list(self.records)


def _sync_folder(folder: Path) -> None:
    """Force the new name of a file to the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
