"""The HTTP server: a thread per connection up to a limit, and an orderly stop."""

from __future__ import annotations

import errno
import logging
import socket
import socketserver
import threading
import time
from http.server import ThreadingHTTPServer
from typing import Any

from .handler import ParticipantHandler
from .joining import Joining
from .node import Node

_FULL_BODY = b'{"error":"The participant has reached its limit of connections. Try again later.","code":"BUSY","request_id":null}'
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 2\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_FULL_BODY), _FULL_BODY)
)
_logger = logging.getLogger("tributary_participant")


class ParticipantServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, node: Node) -> None:
        settings = node.settings
        self.node = node
        self._connections = threading.BoundedSemaphore(settings.connections_max)
        if ":" in settings.host:
            self.address_family = socket.AF_INET6
        super().__init__((settings.host, settings.port), ParticipantHandler)

    def server_bind(self) -> None:
        # HTTPServer's method would resolve the name of this machine over the network.
        try:
            socketserver.TCPServer.server_bind(self)
        except OSError as error:
            host, port = self.server_address[:2]
            advice = "set TRAINER_PORT or run(port=...)" if error.errno == errno.EADDRINUSE else "check HOST and TRAINER_PORT"
            raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror}; {advice}") from error

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._connections.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        try:
            request.settimeout(1)
            request.sendall(_FULL)
        except OSError:
            pass
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        _logger.exception("a connection failed")


class RunningParticipant:
    """A running participant. `stop` ends it; as a context manager it stops at the end of the block."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._server = ParticipantServer(node)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="participant", daemon=True)
        self._thread.start()
        self._joining = Joining(node) if node.settings.join_url is not None else None

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        host = self._node.settings.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def stop(self, grace_ms: int | None = None) -> None:
        """Accepts no new calls, lets running ones finish for a while, then closes the server."""
        self._node.draining.set()
        grace = self._node.settings.stop_grace_ms if grace_ms is None else grace_ms
        until = time.monotonic() + grace / 1000
        if self._joining is not None:
            self._joining.stop(grace / 1000)
        while self._node.calls_in_flight() > 0 and time.monotonic() < until:
            time.sleep(0.02)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> RunningParticipant:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
