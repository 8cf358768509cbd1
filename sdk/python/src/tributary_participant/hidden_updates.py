"""Updates that were trained for a secure sum, in memory only: neither they nor their secrets leave the participant unmasked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .errors import ParticipantError
from .secure_sum import Introduction, RoundSecrets

_KEEP_SECONDS = 24 * 3600


@dataclass(frozen=True)
class Group:
    """The participants of a round, and this one's sealed shares for each."""

    everybody: list[Introduction]
    threshold: int
    shares: dict[str, str]


@dataclass
class HiddenUpdate:
    secrets: RoundSecrets
    update: bytes | None
    """None after this participant helped to unmask the sum: from then on the update may not leave, masked or not."""
    answer: dict[str, Any]
    """What the train step answers: fields that may be sent unmasked, the layout and the introduction."""
    group: Group | None = None
    partners: frozenset[str] | None = None
    """The participants whose masks the masked step was asked to apply: only a sum of these may be unmasked."""
    asked: dict[str, str] = field(default_factory=dict)
    """The request of each step. A second answer to a different request would reveal what the masks hide."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def refuse_changed_request(self, step: str, request: Any) -> None:
        """A step may be repeated with the same request, because answers get lost; a different request is refused."""
        text = json.dumps(request)
        if self.asked.setdefault(step, text) != text:
            message = f"{step} was requested with another body before. A second, different answer would reveal the update."
            raise ParticipantError("IDEMPOTENCY_CONFLICT", message)


class _Entry:
    def __init__(self) -> None:
        self.at = time.monotonic()
        self.done = threading.Event()
        self.found: HiddenUpdate | None = None
        self.failure: BaseException | None = None

    @property
    def nbytes(self) -> int:
        return 0 if self.found is None or self.found.update is None else len(self.found.update)


class HiddenUpdates:
    """Limited in bytes and age; the oldest go first. A participant that restarts has dropped out of its round."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._held: dict[str, _Entry] = {}

    def begin(self, place: str, make: Callable[[], HiddenUpdate]) -> HiddenUpdate:
        """The update of that round and client. The first call makes it; concurrent calls wait for the same one."""
        with self._lock:
            known = self._held.get(place)
            entry = self._held[place] = known or _Entry()
        if known is not None:
            return _ready(known)
        try:
            entry.found = make()
        except BaseException as failure:
            entry.failure = failure
            with self._lock:
                # A failed training can be tried again.
                del self._held[place]
            raise
        finally:
            entry.done.set()
        with self._lock:
            self._forget_old()
        return entry.found

    def find(self, place: str) -> HiddenUpdate:
        with self._lock:
            self._forget_old()
            entry = self._held.get(place)
        if entry is None:
            message = "This participant has nothing of that round: it restarted since, or the round ended long ago. Leave it out of the sum."
            raise ParticipantError("ROUND_CLOSED", message)
        return _ready(entry)

    def _forget_old(self) -> None:
        held = sum(entry.nbytes for entry in self._held.values())
        for place, entry in list(self._held.items()):
            if not entry.done.is_set() or (held <= self._bytes_max and time.monotonic() - entry.at <= _KEEP_SECONDS):
                return
            held -= entry.nbytes
            del self._held[place]


def _ready(entry: _Entry) -> HiddenUpdate:
    entry.done.wait()
    if entry.found is None:
        raise entry.failure or RuntimeError("the training ended without an update")
    return entry.found
