"""The HTTP surface: methods, limits, requests with wrong lengths, and access."""

from __future__ import annotations

import http.client
import json
import random
import socket
import time
from typing import Any

import pytest
from conftest import Serve, Served, eventually

from tributary_participant.access import is_loopback

LIMIT = 4096


@pytest.fixture
def served(serve: Serve) -> Served:
    return serve(train=lambda p, d: b"x", evaluate=lambda p, d: 1, aggregate=lambda entries: b"x", body_bytes_max=LIMIT, body_idle_ms=300)


def answer_of(octets: bytes) -> tuple[int, dict[str, Any]]:
    head, _, body = octets.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.mark.parametrize("path", ["/train", "/v1/evaluate", "/aggregate/", "/call"])
def test_options_invites_no_web_page_and_other_methods_are_405_with_allow(served: Served, path: str) -> None:
    options = served.send(path, method="OPTIONS")
    assert (options.status, options.raw, options.headers["allow"]) == (204, b"", "OPTIONS, POST")
    assert options.headers["access-control-allow-origin"] is None
    for method in ("GET", "PUT", "DELETE", "PATCH", "BREW"):
        reply = served.send(path, method=method)
        assert (reply.status, reply.headers["allow"], reply.body["code"]) == (405, "OPTIONS, POST", "METHOD_NOT_ALLOWED")
    head = served.send(path, method="HEAD")
    assert (head.status, head.raw) == (405, b"")


def test_health_ready_info_and_metrics(served: Served) -> None:
    assert served.send("/health").body == {"status": "ok"}
    assert served.send("/ready/").body == {"status": "ready"}
    assert served.send("/health", method="HEAD").raw == b""
    assert served.send("/health", {}, method="POST").headers["allow"] == "GET, HEAD, OPTIONS"
    info = served.send("/v1/info").body
    assert info["operations"] == ["train", "evaluate", "aggregate", "call"]
    assert info["registered"] == ["train", "evaluate", "aggregate"]
    assert info["formats"] == ["safetensors"]
    assert info["limits"]["body_bytes"] == LIMIT
    served.send("/evaluate", {})
    served.send("/unknown/path")
    # A call is counted when it ends, which is after its answer.
    counted = ('trainer_calls_total{route="/evaluate",status="200"} 1', 'trainer_calls_total{route="other",status="404"} 1')
    eventually(lambda: all(line in served.send("/metrics").raw.decode() for line in counted), "both calls are counted")
    text = served.send("/metrics").raw.decode()
    assert 'trainer_call_seconds_bucket{le="+Inf",route="/evaluate"} 1' in text
    assert "unknown/path" not in text
    assert "trainer_queue_size 0" in text


def test_the_callers_request_id_comes_back_when_it_is_sane(served: Served) -> None:
    def id_of(given: str) -> str:
        return str(served.send("/train", "{", headers={"x-request-id": given}).body["request_id"])

    assert id_of("abc_DEF-1") == "abc_DEF-1"
    for strange in ("a b", "a" * 129, "<script>"):
        assert id_of(strange).startswith("req_")
    assert served.send("/health").headers["x-request-id"].startswith("req_")


def test_one_connection_serves_one_call_after_the_other(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.running.port, timeout=20)
    for _ in range(3):
        connection.request("POST", "/train", body="{}")
        assert connection.getresponse().read()
        connection.request("POST", "/train", body='{"parameters":"*"}')
        response = connection.getresponse()
        assert (response.status, response.headers["connection"]) == (422, None)
        response.read()
    connection.close()


def test_a_body_at_the_limit_is_read_and_one_byte_more_is_a_413_announced_or_not(served: Served) -> None:
    assert served.send("/evaluate", "{}".ljust(LIMIT)).status == 200
    for body in ("{}".ljust(LIMIT + 1), iter([b"{}".ljust(LIMIT), b" "])):
        reply = served.send("/evaluate", body)
        assert (reply.status, reply.body["code"], reply.body["details"]["limit_bytes"]) == (413, "PAYLOAD_TOO_LARGE", LIMIT)
        assert reply.body["details"]["size_bytes"] > LIMIT
    assert served.metric("trainer_held_bytes") == 0


