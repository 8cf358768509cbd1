"""Runs a function in its own thread for as long as its caller waits."""

from __future__ import annotations

import ctypes
import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from .errors import CallCancelled, ParticipantError

_POLL_SECONDS = 0.1
_GRACE_SECONDS = 0.5
_AGAIN_SECONDS = 5.0
_MESSAGE_CHARACTERS_MAX = 2000
_logger = logging.getLogger("tributary_participant")


class ClientLeft(Exception):
    """The client disconnected."""


def has_closed(connection: socket.socket, idle_seconds: float) -> bool:
    """Whether the client has closed the connection while it waits for its answer."""
    connection.settimeout(0)
    try:
        return len(connection.recv(1, socket.MSG_PEEK)) == 0
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(idle_seconds)


class CallLimits:
    """The deadline of a call, and whether its client is still connected."""

    def __init__(self, *, timeout_ms: int, has_left: Callable[[], bool], cancelled: threading.Event) -> None:
        self._timeout_ms = timeout_ms
        self._deadline = time.monotonic() + timeout_ms / 1000
        self._has_left = has_left
        self._cancelled = cancelled

    def wait(self, done: threading.Event) -> None:
        """Returns when `done` is set. Raises TIMEOUT after the deadline and ClientLeft if the client disconnected."""
        while not done.wait(max(0.0, min(_POLL_SECONDS, self._deadline - time.monotonic()))):
            if time.monotonic() >= self._deadline:
                self._cancelled.set()
                message = f"The call took more than {self._timeout_ms} ms (task_timeout_ms) and was canceled."
                raise ParticipantError("TIMEOUT", message, details={"timeout_ms": self._timeout_ms})
            if self._has_left():
                self._cancelled.set()
                raise ClientLeft


class TimedCall:
    """One call of one function, in a new thread: the thread's state ends with a stopped function."""

    def __init__(self, function: Callable[[], Any], *, name: str) -> None:
        self._function = function
        self._done = threading.Event()
        self._result: Any = None
        self._failure: ParticipantError | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def run(self, limits: CallLimits) -> Any:
        """Runs the function and returns its result, or raises its failure as a ParticipantError."""
        try:
            self._thread.start()
        except RuntimeError:
            self._done.set()
            raise ParticipantError("BUSY", "The system cannot start another thread. Try again later.", retry_after_seconds=2) from None
        limits.wait(self._done)
        if self._failure is not None:
            raise self._failure
        return self._result

    @property
    def has_ended(self) -> bool:
        return self._done.is_set()

    def end(self) -> None:
        """Stops the thread and waits for its end. Native code cannot be stopped, only awaited."""
        # A function that checks `context.cancelled` can end by itself.
        self._thread.join(_GRACE_SECONDS)
        while self._thread.is_alive():
            if not self._done.is_set():
                self._interrupt()
            self._thread.join(_AGAIN_SECONDS)

    def _run(self) -> None:
        try:
            try:
                self._result = self._function()
            except ParticipantError as failure:
                self._failure = failure
            except CallCancelled:
                raise
            except BaseException as failure:  # also SystemExit: a function does not end the server
                _logger.warning("the function of %s failed", self._thread.name, exc_info=True)
                name = type(failure).__name__
                self._failure = ParticipantError("FUNCTION_ERROR", f"The function failed: {_described(failure)}", exception=name)
        except CallCancelled:
            # The outcome of an abandoned call is not read.
            self._failure = ParticipantError("FUNCTION_ERROR", "The function was stopped.")
        self._done.set()

    def _interrupt(self) -> None:
        ident = self._thread.ident
        if ident is None:
            return
        try:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(CallCancelled))
        except AttributeError:
            # This is not CPython: the function checks `context.cancelled`, or is awaited.
            _logger.debug("this Python cannot stop a thread")


def _described(failure: BaseException) -> str:
    """The type and message of an error. Its stack is in the log only."""
    try:
        text = str(failure)
    except Exception:
        text = "(its message cannot be read)"
    return f"{type(failure).__name__}: {text[:_MESSAGE_CHARACTERS_MAX]}" if text else type(failure).__name__
