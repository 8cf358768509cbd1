"""Rounds that a coordinator closes."""

from __future__ import annotations

import threading
from typing import Any

from conftest import Serve, eventually

from tributary_participant import CallContext

_CLOSE = "/v1/rounds/fed_1%2F3/close"


def test_closing_a_round_stops_its_training_and_frees_the_device_for_the_next(serve: Serve) -> None:
    begun, ended = threading.Event(), threading.Event()

    def train(parameters: bytes | None, dataset: Any, context: CallContext) -> bytes:
        if context.round == 3:
            begun.set()
            context.cancelled.wait(20)
            ended.set()
        return b"update"

    served = serve(train=train, devices=("cuda:0",), threads=2)
    call = {"parameters": None, "round_id": "fed_1/3"}
    # As a coordinator calls: with a key the training would go on without it.
    first = threading.Thread(target=lambda: _quietly(served, call), daemon=True)
    first.start()
    assert begun.wait(10)
    closed = served.send(_CLOSE, {})
    assert (closed.status, closed.body) == (200, {"round_id": "fed_1/3", "status": "closed"})
    assert ended.wait(5)
    assert served.send("/train", {"parameters": None, "round_id": "fed_1/4"}).status == 200
    eventually(lambda: served.metric("trainer_running") == 0, "no call that runs")


def _quietly(served: Any, call: dict[str, Any]) -> None:
    try:
        served.send("/train", call, headers={"Idempotency-Key": "fed_1/3/p1"})
    except OSError:
        pass  # the connection is closed without an answer, as nobody waits for one


def test_later_calls_of_a_closed_round_are_refused_until_it_is_open_again(serve: Serve) -> None:
    served = serve(train=lambda parameters, dataset: b"update")
    call = {"parameters": None, "round_id": "fed_1/3"}
    assert served.send(_CLOSE, {}).status == 200
    refused = served.send("/train", call)
    assert (refused.status, refused.body["code"]) == (409, "ROUND_CLOSED")
    # Another organization has rounds of its own.
    assert served.send("/train", call, headers={"x-gw-tenant": "org_2"}).status == 200
    assert served.send(_CLOSE, method="DELETE").body["status"] == "open"
    assert served.send("/train", call).status == 200
    assert served.send(_CLOSE, method="GET").status == 405
    assert served.send(f"/v1/rounds/{'x' * 300}/close", {}).status == 422
