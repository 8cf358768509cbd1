"""Answers of calls with an Idempotency-Key, so that a call whose answer was lost is not trained twice."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from .answer import Answer
from .errors import ParticipantError

_KEYS_MAX = 1000
_KEEP_SECONDS = 24 * 3600
_RUNNING_RETRY_SECONDS = 2


@dataclass(frozen=True)
class _Stored:
    fingerprint: str
    answer: Answer
    at: float


class StoredCalls:
    """Limited in number, bytes and age; the oldest answers go first. A failed call is not stored, so that it can be tried again."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self._stored: dict[str, _Stored] = {}
        self._bytes = 0

    def take(self, key: str, fingerprint: str) -> Answer | None:
        """The answer of the same call before; None after reserving the key for this one, which then must be finished or failed."""
        with self._lock:
            self._forget_old()
            if key in self._running:
                message = "A call with this Idempotency-Key is still running. Retry after the time in Retry-After."
                raise ParticipantError(
                    "IDEMPOTENCY_CONFLICT", message, details={"status": "running"}, retry_after_seconds=_RUNNING_RETRY_SECONDS
                )
            found = self._stored.get(key)
            if found is None:
                self._running.add(key)
                return None
            if found.fingerprint != fingerprint:
                message = "This Idempotency-Key was used for a different call. Use a new key."
                raise ParticipantError("IDEMPOTENCY_CONFLICT", message, details={"status": "other"})
            return found.answer

    def finish(self, key: str, fingerprint: str, answer: Answer) -> None:
        with self._lock:
            self._running.discard(key)
            self._stored[key] = _Stored(fingerprint, answer, time.monotonic())
            self._bytes += _bytes_of(answer)
            self._forget_old()

    def fail(self, key: str) -> None:
        with self._lock:
            self._running.discard(key)

    def _forget_old(self) -> None:
        for key, stored in list(self._stored.items()):
            is_young = time.monotonic() - stored.at <= _KEEP_SECONDS
            if is_young and len(self._stored) <= _KEYS_MAX and self._bytes <= self._bytes_max:
                return
            del self._stored[key]
            self._bytes -= _bytes_of(stored.answer)


def _bytes_of(answer: Answer) -> int:
    return sum(part.nbytes for part in (answer.parameters, answer.state) if part is not None)
