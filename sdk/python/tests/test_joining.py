"""A participant that cannot be called asks a gateway for work. The gateway of these tests is an HTTP server with a list of tasks."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import Serve, eventually

from tributary_participant import CallContext, TrainResult
from tributary_participant.compression import can_compress

_LINK = "join_the-link-of-a-federation"
_BLOB = b"parameters of a round"
_SHA256 = hashlib.sha256(_BLOB).hexdigest()


class Gateway:
    """Gives places to holders of the link and tasks to holders of places, as the edge does. `refusals` are statuses of the next uploads."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str]] = []
        self.tasks: list[dict[str, Any]] = []
        self.results: list[tuple[dict[str, Any], bytes]] = []
        self.progress: list[str] = []
        self.refusals: list[int] = []
        self.moved_to: str | None = None
        self.capabilities: set[str] = set()
        self.properties: set[str] = set()
        self._places = 0
        self._lock = threading.Lock()
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                gateway.answer(self)

            do_POST = do_DELETE = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("content-length") or 0))
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        with self._lock:
            self.calls.append((request.command, request.path, token))
            self.capabilities.add(request.headers.get("x-capabilities", ""))
            self.properties.add(request.headers.get("x-properties", ""))
            status, sent = self._respond(request, token, body)
        request.send_response(302 if self.moved_to else status)
        if self.moved_to:
            request.send_header("Location", self.moved_to + request.path)
        request.send_header("Content-Length", str(len(sent)))
        request.end_headers()
        request.wfile.write(sent)

    def _respond(self, request: BaseHTTPRequestHandler, token: str, body: bytes) -> tuple[int, bytes]:
        method, path = request.command, request.path
        if path == "/training/join":
            if method == "DELETE":
                return 204, b""
            self._places += token == _LINK
            return 201, json.dumps({"token": f"join_own-{self._places}" if token == _LINK else token}).encode()
        if path == "/training/join/tasks":
            return (200, json.dumps({"task": self.tasks[0]}).encode()) if self.tasks else (204, b"")
        if path.startswith("/training/join/blobs/"):
            return 200, _BLOB
        if path.endswith("/progress"):
            self.progress.append(request.headers["x-progress"])
            return 200, b"{}"
        if self.refusals:
            return self.refusals.pop(0), b"{}"
        self.results.append((json.loads(request.headers["x-result"]), body))
        self.tasks.pop(0)
        return 200, b"{}"

    def count(self, method: str, path: str) -> int:
        return sum((made, asked) == (method, path) for made, asked, _ in self.calls)


Join = Callable[..., Any]


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with opened() as gateway:
        yield gateway


@contextmanager
def opened() -> Iterator[Gateway]:
    gateway = Gateway()
    yield gateway
    gateway.server.shutdown()
    gateway.server.server_close()


@pytest.fixture
def join(gateway: Gateway, serve: Serve, tmp_path: Path) -> Join:
    """Starts a participant that joins: join(train=..., **settings)."""
    own = {"join_url": gateway.url, "join_token": _LINK, "data_dir": str(tmp_path)}
    return lambda **given: serve(**{"train": lambda parameters, dataset: b"x", **own, **given})


def _task(**changes: Any) -> dict[str, Any]:
    whole = {"id": "t1", "operation": "train", "parameters": None, "dataset": "rows", "config": {"lr": 0.1}, "round_id": "fed_1/2"}
    return {**whole, "client_id": "p4", **changes}


def test_a_link_gives_a_place_once_and_each_process_has_its_own(gateway: Gateway, join: Join) -> None:
    first = join()
    eventually(lambda: gateway.count("GET", "/training/join/tasks") > 0, "a request for work")
    second = join()
    eventually(lambda: {token for _, path, token in gateway.calls if path.endswith("/tasks")} == {"join_own-1", "join_own-2"}, "two places")
    first.running.stop()
    assert gateway.calls.count(("DELETE", "/training/join", "join_own-1")) == 1
    second.running.stop()
    enrolled = gateway.count("POST", "/training/join")
    join()
    before = len(gateway.calls)
    eventually(lambda: len(gateway.calls) > before + 1, "work for the participant that came back")
    assert gateway.count("POST", "/training/join") == enrolled
    assert {token for _, _, token in gateway.calls[before:]} == {"join_own-1"}
    assert gateway.capabilities == {"clip,noise,compress,formats=safetensors" if can_compress() else "clip,noise,formats=safetensors"}


def test_properties_reach_the_federation_which_selects_by_them(gateway: Gateway, join: Join, serve: Serve) -> None:
    join(properties={"region": "Zürich"})
    eventually(lambda: gateway.count("GET", "/training/join/tasks") > 0, "a request for work")
    assert gateway.properties == {'{"region": "Z\\u00fcrich"}'}
    with pytest.raises(ValueError, match="properties: must have at most 4096 characters"):
        join(properties={"note": "x" * 5000})


def test_the_token_of_a_place_is_used_as_it_is_and_not_given_up(gateway: Gateway, join: Join) -> None:
    joined = join(join_token="join_own-7")
    eventually(lambda: gateway.count("GET", "/training/join/tasks") > 0, "a request for work")
    joined.running.stop()
    assert {token for _, _, token in gateway.calls} == {"join_own-7"}
    assert gateway.count("DELETE", "/training/join") == 0


def test_a_redirect_does_not_carry_the_token_to_another_address(gateway: Gateway, join: Join, caplog: pytest.LogCaptureFixture) -> None:
    with opened() as other:
        gateway.moved_to = other.url
        join(join_token="join_own-7")
        eventually(lambda: len(gateway.calls) > 1, "a second try")
        assert other.calls == []
    assert f"the gateway answered 302: it redirects to {other.url}" in caplog.text


