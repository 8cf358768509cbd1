"""The HTTP handler of one connection, which serves one request after the other."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
import time
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from .access import is_owner, require_access
from .answer import dump_fields, write_json, write_octets
from .body import discard_rest, has_body, read_body, refuse_malformed_headers
from .call_fields import operation_of
from .call_headers import JSON, OCTETS, body_type, idempotency_key, wants_octets
from .errors import ParticipantError
from .json_text import parse_object
from .metrics import CONTENT_TYPE
from .node import Caller
from .octets import read_octets
from .progress import Progress
from .routes import CALLS, OPEN_PAGES, ROUND, SECURE, allowed_methods, name_in_metrics, round_of, route_of, secure_place_of
from .secure_steps import STEP_BYTES_MAX
from .signature import require_same_body
from .slots import Reservation
from .timed_call import ClientLeft, has_closed

if TYPE_CHECKING:
    from .server import ParticipantServer

_REQUEST_LINE_BYTES_MAX = 65_536
_WRITE_BYTES = 1024 * 1024
_LEFT_STATUS = 499
_PROGRESS_HEADER = "X-Progress"
_SANE_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_logger = logging.getLogger("tributary_participant")


class ParticipantHandler(BaseHTTPRequestHandler):
    server: ParticipantServer
    protocol_version = "HTTP/1.1"
    # Headers and body are two writes. With Nagle's algorithm, the second would wait for the client's acknowledgment.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        self._forget()
        self._idle_seconds = self.server.node.settings.body_idle_ms / 1000
        super().setup()
        self.connection.settimeout(self._idle_seconds)

    def handle_one_request(self) -> None:
        self._forget()
        try:
            self.raw_requestline = self.rfile.readline(_REQUEST_LINE_BYTES_MAX + 1)
            if len(self.raw_requestline) > _REQUEST_LINE_BYTES_MAX:
                self.command = ""
                self.send_error(414)
            elif not self.raw_requestline:
                self.close_connection = True
            elif self.parse_request():
                self._serve()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def handle_expect_100(self) -> bool:
        """read_body sends 100 Continue instead, so that a refused body is never sent."""
        return True

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers invalid request lines and headers as JSON instead of the base class's HTML page."""
        self._unread = True
        # The version of an invalid request line is unknown, and the base class would answer without a status line.
        self.request_version = self.protocol_version
        self._send_json(
            int(code), {"error": message or "The request cannot be read.", "code": "VALIDATION_ERROR", "request_id": self._request_id}
        )

    def log_message(self, format: str, *args: Any) -> None:
        _logger.debug(format, *args)

    def _forget(self) -> None:
        self._request_id = f"req_{secrets.token_hex(12)}"
        self._status = _LEFT_STATUS
        self._unread = False
        self._signed_sha256: str | None = None
        self._body_sha256 = ""

    def _serve(self) -> None:
        started = time.monotonic()
        given = self.headers.get("x-request-id", "")
        if _SANE_ID.fullmatch(given):
            self._request_id = given
        route = route_of(self.path)
        self._unread = has_body(self.headers)
        try:
            refuse_malformed_headers(self.headers)
            self._route(route)
        except ParticipantError as problem:
            self._send_problem(problem)
        except ClientLeft:
            self.close_connection = True
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            _logger.exception("request %s failed", self._request_id)
            self._send_problem(ParticipantError("SERVER_ERROR", "Something went wrong on our side."))
        finally:
            seconds = time.monotonic() - started
            self.server.node.metrics.count_call(route=name_in_metrics(route), status=self._status, seconds=seconds)
            _logger.info("%s %s %s %d %.0f ms", self._request_id, self.command, name_in_metrics(route), self._status, seconds * 1000)

    def _route(self, route: str) -> None:
        node = self.server.node
        if route not in OPEN_PAGES:
            # Probes of an orchestrator come from other addresses, and these pages reveal nothing about models or data.
            require_access(node.settings, address=str(self.client_address[0]), headers=self.headers)
            self._require_signature(route)
        methods = allowed_methods(route)
        if self.command not in methods:
            self._refuse_method(methods)
        elif route in CALLS:
            with node.counted():
                self._call(CALLS[route])
        elif route in SECURE:
            with node.counted():
                self._secure_step(SECURE[route])
        elif route == ROUND:
            self._close_round()
        elif route == "/health":
            self._send_json(200, {"status": "ok"})
        elif route == "/ready":
            state = node.state()
            self._send_json(200 if state == "ready" else 503, {"status": state})
        elif route == "/v1/info":
            self._send_json(200, node.describe())
        else:
            self._send(200, [node.metrics.text().encode()], {"Content-Type": CONTENT_TYPE})

    def _require_signature(self, route: str) -> None:
        """A caller with the token may read the pages unsigned; training calls need both."""
        signatures = self.server.node.signatures
        if signatures is not None and (route in CALLS or route in SECURE or route == ROUND or self.server.node.settings.token is None):
            self._signed_sha256 = signatures.require(self.command, self.path, self.headers)

    def _close_round(self) -> None:
        """Stops the calls of a round and refuses later ones; with DELETE the round is open again."""
        round_id = round_of(self.path)
        rounds = self.server.node.rounds
        is_closing = self.command == "POST"
        (rounds.close if is_closing else rounds.open)(self._tenant(), round_id)
        self._send_json(200, {"round_id": round_id, "status": "closed" if is_closing else "open"})

    def _refuse_method(self, methods: tuple[str, ...]) -> None:
        allow = ", ".join(sorted(("OPTIONS", *methods)))
        if self.command == "OPTIONS":
            self._send(204, [], {"Allow": allow})
            return
        message = f"{self.command[:20]} is not allowed here; use {' or '.join(methods)}."
        self._send_problem(ParticipantError("METHOD_NOT_ALLOWED", message, details={"allow": allow}), {"Allow": allow})

    def _call(self, name: str) -> None:
        node = self.server.node
        node.refuse_draining()
        if name != "call":
            node.functions.find(name)
        sent_as = body_type(self.headers)
        reservation = Reservation(node.budget)
        try:
            fields = self._read_fields(name, sent_as, reservation)
            operation = operation_of(fields) if name == "call" else name
            as_octets = wants_octets(self.headers)
            if as_octets and operation in ("evaluate", "serve"):
                raise ParticipantError("VALIDATION_ERROR", "The answer has no parameters, so it cannot be octets. Accept application/json.")
            key = idempotency_key(self.headers, operation, self._body_sha256)
            caller = self._caller(is_kept=key is not None)
            answer, is_earlier = node.run_once(key, lambda: node.run_call(operation, fields, caller, reservation=reservation))
        finally:
            reservation.release()
        if as_octets:
            pieces, head = write_octets(answer)
            headers = {"Content-Type": OCTETS, "X-Result": head}
        else:
            pieces, headers = write_json(answer), {"Content-Type": JSON}
        if is_earlier:
            headers["Idempotent-Replayed"] = "true"
        node.metrics.count_bytes("out", sum(map(len, pieces)))
        self._send(200, pieces, headers)

    def _secure_step(self, step: str) -> None:
        """A step of a secure sum. The training goes on if its caller disconnects, because the caller may repeat the call."""
        node = self.server.node
        sums = node.secure_sums()
        round, client = secure_place_of(self.path)
        place = json.dumps([self._tenant(), round, client])
        reservation = Reservation(node.budget)
        try:
            if step == "train":
                node.refuse_draining()
                fields = self._read_fields("train", body_type(self.headers), reservation, is_kept=True)
                caller = self._caller(is_kept=True)
                asked = [self.headers.get("content-type"), self.headers.get("x-train-config"), self._body_sha256]
                run = partial(node.run_call, "train", fields, caller, reservation=reservation)
                answer: Any = sums.train(place, round, client, asked, run)
            else:
                answer = sums.step(step, place, parse_object(self._read_body(STEP_BYTES_MAX, reservation)))
        finally:
            reservation.release()
        is_json = isinstance(answer, dict)
        body = dump_fields(answer) if is_json else answer
        node.metrics.count_bytes("out", len(body))
        self._send(200, [body], {"Content-Type": JSON if is_json else OCTETS})

    def _read_body(self, bytes_max: int, reservation: Reservation) -> bytearray:
        body = read_body(self.rfile, self.headers, bytes_max=bytes_max, reservation=reservation, send_continue=self._send_continue)
        self._unread = False
        require_same_body(body, self._signed_sha256)
        self.server.node.metrics.count_bytes("in", len(body))
        return body

    def _read_fields(self, name: str, sent_as: str, reservation: Reservation, *, is_kept: bool = False) -> dict[str, Any]:
        body = self._read_body(self.server.node.settings.body_bytes_max, reservation)
        if is_kept or "idempotency-key" in self.headers:
            self._body_sha256 = hashlib.sha256(body).hexdigest()
        if sent_as == OCTETS:
            return read_octets(body, operation=name, config=self.headers.get("x-train-config"))
        return parse_object(body)

    def _tenant(self) -> str:
        return str(self.headers.get("x-gw-tenant", ""))

    def _caller(self, *, is_kept: bool) -> Caller:
        """A caller with an Idempotency-Key may disconnect and repeat the call, so its work continues without it."""
        progress = Progress()
        # Clients and proxies that do not expect 102 may take it for the answer, so only direct callers that ask for it get it.
        is_direct = self.request_version != "HTTP/1.0" and "via" not in self.headers and "x-forwarded-for" not in self.headers
        is_wanted = is_direct and self.headers.get(_PROGRESS_HEADER, "").strip().lower() == "interim"

        def has_left() -> bool:
            fraction = progress.take() if is_wanted else None
            is_gone = fraction is not None and not self._send_progress(fraction)
            return not is_kept and (is_gone or has_closed(self.connection, self._idle_seconds))

        return Caller(self._request_id, progress, has_left, tenant=self._tenant())

    def _send_progress(self, fraction: float) -> bool:
        """An interim response; the answer follows on the same connection. False if the client is gone."""
        try:
            self.wfile.write(f"HTTP/1.1 102 Processing\r\n{_PROGRESS_HEADER}: {fraction:.4g}\r\n\r\n".encode())
        except OSError:
            return False
        return True

    def _send_continue(self) -> None:
        self.send_response_only(100)
        self.end_headers()

    def _send_problem(self, problem: ParticipantError, headers: dict[str, str] | None = None) -> None:
        if problem.status >= 500:
            _logger.warning("%s %s: %s", self._request_id, problem.code, problem.message)
        body = problem.body(is_for_owner=is_owner(self.server.node.settings, str(self.client_address[0]), self.headers))
        extra = dict(headers or {})
        if problem.retry_after_seconds is not None:
            extra["Retry-After"] = str(problem.retry_after_seconds)
        if problem.status == 401:
            extra["WWW-Authenticate"] = "Bearer"
        self._send_json(problem.status, {**body, "request_id": self._request_id}, extra)

    def _send_json(self, status: int, value: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        text = json.dumps(value, separators=(",", ":"))
        self._send(status, [text.encode("ascii")], {"Content-Type": JSON, **(headers or {})})

    def _send(self, status: int, pieces: list[bytes], headers: dict[str, str]) -> None:
        if self._unread:
            self.close_connection = True
        self.send_response_only(status)
        self.send_header("Date", self.date_time_string())
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("x-request-id", self._request_id)
        if status != 204:
            self.send_header("Content-Length", str(sum(map(len, pieces))))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            for piece in pieces:
                # The timeout applies to each write, so that a large answer on a slow connection does not fail.
                for at in range(0, len(piece), _WRITE_BYTES):
                    self.wfile.write(memoryview(piece)[at : at + _WRITE_BYTES])
        self._status = status
        if self._unread:
            discard_rest(self.connection)
