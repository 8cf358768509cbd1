"""The driver of a simulation over Ray: the functions of one file run in actors, on this machine or on a cluster. Needs the package ray.

`make simulate ARGS="settings.json --ray"` starts it: `python -m tributary_participant.ray_worker file.py --actors 8 [--address auto]`. Requests
and answers are those of `tributary_participant.worker`, many at a time, each with an `id`; `{"cancel": id}` ends a request.
"""

from __future__ import annotations

import argparse
import os
import queue
import sys
import threading
from typing import IO, Any

from .errors import ParticipantError
from .worker import load_functions, private_answers, read_frame, run_request, start_node, write_frame

# Calls that an actor gets at once, where many wait: a call of Ray costs about a millisecond.
_BATCH_MAX = 16
_ERROR_CHARACTERS_MAX = 500
_Request = dict[str, Any]


class _Clients:
    """An actor: a process of Ray with the functions of the file, which it runs for one virtual client after the other."""

    def __init__(self, path: str) -> None:
        load_functions(path)
        self._node = start_node()

    def run(self, requests: list[_Request], parameters: bytes | None) -> list[tuple[dict[str, Any], bytes | None]]:
        return [self._run_one(request, parameters) for request in requests]

    def _run_one(self, request: _Request, parameters: bytes | None) -> tuple[dict[str, Any], bytes | None]:
        try:
            answer = run_request(self._node, request, parameters)
        except ParticipantError as problem:
            return {"error": problem.message}, None
        except Exception as problem:
            return {"error": _shown(problem)}, None
        return {"fields": answer.fields}, None if answer.parameters is None else bytes(answer.parameters)


class _Driver:
    """Passes requests to actors, a thread for each of them, and their answers back."""

    def __init__(self, path: str, actors: int, answers: IO[bytes]) -> None:
        self._path = path
        self._answers = answers
        self._waiting: queue.Queue[_Request] = queue.Queue()
        self._actors = actors
        self._lock = threading.Lock()
        self._cancelled: set[int] = set()
        self._running: dict[int, Any] = {}
        self._parameters: tuple[str, Any] | None = None
        for number in range(actors):
            threading.Thread(target=self._serve, name=f"actor {number}", daemon=True).start()

    def take(self, request: _Request) -> None:
        if "cancel" in request:
            self._cancel(request["cancel"])
        else:
            self._waiting.put(request)

    def _cancel(self, number: int) -> None:
        """A function in an actor cannot be stopped, so its actor is ended, and a new one takes its place."""
        import ray

        with self._lock:
            self._cancelled.add(number)
            actor = self._running.get(number)
        if actor is not None:
            ray.kill(actor)

    def _serve(self) -> None:
        actor = None
        while True:
            actor = self._serve_batch(actor, self._next())

    def _serve_batch(self, actor: Any, batch: list[_Request]) -> Any:
        """Answers every request of the batch. Returns the actor for the next one: None if a new one has to be started."""
        actor, answers = self._ask(actor, batch)
        if answers is not None:
            self._answer(batch, answers)
            return actor
        # One of them ended its process. Alone, each shows whether it was the one.
        for request in batch:
            actor, alone = self._ask(actor, [request])
            self._answer([request], alone or [({"error": "its function ended its process"}, None)])
        return actor

    def _next(self) -> list[_Request]:
        """Requests for the same parameters. The more wait, the more an actor gets, so that none is left with much at the end of a round."""
        first = self._waiting.get()
        batch = [first]
        while len(batch) < min(_BATCH_MAX, self._waiting.qsize() // self._actors):
            try:
                request = self._waiting.get_nowait()
            except queue.Empty:
                break
            if request.get("file") != first.get("file"):
                self._waiting.put(request)
                break
            batch.append(request)
        return batch

    def _ask(self, actor: Any, batch: list[_Request]) -> tuple[Any, list[Any] | None]:
        """The actor and its answers; twice None if its process has ended. Any other error is the answer of every request."""
        import ray

        try:
            actor = actor or self._start()
            return actor, self._run(actor, batch)
        except ray.exceptions.RayActorError:
            return None, None
        except Exception as problem:
            return actor, [({"error": _shown(problem)}, None)] * len(batch)

    def _run(self, actor: Any, batch: list[_Request]) -> list[Any]:
        import ray

        with self._lock:
            live = [request for request in batch if request["id"] not in self._cancelled]
            self._running |= {request["id"]: actor for request in live}
        try:
            found = ray.get(actor.run.remote(live, self._stored(batch[0].get("file"))))
        finally:
            with self._lock:
                for request in live:
                    del self._running[request["id"]]
        answers = dict(zip((request["id"] for request in live), found, strict=True))
        return [answers.get(request["id"], ({"error": "it was cancelled"}, None)) for request in batch]

    def _stored(self, path: str | None) -> Any:
        """The parameters in Ray's object store: the clients of a round share them, on every machine."""
        import ray

        if path is None:
            return None
        with self._lock:
            if self._parameters is None or self._parameters[0] != path:
                with open(path, "rb") as file:
                    self._parameters = (path, ray.put(file.read()))
            return self._parameters[1]

    def _answer(self, batch: list[_Request], answers: list[Any]) -> None:
        with self._lock:
            for request, (header, body) in zip(batch, answers, strict=True):
                self._cancelled.discard(request["id"])
                write_frame(self._answers, {"id": request["id"], **header}, None if body is None else memoryview(body))

    def _start(self) -> Any:
        import ray

        return ray.remote(num_cpus=1)(_Clients).remote(self._path)


def _shown(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"[:_ERROR_CHARACTERS_MAX]


def main(path: str, *, actors: int, address: str | None) -> None:
    answers = private_answers()
    import ray

    own = {"num_cpus": actors, "include_dashboard": False} if address is None else {"address": address}
    ray.init(**own, runtime_env=_environment(path), log_to_driver=True, configure_logging=False)
    # A file that cannot be loaded ends the driver here, with its own error, and not each actor.
    load_functions(path)
    driver = _Driver(os.path.abspath(path), actors, answers)
    while (request := read_frame(sys.stdin.buffer)) is not None:
        driver.take(request)
    ray.shutdown()


def _environment(path: str) -> dict[str, Any]:
    """Actors import this package and the modules beside the file as the driver does."""
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(os.path.abspath(path))]
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    variables = {name: os.environ[name] for name in names if name in os.environ}
    return {"env_vars": {**variables, "PYTHONPATH": os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tributary_participant.ray_worker")
    parser.add_argument("file")
    parser.add_argument("--actors", type=int, required=True)
    parser.add_argument("--address", help="of a cluster; by default, Ray starts on this machine")
    given = parser.parse_args()
    main(given.file, actors=given.actors, address=given.address)
