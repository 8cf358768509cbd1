"""What a function learns about its call, and how it reports its progress."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from conftest import Serve

from tributary_participant import CallContext


def test_a_function_learns_round_client_config_and_the_properties_of_its_participant(serve: Serve) -> None:
    seen: list[CallContext] = []

    def train(parameters: bytes | None, dataset: object, context: CallContext) -> bytes:
        seen.append(context)
        return b"x"

    served = serve(train=train, properties={"region": "eu"})
    fields = {"parameters": None, "config": {"lr": 0.5}, "round_id": "fed_1/7", "client_id": "p3"}
    assert served.send("/train", fields).body["warnings"] == []
    [context] = seen
    assert (context.round, context.client_id, context.config["lr"], context.properties) == (7, "p3", 0.5, {"region": "eu"})
    assert served.send("/v1/info").body["properties"] == {"region": "eu"}


@pytest.mark.parametrize(("round_id", "number"), [("fed_1/12", 12), (4, 4), ("9", 9), ("warm-up", None), (None, None), (1.5, None)])
def test_the_number_of_a_round_is_read_from_its_id(round_id: str | int | float | None, number: int | None) -> None:
    assert CallContext(request_id="r", round_id=round_id).round == number


def test_progress_reaches_a_caller_that_asks_for_it_before_the_answer(serve: Serve) -> None:
    shown = threading.Event()

    def train(parameters: bytes | None, dataset: object, context: CallContext) -> bytes:
        context.progress(0.25)
        assert shown.wait(10)
        context.progress(7)
        return b"x"

    with serve(train=train).connect() as line:
        body = b'{"parameters": null}'
        line.sendall(b"POST /train HTTP/1.1\r\nHost: localhost\r\nX-Progress: interim\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        assert _read_head(line) == "HTTP/1.1 102 Processing\r\nX-Progress: 0.25\r\n\r\n"
        shown.set()
        heads = [_read_head(line)]
        while "200" not in heads[-1].splitlines()[0]:
            heads.append(_read_head(line))
        assert all(head == "HTTP/1.1 102 Processing\r\nX-Progress: 1\r\n\r\n" for head in heads[:-1])


_BEHIND = [{"X-Progress": "interim", "Via": "1.1 proxy"}, {"X-Progress": "interim", "X-Forwarded-For": "::1"}]


@pytest.mark.parametrize("headers", [{}, *_BEHIND])
def test_a_caller_that_does_not_ask_or_is_behind_a_proxy_gets_the_answer_alone(serve: Serve, headers: dict[str, str]) -> None:
    reported = threading.Event()

    def train(parameters: bytes | None, dataset: object, context: CallContext) -> bytes:
        context.progress(0.5)
        # Longer than the interval in which progress is sent.
        reported.wait(0.3)
        return b"x"

    assert serve(train=train).send("/train", {"parameters": None}, headers=headers).status == 200


@pytest.mark.parametrize("fraction", [float("nan"), "half", True, None])
def test_progress_that_is_no_number_is_a_mistake_of_the_function(serve: Serve, fraction: object) -> None:
    def train(parameters: bytes | None, dataset: object, context: CallContext) -> bytes:
        context.progress(fraction)  # type: ignore[arg-type]
        return b"x"

    reply = serve(train=train).send("/train", {"parameters": None})
    assert reply.status == 500
    assert "from 0 to 1" in reply.body["error"]


def test_properties_come_from_the_environment_as_json(monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    monkeypatch.setenv("TRAINER_PROPERTIES", json.dumps({"gpu": True}))
    assert serve(train=lambda parameters, dataset: b"x").send("/v1/info").body["properties"] == {"gpu": True}
    monkeypatch.setenv("TRAINER_PROPERTIES", "[1]")
    with pytest.raises(ValueError, match="TRAINER_PROPERTIES: '\\[1\\]' is not a JSON object"):
        serve(train=lambda parameters, dataset: b"x")


def _read_head(line: socket.socket) -> str:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        part = line.recv(1)
        assert part, head
        head += part
    return head.decode()
