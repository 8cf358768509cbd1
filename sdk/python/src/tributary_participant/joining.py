"""A participant that cannot be called, such as one behind NAT: it asks a gateway for work and sends the results."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import time
from collections import OrderedDict
from typing import Any

from .answer import Answer, result_header
from .errors import ParticipantError
from .join_place import Gateway, GatewayError, Place
from .node import Caller, Node
from .progress import Progress
from .slots import Reservation
from .timed_call import ClientLeft

_RETRY_SECONDS = (0.5, 10.0)
_PROGRESS_SECONDS = 1.0
_UPLOAD_SECONDS = 600.0
_RESULTS_MAX = 4
# The organization of the gateway's tasks. No header of a call can have this value.
_TENANT = "\njoined"
_logger = logging.getLogger("tributary_participant")


class _Result:
    """What is sent for a task: the fields of the answer and, for training, the update."""

    def __init__(self, fields: dict[str, Any], parameters: memoryview | None = None) -> None:
        self.is_failure = "error" in fields
        self.head = result_header(fields)
        self.body = b"" if parameters is None else bytes(parameters)


class Joining:
    """The loop of a joined participant, in a thread.

    Results are kept: a task that comes again after a lost connection is not repeated. A failure is kept only until the gateway has answered,
    so that it can be tried again. The result of other parameters is not that of the task, whatever its id.
    """

    def __init__(self, node: Node) -> None:
        settings = node.settings
        if settings.join_url is None or settings.join_token is None:
            raise ValueError("join_url and join_token: set both")
        self._node = node
        self._gateway = Gateway(settings.join_url.rstrip("/"), _declared(node), json.dumps(dict(settings.properties)))
        self._place = Place(self._gateway, settings.join_token, os.path.join(settings.data_dir, "participant-join-tokens"))
        self._stopping = threading.Event()
        self._results: OrderedDict[tuple[str, str | None], _Result] = OrderedDict()
        self._thread = threading.Thread(target=self._run, name="joining", daemon=True)
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Asks for no more work and gives up the place. A task that is not done by then is left to another participant."""
        self._stopping.set()
        # A request for work that waits at the gateway is not waited for.
        self._thread.join(seconds if self._node.calls_in_flight() > 0 else 0.1)
        self._place.leave()

    def _run(self) -> None:
        delay, most = _RETRY_SECONDS
        while not self._stopping.is_set():
            try:
                self._next(self._place.token())
                delay = _RETRY_SECONDS[0]
            except GatewayError as error:
                _logger.warning("asking for work failed; trying again in %.1f s: %s", delay, error)
                self._stopping.wait(delay)
                delay = min(most, delay * 2)
            except Exception:
                _logger.exception("a task of the gateway failed")
                self._stopping.wait(most)

    def _next(self, token: str) -> None:
        status, raw = self._gateway.call("GET", "/training/join/tasks", token)
        if status == 204 or self._stopping.is_set():
            return
        task = json.loads(raw)["task"]
        key = (str(task["id"]), task.get("parameters"))
        result = self._results.get(key) or self._keep(key, self._work(task, token))
        refused: GatewayError | None = None
        try:
            self._send(task, token, result)
        except GatewayError as error:
            if _is_passing(error.status):
                raise
            refused = error
            # Sent again, the same result would be refused again, and the round would wait for it until its deadline.
            self._send(task, token, _Result({"error": str(error)[:500]}))
        if result.is_failure:
            self._results.pop(key, None)
        if refused is not None:
            raise refused

    def _send(self, task: dict[str, Any], token: str, result: _Result) -> None:
        headers = {"Content-Type": "application/octet-stream", "X-Result": result.head}
        path = f"/training/join/tasks/{task['id']}"
        try:
            self._gateway.call("POST", path, token, body=result.body, headers=headers, seconds=_UPLOAD_SECONDS)
        except GatewayError as error:
            if error.status != 409:
                raise
            # The round is closed, or a coordinator that has just started does not know the task yet. It comes again in that case.
            _logger.info("the result of %s was not accepted", task.get("round_id"))
            self._stopping.wait(_RETRY_SECONDS[0])

    def _keep(self, key: tuple[str, str | None], result: _Result) -> _Result:
        self._results[key] = result
        while len(self._results) > _RESULTS_MAX:
            self._results.popitem(last=False)
        return result

    def _work(self, task: dict[str, Any], token: str) -> _Result:
        """Runs the task with the limits of calls. A failure is the result, too: the round should not wait for it."""
        node, operation = self._node, str(task["operation"])
        fields = {name: task.get(name) for name in ("dataset", "config", "round_id", "client_id")}
        reservation = Reservation(node.budget)
        try:
            with node.counted():
                fields |= {"format": "safetensors", "parameters": self._parameters(task, token, reservation)}
                answer = node.run_call(operation, fields, self._caller(str(task["id"]), token), reservation=reservation)
            return _Result(*_sent(operation, answer))
        except (ParticipantError, ClientLeft) as problem:
            _logger.warning("%s of %s failed: %s", operation, task.get("round_id"), problem)
            return _Result({"error": self._shown(problem)[:500]})
        finally:
            reservation.release()

    def _shown(self, problem: Exception) -> str:
        """What leaves this machine: of an exception of a function its type only, because its message may contain private data."""
        exception = getattr(problem, "exception", None)
        if exception is None or self._node.settings.exceptions == "all":
            return str(problem)
        return f"The function failed: {exception}"

    def _parameters(self, task: dict[str, Any], token: str, reservation: Reservation) -> bytes | None:
        named = task.get("parameters")
        if named is None:
            return None
        _, parameters = self._gateway.call("GET", f"/training/join/blobs/{named}", token, seconds=_UPLOAD_SECONDS)
        reservation.grow(len(parameters))
        if hashlib.sha256(parameters).hexdigest() != named:
            raise GatewayError("the parameters are not the ones that the task names")
        return parameters

    def _caller(self, task_id: str, token: str) -> Caller:
        progress = Progress()
        sent = time.monotonic()

        def has_left() -> bool:
            nonlocal sent
            if time.monotonic() - sent >= _PROGRESS_SECONDS and (fraction := progress.take()) is not None:
                sent = time.monotonic()
                self._send_progress(task_id, token, fraction)
            return False

        return Caller(task_id, progress, has_left, tenant=_TENANT)

    def _send_progress(self, task_id: str, token: str, fraction: float) -> None:
        try:
            path = f"/training/join/tasks/{task_id}/progress"
            self._gateway.call("POST", path, token, headers={"X-Progress": f"{fraction:.4g}"}, seconds=_PROGRESS_SECONDS)
        except GatewayError as error:
            _logger.debug("progress was not reported: %s", error)


def _is_passing(status: int) -> bool:
    """Whether the gateway may accept the same result later. 0: it did not answer."""
    return status == 0 or status >= 500 or status in (401, 408, 429)


def _sent(operation: str, answer: Answer) -> tuple[dict[str, Any], memoryview | None]:
    names = ("num_samples", "metrics") if operation == "train" else ("accuracy", "num_samples", "metrics")
    return {name: answer.fields[name] for name in names if name in answer.fields}, answer.parameters


def _declared(node: Node) -> str:
    """The capabilities as the header has them: names with commas between them, formats with plus signs.

    Masks are not among them: the steps of a secure sum are calls to the participant, and a joined one cannot be called.
    """
    declared = node.capabilities()
    names = [name for name, value in declared.items() if value is True and name != "mask"]
    return ",".join([*names, f"formats={'+'.join(declared['formats'])}"])
