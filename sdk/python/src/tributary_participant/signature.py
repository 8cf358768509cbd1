"""Signed calls: with a secret, every call but the health pages must carry an HMAC of what it asks for (version 2 of the trainer node)."""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
import time
from email.message import Message

from .errors import ParticipantError

# Largest difference between a coordinator's clock and ours. Nonces are stored for twice as long.
_CLOCK_MS_MAX = 300_000
_NONCES_MAX = 100_000
# Headers that decide what a call does: how its body is read, its other fields, whose call it is and whether it is a repetition.
_SIGNED_HEADERS = ("content-type", "idempotency-key", "x-gw-tenant", "x-train-config")
_TIMESTAMP = re.compile(r"\d{1,15}", re.ASCII)


class Signatures:
    """Checks signatures and remembers nonces. Calls from before a restart are refused by their time."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._signed_from = _now_ms()
        self._lock = threading.Lock()
        self._used: dict[str, int] = {}

    def require(self, method: str, path: str, headers: Message) -> str:
        """Returns the signed SHA-256 of the body. Raises UNAUTHORIZED for a call that is not signed with the secret."""
        nonce, timestamp = headers.get("x-tributary-nonce", ""), headers.get("x-tributary-timestamp", "")
        body_sha256 = headers.get("x-tributary-content-sha256", "")
        signed = [f"{name}: {headers.get(name, '')}" for name in _SIGNED_HEADERS]
        lines = "\n".join(["v2", method, path, timestamp, nonce, *signed, body_sha256])
        expected = f"v2={hmac.new(self._secret, lines.encode('utf-8', 'surrogatepass'), hashlib.sha256).hexdigest()}"
        given = headers.get("x-tributary-signature", "")
        if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode()):
            raise _refused(
                "The signature of this call is missing or wrong. The participant's TRAINER_SECRET must equal the secret of this "
                "node at /training/nodes, or of the participant in its federation."
            )
        self._require_new(nonce, timestamp)
        return str(body_sha256)

    def _require_new(self, nonce: str, timestamp: str) -> None:
        now = _now_ms()
        if not _TIMESTAMP.fullmatch(timestamp) or abs(now - int(timestamp)) > _CLOCK_MS_MAX:
            seconds = _CLOCK_MS_MAX // 1000
            raise _refused(f"The timestamp of the call differs from this machine's clock by more than {seconds} s. Synchronize the clocks.")
        early_ms = self._signed_from - int(timestamp)
        if early_ms > 0:
            message = "The call was signed before this participant started. Sign it again."
            raise ParticipantError("UNAUTHORIZED", message, retry_after_seconds=-(-early_ms // 1000))
        with self._lock:
            self._forget_old(now)
            if nonce in self._used:
                raise _refused("The nonce of this call was used before.")
            self._used[nonce] = now

    def _forget_old(self, now: int) -> None:
        while self._used:
            # The nonces are in order of arrival: if the first is young enough, all are.
            nonce, at = next(iter(self._used.items()))
            if at > now - 2 * _CLOCK_MS_MAX and len(self._used) < _NONCES_MAX:
                return
            del self._used[nonce]


def require_same_body(body: bytes | bytearray, signed_sha256: str | None) -> None:
    if signed_sha256 is not None and hashlib.sha256(body).hexdigest() != signed_sha256:
        raise _refused("The body is not the one that was signed.")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _refused(message: str) -> ParticipantError:
    return ParticipantError("UNAUTHORIZED", message)
