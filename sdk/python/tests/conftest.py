from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import pytest

from tributary_participant import Participant, RunningParticipant


@dataclass
class Reply:
    status: int
    headers: http.client.HTTPMessage
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        return json.loads(self.raw)


@dataclass
class Served:
    """A participant on loopback, called over real sockets."""

    running: RunningParticipant

    def send(self, path: str, body: Any = None, *, method: str | None = None, headers: dict[str, str] | None = None) -> Reply:
        raw = body if body is None or isinstance(body, (bytes, str)) or hasattr(body, "__next__") else json.dumps(body)
        with closing(http.client.HTTPConnection("127.0.0.1", self.running.port, timeout=20)) as connection:
            connection.request(method or ("GET" if raw is None else "POST"), path, body=raw, headers=headers or {})
            response = connection.getresponse()
            return Reply(response.status, response.headers, response.read())

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.running.port), timeout=20)

    def speak(self, octets: bytes) -> bytes:
        """Sends raw bytes and returns everything until the server closes the connection."""
        with self.connect() as line:
            line.sendall(octets)
            line.shutdown(socket.SHUT_WR)
            parts = []
            while part := line.recv(65_536):
                parts.append(part)
        return b"".join(parts)

    def metric(self, name: str) -> float:
        for line in self.send("/metrics").raw.decode().splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[-1])
        raise AssertionError(f"no metric {name}")


Serve = Callable[..., Served]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts participants and stops them after the test: serve(train=..., evaluate=..., **settings)."""
    with ExitStack() as stack:

        def start(**settings: Any) -> Served:
            participant = Participant()
            for name in ("train", "evaluate", "aggregate", "serve", "initial"):
                function = settings.pop(name, None)
                if function is not None:
                    getattr(participant, f"register_{name}")(function)
            running = participant.start(**{"host": "127.0.0.1", "port": 0, "stop_grace_ms": 0, **settings})
            stack.callback(running.stop)
            return Served(running)

        yield start


def eventually(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < until, f"never: {what}"
        time.sleep(0.01)