def test_a_caller_still_sending_megabytes_gets_to_see_its_413(served: Served) -> None:
    assert served.send("/train", b" " * 30_000_000).status == 413


def test_a_terabyte_that_is_only_announced_costs_nothing(served: Served) -> None:
    with served.connect() as line:
        line.sendall(b"POST /train HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1099511627776\r\n\r\n")
        assert line.recv(12) == b"HTTP/1.1 413"


def test_100_continue_is_sent_only_if_the_body_is_accepted(served: Served) -> None:
    for length, expected in ((2, b"HTTP/1.1 100"), (LIMIT + 1, b"HTTP/1.1 413")):
        with served.connect() as line:
            line.sendall(b"POST /train HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % length)
            assert line.recv(12) == expected


def test_chunks_are_a_body_too(served: Served) -> None:
    assert served.send("/train", iter([b'{"para', b'meters":', b'"AAAA"}'])).status == 200


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Type: multipart/mixed\r\nno header\r\nContent-Length: 2",
        b"Content-Length: 2\r\nContent-Length: 3",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked",
        b"Content-Length: -2",
        b"Content-Length: +2",
        b"Content-Length: 0x2",
        b"Content-Length: 2, 2",
        b"Content-Length: " + b"9" * 5000,
        b"Content-Length: \x1e2",
        b"Content-Length: \xb2",
        b"Content-Length: 2\r\n 3",
        b"Content-Length : 2",
        b"no header\r\nContent-Length: 2",
        b" folded: first\r\nContent-Length: 2",
        b"Transfer-Encoding: gzip, chunked",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    ],
)
def test_requests_with_wrong_lengths_are_refused_and_their_connection_is_closed(served: Served, head: bytes) -> None:
    smuggled = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    octets = served.speak(b"POST /train HTTP/1.1\r\n" + head + b"\r\nHost: localhost\r\n\r\n{}" + smuggled)
    status, body = answer_of(octets)
    assert (status, body["code"], octets.count(b"HTTP/1.1")) == (400, "VALIDATION_ERROR", 1)


