"""Load and limits: full queues, endless functions, clients that disconnect, and an orderly stop."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import Serve, Served, eventually

from tributary_participant import CallContext


class Gate:
    """A function that waits in native code until it is released, as a long matrix product would."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Semaphore(0)
        self.order: list[Any] = []

    def __call__(self, parameters: Any, dataset: Any) -> bytes:
        self.order.append(dataset)
        self.entered.release()
        self.open.wait(30)
        return b"x"


@pytest.fixture
def gate() -> Any:
    gate = Gate()
    yield gate
    gate.open.set()


def post(served: Served, path: str, fields: Any) -> Any:
    line = served.connect()
    body = json.dumps(fields).encode()
    line.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(body), body))
    return line


def test_64_calls_at_once_on_two_threads_succeed_or_get_retry_after_and_none_is_lost(serve: Serve) -> None:
    running: list[int] = []
    lock = threading.Lock()
    peak = 0

    def train(parameters: Any, dataset: Any) -> bytes:
        nonlocal peak
        with lock:
            running.append(1)
            peak = max(peak, len(running))
        time.sleep(0.05)
        with lock:
            running.pop()
        return b"x"

    served = serve(train=train, threads=2, queue_max=10)
    with ThreadPoolExecutor(64) as callers:
        replies = list(callers.map(lambda _: served.send("/train", {}), range(64)))
    by_status = {status: [reply for reply in replies if reply.status == status] for status in (200, 503)}
    assert len(by_status[200]) + len(by_status[503]) == 64
    assert len(by_status[200]) >= 12 and len(by_status[503]) >= 1
    assert peak == 2
    for refused in by_status[503]:
        assert (refused.body["code"], int(refused.headers["retry-after"]) > 0) == ("BUSY", True)
    eventually(lambda: served.metric("trainer_running") == 0 and served.metric("trainer_held_bytes") == 0, "everything is given back")


def test_a_full_queue_is_busy_other_routes_answer_meanwhile_and_those_who_wait_come_in_order(serve: Serve, gate: Gate) -> None:
    served = serve(train=gate, threads=1, queue_max=2)
    lines = []
    for number in range(3):
        lines.append(post(served, "/train", {"dataset": number + 1}))
        if number == 0:
            gate.entered.acquire(timeout=10)
        eventually(lambda: served.metric("trainer_queue_size") == len(lines) - 1, f"{len(lines) - 1} wait")
    assert served.send("/train", {}).status == 503
    assert (served.send("/health").status, served.send("/ready").status) == (200, 200)
    gate.open.set()
    for line in lines:
        assert line.recv(12) == b"HTTP/1.1 200"
        line.close()
    assert gate.order == [1, 2, 3]


def test_a_call_that_leaves_the_queue_frees_its_place_and_never_runs(serve: Serve, gate: Gate) -> None:
    served = serve(train=gate, threads=1, queue_max=1)
    first = post(served, "/train", {"dataset": 1})
    gate.entered.acquire(timeout=10)
    second = post(served, "/train", {"dataset": 2})
    eventually(lambda: served.metric("trainer_queue_size") == 1, "the second waits")
    second.close()
    eventually(lambda: served.metric("trainer_queue_size") == 0, "the one who left is gone")
    third = post(served, "/train", {"dataset": 3})
    eventually(lambda: served.metric("trainer_queue_size") == 1, "the third waits")
    gate.open.set()
    assert (first.recv(12), third.recv(12)) == (b"HTTP/1.1 200", b"HTTP/1.1 200")
    assert gate.order == [1, 3]
    first.close()
    third.close()


def test_python_without_end_is_a_504_and_is_stopped_so_that_the_thread_serves_the_next(serve: Serve) -> None:
    turns = 0

    def train(parameters: Any, dataset: Any) -> bytes:
        nonlocal turns
        while dataset == "spin":
            try:
                turns += min(1, 2)
            except Exception:
                continue
        return b"x"

    served = serve(train=train, threads=1, task_timeout_ms=300)
    reply = served.send("/train", {"dataset": "spin"})
    assert (reply.status, reply.body["code"], reply.body["details"]) == (504, "TIMEOUT", {"timeout_ms": 300})
    eventually(lambda: served.metric("trainer_running") == 0, "the thread is free")
    stopped_at = turns
    assert served.send("/train", {"dataset": "short"}).status == 200
    assert turns == stopped_at > 0


def test_the_time_in_the_queue_counts(serve: Serve, gate: Gate) -> None:
    served = serve(train=gate, threads=1, task_timeout_ms=500)
    first = post(served, "/train", {"dataset": 1})
    gate.entered.acquire(timeout=10)
    assert served.send("/train", {"dataset": 2}).status == 504
    assert gate.order == [1]
    first.close()


def test_native_code_without_end_is_a_504_keeps_its_thread_and_the_participant_says_that_it_is_stuck(serve: Serve, gate: Gate) -> None:
    served = serve(train=gate, threads=1, queue_max=0, task_timeout_ms=200)
    assert served.send("/train", {"dataset": "x" * 100}).status == 504
    assert served.send("/train", {}).status == 503
    eventually(lambda: served.send("/ready").status == 503, "it is stuck")
    assert served.send("/ready").body == {"status": "stuck"}
    assert (served.metric("trainer_overdue"), served.metric("trainer_held_bytes") > 100) == (1, True)
    gate.open.set()
    eventually(lambda: served.send("/ready").status == 200, "it is ready again")
    assert (served.metric("trainer_overdue"), served.metric("trainer_held_bytes")) == (0, 0)


def test_a_client_that_disconnects_stops_the_work(serve: Serve) -> None:
    canceled = threading.Event()

    def train(parameters: Any, dataset: Any, context: CallContext) -> bytes:
        entered.set()
        if context.cancelled.wait(20):
            canceled.set()
        return b"x"

    entered = threading.Event()
    served = serve(train=train, threads=1)
    line = post(served, "/train", {})
    assert entered.wait(10)
    line.close()
    assert canceled.wait(10)
    eventually(lambda: served.metric("trainer_running") == 0, "the thread is free")
    assert 'route="/train",status="499"} 1' in served.send("/metrics").raw.decode()


def test_more_bytes_than_the_budget_is_busy_until_they_are_given_back(serve: Serve, gate: Gate) -> None:
    served = serve(train=gate, threads=4, body_bytes_max=1500, bytes_budget=1500)
    first = post(served, "/train", {"dataset": "x" * 1000})
    gate.entered.acquire(timeout=10)
    refused = served.send("/train", {"dataset": "x" * 1000})
    assert (refused.status, refused.body["code"]) == (503, "BUSY")
    gate.open.set()
    assert first.recv(12) == b"HTTP/1.1 200"
    first.close()
    eventually(lambda: served.send("/train", {"dataset": "x" * 1000}).status == 200, "there is room again")


def test_a_participant_that_stops_lets_running_calls_end_and_takes_no_new_ones(serve: Serve, gate: Gate) -> None:
    served = serve(train=gate, threads=2)
    line = post(served, "/train", {})
    gate.entered.acquire(timeout=10)
    stopping = threading.Thread(target=served.running.stop, args=(10_000,))
    stopping.start()
    eventually(lambda: served.send("/ready").status == 503, "it says that it stops")
    refused = served.send("/train", {})
    assert (refused.status, refused.body["code"], refused.headers["retry-after"]) == (503, "DRAINING", "10")
    gate.open.set()
    assert line.recv(12) == b"HTTP/1.1 200"
    line.close()
    stopping.join(10)
    assert not stopping.is_alive()
    with pytest.raises(OSError):
        served.connect().close()
