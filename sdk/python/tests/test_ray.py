"""The driver of a simulation over Ray, with a Ray of threads: every request gets an answer, whatever fails."""

from __future__ import annotations

import io
import json
import struct
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import eventually

from tributary_participant import Participant, ray_worker
from tributary_participant.node import Node
from tributary_participant.settings import Settings


class ActorDied(Exception):
    """Stands for ray.exceptions.RayActorError."""


class FakeActor:
    def __init__(self, run: Callable[..., Any]) -> None:
        self.run = types.SimpleNamespace(remote=lambda *given: lambda: run(*given))


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Starts a driver with one actor that runs the function: drive(run) gives it and a reader of its answers."""

    def start(run: Callable[..., Any]) -> tuple[Any, Callable[[int], dict[int, dict[str, Any]]]]:
        ray = types.ModuleType("ray")
        ray.put = lambda value: value  # type: ignore[attr-defined]
        ray.get = lambda pending: pending()  # type: ignore[attr-defined]
        ray.exceptions = types.SimpleNamespace(RayActorError=ActorDied)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setattr(ray_worker._Driver, "_start", lambda self: FakeActor(run))
        stream = io.BytesIO()
        driver = ray_worker._Driver("functions.py", 1, stream)

        def answers(count: int) -> dict[int, dict[str, Any]]:
            eventually(lambda: len(frames(stream.getvalue())) >= count, f"{count} answers")
            return {frame["id"]: frame for frame in frames(stream.getvalue())}

        return driver, answers

    yield start


def frames(octets: bytes) -> list[dict[str, Any]]:
    found = []
    while octets:
        (length,) = struct.unpack("<I", octets[:4])
        found.append(json.loads(octets[4 : 4 + length]))
        octets = octets[4 + length + found[-1]["bytes"] :]
    return found


def echo(requests: list[dict[str, Any]], parameters: Any) -> list[Any]:
    return [({"fields": {"of": request["id"]}}, None) for request in requests]


def test_an_error_of_ray_is_the_answer_of_its_requests_and_the_next_ones_are_served(drive: Any) -> None:
    def run(requests: list[dict[str, Any]], parameters: Any) -> list[Any]:
        if requests[0]["id"] == 1:
            raise MemoryError("the object store is full")
        return echo(requests, parameters)

    driver, answers = drive(run)
    driver.take({"id": 1})
    assert "MemoryError: the object store is full" in answers(1)[1]["error"]
    driver.take({"id": 2})
    assert answers(2)[2]["fields"] == {"of": 2}


def test_a_function_that_ends_its_process_fails_alone(drive: Any) -> None:
    def run(requests: list[dict[str, Any]], parameters: Any) -> list[Any]:
        if any(request["id"] == 1 for request in requests):
            raise ActorDied
        return echo(requests, parameters)

    driver, answers = drive(run)
    for number in (1, 2):
        driver.take({"id": number})
    found = answers(2)
    assert (found[1]["error"], found[2]["fields"]) == ("its function ended its process", {"of": 2})


def test_parameters_that_cannot_be_read_are_the_answer(drive: Any, tmp_path: Path) -> None:
    driver, answers = drive(echo)
    driver.take({"id": 1, "file": str(tmp_path / "gone")})
    assert "FileNotFoundError" in answers(1)[1]["error"]
    driver.take({"id": 2})
    assert answers(2)[2]["fields"] == {"of": 2}


def test_a_request_that_fails_in_an_actor_does_not_fail_the_others_of_its_batch() -> None:
    participant = Participant()
    participant.register_train(lambda parameters, dataset: parameters)
    clients = ray_worker._Clients.__new__(ray_worker._Clients)
    clients._node = Node(participant._functions, Settings(threads=1))
    good = {"operation": "train", "fields": {"dataset": [1]}}
    # A request without fields is a bug of the driver, not of the function.
    (failed, _), (trained, _) = clients.run([{"operation": "train"}, good], b"model")
    assert failed == {"error": "KeyError: 'fields'"}
    assert "sha256" in trained["fields"]
