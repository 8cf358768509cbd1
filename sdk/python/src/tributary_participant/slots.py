"""How many calls run and wait at a time. First come, first served; what does not fit is refused at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from .errors import ParticipantError

_BUSY_RETRY_SECONDS = 2


class Slots:
    def __init__(self, *, threads: int, queue_max: int) -> None:
        self._threads = threads
        self._queue_max = queue_max
        self._lock = threading.Lock()
        self._running = 0
        self._waiting: deque[threading.Event] = deque()

    def take(self, wait: Callable[[threading.Event], None]) -> None:
        """Returns with a slot, which must be given back. `wait` waits for the event, and raises when waiting has become pointless."""
        with self._lock:
            if self._running < self._threads:
                self._running += 1
                return
            if len(self._waiting) >= self._queue_max:
                message = "All threads are at work and the queue is full; try again later."
                raise ParticipantError("BUSY", message, retry_after_seconds=_BUSY_RETRY_SECONDS)
            turn = threading.Event()
            self._waiting.append(turn)
        try:
            wait(turn)
        except BaseException:
            self._leave(turn)
            raise

    def give_back(self) -> None:
        with self._lock:
            # A slot goes from hand to hand: nobody who comes later can take it from the one who waits.
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._running -= 1

    def load(self) -> tuple[int, int]:
        """Running, waiting."""
        with self._lock:
            return self._running, len(self._waiting)

    def _leave(self, turn: threading.Event) -> None:
        with self._lock:
            if not turn.is_set():
                self._waiting.remove(turn)
                return
        # The slot came at the very moment of leaving.
        self.give_back()


class ByteBudget:
    """Bytes of bodies that are held at a time, over all connections."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._lock = threading.Lock()
        self._held = 0

    @property
    def held(self) -> int:
        return self._held

    def take(self, count: int) -> None:
        with self._lock:
            if self._held + count > self._bytes_max:
                message = "The participant holds as many bytes of bodies as it may; try again later."
                raise ParticipantError("BUSY", message, retry_after_seconds=_BUSY_RETRY_SECONDS)
            self._held += count

    def give_back(self, count: int) -> None:
        with self._lock:
            self._held -= count


class Reservation:
    """What one call holds of the budget; it grows with what has come, not with what was announced."""

    def __init__(self, budget: ByteBudget, count: int = 0) -> None:
        self._budget = budget
        self._count = count

    def grow(self, count: int) -> None:
        self._budget.take(count)
        self._count += count

    def release(self) -> None:
        count, self._count = self._count, 0
        self._budget.give_back(count)

    def move(self) -> Reservation:
        """The same bytes in another hand: to release this one frees nothing any more."""
        count, self._count = self._count, 0
        return Reservation(self._budget, count)