@pytest.mark.parametrize(
    "chunks", [b"zz\r\n{}", b"2\r\n{}xx0\r\n\r\n", b"-2\r\n{}\r\n0\r\n\r\n", b"2\n{}\n0\n\n", b"2" * 2000, b"0\r\n" + b"a: b\r\n" * 200]
)
def test_broken_chunks_are_a_400(served: Served, chunks: bytes) -> None:
    status, body = answer_of(served.speak(b"POST /train HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks))
    assert (status, body["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    ("octets", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /health HTTP/9.9\r\n\r\n", 505),
        (b"GET /health HTTP/1.x\r\n\r\n", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET /health HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431),
        (b"GET /health HTTP/1.1\r\nA: " + b"a" * 70_000 + b"\r\n\r\n", 431),
    ],
)
def test_invalid_requests_are_answered_as_json_and_not_as_html(served: Served, octets: bytes, status: int) -> None:
    raw = served.speak(octets)
    assert b"<html" not in raw.lower() and b"Python" not in raw
    assert answer_of(raw)[0] == status
    assert set(answer_of(raw)[1]) == {"error", "code", "request_id"}


def test_a_thousand_random_requests_never_bring_it_down(served: Served) -> None:
    chance = random.Random(3)
    start = b'POST /train HTTP/1.1\r\nHost: localhost\r\nContent-Length: 19\r\n\r\n{"parameters":"AAAA"}'
    for _ in range(1_000):
        octets = bytearray(start)
        for _ in range(chance.randint(1, 6)):
            octets[chance.randrange(len(octets))] = chance.randrange(256)
        raw = served.speak(bytes(octets))
        assert b"Traceback" not in raw and b" 500 " not in raw[:20]
    assert served.send("/train", {}).status == 200
    eventually(lambda: served.metric("trainer_held_bytes") == 0, "all bytes are given back")


def test_a_body_that_stands_still_is_a_408_and_one_that_ends_early_a_400(served: Served) -> None:
    line = served.connect()
    line.sendall(b"POST /train HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
    raw = read_all(line)
    assert (answer_of(raw)[0], answer_of(raw)[1]["code"]) == (408, "TIMEOUT")
    status, body = answer_of(served.speak(b"POST /train HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{"))
    assert (status, "9 bytes before" in body["error"]) == (400, True)


def test_a_connection_that_says_nothing_is_closed(served: Served) -> None:
    with served.connect() as line:
        assert line.recv(1) == b""


@pytest.mark.parametrize(
    "headers",
    [{"Content-Encoding": "gzip"}, {"Content-Type": "application/msgpack"}],
)
def test_bodies_that_are_not_read_are_a_415(served: Served, headers: dict[str, str]) -> None:
    reply = served.send("/train", {}, headers=headers)
    assert (reply.status, reply.body["code"]) == (415, "UNSUPPORTED_PARAMETERS")


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=x", "multipart/mixed", "no type"],
)
def test_bodies_of_other_types_are_read_as_json(served: Served, content_type: str) -> None:
    headers = {"Content-Type": content_type}
    assert served.send("/train", {"parameters": "AAAA"}, headers=headers).status == 200
    form = served.send("/train", b"--x\r\n\r\n{}\r\n--x--\r\n", headers=headers)
    assert (form.status, form.body["code"]) == (400, "VALIDATION_ERROR")


def test_a_web_page_of_another_site_cannot_call(served: Served) -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert served.send("/train", {}, headers={"Sec-Fetch-Site": site, "Content-Type": "text/plain"}).status == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:5000", 200),
        ("127.0.0.1", 200),
        ("127.1:5000", 200),
        ("LOCALHOST:5000", 200),
        ("app.localhost:5000", 200),
        ("localhost.", 200),
        ("[::1]:5000", 200),
        ("[0:0:0:0:0:0:0:1]", 200),
        ("0.0.0.0:5000", 200),
        ("[::]:5000", 200),
        ("trainer.internal:5000", 200),
        ("evil.example:5000", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example", 403),
        ("trainer.internal.evil.example", 403),
        ("127.0.0.1@evil.example", 403),
        ("evil.example@127.0.0.1", 403),
        ("192.168.1.5:5000", 403),
        ("[fe80::1]:5000", 403),
        ("[localhost]", 403),
        ("127.0.0.1:70000", 403),
        ("a b", 403),
        ("", 403),
    ],
)
def test_a_name_that_a_web_page_may_have_is_refused_without_a_token(serve: Serve, host: str, status: int) -> None:
    served = serve(train=lambda p, d: b"x", host_names=("Trainer.internal",))
    for path, body in (("/train", {}), ("/v1/info", None), ("/metrics", None)):
        reply = served.send(path, body, headers={"Host": host})
        assert (reply.status, reply.status == 200 or reply.body["code"]) == (status, status == 200 or "FORBIDDEN")
    assert served.send("/health", headers={"Host": host}).status == 200


def test_a_caller_with_the_token_or_a_signature_may_use_any_name(serve: Serve) -> None:
    elsewhere = {"Host": "participant.example:5001"}
    served = serve(train=lambda p, d: b"x", token="a-token-of-this-test", auth="none")
    assert served.send("/train", {}, headers={**elsewhere, "x-api-key": "a-token-of-this-test"}).status == 200
    assert served.send("/train", {}, headers=elsewhere).status == 401
    # A signature is asked for in its own step, which says what is missing.
    assert serve(train=lambda p, d: b"x", secret="a-secret-of-this-test").send("/train", {}, headers=elsewhere).status == 401
    # Who may call from other machines is one question, and a name that may be a web page's another.
    assert serve(train=lambda p, d: b"x", auth="none").send("/train", {}, headers=elsewhere).status == 403