def test_a_task_reaches_the_function_and_its_update_the_gateway(gateway: Gateway, join: Join) -> None:
    seen: list[Any] = []

    def train(parameters: bytes | None, dataset: object, context: CallContext) -> TrainResult:
        seen.append((parameters, dataset, context.round, context.client_id, dict(context.config)))
        return TrainResult(b"update", num_samples=3, metrics={"loss": 0.5})

    gateway.tasks.append(_task(parameters=_SHA256))
    join(train=train, evaluate=lambda parameters, dataset: 0.75)
    eventually(lambda: len(gateway.results) == 1, "a result")
    assert seen == [(_BLOB, "rows", 2, "p4", {"lr": 0.1})]
    [(fields, body)] = gateway.results
    assert (fields["num_samples"], fields["metrics"]["loss"], body) == (3, 0.5, b"update")
    gateway.tasks.append(_task(id="t2", operation="evaluate", parameters=_SHA256))
    eventually(lambda: len(gateway.results) == 2, "an evaluation")
    assert gateway.results[1][0]["accuracy"] == 0.75


@pytest.mark.parametrize("status", [409, 502])
def test_a_result_that_the_gateway_did_not_take_is_sent_again_without_training_again(gateway: Gateway, join: Join, status: int) -> None:
    calls: list[int] = []

    def train(parameters: bytes | None, dataset: object) -> bytes:
        calls.append(1)
        return b"update"

    # A coordinator that restarts: first it cannot be reached, or does not know the task yet, then it gives the task again.
    gateway.refusals += [status, status]
    gateway.tasks.append(_task())
    join(train=train)
    eventually(lambda: len(gateway.results) == 1, "a result")
    assert (calls, gateway.results[0][1]) == ([1], b"update")


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_a_result_that_would_be_refused_again_is_a_failure_and_its_round_goes_on(gateway: Gateway, join: Join, status: int) -> None:
    calls: list[int] = []

    def train(parameters: bytes | None, dataset: object) -> bytes:
        calls.append(1)
        return b"update"

    gateway.refusals += [status]
    gateway.tasks.append(_task())
    join(train=train)
    eventually(lambda: len(gateway.results) == 1, "a failure")
    assert gateway.results == [({"error": f"the gateway answered {status}: {{}}"}, b"")]
    assert calls == [1]


@pytest.mark.parametrize("status", [200, 409])
def test_a_task_that_failed_is_tried_again_when_it_comes_again(gateway: Gateway, join: Join, status: int) -> None:
    calls: list[int] = []

    def train(parameters: bytes | None, dataset: object) -> bytes:
        calls.append(1)
        if len(calls) == 1:
            raise FileNotFoundError
        return b"update"

    # The owner repairs the data and extends the federation: the round has the same number and parameters, and its task the same id.
    gateway.refusals += [409] * (status == 409)
    gateway.tasks += [_task()] if status == 409 else [_task(), _task()]
    join(train=train)
    eventually(lambda: not gateway.tasks, "both results")
    assert gateway.results[-1][1] == b"update"


def test_a_failure_that_did_not_arrive_is_sent_again_without_another_call(gateway: Gateway, join: Join) -> None:
    calls: list[int] = []

    def train(parameters: bytes | None, dataset: object) -> bytes:
        calls.append(1)
        raise ValueError

    gateway.refusals += [502]
    gateway.tasks.append(_task())
    join(train=train)
    eventually(lambda: len(gateway.results) == 1, "a failure")
    assert (calls, gateway.results[0][0]) == ([1], {"error": "The function failed: ValueError"})


def test_an_evaluation_of_other_parameters_is_not_the_one_before(gateway: Gateway, join: Join) -> None:
    gateway.tasks += [_task(operation="evaluate", parameters=_SHA256), _task(operation="evaluate")]
    join(evaluate=lambda parameters, dataset: 0.75 if parameters else 0.25)
    eventually(lambda: len(gateway.results) == 2, "two evaluations")
    assert [fields["accuracy"] for fields, _ in gateway.results] == [0.75, 0.25]


@pytest.mark.parametrize(("exceptions", "error"), [("owner", "The function failed: ValueError"), ("all", "The function failed: ValueError: Jane Doe")])
def test_the_federation_gets_the_type_of_an_exception_and_the_log_all_of_it(
    gateway: Gateway, join: Join, caplog: pytest.LogCaptureFixture, exceptions: str, error: str
) -> None:
    def train(parameters: bytes | None, dataset: object) -> bytes:
        raise ValueError("Jane Doe")

    gateway.tasks.append(_task())
    join(train=train, exceptions=exceptions)
    eventually(lambda: len(gateway.results) == 1, "a result")
    assert gateway.results[0][0] == {"error": error}
    assert "Jane Doe" in caplog.text
    assert "Traceback" in caplog.text


def test_progress_is_reported_while_the_function_runs(gateway: Gateway, join: Join) -> None:
    def train(parameters: bytes | None, dataset: object, context: CallContext) -> bytes:
        context.progress(0.5)
        eventually(lambda: gateway.progress == ["0.5"], "a report")
        return b"x"

    gateway.tasks.append(_task())
    join(train=train)
    eventually(lambda: len(gateway.results) == 1, "a result")
    assert gateway.results[0][1] == b"x"


def test_what_cannot_join_is_said_at_the_start(serve: Serve) -> None:
    def start(**settings: Any) -> None:
        serve(train=lambda parameters, dataset: b"x", **settings)

    with pytest.raises(ValueError, match="set both or neither"):
        start(join_url="https://gateway.example")
    with pytest.raises(ValueError, match="must begin with join_"):
        start(join_url="https://gateway.example", join_token="sk-123")
    with pytest.raises(ValueError, match="must be an http or https address"):
        start(join_url="gateway.example", join_token=_LINK)
