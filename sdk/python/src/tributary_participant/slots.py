"""Limits on running and queued calls, first in, first out. Calls beyond the limits are refused at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

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
        """Waits for a slot, which must be given back. `wait` waits for the event and raises if the call is no longer needed."""
        with self._lock:
            if self._running < self._threads:
                self._running += 1
                return
            if len(self._waiting) >= self._queue_max:
                message = "All threads are busy and the queue is full. Try again later."
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
            # The slot passes directly to the first waiting call, so that a later call cannot take it.
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._running -= 1

    def load(self) -> tuple[int, int]:
        """The numbers of running and waiting calls."""
        with self._lock:
            return self._running, len(self._waiting)

    def _leave(self, turn: threading.Event) -> None:
        with self._lock:
            if not turn.is_set():
                self._waiting.remove(turn)
                return
        # The slot was passed on while the call left the queue.
        self.give_back()


class Devices:
    """The devices of a participant, such as GPUs: a call has one for itself until its function has ended. Without any, calls have none."""

    def __init__(self, names: Sequence[str], *, queue_max: int) -> None:
        self._slots = Slots(threads=len(names), queue_max=queue_max) if names else None
        # The one that was free for longest is next.
        self._free = deque(names)

    def take(self, wait: Callable[[threading.Event], None]) -> str | None:
        if self._slots is None:
            return None
        self._slots.take(wait)
        return self._free.popleft()

    def give_back(self, name: str | None) -> None:
        if self._slots is not None and name is not None:
            self._free.append(name)
            self._slots.give_back()


class ByteBudget:
    """A limit on the bytes of bodies in memory over all connections."""

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
                message = "The participant's limit on bytes of running calls (bytes_budget) is reached. Try again later."
                raise ParticipantError("BUSY", message, retry_after_seconds=_BUSY_RETRY_SECONDS)
            self._held += count

    def give_back(self, count: int) -> None:
        with self._lock:
            self._held -= count


class Reservation:
    """One call's share of the budget. It grows with the bytes that arrive, not with the announced size."""

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
        """Moves the bytes to a new reservation. Releasing this one then frees nothing."""
        count, self._count = self._count, 0
        return Reservation(self._budget, count)
