"""Calls that are repeated after a lost answer, and calls that are signed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import time

import pytest
from conftest import Serve, Served, eventually

_SECRET = "a secret of sixteen or more"


def test_a_repeated_call_gets_the_first_answer_and_trains_once(serve: Serve) -> None:
    calls: list[object] = []

    def train(parameters: bytes | None, dataset: object) -> bytes:
        calls.append(dataset)
        return secrets.token_bytes(8)

    served = serve(train=train)
    keyed = {"Idempotency-Key": "fed_1/1/p1"}
    first = served.send("/train", {"parameters": None, "dataset": "a"}, headers=keyed)
    again = served.send("/train", {"parameters": None, "dataset": "a"}, headers=keyed)
    assert (first.status, again.raw, len(calls)) == (200, first.raw, 1)
    assert (first.headers["Idempotent-Replayed"], again.headers["Idempotent-Replayed"]) == (None, "true")
    other = served.send("/train", {"parameters": None, "dataset": "b"}, headers=keyed)
    assert (other.status, other.body["code"], other.body["details"]) == (409, "IDEMPOTENCY_CONFLICT", {"status": "other"})
    tenant = served.send("/train", {"parameters": None, "dataset": "a"}, headers={**keyed, "x-gw-tenant": "org_2"})
    assert (tenant.status, len(calls)) == (200, 2)
    assert served.send("/train", {"parameters": None}, headers={"Idempotency-Key": "x" * 256}).status == 422


def test_training_goes_on_when_the_coordinator_is_gone_and_its_result_waits_for_the_repetition(serve: Serve) -> None:
    started, finish = threading.Event(), threading.Event()
    calls: list[int] = []

    def train(parameters: bytes | None, dataset: object) -> bytes:
        calls.append(1)
        started.set()
        assert finish.wait(20)
        return b"trained"

    served = serve(train=train)
    body = b'{"parameters": null}'
    with served.connect() as line:
        line.sendall(b"POST /train HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        assert started.wait(10)
    # The connection is closed, as by a coordinator that was killed.
    running = served.send("/train", body, headers={"Idempotency-Key": "k"})
    assert (running.status, running.body["details"], running.headers["Retry-After"]) == (409, {"status": "running"}, "2")
    finish.set()
    eventually(lambda: served.send("/train", body, headers={"Idempotency-Key": "k"}).status == 200, "the kept result")
    assert base64.b64decode(served.send("/train", body, headers={"Idempotency-Key": "k"}).body["parameters"]) == b"trained"
    assert calls == [1]


def test_a_failed_call_is_tried_again(serve: Serve) -> None:
    outcomes = iter([ValueError("no memory"), b"x"])

    def train(parameters: bytes | None, dataset: object) -> bytes:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    served = serve(train=train)
    keyed = {"Idempotency-Key": "k"}
    assert [served.send("/train", {"parameters": None}, headers=keyed).status for _ in range(2)] == [500, 200]


def test_kept_answers_have_a_limit_of_bytes_and_the_oldest_go_first(serve: Serve) -> None:
    calls: list[int] = []

    def train(parameters: bytes | None, dataset: object) -> bytes:
        calls.append(1)
        return bytes(400_000)

    served = serve(train=train, body_bytes_max=1024, bytes_budget=4_000_000)
    for key in ("a", "b", "c", "c", "a"):
        served.send("/train", {"parameters": None}, headers={"Idempotency-Key": key})
    assert len(calls) == 4


def _signed(method: str, path: str, body: bytes, **changes: str) -> dict[str, str]:
    """As common/training/call-signature.ts signs."""
    parts = {
        "timestamp": str(int(time.time() * 1000) + 5),
        "nonce": secrets.token_hex(16),
        "sha256": hashlib.sha256(body).hexdigest() if body else "",
        "config": "",
        "key": _SECRET,
        **changes,
    }
    lines = ["v2", method, path, parts["timestamp"], parts["nonce"], "content-type: application/json", "idempotency-key: "]
    lines += ["x-gw-tenant: ", f"x-train-config: {parts['config']}", parts["sha256"]]
    signature = hmac.new(parts["key"].encode(), "\n".join(lines).encode(), hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "x-tributary-signature": f"v2={signature}",
        "x-tributary-nonce": parts["nonce"],
        "x-tributary-timestamp": parts["timestamp"],
        "x-tributary-content-sha256": parts["sha256"],
    }


@pytest.fixture
def signing(serve: Serve) -> Served:
    return serve(train=lambda parameters, dataset: b"x", secret=_SECRET)


_BODY = b'{"parameters": null}'


def test_with_a_secret_only_signed_calls_are_served(signing: Served) -> None:
    refused = signing.send("/train", _BODY)
    assert (refused.status, refused.body["code"]) == (401, "UNAUTHORIZED")
    assert "TRAINER_SECRET" in refused.body["error"]
    assert signing.send("/train", _BODY, headers=_signed("POST", "/train", _BODY)).status == 200
    assert [signing.send(page).status for page in ("/health", "/ready", "/v1/info", "/metrics")] == [200, 200, 401, 401]
    assert signing.send("/v1/info", headers=_signed("GET", "/v1/info", b"")).status == 200


def test_a_signature_covers_route_body_headers_and_time(signing: Served) -> None:
    wrong = [
        _signed("POST", "/evaluate", _BODY),
        _signed("POST", "/train", b"another"),
        _signed("POST", "/train", _BODY, key="another secret of sixteen"),
        _signed("POST", "/train", _BODY, config="e30="),
        _signed("POST", "/train", _BODY, timestamp=str(int(time.time() * 1000) - 400_000)),
        _signed("POST", "/train", _BODY, timestamp="soon"),
    ]
    assert [signing.send("/train", _BODY, headers=headers).status for headers in wrong] == [401] * len(wrong)
    early = signing.send("/train", _BODY, headers=_signed("POST", "/train", _BODY, timestamp=str(int(time.time() * 1000) - 60_000)))
    assert early.status == 401
    assert int(early.headers["Retry-After"]) > 50


def test_a_signed_call_is_accepted_once(signing: Served) -> None:
    headers = _signed("POST", "/train", _BODY)
    assert [signing.send("/train", _BODY, headers=headers).status for _ in range(2)] == [200, 401]


def test_a_token_opens_the_pages_and_training_needs_both(serve: Serve) -> None:
    served = serve(train=lambda parameters, dataset: b"x", secret=_SECRET, token="a token of sixteen")
    token = {"x-api-key": "a token of sixteen"}
    assert served.send("/v1/info", headers=token).status == 200
    assert served.send("/train", _BODY, headers=token).status == 401
    assert served.send("/train", _BODY, headers={**_signed("POST", "/train", _BODY), **token}).status == 200
