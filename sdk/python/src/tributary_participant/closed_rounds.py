"""Rounds that a coordinator has closed: their training is no longer needed, so it is stopped, and later calls for them are refused."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import ParticipantError

_ROUNDS_MAX = 1000


class ClosedRounds:
    """Of all organizations, each with its own; the oldest closed rounds are forgotten first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._running: dict[tuple[str, str], list[threading.Event]] = {}

    def close(self, tenant: str, round_id: str) -> None:
        place = (tenant, round_id)
        with self._lock:
            self._closed[place] = None
            self._closed.move_to_end(place)
            while len(self._closed) > _ROUNDS_MAX:
                self._closed.popitem(last=False)
            for stopped in self._running.get(place, []):
                stopped.set()

    def open(self, tenant: str, round_id: str) -> None:
        with self._lock:
            self._closed.pop((tenant, round_id), None)

    @contextmanager
    def watched(self, tenant: str, round_id: Any) -> Iterator[threading.Event]:
        """An event for a call of that round, which is set when the round is closed. Raises ROUND_CLOSED if it is closed already."""
        place = (tenant, str(round_id))
        stopped = threading.Event()
        with self._lock:
            if round_id is not None and place in self._closed:
                raise ParticipantError("ROUND_CLOSED", f"The round {place[1][:200]} is closed. Ask for a later one.")
            self._running.setdefault(place, []).append(stopped)
        try:
            yield stopped
        finally:
            with self._lock:
                left = [event for event in self._running[place] if event is not stopped]
                if left:
                    self._running[place] = left
                else:
                    del self._running[place]
