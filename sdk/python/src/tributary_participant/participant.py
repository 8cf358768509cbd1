"""The registration interface: register_train, register_evaluate, register_aggregate, register_serve, register_initial, run."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .functions import Function, Functions
from .node import Node
from .server import RunningParticipant
from .settings import read_settings


class Participant:
    """One set of functions. A program with one participant can use the functions of the package instead, which share a participant."""

    def __init__(self) -> None:
        self._functions = Functions()

    def register_train(self, func: Function) -> Function:
        """`func(parameters, dataset)` returns parameters, or a TrainResult. `parameters` is bytes, or None for a new model."""
        return self._functions.register("train", func)

    def register_evaluate(self, func: Function) -> Function:
        """`func(parameters, dataset)` returns an accuracy, or an EvaluateResult."""
        return self._functions.register("evaluate", func)

    def register_aggregate(self, func: Function) -> Function:
        """`func(parameters_list)` returns parameters, or an AggregateResult."""
        return self._functions.register("aggregate", func)

    def register_serve(self, func: Function) -> Function:
        """`func(parameters, input)` answers a call of the published model: text, or a value that is written as JSON. `input` is text."""
        return self._functions.register("serve", func)

    def register_initial(self, func: Function) -> Function:
        """`func()` returns the parameters of a new model. It gets no data: all participants receive them, without noise, before round 1."""
        return self._functions.register("initial", func)

    def start(self, **settings: Any) -> RunningParticipant:
        """Serves in the background, for notebooks and tests. Takes the settings of `Settings`."""
        if not self._functions.names:
            raise RuntimeError("no function is registered: call register_train, register_evaluate, register_aggregate or register_serve first")
        return RunningParticipant(Node(self._functions, read_settings(os.environ, settings)))

    def run(self, **settings: Any) -> None:
        """Serves until SIGINT or SIGTERM, then lets running calls finish."""
        _log_to_stderr()
        stopping = threading.Event()
        with _signals_set(stopping):
            try:
                running = self.start(**settings)
            except OSError as error:
                # A port that is in use is not a bug of the program, so it is reported without a traceback.
                sys.exit(f"participant: {error.strerror}")
            print(f"participant: ready on {running.url}", file=sys.stderr, flush=True)
            try:
                # On some systems an unlimited wait does not receive signals.
                while not stopping.wait(0.5):
                    pass
            finally:
                running.stop()


@contextmanager
def _signals_set(stopping: threading.Event) -> Iterator[None]:
    """Handles signals in the main thread. In another thread, `run` stops only with the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: stopping.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _log_to_stderr() -> None:
    """Logs to stderr unless the program has set up logging."""
    logger = logging.getLogger("tributary_participant")
    if not logger.hasHandlers():
        logging.basicConfig(level=os.environ.get("LOG_LEVEL", "INFO").upper(), format="%(asctime)s %(levelname)s %(message)s")


_default = Participant()


def default_functions() -> Functions:
    """The functions that the package's own registration functions have registered."""
    return _default._functions


register_train: Callable[[Function], Function] = _default.register_train
register_evaluate: Callable[[Function], Function] = _default.register_evaluate
register_aggregate: Callable[[Function], Function] = _default.register_aggregate
register_serve: Callable[[Function], Function] = _default.register_serve
register_initial: Callable[[Function], Function] = _default.register_initial
start = _default.start
run = _default.run
