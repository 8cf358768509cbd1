"""What the headers of a call say about its body, its answer and its repetitions."""

from __future__ import annotations

import json
from email.message import Message

from .errors import ParticipantError

JSON = "application/json"
OCTETS = "application/octet-stream"
_KEY_CHARACTERS_MAX = 255


def body_type(headers: Message) -> str:
    """JSON whatever Content-Type says, unless it is one of the binary types, of which MessagePack is not read."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        message = f"Content-Encoding {encoding[:50]} is not supported; send the body uncompressed."
        raise ParticipantError("UNSUPPORTED_PARAMETERS", message)
    media_type = _media_type(headers.get("content-type", ""))
    if media_type.endswith("msgpack"):
        message = f"Content-Type {media_type[:50]} is not supported; send JSON or octets."
        raise ParticipantError("UNSUPPORTED_PARAMETERS", message, details={"body_types": [JSON, OCTETS]})
    return OCTETS if media_type == OCTETS else JSON


def wants_octets(headers: Message) -> bool:
    for accepted in headers.get("accept", "").split(","):
        media_type = _media_type(accepted)
        if media_type in (JSON, OCTETS):
            return media_type == OCTETS
    return False


def idempotency_key(headers: Message, operation: str, body_sha256: str) -> tuple[str, str] | None:
    """The caller's key within its organization, and what tells the same call from another; None without a key."""
    given = headers.get("idempotency-key")
    if given is None:
        return None
    if not 0 < len(given) <= _KEY_CHARACTERS_MAX:
        message = f"Idempotency-Key must have 1 to {_KEY_CHARACTERS_MAX} characters."
        raise ParticipantError("VALIDATION_ERROR", message, details={"field": "Idempotency-Key"})
    parts = (operation, body_sha256, headers.get("content-type", ""), headers.get("x-train-config", ""))
    return f"{headers.get('x-gw-tenant', '')}\n{given}", json.dumps(parts)


def _media_type(value: str) -> str:
    return value.partition(";")[0].strip().lower()