def test_an_origin_that_is_not_the_participants_own_is_refused_whatever_else_it_carries(serve: Serve) -> None:
    served = serve(train=lambda p, d: b"x", token="a-token-of-this-test")
    token = {"x-api-key": "a-token-of-this-test"}
    own = f"127.0.0.1:{served.running.port}"
    assert served.send("/train", {}, headers={**token, "Origin": f"http://{own}"}).status == 200
    for origin in ("https://evil", "http://evil.example", "http://127.0.0.1:1", "http://127.0.0.1", "null", "", f"http://{own}.evil.example"):
        for path, body in (("/train", {}), ("/v1/info", None), ("/nothing", None)):
            reply = served.send(path, body, headers={**token, "Origin": origin})
            assert (origin, reply.status, reply.body["code"]) == (origin, 403, "FORBIDDEN")
    for origin, host, status in (
        ("http://participant.example", "participant.example:80", 200),
        ("https://Participant.example", "participant.example", 200),
        ("https://participant.example", "participant.example:80", 200),
        ("https://participant.example:80", "participant.example", 403),
        ("http://evil.example", "a b", 403),
    ):
        assert served.send("/train", {}, headers={**token, "Origin": origin, "Host": host}).status == status


def test_two_hosts_or_origins_are_refused_whichever_comes_first(served: Served) -> None:
    own = f"127.0.0.1:{served.running.port}".encode()
    for hosts in ((own, b"evil.example"), (b"evil.example", own), (own, own)):
        head = b"".join(b"Host: %s\r\n" % host for host in hosts)
        status, body = answer_of(served.speak(b"GET /v1/info HTTP/1.1\r\n" + head + b"\r\n"))
        assert (status, body["code"]) == (400, "VALIDATION_ERROR")
    origins = b"Origin: http://%s\r\nOrigin: http://evil.example\r\n" % own
    status, body = answer_of(served.speak(b"GET /v1/info HTTP/1.1\r\nHost: " + own + b"\r\n" + origins + b"\r\n"))
    assert (status, body["code"]) == (403, "FORBIDDEN")


def test_a_page_whose_name_leads_to_this_machine_is_refused_although_its_origin_is_its_host(served: Served) -> None:
    page = {"Host": "evil.example:5000", "Origin": "http://evil.example:5000", "Sec-Fetch-Site": "same-origin"}
    assert served.send("/train", {}, headers=page).status == 403


def test_a_token_is_required_of_every_caller_but_probes(serve: Serve) -> None:
    served = serve(train=lambda p, d: b"x", token="a-token-of-this-test")
    for headers in (
        {},
        {"x-api-key": "wrong"},
        {"Authorization": "Basic a-token-of-this-test"},
        {"x-gw-api-key": ""},
        {"x-api-key": "\xff"},
    ):
        for path in ("/train", "/v1/info", "/metrics", "/nothing"):
            reply = served.send(path, {} if path == "/train" else None, headers=headers)
            assert (reply.status, reply.body["code"], reply.headers["www-authenticate"]) == (401, "UNAUTHORIZED", "Bearer")
    for name, value in (("x-gw-api-key", "{}"), ("x-api-key", "{}"), ("Authorization", "Bearer {}"), ("authorization", "bearer {}")):
        assert served.send("/train", {}, headers={name: value.format("a-token-of-this-test")}).status == 200
    assert (served.send("/health").status, served.send("/ready").status) == (200, 200)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("10.0.0.1", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
        ("127.evil.example", False),
        ("", False),
    ],
)
def test_which_callers_are_on_this_machine(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected


def test_another_machine_is_refused_unless_the_operator_says_otherwise(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tributary_participant.access.is_loopback", lambda address: False)
    closed, opened = serve(train=lambda p, d: b"x"), serve(train=lambda p, d: b"x", auth="none")
    assert (closed.send("/train", {}).status, closed.send("/v1/info").status, closed.send("/health").status) == (401, 401, 200)
    assert opened.send("/train", {}).status == 200


def test_more_connections_than_there_may_be_are_refused_at_once_and_room_comes_back(serve: Serve) -> None:
    served = serve(train=lambda p, d: b"x", connections_max=2)
    idle = [served.connect(), served.connect()]
    for line in idle:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert line.recv(12) == b"HTTP/1.1 200"
    status, body = answer_of(read_all(served.connect()))
    assert (status, body["code"]) == (503, "BUSY")
    for line in idle:
        line.close()

    def room() -> bool:
        try:
            return served.send("/health").status == 200
        except OSError:
            return False

    eventually(room, "a closed connection makes room")


def read_all(line: socket.socket) -> bytes:
    parts = []
    until = time.monotonic() + 10
    with line:
        while time.monotonic() < until and (part := line.recv(65_536)):
            parts.append(part)
    return b"".join(parts)
