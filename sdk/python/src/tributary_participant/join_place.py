"""The place of a participant that joined: its own join token, kept over restarts, and one for each process of a folder."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib import request
from urllib.error import HTTPError, URLError

from .token_calls import open_call

try:
    import fcntl
except ImportError:  # Windows: processes of one folder are not distinguished there
    fcntl = None  # type: ignore[assignment]

_CALL_SECONDS = 60.0
_LEAVE_SECONDS = 2.0
_PLACES_MAX = 1000
_ERROR_BYTES_MAX = 65_536
_logger = logging.getLogger("tributary_participant")


class GatewayError(Exception):
    """The gateway answered with an error, or did not answer: then the status is 0."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Gateway:
    """Calls to the gateway, the only address that a joined participant connects to."""

    url: str
    capabilities: str
    properties: str = "{}"
    """As JSON in ASCII."""

    def call(
        self,
        method: str,
        path: str,
        token: str,
        *,
        body: bytes | memoryview | None = None,
        headers: dict[str, str] | None = None,
        seconds: float = _CALL_SECONDS,
    ) -> tuple[int, bytes]:
        declared = {"X-Capabilities": self.capabilities, "X-Properties": self.properties}
        sent = {"Authorization": f"Bearer {token}", **declared, **(headers or {})}
        call = request.Request(f"{self.url}{path}", data=body, headers=sent, method=method)
        try:
            with open_call(call, seconds) as answer:
                return int(answer.status), bytes(answer.read())
        except HTTPError as error:
            with error:
                moved = f"it redirects to {error.headers.get('location')}; set its own address as join_url"
                text = moved if 300 <= error.code < 400 else error.read(_ERROR_BYTES_MAX).decode("utf-8", "replace")[:300]
            raise GatewayError(f"the gateway answered {error.code}: {text}", error.code) from None
        except (URLError, OSError) as error:
            raise GatewayError(f"the gateway cannot be reached: {getattr(error, 'reason', error)}") from None


class Place:
    """A place in a federation. A join link gives one once; after a restart the participant has the same."""

    def __init__(self, gateway: Gateway, join_token: str, folder: str) -> None:
        self._gateway = gateway
        self._join_token = join_token
        self._folder = Path(folder)
        self._file: IO[str] | None = None
        self._token: str | None = None

    def token(self) -> str:
        """The participant's own join token; asks the gateway for a place if it has none."""
        if self._token is None:
            self._file = self._file or self._open()
            self._token = self._file.read().strip() or self._enroll()
        return self._token

    def leave(self) -> None:
        """Gives up a place that a link gave, so that rounds do not wait for it. The participant takes it again if it comes back."""
        if self._token is not None and self._token != self._join_token:
            try:
                self._gateway.call("DELETE", "/training/join", self._token, seconds=_LEAVE_SECONDS)
            except GatewayError as error:
                _logger.debug("the place could not be given up: %s", error)
        if self._file is not None:
            self._file.close()

    def _enroll(self) -> str:
        _, raw = self._gateway.call("POST", "/training/join", self._join_token)
        token = str(_object(raw).get("token", ""))
        if not token.startswith("join_"):
            raise GatewayError("the gateway's answer has no join token")
        if token != self._join_token and self._file is not None:
            self._file.seek(0)
            self._file.write(token)
            self._file.flush()
        return token

    def _open(self) -> IO[str]:
        """The first file of this link that no other process uses, so that each of them has a place of its own."""
        self._folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(f"{self._gateway.url} {self._join_token}".encode()).hexdigest()[:32]
        for number in range(_PLACES_MAX):
            path = self._folder / f"{name}-{number}"
            file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="ascii")
            if _lock(file):
                return file
            file.close()
        raise GatewayError(f"{self._folder} has {_PLACES_MAX} places of this join link in use")


def _lock(file: IO[str]) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError:
        raise GatewayError("the gateway's answer is not JSON") from None
    return value if isinstance(value, dict) else {}
